"""A crawl of several shards that goes on: its totals are those of all shards, from the first on."""

import json
import sys
from pathlib import Path

from gossamer import status
from gossamer.cluster import Ring
from gossamer.testing import ScriptedWeb, serve_in_thread
from gossamer.urls import ring_of
from tests.e2e.crawler import Crawler, finish, flags_for, spawn, wait_until

GO_ON = """
import json, sys, time
from gossamer import Crawl, url_filter

folder, more = sys.argv[1:]

slept = []

@url_filter
def slow(link):
    if link.target.text == more and not slept:
        slept.append(time.sleep(3))  # its shard reports long after the other one

told = []
Crawl(folder, [more], filters=[slow]).run(on_progress=told.append)
print(json.dumps([facts.pages for facts in told]))
"""


def test_a_resumed_crawl_never_shows_the_totals_of_some_shards_only(tmp_path: Path) -> None:
    names = sorted(
        {Ring.even(2).owner(ring_of(f"{c}.test")): f"{c}.test" for c in "abcdefgh"}.items()
    )
    assert [shard for shard, _ in names] == [0, 1]
    with serve_in_thread(ScriptedWeb()) as server:
        for _, name in names:
            host = server.web.host(name).page("/", links=[f"/{n}" for n in range(5)])
            for n in range(6):
                host.page(f"/{n}", text=f"{name} {n}")
        first, second = (server.web.host(name) for _, name in names)
        flags = flags_for(server.resolve, "--delay", "0", "--shards", "2")
        crawl = Crawler(tmp_path / "crawl", (first.url(), second.url()), flags)
        assert crawl.run(is_fresh=True).expect(0).last_json["pages"] == 12

        folder = crawl.folder
        running = spawn([sys.executable, "-c", GO_ON, str(folder), second.url("/5")])
        wait_until((folder / "control.sock").exists, running)
        asked = status(folder)
        ended = finish(running)
    assert ended.code == 0, ended.err
    assert asked.pages in {12, 13}  # whether or not it had ended by then
    assert set(json.loads(ended.out)) <= {12, 13}, "the first line of progress is whole as well"
