"""The trap detector by hand: what is held, what is listed elsewhere, what is let go and when."""

from collections.abc import Sequence

import pytest

from gossamer.config import TrapsConfig
from gossamer.model import (
    MAX_NESTING,
    SITEMAP_TYPES,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    Link,
    LinkKind,
    Objection,
    RefusalKind,
    Refused,
    Reject,
    Task,
    Turn,
)
from gossamer.traps import Hold, held, held_by
from gossamer.traps.rules import GROWTH_PAGES
from gossamer.traps.unit import Probation, Unit
from tests.unit.traps.bench import HOME, TrapBench, suspect
from tests.unit.traps.pages import document, page_turn, url

UNIT = "t.test/a/"
INSIDE = f"http://{UNIT}"
OUTSIDE = "http://t.test/b/list"


def urls(count: int, base: str = INSIDE) -> list[str]:
    return [f"{base}{number}" for number in range(count)]


def holding(
    count: int, *others: Unit, config: TrapsConfig | None = None, **counts: object
) -> TrapBench:
    """Return a detector whose unit on probation holds some URLs."""
    bench = TrapBench([suspect(UNIT, **counts), *others], config or TrapsConfig())
    assert bench.admit(*urls(count), via=INSIDE) == []
    return bench


def link_to(place: str, via: str) -> Task:
    return Task(url=url(place), via=via, kind=LinkKind.ANCHOR)


def on(bench: TrapBench, name: str) -> Probation:
    probation = bench.unit(name).probation
    assert probation is not None
    return probation


