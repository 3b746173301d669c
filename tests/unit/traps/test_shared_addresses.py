"""Made-up domains on one address are held together; honest domains that share one are not."""

import pytest
from laboratory.snares.sheet import Sheet, Snare

from gossamer.config import TrapsConfig
from gossamer.model import LinkKind, Task
from gossamer.traps.detector import SHARED_PROBES
from gossamer.traps.hosts import (
    DOMAINS_PER_LEAF,
    ENOUGH_ANSWERS,
    NEW_DOMAINS,
    Lineage,
    SharedAddresses,
)
from tests.unit.traps.bench import TrapBench
from tests.unit.traps.pages import page_turn, url
from tests.unit.traps.walk import Walk

HOME = "http://www.home.test/"
FIRST = "http://first.test/"
HERE, ELSEWHERE = "127.0.0.7", "127.0.0.8"
ALLOWED = TrapsConfig(allowance=60)


def farm(links: int = 3) -> Snare:
    """Return a page that names new domains; it stands on every domain of an address."""
    numbers = iter(range(10**6))

    def sheet(_tail: str) -> Sheet:
        number = next(numbers)
        domains = [f"http://d{number}x{n}.test/" for n in range(links)]
        return Sheet(f"Domain {number}", f"unique {number}", [*domains, "deals", "about"])

    return sheet


def door(*links: str) -> Snare:
    return lambda tail: None if tail else Sheet("Home", "Come in.", links)


def address_of(host: str) -> str:
    return ELSEWHERE if host in {"www.home.test", "honest.test"} else HERE


def walk_of(places: dict[str, Snare], **options: object) -> Walk:
    options = {"config": ALLOWED, "addresses": address_of, **options}
    walk = Walk(places, (HOME,), **options)  # type: ignore[arg-type] -- options
    return walk.run()


@pytest.mark.slow
@pytest.mark.parametrize("links", [1, 3, 20])
def test_an_address_that_makes_up_domains_has_one_allowance_for_all_of_them(links: int) -> None:
    walk = walk_of({HOME: door(FIRST), "http://": farm(links)})
    assert (walk.queue, walk.traps.left, walk.traps.is_waiting) == ([], 0, False)
    assert walk.traps.held > 0
    free = walk.doubtful.count(False)
    assert free <= 120, "what was known from the first domain, and asked before the suspicion"
    assert walk.doubtful.count(True) <= 10 * ALLOWED.allowance
    notes = walk.traps.notes()
    assert all(
        f"domains at {HERE} name ever newer ones" in note.suspicion
        or "only pages on" in note.suspicion
        for note in notes
    )


def test_honest_pages_elsewhere_go_before_made_up_domains() -> None:
    honest = [f"http://honest.test/{n}" for n in range(400)]
    page = lambda tail: Sheet(tail, f"The text of {tail}", ())  # noqa: E731 -- one page
    walk = walk_of({HOME: door(FIRST, *honest), "http://honest.test/": page, "http://": farm()})
    assert walk.hits["http://honest.test/"] == 400
    last = max(number for number, place in enumerate(walk.fetched) if place in honest)
    assert sum(place not in honest for place in walk.fetched[:last]) <= 0.2 * last


def test_behind_a_proxy_no_address_is_known_and_none_is_suspected() -> None:
    walk = Walk({HOME: door(FIRST), "http://": farm()}, (HOME,), ALLOWED, limit=600).run()
    assert walk.traps.notes() == ()


@pytest.mark.slow
def test_domains_that_name_each_other_and_come_to_an_end_are_walked_whole() -> None:
    """A tree of 1,000 domains on one address, most of which name no other."""
    count = 1000

    def sheet(host: int) -> Snare:
        below = [f"http://d{n}.test/" for n in range(6 * host + 1, 6 * host + 7) if n < count]
        return lambda tail: Sheet(f"{host}", f"Text of {host} {tail}", ["a", "b", *below])

    domains = {f"http://d{n}.test/": sheet(n) for n in range(count)}
    walk = walk_of({HOME: door("http://d0.test/"), **domains}, limit=9000, config=TrapsConfig())
    assert all(walk.hits[domain] == 3 for domain in domains)
    assert walk.traps.notes() == ()


