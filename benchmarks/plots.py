"""A picture per kept result and the tables of docs/BENCHMARKS.md: `make plots`.

Drawn from `results/*.json` and nothing else, so that a picture always fits its figures. A result
that is not there yet has no picture.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from fleets import page as fleet_page
from provenance import REPOSITORY
from summary import kept_results
from svg import Bar, Bars, Panel, bar_chart, line_chart
from tables import PICTURES, kept, write_tables

Result = dict[str, Any]

MICROSECONDS = re.compile(r"(?:(\w+?)_)?us(?:_per_([a-z]+))?(?:_(\w+))?")
"""What is measured, per what, and under which circumstances."""


def versus(result: Result) -> str:
    """Return CPU per page of every crawler that did the whole work, in both crawls."""
    groups = []
    for name, course in result["courses"].items():
        bars = [
            Bar(row["arm"], row["cpu_ms_per_page"], kept(row["keeps"]), is_ours(row))
            for row in result[name]
            if not row["cut_at_s"]  # the first pages of a crawl are the dearest
        ]
        cut = [row["arm"] for row in result[name] if row["cut_at_s"]]
        note = f" ({' and '.join(cut)} did not get that far)" if cut else ""
        pages = max(row["pages"] for row in result[name] if is_ours(row))
        groups.append(Bars(f"{course['about']}, {pages:,} pages{note}", bars, "ms"))
    about = "User + system time of all processes, start-up included; what is kept, at the right"
    return bar_chart("CPU per page, the same crawl by everyone", about, groups)


def is_ours(row: Result) -> bool:
    """Tell whether a row is Gossamer's."""
    return str(row["arm"]).startswith("Gossamer")


def cpu(result: Result) -> str:
    """Return where the CPU of a page goes."""
    whole = result["cpu_ms_per_page"]
    shares = {room.removesuffix(".py"): share for room, share in result["stages"].items()}
    bars = [Bar(room, 1e3 * whole * share) for room, share in shares.items() if share >= 0.005]
    about = (
        f"{whole} ms per page of {result['html_kb_per_page']} kB, {result['us_per_kb']} µs per kB"
    )
    return bar_chart("Where the CPU goes, by room", about, [Bars("one page", bars, "µs")])


def shards(result: Result) -> str:
    """Return what more shards bring."""
    arms = {"1 shard": result["one"], f"{result['shards']} shards": result["many"]}
    groups = [
        Bars("pages per second, server on the same cores", _arms(arms, "pages_per_s")),
        Bars("CPU per page", _arms(arms, "cpu_ms_per_page"), "ms"),
    ]
    about = (
        f"{result['speedup']} times the pages per second at {result['cpu_ratio']} times the CPU "
        f"per page; medians of {result['pairs']} pairs"
    )
    return bar_chart("Shards", about, groups)


def _arms(arms: dict[str, Result], figure: str) -> list[Bar]:
    return [Bar(name, arm[figure]) for name, arm in arms.items()]


def tls(result: Result) -> str:
    """Return what a TLS connection costs."""
    bars = [
        Bar("new connection", result["us_per_new_connection"]),
        Bar("session resumed", result["us_per_resumed"]),
        Bar("no TLS", result["us_per_plain_connection"]),
        Bar("handshake alone, in memory", result["bare_handshake_us"], is_ours=False),
    ]
    group = Bars("CPU per fetch", bars, "µs", goal=800)
    return bar_chart("TLS", "One fetch per connection, certificates verified", [group])


def politeness(result: Result) -> str:
    """Return what a gap of a second costs when there are many hosts."""
    arms = {
        f"{result['hosts']:,} hosts, no gap": result["free"],
        f"{result['hosts']:,} hosts, {result['gap_s']:g} s gap": result["polite"],
    }
    groups = [
        Bars("pages per second", _arms(arms, "pages_per_s")),
        Bars("CPU per page", _arms(arms, "cpu_ms_per_page"), "ms"),
    ]
    about = (
        f"{result['short_gaps']} gaps too short in the server's log, {result['restarts']} restarts "
        f"and {result['kills']} kills included"
    )
    return bar_chart("Politeness", about, groups)


def growth(result: Result) -> str:
    """Return what a page costs as more and more URLs are known."""
    rows = list(result["sizes"].values())
    points = [_count(int(size)) for size in result["sizes"]]

    def lines(**names: str) -> dict[str, list[float]]:
        return {words: [row[key] for row in rows] for key, words in names.items()}

    panels = [
        Panel("CPU per page", points, lines(cpu_us_warm="warm", cpu_us_cold="cold"), "µs"),
        Panel("anonymous memory", points, lines(rss_mb=""), "MiB", goal=1024),
        Panel("longest pause of the loop", points, lines(longest_pause_ms=""), "ms", goal=100),
        Panel("mapped files", points, lines(mapped_mb=""), "MiB"),
    ]
    about = (
        f"At {_count(result['urls'])} known URLs: {result['seen_bytes_per_url']} bytes on disk per "
        f"known URL, {result['frontier_bytes_per_url']} per queued URL, {result['restart_s']} s to "
        "start after a crash"
    )
    return line_chart("Growth: cost by the number of known URLs", about, panels)