class TestWhatIsListed:
    """A URL of a unit on probation that a free page outside lists is an ordinary URL."""

    @pytest.mark.parametrize("via", [OUTSIDE, "http://t.test/", HOME, "http://x.t.test/", ""])
    def test_what_pages_outside_of_the_unit_list_is_ordinary(self, via: str) -> None:
        bench = TrapBench([suspect(UNIT)])
        assert bench.admit(f"{INSIDE}1", via=via) == [f"{INSIDE}1"]
        assert bench.traps.held == 0
        assert bench.unit(UNIT).listed == 1

    @pytest.mark.parametrize("via", [INSIDE, f"{INSIDE}x/y", f"https://{UNIT}x", "http://s.test/x"])
    def test_what_pages_of_the_unit_or_of_another_on_probation_list_is_held(self, via: str) -> None:
        bench = TrapBench([suspect(UNIT), suspect("s.test/")])
        assert bench.admit(f"{INSIDE}1", via=via) == []
        assert bench.held() == {UNIT: [f"{INSIDE}1"]}
        assert bench.unit(UNIT).listed == 0

    @pytest.mark.parametrize("via", ["http://s.test/x", f"{INSIDE}sitemap.xml"])
    def test_what_a_sitemap_lists_is_ordinary_wherever_it_lies(self, via: str) -> None:
        bench = TrapBench([suspect(UNIT), suspect("s.test/")])
        admitted = bench.admit(f"{INSIDE}1", via=via, kind=LinkKind.SITEMAP)
        assert admitted == [f"{INSIDE}1"]

    def test_what_a_doubtful_page_of_another_shard_lists_is_held(self) -> None:
        bench = TrapBench([suspect(UNIT)])
        for kind in (LinkKind.ANCHOR, LinkKind.SITEMAP):
            place = f"{INSIDE}{kind}"
            assert bench.admit(place, via="http://far.test/", kind=kind, is_doubtful=True) == []
        assert bench.unit(UNIT).listed == 0
        released = bench.look()
        assert len(released) == 2
        assert not any(task.is_doubtful for task in bench.traps.release().new)

    def test_a_held_task_is_not_doubtful_any_more_when_it_goes(self) -> None:
        bench = TrapBench([suspect(UNIT)])
        bench.admit(f"{INSIDE}1", via="http://far.test/", is_doubtful=True)
        bench.traps.obey(is_open=True, granted=0, now=0.0)
        assert [task.is_doubtful for task in bench.traps.release().new] == [False]

    def test_seeds_and_what_is_trusted_are_never_held(self) -> None:
        bench = TrapBench([suspect(UNIT)], TrapsConfig(trust=(f"{UNIT}fine*",)))
        assert bench.admit(f"{INSIDE}1", via=INSIDE, kind=LinkKind.SEED) == [f"{INSIDE}1"]
        assert bench.admit(f"{INSIDE}fine", via=INSIDE) == [f"{INSIDE}fine"]
        assert bench.admit(f"{INSIDE}other", via=INSIDE) == []

    def test_one_url_that_may_go_does_not_open_the_host_for_the_next(self) -> None:
        bench = TrapBench([suspect(UNIT)])
        places = ["http://t.test/c", f"{INSIDE}1", "http://t.test/d", f"{INSIDE}2"]
        assert bench.admit(*places, via=INSIDE) == [places[0], places[2]]

    def test_the_link_to_the_entrance_frees_nothing_else(self) -> None:
        bench = TrapBench([suspect(UNIT)])
        assert bench.admit(INSIDE, via=OUTSIDE) == [INSIDE]
        assert bench.fetch(INSIDE, *urls(20), via=OUTSIDE) == []
        assert bench.held() == {UNIT: sorted(urls(20))}
        assert bench.traps.may_go(link_to(f"{INSIDE}x", INSIDE)) is Hold.ON_PROBATION

    def test_a_held_url_goes_when_a_free_page_lists_it(self) -> None:
        bench = holding(5)
        bench.fetch(OUTSIDE, known=[f"{INSIDE}3", f"{INSIDE}99"])
        assert bench.released() == [f"{INSIDE}3"]
        assert bench.held() == {UNIT: [place for place in urls(5) if place != f"{INSIDE}3"]}
        assert bench.unit(UNIT).listed == 1
        assert not bench.traps.is_out(url(f"{INSIDE}3"))

    @pytest.mark.parametrize("place", [f"{INSIDE}0", f"{INSIDE}q", "http://s.test/x"])
    def test_a_held_url_stays_when_a_page_on_probation_lists_it(self, place: str) -> None:
        bench = holding(5, suspect("s.test/"))
        bench.fetch(place, known=[f"{INSIDE}3"])
        assert bench.released() == []
        assert bench.traps.held == 5

    def test_a_held_url_goes_when_a_free_page_of_another_shard_lists_it(self) -> None:
        bench = holding(5)
        listed = [Task(url=url(f"{INSIDE}{n}"), via="http://far.test/") for n in (1, 2)]
        doubtful = [Task(url=url(f"{INSIDE}4"), via="http://far.test/", is_doubtful=True)]
        bench.traps.note_listed([*listed, *doubtful])
        bench.traps.note_listed([Task(url=url(f"{INSIDE}3"), via=f"{INSIDE}9")])
        assert sorted(bench.released()) == [f"{INSIDE}1", f"{INSIDE}2"]
        assert bench.unit(UNIT).listed == 2
        bench.traps.note_listed(listed)
        assert bench.released() == [], "they went already"

    def test_switched_off_nothing_is_held_or_listed(self) -> None:
        bench = TrapBench([], TrapsConfig(enabled=False))
        assert bench.admit(*urls(3), via=INSIDE) == urls(3)
        bench.traps.note_listed([Task(url=url(f"{INSIDE}1"), via="http://far.test/")])
        assert bench.released() == []

    def test_a_host_of_a_domain_on_probation_goes_when_a_free_page_lists_it(self) -> None:
        bench = TrapBench([suspect("*.t.test")])
        bench.admit("http://h1.t.test/", "http://h2.t.test/", via="http://h0.t.test/")
        assert bench.traps.held == 2
        bench.fetch(HOME, known=["http://h2.t.test/"])
        assert bench.released() == ["http://h2.t.test/"]
        bench.fetch("http://h7.t.test/", known=["http://h1.t.test/"])
        assert bench.released() == [], "it is one of the made-up hosts"
        bench.fetch("http://www.t.test/", known=["http://h1.t.test/"])
        assert bench.released() == ["http://h1.t.test/"], "the front page of the domain is none"

    @pytest.mark.parametrize(("listed", "is_released"), [(15, False), (16, True)])
    def test_a_unit_is_released_when_most_of_its_urls_are_listed_outside(
        self,
        listed: int,
        is_released: bool,  # noqa: FBT001 -- a case
    ) -> None:
        bench = holding(10, spent=5)
        assert len(bench.admit(*urls(listed, f"{INSIDE}new"), via=OUTSIDE)) == listed
        assert bench.traps.held + bench.traps.let_go == 10
        assert bool(bench.released()) is is_released
        assert bench.traps.held == (0 if is_released else 10)
        bench.restart()
        assert bool(bench.traps.notes()) is not is_released

    def test_urls_that_are_listed_one_by_one_release_the_rest(self) -> None:
        bench = holding(20)
        bench.fetch(OUTSIDE, known=urls(16))
        assert sorted(bench.released()) == sorted(urls(20))
        assert bench.traps.held == 0
        assert bench.admit(f"{INSIDE}x", via=INSIDE) == [f"{INSIDE}x"]


