"""What a store keeps of a crawl's past, and what it no longer needs.

    sets/T      which manifests were the newest of all shards at one moment: of the last day
    kept/T      such manifests whole: one an hour for two days, one a day for a month
    sweep       since when objects have not been named by anything

An object is deleted when two sweeps a day apart found that nothing names it: neither the newest
manifest of a shard, nor a set, nor what is kept. Manifests and charters are deleted from the low
end of their chains, so that numbers never become free (ADR 74).
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain as joined
from typing import NamedTuple

from msgspec import DecodeError, Struct, json

from gossamer.clock import Clock
from gossamer.errors import CannotGoOn
from gossamer.store import Chain, CrawlCharter, CrawlStore, ShardManifest, ShippedFile

SETS, KEPT, SWEEP = "sets", "kept", "sweep"
HOUR_S, DAY_S = 3600.0, 86400.0
HOURS_KEPT, DAYS_KEPT = 48, 31
LAST_MANIFESTS = 1000
"""Of each chain, at least: whoever held one of them may still be about to write the next."""
DIGITS = 15


LEAST_HISTORY_S = 1.0
"""Between two looks at what is new."""
SWEEP_S = 3600.0


class MomentSet(Struct, frozen=True, kw_only=True):
    """Which manifests were the newest of all shards at one moment."""

    at: float
    generation: int
    numbers: tuple[int, ...]
    chains: dict[int, int] = {}
    """By shard: the generation of its chain, if that is another."""
    root: dict[str, ShippedFile] = {}
    """Files of the whole crawl that are newer than what the manifests name."""


class KeptSet(Struct, frozen=True, kw_only=True):
    """The manifests of all shards at one moment."""

    at: float
    manifests: tuple[ShardManifest, ...]
    root: dict[str, ShippedFile] = {}


class PastMoment(NamedTuple):
    """A crawl as it was."""

    at: float
    manifests: list[ShardManifest]
    root: dict[str, ShippedFile]
    """Files of the whole crawl that are newer than what the manifests name."""


class _Unnamed(Struct, frozen=True, kw_only=True):
    """Since when objects have not been named."""

    since: dict[str, float]


class KeptHistory:
    """The past of a crawl, while it is being made. Of one thread at a time."""

    def __init__(self, store: CrawlStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._noted: MomentSet | None = None
        self._swept_at = float("-inf")

    def go_on(self, charter: CrawlCharter) -> None:
        """Note what is the newest; now and then keep some of it, and delete what nothing needs."""
        noted = note_moment(self._store, charter, self._noted)
        if noted is None:
            return
        self._noted = noted
        if self._clock.steady() - self._swept_at >= SWEEP_S:
            self._swept_at = self._clock.steady()
            keep_set(self._store, noted)
            sweep(self._store, charter, self._clock.wall())


def note_moment(
    store: CrawlStore, charter: CrawlCharter, last: MomentSet | None
) -> MomentSet | None:
    """Note which manifests are the newest, if others are than last time; return that.

    They fit together: between two readings that found the same they were all the newest. None if
    the charter names other chains by then.
    """
    chains = store.chains_of(charter)
    is_same = last is not None and _layout_of(last) == charter.layout
    known = last.numbers if last is not None and is_same else ()
    while (numbers := _newest(chains)) != known:
        known = numbers
    if last is not None and is_same and last.numbers == numbers:
        return last
    now = store.charter()
    if now is not None and now[1].layout != charter.layout:
        return None
    at = max(store.manifest_of(*one).at for one in zip(chains, numbers, strict=True))
    found = MomentSet(
        at=at,
        generation=charter.generation,
        numbers=numbers,
        chains=charter.chains,
        root=charter.root,
    )
    store.objects.put(name_of(SETS, at), json.encode(found))
    return found


def _layout_of(known: MomentSet) -> int:
    return max((known.generation, *known.chains.values()))


def manifests_at(store: CrawlStore, at: float) -> PastMoment:
    """Return the newest manifests that fit together and are not after a moment."""
    moments = {
        name: moment_of(name) for kind in (SETS, KEPT) for name in store.objects.names(f"{kind}/")
    }
    for name in sorted(moments, key=lambda name: moments[name], reverse=True):
        if moments[name] <= at and (found := set_of(store, name)) is not None:
            return PastMoment(moments[name], list(found.manifests), found.root)
    oldest = min(moments.values(), default=None)
    known = "none is there" if oldest is None else f"the oldest is of {_text_of(oldest)}"
    raise CannotGoOn(f"{store.objects.url} has no checkpoint that is so old; {known}")


def keep_set(store: CrawlStore, last: MomentSet) -> None:
    """Keep what the newest set names, if an hour has passed since the last that was kept."""
    newest = max(
        (moment_of(name) for name in store.objects.names(f"{KEPT}/")), default=float("-inf")
    )
    if last.at - newest < HOUR_S:
        return
    kept = set_of(store, name_of(SETS, last.at))
    if kept is not None:
        store.objects.put(name_of(KEPT, last.at), json.encode(kept))


def sweep(store: CrawlStore, charter: CrawlCharter, now: float) -> int:
    """Delete what was not needed for a day; return how many objects that were."""
    named = _named(store, charter)  # first: what cannot be read ends the sweep before it deletes
    gone = [*_old_moments(store, now), *_old_numbers(store, charter)]
    store.objects.delete(gone)
    before = _unnamed(store)
    there = [name for name in store.objects.names("") if is_swept(name, charter)]
    unnamed = {name: before.get(name, now) for name in there if name not in named}
    over = [name for name, since in unnamed.items() if now - since >= DAY_S]
    store.objects.delete(over)
    left = {name: since for name, since in unnamed.items() if now - since < DAY_S}
    store.objects.put(SWEEP, json.encode(_Unnamed(since=left)))
    return len(gone) + len(over)


def worth_keeping(moments: Iterable[float], now: float) -> set[float]:
    """Return which moments stay: the first of each hour of two days, of each day of a month."""
    found: dict[tuple[str, int], float] = {}
    for at in sorted(moments):
        if now - at <= HOURS_KEPT * HOUR_S:
            found.setdefault(("hour", int(at // HOUR_S)), at)
        if now - at <= DAYS_KEPT * DAY_S:
            found.setdefault(("day", int(at // DAY_S)), at)
    return set(found.values())


def _old_moments(store: CrawlStore, now: float) -> Iterator[str]:
    sets = {name: moment_of(name) for name in store.objects.names(f"{SETS}/")}
    newest = max(sets.values(), default=0.0)
    yield from (name for name, at in sets.items() if now - at > DAY_S and at != newest)
    kept = {name: moment_of(name) for name in store.objects.names(f"{KEPT}/")}
    stays = worth_keeping(kept.values(), now)
    yield from (name for name, at in kept.items() if at not in stays)


def _old_numbers(store: CrawlStore, charter: CrawlCharter) -> Iterator[str]:
    """Return the low ends of all chains, in ascending order, but for what sets of a day name."""
    first: dict[tuple[int, int], int] = {}
    for name in store.objects.names(f"{SETS}/"):
        content = store.objects.read(name)
        with suppress(DecodeError):
            found = json.decode(content or b"", type=MomentSet)
            for shard, number in enumerate(found.numbers):
                one = found.chains.get(shard, found.generation), shard
                first[one] = min(number, first.get(one, number))
    yield from _low_end(store.charters, None)
    for shard, chain in enumerate(store.chains_of(charter)):
        yield from _low_end(chain, first.get((charter.generation_of(shard), shard)))


def _low_end(chain: Chain, first: int | None) -> Iterator[str]:
    numbers = chain.numbers()
    old = numbers[:-LAST_MANIFESTS]
    yield from (chain.name(one) for one in old if first is None or one < first)


def _named(store: CrawlStore, charter: CrawlCharter) -> set[str]:
    """Return every object that a manifest names which may yet be restored."""
    newest = [store.newest_of(charter, shard) for shard in range(charter.shards)]
    manifests = [found[1] for found in newest if found is not None]
    sets = (*store.objects.names(f"{SETS}/"), *store.objects.names(f"{KEPT}/"))
    kept = (manifests_of(store, name) or [] for name in sets)
    everything = (*manifests, *joined.from_iterable(kept))
    return {file.name for manifest in everything for file in manifest.objects()}


def is_swept(name: str, charter: CrawlCharter) -> bool:
    """Return True if an object goes when nothing names it: files, and what no longer counts."""
    top, _, rest = name.partition("/")
    if top in {"archive", "proof"}:
        return True
    if not top.isdecimal():
        return False
    made, _, of_shard = rest.partition("/")
    number = int(top)
    if number > charter.layout:  # of a split that is under way, perhaps
        return False
    if not made.isdecimal():
        return number < charter.layout
    is_live = int(made) < charter.shards and charter.generation_of(int(made)) == number
    return of_shard.startswith("files/") or not is_live


def _unnamed(store: CrawlStore) -> dict[str, float]:
    content = store.objects.read(SWEEP)
    try:
        return json.decode(content, type=_Unnamed).since if content is not None else {}
    except DecodeError:
        return {}


def _newest(chains: list[Chain]) -> tuple[int, ...]:
    return tuple(max(chain.numbers(), default=0) for chain in chains)


def manifests_of(store: CrawlStore, name: str) -> list[ShardManifest] | None:
    """Return the manifests that a set names; None if some are gone."""
    found = set_of(store, name)
    return None if found is None else list(found.manifests)


def set_of(store: CrawlStore, name: str) -> KeptSet | None:
    """Return a set with its manifests; None if some are gone.

    What cannot be read is not gone: that is raised, or its files would be taken for unnamed.
    """
    content = store.objects.read(name)
    try:
        if name.startswith(f"{KEPT}/"):
            return json.decode(content or b"", type=KeptSet)
        found = json.decode(content or b"", type=MomentSet)
    except DecodeError as error:
        if content is None:
            return None
        raise CannotGoOn(f"{store.objects.url}/{name} is damaged: {error}") from error
    generations = [found.chains.get(n, found.generation) for n in range(len(found.numbers))]
    chains = [store.shard_chain(one, shard) for shard, one in enumerate(generations)]
    named = list(zip(chains, found.numbers, strict=True))
    if not all(store.objects.exists(chain.name(number)) for chain, number in named):
        return None
    manifests = tuple(store.manifest_of(chain, number) for chain, number in named)
    return KeptSet(at=found.at, manifests=manifests, root=found.root)


def name_of(kind: str, at: float) -> str:
    """Return the name of a set of a moment."""
    return f"{kind}/{round(at * 1000):0{DIGITS}d}"


def _text_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def moment_of(name: str) -> float:
    """Return the moment of a set by its name."""
    digits = name.rpartition("/")[2]
    return int(digits) / 1000 if digits.isdecimal() else float("inf")
