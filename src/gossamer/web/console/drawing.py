"""The pages of the console as markup. Whatever comes from the web goes through `text`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from gossamer import (
    CrawledHost,
    CrawlSample,
    HostDetails,
    HostFetch,
    Status,
    UrlCounts,
    UrlRow,
    state_sentence,
)
from gossamer.web.console.sparkline import Point, latest, level, rate, sparkline
from gossamer.web.frame import address, link_to, out_link, table, text

_PARTS: Sequence[tuple[str, str]] = (
    ("/crawl", "Overview"),
    ("/crawl/hosts", "Hosts"),
    ("/crawl/problems", "Problems"),
    ("/crawl/changes", "Changes"),
    ("/crawl/copies", "Copies"),
    ("/crawl/images", "Images"),
    ("/crawl/queries", "Queries"),
    ("/crawl/seeds", "Seeds"),
    ("/crawl/rules", "Rules"),
)
HOUR_S, DAY_S = 3600.0, 86_400.0
_YEAR_10000 = 253_402_300_800
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")
_KIB = 1024.0
HOST_COLUMNS = (
    *("host", "pages", "bytes", "failed", "refused", "queued", "robots", "gap_s"),
    *("median_ms", "last_at"),
)
SCRIPT = '<script src="/static/live.js" defer></script>'
SCRIPT_POLICY = (
    "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Of the pages that run our script: it asks this server for what is new."""
BEING_COUNTED = (
    '<p class="note" role="status" data-again>This is being counted: it appears here in a moment; '
    f"without scripts, load the page again.</p>{SCRIPT}"
)
STATES_OF_PROBLEMS = ("failed", "refused", "parked", "held", "gone")


def parts(here: str) -> str:
    """Return the links between the pages of the console."""
    links = "".join(
        f'<a href="{path}"{" aria-current=page" * (path == here)}>{name}</a>'
        for path, name in _PARTS
    )
    return f'<nav class="parts" aria-label="Console">{links}</nav>'


def moment(at: float | None) -> str:
    """Return a moment as text."""
    if at is None or not 0 < at < _YEAR_10000:
        return ""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def size(count: float) -> str:
    """Return a number of bytes for people."""
    for unit in _UNITS[:-1]:
        if count < _KIB:
            return f"{count:,.0f} {unit}" if unit == "B" else f"{count:,.1f} {unit}"
        count /= _KIB
    return f"{count:,.1f} {_UNITS[-1]}"


def figures(status: Status, disk_free_bytes: int | None) -> dict[str, tuple[str, str]]:
    """Return what the overview tells, by key: its name and its value."""
    fresh = status.watch.expected_freshness
    found = {
        "pages": ("Pages", f"{status.pages:,}"),
        "rate": ("Pages/s", f"{status.pages_per_s:,}"),
        "queued": ("Queued", f"{status.queued:,}"),
        "in_flight": ("In flight", f"{status.in_flight:,}"),
        "active": ("Active hosts", f"{status.active_hosts:,}"),
        "hosts": ("Hosts", f"{status.hosts:,}"),
        "parked": ("Hosts down", f"{status.parked_hosts:,}"),
        "held": ("Held", f"{status.held:,}"),
        "known": ("Known URLs", f"{status.known_urls:,}"),
        "requests": ("Requests", f"{status.requests:,}"),
        "failed": ("Failed", f"{sum(status.failed.values()):,}"),
        "bytes": ("Archive", size(status.archive_bytes)),
        "disk": ("Disk left", "" if disk_free_bytes is None else size(disk_free_bytes)),
        "shards": ("Shards", f"{status.shards:,}"),
    }
    if fresh is not None:
        found["fresh"] = ("Fresh", f"{fresh:.1%}")
    return found


def live_texts(status: Status, disk_free_bytes: int | None, building: str = "") -> dict[str, str]:
    """Return the texts that the page replaces every two seconds, by key."""
    values = {key: value for key, (_, value) in figures(status, disk_free_bytes).items()}
    return {**values, "state": state_sentence(status), "building": building}


