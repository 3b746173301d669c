"""Traps go last and are held in the end, honest sites are walked whole: walks without network."""

import re
from urllib.parse import urljoin

import pytest
from laboratory.snares import OTHERS, SNARES, honest_site
from laboratory.snares.sheet import Sheet, Snare

from gossamer.config import TrapsConfig
from gossamer.model import TrapNote
from gossamer.traps import held, held_by
from gossamer.traps.detector import HOST_PROBES
from gossamer.traps.held import decode_held
from gossamer.traps.registry import TRAP_ROWS, decode_unit, is_unit_row
from gossamer.traps.rules import SUSPECT_PAGES
from gossamer.traps.unit import Unit
from tests.unit.traps.pages import url
from tests.unit.traps.walk import Walk

ALL = {**SNARES, **OTHERS}
REPEATING = (
    *("calendar", "diary", "shop", "visit", "loop", "events", "agenda", "listing", "results"),
    "replies",
)
"""Traps whose pages say the same again and again: these are closed, the others are held."""
HOME = "http://www.honest.test/"
TRAP = "http://trap.snare.test/"
ALLOWED = TrapsConfig(allowance=300)
SHARE = 0.2


def door(*links: str) -> Snare:
    return lambda tail: None if tail else Sheet("Home", "Come in.", links)


def closed(walk: Walk) -> dict[str, TrapNote]:
    return {note.unit: note for note in walk.traps.notes() if note.reason}


def units(walk: Walk) -> list[Unit]:
    """Return the units in the rows, as after the last commit."""
    return [decode_unit(value) for key, value in walk.scan(TRAP_ROWS) if is_unit_row(key)]


def held_urls(walk: Walk) -> list[str]:
    """Return what the rows hold, as after the last commit."""
    rows = [decode_held(value) for key, value in walk.scan(TRAP_ROWS) if not is_unit_row(key)]
    return [one.task.url.text for one in rows]


def spent(walk: Walk) -> int:
    return sum(unit.probation.spent for unit in units(walk) if unit.probation is not None)


def share_before_last(walk: Walk, trap: str, honest: str = HOME) -> float:
    """Return the share of a trap in the requests up to the last honest page."""
    traps = [place.startswith(trap) for place in walk.fetched]
    ordinary = [place.startswith(honest) and not place.startswith(trap) for place in walk.fetched]
    last = max(number for number, is_honest in enumerate(ordinary, 1) if is_honest)
    return sum(traps[:last]) / last


def assert_held_or_closed(walk: Walk, name: str, most: int) -> None:
    """Insist on the end of a walk that met one trap."""
    assert (walk.queue, walk.traps.left, walk.traps.is_waiting) == ([], 0, False)
    if name in REPEATING:
        assert {note.reason for note in closed(walk).values()} == {"trap_same"}
        assert walk.traps.held == 0
        assert sum(walk.doubtful) < most
        assert walk.refused["trap_same"]
    else:
        assert closed(walk) == {}
        assert walk.traps.held == sum(note.held for note in walk.traps.notes()) > 0
        assert not walk.refused


@pytest.mark.parametrize("name", ALL)
def test_a_trap_on_a_host_of_its_own_is_held_after_its_allowance(name: str) -> None:
    walk = Walk({HOME: door(TRAP), TRAP: ALL[name]}, (HOME,), ALLOWED).run()
    assert_held_or_closed(walk, name, most=300)
    if name not in REPEATING:
        assert sum(walk.doubtful) == spent(walk) == 300
        assert walk.hits[TRAP] == SUSPECT_PAGES + 300


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_a_trap_in_a_folder_of_a_seeds_host_is_held_and_the_site_is_walked_whole(
    name: str,
) -> None:
    inside, pages, more = f"{HOME}{name}/", 1000, 300
    site = honest_site("tree", pages)

    def with_door(tail: str) -> Sheet | None:
        found = site(tail)
        return found and Sheet(found.title, found.text, [*found.links, inside])

    places = {HOME: with_door, inside: ALL[name]}
    walk = Walk(places, (HOME,), ALLOWED, per_home=pages + more).run()
    assert_held_or_closed(walk, name, most=pages + more)
    assert walk.hits[HOME] == pages
    assert walk.hits[inside] <= more
    assert share_before_last(walk, inside) <= SHARE
    assert all(f"/{name}/" in note.unit for note in walk.traps.notes())


