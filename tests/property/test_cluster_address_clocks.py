"""Whatever shards do, and whichever of them die, no address is granted before its gap is over."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from gossamer.cluster import FileAddressClocks

SHARDS = 4
ADDRESSES = [f"127.0.0.{number}" for number in range(3)]
GAPS_S = (0.0, 0.125, 0.25, 1.0)
START_AT = 1024.0
shards = st.integers(0, SHARDS - 1)
steps = st.one_of(
    st.tuples(st.just("take"), shards, st.sampled_from(ADDRESSES), st.sampled_from(GAPS_S)),
    st.tuples(st.just("touch"), shards, st.sampled_from(ADDRESSES), st.sampled_from(GAPS_S)),
    st.tuples(st.just("restart"), shards, st.just(""), st.just(0.0)),
    st.tuples(st.just("pass"), st.just(0), st.just(""), st.sampled_from((0.0625, 0.125, 0.5))),
)


class Crawl:
    """Shards on one file, each with a crawl time of its own, and what they were granted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.at = START_AT
        self.clocks = [self.open(shard, is_first=True) for shard in range(SHARDS)]
        self.due_at = dict.fromkeys(ADDRESSES, 0.0)
        """The moment before which no address may be granted, by the gaps that were asked for."""

    def open(self, shard: int, *, is_first: bool = False) -> FileAddressClocks:
        offset_s = 512.0 * shard
        return FileAddressClocks(
            self.path,
            self.at + offset_s,
            boot_id="one",
            offset_s=offset_s,
            longest_s=max(GAPS_S),
            is_first=is_first,
        )

    def restart(self, shard: int) -> None:
        """Let a shard die and come back: nothing is written when it goes."""
        self.clocks[shard].close()
        self.clocks[shard] = self.open(shard)

    def touch(self, shard: int, address: str, gap_s: float) -> None:
        self.clocks[shard].touch(address, gap_s, self.at + 512.0 * shard)
        self.due_at[address] = max(self.due_at[address], self.at + gap_s)

    def take(self, shard: int, address: str, gap_s: float) -> None:
        taking = self.clocks[shard].take(address, gap_s, self.at + 512.0 * shard)
        try:
            taking.send(None)
        except StopIteration as end:
            until: float | None = end.value
        if until is None:
            assert self.due_at[address] <= self.at
            self.due_at[address] = self.at + gap_s
        else:  # and nobody is made to wait without a reason
            assert until - 512.0 * shard == self.due_at[address] > self.at


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(steps, max_size=60))
def test_no_interleaving_of_shards_is_granted_an_address_before_its_gap_is_over(
    story: list[tuple[str, int, str, float]],
) -> None:
    with TemporaryDirectory() as folder:
        crawl = Crawl(Path(folder) / "addresses")
        for what, shard, address, seconds in story:
            match what:
                case "take":
                    crawl.take(shard, address, seconds)
                case "touch":
                    crawl.touch(shard, address, seconds)
                case "restart":
                    crawl.restart(shard)
                case _:
                    crawl.at += seconds
        for clocks in crawl.clocks:
            clocks.close()
