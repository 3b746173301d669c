"""The states of a crawl in a folder, opened for reading, and which of them has a URL."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from gossamer.cluster import Charter, Ring, owner_in_state, read_charter
from gossamer.config import Config
from gossamer.errors import CannotGoOn, rebuild_state_command
from gossamer.store import CrawlFolder, State, read_ends
from gossamer.urls import parse


def each_state(folder: CrawlFolder) -> Iterator[State]:
    """Yield the state of each shard, open for reading until the next is asked for."""
    for shard in range(settled_charter(folder).shards):
        with stopped_state(folder, shard) as state:
            yield state


@contextmanager
def all_states(folder: CrawlFolder) -> Iterator[list[State]]:
    """Open the states of all shards for reading, each as it is at that moment."""
    with ExitStack() as stack:
        shards = range(settled_charter(folder).shards)
        yield [stack.enter_context(stopped_state(folder, shard)) for shard in shards]


@contextmanager
def stopped_state(folder: CrawlFolder, shard: int) -> Iterator[State]:
    """Open the state of a shard for reading."""
    path = folder.state(shard)
    if not State.exists(path):
        raise CannotGoOn(f"{folder.root} has no state; run `gossamer build {folder.root} state`")
    durable = read_ends(folder).states.get(shard)  # first: beside a crawl that starts, states grow
    state = State.open(path, is_read_only=True)
    try:
        found = state.end()
        is_same = durable is not None and durable.identity == found.identity
        if durable is not None and is_same and found.sequence < durable.sequence:
            raise CannotGoOn(
                f"the state is older than the archive; run {rebuild_state_command(path)}. {path} "
                f"has {found.sequence} of {durable.sequence} rows"
            )
        yield state
    finally:
        state.close()


def shard_of(folder: CrawlFolder, url: str, config: Config) -> int:
    """Return the shard that owns a URL; what is no URL may be asked of anyone."""
    parsed = parse(url, config.urls)
    return shard_with(folder, parsed.key) if parsed is not None else 0


def shard_with(folder: CrawlFolder, key: int) -> int:
    """Return the shard that has a URL: its home, or whom that has given the domain to."""
    charter = settled_charter(folder)
    if not charter.regions:
        return charter.ring.owner_of(key)

    def read(shard: int, row: bytes) -> bytes | None:
        with stopped_state(folder, shard) as state:
            return state.get(row)

    return owner_in_state(charter.ring, key, read)[0]


def ring_of_folder(folder: CrawlFolder) -> Ring:
    """Return which shard of a crawl owns what."""
    return settled_charter(folder).ring


def settled_charter(folder: CrawlFolder) -> Charter:
    """Return how a crawl is split; refused while that changes."""
    charter = read_charter(folder.charter_path)
    if charter.phase != "settled":
        raise CannotGoOn(
            f"{folder.root} is being split into {charter.moving_to} shards, and that was "
            f"interrupted; run `gossamer crawl --into {folder.root}` to finish it"
        )
    return charter