def overview(
    status: Status, history: Sequence[CrawlSample], disk_free_bytes: int | None, now: float
) -> Iterator[str]:
    """Give how the crawl does."""
    sentence = text(state_sentence(status))
    yield f'<p class="state" role="status" data-live="state">{sentence}</p>'
    yield '<dl class="figures">'
    for key, (name, value) in figures(status, disk_free_bytes).items():
        yield f'<div><dt>{name}</dt><dd data-live="{key}">{text(value)}</dd></div>'
    yield "</dl>"
    yield '<div class="columns">'
    for name, span_s in (("The last hour", HOUR_S), ("The last day", DAY_S)):
        yield f"<section><h2>{name}</h2>"
        for about, points in (
            ("Pages/s", rate(history, lambda one: one.pages)),
            ("Requests/s", rate(history, lambda one: one.requests)),
            ("Queued", level(history, lambda one: one.queued)),
            ("Active hosts", level(history, lambda one: one.active_hosts)),
        ):
            told = f'<span class="count">{text(latest(points, now, span_s))}</span>'
            yield f'<figure class="sparks"><figcaption>{about} {told}</figcaption>'
            yield f"{sparkline(about, points, now, span_s)}</figure>"
        yield "</section>"
    yield "</div>"
    yield '<div class="columns">'
    for title, state, counts in (
        ("Failed", "failed", status.failed),
        ("Refused", "refused", status.refused),
    ):
        yield f"<section><h2>{title}</h2>{_counts(state, counts)}</section>"
    yield "</div>"


def _counts(state: str, counts: Mapping[str, int]) -> str:
    if not counts:
        return '<p class="note">None.</p>'
    rows = (
        (problem_link(state, reason, reason), f"{count:,}")
        for reason, count in sorted(counts.items(), key=lambda pair: -pair[1])
    )
    return table(rows, ("reason", "number"))


def problem_link(state: str, reason: str, label: str) -> str:
    """Return a link to the URLs of one kind of problem."""
    return link_to("/crawl/urls", label or "(no reason)", state=state, reason=reason)


def host_link(host: str) -> str:
    """Return a link to the page of a host."""
    return link_to("/crawl/host", host, host=host)


def page_link(url: str) -> str:
    """Return a link to the page of a URL, and a small one to the web."""
    return f"{link_to('/page', url, url=url)}{out_link(url)}"


def hosts(
    found: Sequence[CrawledHost], total: int, sort: str, words: str, page: int, per_page: int
) -> Iterator[str]:
    """Give hosts of the crawl as a table that can be sorted."""
    heads = "".join(_head(column, sort, words) for column in HOST_COLUMNS)
    yield f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>'
    for one in found:
        cells = (
            host_link(one.host),
            *(f"{count:,}" for count in (one.pages,)),
            size(one.bytes),
            *(f"{count:,}" for count in (one.failed, one.refused, one.queued)),
            text(one.robots),
            "" if one.gap_s is None else f"{one.gap_s:,.2f} s",
            "" if one.median_ms is None else f"{one.median_ms:,.0f} ms",
            f'<span class="moment">{moment(one.last_at)}</span>',
        )
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</tbody></table></div>"
    yield from paging("/crawl/hosts", page, has_more=page * per_page < total, sort=sort, q=words)


def _head(column: str, sort: str, words: str) -> str:
    name = column.replace("_", " ").removesuffix(" s").removesuffix(" ms").replace(" at", "")
    way = "ascending" if sort == "host" else "descending"
    here = f' aria-sort="{way}"' if column == sort else ""
    return f"<th{here}>{link_to('/crawl/hosts', name, sort=column, q=words)}</th>"


def paging(path: str, page: int, *, has_more: bool, **query: object) -> Iterator[str]:
    """Give links to the pages before and after this one."""
    if page == 1 and not has_more:
        return
    yield '<nav class="paging" aria-label="Pages">'
    if page > 1:
        yield f'<a href="{address(path, **query, page=page - 1)}" rel="prev">← Back</a>'
    yield f'<span aria-current="page">{page}</span>'
    if has_more:
        yield f'<a href="{address(path, **query, page=page + 1)}" rel="next">More →</a>'
    yield "</nav>"


