"""FamilyWeb: honest families and traps side by side, and the judge of who was asked for what."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

from gossamer.testing.responses import (
    CannedResponse,
    Request,
    html_response,
    not_found,
    origin_of,
    redirect,
)
from laboratory.families import (
    alike,
    commerce,
    described,
    endless,
    hollow,
    later,
    media,
    reference,
    talk,
    thin,
    wide,
)
from laboratory.families.family import (
    Answer,
    Family,
    Moved,
    Sitemap,
    Spot,
    host_of,
    links_of,
    reachable,
    spot_of,
)
from laboratory.families.page import Frame, Link, listed, para

HONEST_FAMILIES: Mapping[str, Callable[[float], Family]] = {
    "shop": commerce.shop,
    "catalogue": commerce.catalogue,
    "jobs": commerce.jobs,
    "registry": commerce.registry,
    "dictionary": reference.dictionary,
    "wiki": reference.wiki,
    "docs": reference.docs,
    "patents": reference.patents,
    "law": reference.law,
    "gazetteer": reference.gazetteer,
    "genealogy": reference.genealogy,
    "blogs": talk.blogs,
    "forum": talk.forum,
    "mail": talk.mail,
    "questions": talk.questions,
    "commits": talk.commits,
    "franchises": media.franchises,
    "gallery": media.gallery,
    "news": media.news,
    "programme": media.programme,
    "listings": media.listings,
    "stations": media.stations,
    "comic": thin.comic,
    "weather": thin.weather,
    "verses": thin.verses,
    "classes": thin.classes,
    "positions": thin.positions,
    "tongues": thin.tongues,
    "museum": thin.museum,
    "agency": wide.agency,
    "podcast": later.podcast,
    "taxa": later.taxa,
    "timetable": later.timetable,
    "council": later.council,
    "git_view": described.git_view,
    "theses": described.theses,
    "newspapers": described.newspapers,
    "courses": described.courses,
    "pictures": alike.pictures,
    "folios": alike.folios,
    "records": alike.records,
    "board": alike.board,
    "handbook": alike.handbook,
    "phone_book": alike.phone_book,
    "agenda": alike.agenda,
    "reviews": hollow.reviews,
    "fixtures": hollow.fixtures,
    "members": hollow.members,
    "squares": hollow.squares,
}
"""Scale → the family; at scale 1 each has hundreds to thousands of pages."""

FOLDER_TRAPS: Mapping[str, Callable[[endless.Place], Family]] = {
    "paged_text": endless.paged_text,
    "paged_items": endless.paged_items,
    "false_last": endless.false_last,
    "word_maze": endless.word_maze,
    "borrowing_maze": endless.borrowing_maze,
    "uuid_items": endless.uuid_items,
    "facet_explosion": endless.facet_explosion,
    "empty_calendar": endless.empty_calendar,
    "bookings": endless.bookings,
    "session_ids": endless.session_ids,
    "redirecting_maze": endless.redirecting_maze,
    "searches": endless.searches,
    "false_people": endless.false_people,
    "deepening": endless.deepening,
    "slow_maze": endless.slow_maze,
    "reply_forms": endless.reply_forms,
    "returning_logins": endless.returning_logins,
    "older_news": endless.older_news,
    "conversions": endless.conversions,
    "tag_sets": endless.tag_sets,
    "weekly_slots": later.weekly_slots,
    "comparisons": later.comparisons,
    "directions": later.directions,
    "made_up_wiki": later.made_up_wiki,
    "changes_since": described.changes_since,
    "looped_folders": described.looped_folders,
    "address_pages": described.address_pages,
    "mixed_lists": described.mixed_lists,
    "filtered_shop": alike.filtered_shop,
    "nested_articles": alike.nested_articles,
    "path_sessions": alike.path_sessions,
    "event_views": hollow.event_views,
}
"""Traps that can also be a folder of an honest host."""

_WIDE_TRAPS: Mapping[str, Callable[[], Family]] = {
    "endless_sitemaps": lambda: wide.endless_sitemaps("www.stock-photos.test"),
    "crossed_hosts": lambda: wide.crossed_hosts("brightwater"),
    "wildcard": lambda: wide.wildcard("sunnyhosting.test"),
    "many_domains": lambda: wide.many_domains("bargains"),
}

TRAP_FAMILIES = (*FOLDER_TRAPS, *_WIDE_TRAPS)

HELD_OUT = frozenset(
    (
        *("catalogue", "docs", "forum", "franchises", "genealogy"),
        *("news", "questions", "registry", "shop", "stations", "wiki"),
        *("classes", "museum", "positions", "tongues"),
        *("borrowing_maze", "crossed_hosts", "deepening", "empty_calendar", "false_people"),
        *("paged_items", "searches", "uuid_items", "wildcard", "word_maze"),
        *("returning_logins", "tag_sets"),
        *("podcast", "timetable", "directions", "weekly_slots"),
        *("courses", "theses", "address_pages", "mixed_lists"),
        *("pictures", "folios", "records", "board", "handbook", "phone_book", "agenda"),
        *("filtered_shop", "nested_articles", "path_sessions"),
        *("reviews", "fixtures", "members", "squares", "event_views"),
    )
)
"""At least half of the honest ones and of the traps, drawn by lot, and those of `alike` and of
`hollow`, which came after all rules: never used for tuning."""

HUB = "www.lanternhub.test"
_HUB_PAGES = ("/", "/about", "/contact", "/privacy")
_ABSOLUTE = re.compile(r'(href="|<loc>|Sitemap: )//([^/"<]+)')
_NETWORK = "127.0.9."


@dataclass(frozen=True, kw_only=True)
class FamilyWeb:
    """Families on addresses of their own, as the seeds or behind a hub."""

    is_pure: ClassVar[bool] = True

    honest: tuple[str, ...]
    traps: tuple[str, ...] = ()
    """On hosts of their own, linked from the hub."""
    folders: tuple[str, ...] = ()
    """Traps that are folders of the first honest site, linked from all of its pages."""
    has_hub: bool = True
    scale: float = 1.0
    scheme: str = "http"
    port: int = 80

    @property
    def seeds(self) -> tuple[str, ...]:
        """Where to start: at the hub, or at the doors of the honest families."""
        if self.has_hub:
            return (origin_of(self.scheme, HUB, self.port) + "/",)
        doors = (door for family in self.honest_families for door in family.doors)
        return tuple(self._absolute(door) for door in doors)

    @cached_property
    def honest_families(self) -> tuple[Family, ...]:
        """The honest ones; the hub, which is no family, is left out."""
        return tuple(HONEST_FAMILIES[name](self.scale) for name in self.honest)

    @cached_property
    def trap_families(self) -> tuple[Family, ...]:
        """The traps on hosts of their own."""
        outside = tuple(link for family in self.honest_families for link in _well_known(family))
        found = []
        for name in self.traps:
            if name in _WIDE_TRAPS:
                found.append(_WIDE_TRAPS[name]())
            else:
                host = f"www.{name.replace('_', '-')}.test"
                found.append(FOLDER_TRAPS[name](endless.Place(host, "/", outside)))
        return tuple(found)

    @cached_property
    def folder_traps(self) -> tuple[Family, ...]:
        """The traps in folders of the first honest site."""
        host = host_of(self.honest_families[0].doors[0])
        outside = _well_known(self.honest_families[0])
        return tuple(
            FOLDER_TRAPS[name](endless.Place(host, f"/{name}/", outside)) for name in self.folders
        )

    @cached_property
    def expected(self) -> frozenset[Spot]:
        """All honest pages that there are, those of the hub included."""
        pages = {page for family in self.honest_families for page in reachable(family)}
        if self.has_hub:
            pages |= {Spot(HUB, target) for target in _HUB_PAGES}
        return frozenset(pages)

    @property
    def addresses(self) -> dict[str, str]:
        """The hosts that have a name before they are asked for."""
        doors = [door for family in self._families for door in family.doors]
        return {
            host: address
            for host in (HUB, *map(host_of, doors))
            if (address := self.address_of(host)) is not None
        }

    @property
    def listen_on(self) -> set[str]:
        """Return an address for each family, and one for the hub."""
        return {f"{_NETWORK}{number + 1}" for number in range(len(self._families) + 1)}

    def address_of(self, name: str) -> str | None:
        """Return the address of a host: what a name server needs to know."""
        if name == HUB:
            return f"{_NETWORK}1"
        for number, family in enumerate(self._families):
            if family.owns(name):
                return f"{_NETWORK}{number + 2}"
        return None

    def pages(self) -> Iterable[str]:
        """Return no page: nothing is worth having ready."""
        return ()

    def served_at(self, scheme: str, port: int) -> Self:
        """Return this web as it is served on a port: its links name it."""
        return replace(self, scheme=scheme, port=port)

    def trap_of(self, host: str, target: str) -> str:
        """Return the trap that a request fell into; "" if there was none."""
        for family in self.folder_traps:
            if target.startswith(f"/{family.name}/") and family.owns(host):
                return family.name
        found = self._family_of(host)
        return found.name if found is not None and found.name in self.traps else ""

    def respond(self, request: Request) -> CannedResponse:
        """Return the answer to a request."""
        host, target = request.host, request.target
        if host == HUB:
            return self._sent(self._hub_page(target))
        family = self._family_of(host)
        if family is None:
            return not_found()
        if target == "/robots.txt":
            if not family.robots:
                return not_found()
            body = self._absolute(family.robots).encode()
            return CannedResponse(headers=(("Content-Type", "text/plain"),), body=body)
        if trap := self.trap_of(host, target):
            families = (*self.folder_traps, *self.trap_families)
            family = next(other for other in families if other.name == trap)
        answer = family.answer(host, target)
        if self.folders and family is self.honest_families[0] and isinstance(answer, str):
            answer = answer.replace("</body>", self._ways_in + "</body>")
        return self._sent(answer)

    @cached_property
    def _families(self) -> tuple[Family, ...]:
        return (*self.honest_families, *self.trap_families)

    @cached_property
    def _known_hosts(self) -> dict[str, Family | None]:
        return {}

    def _family_of(self, host: str) -> Family | None:
        if host not in self._known_hosts:
            owners = (family for family in self._families if family.owns(host))
            self._known_hosts[host] = next(owners, None)
        return self._known_hosts[host]

    @cached_property
    def _ways_in(self) -> str:
        doors = [Link(door, f.name) for f in self.folder_traps for door in f.doors]
        return f"<aside>See also{listed(doors)}</aside>"

    def _hub_page(self, target: str) -> str | None:
        frame = Frame("Lantern Hub", (Link("/", "Hub"),))
        if target != "/":
            return frame.notice(target)
        doors = [Link(door, f.name) for f in self._families for door in f.doors]
        return frame.page("Sites worth a visit", para(80, "hub"), listed(doors))

    def _sent(self, answer: Answer | None) -> CannedResponse:
        match answer:
            case None:
                return not_found()
            case Moved(to):
                return redirect(to)
            case Sitemap(text):
                body = self._absolute(text).encode()
                return CannedResponse(headers=(("Content-Type", "application/xml"),), body=body)
            case _:
                return html_response(self._absolute(answer))

    def _absolute(self, text: str) -> str:
        if text.startswith("//"):
            host, _, rest = text[2:].partition("/")
            return f"{origin_of(self.scheme, host, self.port)}/{rest}"

        def origin(found: re.Match[str]) -> str:
            return found[1] + origin_of(self.scheme, found[2], self.port)

        return _ABSOLUTE.sub(origin, text)


def _well_known(family: Family) -> tuple[str, ...]:
    """Return the door of a family and what it links: pages that anybody may link."""
    door = spot_of(family.doors[0], "")
    page = family.answer(door.host, door.target)
    inside = [] if page is None else links_of(page, door.host)
    return tuple(f"//{place.host}{place.target}" for place in (door, *inside[:30]))