@pytest.mark.parametrize("name", ["flat", "number", "tarpit", "calendar"])
def test_a_trap_has_a_tenth_of_the_requests_while_an_honest_site_waits(name: str) -> None:
    pages = [f"http://honest.test/{n}" for n in range(600)]
    front = door(TRAP, *pages)
    honest = lambda tail: Sheet(tail, f"The text of {tail}", ())  # noqa: E731 -- one page
    walk = Walk({HOME: front, TRAP: ALL[name], "http://honest.test/": honest}, (HOME,), ALLOWED)
    walk.run()
    assert walk.hits["http://honest.test/"] == 600
    assert share_before_last(walk, TRAP, "http://honest.test/") <= 0.1 + SUSPECT_PAGES / 600


KINDS = ("woven", "tree", "indexed", "index_chain", "chained", "dated")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [HOME, f"{HOME}archive/", "http://archive.test/"])
def test_an_honest_archive_is_walked_to_its_end(kind: str, base: str) -> None:
    pages = 1500
    start = base + "?page=1" if kind == "chained" else base
    places = {HOME: door(start), base: honest_site(kind, pages)}
    walk = Walk(places, (start if base == HOME else HOME,)).run()
    assert walk.hits[base] >= pages
    assert walk.traps.notes() == ()
    assert held_urls(walk) == []


def commits_with_files(tail: str) -> Sheet | None:
    """Return a view of a repository: the list of files is the same at each of 40 commits.

    Of the files, most are as they were at the commit before.
    """
    path, _, version = tail.partition("?id=")
    number = int(version or 40)
    here = f"?id={number}"
    if path == "":
        return Sheet("Commits", "All of them.", tuple(f"./commit?id={n}" for n in range(40)))
    if path == "commit":
        return Sheet(f"Commit {number}", f"Message {number}.", (f"./tree/{here}",))
    if path == "tree/":
        return Sheet("Files", "Of this commit.", tuple(f"./tree/f{n}.c{here}" for n in range(8)))
    return Sheet(path, f"Line {number // 6} of {path}.", ())


@pytest.mark.parametrize("base", [HOME, f"{HOME}p/", "http://git.other.test/"])
def test_a_repository_whose_lists_of_files_are_all_the_same_is_walked_whole(base: str) -> None:
    places = {base: commits_with_files}
    if base != HOME:
        places[HOME] = door(base)
    walk = Walk(places, (HOME,)).run()
    assert len([page for page in walk.fetched if page.startswith(base)]) == 1 + 40 * 10
    assert (closed(walk), walk.traps.held, walk.refused["trap_same"]) == ({}, 0, 0)


def test_words_instead_of_numbers_do_not_make_a_site_a_maze() -> None:
    base = f"{HOME}articles/"
    walk = Walk({HOME: door(base), base: honest_site("worded", 1000)}, (HOME,)).run()
    assert walk.hits[base] == 1000
    assert walk.traps.notes() == ()


def test_what_is_trusted_is_never_tried() -> None:
    config = TrapsConfig(trust=("trap.snare.test",))
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["flat"]}, (HOME,), config, limit=400).run()
    assert walk.hits[TRAP] == 399
    assert walk.traps.notes() == ()


def test_traps_that_are_not_looked_for_are_not_found() -> None:
    config = TrapsConfig(enabled=False)
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["flat"]}, (HOME,), config, limit=400).run()
    assert walk.hits[TRAP] == 399


def test_what_is_held_survives_a_kill_and_is_explained() -> None:
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["flat"]}, (HOME,), ALLOWED).run()
    before, held_before = walk.traps.notes(), walk.traps.held
    (note,) = before
    assert (note.unit, note.reason, note.refused) == ("trap.snare.test/", "", 0)
    assert note.held == len(held_urls(walk)) == held_before
    assert "is on probation: 8 of 8 pages" in note.detail
    assert "300 pages fetched since" in note.detail
    assert "gossamer trust DIR 'trap.snare.test/*'" in note.detail
    walk.open()
    assert (walk.traps.notes(), walk.traps.held, walk.traps.left) == (before, held_before, 0)
    walk.run()
    assert walk.hits[TRAP] == SUSPECT_PAGES + 300, "the allowance is spent"


