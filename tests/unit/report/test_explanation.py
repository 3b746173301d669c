"""Sentences about a URL: they say what is true of it, as far as it is recorded."""

from gossamer.frontier import AddressWait, HostOutage
from gossamer.report import FilterVerdict, Why
from gossamer.report.explanation import address_sentence, outage_sentence, sentence


def refused(kind: str) -> Why:
    """Return what is known of a URL that a filter refused."""
    verdict = FilterVerdict(reason="blocked", detail="*.test")
    return Why(state="refused", reason="blocked", detail="*.test", kind=kind, filter=verdict)


def test_a_refused_link_was_linked_and_a_refused_seed_is_a_seed() -> None:
    assert sentence(refused("a")) == "Linked, but a filter refused it: blocked: *.test."
    assert sentence(refused("seed")) == "A seed, but a filter refused it: blocked: *.test."


def test_a_seed_that_was_never_queued_is_not_called_a_url_that_was_never_met() -> None:
    assert sentence(Why(state="unknown")).startswith("Never met in this crawl")
    assert sentence(Why(state="unknown", kind="seed")).startswith("A seed, but it was never queued")


def test_a_url_of_a_host_that_is_down_has_a_sentence_of_the_outage() -> None:
    down = HostOutage(reason="connect_failed", parked_at=1000.0, probes=1, probe_at=1040.0)
    told = sentence(Why(state="queued", next_reason="parked"), outage_sentence(down))
    assert told == (
        "Known and queued, not fetched yet. Its host has been down since 1970-01-01 00:16:40 UTC "
        "(connect_failed), 1 probe without an answer; next probe at 1970-01-01 00:17:20 UTC."
    )
    failed = Why(state="waiting", reason="connect_failed", next_reason="parked")
    assert "will be tried again. Its host has been down" in sentence(failed, outage_sentence(down))


def test_a_host_that_failed_once_or_asks_for_time_is_not_called_down() -> None:
    assert outage_sentence(None) == ""
    assert outage_sentence(HostOutage(reason="connect_failed", failures=1)) == ""
    assert outage_sentence(HostOutage(reason="throttled", parked_at=1000.0)) == ""


def test_a_host_that_waits_for_an_address_is_said_to_share_it() -> None:
    queued = Why(state="queued", next_reason="address_delay")
    assert sentence(queued, address_sentence(AddressWait("127.0.0.9", 19))) == (
        "Known and queued, not fetched yet. Its host waits for its turn at the IP address "
        "127.0.0.9, for which 19 other hosts wait, too (address_delay)."
    )
    assert "1 other host waits, too" in address_sentence(AddressWait("127.0.0.9", 1))
    assert address_sentence(AddressWait("127.0.0.9", 0)) == (
        " Its host waits for its turn at the IP address 127.0.0.9 (address_delay)."
    )
    assert "another host on the same IP address was asked" in address_sentence(None)
