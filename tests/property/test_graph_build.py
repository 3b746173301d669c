"""However a graph came to be, from deltas, folds or all at once, it says what the archive says."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.examples import examples
from tests.unit.graph.links_archive import LinksArchive, assert_says, links_of

from gossamer.graph.build import GraphOptions, build_graph
from gossamer.store import LinksRecord

URLS = [f"http://{host}.test/{path}" for host in ("a", "b.a", "c") for path in ("", "x", "y?z")]
WAYS = [("a", ""), ("a", "nofollow"), ("image", ""), ("canonical", ""), ("form", "x")]
OPTIONS = {
    "delta": GraphOptions(small_arcs=0, delta_share=1e9),
    "fold": GraphOptions(delta_share=0),
    "full": GraphOptions(is_full=True),
    "some": GraphOptions(small_arcs=5, delta_share=0.5),
}
OUTCOMES = ["fetched", "fetched", "redirected", "unchanged", "gone", "failed", "refused", "seed"]
LINKS = st.lists(st.tuples(st.sampled_from(URLS), st.sampled_from(WAYS)), max_size=6)


@st.composite
def records(draw: st.DrawFn) -> LinksRecord:
    """Return what may become of a URL."""
    outcome = draw(st.sampled_from(OUTCOMES))
    links = [(url, kind, "", rel) for url, (kind, rel) in draw(LINKS)]
    if outcome == "redirected":
        links = [(draw(st.sampled_from(URLS)), "redirect", "", "")]
    return LinksRecord(
        url=draw(st.sampled_from(URLS)),
        outcome=outcome,
        robots=draw(st.sampled_from([(), (), ("nofollow",)])),
        links=links if outcome in ("fetched", "redirected") else [],
    )


STEP = st.tuples(
    st.lists(records(), max_size=8), st.integers(0, 2), st.sampled_from([*OPTIONS, ""])
)


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(st.lists(STEP, min_size=1, max_size=5))
def test_deltas_and_folds_in_any_order_say_what_the_archive_says(
    steps: list[tuple[list[LinksRecord], int, str]],
) -> None:
    root = Path(tempfile.mkdtemp())
    try:
        archive, at = LinksArchive(root), 0.0
        for found, shard, how in [*steps, ([], 0, "delta")]:
            dated = [replace(record, at=at + n) for n, record in enumerate(found)]
            at += len(found)
            archive.write(dated, shard=shard)
            if how:
                build_graph(root, OPTIONS[how])
                assert_says(root, links_of(root), URLS)
    finally:
        shutil.rmtree(root)