def test_a_closed_unit_stays_closed_after_a_kill() -> None:
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["loop"]}, (HOME,)).run()
    walk.open()
    (note,) = walk.traps.notes()
    assert (note.unit, note.reason, note.held) == ("trap.snare.test/", "trap_same", 0)
    assert "gossamer trust DIR 'trap.snare.test/*'" in note.detail
    assert (walk.traps.held, walk.traps.left) == (0, 0)


@pytest.mark.parametrize("name", ["flat", "loop"])
def test_trust_lets_go_what_was_held_or_closed(name: str) -> None:
    walk = Walk({HOME: door(TRAP), TRAP: SNARES[name]}, (HOME,), ALLOWED).run()
    hits = walk.hits[TRAP]
    walk.config, walk.limit = TrapsConfig(trust=("trap.snare.test/*",)), hits + 300
    walk.open()
    walk.run()
    assert walk.hits[TRAP] >= hits + 200
    assert walk.traps.notes() == ()


def test_switched_off_the_detector_lets_go_what_was_held() -> None:
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["flat"]}, (HOME,), ALLOWED).run()
    hits = walk.hits[TRAP]
    walk.config, walk.limit = TrapsConfig(enabled=False), hits + 300
    walk.open()
    walk.run()
    assert walk.hits[TRAP] == hits + 299


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 512])
def test_a_kill_at_any_commit_of_a_probation_loses_no_url(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held, "RELEASED_AT_ONCE", at_once)
    base = "http://archive.test/"
    walk = Walk({HOME: door(base), base: honest_site("indexed", 600)}, (HOME,))
    kills = 0
    while walk.queue or walk.traps.held:
        walk.limit = len(walk.fetched) + 7
        walk.run()
        walk.open()
        kills += 1
    assert kills > 50
    assert walk.hits[base] == 607
    assert len(set(walk.fetched)) == len(walk.fetched)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flat", "deep", "crossed", "facets"])
def test_a_kill_at_any_commit_of_a_trap_loses_no_url_and_no_count(name: str) -> None:
    config = TrapsConfig(allowance=150)
    walk = Walk({HOME: door(TRAP), TRAP: SNARES[name]}, (HOME,), config, limit=12).run()
    for _ in range(60):
        walk.limit = len(walk.fetched) + 3
        walk.run()
        walk.open()
        queued = [task.url.text for *_, task in walk.queue]
        everything = [*walk.fetched, *queued, *held_urls(walk)]
        assert len(everything) == len(set(everything))
        assert {url(text).key for text in everything} == walk.known
        assert spent(walk) == sum(walk.doubtful)
        assert walk.traps.held == len(held_urls(walk))
    assert spent(walk) == 150
    assert (walk.queue, walk.traps.left) == ([], 0)


def test_a_url_that_is_held_says_so() -> None:
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["flat"]}, (HOME,), limit=14).run()
    (note,) = walk.traps.notes()
    assert note.reason == ""
    texts = held_urls(walk)
    assert note.held == len(texts) > 0
    units = [held_by(Rows(walk), url(text)) for text in texts]
    assert {unit.name for unit in units if unit is not None} == {note.unit}
    assert None not in units
    assert walk.traps.note_on(note.unit) == note
    assert "trap.snare.test/ is on probation: 8 of 8 pages" in note.detail
    assert held_by(Rows(walk), url(f"{TRAP}never-seen")) is None


class Rows:
    """The rows of a walk, as the state has them."""

    def __init__(self, walk: Walk) -> None:
        self.get = walk.rows.get
        self.scan = walk.scan


def wild(links: int) -> Snare:
    """Return a page that names new hosts; it stands on every host of a domain."""
    numbers = iter(range(10**6))

    def sheet(_tail: str) -> Sheet:
        number = next(numbers)
        hosts = [f"http://h{number}x{n}.wild.test/" for n in range(links)]
        return Sheet(f"Host {number}", f"unique {number}", hosts)

    return sheet


