"""The crawl-order laboratory: graphs are read as written, and orders are what they say."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from orders.classes import Best, Breadth, Opic, replay
from orders.exact import BACKLINKS, GIVEN, OPIC, OPIC_LAMBDA, replay_exact
from orders.graph import Graph, from_edges, load, pagerank, power_law
from orders.partial import replay_partial
from orders.web import BROOD, Walk
from tests.examples import examples

from gossamer.errors import CorruptFile
from gossamer.graph.bv import BVGraph

pytestmark = pytest.mark.slow  # compiles for half a minute when numba's cache is empty

PUBLISHED = Path(__file__).parents[4] / "shared" / "graphs" / "cnr-2000"
LISTS = st.lists(st.sets(st.integers(0, 29)), min_size=30, max_size=30)


class Bits:
    """Writes numbers in the codes of a BVGraph."""

    def __init__(self) -> None:
        self.text = ""

    def unary(self, value: int) -> None:
        self.text += "0" * value + "1"

    def gamma(self, value: int) -> None:
        digits = f"{value + 1:b}"
        self.unary(len(digits) - 1)
        self.text += digits[1:]

    def delta(self, value: int) -> None:
        digits = f"{value + 1:b}"
        self.gamma(len(digits) - 1)
        self.text += digits[1:]

    def zeta(self, value: int, k: int = 3) -> None:
        """The group's number, then the rest in minimal binary code: small rests have a bit less."""
        value += 1
        group = (value.bit_length() - 1) // k
        low, width = 1 << group * k, group * k + k - 1
        rest = value - low
        self.unary(group)
        self.text += f"{rest:0{width}b}" if rest < low else f"{rest + low:0{width + 1}b}"

    def signed(self, value: int) -> int:
        return 2 * value if value >= 0 else -2 * value - 1

    def to_bytes(self) -> bytes:
        padded = self.text + "0" * (-len(self.text) % 8)
        return bytes(int(padded[at : at + 8], 2) for at in range(0, len(padded), 8))


def write_blocks(bits: Bits, old: list[int], new: set[int]) -> set[int]:
    """Write which blocks of an old list a new one copies; return what was copied."""
    runs: list[tuple[bool, int]] = [(True, 0)]
    for one in old:
        if (one in new) == runs[-1][0]:
            runs[-1] = (runs[-1][0], runs[-1][1] + 1)
        else:
            runs.append((one in new, 1))
    sizes = [size for _, size in runs][:-1]  # the last block is what is left
    if not runs[-1][0]:
        sizes = [size for _, size in runs]
        sizes = sizes[:-1] if len(sizes) % 2 == 0 else sizes
    bits.gamma(len(sizes))
    for place, size in enumerate(sizes):
        bits.gamma(size - 1 if place else size)
    return set(old) & new


def write_intervals(bits: Bits, page: int, rest: set[int], least: int) -> set[int]:
    """Write the runs of at least so many consecutive ids; return the ids that are left."""
    runs: list[list[int]] = []
    for one in sorted(rest):
        if runs and one == runs[-1][-1] + 1:
            runs[-1].append(one)
        else:
            runs.append([one])
    runs = [run for run in runs if len(run) >= least]
    bits.gamma(len(runs))
    previous = None
    for run in runs:
        bits.gamma(bits.signed(run[0] - page) if previous is None else run[0] - previous - 1)
        bits.gamma(len(run) - least)
        previous = run[-1] + 1
    return rest - {one for run in runs for one in run}


def write_graph(base: Path, lists: list[set[int]], *, flags: str = "", window: int = 3) -> None:
    """Write a graph in which every list refers to the one before it, if there is any."""
    bits = Bits()
    outdegree = bits.delta if "OUTDEGREES_DELTA" in flags else bits.gamma
    residual = bits.gamma if "RESIDUALS_GAMMA" in flags else bits.zeta
    for page, links in enumerate(lists):
        outdegree(len(links))
        if not links:
            continue
        rest = set(links)
        back = min(page, 1 + page % window) if window else 0
        if window:
            bits.unary(back)
        if back:
            rest -= write_blocks(bits, sorted(lists[page - back]), links)
        if rest:
            rest = write_intervals(bits, page, rest, 4)
        previous = None
        for one in sorted(rest):
            residual(bits.signed(one - page) if previous is None else one - previous - 1)
            previous = one
    base.with_name(base.name + ".graph").write_bytes(bits.to_bytes())
    base.with_name(base.name + ".properties").write_text(
        f"#BVGraph properties\nnodes={len(lists)}\narcs={sum(map(len, lists))}\n"
        f"windowsize={window}\nminintervallength=4\nzetak=3\ncompressionflags={flags}\n"
    )


def read_lists(base: Path) -> list[set[int]]:
    found = BVGraph.open(base).csr()
    return [set(one.tolist()) for one in np.split(found.targets, found.offsets[1:-1])]