def host_page(found: HostDetails, now: float) -> Iterator[str]:
    """Give what is known of a host."""
    one = found.host
    told = [
        ("Pages", f"{one.pages:,} ({size(one.bytes)})"),
        ("Queued", f"{one.queued:,} of {found.known:,} that were ever queued"),
        ("Failed", f"{one.failed:,}"),
        ("Refused", f"{one.refused:,}"),
        ("Gap", "" if one.gap_s is None else f"{one.gap_s:,.2f} s between two requests"),
        ("Answers in", "" if one.median_ms is None else f"{one.median_ms:,.0f} ms (median)"),
        ("First asked", moment(one.first_at)),
        ("Last asked", moment(one.last_at)),
        ("Next turn", f"{moment(found.next_at)} ({found.next_words()})" if found.next_at else ""),
        ("Down", "yes: one request at a time finds out whether it is back"),
        ("robots.txt", one.robots or "not read"),
        ("Crawl-delay", "" if found.crawl_delay_s is None else f"{found.crawl_delay_s:g} s"),
    ]
    rows = "".join(
        f"<dt>{name}</dt><dd>{text(value)}</dd>"
        for name, value in told
        if value and (name != "Down" or found.is_parked)
    )
    yield f'<dl class="known">{rows}</dl>'
    ways = (("queued URLs", "queued"), ("failures", "failed"), ("refused", "refused"))
    links = "".join(link_to("/crawl/urls", n, state=s, host=one.host) for n, s in ways)
    yield f'<p class="facts">{links}{link_to("/hosts", "links", host=one.host)}</p>'
    if found.gaps:
        points = [Point(one.at, one.gap_s) for one in found.gaps]
        span_s = max(now - points[0].at, HOUR_S / 60)
        last = f'<span class="count">{text(latest(points, now, span_s))}</span>'
        yield f"<h2>Seconds between two requests, since {moment(points[0].at)}</h2>"
        yield f'<figure class="sparks"><figcaption>{last}</figcaption>'
        yield f"{sparkline('Seconds between two requests', points, now, span_s)}</figure>"
    if found.robots_lines:
        lines = "\n".join(map(text, found.robots_lines))
        yield f"<h2>Its robots.txt, as far as it is for us</h2><pre>{lines}</pre>"
    yield "<h2>Last fetches</h2>"
    yield _fetches(found.fetches)
    if found.failures:
        yield "<h2>Last failures and refusals</h2>"
        yield _fetches(found.failures)


def _fetches(found: Sequence[HostFetch]) -> str:
    rows = (
        (
            f'<span class="moment">{moment(one.at)}</span>',
            text(" ".join(filter(None, (one.state, one.reason, str(one.status or ""))))),
            page_link(one.url),
        )
        for one in found
    )
    return f'<div class="wide">{table(rows, ("when", "outcome", "URL"))}</div>'


def problems(counts: UrlCounts, status: Status) -> Iterator[str]:
    """Give what went wrong, by state and reason."""
    for state in STATES_OF_PROBLEMS:
        total, reasons = counts.states.get(state, 0), counts.reasons.get(state, {})
        if total:
            yield f"<section><h2>{state.capitalize()}: {total:,}</h2>"
            yield _counts(state, reasons)
            yield "</section>"
    if not any(counts.states.get(state) for state in STATES_OF_PROBLEMS):
        yield '<p class="note">Nothing failed, and nothing was refused.</p>'
    if status.user_errors:
        yield "<h2>Functions of yours that failed</h2>"
        rows = (
            (text(name), f"{one.count:,}", text(one.error))
            for name, one in status.user_errors.items()
        )
        yield table(rows, ("function", "times", "last error"))


def urls(rows: Iterable[UrlRow]) -> Iterator[str]:
    """Give URLs with what became of them, and the pages that link them."""
    cells = (
        (
            page_link(one.url),
            text(" ".join(filter(None, (one.state, one.reason, str(one.status or ""))))),
            text(one.detail),
            page_link(one.via) if one.via else "",
        )
        for one in rows
    )
    yield f'<div class="wide">{table(cells, ("URL", "state", "detail", "linked from"))}</div>'


def as_of(at: float) -> str:
    """Return when figures were counted."""
    return f'<p class="note">As of {moment(at)}.</p>'


def being_counted(error: str) -> str:
    """Return what stands in the place of figures that are not known yet."""
    if error:
        return f'<p class="error">{text(error)}</p>'
    return BEING_COUNTED
