"""A request does not go out when somebody else may be asking: not even at the last moment."""

from typing import Any

from tests.unit.crawl.harness import Addresses, Names, url

from gossamer.clock import CrawlTime
from gossamer.config import PolitenessConfig
from gossamer.crawl.ledger import RequestLog
from gossamer.crawl.requester import NotDue, Requester
from gossamer.frontier import AddressGaps, HostDelays
from gossamer.model import Counters, Failed, FailureKind, FetchOutcome, Url
from gossamer.testing import ManualClock


class Web:
    """A server whose connections take a while; meanwhile the lease may end."""

    def __init__(self) -> None:
        self.may_ask = True
        self.ends_lease = False
        self.sent = 0

    def is_networked(self, _scheme: str) -> bool:
        return True

    def contacted(self, addresses: tuple[str, ...]) -> str:
        return addresses[0]

    async def fetch(self, _url: Url, _addresses: tuple[str, ...], **how: Any) -> FetchOutcome:
        self.may_ask = self.may_ask and not self.ends_lease
        self.sent += how["on_sending"]()
        return Failed(kind=FailureKind.DISCONNECTED)


def requester_of(web: Web, counters: Counters) -> Requester:
    return Requester(
        log=RequestLog(),
        time=CrawlTime.anchored(ManualClock()),
        gaps=AddressGaps(HostDelays(PolitenessConfig())),
        clocks=Addresses(),
        resolver=Names(),  # type: ignore[arg-type]
        fetcher=web,  # type: ignore[arg-type]
        counters=counters,
        may_ask=lambda: web.may_ask,
    )


async def test_a_request_whose_lease_ends_while_it_is_connected_is_put_off_and_not_a_failure() -> (
    None
):
    web, counters = Web(), Counters()
    web.ends_lease = True
    answer = await requester_of(web, counters).request(url("http://one.test/"))
    assert isinstance(answer, NotDue)
    assert (web.sent, counters.requests) == (0, 0)


async def test_a_request_under_a_lease_goes_out_and_its_failure_is_one() -> None:
    web, counters = Web(), Counters()
    answer = await requester_of(web, counters).request(url("http://one.test/"))
    assert not isinstance(answer, NotDue)
    assert (web.sent, counters.requests) == (1, 1)
