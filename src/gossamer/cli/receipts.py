"""`gossamer receipt`: every request that was made to a host, for a webmaster who asks."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import UNKNOWN, Folder, Json
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import as_json, harmless, out, print_json, shown_moment
from gossamer.cli.updating import crawl_folder
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import HostReceipt, HostRequest


def receipt(
    folder: Folder,
    host: Annotated[str, argument(metavar="HOST", help="Its name, or a URL of it.")],
    *,
    since: Annotated[
        str | None,
        option("--since", metavar="TIME", help='Only from then on: 2026-11-01, yesterday, "12h".'),
    ] = None,
    json: Json = False,
) -> int:
    """Show every request to a host: time, gap, answer, and the robots.txt line that allowed it.

    Retries and requests for robots.txt included, also while the crawl runs. For a webmaster who
    asks: times are UTC, gaps from the beginning of one request to that of the next.
    """
    from gossamer import OpenCrawl

    found = OpenCrawl(crawl_folder(folder)).receipt(host, since)
    if json:
        print_json(as_json(found))
    elif found.requests:
        console = out()
        for line in _lines(found):
            console.print(harmless(line), markup=False, soft_wrap=True)
    if not found.requests:
        sys.stderr.write(f"gossamer: {harmless(_nothing(found, since))}\n")
        return UNKNOWN
    return 0


def _nothing(found: "HostReceipt", since: str | None) -> str:
    told = f"no request to {found.host} is recorded"
    if since is not None:
        told += f" since {since}"
    if found.older_answers:
        answers = counted(found.older_answers, "older answer")
        told += f"; the archive has {answers} of it: `gossamer list DIR urls --host HOST`"
    elif found.other_hosts:
        told += f"; requests went to {', '.join(found.other_hosts)}"
    else:
        told += "; `gossamer list DIR hosts` names the hosts"
    return told


def _lines(found: "HostReceipt") -> Iterator[str]:
    """Yield the summary, then a line for each request."""
    robots = f"{found.robots_requests:,} of them for robots.txt"
    yield f"{counted(found.sent, 'request')} to {found.host}, {robots}"
    if found.first_at is not None and found.last_at is not None:
        yield f"from {shown_moment(found.first_at)} to {shown_moment(found.last_at)}"
    if found.least_gap_s is not None:
        yield (
            f"gap between the beginnings of two: at least {found.least_gap_s:,.3f} s, "
            f"median {found.median_gap_s:,.3f} s"
        )
    yield f"user agent: {found.user_agent}"
    if found.not_sent:
        yield f"{counted(found.not_sent, 'attempt')} besides without a connection"
    if found.unsure:
        unsure = counted(found.unsure, "request")
        yield f"{unsure} more may have been made when the crawl was killed"
    if found.older_answers:
        yield f"{counted(found.older_answers, 'answer')} besides from before requests were recorded"
    yield ""
    yield f"{'time (UTC)':<23}  {'gap s':>10}  {'answer':<14}  {'ms':>7}  URL  [robots.txt]"
    yield from map(_line, found.requests)


def _line(one: "HostRequest") -> str:
    at = datetime.fromtimestamp(one.at, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
    gap = "" if one.gap_s is None else f"{one.gap_s:,.3f}"
    head = "HEAD " if one.method == "HEAD" else ""
    allowed = f"  [{one.allowed_by}]" if one.allowed_by else ""
    return f"{at}  {gap:>10}  {_answer(one):<14}  {one.took_ms:>7,}  {head}{one.url}{allowed}"


def _answer(one: "HostRequest") -> str:
    if one.end == "unsure":
        return "unsure, before"
    return " ".join(part for part in (str(one.status or ""), one.reason) if part) or "-"