class TestWhatPagesOnProbationBring:
    """They bring it wherever it lies: it is on probation, too."""

    def probing(self, *others: Unit) -> TrapBench:
        bench = holding(1, *others)
        assert bench.look() == [f"{INSIDE}0"]
        return bench

    def test_what_they_bring_elsewhere_in_their_domain_is_held_by_their_unit(self) -> None:
        bench = self.probing()
        bench.hosts["x.t.test"] = 7
        brought = [f"{INSIDE}1", "http://t.test/b/1", "http://x.t.test/c"]
        assert bench.fetch(f"{INSIDE}0", *brought) == []
        assert bench.held() == {UNIT: sorted(brought)}

    def test_the_unit_that_holds_a_url_outside_of_it_is_named(self) -> None:
        bench = self.probing()
        bench.fetch(f"{INSIDE}0", "http://t.test/b/1")
        bench.commit()
        unit = held_by(bench, url("http://t.test/b/1"))
        assert unit is not None
        assert unit.name == UNIT
        note = bench.traps.note_on(UNIT)
        assert note is not None
        assert note.detail.startswith(f"{UNIT} is on probation: why, 1 page fetched since;")
        assert held_by(bench, url("http://t.test/b/2")) is None

    def test_a_held_url_outside_of_its_unit_goes_when_a_free_page_lists_it(self) -> None:
        bench = self.probing()
        bench.fetch(f"{INSIDE}0", "http://t.test/b/1")
        bench.fetch(HOME, known=["http://t.test/b/1"])
        assert bench.released() == ["http://t.test/b/1"]

    def test_a_new_host_that_only_they_name_is_on_probation(self) -> None:
        bench = self.probing()
        assert bench.fetch(f"{INSIDE}0", "http://new.test/", "http://new.test/x") == []
        assert bench.held() == {"new.test/": ["http://new.test/", "http://new.test/x"]}
        (note,) = [note for note in bench.traps.notes() if note.unit == "new.test/"]
        assert "only pages on probation name it" in note.detail

    def test_a_new_host_shares_the_address_of_the_unit_that_led_to_it(self) -> None:
        bench = holding(1, spent_at={"1.2.3.4": 7})
        bench.look()
        bench.fetch(f"{INSIDE}0", "http://new.test/")
        assert on(bench, "new.test/").spent_at == {"1.2.3.4": 0}

    def test_a_known_host_of_another_domain_is_free(self) -> None:
        bench = self.probing()
        bench.hosts["known.test"] = 1
        assert bench.fetch(f"{INSIDE}0", "http://known.test/x") == ["http://known.test/x"]

    def test_a_page_that_is_free_brings_what_is_free(self) -> None:
        bench = self.probing()
        brought = ["http://t.test/b/1", "http://new.test/"]
        assert bench.fetch(OUTSIDE, *brought) == brought

    def test_a_new_host_that_doubtful_pages_of_another_shard_name_is_on_probation(self) -> None:
        bench = TrapBench()
        via = "http://far.test/"
        assert bench.admit("http://new.test/", via=via, is_doubtful=True) == []
        assert bench.held() == {"new.test/": ["http://new.test/"]}
        bench.hosts["known.test"] = 1
        place = "http://known.test/x"
        assert bench.admit(place, via=via, is_doubtful=True) == [place]

    def test_tasks_for_other_shards_are_marked_as_doubtful(self) -> None:
        bench = self.probing()
        turn = page_turn(f"{INSIDE}0", links=["http://far.test/"], new=["http://far.test/"])
        bench.traps.observe(turn)
        assert [task.is_doubtful for task in bench.traps.mark(turn.new_tasks)] == [True]
        free = page_turn(OUTSIDE, links=["http://far.test/"], new=["http://far.test/"])
        bench.traps.observe(free)
        assert [task.is_doubtful for task in bench.traps.mark(free.new_tasks)] == [False]
        assert bench.traps.mark([]) == []

    def test_a_redirect_from_a_page_on_probation_goes_with_it(self) -> None:
        bench = self.probing()
        task = Task(url=url(f"{INSIDE}0"))
        target = Task(url=url("http://t.test/b/1"), via=f"{INSIDE}0", kind=LinkKind.REDIRECT)
        failed = Failed(kind=FailureKind.NOT_FOUND)
        assert bench.end(Turn(task=task, outcome=failed, at=0.0, new_tasks=[target])) == []
        assert bench.held() == {UNIT: ["http://t.test/b/1"]}


