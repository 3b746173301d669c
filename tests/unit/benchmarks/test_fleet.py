"""The model of a crawl by many machines: placement, a year of failures, and what is kept."""

from random import Random

import pytest
from fleets import page
from fleets.calibration import calibrated
from fleets.costs import Assumptions, Costs, read_costs
from fleets.demand import demand, nodes_for, storage, uses
from fleets.placement import largest_share, moved, place
from fleets.runs import Run
from fleets.simulation import simulate
from summary import kept_results


@pytest.fixture(scope="module")
def costs() -> Costs:
    return read_costs()[0]


def test_no_machine_has_more_shards_than_its_share() -> None:
    for shards, nodes in ((16, 3), (150, 7), (100, 100)):
        loads = [0] * nodes
        for node in place(shards, range(nodes), {}).values():
            loads[node] += 1
        assert sum(loads) == shards
        assert max(loads) <= -(-shards // nodes)


def test_a_machine_less_moves_its_own_shards_and_no_others() -> None:
    before = place(150, range(10), {})
    after = place(150, [node for node in range(10) if node != 4], before)
    orphans = {shard for shard, node in before.items() if node == 4}
    assert set(moved(before, after)) == orphans


def test_the_largest_domain_makes_one_shard_larger_and_the_more_so_the_more_shards() -> None:
    few = largest_share(16, 10_000_000, 0.8, Random(1))
    many = largest_share(1000, 10_000_000, 0.8, Random(1))
    assert 1.0 < few < many


def made_run(pages: int, seconds: float, ship_s: float) -> Run:
    """Return a crawl by one machine with six shards whose costs are known."""
    shards, checkpoints = 6, 6 * seconds / ship_s
    return Run(
        machines=1,
        shards=shards,
        pages=pages,
        ship_s=ship_s,
        starts=shards,
        seconds=seconds,
        up_cpu_s=0.2,
        cpu_s=0.2 + 1.5 * shards + 0.002 * pages,
        requests={
            name: round(2 * shards + 0.5 * shards * seconds + 3 * checkpoints)
            for name in ("PUT", "GET", "HEAD", "LIST")
        },
        objects={
            "manifest": round(3 * shards + checkpoints),
            "files": round(checkpoints),
            "archive": round(3 * checkpoints),
        },
        bytes={
            "manifest": 0,
            "files": round(100_000 * checkpoints + 2_000 * pages),
            "archive": 30_000 * pages,
        },
        first_part_s=6.0,
        shards_of_machines=[shards],
    )


def test_what_a_start_a_second_a_checkpoint_and_a_page_cost_is_told_from_three_crawls() -> None:
    found = calibrated(
        made_run(2_000, 40, 5.0), made_run(6_000, 120, 5.0), made_run(6_000, 120, 20.0)
    )
    assert found.interval_s == pytest.approx(5.0, rel=0.02)
    assert found.start_cpu_s == pytest.approx(1.5, rel=0.01)
    assert found.page_cpu_s == pytest.approx(0.002, rel=0.01)
    assert found.manifests_of_a_start == pytest.approx(3.0, abs=0.1)
    asked = found.requests["GET"]
    assert asked.of_a_start == pytest.approx(2.0, abs=0.2)
    assert asked.of_a_second == pytest.approx(0.5, rel=0.05)
    assert asked.of_a_checkpoint == pytest.approx(3.0, rel=0.05)
    assert found.objects["archive"].of_a_second == pytest.approx(0.0, abs=0.01)
    assert found.state.of_a_checkpoint == pytest.approx(100_000, rel=0.02)
    assert found.state.of_a_page == pytest.approx(2_000, rel=0.02)
    assert found.archive.of_a_page == pytest.approx(30_000, rel=0.02)


def test_a_year_without_failures_loses_nothing(costs: Costs) -> None:
    quiet = Assumptions(deaths_a_year=0.0, rack_losses_a_year=0.0, restarts_a_year=0.0)
    year = simulate(10, 150, 1e12, costs, quiet, Random(1))
    assert (year.deaths, year.moves, year.lost_share, year.again_a_month) == (0, 0, 0.0, 0.0)


def test_the_same_seed_gives_the_same_year_and_deaths_come_at_their_rate(costs: Costs) -> None:
    said = Assumptions(deaths_a_year=6.0)
    year = simulate(20, 60, 1e12, costs, said, Random(1))
    assert year == simulate(20, 60, 1e12, costs, said, Random(1))
    assert 80 <= year.deaths <= 160
    assert year.recovery_s > said.detect_s + said.lease_s


def test_more_known_urls_need_more_machines_and_more_pages_more_storage(costs: Costs) -> None:
    said = Assumptions()
    larger = said._replace(known_urls=4 * said.known_urls)
    assert nodes_for(demand(costs, said), 2.0, said) < nodes_for(demand(costs, larger), 2.0, larger)
    one, ten = storage(5, said), storage(5, said._replace(pages_a_month=10 * said.pages_a_month))
    for kept, more in zip(one, ten, strict=True):
        assert more.all_tb == pytest.approx(10 * kept.all_tb)
        assert kept.hot_tb + kept.cold_tb < kept.all_tb
    scarcest = uses(7, demand(costs, said), 2.0, said)
    assert [use.share for use in scarcest] == sorted((use.share for use in scarcest), reverse=True)


def test_the_page_has_the_tables_of_the_kept_result() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    results = kept_results()
    assert page.current(results["fleet"], results["fleet-run"]) == text, "run `make plots`"
