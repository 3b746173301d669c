"""Scores from outside: how a file is read and kept, and what a score counts for."""

import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.config import FrontierConfig, UrlConfig
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.frontier import LinkRanker, ScoreTable, choose_order, needed_scores
from gossamer.frontier.order.scores import read_scores
from gossamer.model import Link, LinkKind, Task
from tests.unit.frontier.order.test_orders import url

URLS = UrlConfig()


def written(folder: Path, text: str, name: str = "scores.txt") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def table(folder: Path, scores: Mapping[str, float]) -> ScoreTable:
    lines = "".join(f"{name} {score}\n" for name, score in scores.items())
    return read_scores(written(folder, lines), URLS)


def test_a_url_has_its_own_score_or_its_hosts_or_its_domains(tmp_path: Path) -> None:
    scores = table(tmp_path, {"https://www.a.test/x": 8.0, "www.a.test": 3.0, "b.test": 1.0})
    found = {
        text: (one.value, one.by) if (one := scores.of(url(text))) is not None else None
        for text in (
            "https://www.a.test/x",
            "https://www.a.test/y",
            "https://a.test/x",
            "http://b.test/",
            "http://deep.down.b.test/z",
        )
    }
    assert list(found.values()) == [
        (8.0, "https://www.a.test/x"),
        (3.0, "www.a.test"),
        None,
        (1.0, "b.test"),
        (1.0, "b.test"),
    ]
    assert scores.of_mean(url("https://www.a.test/x")) == 2.0


def test_lines_may_be_separated_in_many_ways(tmp_path: Path) -> None:
    text = (
        "\ufeff# traffic\n\na.test 1\nb.test\t2\r\nc.test,3\nd.test , 4.0\nhttp://e.test/p,q 5e0\n"
    )
    scores = read_scores(written(tmp_path, text), URLS)
    names = ["http://a.test/", "http://b.test/", "http://c.test/", "http://d.test/"]
    values = [one.value for name in names if (one := scores.of(url(name)))]
    assert values == [1.0, 2.0, 3.0, 4.0]
    found = scores.of(url("http://e.test/p,q"))
    assert found is not None
    assert found.value == 5.0


def test_a_gzipped_file_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "scores.gz"
    path.write_bytes(gzip.compress(b"a.test 1\nb.test 3\n"))
    assert read_scores(path, URLS).of_mean(url("http://b.test/")) == 1.5
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ConfigError, match=r"scores.gz, after line \d+: damaged gzip data"):
        read_scores(path, URLS)


@pytest.mark.parametrize(
    "line",
    """a.test|a.test many|a.test -1|a.test nan|a.test inf|a.test 1 2|a b 1|a.test/path 1|http:// 1|1
mailto:x@y 1|a.test:80 1|ftp:/x 1|\x00 1""".replace("\n", "|").split("|"),
)
def test_a_wrong_line_is_told_with_its_number(line: str, tmp_path: Path) -> None:
    path = written(tmp_path, f"good.test 1\n\n{line}\n")
    with pytest.raises(ConfigError) as told:
        read_scores(path, URLS)
    assert f"{path}, line 3: expected a URL or a host and a number" in str(told.value)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 400


def test_a_file_without_scores_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no scores in it"):
        read_scores(written(tmp_path, "# nothing\n"), URLS)


@given(st.dictionaries(st.integers(0, 10**6), st.floats(0.0, 1e9, width=32), min_size=1))
def test_what_is_kept_is_what_was_read(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[int, float]
) -> None:
    folder = tmp_path_factory.mktemp("scores")
    table(folder, {f"http://h{n % 7}.test/{n}": score for n, score in scores.items()}).save(
        folder / "kept"
    )
    kept = ScoreTable.open(folder / "kept")
    assert len(kept) == len(scores)
    for n, score in scores.items():
        found = kept.of(url(f"http://h{n % 7}.test/{n}"))
        assert found is not None
        assert found.value == score


def test_of_a_name_that_comes_twice_the_highest_counts(tmp_path: Path) -> None:
    scores = read_scores(written(tmp_path, "a.test 1\nA.TEST 5\na.test 2\n"), URLS)
    assert len(scores) == 1
    found = scores.of(url("http://a.test/"))
    assert found is not None
    assert found.value == 5.0


