"""How many requests may be made on probation: per domain, per address, and on a seed's host."""

from collections import Counter

import pytest

from gossamer.config import TrapsConfig
from gossamer.traps.allowance import ADDRESSES_KEPT, Allowance
from gossamer.traps.unit import Probation, Unit
from tests.unit.traps.pages import url

CONFIG = TrapsConfig(allowance=10)
SEED = url("http://www.home.test/")


class Web:
    """An allowance, and what its hosts have counted."""

    def __init__(self, *, per_home: int = 50, shards: int = 1) -> None:
        self.hosts: Counter[str] = Counter()
        self.allowance = Allowance(
            CONFIG, [SEED], self.hosts.__getitem__, per_home=per_home, shards=shards
        )

    def spend(self, unit: Unit, count: int, address: str = "") -> None:
        for _ in range(count):
            self.allowance.spend(unit, on(unit), address, 1)

    def has_room(self, unit: Unit) -> bool:
        return self.allowance.has_room(unit, on(unit))


def on(unit: Unit) -> Probation:
    assert unit.probation is not None
    return unit.probation


def suspect(name: str, **counts: object) -> Unit:
    probation = Probation(suspicion="", **counts)  # type: ignore[arg-type] -- counts
    return Unit(name=name, probation=probation)


def test_all_hosts_and_folders_of_a_domain_have_one_allowance() -> None:
    web = Web()
    folder, host, domain = suspect("a.t.test/x/"), suspect("b.t.test/"), suspect("*.t.test")
    other = suspect("u.test/")
    web.spend(folder, 4)
    web.spend(host, 5)
    assert web.has_room(domain)
    web.spend(domain, 1)
    assert {web.has_room(unit) for unit in (folder, host, domain)} == {False}
    assert web.has_room(other)
    assert (on(folder).spent, on(host).spent, on(domain).spent) == (4, 5, 1)
    assert [web.allowance.spent_by(unit) for unit in (folder, other)] == [10, 0]


def test_something_is_left_everywhere_until_a_domain_an_address_or_a_seeds_host_has_spent_all() -> (
    None
):
    web, unit = Web(), suspect("t.test/")
    assert web.allowance.is_left_everywhere
    web.spend(unit, 8)
    web.allowance.send(unit)
    assert web.allowance.is_left_everywhere
    web.allowance.send(unit)
    assert (web.allowance.is_left_everywhere, web.has_room(unit)) == (False, False)
    web.allowance.take_back(unit, 2)
    assert web.allowance.is_left_everywhere
    web.spend(unit, 2)
    assert not web.allowance.is_left_everywhere

    other = suspect("u.test/")
    web = Web()
    web.allowance.send(other, 10)
    assert not web.allowance.is_left_everywhere, "all that it may have is out"

    web = Web()
    for number in range(12):
        web.spend(suspect(f"t{number}.test/"), 9, "1.2.3.4")
    assert not web.allowance.is_left_everywhere, (
        "an address has ten times the allowance of a domain"
    )


@pytest.mark.parametrize("host", ["home.test", "www.home.test"])
def test_a_seeds_host_has_nothing_left_once_it_has_as_many_urls_as_it_may_have(host: str) -> None:
    web, unit = Web(), suspect(f"{host}/x/")
    web.spend(unit, 49)
    web.hosts[host] = 49
    assert web.allowance.is_left_everywhere, "more than the allowance of any other domain"
    web.hosts[host] = 50
    assert (web.allowance.is_left_everywhere, web.has_room(unit)) == (False, False)
    web.hosts[host] = 49
    web.spend(unit, 1)
    assert (web.allowance.is_left_everywhere, web.has_room(unit)) == (False, False)


def test_where_nothing_may_be_had_or_of_many_seeds_units_are_asked_one_by_one() -> None:
    assert not Web(per_home=0).allowance.is_left_everywhere
    web = Web()
    web.allowance.add_homes(url(f"http://s{number}.test/") for number in range(63))
    assert web.allowance.is_left_everywhere
    web.allowance.add_homes([url("http://one-more.test/")])
    assert not web.allowance.is_left_everywhere