@pytest.mark.parametrize("links", [1, 3, 40])
def test_a_domain_that_makes_up_hosts_has_one_allowance_for_all_of_them(links: int) -> None:
    config = TrapsConfig(allowance=60)
    places = {HOME: door("http://a.wild.test/"), "http://": wild(links)}
    walk = Walk(places, (HOME,), config).run()
    assert (walk.queue, walk.traps.left) == ([], 0)
    assert walk.traps.held > 0
    (note,) = walk.traps.notes()
    assert (note.unit, note.reason) == ("*.wild.test", "")
    assert "gossamer trust DIR '*.wild.test' lets it go on" in note.detail
    assert 60 <= spent(walk) <= 60 + HOST_PROBES, "robots.txt of each host counts, too"
    assert walk.hits["http://"] <= 60


def test_a_domain_with_many_honest_hosts_is_not_closed() -> None:
    hosts = [f"http://user{n}.blogs.test/" for n in range(300)]
    walk = Walk({HOME: door(*hosts), "http://": lambda _: Sheet("Blog", "I write.", ())}, (HOME,))
    walk.run()
    assert walk.hits["http://"] == 300
    assert closed(walk) == {}


def test_copies_that_lead_nowhere_are_left_to_end_by_themselves() -> None:
    stubs = [f"{TRAP}stub{n}" for n in range(200)]
    places = {HOME: door(TRAP), TRAP: lambda tail: Sheet("Moved", "Moved.", () if tail else stubs)}
    walk = Walk(places, (HOME,)).run()
    assert walk.hits[TRAP] == 201


def test_a_long_chain_without_numbers_is_suspected_after_five_blocks_of_pages() -> None:
    def chain(tail: str) -> Sheet:
        word = "".join(chr(97 + (ord(letter) - 96) % 26) for letter in tail[-6:] or "abcdef")
        return Sheet(f"On {tail}", f"Text of {tail}", [word + tail[:40]])

    walk = Walk({HOME: door(TRAP), TRAP: chain}, (HOME,), ALLOWED).run()
    assert walk.hits[TRAP] == 5 * SUSPECT_PAGES + 300


def test_hosts_that_mirror_another_are_closed_and_the_original_is_not() -> None:
    hosts = [f"http://m{n}.test/" for n in range(100)]

    def sheet(tail: str) -> Sheet:
        return Sheet(f"Page {tail}", f"Text of {tail}", [f"p{n}" for n in range(1, 50)])

    places = {HOME: door(*hosts), **dict.fromkeys(hosts, sheet)}
    walk = Walk(places, (HOME,), knows_copies=True).run()
    hits = sorted(walk.hits[host] for host in hosts)
    assert hits[-4:] == [50] * 4, "the original, and three that were whole before the fourth came"
    assert hits[:-4] == [10] * 96
    assert walk.refused["mirror_host"]
    assert sum(note.reason == "mirror_host" for note in walk.traps.notes()) == 99


def test_a_single_mirror_is_left_alone() -> None:
    def sheet(tail: str) -> Sheet:
        return Sheet(f"Page {tail}", f"Text of {tail}", [f"p{n}" for n in range(1, 50)])

    hosts = ("http://one.test/", "http://two.test/")
    walk = Walk({HOME: door(*hosts), **dict.fromkeys(hosts, sheet)}, (HOME,), knows_copies=True)
    walk.run()
    assert [walk.hits[host] for host in hosts] == [50, 50]


@pytest.mark.parametrize("shared", [1, 2, 8])
def test_sites_that_share_their_first_pages_and_have_others_of_their_own_are_no_mirrors(
    shared: int,
) -> None:
    def sheet(host: int) -> Snare:
        def made(tail: str) -> Sheet:
            own = "" if not tail or int(tail) < shared else f"of {host}"
            return Sheet(f"Page {tail}", f"Text {tail} {own}", map(str, range(1, shared + 8)))

        return made

    hosts = {f"http://m{n}.test/": sheet(n) for n in range(20)}
    walk = Walk({HOME: door(*hosts), **hosts}, (HOME,), knows_copies=True).run()
    assert all(walk.hits[host] == shared + 8 for host in hosts)


def test_hosts_that_share_some_pages_are_no_mirrors() -> None:
    def sheet(host: int) -> Snare:
        def made(tail: str) -> Sheet:
            own = f"of {host}" if tail != "legal" else ""
            return Sheet(f"Page {tail}", f"Text {tail} {own}", ["legal", *map(str, range(20))])

        return made

    hosts = {f"http://m{n}.test/": sheet(n) for n in range(10)}
    walk = Walk({HOME: door(*hosts), **hosts}, (HOME,), knows_copies=True).run()
    assert all(walk.hits[host] == 22 for host in hosts)