class TestWhoMayGo:
    """Two of a unit while others wait, up to what is granted; more when nothing waits."""

    def test_while_others_wait_two_of_a_unit_are_out(self) -> None:
        bench = holding(10)
        assert len(bench.look(granted=9)) == 2
        assert (bench.traps.used, bench.traps.out, bench.traps.held) == (2, 2, 8)
        assert bench.traps.used_open == 0
        assert bench.look(granted=9) == []

    def test_a_page_that_has_ended_makes_room_for_the_next(self) -> None:
        bench = holding(10)
        first, _ = bench.look(granted=9)
        bench.fetch(first)
        assert bench.traps.out == 1
        assert len(bench.look(granted=9)) == 1
        assert bench.traps.used == 3

    def test_no_more_go_than_are_granted(self) -> None:
        bench = holding(10, suspect("s.test/"))
        bench.admit(*urls(5, "http://s.test/"), via="http://s.test/")
        assert bench.look(granted=0) == []
        assert len(bench.look(granted=1)) == 1
        assert bench.look(granted=1) == []
        assert len(bench.look(granted=3)) == 2
        assert bench.traps.used == 3

    def test_when_nothing_waits_a_unit_may_have_32_out(self) -> None:
        bench = holding(50)
        assert len(bench.look()) == 32
        assert (bench.traps.used, bench.traps.out) == (0, 32)
        assert bench.traps.used_open == 32

    def test_when_nothing_waits_a_domain_may_have_four_hosts_out(self) -> None:
        bench = TrapBench([suspect("*.t.test")])
        hosts = [f"http://h{n}.t.test/" for n in range(9)]
        assert bench.admit(*hosts, via="http://h99.t.test/") == []
        assert len(bench.look()) == 4
        assert bench.traps.hosts_out() == ["t.test"] * 4

    def test_a_new_host_costs_two_requests(self) -> None:
        bench = TrapBench([suspect("*.t.test")])
        bench.admit(*[f"http://h{n}.t.test/" for n in range(9)], via="http://h99.t.test/")
        (first,) = bench.look(granted=1)
        assert bench.traps.used == 2
        bench.fetch(first)
        assert on(bench, "*.t.test").spent == 2

    def test_a_domain_with_many_urls_does_not_leave_a_small_one_behind(self) -> None:
        many = suspect("s.test/", spent=1000, weight=0.5)
        bench = holding(1, many, spent=1000)
        bench.admit(*urls(50, "http://s.test/"), via="http://s.test/")
        out = bench.look()
        assert f"{INSIDE}0" in out
        assert len(out) < 32
        for place in urls(9)[1:]:
            bench.fetch(f"{INSIDE}{int(place[-1]) - 1}", place)
            assert place in bench.look(), "it has its turn whenever it has a page"

    def test_what_is_out_is_known(self) -> None:
        bench = holding(2)
        out = bench.look()
        assert all(bench.traps.is_out(url(place)) for place in out)
        assert not bench.traps.is_out(url(OUTSIDE))
        assert bench.traps.hosts_out() == ["t.test", "t.test"]
        assert bench.traps.may_go(link_to(out[0], INSIDE)) is None
        bench.fetch(out[0])
        assert not bench.traps.is_out(url(out[0]))

    def test_an_allowance_that_is_spent_holds_the_rest(self) -> None:
        bench = holding(10, config=TrapsConfig(allowance=4))
        out = bench.look()
        assert len(out) == 4
        assert (bench.traps.held, bench.traps.left) == (6, 0)
        for place in out:
            bench.fetch(place, f"{place}/next")
        assert bench.look() == []
        assert (bench.traps.held, bench.traps.left, bench.traps.is_waiting) == (10, 0, False)

    @pytest.mark.parametrize(
        ("outcome", "cost"),
        [
            (Failed(kind=FailureKind.NOT_FOUND), 1),
            (Refused(kind=RefusalKind.ROBOTS_DISALLOWED), 0),
        ],
    )
    def test_a_refusal_costs_nothing_and_a_failure_does(
        self, outcome: Failed | Refused, cost: int
    ) -> None:
        bench = holding(10, config=TrapsConfig(allowance=4))
        first, *_ = bench.look()
        bench.end(Turn(task=link_to(first, INSIDE), outcome=outcome, at=0.0))
        assert on(bench, UNIT).spent == cost
        assert len(bench.look()) == 1 - cost

    def test_a_page_that_is_tried_again_is_still_out(self) -> None:
        bench = holding(3)
        place = bench.look()[0]
        failed = Failed(kind=FailureKind.NOT_FOUND)
        bench.end(Turn(task=link_to(place, INSIDE), outcome=failed, at=0.0, retry_at=9.0))
        assert bench.traps.is_out(url(place))

    def test_units_of_one_domain_share_what_is_left(self) -> None:
        bench = holding(10, suspect("x.t.test/"), config=TrapsConfig(allowance=6))
        bench.admit(*urls(10, "http://x.t.test/"), via="http://x.t.test/")
        assert len(bench.look()) == 6

    def test_what_is_left_is_counted_without_what_is_closed_or_may_not_go(self) -> None:
        units = [suspect("t.test/"), suspect("u.test/"), suspect("v.test/", spent=20)]
        closed = Unit(name="w.test/", pages=8, verdict="trap_same")
        for allowance, left in ((21, 25), (20, 20)):
            bench = TrapBench([*units, closed], TrapsConfig(allowance=allowance))
            for host, count in (("t", 10), ("u", 10), ("v", 5), ("w", 5)):
                bench.admit(*urls(count, f"http://{host}.test/"), via=f"http://{host}.test/")
            assert (bench.traps.held, bench.traps.left) == (25, left)

    def test_at_home_the_limit_of_the_host_counts(self) -> None:
        home = suspect("home.test/a/")
        bench = TrapBench([home], TrapsConfig(allowance=2), per_home=15)
        bench.hosts["home.test"] = 10
        assert bench.admit(*urls(10, "http://home.test/a/"), via="http://home.test/a/") == []
        assert bench.traps.left == 10
        assert len(bench.look()) >= 5
        bench.hosts["home.test"] = 15
        assert bench.traps.left == 0

    def test_at_home_each_folder_has_turns_of_its_own(self) -> None:
        maze = suspect("home.test/maze/", spent=1000, weight=0.5)
        chain = suspect("home.test/chain/", spent=1000)
        bench = TrapBench([maze, chain], per_home=10_000)
        bench.admit(*urls(50, f"{HOME}maze/x/"), via=f"{HOME}maze/")
        bench.admit(f"{HOME}chain/0", via=f"{HOME}chain/")
        out = bench.look()
        assert f"{HOME}chain/0" in out
        assert len(out) <= 5
        for number in range(6):
            place = f"{HOME}chain/{number + 1}"
            bench.fetch(f"{HOME}chain/{number}", place, via=f"{HOME}chain/")
            more = bench.look()
            assert place in more
            assert len(more) <= 2, "half as many go to the maze as to the chain"

    def test_at_home_a_folder_that_has_nothing_left_is_not_waited_for(self) -> None:
        maze = suspect("home.test/maze/", spent=1000, weight=0.5)
        bench = TrapBench([maze, suspect("home.test/chain/", spent=1000)], per_home=10_000)
        bench.admit(*urls(50, f"{HOME}maze/x/"), via=f"{HOME}maze/")
        bench.admit(f"{HOME}chain/0", via=f"{HOME}chain/")
        assert len(bench.look()) <= 5
        assert bench.look() == [], "the page of the chain is out"
        bench.fetch(f"{HOME}chain/0", via=f"{HOME}chain/")
        assert len(bench.look()) + len(bench.look()) > 20

    def test_further_seeds_make_room_for_what_is_held(self) -> None:
        bench = holding(10, config=TrapsConfig(allowance=1))
        bench.fetch(*bench.look())
        assert bench.look() == []
        assert not bench.traps.is_waiting
        bench.traps.add_seeds([url("http://t.test/")])
        assert bench.traps.is_waiting
        assert len(bench.look()) == 9


