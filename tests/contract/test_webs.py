"""What every made-up `Web` does for the server that serves it."""

from dataclasses import dataclass, field
from urllib.parse import urlsplit

import pytest

from gossamer.testing import CannedResponse, FakeWeb, Request, ScriptedWeb, Web


def scripted() -> ScriptedWeb:
    web = ScriptedWeb()
    web.host("a.test").page("/", links=["/b"]).page("/b")
    return web


@dataclass
class Case:
    web: Web
    home: tuple[str, str] = field(default=("h00.fake0.test", "/"))


@pytest.fixture(params=["made from a seed", "written line by line", "one upon the other"])
def case(request: pytest.FixtureRequest) -> Case:
    fake = FakeWeb(seed=3, hosts=3, pages_per_host=3)
    match request.param:
        case "made from a seed":
            return Case(fake)
        case "written line by line":
            return Case(scripted(), ("a.test", "/"))
        case _:
            return Case(ScriptedWeb(fake))


def asked(web: Web, host: str, target: str) -> CannedResponse:
    head = f"GET {target} HTTP/1.1\r\nHost: {host}\r\n"
    return web.respond(Request("GET", target, host, head.encode()))


def test_every_host_has_a_loopback_address_that_is_listened_on(case: Case) -> None:
    assert case.web.addresses
    assert set(case.web.addresses.values()) <= case.web.listen_on
    assert all(address.startswith("127.") for address in case.web.listen_on)
    assert case.home[0] in case.web.addresses


def test_a_page_is_answered_and_equal_requests_alike(case: Case) -> None:
    web = case.web.served_at("http", 8080)
    first = asked(web, *case.home)
    assert (first.status, first.header("content-type")) == (200, "text/html; charset=utf-8")
    assert asked(web, *case.home).body == first.body


def test_what_is_not_there_is_a_404(case: Case) -> None:
    web = case.web.served_at("http", 8080)
    assert asked(web, case.home[0], "/nowhere/at/all").status == 404
    assert asked(web, "unknown.test", "/").status == 404


def test_once_it_is_placed_its_links_name_the_port(case: Case) -> None:
    web = case.web.served_at("http", 8123)
    assert all(urlsplit(url).port == 8123 for url in web.pages())
    assert b"$PORT" not in asked(web, *case.home).body


def test_pages_worth_having_ready_are_those_of_its_hosts(case: Case) -> None:
    web = case.web.served_at("http", 8123)
    for url in web.pages():
        parts = urlsplit(url)
        assert parts.hostname in web.addresses
