"""LinkColumns: the links of a page as columns; an object is made of a link when it is asked for.

A page has some hundred links and three in four are known: making an object of each takes longer
than reading the page. So whoever wants one thing of all links asks for that (`keys_of`,
`targets_of`, `hosts_of`), and gets it from the columns, or from a list as plug-ins make it.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, KeysView, Mapping, Sequence
from itertools import compress
from typing import Any, Final, NamedTuple, overload

import msgspec

from gossamer.model.link import EMBEDDED, Link, LinkKind, Url

LINK_KINDS: Final = tuple(LinkKind)
"""By the code that stands for a kind in a column."""
_CODES: Final = {id(kind): code for code, kind in enumerate(LINK_KINDS)}
"""By identity: the members of an enumeration hash slowly."""
_FEW: Final = 4
"""So many are looked for one by one, each in all."""
_decode_rows = msgspec.json.Decoder(list[tuple[str, str, str, str]]).decode


def code_of(kind: LinkKind) -> int:
    """Return the code of a kind in a column."""
    return _CODES[id(kind)]


class LinkArrays(NamedTuple):
    """What is known of some links, each once per kind and target, in the order of the page."""

    rows: bytes
    """As JSON: of each target, kind, text and rel, as the links archive has them."""
    ends: memoryview
    """Signed words: where each row begins and ends, in turn."""
    kinds: bytes
    """A code for each."""
    keys: list[int]
    """Of the targets."""
    origins: list[int]
    """Numbers of the targets' origins."""
    places: Sequence[tuple[str, str]]
    """Origin and host, by number."""
    lines: list[int]
    fragments: dict[int, str]
    """Of those that have one, by place."""
    pages: bytes
    """The targets of those that lead to pages, not to parts of this one, each after a new line."""


class LinkColumns(Sequence[Link]):
    """The links of a page, or some of them: a sequence of `Link` that makes them late."""

    __slots__ = ("_made", "columns")

    def __init__(self, columns: LinkArrays) -> None:
        self.columns = columns
        self._made: list[Link] | None = None

    def __len__(self) -> int:
        """Return how many links there are."""
        return len(self.columns.kinds)

    def __iter__(self) -> Iterator[Link]:
        """Make an object of every link, once."""
        if self._made is None:
            self._made = self.pick(range(len(self)))
        return iter(self._made)

    @overload
    def __getitem__(self, at: int) -> Link: ...
    @overload
    def __getitem__(self, at: slice) -> list[Link]: ...
    def __getitem__(self, at: int | slice) -> Link | list[Link]:
        """Return one link, or several."""
        if isinstance(at, slice):
            return self.pick(range(*at.indices(len(self))))
        return self.pick((range(len(self))[at],))[0]

    def __eq__(self, other: object) -> bool:
        """Return True if another sequence has the same links."""
        if isinstance(other, LinkColumns | list):
            return len(self) == len(other) and list(self) == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as a list

    def __repr__(self) -> str:
        """Show the links."""
        return repr(list(self))

    def pick(self, places: Iterable[int]) -> list[Link]:
        """Return some of the links, by their places."""
        chosen = list(places)
        have = self.columns
        named, numbers, fragments = have.places, have.origins, have.fragments
        keys, kinds, lines = have.keys, have.kinds, have.lines
        found: list[Link] = []
        for n, (text, _, said, rel) in zip(chosen, self._rows_at(chosen), strict=True):
            origin, host = named[numbers[n]]
            url = Url(text, host, origin, keys[n])
            fragment = fragments.get(n, "") if fragments else ""
            found.append(Link(url, LINK_KINDS[kinds[n]], said, rel, lines[n], fragment))
        return found

    def _rows_at(self, places: list[int]) -> list[tuple[str, str, str, str]]:
        rows, ends = self.columns.rows, self.columns.ends
        if not places:
            return []
        if len(places) == len(self):
            return _decode_rows(rows)
        pieces = [rows[ends[2 * n] : ends[2 * n + 1]] for n in places]
        return _decode_rows(b"[%b]" % b",".join(pieces))

    def targets_at(self, places: list[int]) -> list[str]:
        """Return the texts of some targets."""
        return [row[0] for row in self._rows_at(places)]

    def places_of(self, kinds: Collection[LinkKind]) -> list[int]:
        """Return the places of the links of some kinds."""
        return list(compress(range(len(self)), self.are_of(kinds)))

    def are_of(self, kinds: Collection[LinkKind]) -> bytes:
        """Return 1 for each link of some kinds, and 0 for others."""
        return self.columns.kinds.translate(_selectors(frozenset(kinds)))


_known_selectors: dict[frozenset[LinkKind], bytes] = {}


