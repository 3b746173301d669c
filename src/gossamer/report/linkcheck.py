"""LINK CHECK: which links of a stored crawl are broken, and where they stand.

Everything is read from the archive: what became of each URL, and where each page points, from the
links file; from the pages file, what those do not say (references that are no URL, further links of
a page to a broken target, fragments, mixed content, parse errors, lines of older records). What was
asked apart for the check lies in a crawl of its own in the folder `linkcheck`.

A link is broken if whoever clicks on it gets no page: the name does not exist, nobody answers, the
certificate is not valid, the answer is an error. Where the server may only have turned us away
(401, 403, 407, 429, 451, robots.txt), or we did not ask, it could not be checked. What was never
asked for because its host could not be reached is broken; not so if that host answers with server
errors.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from gossamer.config import Config, UrlConfig
from gossamer.model import EMBEDDED, FailureKind, LinkKind, RefusalKind
from gossamer.process import (
    MarkupError,
    PageMarkup,
    PlacedReference,
    Tools,
    is_named,
    nesting_errors,
    read_markup,
)
from gossamer.report.inquiry import folder_of, is_running
from gossamer.report.sources import PageSource, page_sources
from gossamer.store import CrawlFolder, LinksRecord, iter_links
from gossamer.urls import Patterns, UrlFlaw, is_bad_port, join, registrable_domain, url_flaw

FindingKind: TypeAlias = Literal[
    "broken", "malformed", "fragment", "mixed_content", "markup", "redirect", "unchecked"
]
Severity: TypeAlias = Literal["error", "warning", "note"]
LINK_CHECK_FOLDER = "linkcheck"
"""In the crawl's folder: the crawl of links that were asked for the check alone."""
MOST_HOPS = 20
MOST_PLACES = 50
"""Places of one fragment that are named."""

_SEVERITIES: dict[FindingKind, Severity] = {
    "broken": "error",
    "malformed": "error",
    "fragment": "error",
    "mixed_content": "error",
    "markup": "error",
    "redirect": "warning",
    "unchecked": "note",
}
_NOT_LINKS = frozenset(
    {
        *(LinkKind.FORM, LinkKind.TEXT, LinkKind.DATA, LinkKind.PARENT, LinkKind.REDIRECT),
    }
)
"""What nobody clicks on and no browser loads: guesses from scripts, forms, text."""
_LOADED = EMBEDDED | {LinkKind.FRAME}
_WEB = ("http://", "https://")
_PERMANENT = frozenset({301, 308})
_TURNED_AWAY = frozenset({401, 403, 407, 429, 451, 999})
_NOT_TOLD = frozenset(
    {
        FailureKind.UNAUTHORIZED.value,
        FailureKind.THROTTLED.value,
        FailureKind.PROXY_FAILED.value,
        FailureKind.DNS_UNREACHABLE.value,
        FailureKind.KILLED_US.value,
        FailureKind.INTERNAL.value,
        FailureKind.PROTOCOL_FAILED.value,
    }
)
"""Failures that say nothing of the link."""
_MENDED: frozenset[FindingKind | None] = frozenset({"broken", "redirect"})
"""Of what somebody will mend every place is looked for."""
_KEPT = RefusalKind.CONTENT_TYPE.value
"""Refused though it was answered: its type was not wanted."""


class LinkPlace(Struct, frozen=True, gc=False):
    """Where a link stands."""

    page: str
    """"" if it is a seed."""
    line: int
    """Of the page's source; 0 if it is not known."""
    text: str
    """The anchor text."""
    kind: str
    """Of the link, as in the table `links`."""
    column: int = 0
    """From 1; 0 if it is not known."""


class LinkFinding(Struct, frozen=True, kw_only=True):
    """What is wrong with a target, and all the links that lead there."""

    kind: FindingKind
    target: str
    """Where the links lead; of parse errors, the page; of what is no URL, what is written."""
    status: int = 0
    """The HTTP status; 0 if there was no answer."""
    reason: str = ""
    """As in `status` and `why`: not_found, dns_no_such_host, connect_timeout; or what is wrong."""
    detail: str = ""
    chain: tuple[str, ...] = ()
    """Where its redirects lead, one after another."""
    column: int = 0
    """Of a parse error."""
    count: int = 1
    """How many links there are; `places` may name fewer of those with a fragment."""
    places: list[LinkPlace] = field(default_factory=list)

    @property
    def severity(self) -> Severity:
        """Return how bad it is: an error, a warning, or a note."""
        return _SEVERITIES[self.kind]


