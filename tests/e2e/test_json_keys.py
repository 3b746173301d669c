"""The keys of every answer with --json, and of the JSON API, in their order: programs rely on them.

`tests/golden/json_keys.json` holds them; GOLDEN=write writes it anew.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.store import CrawlFolder, iter_links
from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.crawler import Crawler, flags_for, only_json, say
from tests.unit.web.served import Served, serving

GOLDEN = Path(__file__).parents[1] / "golden" / "json_keys.json"
MAPS = {
    "refused",
    "labels",
    "failed",
    "copies",
    "retries",
    "kinds",
    "bytes",
    "left_out",
    "user_errors",
    "queued_again",
    "reasons",
    "empty",
    "unlike",
    "refusals",
    "levels",
}
"""Names of maps by reason, kind or file: their keys depend on the crawl."""
MAYBE = {
    "traps": ["unit", "reason", "pages", "held", "refused", "detail"],
    "near": ["level", "bins", "original", "key"],
    "robots": ["allowed", "line", "number", "crawl_delay_s"],
    "settings": ["delay_s", "scope", "insecure", "headers"],
    "filter": ["reason", "detail"],
    "page": ["file", "offset", "length"],
    "failures": ["reason", "urls", "examples"],
    "trap_units": ["unit", "pages", "held", "why"],
    "longest": ["urls", "is_loop"],
    "most_repeated": ["title", "pages", "urls"],
    "most_copied": ["url", "copies"],
    "robots_txt": ["forbidden", "lines", "urls"],
    "visits": ["at", "state", "reason", "status", "file", "offset", "length"],
    "findings": [
        *("kind", "target", "status", "reason", "detail", "chain", "column", "count"),
        *("places", "severity"),
    ],
}
"""What may be null or empty, and its keys if it is not."""


def shape(value: Any, name: str = "") -> Any:
    """Return the keys of an answer, in order, and those inside it."""
    if name in MAYBE and isinstance(value, list | dict | None):
        found = value if isinstance(value, list) else [value] if value else []
        assert all(list(one) == MAYBE[name] for one in found), value
        return "maybe"
    if isinstance(value, dict):
        if name in MAPS:
            return "map"
        return [
            key if (inner := shape(one, key)) is None else [key, inner]
            for key, one in value.items()
        ]
    if isinstance(value, list) and value and isinstance(value[0], dict):
        shapes = [shape(one) for one in value]
        assert all(one == shapes[0] for one in shapes)
        return shapes[0]
    return None


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawler]:
    place = tmp_path_factory.mktemp("keys")
    web = FakeWeb(seed=7, hosts=6, pages_per_host=40)
    with serve_in_process(web, place / "log.tsv") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--shards", "1", "--max-pages", "60")
        crawler = Crawler(place / "crawl", server.web.seeds, flags)
        crawler.run("--max-pages", "50").expect(0)
        yield crawler


def one_of_each(crawl: Crawler) -> dict[str, dict[str, Any]]:
    """Return what `why` says of some URLs, by its state: one of each state that is met."""
    urls: list[str] = []
    outcomes: dict[str, list[str]] = {}
    for _, record in iter_links(CrawlFolder(crawl.folder)):
        outcomes.setdefault(record.outcome, []).append(record.url)
        urls += [target for target, *_ in record.links[::9]]
    sample = [url for some in outcomes.values() for url in some[:2]] + urls[:6] + urls[-12:]
    found = {answer["state"]: answer for answer in map(crawl.why, sample)}
    for url in urls[6:-12]:  # which page came last, and so what is queued, differs from run to run
        if "queued" in found:
            break
        answer = crawl.why(url)
        found.setdefault(answer["state"], answer)
    return found


def commands(crawl: Crawler, place: Path) -> dict[str, Any]:
    """Return what every command with --json says, by its words."""
    seed = crawl.seeds[0]
    edges = place / "edges.txt"
    edges.write_text("0 1\n1 2\n2 0\n")
    files = place / "small"
    given = place / "given.txt"
    given.write_text(crawl.say("show", seed, "--text").expect(0).out)
    rules = place / "rules.toml"
    rules.write_text("[page.fields]\ntitle = 'title'\n")
    jsonl = place / "pages.jsonl"
    jsonl.write_text('{"url": "http://a.test/", "text": "silver weir"}\n')
    return {
        "status": crawl.status(),
        "changes": only_json(crawl.say("changes", "--json")),
        "why not_a_url": crawl.why("not a url"),
        "why unknown": crawl.why("http://nobody.test/x"),
        "copies": only_json(crawl.say("copies", "--json")),
        "extract": only_json(
            crawl.say(
                "extract", "--rules", str(rules), "--to", str(place / "items.jsonl"), "--json"
            )
        ),
        "copies --of": only_json(
            crawl.say("copies", "--of", str(given), "--min-words", "10", "--json")
        ),
        "report": only_json(crawl.say("report", "--json")),
        "add": only_json(crawl.say("add", seed, "--json")),
        "retry": only_json(crawl.say("retry", "--json")),
        "set": only_json(crawl.say("set", "filter.max_depth=99", "--json")),
        "trust": only_json(crawl.say("trust", "nobody.test", "--json")),
        "links": only_json(crawl.say("links", seed, "--json")),
        "links --in": only_json(crawl.say("links", seed, "--in", "--json")),
        "links --out --limit 1": only_json(
            crawl.say("links", seed, "--out", "--limit", "1", "--json")
        ),
        **{
            f"rank {by}": only_json(crawl.say("rank", "--by", by, "--json", "--top", "3"))
            for by in ("pagerank", "harmonic", "hubs", "authorities", "indegree")
        },
        "rank --hosts": only_json(crawl.say("rank", "--hosts", "--json")),
        "rank --no-save": only_json(crawl.say("rank", "--no-save", "--json")),
        "search": only_json(crawl.say("search", "silver", "--json")),
        "search facets": only_json(crawl.say("search", "silver", "--facets", "--json"))["facets"],
        "search log report": only_json(crawl.say("search", "--log-report", "--json")),
        "search nothing": only_json(crawl.say("search", "zzzqqq", "--json")),
        **{
            f"build {what}": only_json(crawl.say("build", what, "--json"))
            for what in ("graph", "index", "near", "state", "tables")
        },
        "export": only_json(crawl.say("export", "pages", "--to", str(place / "x"), "--json")),
        "check": only_json(crawl.say("check", "--json")),
        "check-links": only_json(crawl.say("check-links", "--json")),
        "graph info --check": graph("info", crawl.folder, "--check"),
        "graph path": graph("path", crawl.folder, seed, seed),
        "graph like": graph("like", crawl.folder, seed),
        "graph hosts": graph("hosts", crawl.folder),
        "graph hosts HOST": graph("hosts", crawl.folder, seed.split("/")[2]),
        "graph components": graph("components", crawl.folder),
        "graph picture": graph("picture", crawl.folder, seed, "--to", place / "p.svg"),
        "graph export": graph("export", crawl.folder, "--to", "urls", "-o", place / "urls.txt"),
        "graph from-edges": graph("from-edges", edges, files),
        "graph reorder": graph("reorder", files, place / "anew"),
        "graph info BASE": graph("info", files),
        "links BASE": say("links", str(files), "1", "--json").expect(0).last_json,
        "rank BASE": say("rank", str(files), "--json").expect(0).last_json,
        "index": say("index", str(jsonl), "--into", str(place / "i"), "--json").last_json,
        "crawl": crawl.run().expect(0).last_json,
        "watch": crawl.say("watch", "--max-time", "0.5", "--json").expect(0).last_json,
    }


def graph(verb: str, *words: object) -> dict[str, Any]:
    """Return what a verb of `graph` says."""
    return say("graph", verb, *map(str, words), "--json").expect(0).last_json


def api(served: Served, seed: str) -> dict[str, Any]:
    """Return what the JSON API says, by address."""
    return {
        "/api/status": served.ask("/api/status").json,
        "/api/why": served.ask("/api/why", url=seed).json,
        "/api/search": served.ask("/api/search", q="silver").json,
        "/api/links": served.ask("/api/links", url=seed).json,
        "/api/links in": served.ask("/api/links", url=seed, direction="in").json,
        "/api/links unknown": served.ask("/api/links", url="http://no.test/").json,
        "/api/rank": served.ask("/api/rank", top=3).json,
        "/api/path": served.ask("/api/path", from_=seed, to=seed).json,
        "/api/like": served.ask("/api/like", url=seed).json,
        "/api/hosts": served.ask("/api/hosts").json,
        "/api/hosts host": served.ask("/api/hosts", host=seed.split("/")[2]).json,
        "/api/hosts unknown": served.ask("/api/hosts", host="no.test").json,
        "/api/components": served.ask("/api/components").json,
        "/api/graph": served.ask("/api/graph").json,
    }


@pytest.mark.slow
def test_the_keys_of_json_answers_stay_as_they_are(crawl: Crawler, tmp_path: Path) -> None:
    states = {f"why {state}": answer for state, answer in one_of_each(crawl).items()}
    assert {"why archived", "why queued"} <= states.keys()
    told = dict(states)
    told |= commands(crawl, tmp_path)
    with serving(crawl.folder) as served:
        told |= api(served, crawl.seeds[0])
    found = {name: shape(answer) for name, answer in told.items()}
    if os.environ.get("GOLDEN") == "write":
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
    expected = json.loads(GOLDEN.read_text())
    for name, keys in found.items():
        assert (name, keys) == (name, expected.get(name)), f"GOLDEN=write? {told[name]}"
    assert expected.keys() - found.keys() <= {name for name in expected if name[:4] == "why "}