def _selectors(kinds: frozenset[LinkKind]) -> bytes:
    """Return, by code, 1 for kinds that are wanted and 0 for others."""
    found = _known_selectors.get(kinds)
    if found is None:
        found = bytes(n < len(LINK_KINDS) and LINK_KINDS[n] in kinds for n in range(256))
        _known_selectors[kinds] = found
    return found


class Address(NamedTuple):
    """What is known of a target without an object of its own."""

    text: str
    origin: str
    key: int


class ChosenLinks(Sequence[Link]):
    """Some of the links in columns, such as those that are followed; objects are made late."""

    __slots__ = ("_links", "_places")

    def __init__(self, links: LinkColumns, places: list[int]) -> None:
        self._links = links
        self._places = places

    def __len__(self) -> int:
        """Return how many links there are."""
        return len(self._places)

    def __iter__(self) -> Iterator[Link]:
        """Make an object of every link."""
        return iter(self._links.pick(self._places))

    @overload
    def __getitem__(self, at: int) -> Link: ...
    @overload
    def __getitem__(self, at: slice) -> list[Link]: ...
    def __getitem__(self, at: int | slice) -> Link | list[Link]:
        """Return one link, or several."""
        if isinstance(at, slice):
            return self._links.pick(self._places[at])
        return self._links[self._places[at]]

    def by_key(self) -> "LinksByKey":
        """Return the first link to each target, by its key."""
        keys = self._links.columns.keys
        if len(self._places) != len(keys):
            keys = [keys[n] for n in self._places]
        return LinksByKey(self._links, keys, self._places)


class LinksByKey(Mapping[int, Link]):
    """Links in columns by the key of their target: the first to each, in the order of the page.

    Behind them there may be links that the page does not have: objects.
    """

    __slots__ = ("_all_keys", "_all_places", "_keys", "_links", "_more", "_places")

    def __init__(
        self,
        links: LinkColumns,
        keys: list[int],
        places: list[int],
        chosen: dict[int, None] | None = None,
        more: dict[int, Link] | None = None,
    ) -> None:
        self._links = links
        self._keys = dict.fromkeys(keys) if chosen is None else chosen
        self._all_keys, self._all_places = keys, places
        self._places: dict[int, int] | None = None
        self._more = more or {}

    def __len__(self) -> int:
        """Return how many targets there are."""
        return len(self._keys)

    def __iter__(self) -> Iterator[int]:
        """Return the keys."""
        return iter(self._keys)

    def __contains__(self, key: object) -> bool:
        """Return True if a target is linked."""
        return key in self._keys

    def __getitem__(self, key: int) -> Link:
        """Return the first link to a target."""
        if key not in self._keys:
            raise KeyError(key)
        return self.pick((key,))[0]

    def keys(self) -> KeysView[int]:
        """Return the keys."""
        return self._keys.keys()

    def pick(self, keys: Iterable[int]) -> list[Link]:
        """Return the first link to each of some targets."""
        if not self._more:
            return self._links.pick(self._places_at(list(keys)))
        chosen, more = list(keys), self._more
        own = [key for key in chosen if key not in more]
        found = more | dict(zip(own, self._links.pick(self._places_at(own)), strict=True))
        return [found[key] for key in chosen]

    def addresses(self) -> list[Address]:
        """Return the address of each target that the page has."""
        own = [key for key in self._keys if key not in self._more]
        have, places = self._links.columns, self._places_at(own)
        texts = self._links.targets_at(places)
        origins = [have.places[have.origins[n]][0] for n in places]
        return list(map(Address, texts, origins, own))

    def without(self, keys: Iterable[int]) -> "LinksByKey":
        """Return all but some of the targets."""
        chosen = dict(self._keys)
        for key in keys:
            chosen.pop(key, None)
        return self._with(chosen, self._more)

    def and_others(self, links: Iterable[Link]) -> "LinksByKey":
        """Return these, and others to targets that are not linked."""
        chosen, more = dict(self._keys), dict(self._more)
        for link in links:
            key = link.target.key
            if key not in chosen:
                chosen[key] = None
                more[key] = link
        return self._with(chosen, more)

    def _places_at(self, keys: list[int]) -> list[int]:
        every, places = self._all_keys, self._all_places
        if len(keys) <= _FEW:
            return [places[every.index(key)] for key in keys]
        if self._places is None:
            self._places = dict(zip(reversed(every), reversed(places), strict=True))
        return [self._places[key] for key in keys]

    def _with(self, chosen: dict[int, None], more: dict[int, Link]) -> "LinksByKey":
        return LinksByKey(self._links, self._all_keys, self._all_places, chosen, more)


def followed_of(links: Sequence[Link], kinds: Collection[LinkKind]) -> Sequence[Link]:
    """Return the links of some kinds, in order."""
    if isinstance(links, LinkColumns):
        return ChosenLinks(links, links.places_of(kinds))
    return [link for link in links if link.kind in kinds]


