"""The page of `gossamer report --html`: the site at a glance."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias, TypeVar

from gossamer.log import counted
from gossamer.report.charts import Bar, bars, columns, stacked
from gossamer.report.html_page import card, table, text, web_link, whole_page
from gossamer.report.site_facts import ReportedPage, SiteReport, Spread

_STYLE = """
.stack{border-radius:5px;overflow:hidden}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;margin:.6rem 0 0;font-size:.92rem}
.legend i{display:inline-block;width:.75em;height:.75em;border-radius:3px;margin-right:.4em}
.value{font-size:12px}
.bars{display:grid;grid-template-columns:fit-content(45%) 1fr max-content;gap:.35rem .8rem;
align-items:center;font-size:.92rem;margin:.4rem 0}
.bars span{overflow-wrap:anywhere}.bars b{font-weight:500;text-align:right;
font-variant-numeric:tabular-nums}
.chains{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(21rem,100%),1fr));
gap:0 1.5rem}
ol.chain{margin:.1rem 0 .8rem;padding-left:1.3rem}ol.chain li{margin:.05rem 0}
ul.urls{list-style:none;margin:.3rem 0;padding:0;columns:2;column-gap:2rem}
ul.urls li{break-inside:avoid;padding:.18rem 0}
@media(max-width:46rem){ul.urls{columns:1}.value{font-size:10px}}
"""
_CLASSES = ((200, "2xx", "good"), (300, "3xx", "move"), (400, "4xx", "warn"), (500, "5xx", "bad"))
_LABELS = {
    "challenge": "behind a login or challenge page",
    "needs_javascript": "need JavaScript",
    "soft_not_found": "say that they were not found",
}
MOST_TYPES = 8
ROWS_SHOWN, CHAINS_SHOWN = 10, 6
"""Of a list; the rest is folded."""
Part = TypeVar("Part")
Shown: TypeAlias = Callable[[int], str]
"""A value in words."""
_KB = 1000


def report_page(report: SiteReport) -> str:
    """Return the report as one file of HTML."""
    name = Path(report.folder).resolve().name
    return whole_page(f"Crawl report: {name}", _head(report), _body(report), _STYLE)


def _head(report: SiteReport) -> Iterator[str]:
    first, last = _moment(report.first_at), _moment(report.last_at)
    period = f"Fetched {first} to {last} UTC. " if report.first_at else ""
    state = "The crawl is running." if report.running else ""
    yield f'<p class="soft">{period}Report of {_moment(report.made_at)} UTC. {state}</p>'
    parts = (
        *(("answers", "Answers"), ("pages", "Pages"), ("redirects", "Redirects")),
        *(("titles", "Titles"), ("orphans", "Orphans"), ("robots", "Robots and traps")),
        *(("copies", "Copies"), ("hosts", "Hosts")),
    )
    links = "".join(f'<a href="#{name}">{title}</a>' for name, title in parts)
    yield f'<nav class="nav" aria-label="Parts">{links}</nav>'


def _body(report: SiteReport) -> Iterator[str]:
    yield _tiles(report)
    yield _answers(report)
    yield f'<div class="grid" id="pages">{"".join(_page_cards(report))}</div>'
    yield f'<div class="grid">{"".join(_extremes(report))}</div>'
    yield _redirects(report)
    yield f'<div class="grid" id="titles">{"".join(_titles(report))}</div>'
    yield _orphans(report)
    yield f'<div class="grid" id="robots">{"".join(_robots_and_traps(report))}</div>'
    yield _copies(report)
    yield _hosts(report)


def _tiles(report: SiteReport) -> str:
    broken = report.failed + report.gone
    told: tuple[tuple[object, str, str], ...] = (
        (f"{report.pages:,}", "pages", ""),
        (f"{report.hosts:,}", "host" if report.hosts == 1 else "hosts", ""),
        (f"{broken:,}", "failed", "bad" if broken else ""),
        (f"{report.redirected:,}", "redirects", ""),
        (f"{report.refused:,}", "refused", ""),
        (f"{report.queued:,}", "queued", ""),
        (_bytes(report.archive_bytes), "archive", ""),
        (_bytes(report.sizes.median), "median page", ""),
    )
    tiles = "".join(
        f'<div class="tile {kind}"><b>{text(value)}</b><span>{text(name)}</span></div>'
        for value, name, kind in told
    )
    return f'<div class="tiles">{tiles}</div>'


def _answers(report: SiteReport) -> str:
    classes = [
        Bar(name, count, f"{count:,}", color)
        for low, name, color in _CLASSES
        if (count := sum(one.urls for one in report.statuses if low <= one.status < low + 100))
    ]
    answered = sum(one.urls for one in report.statuses)
    if silent := report.unanswered:
        classes.append(Bar("no answer", silent, f"{silent:,}", "other"))
    rows = [
        Bar(str(one.status), one.urls, f"{one.urls:,}", _color(one.status))
        for one in report.statuses
    ]
    failures = [
        [
            text(one.reason.replace("_", " ")),
            f"{one.urls:,}",
            "<br>".join(web_link(url) for url in one.examples),
        ]
        for one in report.failures
    ]
    parts = [stacked(classes, "Answers by class of HTTP status")]
    parts += ["<h3>By status</h3>", bars(rows, "URLs by HTTP status")] if rows else []
    if failures:
        parts += [
            "<h3>Failures</h3>",
            table(("reason", "URLs", "such as"), failures, ".n.", is_stacked=True),
        ]
    note = f"HTTP status of the last answer of {counted(answered, 'URL')}."
    return card("Answers", *parts, note=note, anchor="answers")


def _page_cards(report: SiteReport) -> Iterator[str]:
    depths = [
        Bar(str(depth), count, f"{count:,}", title=f"{counted(count, 'page')} at depth {depth}")
        for depth, count in enumerate(report.depths)
    ]
    note = "Links from a seed to a page, as it was found."
    yield card("Depth", columns(depths, "Pages by depth") if depths else _nothing(), note=note)
    types = [
        Bar(
            one.media_type, one.pages, f"{one.pages:,}", title=f"{_bytes(one.bytes)} in the archive"
        )
        for one in report.media_types[:MOST_TYPES]
    ]
    if rest := report.media_types[MOST_TYPES:]:
        types.append(Bar("others", (n := sum(one.pages for one in rest)), f"{n:,}", "other"))
    yield card("Types", bars(types, "Pages by media type"), note="As found in the answer.")
    sizes = columns(_ranges(report.sizes, _short_bytes), "Pages by size")
    told = f"Median {_bytes(report.sizes.median)}, nine of ten up to {_bytes(report.sizes.p90)}."
    yield card("Sizes", sizes, note=f"Bytes in the archive, compressed. {told}")
    if report.times is None:
        yield card("Response times", _nothing("Not recorded by the version that crawled."))
        return
    times = columns(_ranges(report.times, _short_ms), "Pages by response time")
    told = f"Median {_ms(report.times.median)}, nine of ten up to {_ms(report.times.p90)}."
    yield card("Response times", times, note=f"From request to last byte. {told}")


def _extremes(report: SiteReport) -> Iterator[str]:
    largest = _pages_table(report.largest, "size", _bytes)
    yield card("Largest pages", largest, is_wide=not report.slowest)
    if report.slowest:
        yield card("Slowest pages", _pages_table(report.slowest, "time", _ms))


def _pages_table(pages: Sequence[ReportedPage], name: str, shown: Shown) -> str:
    rows = [[web_link(one.url), text(shown(one.value))] for one in pages[:10]]
    return table(("page", name), rows, ".n") if rows else _nothing()


def _redirects(report: SiteReport) -> str:
    found = report.redirects
    chains = [
        f"<div><h3>{'Loop' if one.is_loop else counted(len(one.urls) - 1, 'redirect')}</h3>"
        f'<ol class="chain">{"".join(f"<li>{web_link(url)}</li>" for url in one.urls)}</ol></div>'
        for one in found.longest
    ]
    counts = (
        counted(found.redirects, "redirect"),
        f"{counted(found.chains, 'chain')} of two and more",
        counted(found.loops, "loop"),
    )
    shown = [f'<div class="chains">{"".join(some)}</div>' for some in _cut(chains, CHAINS_SHOWN)]
    return card(
        "Redirect chains", *_folded(shown), note=f"{', '.join(counts)}.", anchor="redirects"
    )


def _titles(report: SiteReport) -> Iterator[str]:
    found = report.titles
    rows = [
        [text(one.title), f"{one.pages:,}", "<br>".join(web_link(url) for url in one.urls)]
        for one in found.most_repeated
    ]
    note = f"{counted(found.repeated, 'page')} of {found.pages:,} share a title with another page."
    repeated = _long_table(("title", "pages", "such as"), rows, ".n.")
    yield card("Duplicate titles", repeated, note=note, is_wide=True)
    note = f"{counted(found.missing, 'page')} without a title."
    yield card("Missing titles", _urls(found.missing_urls, found.missing), note=note, is_wide=True)


def _orphans(report: SiteReport) -> str:
    found = report.orphans
    note = (
        f"Pages in a sitemap that no stored page links to: {found.orphans:,}. Sitemaps name "
        f"{counted(found.in_sitemaps, 'URL')}."
    )
    return card("Orphans", _urls(found.urls, found.orphans), note=note, anchor="orphans")


def _robots_and_traps(report: SiteReport) -> Iterator[str]:
    found = report.robots_txt
    lines = [[text(one.line), f"{one.urls:,}"] for one in found.lines]
    robots = _long_table(("host and line", "URLs"), lines, ".n")
    note = f"{counted(found.forbidden, 'URL')} not asked for because of robots.txt."
    yield card("Robots", robots, note=note, is_wide=True)
    traps = [
        [text(one.unit), f"{one.pages:,}", f"{one.held:,}", text(one.why)]
        for one in report.trap_units
    ]
    shown = _long_table(("part of a site", "pages", "held", "why"), traps, ".nn.")
    note = f"Parts of sites that seem to have no end; {counted(report.held, 'URL')} held."
    yield card("Traps", shown, note=note, is_wide=True)
    refusals = [
        Bar(name.replace("_", " "), count, f"{count:,}", "other")
        for name, count in list(report.refusals.items())[:MOST_TYPES]
    ]
    if refusals:
        shown = bars(refusals, "Links and URLs that were refused")
        yield card("Refused", shown, note="Links and URLs, by reason.", is_wide=True)


def _copies(report: SiteReport) -> str:
    found = report.copies
    rows = [
        Bar("same content", found.same_content, f"{found.same_content:,}"),
        *(
            Bar(words, found.levels.get(level, 0), f"{found.levels.get(level, 0):,}")
            for level, words in (
                ("exact", "same text"),
                ("duplicate", "nearly the same"),
                ("similar", "similar"),
            )
        ),
    ]
    pages = [[web_link(one.url), f"{one.copies:,}"] for one in found.most_copied[:10]]
    parts = [bars(rows, "Pages that repeat others")]
    if pages:
        parts += ["<h3>Most copied</h3>", table(("page", "copies"), pages, ".n")]
    labels = [
        f"{counted(count, 'page')} {_LABELS.get(label, label)}"
        for label, count in report.labels.items()
    ]
    if labels:
        parts.append(f"<h3>Not content</h3><p>{text('; '.join(labels))}.</p>")
    note = "Pages that say the same as an older one."
    return card("Copies", *parts, note=note, anchor="copies")


def _hosts(report: SiteReport) -> str:
    rows = [
        [
            text(one.host),
            *(f"{count:,}" for count in (one.pages, one.redirects, one.failed, one.refused)),
            text(_bytes(one.bytes)),
        ]
        for one in report.top_hosts
    ]
    head = ("host", "pages", "redirects", "failed", "refused", "archive")
    note = f"{len(rows)} of {counted(report.hosts, 'host')}: those with the most pages."
    return card("Hosts", _long_table(head, rows, ".nnnnn"), note=note, anchor="hosts")


def _urls(urls: Sequence[str], total: int) -> str:
    some = _cut([f"<li>{web_link(url)}</li>" for url in urls], ROWS_SHOWN)
    shown = _folded([f'<ul class="urls">{"".join(part)}</ul>' for part in some])
    more = f'<p class="note">and {total - len(urls):,} more</p>' if total > len(urls) else ""
    return "".join(shown) + more


def _long_table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: str) -> str:
    some = (table(head, part, numbers, is_stacked=True) for part in _cut(rows, ROWS_SHOWN))
    return "".join(_folded(list(some)))


def _cut(parts: Sequence[Part], most: int) -> list[Sequence[Part]]:
    """Return the first so many parts, and the rest, if there is any of each."""
    return [some for some in (parts[:most], parts[most:]) if some]


def _folded(parts: Sequence[str]) -> list[str]:
    """Return the first part, and the second behind a line that opens it."""
    if not parts:
        return [_nothing()]
    rest = "".join(parts[1:])
    return [parts[0], f"<details><summary>more</summary>{rest}</details>" if rest else ""]


def _nothing(words: str = "None.") -> str:
    return f'<p class="soft">{text(words)}</p>'


def _ranges(found: Spread, shown: Shown) -> list[Bar]:
    """Return the columns of a spread, from the first to the last that has pages."""
    ranges = list(found.ranges)
    while len(ranges) > 1 and not ranges[-1].pages:
        ranges.pop()
    rows: list[Bar] = []
    before = 0
    for one in ranges:
        label = f"<{shown(one.below)}" if one.below is not None else f"≥{shown(before)}"
        pages = counted(one.pages, "page")
        rows.append(Bar(label, one.pages, f"{one.pages:,}", title=f"{label}: {pages}"))
        before = one.below or before
    return rows


def _color(status: int) -> str:
    return next((color for low, _, color in _CLASSES if low <= status < low + 100), "other")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def _bytes(count: int) -> str:
    value, unit = float(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < _KB:
            break
        value, unit = value / _KB, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"  # noqa: PLR2004 - three digits


def _short_bytes(count: int) -> str:
    return f"{count // _KB // _KB}M" if count >= _KB * _KB else f"{count // _KB}k"


def _ms(count: int) -> str:
    return f"{count / 1000:.1f} s" if count >= _KB else f"{count} ms"


def _short_ms(count: int) -> str:
    return f"{count // _KB} s" if count >= _KB else f"{count} ms"