def test_domains_that_a_hub_lists_are_not_suspected_whatever_they_name() -> None:
    count = 300

    def sheet(host: int) -> Snare:
        near = [f"http://d{(host * 7 + n) % count}.test/" for n in range(5)]
        return lambda tail: Sheet(f"{host}", f"Text of {host} {tail}", ["a", *near])

    domains = {f"http://d{n}.test/": sheet(n) for n in range(count)}
    walk = walk_of({HOME: door(*domains), **domains})
    assert all(walk.hits[domain] == 2 for domain in domains)
    assert walk.doubtful.count(True) == 0


def test_domains_of_a_directory_on_the_same_address_are_walked_whole_beside_a_trap() -> None:
    customers = [f"http://customer{n}.test/" for n in range(200)]
    page = lambda tail: Sheet(tail, f"A text {tail}", ["a"])  # noqa: E731 -- one page
    places = dict.fromkeys(customers, page)
    walk = walk_of(
        {
            HOME: door(FIRST, "http://directory.test/"),
            "http://": farm(),
            "http://directory.test/": door(*customers),
            **places,
        }
    )
    assert all(walk.hits[customer] >= 2 for customer in customers)
    assert walk.traps.held > 0


class Web:
    """Answers of domains, one after the other."""

    def __init__(self) -> None:
        self.shared = SharedAddresses()

    def page(
        self,
        host: str,
        *names: str,
        at: str = HERE,
        known: tuple[str, ...] = (),
        is_free: bool = True,
    ) -> str:
        links = [f"http://{name}/" for name in (*names, *known)]
        new = [f"http://{name}/" for name in names]
        turn = page_turn(f"http://{host}/", links=links, new=new, address=at)
        return self.shared.observe(turn, is_free=is_free)

    def grown(self, members: int) -> "Web":
        """Let a domain and six that it names have answered, which name so many others."""
        first = [f"a{n}.test" for n in range(ENOUGH_ANSWERS)]
        self.page("hub.test", "first.test", at=ELSEWHERE)
        self.page("first.test", *first)
        names = [f"b{n}.test" for n in range(members)]
        for number, host in enumerate(first):
            self.page(host, *names[number::ENOUGH_ANSWERS])
        return self


def test_so_many_new_domains_are_let_in_and_the_next_is_suspected() -> None:
    assert Web().grown(NEW_DOMAINS).shared.suspected_at("b0.test") == ""
    grown = Web().grown(NEW_DOMAINS + 1)
    assert grown.shared.suspected_at("b0.test") == HERE
    assert grown.shared.suspected_at("www.b0.test") == HERE
    assert grown.shared.suspected_at("a0.test") == HERE, "it has named others"
    assert grown.shared.suspected_at("first.test") == "", "it is listed elsewhere"
    assert grown.shared.suspected_at("hub.test") == ""
    assert grown.shared.suspected_at("unknown.test") == ""
    assert grown.shared.count_at(HERE) == NEW_DOMAINS + 1


def test_a_domain_of_the_second_generation_that_names_no_other_is_free() -> None:
    web = Web().grown(NEW_DOMAINS + 1)
    web.page("first.test", "leaf.test")
    assert web.shared.suspected_at("leaf.test") == HERE
    web.page("leaf.test", is_free=False)
    assert web.shared.suspected_at("leaf.test") == ""


def test_fewer_answers_than_are_enough_prove_nothing() -> None:
    web = Web()
    names = [f"b{n}.test" for n in range(100)]
    web.page("first.test", *(f"a{n}.test" for n in range(ENOUGH_ANSWERS)))
    for number in range(ENOUGH_ANSWERS - 1):
        web.page(f"a{number}.test", *names[number::ENOUGH_ANSWERS])
    assert web.shared.suspected_at("b0.test") == ""
    web.page(f"a{ENOUGH_ANSWERS - 1}.test")
    assert web.shared.suspected_at("b0.test") == HERE


def test_domains_that_are_on_other_addresses_speak_for_the_one_that_names_them() -> None:
    web = Web()
    web.page("first.test", *(f"a{n}.test" for n in range(ENOUGH_ANSWERS)), "x.test", "y.test")
    web.page("x.test", at=ELSEWHERE)
    web.page("y.test", at=ELSEWHERE)
    for number in range(ENOUGH_ANSWERS):
        web.page(f"a{number}.test", *(f"b{number}x{n}.test" for n in range(9)))
    assert web.shared.suspected_at("b0x0.test") == ""


