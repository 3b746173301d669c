"""Traps end, honest sites do not: judged by walks without network."""

import pytest
from laboratory.snares import OTHERS, SNARES, honest_site
from laboratory.snares.sheet import Sheet, Snare

from gossamer.config import TrapsConfig
from gossamer.model import TrapNote
from gossamer.traps import held, held_because, read_trap_notes
from tests.unit.traps.pages import url
from tests.unit.traps.walk import Walk

ALL = {**SNARES, **OTHERS}
HOME = "http://www.honest.test/"
TRAP = "http://trap.snare.test/"
FEW = 100
"""Requests that a single trap may cost."""


def door(*links: str) -> Snare:
    return lambda tail: None if tail else Sheet("Home", "Come in.", links)


def closed(walk: Walk) -> dict[str, TrapNote]:
    return {note.unit: note for note in walk.traps.notes() if note.reason}


@pytest.mark.parametrize("name", ALL)
def test_a_trap_on_a_host_of_its_own_is_closed(name: str) -> None:
    walk = Walk({HOME: door(TRAP), TRAP: ALL[name]}, (HOME,)).run()
    assert walk.hits[TRAP] <= FEW
    assert any(unit.startswith("trap.snare.test/") for unit in closed(walk))
    assert sum(walk.refused[reason] for reason in ("trap_endless", "trap_same"))


@pytest.mark.parametrize("name", ALL)
def test_a_trap_in_a_folder_of_an_honest_site_is_closed_and_the_site_is_not(name: str) -> None:
    inside = f"{HOME}{name}/"
    site = honest_site("tree", 300)

    def with_door(tail: str) -> Sheet | None:
        found = site(tail)
        return found and Sheet(found.title, found.text, [*found.links, inside])

    walk = Walk({HOME: with_door, inside: ALL[name]}, (HOME,)).run()
    assert walk.hits[HOME] == 300
    assert walk.hits[inside] <= FEW
    assert all(f"/{name}/" in unit for unit in closed(walk))


KINDS = ("woven", "tree", "indexed", "index_chain", "chained", "dated")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [HOME, f"{HOME}archive/", "http://archive.test/"])
def test_an_honest_archive_is_walked_to_its_end(kind: str, base: str) -> None:
    pages = 1500
    start = base + "?page=1" if kind == "chained" else base
    places = {HOME: door(start), base: honest_site(kind, pages)}
    walk = Walk(places, (start if base == HOME else HOME,)).run()
    assert walk.hits[base] >= pages
    assert closed(walk) == {}
    assert not walk.rows, "nothing is left of the probations"


def test_words_instead_of_numbers_do_not_make_a_site_a_maze() -> None:
    base = f"{HOME}articles/"
    walk = Walk({HOME: door(base), base: honest_site("worded", 1000)}, (HOME,)).run()
    assert walk.hits[base] == 1000


def test_what_is_trusted_is_never_tried() -> None:
    config = TrapsConfig(trust=("trap.snare.test",))
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["flat"]}, (HOME,), config, limit=400).run()
    assert walk.hits[TRAP] == 399
    assert walk.traps.notes() == ()


def test_traps_that_are_not_looked_for_are_not_found() -> None:
    config = TrapsConfig(enabled=False)
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["flat"]}, (HOME,), config, limit=400).run()
    assert walk.hits[TRAP] == 399


def test_a_verdict_survives_a_kill_and_is_explained() -> None:
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["flat"]}, (HOME,)).run()
    before = read_trap_notes(walk.scan)
    walk.open()
    assert [note.unit for note in before] == ["trap.snare.test/"]
    assert before[0].reason == "trap_endless"
    assert 'overrule with [traps] trust = ["trap.snare.test/*"]' in before[0].detail
    assert walk.traps.notes() == before


def test_trust_opens_what_was_closed_and_goes_on_from_there() -> None:
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["flat"]}, (HOME,)).run()
    hits = walk.hits[TRAP]
    walk.config, walk.limit = TrapsConfig(trust=("trap.snare.test/*",)), hits + 300
    walk.open()
    walk.run()
    assert walk.hits[TRAP] >= hits + 200


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


def test_a_url_that_waits_for_a_verdict_says_so() -> None:
    walk = Walk({HOME: door(TRAP), TRAP: SNARES["flat"]}, (HOME,), limit=14).run()
    (note,) = read_trap_notes(walk.scan)
    assert note.reason == ""
    assert note.held > 0
    held = [text for text in _known_of(walk) if held_because(walk.rows.get, url(text))]
    assert len(held) == note.held
    assert "is on probation: 8 of 8 pages" in held_because(walk.rows.get, url(held[0]))


def _known_of(walk: Walk) -> list[str]:
    """Return what the pages that were fetched link to."""
    found = {}
    for text in walk.fetched:
        sheet = SNARES["flat"](text.removeprefix(TRAP)) if text.startswith(TRAP) else None
        found.update({TRAP + link: 0 for link in (sheet.links if sheet else ())})
    return list(found)


def wild(links: int) -> Snare:
    """Return a page that names new hosts; it stands on every host of a domain."""
    numbers = iter(range(10**6))

    def sheet(_tail: str) -> Sheet:
        number = next(numbers)
        hosts = [f"http://h{number}x{n}.wild.test/" for n in range(links)]
        return Sheet(f"Host {number}", f"unique {number}", hosts)

    return sheet


@pytest.mark.parametrize("links", [1, 3, 40])
def test_a_domain_that_makes_up_hosts_is_closed_to_new_ones(links: int) -> None:
    walk = Walk({HOME: door("http://a.wild.test/"), "http://": wild(links)}, (HOME,)).run()
    assert walk.hits["http://"] <= 40
    assert walk.refused["trap_hosts"]
    assert "*.wild.test" in closed(walk)


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


def test_a_long_chain_without_numbers_is_tried_in_the_end() -> None:
    def chain(tail: str) -> Sheet:
        word = "".join(chr(97 + (ord(letter) - 96) % 26) for letter in tail[-6:] or "abcdef")
        return Sheet(f"On {tail}", f"Text of {tail}", [word + tail[:40]])

    walk = Walk({HOME: door(TRAP), TRAP: chain}, (HOME,)).run()
    assert walk.hits[TRAP] <= 400


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