def test_a_file_is_read_again_only_if_it_is_another(tmp_path: Path) -> None:
    source, kept = written(tmp_path, "a.test 1\n"), tmp_path / "kept"
    first = needed_scores(source, kept, URLS)
    assert first is not None
    first.save(kept)
    assert needed_scores(source, kept, URLS) is None
    assert needed_scores(source, kept, UrlConfig(strip_tracking=False)) is not None
    written(tmp_path, "a.test 2\n")
    assert needed_scores(source, kept, URLS) is not None
    source.unlink()
    assert needed_scores(source, kept, URLS) is None
    kept.unlink()
    with pytest.raises(ConfigError, match="cannot read"):
        needed_scores(source, kept, URLS)


def test_a_copy_that_is_damaged_or_gone_is_refused_with_what_to_do(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    table(tmp_path, {"a.test": 1.0, "b.test": 2.0}).save(kept)
    whole = kept.read_bytes()
    for bad in (b"", whole[:-1], whole[:-1] + b"\xff", b"x" + whole[1:]):
        kept.write_bytes(bad)
        with pytest.raises(CannotGoOn, match="give --scores FILE again"):
            ScoreTable.open(kept)
    kept.unlink()
    with pytest.raises(CannotGoOn, match="give --scores FILE again"):
        ScoreTable.open(kept)


def test_a_score_moves_a_url_by_up_to_two_classes_in_the_default_order(tmp_path: Path) -> None:
    hosts = {"a.test": 4000.0, "b.test": 1200.0, "c.test": 500.0, "d.test": 200.0, "e.test": 0.0}
    scores = table(tmp_path, {**hosts, "f.test": 100.0})  # the mean is 1,000
    order = choose_order(FrontierConfig(grades=8), scores=scores)
    grades = [
        order.grade(Task(url=url(f"http://{host}/x"), depth=3, kind=LinkKind.ANCHOR))
        for host in (*hosts, "unknown.test")
    ]
    assert grades == [7, 6, 5, 4, 3, 5]


@pytest.mark.parametrize("name", ["best", "opic"])
def test_a_score_is_credit_to_start_with_once(
    name: Literal["best", "opic"], tmp_path: Path
) -> None:
    scores = table(tmp_path, {"a.test": 500.0, "b.test": 25.0, "c.test": 75.0})
    order = choose_order(FrontierConfig(order=name), scores=scores)
    credit = order.credit
    assert credit is not None
    page = Task(url=url("http://page.test/"), kind=LinkKind.ANCHOR)
    targets = [f"http://{host}.test/{n}" for host in "abcd" for n in range(2)]
    links = [Link(target=url(text), kind=LinkKind.ANCHOR) for text in targets]
    tasks, _ = LinkRanker(credit, has_score=order.has_score).follow(page, links, {})
    assert [task.url.text for task in tasks] == targets
    first = [order.grade(task) for task in tasks]
    assert first[0] == first[1] > first[4] == first[5] > first[2] == first[3] > first[6]
    held = credit.credits.of(tasks[0].url.key)
    again = [task for task in tasks if task.grade == 0]
    assert again == tasks[:6]
    order.grade(Task(url=tasks[0].url, kind=LinkKind.ANCHOR))
    assert credit.credits.of(tasks[0].url.key) == held


def test_queued_urls_move_up_when_scores_are_given_later_and_only_then(tmp_path: Path) -> None:
    scores = table(tmp_path, {"http://a.test/3": 1000.0, "http://a.test/4": 0.0})
    order = choose_order(FrontierConfig(order="best"), scores=scores)
    queued = [Task(url=url(f"http://a.test/{n}"), grade=3, kind=LinkKind.ANCHOR) for n in range(5)]
    (lift,) = order.lifts
    lifted = lift(iter(queued))
    assert [task.url.text for task in lifted] == ["http://a.test/3"]
    assert lifted[0].grade > 3
    assert lift(iter(lifted)) == []
