"""`gossamer prune`: old editions leave the archive, the newest of each URL stay."""

import shutil
import time
from pathlib import Path

import pytest

import gossamer
from gossamer.crawl.mend.purging import old_answers
from gossamer.model import StoreRef
from gossamer.store import StoredAnswer
from gossamer.testing import ScriptedWeb
from tests.e2e.crawler import only_json, say
from tests.integration.test_editions import KNOBS, TEXTS, Site
from tests.integration.threats import serving, settings


def answers(*digests: str) -> list[StoredAnswer]:
    """Return answers of one URL, a second apart; a digest is a content."""
    return [
        StoredAnswer(f"<{n}>", "http://a.test/", float(n), digest, "", StoreRef("f", n, 1))
        for n, digest in enumerate(digests)
    ]


@pytest.mark.parametrize(
    ("keep", "before", "gone"),
    [
        (1, 100.0, {0, 1, 2, 3}),
        (2, 100.0, {0, 1}),
        (3, 100.0, set[int]()),
        (1, 2.5, {0, 1}),  # the second edition was still there later
        (1, 1.0, set[int]()),  # so was the first
    ],
)
def test_editions_go_as_a_whole_and_the_newest_stay(
    keep: int, before: float, gone: set[int]
) -> None:
    found = old_answers(answers("a", "a", "b", "b", "a"), keep, before)
    assert found == {f"<{n}>" for n in gone}


@pytest.mark.slow
def test_an_old_edition_is_nowhere_and_the_newest_is_as_it_was(tmp_path: Path) -> None:
    web = ScriptedWeb()
    host = web.host("a.test")
    with serving(web) as server:
        site = Site(tmp_path / "c", host, server)
        site.say(TEXTS[0])
        gossamer.Crawl(site.folder, [site.url], settings(server, KNOBS)).run()
        knobs = (site.folder / "crawl.toml").read_bytes()
        time.sleep(1.1)  # editions are known to the second
        site.say(TEXTS[1])
        site.watch_until(2)
    (site.folder / "crawl.toml").write_bytes(knobs)  # the watch was given no seeds
    words = str(site.folder)
    assert only_json(say("prune", words, "--before", "2 days ago", "--json"))["files"] == []
    aside = tmp_path / "aside"
    shutil.copytree(site.folder, aside)
    assert only_json(say("prune", str(aside), "--keep", "2", "--json"))["files"] == []
    told = only_json(say("prune", words, "--keep", "1", "--json").expect(0))
    assert told["pages"] >= 1
    left = gossamer.open(site.folder).editions(site.url)
    assert len(left) == 1
    assert "second words" in say("show", words, site.url).expect(0).out
    assert "first words" not in "".join(page.text() for page in gossamer.open(site.folder).pages())
    say("check", words).expect(0)
    assert gossamer.open(site.folder).status().pages == 1