def test_what_is_out_counts_until_it_has_ended() -> None:
    web, unit = Web(), suspect("t.test/")
    web.spend(unit, 8)
    assert not web.allowance.has_out(unit)
    web.allowance.send(unit)
    assert web.has_room(unit)
    web.allowance.send(unit)
    assert not web.has_room(unit)
    assert web.allowance.has_out(suspect("t.test/other/"))
    web.allowance.take_back(unit)
    assert web.has_room(unit)
    assert web.allowance.has_out(unit)
    web.allowance.take_back(unit, 1)
    assert not web.allowance.has_out(unit)


def test_what_is_out_of_domains_that_are_suspected_together_counts_for_their_address() -> None:
    web, address = Web(), "1.2.3.4"
    one, other = (
        suspect(name, shared=address, spent_at={address: 0}) for name in ("a.test/", "b.test/")
    )
    web.spend(one, 9, address)
    on(other).in_flight.update(dict.fromkeys(range(9), (0, 0)))
    web.allowance.load(other)
    assert web.allowance.out_at(address) == 9
    for number in range(82):
        assert web.has_room(one), number
        web.allowance.send(suspect(f"c{number}.test/", shared=address))
    assert web.allowance.out_at(address) == 91
    assert not web.has_room(one)
    web.allowance.load(other, -1)
    assert web.allowance.out_at(address) == 82
    assert web.has_room(one)
    web.allowance.take_back(suspect("c0.test/", shared=address), 2)
    assert web.allowance.out_at(address) == 80


def test_a_request_may_cost_more_than_one() -> None:
    web, unit = Web(), suspect("*.t.test")
    web.allowance.spend(unit, on(unit), "1.2.3.4", 2)
    assert (on(unit).spent, on(unit).spent_at) == (2, {"1.2.3.4": 2})
    assert web.allowance.spent_by(unit) == 2


@pytest.mark.parametrize(("shards", "most"), [(1, 100), (3, 33), (1000, 1)])
def test_an_address_has_ten_times_the_allowance_of_a_domain_each_shard_its_part(
    shards: int, most: int
) -> None:
    web = Web(shards=shards)
    fresh = suspect("fresh.test/", spent_at={"1.2.3.4": 0})
    for number in range(most):
        assert web.has_room(fresh)
        web.spend(suspect(f"t{number}.test/"), 1, "1.2.3.4")
    assert not web.has_room(fresh)
    assert web.has_room(suspect("fresh.test/", spent_at={"1.2.3.5": 0}))
    assert web.has_room(suspect("fresh.test/")), "its address is not known yet"


def test_one_address_of_several_without_room_is_enough() -> None:
    web = Web()
    for number in range(100):
        web.spend(suspect(f"t{number}.test/"), 1, "1.2.3.4")
    assert not web.has_room(suspect("t.test/", spent_at={"1.2.3.5": 0, "1.2.3.4": 0}))


def test_of_a_unit_with_many_addresses_some_are_kept() -> None:
    web, unit = Web(), suspect("t.test/")
    for number in range(ADDRESSES_KEPT):
        web.spend(unit, 1, f"1.2.3.{number}")
    web.spend(unit, 1, "1.2.3.99")
    web.spend(unit, 1, "1.2.3.0")
    assert len(on(unit).spent_at) == ADDRESSES_KEPT == 8
    assert on(unit).spent_at["1.2.3.0"] == 2
    assert on(unit).spent == 10


def test_who_did_not_answer_has_no_address() -> None:
    web, unit = Web(), suspect("t.test/")
    web.spend(unit, 3)
    assert (on(unit).spent, on(unit).spent_at) == (3, {})


@pytest.mark.parametrize("name", ["www.home.test/", "home.test/x/", "www.home.test:8080/x/y?"])
def test_a_seeds_host_is_at_home_with_and_without_www_and_in_all_of_its_paths(name: str) -> None:
    assert Web().allowance.is_home(suspect(name))


@pytest.mark.parametrize("name", ["*.home.test", "other.home.test/", "home.test.evil.test/"])
def test_other_hosts_of_a_seeds_domain_are_not_at_home(name: str) -> None:
    assert not Web().allowance.is_home(suspect(name))