def _count(urls: int) -> str:
    return f"{urls / 1e6:g} M" if urls >= 10**6 else f"{urls / 1e3:g} k"


def envelope(result: Result) -> str:
    """Return the cores that a search engine's crawl of the textbook's size would take."""
    bars = [Bar("cores", result["cores_for_400_pages_s"])]
    group = Bars("400 pages per second", bars, goal=4)
    about = f"{result['cpu_ms_per_page']} ms of CPU per page of {result['kb_per_page']:g} kB"
    return bar_chart("A billion pages a month", about, [group])


POLICIES = {
    "ours": "best (ours)",
    "opic_crawl": "OPIC with Lambda (ours)",
    "opic": "OPIC",
    "partial_pagerank": "PageRank of what is known",
    "backlinks": "back-links",
    "bfs": "breadth first",
    "random": "random",
}


def order(result: Result) -> str:
    """Return how much of the web's importance the first pages of each order have."""
    groups = [
        Bars(
            f"after {part} % of the pages",
            [
                Bar(words, 100 * result[name][f"share_{part}"], "", "ours" in words)
                for name, words in POLICIES.items()
            ],
            "%",
        )
        for part in (10, 20)
    ]
    about = f"{result['graph']}, {result['seeds']} seeds, mean of {result['sets']} sets"
    return bar_chart("Share of all PageRank that is fetched", about, groups)


def freshness(result: Result) -> str:
    """Return how near each schedule of visits comes to the best that is possible."""
    shares = {
        "known": "ours, change rates known",
        "learned": "ours, change rates learned",
        "by_importance": "by importance",
        "nutch": "Nutch's adaptive interval",
        "uniform": "all alike",
        "proportional": "by change rate",
    }
    bars = [
        Bar(words, 100 * result[name], "", words.startswith("ours"))
        for name, words in shares.items()
    ]
    about = f"{result['pages']:,} pages, {result['days']:g} days, a budget of visits"
    share = Bars("weighted freshness, of the optimum", bars, "%")
    return bar_chart("Pages kept fresh under a budget", about, [share])


def graph(result: Result) -> str:
    """Return how small a graph gets, and how fast a row of it is read then."""
    codings = {name: both["out"] for name, both in result["codings"].items()}
    groups = [
        Bars("bits per link", [Bar(name, one["bits"]) for name, one in codings.items()]),
        Bars(
            "one random row",
            [
                Bar(name, one["successors_us"])
                for name, one in codings.items()
                if not name.endswith("any chain")
            ],
            "µs",
        ),
    ]
    about = (
        f"{result['graph']}, {result['arcs']:,} links. W: window, R: longest chain (3); default: "
        "WebGraph's; any chain: 34 µs per row"
    )
    return bar_chart("The size of a graph against access to it", about, groups)


def micro(result: Result) -> str:
    """Return every figure in microseconds of the small benchmarks."""
    groups: dict[str, list[Bar]] = {}
    scripts = {name: figures for name, figures in result.items() if name != "provenance"}
    for name, figures in scripts.items():
        for label, per, value in _microseconds(figures):
            groups.setdefault(f"{name}: µs{per}", []).append(Bar(label, value))
    bars = [Bars(title, found) for title, found in groups.items()]
    return bar_chart("The stations alone", "CPU time; the scripts are in benchmarks/micro", bars)


def _microseconds(figures: Result, before: str = "") -> Iterable[tuple[str, str, float]]:
    """Yield name, denominator and value of every figure called `NAME_us_per_THING` or so."""
    for name, value in figures.items():
        if name == "provenance":
            continue
        found = MICROSECONDS.fullmatch(name)
        if isinstance(value, dict):
            yield from _microseconds(value, f"{before}{name} ")
        elif found and isinstance(value, int | float):
            what, per, more = found.groups(default="")
            label = f"{before}{what} {more}".replace("_", " ").strip()
            yield label or "all", f" per {per}" if per else "", value


CHARTS: dict[str, Callable[[Result], str]] = {
    "versus": versus,
    "cpu": cpu,
    "shards": shards,
    "tls": tls,
    "politeness": politeness,
    "growth": growth,
    "envelope": envelope,
    "micro": micro,
    "order": order,
    "freshness": freshness,
    "graph": graph,
    "fleet": fleet_page.picture,
}


def main() -> None:
    """Draw what there is, and write the tables."""
    results = kept_results()
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, draw in CHARTS.items():
        if name not in results:
            print(f"{name}: no result yet")
            continue
        picture = PICTURES / f"{name}.svg"
        try:
            picture.write_text(draw(results[name]), encoding="utf-8")
        except KeyError as missing:
            print(f"{name}: not drawn, its result has no {missing}")
            continue
        print(f"{name}: {picture.relative_to(REPOSITORY)}")
    write_tables(results)
    if "fleet" in results and "fleet-run" in results:
        fleet_page.write_page(results["fleet"], results["fleet-run"])


if __name__ == "__main__":
    main()