def test_an_address_is_cleared_by_leaves_and_not_suspected_again_at_once() -> None:
    web = Web().grown(NEW_DOMAINS + 1)
    assert web.page("b0.test", is_free=False) == ""
    assert web.page("b1.test", is_free=False) == ""
    assert web.page("b2.test", is_free=False) == HERE
    assert web.shared.suspected_at("b3.test") == ""
    web.page("b3.test", *(f"c{n}.test" for n in range(100)))
    assert web.shared.suspected_at("c0.test") == ""


def test_a_page_elsewhere_that_is_free_lists_a_domain_and_one_on_probation_does_not() -> None:
    web = Web().grown(NEW_DOMAINS + 1)
    web.page("maze.test", at=ELSEWHERE, known=("b0.test",), is_free=False)
    assert web.shared.suspected_at("b0.test") == HERE
    web.page("b1.test", known=("b0.test",))
    assert web.shared.suspected_at("b0.test") == HERE
    web.page("hub.test", at=ELSEWHERE, known=("b0.test",))
    assert web.shared.suspected_at("b0.test") == ""
    assert web.shared.count_at(HERE) == NEW_DOMAINS


def test_leaves_let_more_domains_in() -> None:
    web = Web().grown(NEW_DOMAINS)
    for number in range(2):
        web.page(f"b{number}.test")
    more = 2 * DOMAINS_PER_LEAF + 2
    web.page("a0.test", *(f"c{n}.test" for n in range(more)))
    assert web.shared.suspected_at("c0.test") == ""
    web.page("a0.test", "one-more.test")
    assert web.shared.suspected_at("c0.test") == HERE


def test_another_shard_tells_where_the_domain_is_that_names_one() -> None:
    """What one shard suspects is suspected by the next, until leaves are found there."""
    task = Task(url("http://b.test/"), named_at=HERE, generation=1, is_doubtful=True)
    shared = SharedAddresses()
    shared.note_task(task)
    assert shared.suspected_at("b.test") == HERE
    free = SharedAddresses()
    free.note_task(Task(url("http://b.test/"), named_at=HERE, generation=1))
    assert free.suspected_at("b.test") == ""
    assert free.note("b.test", Lineage(ELSEWHERE, 0)) is False
    assert free.count_at(HERE) == 0


def bench_of_farm() -> TrapBench:
    """Return a detector that has seen an address grow beyond suspicion."""
    bench = TrapBench()

    def page(place: str, *links: str, via: str) -> list[str]:
        turn = page_turn(place, links=links, new=links, via=via, address=HERE)
        return bench.end(turn)

    first = [f"http://a{n}.test/" for n in range(ENOUGH_ANSWERS)]
    page(FIRST, *first, via="http://home.test/")
    for number, place in enumerate(first):
        page(place, *(f"http://b{number}x{n}.test/" for n in range(4)), via=FIRST)
    return bench


def test_what_is_queued_already_is_held_when_its_turn_comes() -> None:
    bench = bench_of_farm()
    task = Task(url("http://b0x0.test/"), via="http://a0.test/", kind=LinkKind.ANCHOR)
    assert bench.traps.may_go(task) is not None
    assert bench.held()["b0x0.test/"] == [task.url.text]
    assert bench.unit("b0x0.test/").probation.shared == HERE  # type: ignore[union-attr] -- it is on probation


def test_pages_of_suspected_domains_mark_what_they_name_for_other_shards() -> None:
    bench = bench_of_farm()
    links = ("http://a0.test/more", "http://new.test/")
    turn = page_turn("http://a0.test/x", links=links, new=links, via=FIRST, address=HERE)
    bench.traps.observe(turn)
    own, other = bench.traps.mark(turn.new_tasks)
    assert (own.is_doubtful, own.named_at) == (False, "")
    assert (other.is_doubtful, other.named_at, other.generation) == (True, HERE, 1)
    assert bench.traps.admit([other]) == []
    assert bench.held()["new.test/"] == ["http://new.test/"]


def test_after_a_start_what_was_suspected_together_is_so_still() -> None:
    bench = bench_of_farm()
    bench.restart()
    sent = bench.look()
    assert len(sent) == 4 <= SHARED_PROBES
    turn = page_turn(sent[0], links=("http://d.test/",), new=("http://d.test/",), address=HERE)
    assert bench.end(turn) == []
    assert "d.test/" in bench.held()
    assert bench.unit("d.test/").probation.spent_at == {HERE: 0}  # type: ignore[union-attr] -- it is
