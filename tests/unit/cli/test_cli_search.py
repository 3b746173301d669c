"""`gossamer search`: what a person sees, what a program gets, and how it ends."""

import json
import os
from pathlib import Path

import pytest
from tests.unit.search.pages_archive import PagesArchive, page
from tests.unit.web.indexed import HARM, indexed, spider

from gossamer.cli.main import exit_code
from gossamer.search.page import IndexPage
from gossamer.store import Derived


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    bad = IndexPage(url="http://evil.test/?password=geheim", title=f"tarantula {HARM}", text=HARM)
    return str(indexed(tmp_path_factory.mktemp("searched"), *map(spider, range(25)), bad))


def test_json_is_one_object_with_what_was_promised(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["search", folder, "spider", "--json"]) == 0
    told = capsys.readouterr()
    facts = json.loads(told.out.splitlines()[-1])
    assert facts["total"] == 25
    assert len(facts["hits"]) == 10
    assert all({"url", "title", "snippet", "score"} <= hit.keys() for hit in facts["hits"])
    assert told.err == ""


def test_a_person_sees_titles_urls_dates_and_how_to_go_on(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["search", folder, "spider", "cellar", "--per-page", "5", "--page", "2"]) == 0
    out = capsys.readouterr().out
    assert " 6. Spider" in out
    assert "http://h" in out
    assert "2027-01-15 · en" in out
    assert "25 pages, page 2" in out
    assert "'spider cellar' --page 3 --per-page 5" in out


