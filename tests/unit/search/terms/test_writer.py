"""A set is built in full: the newest page of a URL counts, and readers see a whole set or none."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.messages import ShardQuery
from gossamer.search.terms import TermIndexReader, TermsWriter
from gossamer.search.terms.compiled import term_hash
from gossamer.search.terms.layout import shard_of
from gossamer.search.terms.lengths import norms_of

from .small import by_terms, in_one_index, page, some_pages


def found(reader: TermIndexReader, *terms: str) -> list[str]:
    ask = ShardQuery(groups=tuple((term,) for term in terms), needed=len(terms))
    return sorted(it.url for it in reader.stored(reader.find(ask).candidates))


def test_the_newest_page_of_a_url_counts_and_deleted_ones_do_not(tmp_path: Path) -> None:
    writer = TermsWriter(tmp_path, 2, run_tokens=64)
    writer.add(page(1, ["old"]))
    writer.add(page(2, ["old"]))
    writer.add(page(3, ["old"]))
    writer.add(page(1, ["new"], language="fr"))
    writer.delete(page(2, []).url)
    writer.delete(page(3, []).url)
    writer.add(page(3, ["again"]))
    writer.delete("http://never.test/")
    writer.commit()
    writer.close()
    assert writer.pages() == 2
    reader = TermIndexReader(tmp_path)
    assert found(reader, "old") == []
    assert found(reader, "new") == ["http://h1.test/1"]
    assert found(reader, "again") == ["http://h0.test/3"]
    assert reader.counts(["old", "new"]).pages == 2
    assert reader.counts(["old"]).having == {"old": (0,) * len(TEXT_FIELDS)}
    assert reader.counts([]).tokens == (2, 0, 0, 0, 0, 0, 0)
    assert reader.languages() == ["en", "fr"]
    assert reader.vocabulary("", 10) == [("again", 1), ("new", 1)]


def test_runs_large_and_small_make_the_same_lists(tmp_path: Path) -> None:
    pages = some_pages(300)
    for name, run_tokens in (("small", 16), ("large", 1 << 20)):
        writer = TermsWriter(tmp_path / name, 3, run_tokens=run_tokens)
        for one in pages:
            writer.add(one)
        writer.close()
    files = [path for path in (tmp_path / "small" / "000001").rglob("*") if path.is_file()]
    assert len(files) > 20
    for path in files:
        other = tmp_path / "large" / path.relative_to(tmp_path / "small")
        assert path.read_bytes() == other.read_bytes(), path.name


def test_a_set_without_pages_can_be_asked(tmp_path: Path) -> None:
    reader = by_terms(tmp_path, [])
    assert found(reader, "word") == []
    assert reader.find(ShardQuery()).total == 0
    assert reader.vocabulary("", 5) == []


def test_a_reader_sees_the_old_set_until_the_new_one_is_whole(tmp_path: Path) -> None:
    reader = by_terms(tmp_path, [page(1, ["old"])])
    killed = TermsWriter(tmp_path, 5)
    killed.add(page(2, ["lost"]))
    for file in (*killed._files, killed._stored, *killed._runs._files):
        file.close()
    assert found(TermIndexReader(tmp_path), "old") == ["http://h1.test/1"]
    assert not reader.renew()
    by_terms(tmp_path, [page(1, ["new"])], shards=2)
    assert found(reader, "old") == ["http://h1.test/1"]
    assert reader.renew()
    assert not reader.renew()
    assert found(reader, "new") == ["http://h1.test/1"]
    assert found(reader, "old") == []
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["000002"]


def test_a_set_can_be_moved(tmp_path: Path) -> None:
    reader = by_terms(tmp_path / "a", [page(1, ["old"])])
    by_terms(tmp_path / "b", [page(1, ["new"])])
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "b").rename(tmp_path / "a")
    assert reader.renew()
    assert found(reader, "new") == ["http://h1.test/1"]


def test_a_term_can_be_placed_elsewhere(tmp_path: Path) -> None:
    pages = some_pages(50)
    away = (shard_of(term_hash("w1"), 4) + 1) % 4
    writer = TermsWriter(tmp_path / "placed", 4, placed={"w1": away, "nobody": 2})
    for one in pages:
        writer.add(one)
    writer.close()
    reader = TermIndexReader(tmp_path / "placed")
    assert reader.shard_of("w1") == away
    assert found(reader, "w1", "w5") == found(by_terms(tmp_path / "other", pages), "w1", "w5")


def test_terms_spread_over_the_shards() -> None:
    shards = [shard_of(term_hash(f"term{number}"), 16) for number in range(16_000)]
    assert np.bincount(shards, minlength=16).min() > 800


def test_lengths_are_those_of_the_engine(tmp_path: Path) -> None:
    assert norms_of(np.array([0, 1, 39, 40, 41, 42, 1000])).tolist() == [0, 1, 39, 40, 40, 41, 87]
    lengths = [1, 39, 41, 55, 100, 2000, 20_001]
    pages = [page(number, ["", "", "x " * size]) for number, size in enumerate(lengths)]
    ask = ShardQuery(groups=(("x",),), needed=1)
    one = in_one_index(tmp_path / "one", pages).top(ask).candidates
    terms = by_terms(tmp_path / "terms", pages).find(ask).candidates
    expected = {it.key: it.score for it in one}
    assert {it.key: it.score for it in terms} == pytest.approx(expected, rel=1e-5)
