import asyncio
import urllib.request
from pathlib import Path

import pytest
from laboratory.crowd import Crowd, NameServer, serve_crowd

from gossamer.clock import SystemClock
from gossamer.config import FetchConfig
from gossamer.fetch import Resolver
from gossamer.model import Failed
from gossamer.testing import LoggedRequest, Request, read_log, short_gaps

CROWD = Crowd(seed=3, hosts=300, pages_per_host=3, fan=20, slow_every=0)


def ask(crowd: Crowd, url: str) -> str:
    host, _, target = url.partition("://")[2].partition("/")
    answer = crowd.respond(Request("GET", f"/{target}", host.partition(":")[0], b""))
    return answer.body.decode() if answer.status == 200 else ""


def test_every_page_of_the_crowd_can_be_reached_from_the_seed() -> None:
    found, queue = set(CROWD.seeds), list(CROWD.seeds)
    while queue:
        url = queue.pop()
        home = url[: url.index("/", 8)]
        links = [part.partition('"')[0] for part in ask(CROWD, url).split('href="')[1:]]
        new = {home + link if link.startswith("/") else link for link in links} - found
        found |= new
        queue.extend(new)
    assert found == set(CROWD.pages())


def test_no_two_hosts_share_an_address_and_no_two_pages_a_body() -> None:
    assert len(set(CROWD.addresses.values())) == CROWD.hosts
    bodies = [ask(CROWD, url) for url in CROWD.pages()]
    assert len(set(bodies)) == len(bodies)
    assert all(bodies)


def test_what_is_not_of_the_crowd_has_no_answer() -> None:
    for name, target in (("c300.test", "/"), ("other.test", "/"), ("c1.test", "/3")):
        assert CROWD.respond(Request("GET", target, name, b"")).status == 404
    assert CROWD.address_of("c300.test") is None
    with pytest.raises(ValueError, match="no address"):
        Crowd(seed=1, hosts=1 << 24).address((1 << 24) - 1)


def test_a_resolver_learns_the_addresses_from_the_name_server() -> None:
    async def look_up() -> list[object]:
        names = NameServer(CROWD.address_of)
        config = FetchConfig(nameservers=(await names.open(),))
        resolver = Resolver(config, SystemClock())
        found = [await resolver.resolve(name) for name in ("c7.test", "c7.test", "c999.test")]
        await resolver.close()
        names.close()
        return [*found, names.asked]

    first, second, missing, asked = asyncio.run(look_up())
    assert first == second == (CROWD.address(7),)
    assert isinstance(missing, Failed)
    assert asked == 2


def test_a_crowd_in_a_process_answers_on_every_address_and_logs_it(tmp_path: Path) -> None:
    with serve_crowd(CROWD, tmp_path / "log.tsv") as served:
        for index in (0, 5, 299):
            asked = urllib.request.Request(
                f"http://{CROWD.address(index)}:{served.crowd.port}/",
                headers={"Host": f"{CROWD.name(index)}:{served.crowd.port}"},
            )
            with urllib.request.urlopen(asked, timeout=10) as answer:
                assert f"Page 0 of site {index}" in answer.read().decode()
        visits = read_log(served.log)
    assert [visit.host for visit in visits] == ["c0.test", "c5.test", "c299.test"]
    assert {visit.status for visit in visits} == {200}


def test_gaps_that_are_shorter_than_promised_are_counted_by_host() -> None:
    def visit(at: float, host: str) -> LoggedRequest:
        return LoggedRequest(
            at=at,
            host=host,
            method="GET",
            target="/",
            status=200,
            user_agent="",
            connection_id=1,
            open_connections_of_host=1,
        )

    visits = [visit(0.0, "a"), visit(0.5, "b"), visit(1.0, "a"), visit(1.2, "b"), visit(1.9, "a")]
    assert short_gaps(visits, 1.0) == 2
    assert short_gaps(visits, 0.7) == 0