class LinkReport(Struct, frozen=True, kw_only=True):
    """What a check of links has found, the worst first."""

    findings: list[LinkFinding]
    pages: int
    """Stored documents whose links were looked at."""
    links: int
    targets: int
    """Different URLs that they lead to."""
    unasked: int
    """Targets that nobody has asked for, outside the crawl's scope or beyond its limits."""
    ignored: int
    """Findings that were left out because a pattern matches."""
    is_running: bool
    """The crawl runs: targets that it has not come to count as not asked for."""
    ended: str = ""
    """How asking ended: finished, stopped, max_pages and so on; "" if nothing was asked for."""

    @property
    def ok(self) -> bool:
        """Return True if no link is broken, and nothing else that was asked for is wrong."""
        return self.count("error") == 0

    def count(self, of: FindingKind | Severity) -> int:
        """Return how many findings are of a kind, or of a severity."""
        return sum(of in {one.kind, one.severity} for one in self.findings)


class LinkCheckOptions(Struct, frozen=True, kw_only=True):
    """What is looked at besides broken links."""

    fragments: bool = False
    markup: bool = False
    ignore: tuple[str, ...] = ()
    """Host globs and URL patterns of targets that are left out."""


class _Ended(NamedTuple):
    """What became of a URL, if that is no page."""

    outcome: str
    reason: str
    detail: str
    status: int
    target: str


class KnownUrls(NamedTuple):
    """What became of every URL that was asked for."""

    pages: dict[str, str]
    """The id of the page record of each URL that answered; "" of what was asked apart."""
    html: set[str]
    ended: dict[str, _Ended]
    """URLs that are no page."""
    failed_seeds: list[str]

    def knows(self, url: str) -> bool:
        """Return True if a URL was asked for."""
        return url in self.pages or url in self.ended


def known_urls(folder: CrawlFolder) -> KnownUrls:
    """Return what became of every URL, by its last record; what was asked apart fills the gaps."""
    known = KnownUrls({}, set(), {}, [])
    seeds: set[str] = set()
    for _, record in iter_links(folder):
        _take(record, known)
        if record.kind == LinkKind.SEED:
            seeds.add(record.url)
    has_pages = bool(known.pages)
    known.failed_seeds.extend(sorted(url for url in seeds if url in known.ended or not has_pages))
    apart = CrawlFolder(folder.root / LINK_CHECK_FOLDER)
    if apart.archive.exists():
        asked = KnownUrls({}, set(), {}, [])
        for _, record in iter_links(apart):
            _take(record, asked)
        for url in asked.pages:
            if not known.knows(url):
                known.pages[url] = ""
        for url, ended in asked.ended.items():
            if not known.knows(url):
                known.ended[url] = ended
    return known


def _take(record: LinksRecord, known: KnownUrls) -> None:
    url = record.url
    match record.outcome:
        case "fetched":
            known.pages[url] = record.page
            known.ended.pop(url, None)
            (known.html.add if record.html else known.html.discard)(url)
        case "redirected" | "failed" | "refused" | "gone":
            target = record.links[0][0] if record.links else ""
            known.ended[url] = _Ended(
                record.outcome, record.reason, record.detail, record.status, target
            )
            known.pages.pop(url, None)
        case _:
            pass  # a seed, a label, a page that has not changed


class UnaskedTarget(NamedTuple):
    """A web address that nobody has asked for."""

    url: str
    by_redirect: bool
    """A redirect leads there: it is part of the check of another target."""


def unasked_targets(folder: Path | str, ignore: Sequence[str] = ()) -> list[UnaskedTarget]:
    """Return the web addresses that links and redirects lead to and nobody has asked for."""
    place, patterns = folder_of(folder), Patterns(ignore)
    known = known_urls(place)
    found: dict[str, bool] = {}
    for record in _linking(place, known):
        for target, kind, _, _ in record.links:
            if kind not in _NOT_LINKS and not known.knows(target):
                found[target] = False
    for ended in known.ended.values():
        if ended.target and not known.knows(ended.target):
            found[ended.target] = True
    return [
        UnaskedTarget(url, by_redirect)
        for url, by_redirect in found.items()
        if url.startswith(_WEB) and not _matches(patterns, url)
    ]


