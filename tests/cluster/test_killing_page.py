"""A page that kills whole machines, with their disks, is found and given up; the crawl ends."""

import os
import random
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.cluster.extent import IS_FULL
from tests.cluster.machines import (
    LEASE_S,
    ClusterTrial,
    Node,
    cluster_of,
    gossamer_says,
    is_running,
    wait_for,
)
from tests.e2e.crawler import flags_for, write_knobs

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not IS_FULL, reason="played by make test-cluster"),
]

KILLER = """
import os, signal
from gossamer import Link, url_filter

@url_filter
def deadly(link: Link) -> str | None:
    if link.target.target == "/never":
        os.killpg(os.getpgrp(), signal.SIGKILL)
    return None
"""
PAGES = 12


def web_with_a_killer() -> ScriptedWeb:
    """Return a web of some hosts: the page /killer of one has a link that no machine survives."""
    web = ScriptedWeb()
    for number in range(4):
        host = web.host(f"h{number}.test", f"127.0.9.{1 + number}")
        host.page("/", links=[f"/p{page}" for page in range(PAGES)] + ["/killer"] * (number == 1))
        for page in range(PAGES):
            host.page(f"/p{page}", text=f"{number} {page}")
    web.host("h1.test").page("/killer", links=["/never"])
    web.host("h1.test").page("/never")
    return web


def restart_if_dead(node: Node) -> int:
    """Bring a machine back that died, without its disk; return 1 if it had."""
    if is_running(node.pid):
        return 0
    node.lose(keeps_certificates=True)
    time.sleep(LEASE_S / 4)
    node.start()
    return 1


def test_a_page_that_kills_machines_is_given_up_and_the_crawl_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deadly.py").write_text(KILLER)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(tmp_path), *_paths())))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    knobs = {
        "store": {"ship_s": 0.5, "lease_s": LEASE_S},
        "filter": {"user_filters": ["deadly:deadly"]},
    }
    with serve_in_thread(web_with_a_killer()) as server:
        file = write_knobs(tmp_path / "knobs.toml", knobs)
        words = ("--config", str(file), "--no-sitemaps", "--shards", "2", "--delay", "0.1")
        seeds = tuple(server.web.host(f"h{number}.test").url() for number in range(4))
        trial = ClusterTrial(
            server, tmp_path, seeds, flags_for(server.resolve, *words), random.Random(1)
        )
        with cluster_of(trial, 2) as going:
            crawl = going.crawl()
            deaths = 0

            def has_ended() -> bool:
                nonlocal deaths
                deaths += sum(restart_if_dead(node) for node in going.nodes)
                return crawl.poll() is not None

            assert wait_for(has_ended)
            ended = going.finish().expect(0)
        told = gossamer_says("status", going.url, "--json", variables={})
        why = gossamer_says("why", going.url, f"{seeds[1]}killer", "--json", variables={})
    print("machines lost", deaths)  # noqa: T201 - for people
    assert ended.last_json["finished"]
    assert told["failed"] == {"killed_us": 1}
    assert told["pages"] == 4 * (PAGES + 1)
    assert (why["state"], why["reason"]) == ("failed", "killed_us")
    assert 1 <= deaths <= 3


def _paths() -> list[str]:
    with suppress(KeyError):
        return [os.environ["PYTHONPATH"]]
    return []
