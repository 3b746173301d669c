"""Observations: what one fetched page shows about the units that it lies in."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from gossamer.model import (
    FOLLOWED,
    Extraction,
    Link,
    LinkKind,
    Task,
    Turn,
    count_of,
    keys_of,
    targets_of,
)
from gossamer.traps.unit import (
    CROSS_LINKS_KEPT,
    MONTHS,
    NUMBERS_KEPT,
    SERIES_KEPT,
    SHAPES_KEPT,
    Probation,
    Trail,
    Unit,
    address_of,
    group_of,
    host_unit,
    is_id,
    is_looped,
    is_volatile,
    number_in,
    shape_of,
)

FEW_NEW = 4
SHORT_TEXT = 400
"""Pages with less text than this are told apart by the URLs of their pictures, not their names."""
REDIRECT_LINKS = 2
TRAILS_KEPT = 8192
KNOWN_PER_PAGE, KNOWN_PER_NEW = 3.0, 0.25
"""Links to known pages that even a tree has: its root, the page above."""
HEAD_CHARS, TAIL_CHARS = 6000, 2000
"""Of long texts only beginning, end and length are compared."""
LONG_TEXT = 4000
"""Longer texts are not searched for dates: no empty calendar has so much text."""
FIGURES = 6
"""So many different figures that are no dates make a text of its own: readings, rates, results."""
SITE_PAGES = 1500
"""In a site of so many pages every link leads to a known page once all are known."""
NAVIGATION, NAVIGATION_SHARE = 3, 0.2
"""A page that is linked more often, and by such a share of the pages, is in their navigation."""


class Observation(Struct, frozen=True, kw_only=True):
    """A fetched page, as far as traps are concerned."""

    task: Task
    address: str
    fingerprint: int | None
    """The same for pages with the same text; None if there is none."""
    is_volatile: bool
    via: str
    """The address of the page on which it was found."""
    new: Sequence[str]
    """Addresses of the new URLs it brought, on its own host; what it is made of does not count."""
    links: Sequence[Link]
    abroad: Mapping[str, int]
    """How many new URLs it brought on each other host, by the name of its unit."""

    def is_of_tree(self, name: str) -> bool:
        """Return True if hardly any link of the page leads to a known page of a unit."""
        new = sum(address.startswith(name) for address in self.new)
        addresses = {text.partition("://")[2] for text in targets_of(self.links, FOLLOWED)}
        known = sum(address.startswith(name) for address in addresses) - new
        return known <= KNOWN_PER_PAGE + KNOWN_PER_NEW * new


def is_part_of_page(turn: Turn) -> bool:
    """Return True if a page is made of it: pictures of one folder are no pages that are alike."""
    return turn.task.is_requisite and (turn.found is None or not turn.found.text)


def is_redirect_page(turn: Turn) -> bool:
    """Return True if a page only sends the reader elsewhere: a redirect written as a page."""
    found = turn.found
    if found is None or len(found.text) > SHORT_TEXT:
        return False
    followed = set(keys_of(found.links, FOLLOWED))
    return len(followed) <= REDIRECT_LINKS and count_of(found.links, LinkKind.REFRESH) > 0


def observation_of(turn: Turn) -> Observation:
    """Return what a fetched page shows."""
    task, found = turn.task, turn.found
    volatile = is_volatile(task.url.target)
    host = task.url.host
    brought = [new for new in turn.new_tasks if not new.is_requisite]
    others = [new.url for new in brought if new.url.host != host]
    return Observation(
        task=task,
        address=address_of(task.url),
        fingerprint=(
            text_fingerprint(found, is_volatile=volatile) if found is not None else turn.fingerprint
        ),
        is_volatile=volatile,
        via=task.via.partition("://")[2],
        new=[address_of(new.url) for new in brought if new.url.host == host],
        links=found.links if found is not None else (),
        abroad=Counter(map(host_unit, others)) if others else {},
    )


_MEDIA = frozenset({LinkKind.IMAGE, LinkKind.MEDIA, LinkKind.CSS})
_FRAMES, _ANCHORS = frozenset({LinkKind.FRAME}), frozenset({LinkKind.ANCHOR})
_MEDIA_FILE = re.compile(
    r"\.(?:apng|avif|bmp|gif|jfif|jpe?g|png|svg|tiff?|webp|aac|flac|m4a|mp3|og[agv]|opus|wav"
    r"|avi|m4v|mkv|mov|mp4|mpe?g|webm|wmv|pdf|swf|djvu)(?:\?|$)",
    re.IGNORECASE,
)
_AROUND = ".,;:!?()[]\"'"
_DIGITS = re.compile(r"\d+")
_LETTERS = re.compile(r"[^\W\d_]")
_PARTS = re.compile(r"[^0-9a-z]+")
_ORDINALS = frozenset(f"{n}{end}" for n in range(1, 32) for end in ("st", "nd", "rd", "th"))
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_FIGURE = re.compile(r"[^\w.]{0,2}(?:\d{1,3}(?:[.,]\d{3})*[.,]\d+|\d{3,7})[^\d.,:/-]{0,3}")
_YEAR_OR_DAY = re.compile(r"(?:1[6-9]|2\d)\d\d|\d\d?\.(?:0[1-9]|1[0-2])\.?|\d\d?\.\d\d?\.")
_DATE_WORDS = MONTHS.union(_DAYS, (name[:3] for name in _DAYS), ("tues", "thur", "thurs", "week"))


def text_fingerprint(found: Extraction, *, is_volatile: bool) -> int | None:
    """Return a fingerprint of a page's text; None if it has none.

    Of a page whose URL looks made for one visit neither numbers, dates nor ids count, so that a
    calendar or a session has the same text on whatever day; but many figures do.
    """
    text = found.text
    if is_volatile and len(text) <= LONG_TEXT:
        all_words = text.split()
        words = [word for word in all_words if not _is_volatile_word(word)]
        figures = dict.fromkeys(filter(_is_figure, all_words))
        text = _DIGITS.sub("", " ".join(words))  # links show URLs, and those have dates in them
        if len(figures) >= FIGURES:
            text = " ".join((text, *figures))
    elif len(text) > HEAD_CHARS + TAIL_CHARS:
        text = f"{text[:HEAD_CHARS]}{len(text)}{text[-TAIL_CHARS:]}"
    if len(text) <= LONG_TEXT:
        text = "\n".join((text, *_media_of(found, is_short=len(text) < SHORT_TEXT)))
    return (
        xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"))
        if text and not text.isspace()
        else None
    )


def _media_of(found: Extraction, *, is_short: bool) -> list[str]:
    """Return the media of a page: their URLs, or their names if they are not all there is.

    One page that is sent for every path may have pictures in ever new folders. Where there is
    little else, frames count as well, and files of media that it links.
    """
    addresses = [_without_stamp(target) for target in targets_of(found.links, _MEDIA)]
    if not is_short:
        return list(map(_last_part, addresses))
    linked = targets_of(found.links, _ANCHORS)
    files = [target for target in linked if _MEDIA_FILE.search(target)]
    return addresses + targets_of(found.links, _FRAMES) + files


def _last_part(address: str) -> str:
    path, mark, query = address.partition("?")
    return path.rpartition("/")[2] + mark + query


def _without_stamp(address: str) -> str:
    """Return a URL without its query if its path names a file of media: that is a version then.

    Elsewhere it says which one of them: image?id=17.
    """
    return address.partition("?")[0] if _MEDIA_FILE.search(address) else address


def _is_figure(word: str) -> bool:
    """Return True if a word is a figure, such as a reading or a price, and no part of a date."""
    return _FIGURE.fullmatch(word.strip(_AROUND)) is not None and not _YEAR_OR_DAY.fullmatch(
        word.strip(",;:!?()[]")
    )


def _is_volatile_word(word: str) -> bool:
    """Return True if a word is a number, a part of a date, or an id."""
    plain = word.strip(_AROUND).lower()
    if plain.isalpha():
        return plain in _DATE_WORDS
    return not _LETTERS.search(plain) or plain in _ORDINALS or any(map(is_id, _PARTS.split(plain)))


class SameTrails:
    """How many pages in a row, each found on the one before, said what others had said.

    Of the last pages that did and brought new URLs. Kept in memory only: lost, it is counted anew.
    """

    def __init__(self) -> None:
        """Know of none."""
        self._depths: dict[int, int] = {}
        """By a hash of the page's address."""

    def follow(self, page: Observation) -> int:
        """Note such a page; return how many in a row there are with it."""
        here = _hash_of(page.address)
        depth = self._depths[here] = self._depths.get(_hash_of(page.via), 0) + 1
        if len(self._depths) > TRAILS_KEPT:
            del self._depths[next(iter(self._depths))]
        return depth