def links_by_key(links: Sequence[Link]) -> Mapping[int, Link]:
    """Return the first link to each target, by its key, in order."""
    if isinstance(links, ChosenLinks):
        return links.by_key()
    found: dict[int, Link] = {}
    for link in links:
        found.setdefault(link.target.key, link)
    return found


def picked_links(links: Mapping[int, Link], keys: Iterable[int]) -> list[Link]:
    """Return some of the links of `links_by_key`."""
    return links.pick(keys) if isinstance(links, LinksByKey) else [links[key] for key in keys]


def links_without(links: Mapping[int, Link], keys: Iterable[int]) -> Mapping[int, Link]:
    """Return the links of `links_by_key` but for some."""
    if isinstance(links, LinksByKey):
        return links.without(keys)
    gone = set(keys)
    return {key: link for key, link in links.items() if key not in gone}


def links_and(links: Mapping[int, Link], more: Iterable[Link]) -> Mapping[int, Link]:
    """Return the links of `links_by_key`, and others to targets that are not among them."""
    if isinstance(links, LinksByKey):
        return links.and_others(more)
    found = dict(links)
    for link in more:
        found.setdefault(link.target.key, link)
    return found


def addresses_of(links: Mapping[int, Link]) -> list[Address]:
    """Return the address of each target of `links_by_key`."""
    if isinstance(links, LinksByKey):
        return links.addresses()
    urls = (link.target for link in links.values())
    return [Address(url.text, url.origin, url.key) for url in urls]


def count_of(links: Sequence[Link], kind: LinkKind) -> int:
    """Return how many links are of a kind."""
    if isinstance(links, LinkColumns):
        return links.columns.kinds.count(code_of(kind))
    return sum(link.kind is kind for link in links)


def kind_at(links: Sequence[Link], place: int) -> LinkKind:
    """Return the kind of one link."""
    if isinstance(links, LinkColumns):
        return LINK_KINDS[links.columns.kinds[place]]
    return links[place].kind


def keys_of(links: Sequence[Link], kinds: Collection[LinkKind] | None = None) -> list[int]:
    """Return the keys of the targets of the links of some kinds, or of all."""
    if isinstance(links, LinkColumns):
        keys = links.columns.keys
        return keys if kinds is None else list(compress(keys, links.are_of(kinds)))
    return [link.target.key for link in links if kinds is None or link.kind in kinds]


def targets_of(links: Sequence[Link], kinds: Collection[LinkKind]) -> list[str]:
    """Return the texts of the targets of the links of some kinds."""
    if isinstance(links, LinkColumns):
        return links.targets_at(links.places_of(kinds))
    return [link.target.text for link in links if link.kind in kinds]


def hosts_of(links: Sequence[Link], kinds: Collection[LinkKind] | None = None) -> set[str]:
    """Return the hosts of the targets of the links of some kinds, or of all."""
    if isinstance(links, LinkColumns):
        have = links.columns
        numbers = have.origins if kinds is None else compress(have.origins, links.are_of(kinds))
        return {have.places[number][1] for number in set(numbers)}
    return {link.target.host for link in links if kinds is None or link.kind in kinds}


def links_to(links: Sequence[Link], wants: Callable[[str], bool]) -> list[Link]:
    """Return the links to some hosts, each of which is asked about once or more."""
    if isinstance(links, LinkColumns):
        have = links.columns
        numbers = {n for n in set(have.origins) if wants(have.places[n][1])}
        if not numbers:
            return []
        return links.pick([at for at, n in enumerate(have.origins) if n in numbers])
    return [link for link in links if wants(link.target.host)]


_PAGES: Final = frozenset(LinkKind) - EMBEDDED


def pages_of(links: Sequence[Link]) -> bytes:
    """Return the targets of the links that lead to pages, each after a new line, as UTF-8."""
    if isinstance(links, LinkColumns):
        return links.columns.pages
    return "".join([f"\n{target}" for target in targets_of(links, _PAGES)]).encode(
        "utf-8", "surrogatepass"
    )


class LinkRows(NamedTuple):
    """The links of a page as the links archive has them."""

    rows: Any
    """Of each target, kind, text and rel: a list, or JSON."""
    lines: list[int]
    fragments: dict[int, str]
    """By place."""


def link_rows(links: Sequence[Link]) -> LinkRows:
    """Return the links of a page as the links archive has them."""
    if isinstance(links, LinkColumns):
        have = links.columns
        return LinkRows(msgspec.Raw(have.rows), have.lines, have.fragments)
    return LinkRows(
        [(link.target.text, link.kind, link.text, link.rel) for link in links],
        [link.line for link in links],
        {n: link.fragment for n, link in enumerate(links) if link.fragment},
    )
