"""The tables and the picture of docs/SCALING.md, from the kept result of `make bench-fleet`."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from svg import Panel, figure, line_chart

PAGE = Path(__file__).parents[2] / "docs" / "SCALING.md"
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
FAR = 0.15
"""What is further from the model is bold."""
Result = dict[str, Any]


def write_page(result: Result, run: Result) -> None:
    """Bring the tables of the page up to date."""
    PAGE.write_text(current(result, run), encoding="utf-8")


def current(result: Result, run: Result) -> str:
    """Return the page with tables of a result and a measured run; what is between them stays."""
    tables = {
        "needs": needs(result),
        "uses": uses(result),
        "fleets": fleets(result),
        "storage": storage(result),
        "measured": measured(result),
        "assumed": assumed(result),
        "run": three(run),
    }
    parts = {name: "\n".join(lines) for name, lines in tables.items()}
    text = PAGE.read_text(encoding="utf-8")
    return _PART.sub(lambda m: f"{m[1]}{parts[m[2]]}\n{m[3]}", text)


def needs(result: Result) -> Iterator[str]:
    """Yield what both scenarios need."""
    one, ten = result["one"], result["ten"]
    yield f"| | {_count(one['pages_a_month'])} pages a month | {_count(ten['pages_a_month'])} |"
    yield "|---|--:|--:|"

    def row(words: str, *path: str, unit: str = "", digits: int | None = None) -> str:
        cells = []
        for found in (one, ten):
            value: Any = found
            for name in path:
                value = value[name]
            cells.append(f"{_number(value, digits)} {unit}".strip())
        return f"| {words} | {' | '.join(cells)} |"

    yield f"| known URLs | {_count(one['known_urls'])} | {_count(ten['known_urls'])} |"
    yield row("pages a second", "demand", "pages_per_s", digits=0)
    yield row("**machines**", "nodes")
    yield row("shards", "demand", "shards")
    yield row("largest shard, times the mean", "largest_shard")
    yield row("CPU: crawl, TLS, copies, index", "demand", "cores", unit="cores")
    yield row("memory of the shards", "demand", "memory_gb", unit="GB", digits=0)
    yield row("disk: state", "demand", "state_tb", unit="TB")
    yield row("disk: index of the pages that were fetched", "demand", "index_tb", unit="TB")
    yield row("network: fetched", "demand", "fetch_mbit", unit="Mbit/s", digits=0)
    yield row("network: to the store", "demand", "store_mbit", unit="Mbit/s", digits=0)
    yield row("network: links between shards", "demand", "mail_mbit", unit="Mbit/s")
    yield _millions("requests to the store a month: PUT", "puts_a_month", one, ten)
    yield _millions("requests to the store a month: HEAD", "heads_a_month", one, ten)
    yield row("archive, a month", "demand", "archive_tb_a_month", unit="TB", digits=0)
    yield row(
        "a machine dies: half of its shards crawl again after", "year", "recovery_s", unit="s"
    )
    yield row("the last of them after", "year", "longest_recovery_s", unit="s", digits=0)
    yield row("machines that die in a year", "year", "deaths")
    yield row("requests made again, a month", "year", "again_a_month", digits=0)
    yield row("time that a shard does not crawl, share", "year", "lost_share")
    for name in one["price_a_month"]:
        yield row(f"price a month: {name}, $", "price_a_month", name)


def _millions(words: str, name: str, *found: Result) -> str:
    cells = [f"{one['demand'][name] / 1e6:,.0f} M" for one in found]
    return f"| {' | '.join([words, *cells])} |"


def uses(result: Result) -> Iterator[str]:
    """Yield how much of each resource is used, with one machine down."""
    yield "| | used | there is | share | at ten times the pages |"
    yield "|---|--:|--:|--:|--:|"
    ten = {use[0]: use for use in result["ten"]["uses"]}
    for name, used, available, unit, share in result["one"]["uses"]:
        cells = [name, f"{figure(used)} {unit}", f"{figure(available)} {unit}"]
        yield f"| {' | '.join([*cells, _share(share), _share(ten[name][4])])} |"


def fleets(result: Result) -> Iterator[str]:
    """Yield a year of fleets of several sizes."""
    yield (
        "| machines | pages a month | known URLs | shards | URLs per shard | deaths, racks a year "
        "| shards moved in vain by one | half back after | last back after | not crawling "
        "| requests again a month | fullest machine | largest shard | store requests a second |"
    )
    yield "|" + "--:|" * 14
    for one in result["fleets"]:
        cells = [
            f"{one['nodes']:,}",
            _count(one["pages_a_month"]),
            _count(one["known_urls"]),
            f"{one['shards']:,}",
            _count(one["urls_per_shard"]),
            f"{one['deaths']:,}, {one['racks']:,}",
            f"{one['most_moves']:,}",
            f"{one['recovery_s']:,.0f} s",
            f"{one['longest_recovery_s']:,.0f} s",
            f"{100 * one['lost_share']:.4f} %",
            f"{one['again_a_month']:,.0f}",
            f"{one['most_load']:.2f}",
            f"{one['largest_shard']:.2f}",
            f"{one['store_requests_per_s']:,}",
        ]
        yield f"| {' | '.join(cells)} |"


def storage(result: Result) -> Iterator[str]:
    """Yield what is kept of pages, year by year."""
    yield (
        "| end of year | everything kept | $ a month | by the rule: at hand | cold | $ a month "
        "| $ paid so far | ten times the pages: everything | by the rule | $ a month |"
    )
    yield "|" + "--:|" * 10
    for one, ten in zip(result["one"]["storage"], result["ten"]["storage"], strict=True):
        cells = [
            str(one["year"]),
            f"{one['all_tb']:,.0f} TB",
            f"{one['all_price']:,.0f}",
            f"{one['hot_tb']:,.0f} TB",
            f"{one['cold_tb']:,.0f} TB",
            f"{one['price']:,.0f}",
            f"{one['paid']:,.0f}",
            f"{ten['all_tb']:,.0f} TB",
            f"{ten['hot_tb'] + ten['cold_tb']:,.0f} TB",
            f"{ten['price']:,.0f}",
        ]
        yield f"| {' | '.join(cells)} |"
    yield f"\nThe rule: {result['one']['kept']}."


def measured(result: Result) -> Iterator[str]:
    """Yield where each measured figure is from."""
    yield "| figure | value | result | measured |"
    yield "|---|--:|---|---|"
    for name, value, source, date in result["measured"]:
        yield f"| `{name}` | {figure(value)} | `{source}.json` | {date} |"


def assumed(result: Result) -> Iterator[str]:
    """Yield what was not measured."""
    yield "| assumption | value |"
    yield "|---|--:|"
    for name, value in result["assumed"].items():
        yield f"| `{name}` | {value:,g} |" if value >= 0.001 else f"| `{name}` | {value:g} |"


def three(run: Result) -> Iterator[str]:
    """Yield what the model said of three machines, and what they did."""
    yield "| | foretold | measured | measured / foretold |"
    yield "|---|--:|--:|--:|"
    for name, foretold in run["foretold"].items():
        ratio = run["ratios"].get(name)
        far = ratio is not None and abs(ratio - 1) > FAR
        told = "" if ratio is None else f"**{ratio:.2f}**" if far else f"{ratio:.2f}"
        cells = [name.replace("_", " "), _said(foretold), _said(run["measured"][name]), told]
        yield f"| {' | '.join(cells)} |"


def _said(value: object) -> str:
    return figure(float(value)) if isinstance(value, int | float) else str(value).strip("[]")


def picture(result: Result) -> str:
    """Return what grows with the fleet, and what is used of one."""
    rows = result["fleets"]
    points = [f"{row['nodes']:,}" for row in rows]
    panels = [
        Panel(
            "known URLs of a shard, millions",
            points,
            {"": [r["urls_per_shard"] / 1e6 for r in rows]},
            goal=200,
        ),
        Panel(
            "half of a lost machine's shards are back after",
            points,
            {"": [r["recovery_s"] for r in rows]},
            "s",
        ),
        Panel("largest shard, times the mean", points, {"": [r["largest_shard"] for r in rows]}),
        Panel(
            "requests to the store",
            points,
            {"": [r["store_requests_per_s"] for r in rows]},
            "a second",
        ),
    ]
    about = "By the number of machines, each with as much to do; simulated from measured costs"
    return line_chart("A crawl by 10 to 1,000 machines", about, panels)


def _number(value: float, digits: int | None) -> str:
    return figure(value) if digits is None else f"{value:,.{digits}f}"


def _share(share: float) -> str:
    told = f"{100 * share:.1f} %"
    return f"**{told}**" if share > 1 else told


def _count(number: float) -> str:
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6)):
        if number >= size:
            return f"{figure(number / size)} {unit}"
    return f"{number:,.0f}"