class TestTheQueue:
    """A task whose turn has come may belong to a unit that was put on probation meanwhile."""

    def test_what_waits_in_the_queue_of_a_unit_that_is_put_on_probation_is_held(self) -> None:
        bench = TrapBench([suspect(UNIT)])
        assert bench.traps.may_go(link_to(f"{INSIDE}1", INSIDE)) is Hold.ON_PROBATION
        assert bench.held() == {UNIT: [f"{INSIDE}1"]}
        bench.traps.obey(is_open=True, granted=0, now=0.0)
        back = bench.traps.release()
        assert ([task.url.text for task in back.known], back.new) == ([f"{INSIDE}1"], [])

    def test_what_was_listed_outside_goes_all_the_same(self) -> None:
        bench = TrapBench([suspect(UNIT)])
        assert bench.traps.may_go(link_to(f"{INSIDE}1", OUTSIDE)) is None
        assert bench.traps.may_go(Task(url=url(f"{INSIDE}2"))) is None, "a seed"
        assert bench.traps.may_go(link_to("http://u.test/", INSIDE)) is None
        assert bench.traps.held == 0

    def test_a_closed_unit_refuses_and_says_why(self) -> None:
        closed = Unit(name=UNIT, verdict="trap_same", detail="because")
        bench = TrapBench([closed])
        said = bench.traps.may_go(link_to(f"{INSIDE}1", OUTSIDE))
        assert said == Objection(Reject.TRAP_SAME, "because")
        assert bench.admit(f"{INSIDE}2", via=OUTSIDE) == []
        assert bench.traps.release().refused == {"trap_same": 1}
        (note,) = bench.traps.notes()
        assert (note.reason, note.refused, note.held) == ("trap_same", 2, 0)

    def test_what_a_closed_unit_has_refused_is_known_after_a_kill(self) -> None:
        bench = TrapBench([Unit(name=UNIT, verdict="trap_same", detail="because")])
        bench.traps.may_go(link_to(f"{INSIDE}1", OUTSIDE))
        bench.restart()
        link = Link(target=url(f"{INSIDE}2"), kind=LinkKind.ANCHOR)
        objection = Objection(Reject.TRAP_SAME, "because")
        assert bench.traps.object_to(link, 1, OUTSIDE) == objection
        bench.restart()
        bench.admit(f"{INSIDE}3", via=OUTSIDE)
        bench.restart()
        (note,) = bench.traps.notes()
        assert note.refused == 3

    def test_a_held_task_goes_to_the_smaller_unit_that_is_on_probation_by_now(self) -> None:
        bench = TrapBench([suspect("t.test/")])
        bench.admit(f"{INSIDE}1", "http://t.test/b", via="http://t.test/")
        bench.commit()
        bench.rows |= TrapBench([suspect(UNIT)]).rows
        bench.open()
        assert len(bench.look()) >= 1
        assert len(bench.look()) <= 1
        assert bench.traps.held == 0
        assert set(on(bench, UNIT).in_flight) == {url(f"{INSIDE}1").key}

    def test_a_held_task_of_a_unit_that_is_closed_by_now_is_refused(self) -> None:
        bench = TrapBench([suspect("t.test/")])
        bench.admit(f"{INSIDE}1", via="http://t.test/")
        bench.commit()
        bench.rows |= TrapBench([Unit(name=UNIT, verdict="trap_same", detail="so")]).rows
        bench.open()
        bench.traps.obey(is_open=True, granted=0, now=0.0)
        assert bench.traps.release().new == []
        assert bench.traps.release().refused == {"trap_same": 1}
        assert bench.traps.held == 0


