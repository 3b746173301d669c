"""The tables of docs/BENCHMARKS.md, written from the kept results between its comments."""

import re
from collections.abc import Iterator
from typing import Any

from provenance import REPOSITORY
from summary import AIMS, NEEDS, Aim, figure_of
from svg import figure

PAGE = REPOSITORY / "docs" / "BENCHMARKS.md"
PICTURES = REPOSITORY / "docs" / "img"
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

Results = dict[str, dict[str, Any]]


def write_tables(results: Results) -> None:
    """Bring the tables of the page up to date."""
    PAGE.write_text(current(results), encoding="utf-8")


def current(results: Results) -> str:
    """Return the page with tables of these results; what is between them stays."""
    tables = {
        "aims": aims(results),
        "versus": versus(results.get("versus")),
        "pictures": pictures(),
    }
    parts = {name: "\n".join(lines) for name, lines in tables.items()}
    text = PAGE.read_text(encoding="utf-8")
    return _PART.sub(lambda m: f"{m[1]}{parts[m[2]]}\n{m[3]}", text)


def aims(results: Results) -> Iterator[str]:
    """Yield the table of figures that have a bound."""
    yield "| | measured | aim | command | needs | commit |"
    yield "|---|--:|--:|---|---|---|"
    for aim in AIMS:
        result = results.get(aim.result, {})
        value = figure_of(result, aim.figure)
        command = aim.result.replace("cpu-", "cpu ORDER=")
        commit = result.get("provenance", {}).get("commit", "")
        cells = [_about(aim, result), _measured(aim, value), aim.words(), f"`make bench-{command}`"]
        yield f"| {' | '.join([*cells, NEEDS.get(aim.result, ''), commit])} |"


def versus(result: dict[str, Any] | None) -> Iterator[str]:
    """Yield one table per crawl, the cheapest crawler first."""
    if result is None:
        yield "(no result yet)"
        return
    if "note" in result:
        yield f"*{result['note']}*"
    for name, course in result["courses"].items():
        yield f"\n**{course['about'].capitalize()}** (`{course['seed']}`)\n"
        yield (
            "| | pages | CPU ms per page | HTML kB per page | CPU µs per kB | wall s | peak MB "
            "| hosts | asked twice | robots broken | keeps | runs |"
        )
        yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|"
        yield from (_versus_row(row) for row in result[name])
        for absent in result["not_installed"]:
            yield f"| {absent} | not installed |" + " |" * 10


def pictures() -> Iterator[str]:
    """Yield the pictures that there are; a long one as a link, one that has its place not."""
    for path in sorted(PICTURES.glob("*.svg")):
        if path.stem != "versus":
            sign = "" if path.stem == "micro" else "!"
            yield f"{sign}[{path.stem}]({path.relative_to(PAGE.parent)})"


def _about(aim: Aim, result: dict[str, Any]) -> str:
    try:
        return aim.about.format_map(result)
    except KeyError:  # a figure that the words name was not measured
        return re.sub(r"\{[^}]*\}", "…", aim.about)


def _measured(aim: Aim, value: float | None) -> str:
    if value is None:
        return "**not measured**"
    return figure(value) if aim.is_reached(value) else f"**{figure(value)}**"


def _versus_row(row: dict[str, Any]) -> str:
    arm = f"**{row['arm']}**" if row["arm"].startswith("Gossamer") else row["arm"]
    pages = f"{row['pages']:,}" + (f" (cut at {row['cut_at_s']:.0f} s)" if row["cut_at_s"] else "")
    keys = ("cpu_ms_per_page", "html_kb_per_page", "us_per_kb", "wall_s", "rss_mb", "hosts")
    cells = [arm, pages, *(figure(row[key]) for key in keys)]
    cells += [f"{row['repeats']:,}", f"{row['forbidden']:,}", kept(row["keeps"]), f"{row['runs']}"]
    return f"| {' | '.join(cells)} |"


def kept(keeps: dict[str, Any]) -> str:
    """Return what a crawler leaves behind, in a few words."""
    told = [keeps["archive"]]
    told += ["digests"] * keeps["digests"] + ["text"] * keeps["text"]
    return ", ".join(told + ["survives kill -9"] * keeps["survives_kill"])