def _hash_of(address: str) -> int:
    return xxh3_64_intdigest(address.encode("utf-8", "surrogatepass"))


def count_page(unit: Unit, page: Observation, same_trails: SameTrails) -> None:
    """Count a page of a unit that is not on probation."""
    unit.pages += 1
    unit.block_pages += 1
    is_same = unit.repeats(page.fingerprint)
    unit.block_same += is_same
    unit.doors += not page.via.startswith(unit.folder)
    if not page.new:
        return
    if is_same:
        same_trails.follow(page)
    unit.block_brought += len(page.new)
    name = unit.name
    if new := sum([address.startswith(name) for address in page.new]):
        unit.block_productive += 1
        unit.block_new_urls += new
        unit.new_urls += new
        if new <= FEW_NEW:  # a list of pages, whose numbers may run out
            numbers = (number_in(address) for address in page.new if address.startswith(name))
            unit.highest = max(unit.highest, *(number or 0 for number in numbers))


def count_probe(
    unit: Unit,
    probation: Probation,
    page: Observation,
    trail: Trail,
    child: str,
    same_trails: "SameTrails",
    leads_on: bool,  # noqa: FBT001  # a fact about the page
) -> None:
    """Count a page of a unit on probation; a trail of pages, some in the same child, led to it.

    It is no leaf if it leads on to what another unit holds, which brought that before.
    """
    name = unit.name
    new = [address for address in page.new if address.startswith(name)]
    is_same = unit.repeats(page.fingerprint)
    before = unit.new_urls
    unit.pages += 1
    unit.doors += not page.via.startswith(unit.folder)
    unit.new_urls += len(new)
    probation.pages += 1
    probation.same += is_same
    if not is_same:
        probation.last_own = probation.pages
    probation.volatile += page.is_volatile
    probation.looped += is_looped(page.address)
    if new:
        probation.productive += 1
        if is_same:
            probation.same_productive += 1
            group = group_of(child, name)
            probation.same_by_child[group] = probation.same_by_child.get(group, 0) + 1
            probation.same_depth = max(probation.same_depth, same_trails.follow(page))
        if trail[0] >= probation.depth:
            probation.depth, probation.depth_in_child = trail[0] + 1, trail[1] + 1
        if len(probation.shapes) < SHAPES_KEPT:
            probation.shapes.add(shape_of(page.address))
        _count_new(probation, new)
    elif not is_same and not leads_on:
        probation.leaves += 1
    links = _count_cross_links(name, probation, page, set(new))
    probation.expected += links * min(1.0, before / SITE_PAGES)