def test_control_codes_never_reach_a_terminal(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for flags in ((), ("--urls",), ("--json",)):
        assert exit_code(["search", folder, "tarantula", *flags]) == 0
        assert not set(capsys.readouterr().out) & set("\x00\x1b\u202e\x07")
    assert exit_code(["search", folder, f"spider {HARM}"]) == 0
    told = capsys.readouterr()
    assert not set(told.out + told.err) & set("\x00\x1b\u202e\x07")


def test_urls_alone_can_go_into_a_pipe(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["search", folder, "tarantula", "--urls"]) == 0
    assert capsys.readouterr().out == "http://evil.test/?password=geheim\n"
    assert exit_code(["search", folder, "spider", "--urls", "--per-page", "100"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 25


def test_a_word_can_be_excluded_as_it_is_typed(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["search", folder, "spider", "-word7x1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 24


def test_an_answer_without_results_is_an_answer(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["search", folder, "zebra"]) == 0
    assert "No page says that. Try" in capsys.readouterr().out
    assert exit_code(["search", folder, "zebra", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hits"] == []


def test_another_spelling_is_told(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["search", folder, "spidder", "--verbatim"]) == 0
    assert "Did you mean: spider" in capsys.readouterr().out


def test_options_of_other_programs_are_words(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["spider", "--amend"], ["spider", "-f"], ["spider", "--sort=size"]):
        assert exit_code(["search", folder, *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["hits"]


def test_a_re_ranker_of_the_users_decides_the_order(
    folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "my_order.py").write_text(
        "def last_first(query, pages):\n    return list(range(len(pages)))\n"
        "def broken(query, pages):\n    raise ValueError('no luck')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    switch = ["--without", "hosts,copies", "--per-page", "100"]

    def urls(*words: str) -> list[str]:
        assert exit_code(["search", folder, "spider", *switch, *words, "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        return [*(hit["url"] for hit in answer["hits"]), *answer["hints"]]

    plain = urls()
    assert len(plain) > 1
    assert urls("--rerank", "my_order:last_first") == plain[::-1]
    failed = urls("--rerank", "my_order:broken")
    assert failed[:-1] == plain
    assert "the re-ranker failed (ValueError: no luck)" in failed[-1]
    assert exit_code(["search", folder, "spider", "--rerank", "my_order:nothing"]) == 2
    assert 'rerank: expected "module:function"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["spider", "--jsn"], "no such option: --jsn; did you mean --json?"),
        (["spider", "--without", "luck"], "without: luck is no part of ranking"),
        (["spider", "--page", "0"], "--page"),
        (["spider", "--per-page", "101"], "--per-page"),
        ([], "QUERY"),
        ([" "], "QUERY: expected words to look for"),
    ],
)
def test_wrong_usage_is_one_line(
    folder: str, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["search", folder, *words]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert len(err.splitlines()) == 1


def test_a_folder_without_an_index_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["search", str(tmp_path), "spider"]) == 2
    assert "is not a crawl folder" in capsys.readouterr().err
    (tmp_path / "archive").mkdir()
    assert exit_code(["search", str(tmp_path), "spider", "--no-build"]) == 2
    assert "has no index: `gossamer build" in capsys.readouterr().err


def test_several_folders_are_asked_as_one(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = indexed(tmp_path / "one, two", *map(spider, range(25, 30)))
    assert exit_code(["search", str(more), "spider", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 5
    assert (
        exit_code(["search", f"{folder}, {more.rename(tmp_path / 'more')}", "spider", "--json"])
        == 0
    )
    assert json.loads(capsys.readouterr().out)["total"] == 30


def test_an_index_split_by_terms_is_searched_as_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = PagesArchive(tmp_path)
    archive.write([page("http://a.test/", "lions hunt"), page("http://b.test/", "apes climb")])
    split = ("--organisation", "terms", "--shards", "2")
    assert exit_code(["build", str(tmp_path), "index", *split]) == 0
    capsys.readouterr()
    assert exit_code(["search", str(tmp_path), "lions", "--urls"]) == 0
    assert capsys.readouterr().out == "http://a.test/\n"


def test_the_next_page_is_asked_for_in_the_same_way(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--per-page", "2", "--exact", "--without", "hosts", "--no-build"]
    assert exit_code(["search", folder, "spider", *flags]) == 0
    assert f"spider --page 2 {' '.join(flags)}\n" in capsys.readouterr().out
    assert exit_code(["search", folder, "spider", "--page", "90"]) == 0
    assert "There are no results on page 90." in capsys.readouterr().out


def test_parts_of_ranking_can_be_switched_off(
    folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--without", "static,proximity, copies", "--exact", "--json"]
    assert exit_code(["search", folder, "spider", *flags]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 25


def test_a_pipe_can_be_indexed_and_a_folder_cannot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reads, writes = os.pipe()
    os.write(writes, b'{"url": "http://a.test/", "text": "lions hunt"}\n')
    os.close(writes)
    into = ("--into", str(tmp_path / "ix"))
    assert exit_code(["index", f"/dev/fd/{reads}", *into]) == 0
    os.close(reads)
    assert "1 page in 1 shard" in capsys.readouterr().out
    assert exit_code(["index", str(tmp_path), *into]) == 2
    assert "is a folder; expected files" in capsys.readouterr().err
    assert exit_code(["index", os.devnull, *into]) == 0
    assert "The index is up to date: 1 page in" in capsys.readouterr().out


def test_an_index_of_files_is_never_replaced_by_that_of_a_crawl(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = indexed(tmp_path, *map(spider, range(3)))
    assert exit_code(["crawl", "http://a.test/", "--into", str(folder), "--index"]) == 2
    assert "has an index of files of others" in capsys.readouterr().err
    assert not (folder / "archive").exists()
    (folder / "archive").mkdir()
    for words in (["build", str(folder), "index", "--full"], ["search", str(folder), "spider"]):
        assert exit_code(words) == 2
        assert "was built from files that were not crawled" in capsys.readouterr().err
    assert exit_code(["search", str(folder), "spider", "--no-build", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"] == 3


def test_while_another_process_builds_the_index_is_asked_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = PagesArchive(tmp_path)
    archive.write([page("http://a.test/", "lions hunt")])
    assert exit_code(["search", str(tmp_path), "lions", "--urls"]) == 0
    archive.write([page("http://b.test/", "lions sleep", at=2.0)])
    capsys.readouterr()
    with Derived(tmp_path, "index", lambda _: True).sole_builder():
        assert exit_code(["search", str(tmp_path), "lions", "--urls"]) == 0
    told = capsys.readouterr()
    assert told.out == "http://a.test/\n"
    assert told.err == "gossamer: the index as it is now: another process is building it\n"