class TestTrust:
    """What is trusted goes, and is never held again."""

    def test_a_unit_that_is_trusted_is_released(self) -> None:
        bench = holding(5)
        bench.traps.trust([f"{UNIT}*"])
        assert sorted(bench.released()) == urls(5)
        assert bench.admit(f"{INSIDE}x", via=INSIDE) == [f"{INSIDE}x"]
        assert bench.traps.notes() == ()
        bench.restart()
        assert (bench.traps.held, bench.traps.notes()) == (0, ())

    @pytest.mark.parametrize("pattern", ["t.test", "*.test"])
    def test_a_host_that_is_trusted_releases_its_units(self, pattern: str) -> None:
        bench = holding(5)
        bench.traps.trust([pattern])
        assert len(bench.released()) == 5

    def test_a_part_of_a_unit_that_is_trusted_goes_and_the_rest_stays(self) -> None:
        bench = holding(12)
        bench.traps.trust([f"{UNIT}1*"])
        assert sorted(bench.released()) == [f"{INSIDE}1", f"{INSIDE}10", f"{INSIDE}11"]
        assert bench.traps.held == 9
        assert bench.admit(f"{INSIDE}19", f"{INSIDE}29", via=INSIDE) == [f"{INSIDE}19"]

    def test_what_is_trusted_counts_for_nothing(self) -> None:
        bench = TrapBench(config=TrapsConfig(trust=("t.test",)))
        for number in range(20):
            bench.fetch(f"{INSIDE}{number}", f"{INSIDE}{number}0", f"{INSIDE}{number}1")
        assert bench.admit(f"{INSIDE}x", via=INSIDE) == [f"{INSIDE}x"]
        assert bench.traps.notes() == ()

    def test_a_closed_unit_that_is_trusted_is_open_again(self) -> None:
        bench = TrapBench([Unit(name=UNIT, verdict="trap_same", detail="because")])
        bench.traps.trust([f"{UNIT}*"])
        bench.released()
        assert bench.admit(f"{INSIDE}x", via=INSIDE) == [f"{INSIDE}x"]
        bench.restart()
        assert bench.traps.notes() == ()

    def test_trust_at_a_start_lets_go_what_an_earlier_run_held(self) -> None:
        bench = holding(3)
        bench.commit()
        bench.config = TrapsConfig(trust=(f"{UNIT}2",))
        bench.open()
        assert bench.traps.is_waiting
        assert bench.released() == [f"{INSIDE}2"]
        bench.restart()
        assert bench.traps.held == 2

    def test_what_is_held_in_rows_only_goes_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(held, "IN_MEMORY", 3)
        bench = holding(12)
        bench.traps.trust([f"{UNIT}1*"])
        assert sorted(bench.released()) == [f"{INSIDE}1", f"{INSIDE}10", f"{INSIDE}11"]
        assert bench.traps.held == 9
        bench.restart()
        assert bench.traps.held == 9

    def test_what_is_listed_is_found_also_in_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(held, "IN_MEMORY", 3)
        bench = holding(12)
        bench.restart()
        bench.fetch(OUTSIDE, known=urls(12)[4:9])
        assert sorted(bench.released()) == urls(12)[4:9]
        bench.fetch(OUTSIDE, known=urls(12)[4:9])
        assert bench.released() == []
        assert bench.traps.held == 7


