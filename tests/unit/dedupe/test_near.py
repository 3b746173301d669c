"""The set of sketches: who is like whom, who is the original, and what survives."""

from pathlib import Path

import numpy as np
import pytest

from gossamer.dedupe import Level, NearSet, PageText, Sketcher, verify_near
from gossamer.errors import CorruptFile
from gossamer.model import Row
from tests.unit.dedupe.prose import changed, prose

SKETCHER = Sketcher(seed=7)
WORDS = prose(1)


def page(key: int, words: list[str], title: str = "T", at: float | None = None) -> PageText:
    return PageText(key, "a.test", title, " ".join(words).encode(), key if at is None else at)


def met(near: NearSet, *pages: PageText) -> dict[int, tuple[int, Level]]:
    """Let pages join; return copy → original and level."""
    labels = near.label_and_add(SKETCHER.sketches(pages)).tolist()
    return {row[0]: (row[1], Level(row[3] & 255)) for row in labels}


def stored(rows: list[Row], found: dict[bytes, bytes]) -> list[tuple[bytes, bytes]]:
    """Write rows as the state would; return all that it holds."""
    for key, value in rows:
        if value is None:
            found.pop(key, None)
        else:
            found[key] = value
    return sorted(found.items())


@pytest.fixture
def near(tmp_path: Path) -> NearSet:
    return NearSet.open(tmp_path / "near", ())


def test_copies_near_copies_and_similar_pages_are_told_apart(near: NearSet) -> None:
    assert met(near, page(1, WORDS)) == {}
    assert met(near, page(2, WORDS)) == {2: (1, Level.EXACT)}
    assert met(near, page(3, changed(WORDS, 6))) == {3: (1, Level.DUPLICATE)}
    assert met(near, page(4, changed(WORDS, 7), title="Other")) == {4: (1, Level.SIMILAR)}
    assert met(near, page(5, prose(2))) == {}


def test_pages_of_one_batch_meet_too(near: NearSet) -> None:
    found = met(near, page(1, WORDS), page(2, prose(2)), page(3, changed(WORDS, 3)))
    assert found == {3: (1, Level.DUPLICATE)}


def test_a_copy_of_a_copy_is_a_copy_of_the_original(near: NearSet) -> None:
    met(near, page(1, WORDS))
    met(near, page(2, changed(WORDS, 5)))
    assert met(near, page(3, changed(changed(WORDS, 5), 2, seed=1))) == {3: (1, Level.DUPLICATE)}


def test_small_changes_do_not_add_up(near: NearSet) -> None:
    """Each is near to the one before; the last has nothing left of the first."""
    words = WORDS
    originals = set()
    for step in range(40):
        found = met(near, page(step + 1, words))
        originals |= {original for original, _ in found.values()}
        words = changed(words, 12, seed=step)
    assert 1 in originals
    assert len(originals) > 5


def test_the_older_page_is_the_original_whichever_comes_first(near: NearSet) -> None:
    met(near, page(9, WORDS, at=200.0))
    assert met(near, page(8, changed(WORDS, 2), at=100.0)) == {9: (8, Level.DUPLICATE)}
    assert met(near, page(7, changed(WORDS, 3), at=300.0)) == {7: (8, Level.DUPLICATE)}


def test_a_page_that_comes_again_is_not_a_copy_of_itself(near: NearSet) -> None:
    met(near, page(1, WORDS))
    assert met(near, page(1, WORDS)) == {}
    assert met(near, page(1, changed(WORDS, 2), at=50.0)) == {}


def test_what_the_rows_say_is_there_again(tmp_path: Path) -> None:
    state: dict[bytes, bytes] = {}
    near = NearSet.open(tmp_path, ())
    met(near, page(1, WORDS), page(2, prose(2)))
    rows = stored(near.rows_to_commit(), state)
    met(near, page(3, prose(3)))  # never committed
    again = NearSet.open(tmp_path, rows)
    assert again.pages == 2
    assert met(again, page(4, changed(WORDS, 3)))[4] == (1, Level.DUPLICATE)
    assert met(again, page(5, prose(3))) == {}


def test_pages_are_found_in_memory_in_runs_and_in_merged_runs(tmp_path: Path) -> None:
    state: dict[bytes, bytes] = {}
    near = NearSet.open(tmp_path, (), flush_pages=20)
    for start in range(1, 400, 10):
        assert met(near, *(page(n, prose(n, 150)) for n in range(start, start + 10))) == {}
        stored(near.rows_to_commit(), state)
    assert len(list(tmp_path.glob("*.near"))) < 12, "runs are merged, and the old ones go"
    for known in (near, NearSet.open(tmp_path, sorted(state.items()), flush_pages=20)):
        assert known.pages == 400
        for n in range(1, 401, 23):
            numbers = known.look_up(SKETCHER.sketches([page(999, prose(n, 150))]).bands)
            assert numbers.tolist() == [n - 1]
            assert known.records(numbers)[0, 12] == n
    copies = [page(1000 + n, prose(n, 150), at=1e6) for n in range(1, 401)]
    assert {copy: 1000 + o for copy, (o, _) in met(near, *copies).items()} == {
        n: n for n in range(1001, 1401)
    }


def test_no_more_than_32_pages_of_a_band_are_looked_at(near: NearSet) -> None:
    """Similar pages by the hundred: each still finds the oldest, and the work has a bound."""
    pages = [page(n, WORDS[:396] + prose(n + 50, 4), title=f"T{n}") for n in range(1, 200)]
    found = met(near, *pages)
    assert {original for original, _ in found.values()} == {1}
    assert len(near.look_up(SKETCHER.sketches(pages[-1:]).bands)) <= 12 * 32


def test_a_lost_or_cut_file_is_noticed(tmp_path: Path) -> None:
    state: dict[bytes, bytes] = {}
    near = NearSet.open(tmp_path, ())
    met(near, page(1, WORDS))
    near.flush()
    rows = stored(near.rows_to_commit(), state)
    verify_near(tmp_path, rows)
    run = next(tmp_path.glob("*.near"))
    whole = run.read_bytes()
    for damage in (whole[:-8], b"", b"x" * len(whole), None):
        if damage is None:
            run.unlink()
        else:
            run.write_bytes(damage)
        with pytest.raises(CorruptFile):
            verify_near(tmp_path, rows)
    run.write_bytes(whole)
    (tmp_path / "records").write_bytes(b"")
    with pytest.raises(CorruptFile):
        verify_near(tmp_path, rows)


def test_files_that_no_row_names_are_removed(tmp_path: Path) -> None:
    near = NearSet.open(tmp_path, ())
    met(near, page(1, WORDS))
    near.flush()
    assert list(tmp_path.glob("*.near"))
    assert NearSet.open(tmp_path, ()).pages == 0
    assert not list(tmp_path.glob("*.near"))


def test_nothing_comes_of_nothing(near: NearSet) -> None:
    assert met(near) == {}
    near.flush()
    assert near.pages == 0
    assert near.look_up(np.zeros((0, 12), np.uint64)).tolist() == []
