"""A crawl by 10 to 1,000 machines, simulated: `make bench-fleet`.

What a page, a letter and a checkpoint cost is read from the kept results, with their dates
(`fleets/costs.py`); what was never measured is an assumption with a name there, each a variable of
the environment (`PAGES_A_MONTH=1e10 make bench-fleet` prints that fleet and keeps nothing). Shards
are placed by rendezvous hashing with bounded load; machines and racks fail for a year at published
rates; the rest is arithmetic.
"""

import json
import os
from random import Random

from fleets.costs import Assumptions, Costs, Measured, read_costs
from fleets.demand import KEPT_RULE, demand, nodes_for, storage, uses
from fleets.placement import largest_share
from fleets.simulation import simulate
from realweb import save

FLEETS = (10, 30, 100, 300, 1000)
TEN_TIMES = {"pages_a_month": 1e10, "known_urls": 60e9}
"""Known URLs grow slower than pages: an assumption."""
YEARS = 5


def given() -> Assumptions:
    """Return the assumptions, those of the environment instead of ours."""
    said = Assumptions()
    named = {name: os.environ[name.upper()] for name in said._fields if name.upper() in os.environ}
    return said._replace(
        **{name: type(getattr(said, name))(float(one)) for name, one in named.items()}
    )


def scenario(costs: Costs, said: Assumptions) -> dict[str, object]:
    """Return what a crawl needs: machines, and a year of them."""
    whole = demand(costs, said)
    skew = largest_share(whole.shards, said.domains, said.domain_skew, Random(1))
    nodes = nodes_for(whole, skew, said)
    year = simulate(nodes, whole.shards, whole.state_tb * 1e12, costs, said, Random(2))
    price = {
        "machines": nodes * said.machine_price,
        "requests": whole.puts_a_month * said.put_price + whole.heads_a_month * said.get_price,
        "state and its history": (whole.state_tb + whole.history_tb) * 1000 * said.gb_month_price,
        "index": whole.index_tb * 1000 * said.gb_month_price,
    }
    return {
        "pages_a_month": said.pages_a_month,
        "known_urls": said.known_urls,
        "nodes": nodes,
        "largest_shard": round(skew, 2),
        "urls_per_shard": round(said.known_urls / whole.shards),
        "demand": {name: round(one, 3) for name, one in whole._asdict().items()},
        "uses": [
            [*use[:3], use.unit, round(use.share, 3)] for use in uses(nodes, whole, skew, said)
        ],
        "year": {name: round(one, 6) for name, one in year._asdict().items()},
        "price_a_month": {name: round(one) for name, one in price.items()},
        "storage": [kept._asdict() for kept in storage(YEARS, said)],
        "kept": KEPT_RULE,
        "largest_domain_share": round(1 / sum_of_domains(said), 5),
    }


def sum_of_domains(said: Assumptions) -> float:
    """Return the pages of all domains beside those of the largest."""
    return (said.domains ** (1 - said.domain_skew) - 1) / (1 - said.domain_skew) + 1


def by_size(costs: Costs, said: Assumptions, nodes_of_one: int) -> list[dict[str, object]]:
    """Return a year of fleets that each hold as much for a machine as the first scenario."""
    rows: list[dict[str, object]] = []
    for nodes in FLEETS:
        scale = nodes / nodes_of_one
        larger = said._replace(
            pages_a_month=said.pages_a_month * scale, known_urls=said.known_urls * scale
        )
        whole = demand(costs, larger)
        shards = min(whole.shards, max(said.most_shards, nodes))
        year = simulate(nodes, shards, whole.state_tb * 1e12, costs, larger, Random(3))
        rows.append(
            {
                "nodes": nodes,
                "pages_a_month": round(larger.pages_a_month),
                "known_urls": round(larger.known_urls),
                "shards": shards,
                "urls_per_shard": round(larger.known_urls / shards),
                "largest_shard": round(
                    largest_share(shards, said.domains, said.domain_skew, Random(1)), 2
                ),
                "mailed_per_page": round(costs.mailed_of(shards), 2),
                "store_requests_per_s": round(
                    (whole.puts_a_month + whole.heads_a_month)
                    / (365 * 86_400 / 12)
                    * shards
                    / whole.shards
                ),
                **{name: round(one, 6) for name, one in year._asdict().items()},
            }
        )
    return rows


def sources(used: list[Measured]) -> list[list[object]]:
    """Return the figures that were read, each once."""
    return [list(one) for one in dict.fromkeys(used)]


def main() -> None:
    """Simulate, and keep the result."""
    costs, used = read_costs()
    said = given()
    one = scenario(costs, said)
    if said != Assumptions():
        print(json.dumps(one, indent=2))
        return
    nodes = one["nodes"]
    assert isinstance(nodes, int)
    save(
        "fleet",
        {
            "one": one,
            "ten": scenario(costs, said._replace(**TEN_TIMES)),
            "fleets": by_size(costs, said, nodes),
            "measured": sources(used),
            "assumed": said._asdict(),
        },
    )


if __name__ == "__main__":
    main()