class TestRestart:
    """Only rows are left of a detector that was killed."""

    @pytest.mark.parametrize("verdict", ["trap_endless", "trap_hosts"])
    def test_what_an_earlier_version_closed_though_not_empty_is_on_probation(
        self, verdict: str
    ) -> None:
        name = UNIT if verdict == "trap_endless" else "*.t.test"
        old = Unit(name=name, verdict=verdict, detail="it grows; overrule with trust", pages=40)
        bench = TrapBench([old])
        for _ in range(2):
            assert on(bench, name).is_endless
            assert on(bench, name).suspicion == "it grows"
            assert bench.unit(name).verdict == bench.unit(name).detail == ""
            bench.restart()
        place = f"{INSIDE}1" if name == UNIT else "http://x.t.test/"
        assert (
            bench.admit(place, via="http://t.test/a/" if name == UNIT else "http://y.t.test/") == []
        )
        assert bench.look() == [place]

    @pytest.mark.parametrize("verdict", ["trap_same", "mirror_host"])
    def test_what_is_empty_stays_closed(self, verdict: str) -> None:
        bench = TrapBench([Unit(name=UNIT, verdict=verdict, detail="because")])
        bench.restart()
        assert bench.admit(f"{INSIDE}1", via=INSIDE) == []
        assert [note.reason for note in bench.traps.notes()] == [verdict]

    def test_what_is_out_and_what_was_spent_is_known(self) -> None:
        bench = holding(10, config=TrapsConfig(allowance=6), spent=2)
        out = bench.look()
        assert len(out) == 4
        bench.fetch(out[0], f"{INSIDE}more")
        bench.restart()
        assert [bench.traps.is_out(url(place)) for place in out] == [False, True, True, True]
        assert (bench.traps.out, bench.traps.held, on(bench, UNIT).spent) == (3, 7, 3)
        assert bench.look() == []

    def test_what_is_out_and_neither_queued_nor_under_way_is_lost(self) -> None:
        bench = holding(10, config=TrapsConfig(allowance=6))
        assert len(bench.look()) == 6
        bench.restart()
        bench.traps.wake()
        assert bench.traps.out == 0
        assert len(bench.look()) == 4, "the rest of what is held"

    def test_a_release_that_was_not_finished_goes_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(held, "RELEASED_AT_ONCE", 2)
        bench = holding(5)
        bench.traps.trust([f"{UNIT}*"])
        seen = bench.released()
        for _ in range(4):
            bench.restart()
            seen += bench.released()
        assert sorted(seen) == urls(5)
        bench.commit()
        assert bench.rows == {}


class TestDomains:
    """Made-up hosts are held by the unit of their domain."""

    VIA = "http://h0.t.test/"

    def test_eight_new_hosts_are_let_in_and_the_others_wait(self) -> None:
        bench = TrapBench()
        hosts = [f"http://h{n}.t.test/" for n in range(1, 12)]
        assert bench.admit(*hosts, via=self.VIA) == hosts[:8]
        assert bench.held() == {"*.t.test": sorted(hosts[8:])}

    @pytest.mark.parametrize("via", ["http://other.test/", "http://www.t.test/", "http://t.test/"])
    def test_hosts_that_others_or_the_front_page_list_need_not_wait(self, via: str) -> None:
        bench = TrapBench([suspect("*.t.test")])
        hosts = [f"http://h{n}.t.test/" for n in range(1, 12)]
        assert bench.admit(*hosts, via=via) == hosts

    def test_a_front_page_that_lists_hosts_without_an_end_is_not_believed(self) -> None:
        bench = TrapBench()
        hosts = [f"http://h{n}.t.test/" for n in range(1100)]
        assert len(bench.admit(*hosts, via="http://www.t.test/")) == 1000 + 8
        more = [f"http://g{n}.t.test/" for n in range(9)]
        assert bench.admit(*more, via="http://other.test/") == more

    def test_what_doubtful_pages_list_waits(self) -> None:
        bench = TrapBench([suspect("*.t.test")])
        assert bench.admit("http://h1.t.test/", via="http://u.test/", is_doubtful=True) == []

    def test_the_front_host_itself_is_never_held(self) -> None:
        bench = TrapBench([suspect("*.t.test")])
        places = ["http://www.t.test/", "http://t.test/x"]
        assert bench.admit(*places, via=self.VIA) == places


class TestGrowth:
    """A host that grows as fast as ever is put on probation, whoever lists its URLs."""

    def grow(self, host: str, known: Sequence[int]) -> TrapBench:
        bench = TrapBench()
        name = f"http://{host}/"
        for looks, count in enumerate(known):
            for number in range(GROWTH_PAGES * looks, GROWTH_PAGES * (looks + 1)):
                is_last = number == GROWTH_PAGES * (looks + 1) - 1
                bench.hosts[host] = count if is_last else bench.hosts[host]
                bench.end(page_turn(f"{name}{number}", body=f"Text {number}", via=HOME))
        return bench

    def test_a_host_whose_known_urls_grow_on_is_put_on_probation(self) -> None:
        bench = self.grow("big.test", [2 * GROWTH_PAGES, 4 * GROWTH_PAGES])
        assert bench.admit("http://big.test/x", via="http://big.test/1") == []
        (note,) = bench.traps.notes()
        assert note.unit == "big.test/"
        assert "2.0 new URLs for each page" in note.detail

    def test_a_host_that_slows_down_or_is_home_is_not(self) -> None:
        for host, known in (("big.test", [2, 3]), ("home.test", [2, 4])):
            bench = self.grow(host, [GROWTH_PAGES * count for count in known])
            assert bench.admit(f"http://{host}/x", via=f"http://{host}/1")


