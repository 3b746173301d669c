"""Aims: a result that misses one, or lacks its figure, is told, and the table leaves none out."""

import json
import re
from pathlib import Path

import pytest
import realweb
import tables
from provenance import provenance
from summary import AIMS, NEEDS, kept_results, misses


def test_a_result_that_reaches_its_aims_misses_none() -> None:
    assert misses("shards", {"speedup": 1.8, "cpu_ratio": 1.0}) == []


def test_an_aim_that_is_missed_and_one_without_a_figure_are_told() -> None:
    first, second = misses("shards", {"speedup": 1.2})
    assert first == "shards: speedup is 1.2, and should be at least 1.7"
    assert second == "shards: cpu_ratio was not measured, and should be at most 1.1"


def test_aims_of_a_published_graph_do_not_bind_another_graph() -> None:
    assert misses("graph", {"graph": "made up"}) == []
    assert misses("graph", {"graph": "cnr-2000"}) != []


def test_a_saved_result_names_commit_date_machine_and_parser_speed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(realweb, "RESULTS", tmp_path)
    with pytest.raises(SystemExit, match="speedup is 1"):
        realweb.save("shards", {"speedup": 1, "cpu_ratio": 1})
    kept = json.loads((tmp_path / "shards.json").read_text())
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == kept
    where = kept["provenance"]
    assert re.fullmatch(r"[0-9a-f]{12}\+?|unknown", where["commit"])
    assert where["date"].endswith("+00:00")
    assert set(where["machine"]) == {"cpu", "cores", "python"}
    assert where["bare_parser_us_per_kb"] > 0


def test_a_result_without_aims_is_saved_and_the_benchmark_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(realweb, "RESULTS", tmp_path)
    realweb.save("server", {"pages_per_s": 1})
    assert json.loads((tmp_path / "server.json").read_text())["pages_per_s"] == 1


def test_the_table_has_a_row_for_every_aim_measured_or_not() -> None:
    _, _, *rows = tables.aims({"shards": {"shards": 2, "speedup": 1.2, "cpu_ratio": 1.0}})
    assert len(rows) == len(AIMS)
    assert any("2 shards over 1 | **1.2** | at least 1.7" in row for row in rows)
    assert any("**not measured**" in row and "… known URLs" in row for row in rows)


def test_the_page_of_benchmarks_is_current() -> None:
    assert tables.PAGE.read_text(encoding="utf-8") == tables.current(kept_results()), (
        "run `make plots`"
    )


def test_what_a_benchmark_needs_is_said_of_benchmarks_that_have_aims() -> None:
    assert set(NEEDS) <= {aim.result for aim in AIMS}


def test_provenance_is_json() -> None:
    assert json.loads(json.dumps(provenance()))
