"""A watched crawl of the order best: change and importance decide together."""

import time
from pathlib import Path

import pytest

import gossamer
from gossamer.testing import CannedResponse, Request, ScriptedWeb, html_response
from gossamer.testing.scripted import ResponseHandler
from tests.integration.threats import Knobs, crawl, serving

LINKING = 24
KNOBS: Knobs = {
    "frontier": {"order": "best"},
    "watch": {"rate_per_s": 20.0, "prior_s": 50.0},
}


def changing(name: str, gap_s: float) -> ResponseHandler:
    def answer(_request: Request) -> CannedResponse:
        return html_response(f"<title>{name}</title><p>{int(time.time() / gap_s)}</p>")

    return answer


@pytest.mark.slow
def test_change_and_importance_decide_together_what_is_revisited(tmp_path: Path) -> None:
    """Two pages that all others link to, and two that one links to; one of each changes."""
    web = ScriptedWeb()
    host = web.host("a.test")
    names = {"/hub-fast": 3.0, "/hub-slow": 1e12, "/leaf-fast": 3.0, "/leaf-slow": 1e12}
    with serving(web) as server:
        for name, gap_s in names.items():
            host.on(name, changing(name, gap_s))
        pages = [f"/{n}" for n in range(LINKING)]
        host.page("/", text="home", links=pages)
        for page in pages:
            leaves = ["/leaf-fast", "/leaf-slow"] if page == "/7" else []
            host.page(page, text=page, links=["/hub-fast", "/hub-slow", *leaves])
        crawl(server, tmp_path / "c", host.url(), knobs=KNOBS)
        before = len(server.requests)
        running = gossamer.Crawl(tmp_path / "c")
        most = before + 400
        running.watch(60.0, lambda _: running.stop() if len(server.requests) > most else None)
    asked = [visit.target for visit in server.requests[before:]]
    looks = {name: asked.count(name) for name in names}
    assert looks["/hub-fast"] > looks["/hub-slow"]
    assert looks["/hub-fast"] > looks["/leaf-fast"]
    told = [gossamer.why(tmp_path / "c", host.url(name)).watch for name in names]
    worth = [found.importance or 0.0 for found in told if found is not None]
    assert worth[0] == worth[1] > worth[2] == worth[3] > 0.0