@pytest.mark.parametrize(
    ("strikes", "leaves", "is_endless"), [(2, 0, True), (1, 0, False), (2, 1, False)]
)
def test_a_unit_with_three_endless_children_and_no_leaf_goes_behind_others(
    strikes: int,
    leaves: int,
    is_endless: bool,  # noqa: FBT001 -- a case
) -> None:
    counts = {"pages": 15, "productive": 15, "depth": 10, "new_urls": 40, "expected": 9.0}
    around = suspect("t.test/", strikes=strikes, leaves=leaves)
    bench = holding(1, around, **counts)
    bench.look()
    bench.fetch(f"{INSIDE}0", f"{INSIDE}1", f"{INSIDE}2")
    assert on(bench, UNIT).is_endless
    bench.traps.wake()
    assert on(bench, "t.test/").is_endless is is_endless
    assert on(bench, "t.test/").strikes == strikes + 1


def sitemap_turn(place: str, *names: str, nesting: int, is_index: bool) -> Turn:
    """Return the turn of a sitemap, or of an index of sitemaps."""
    task = Task(url=url(place), kind=LinkKind.SITEMAP, nesting=nesting)
    rel = "sitemap" if is_index else ""
    links = [Link(target=url(name), kind=LinkKind.SITEMAP, rel=rel) for name in names]
    found = Extraction(links=links, media_type=min(SITEMAP_TYPES))
    return Turn(task=task, outcome=Fetched(document=document(task.url)), at=0.0, found=found)


@pytest.mark.parametrize(
    ("host", "nesting", "is_index", "is_held"),
    [
        ("t.test", MAX_NESTING, True, True),
        ("t.test", MAX_NESTING - 1, True, False),
        ("t.test", MAX_NESTING, False, False),
        ("home.test", MAX_NESTING, True, False),
    ],
)
def test_what_sitemaps_list_is_held_if_their_indexes_do_not_end(
    host: str, nesting: int, *, is_index: bool, is_held: bool
) -> None:
    bench, index = TrapBench(), f"http://{host}/index-3.xml"
    more = f"http://{host}/index-4.xml"
    bench.traps.observe(sitemap_turn(index, more, nesting=nesting, is_index=is_index))
    places = urls(3, f"http://{host}/photo/")
    listed = bench.admit(*places, via=index, kind=LinkKind.SITEMAP)
    assert listed == ([] if is_held else places)
    assert bench.traps.held == (3 if is_held else 0)


def test_a_host_with_endless_sitemaps_is_named_though_it_holds_nothing_any_more() -> None:
    bench, index = TrapBench(), "http://t.test/index-3.xml"
    turn = sitemap_turn(index, "http://t.test/index-4.xml", nesting=MAX_NESTING, is_index=True)
    bench.traps.observe(turn)
    bench.restart()
    (note,) = bench.traps.notes()
    assert (note.unit, note.held, note.reason) == ("t.test/", 0, "")
    assert note.suspicion.startswith("indexes of sitemaps name further ones more than 2 deep")
    for number in range(40):
        bench.fetch(f"http://t.test/photo/{number}")
    assert bench.traps.notes(), "that its pages end does not release it"


@pytest.mark.parametrize(("is_steady", "turns"), [(True, 1), (False, 17)])
def test_what_an_endless_list_names_has_no_more_turns_than_the_list(
    is_steady: bool,  # noqa: FBT001 -- cases
    turns: int,
) -> None:
    bench = TrapBench(
        [
            suspect("list.test/page/", weight=0.1, is_steady=is_steady, spent=24),
            suspect("list.test/ad/", weight=4.0, spent=24),
            suspect("other.test/", weight=1.0, spent=24),
        ]
    )
    ads = [f"http://list.test/ad/{n}" for n in range(30)]
    bench.admit(*ads, via="http://list.test/ad/x")
    bench.admit("http://list.test/page/9", via="http://list.test/page/8")
    bench.admit("http://other.test/a", via="http://other.test/b")
    went = [place for place in bench.look() if "list.test" in place]
    assert len(went) == turns


def test_domains_that_are_suspected_with_their_address_have_few_turns_together() -> None:
    at = {"shared": "127.0.0.9", "spent_at": {"127.0.0.9": 30}, "spent": 3}
    farm = [suspect(f"farm{n}.test/", **at) for n in range(8)]
    bench = TrapBench([*farm, suspect("other.test/", weight=1.0, spent=24)])
    for n in range(8):
        bench.admit(*urls(9, f"http://farm{n}.test/a/"), via=f"http://farm{n}.test/")
    bench.admit(*urls(9, "http://other.test/"), via="http://other.test/")
    went = bench.look()
    assert sum("other.test" in place for place in went) >= 4
    assert sum("farm" in place for place in went) == 1