@pytest.mark.parametrize("flags", ["", "OUTDEGREES_DELTA | RESIDUALS_GAMMA"])
@pytest.mark.parametrize("window", [0, 3])
@settings(deadline=None, max_examples=examples(40))
@given(lists=LISTS)
def test_a_bvgraph_is_read_as_written(
    tmp_path_factory: pytest.TempPathFactory, flags: str, window: int, lists: list[set[int]]
) -> None:
    base = tmp_path_factory.mktemp("graph") / "small"
    write_graph(base, lists, flags=flags, window=window)
    assert read_lists(base) == lists


def test_an_unknown_code_is_named(tmp_path: Path) -> None:
    write_graph(tmp_path / "small", [{1}, {0}], flags="BLOCKS_GOLOMB")
    with pytest.raises(CorruptFile, match="GOLOMB"):
        BVGraph.open(tmp_path / "small")


def test_the_published_graph_has_its_published_size() -> None:
    if not PUBLISHED.with_name("cnr-2000.graph").exists():
        pytest.skip("../shared/graphs/cnr-2000 is not here")
    graph = load(PUBLISHED, 1024)
    assert (graph.nodes, graph.links) == (325_557, 3_216_152)
    assert graph.hosts[-1] == 325_556 // 1024


def test_edges_are_numbers_or_urls(tmp_path: Path) -> None:
    numbers, urls = tmp_path / "numbers", tmp_path / "urls"
    numbers.write_text("# a comment\n0 2\n0 1\n2 0\n0 2\n")
    graph = load(numbers, 2)
    assert graph.offsets.tolist() == [0, 2, 2, 3]
    assert graph.targets.tolist() == [1, 2, 0]
    assert graph.hosts.tolist() == [0, 0, 1]
    urls.write_text("http://b.a.org/ http://a.org/x\nhttp://c.net/ http://b.a.org/\n")
    assert load(urls, 2).hosts.tolist() == [0, 0, 1]


@pytest.fixture(scope="module")
def web() -> Graph:
    return power_law(3000, 64, seed=1)


def walk_of(graph: Graph, **changes: int) -> Walk:
    starts = np.random.default_rng(7).permutation(graph.nodes).astype(np.int32)
    return Walk(graph, starts, 10, graph.nodes)._replace(**changes)


def test_pagerank_is_the_fixed_point_and_sums_to_one() -> None:
    ends = np.array([[0, 1, 2, 2], [1, 0, 0, 1]])
    rank = pagerank(from_edges("triangle", ends, np.zeros(3, np.int32)))
    assert rank.sum() == pytest.approx(1.0)
    assert rank[2] == pytest.approx(0.05)
    assert rank[0] == pytest.approx(0.05 + 0.85 * (rank[1] + rank[2] / 2))


@pytest.mark.parametrize(
    "order",
    [
        lambda walk: replay(walk, Breadth(), 16),
        lambda walk: replay(walk, Best(walk), 16),
        lambda walk: replay(walk, Opic(walk), 16),
        lambda walk: replay_exact(walk, BACKLINKS),
        lambda walk: replay_exact(walk, OPIC),
        lambda walk: replay_exact(walk, OPIC_LAMBDA),
        lambda walk: replay_exact(walk, GIVEN, np.arange(3000.0)),
        replay_partial,
    ],
)
def test_every_order_fetches_every_page_once(order: object, web: Graph) -> None:
    assert callable(order)
    pages, links = order(walk_of(web))
    assert np.sort(pages).tolist() == list(range(web.nodes))
    assert links == web.links


def test_breadth_first_goes_by_distance() -> None:
    ends = np.array([[0, 0, 3, 1, 2], [3, 1, 4, 2, 5]])
    graph = from_edges("tree", ends, np.zeros(6, np.int32))
    walk = Walk(graph, np.array([0, 5], np.int32), 1, 6)
    assert replay(walk, Breadth(), 1)[0].tolist() == [0, 1, 3, 2, 4, 5]


def test_a_queue_by_given_scores_takes_the_best_that_waits() -> None:
    ends = np.array([[0, 0, 1, 2], [1, 2, 3, 4]])
    graph = from_edges("tree", ends, np.zeros(5, np.int32))
    walk = Walk(graph, np.array([0], np.int32), 1, 5)
    given = np.array([0.0, 1.0, 2.0, 9.0, 0.5])
    assert replay_exact(walk, GIVEN, given)[0].tolist() == [0, 2, 1, 3, 4]


@pytest.mark.parametrize("cross", [0, 20])
def test_a_trap_never_ends_and_best_first_hardly_enters_it(cross: int, web: Graph) -> None:
    walk = walk_of(web, fetches=1000, cross=cross)
    baited = walk._replace(graph=web.with_link(int(walk.starts[0]), web.nodes))
    lost = {
        "best": np.sum(replay(baited, Best(baited), 16)[0] >= web.nodes),
        "exact": np.sum(replay_exact(baited, OPIC)[0] >= web.nodes),
        "bfs": np.sum(replay(baited, Breadth(), 16)[0] >= web.nodes),
    }
    assert lost["best"] < min(lost["bfs"], 100)
    assert lost["exact"] > 0
    assert baited.pages > web.nodes + BROOD * 1000
