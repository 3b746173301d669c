"""Sentences about a URL: they say what is true of it, as far as it is recorded."""

from gossamer.report import FilterVerdict, Why
from gossamer.report.explanation import sentence


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