def pair(other: str) -> Snare:
    """Return a site whose every page lists eight new pages of another host."""

    def sheet(tail: str) -> Sheet | None:
        text = f"Of {tail or 'the front page'}, and what it means to those who live there."
        return Sheet(tail or "Front", text, [f"{other}{tail}{number}" for number in range(8)])

    return sheet


def test_two_hosts_that_list_ever_new_pages_of_each_other_are_held_together() -> None:
    one, other = "http://www.one-twin.test/", "http://www.other-twin.test/"
    config = TrapsConfig(allowance=200)
    places = {HOME: door(one), one: pair(other), other: pair(one)}
    walk = Walk(places, (HOME,), config, limit=3000).run()
    assert walk.traps.held > 0
    assert walk.traps.left == 0, "the walk has ended by itself"
    assert max(walk.hits[one], walk.hits[other]) <= 200 + 64 + 40


def test_translations_on_two_hosts_are_not_taken_for_such_a_pair() -> None:
    """Each page names its translation: one new URL of the other host, not ever more of them."""
    english, german = "http://www.site-en.test/", "http://www.site-de.test/"
    site = honest_site("tree", 300)

    def translated(other: str) -> Snare:
        def sheet(tail: str) -> Sheet | None:
            found = site(tail)
            return found and Sheet(found.title, found.text, [*found.links, f"{other}{tail}"])

        return sheet

    places = {HOME: door(english), english: translated(german), german: translated(english)}
    walk = Walk(places, (HOME,)).run()
    assert (walk.hits[english], walk.hits[german]) == (300, 300)
    assert not any("list ever new ones" in note.detail for note in walk.traps.notes())


def grid(address: str, rows: int) -> Snare:
    """Return a form that can be asked for every day of each of some rooms: few pages name new ones.

    `address` is a room's page on a day, as in `?room={}&day={}`.
    """

    def sheet(tail: str) -> Sheet:
        found = [int(number) for number in re.findall(r"\d+", tail)]
        room, day = found if len(found) == 2 else (0, 500_000)
        days = [address.format(room, day + step) for step in (-7, -1, 1, 7)]
        rooms = [address.format(other, day) for other in range(rows)]
        taken = f"{day:b}{room:04b}".replace("0", "free ").replace("1", "taken ")
        return Sheet(f"Room {room}", taken, [*days, *rooms])

    return sheet


@pytest.mark.slow
@pytest.mark.parametrize("address", ["?room={}&day={}", "day-{1}/room-{0}.html", "{1}-{0}"])
def test_an_endless_form_at_home_does_not_use_up_the_urls_of_a_site_that_is_suspected_too(
    address: str,
) -> None:
    inside, base, pages = f"{HOME}rooms/", f"{HOME}code/", 800
    places = {HOME: door(inside, base), inside: grid(address, 8), base: honest_site("woven", pages)}
    walk = Walk(places, (HOME,), ALLOWED, per_home=4 * pages, limit=6 * pages).run()
    assert walk.hits[base] == pages
    assert walk.traps.held > 0
    assert all("/rooms/" in note.unit for note in walk.traps.notes())


def test_a_form_that_can_be_asked_for_anything_is_suspected_on_any_host() -> None:
    walk = Walk({HOME: door(TRAP), TRAP: grid("?room={}&day={}", 8)}, (HOME,), ALLOWED).run()
    (note,) = walk.traps.notes()
    assert "is on probation: 128 pages, and still" in note.detail
    assert walk.hits[TRAP] <= 128 + 300 + 1


def test_a_folder_of_a_seed_with_many_doors_stays_free_and_a_maze_beside_it_has_a_tenth() -> None:
    inside, base, pages = f"{HOME}maze/", f"{HOME}code/", 300
    site = honest_site("woven", pages)
    front = site("")
    assert front is not None
    ways = [urljoin(base, link) for link in ("", *front.links)]
    places = {HOME: door(inside, *ways), inside: ALL["tarpit"], base: site}
    walk = Walk(places, (HOME,), ALLOWED, per_home=4 * pages, limit=6 * pages).run()
    assert walk.hits[base] == pages
    assert share_before_last(walk, inside) <= SHARE
    assert {note.unit for note in walk.traps.notes()} == {"www.honest.test/maze/"}