def remember_half(probation: Probation) -> None:
    """Remember the counts of a long probation, to be compared when it is twice as long."""
    probation.half_pages = probation.pages
    probation.half_new_urls = probation.new_urls
    probation.half_cross_links = count_cross_links(probation)
    probation.half_number = max(probation.numbers, default=0)


def count_cross_links(probation: Probation) -> int:
    """Return how often known pages were linked again; what every page links does not count."""
    most = max(NAVIGATION, NAVIGATION_SHARE * probation.pages)
    return sum(times for times in probation.cross_links.values() if times <= most)


def _count_new(probation: Probation, new: Sequence[str]) -> None:
    probation.new_urls += len(new)
    for address in new:
        number = number_in(address)
        shape = shape_of(address)
        is_full = shape not in probation.series and len(probation.series) >= SERIES_KEPT
        if number is None or is_full:
            continue
        probation.series.add(shape)
        probation.numbered += 1
        if len(probation.numbers) < NUMBERS_KEPT:
            probation.numbers.add(number)


def _count_cross_links(name: str, probation: Probation, page: Observation, new: set[str]) -> int:
    """Count links to known pages of the unit that are neither its root nor the page's ancestors.

    Return how many links there are that are not to these.
    """
    count = 0
    via = page.task.via
    for link in page.links:
        target = link.target
        address = address_of(target)
        if link.kind not in FOLLOWED or not address.startswith(name):
            continue
        if address == name or target.text == via or page.address.startswith(address):
            continue
        count += 1
        if address not in new and len(probation.cross_links) < CROSS_LINKS_KEPT:
            probation.cross_links[target.key] = probation.cross_links.get(target.key, 0) + 1
    return count