def moved_seeds(folder: Path | str) -> list[str]:
    """Return where seeds redirect to that nobody has asked for, if it is in the seed's domain.

    A site that is now at www. or at another name is still the site that was asked for.
    """
    known = known_urls(folder_of(folder))
    found: dict[str, None] = {}
    for seed in known.failed_seeds:
        chain = verdict_on(seed, known).chain
        if chain and not known.knows(chain[-1]) and _domain(chain[-1]) == _domain(seed):
            found[chain[-1]] = None
    return list(found)


def _domain(url: str) -> str:
    found = join(url, "", UrlConfig())
    return registrable_domain(found.host) if found is not None else ""


def check_stored_links(
    folder: Path | str,
    options: LinkCheckOptions,
    config: Config | None = None,
    ended: str = "",
) -> LinkReport:
    """Return what is wrong with the links of a stored crawl. Nothing is asked for."""
    place = folder_of(folder)
    check = _LinkCheck(place, options, known_urls(place), config or Config())
    return replace(check.report(), is_running=is_running(place.root), ended=ended)


def _linking(folder: CrawlFolder, known: KnownUrls) -> Iterator[LinksRecord]:
    """Yield the last record of each page that is still one."""
    for _, record in iter_links(folder):
        if record.outcome == "fetched" and known.pages.get(record.url) == record.page:
            yield record


def _matches(patterns: Patterns, url: str) -> bool:
    if not patterns:
        return False
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    name = host if host.endswith("]") else host.partition(":")[0]
    return bool(patterns.match_host(name) or patterns.match_url(url))


class _Verdict(NamedTuple):
    """What is wrong with a target; `kind` is None if nothing is, or nothing is known."""

    kind: FindingKind | None
    status: int = 0
    reason: str = ""
    detail: str = ""
    chain: tuple[str, ...] = ()


_FINE = _Verdict(None)


def verdict_on(target: str, known: KnownUrls) -> _Verdict:
    """Return what following a link to a target ends in."""
    chain: list[str] = []
    statuses: list[int] = []
    at, ended = target, known.ended.get(target)
    while ended is not None and ended.outcome == "redirected":
        statuses.append(ended.status)
        if not ended.target or ended.target in chain or len(chain) >= MOST_HOPS:
            reason = FailureKind.TOO_MANY_REDIRECTS.value
            return _Verdict("broken", ended.status, reason, "a redirect loop", tuple(chain))
        at = ended.target
        chain.append(at)
        ended = known.ended.get(at)
    if ended is not None:
        kind = _kind_of(ended)
        return _Verdict(kind, ended.status, ended.reason, ended.detail, tuple(chain))
    if not known.knows(at) and (port := _bad_port(at)):
        return _Verdict("unchecked", 0, RefusalKind.BAD_PORT.value, f"port {port}", tuple(chain))
    if len(chain) > 1:
        return _Verdict("redirect", statuses[0], "chain", "", tuple(chain))
    if statuses and statuses[0] in _PERMANENT:
        return _Verdict("redirect", statuses[0], "moved_permanently", "", tuple(chain))
    return _FINE


def _bad_port(url: str) -> str:
    """Return the port of a URL that neither we nor browsers ask; "" if it has no such port."""
    if not url.startswith(_WEB):
        return ""
    port = url.split("/", 3)[2].rpartition("]")[2].rpartition(":")[2]
    return port if port.isdigit() and is_bad_port(int(port)) else ""


def _kind_of(ended: _Ended) -> FindingKind | None:
    if ended.outcome == "refused":
        return None if ended.reason == _KEPT else "unchecked"
    is_given_up = not ended.status and ended.reason == FailureKind.HTTP_5XX
    is_turned_away = is_given_up or ended.status in _TURNED_AWAY or ended.reason in _NOT_TOLD
    return "unchecked" if is_turned_away else "broken"


