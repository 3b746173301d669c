from pathlib import Path

from gossamer.config import SeenConfig
from gossamer.seen import UrlSeen


def test_new_among_agrees_with_unknown_before_and_after_growing_up(tmp_path: Path) -> None:
    seen = UrlSeen.open(tmp_path, SeenConfig(run_keys=4), [])
    for start in range(0, 20, 2):
        assert seen.new_among([start, start + 1, 0 if start else 99]) == (
            [start, start + 1] if start else [0, 1, 99]
        )
        seen.add([start, start + 1])
        seen.rows_to_commit()
    assert seen.new_among(range(21)) == [20]