def test_at_home_the_host_may_have_as_many_urls_as_any_host_on_probation_or_not() -> None:
    web, unit = Web(), suspect("www.home.test/x/")
    web.spend(unit, 20, "1.2.3.4")
    assert web.has_room(unit), "neither the allowance of a domain nor of an address counts"
    web.hosts["www.home.test"] = 49
    assert web.has_room(unit)
    web.hosts["www.home.test"] = 50
    assert not web.has_room(unit)
    web.hosts["www.home.test"] = 0
    web.spend(unit, 29)
    assert web.has_room(unit)
    web.allowance.send(unit)
    assert not web.has_room(unit)


def test_what_is_spent_at_home_is_not_taken_from_the_domain() -> None:
    web, stranger = Web(), suspect("other.home.test/")
    web.spend(suspect("www.home.test/"), 40)
    assert web.has_room(stranger)
    assert web.allowance.spent_by(stranger) == 0
    assert web.allowance.account_of(stranger) == "home.test"
    assert web.allowance.account_of(suspect("www.home.test/x/")) == "home www.home.test"
    assert web.allowance.account_of(suspect("*.t.test")) == "t.test"


def test_further_seeds_make_their_hosts_home() -> None:
    web, unit = Web(), suspect("t.test/")
    web.spend(unit, 10)
    assert not web.has_room(unit)
    web.allowance.add_homes([url("http://t.test/start")])
    assert web.allowance.is_home(unit)
    assert web.has_room(unit)
    assert web.allowance.is_home(suspect("www.home.test/")), "the first seeds stay"


def test_what_was_spent_and_is_out_is_counted_after_a_restart_and_given_back_at_a_release() -> None:
    web = Web()
    unit = suspect("t.test/", spent=7, in_flight={1: (0, 0), 2: (0, 0)}, spent_at={"1.2.3.4": 99})
    other = suspect("t.test/other/", spent_at={"1.2.3.4": 0})
    web.allowance.load(unit)
    assert (web.allowance.spent_by(other), web.allowance.has_out(other)) == (7, True)
    assert web.has_room(other)
    web.spend(other, 1, "1.2.3.4")
    stranger = suspect("u.test/", spent_at={"1.2.3.4": 0})
    assert not web.has_room(other)
    assert not web.has_room(stranger), "its address has spent all, too"
    web.allowance.load(unit, -1)
    assert web.has_room(stranger)
    assert (web.allowance.spent_by(other), web.allowance.has_out(other)) == (1, False)
    assert web.has_room(other)
    web.spend(other, 8, "1.2.3.4")
    assert web.has_room(other), "what the address had spent was given back, too"


def test_a_unit_that_is_not_on_probation_has_spent_nothing() -> None:
    web = Web()
    web.allowance.load(Unit(name="t.test/"))
    assert web.allowance.spent_by(suspect("t.test/")) == 0


def test_what_is_spent_is_said_in_words() -> None:
    web, unit = Web(per_home=2000), suspect("x.t.test/")
    assert web.allowance.why_spent(unit, on(unit)) == ""
    web.spend(unit, 9)
    web.allowance.send(unit)
    said = web.allowance.why_spent(unit, on(unit))
    assert said == "the allowance of t.test (10 pages on probation, traps.allowance) is spent"
    home = suspect("www.home.test/x/")
    web.hosts["www.home.test"] = 2000
    said = web.allowance.why_spent(home, on(home))
    limit = "2,000 URLs, filter.max_urls_per_host"
    assert said == f"what the host of a seed may have ({limit}) is spent"
    for number in range(100):
        web.spend(suspect(f"t{number}.test/"), 1, "1.2.3.4")
    other = suspect("u.test/", spent_at={"1.2.3.4": 0})
    said = web.allowance.why_spent(other, on(other))
    assert said == "the allowance of its IP address (10 times traps.allowance) is spent"


def test_a_part_of_a_seeds_host_has_used_up_most_of_its_urls_if_it_named_half_of_them() -> None:
    web = Web(per_home=50)
    folder = Unit(name="www.home.test/rooms/", new_urls=13)
    web.hosts["www.home.test"] = 24
    assert web.allowance.used_by(folder) == "", "more than half is left"
    web.hosts["www.home.test"] = 25
    assert web.allowance.used_by(folder) == "its pages named 13 of the 25 known URLs of its host"
    folder.new_urls = 12
    assert web.allowance.used_by(folder) == "", "others named most"