class _LinkCheck:
    """One check: what has been found so far."""

    def __init__(
        self, folder: CrawlFolder, options: LinkCheckOptions, known: KnownUrls, config: Config
    ) -> None:
        self._folder = folder
        self._options = options
        self._known = known
        self._ignored = Patterns(options.ignore)
        agent = config.fetch.robots_agent
        self._tools = Tools(urls=config.urls, process=config.process, robots_agent=agent)
        self._verdicts: dict[str, _Verdict] = {}
        self._places: defaultdict[str, list[LinkPlace]] = defaultdict(list)
        self._mixed: defaultdict[str, list[LinkPlace]] = defaultdict(list)
        self._malformed: defaultdict[tuple[str, UrlFlaw], list[LinkPlace]] = defaultdict(list)
        """By what is written, and what is wrong with it."""
        self._maybe_mixed: set[str] = set()
        self._incomplete: set[str] = set()
        """Pages that may have more places than their records say, or places without lines."""
        self._all_places: dict[tuple[str, str], list[LinkPlace]] = {}
        """By page and target, of those pages."""
        self._fragments: dict[tuple[str, str], tuple[int, list[LinkPlace]]] = {}
        self._errors: list[tuple[str, MarkupError]] = []
        self._pages = self._links = 0
        self._targets: set[int] = set()
        self._unasked: set[int] = set()

    def report(self) -> LinkReport:
        """Read the archive and return what is found."""
        for record in _linking(self._folder, self._known):
            self._take_record(record)
        for seed in self._known.failed_seeds:
            self._take_seed(seed)
        self._read_pages(self._known.html)
        findings = [
            *self._of_targets(),
            *self._of_malformed(),
            *self._of_mixed(),
            *self._of_fragments(),
            *self._of_markup(),
        ]
        kept = [one for one in findings if not _matches(self._ignored, one.target)]
        return LinkReport(
            findings=sorted(kept, key=_order),
            pages=self._pages,
            links=self._links,
            targets=len(self._targets),
            unasked=len(self._unasked),
            ignored=len(findings) - len(kept),
            is_running=False,
        )

    def _take_record(self, record: LinksRecord) -> None:
        self._pages += 1
        lines = record.lines
        is_secure = record.url.startswith("https:")
        for number, (target, kind, text, _) in enumerate(record.links):
            if kind in _NOT_LINKS:
                continue
            self._links += 1
            self._targets.add(hash(target))
            if is_secure and target.startswith("http:") and kind in _LOADED:
                self._maybe_mixed.add(record.url)
            line = 0 if lines is UNSET or number >= len(lines) else lines[number]
            found = self._note(target, LinkPlace(record.url, line, text, kind))
            if found in _MENDED or (found is not None and lines is UNSET):
                self._incomplete.add(record.url)

    def _take_seed(self, seed: str) -> None:
        """Note a seed that is no page: it is broken if nothing could be read from it."""
        self._note(seed, LinkPlace("", 0, "", LinkKind.SEED.value))
        verdict = self._verdicts.get(seed, _FINE)
        last = verdict.chain[-1] if verdict.chain else seed
        if verdict.kind != "broken" and not self._known.pages.get(last):
            is_told = verdict.kind == "unchecked"
            reason = verdict.reason if is_told else "not_fetched"
            detail = verdict.detail if is_told or not verdict.chain else f"it leads to {last}"
            self._verdicts[seed] = verdict._replace(kind="broken", reason=reason, detail=detail)
            if not self._places[seed]:
                self._places[seed].append(LinkPlace("", 0, "", LinkKind.SEED.value))

    def _note(self, target: str, place: LinkPlace) -> FindingKind | None:
        """Note where a link stands if something is wrong with its target; return what."""
        verdict = self._verdicts.get(target)
        if verdict is None:
            if target in self._known.pages:
                return None
            verdict = verdict_on(target, self._known)
            if verdict.kind is not None:
                self._verdicts[target] = verdict
            elif not self._known.knows(target) and target.startswith(_WEB):
                self._unasked.add(hash(target))
        if verdict.kind is not None:
            self._places[target].append(place)
        return verdict.kind

    def _read_pages(self, wanted: set[str]) -> None:
        for source in page_sources(self._folder, {url: self._known.pages[url] for url in wanted}):
            if (markup := self._markup_of(source)) is not None:
                self._take_markup(source, markup)

    def _markup_of(self, source: PageSource) -> PageMarkup | None:
        url = join(source.url, "", self._tools.urls)
        return None if url is None else read_markup(source.body, source.charset, url, self._tools)

    def _take_markup(self, source: PageSource, markup: PageMarkup) -> None:
        url = source.url
        self._take_malformed(url, markup)
        if url in self._maybe_mixed and not (markup.upgrades or source.upgrades):
            for one in markup.resources:
                if one.target.startswith("http:"):
                    self._mixed[one.target].append(
                        LinkPlace(url, one.line, one.text, one.kind.value)
                    )
        if url in self._incomplete:
            for one in markup.references(self._places):
                place = LinkPlace(url, one.line, one.text, one.kind.value, one.column)
                self._all_places.setdefault((url, one.target), []).append(place)
        if self._options.markup:
            found = [*markup.errors, *nesting_errors(source.body, source.charset)]
            self._errors += [(url, error) for error in found]
        if self._options.fragments:
            for one in markup.fragments:
                self._take_fragment(url, one)

    def _take_malformed(self, page: str, markup: PageMarkup) -> None:
        for one in markup.malformed:
            if one.kind not in _NOT_LINKS:
                place = LinkPlace(page, one.line, one.text, one.kind.value, one.column)
                reason = url_flaw(one.target, markup.base) or "too_long"
                self._malformed[one.target, reason].append(place)
                self._links += 1

    def _take_fragment(self, page: str, one: PlacedReference) -> None:
        count, places = self._fragments.get((one.target, one.fragment), (0, []))
        if count < MOST_PLACES:
            places.append(LinkPlace(page, one.line, one.text, one.kind.value))
        self._fragments[one.target, one.fragment] = (count + 1, places)

    def _of_targets(self) -> Iterator[LinkFinding]:
        for target, kept in self._places.items():
            verdict = self._verdicts[target]
            places = self._every_place(target, kept)
            self._links += len(places) - len(kept)
            if verdict.kind is not None:
                yield LinkFinding(
                    kind=verdict.kind,
                    target=target,
                    status=verdict.status,
                    reason=verdict.reason,
                    detail=verdict.detail,
                    chain=verdict.chain,
                    count=len(places),
                    places=places,
                )

    def _every_place(self, target: str, kept: list[LinkPlace]) -> list[LinkPlace]:
        """Return all places that lead to a target: records keep the first of each page and kind."""
        found: list[LinkPlace] = []
        for page, some in groupby(kept, key=lambda one: one.page):
            named = list(some)
            more = self._all_places.get((page, target), [])
            kinds = {one.kind for one in more}
            wanted = {one.kind for one in named}
            found += [one for one in named if one.kind not in kinds]  # in a header, for example
            found += [one for one in more if one.kind in wanted]
        return found

    def _of_malformed(self) -> Iterator[LinkFinding]:
        for (written, reason), places in self._malformed.items():
            yield LinkFinding(
                kind="malformed", target=written, reason=reason, count=len(places), places=places
            )

    def _of_mixed(self) -> Iterator[LinkFinding]:
        for target, places in self._mixed.items():
            yield LinkFinding(
                kind="mixed_content",
                target=target,
                reason="http_in_https",
                count=len(places),
                places=places,
            )

    def _of_fragments(self) -> Iterator[LinkFinding]:
        """Compare fragments with the ids of the pages that they lead to."""
        by_page: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for target, fragment in self._fragments:
            page = self._final(target)
            if page in self._known.html:
                by_page[page].append((target, fragment))
        wanted = {url: self._known.pages[url] for url in by_page}
        for source in page_sources(self._folder, wanted):
            markup = self._markup_of(source)
            ids = frozenset[str]() if markup is None else markup.ids
            for target, fragment in by_page[source.url] if markup is not None else ():
                if is_named(fragment, ids):
                    continue
                count, places = self._fragments[target, fragment]
                yield LinkFinding(
                    kind="fragment",
                    target=f"{target}#{fragment}",
                    status=source.status,
                    reason="no_such_id",
                    count=count,
                    places=places,
                )

    def _final(self, target: str) -> str:
        chain = verdict_on(target, self._known).chain
        return chain[-1] if chain else target

    def _of_markup(self) -> Iterator[LinkFinding]:
        for page, error in self._errors:
            yield LinkFinding(
                kind="markup",
                target=page,
                reason=error.code,
                detail=error.tag,
                column=error.column,
                places=[LinkPlace(page, error.line, "", "", error.column)],
            )


_RANKS: dict[FindingKind, int] = {kind: rank for rank, kind in enumerate(_SEVERITIES)}


def _order(finding: LinkFinding) -> tuple[int, str, int, int]:
    line = finding.places[0].line if finding.places else 0
    return _RANKS[finding.kind], finding.target, line, finding.column
