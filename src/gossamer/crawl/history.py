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

from msgspec import DecodeError, Struct, json

from gossamer.errors import CannotGoOn
from gossamer.store import Chain, CrawlCharter, CrawlStore, ShardManifest

SETS, KEPT, SWEEP = "sets", "kept", "sweep"
HOUR_S, DAY_S = 3600.0, 86400.0
HOURS_KEPT, DAYS_KEPT = 48, 31
LAST_MANIFESTS = 1000
"""Of each chain, at least: whoever held one of them may still be about to write the next."""
DIGITS = 15


class MomentSet(Struct, frozen=True, kw_only=True):
    """Which manifests were the newest of all shards at one moment."""

    at: float
    generation: int
    numbers: tuple[int, ...]


class KeptSet(Struct, frozen=True, kw_only=True):
    """The manifests of all shards at one moment."""

    at: float
    manifests: tuple[ShardManifest, ...]


class _Unnamed(Struct, frozen=True, kw_only=True):
    """Since when objects have not been named."""

    since: dict[str, float]


def note_moment(store: CrawlStore, charter: CrawlCharter, last: MomentSet | None) -> MomentSet:
    """Note which manifests are the newest, if others are than last time; return that.

    They fit together: between two readings that found the same they were all the newest.
    """
    chains = [store.shard_chain(charter.generation, n) for n in range(charter.shards)]
    known = last.numbers if last is not None and last.generation == charter.generation else ()
    while (numbers := _newest(chains)) != known:
        known = numbers
    if last is not None and (last.generation, last.numbers) == (charter.generation, numbers):
        return last
    at = max(store.manifest_of(*one).at for one in zip(chains, numbers, strict=True))
    found = MomentSet(at=at, generation=charter.generation, numbers=numbers)
    store.objects.put(name_of(SETS, at), json.encode(found))
    return found


def manifests_at(store: CrawlStore, at: float) -> tuple[float, list[ShardManifest]]:
    """Return the newest manifests that fit together and are not after a moment."""
    moments = {
        name: moment_of(name) for kind in (SETS, KEPT) for name in store.objects.names(f"{kind}/")
    }
    for name in sorted(moments, key=lambda name: moments[name], reverse=True):
        if moments[name] <= at and (found := manifests_of(store, name)) is not None:
            return moments[name], found
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
    manifests = manifests_of(store, name_of(SETS, last.at))
    if manifests is not None:
        kept = KeptSet(at=last.at, manifests=tuple(manifests))
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
    first: dict[int, int] = {}
    for name in store.objects.names(f"{SETS}/"):
        content = store.objects.read(name)
        with suppress(DecodeError):
            found = json.decode(content or b"", type=MomentSet)
            if found.generation == charter.generation:
                for shard, number in enumerate(found.numbers):
                    first[shard] = min(number, first.get(shard, number))
    yield from _low_end(store.charters, None)
    for shard in range(charter.shards):
        yield from _low_end(store.shard_chain(charter.generation, shard), first.get(shard))


def _low_end(chain: Chain, first: int | None) -> Iterator[str]:
    numbers = chain.numbers()
    old = numbers[:-LAST_MANIFESTS]
    yield from (chain.name(one) for one in old if first is None or one < first)


def _named(store: CrawlStore, charter: CrawlCharter) -> set[str]:
    """Return every object that a manifest names which may yet be restored."""
    newest = [store.manifest(charter.generation, shard) for shard in range(charter.shards)]
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
    is_file = rest.partition("/")[2].startswith("files/")
    return int(top) < charter.generation or (is_file and int(top) == charter.generation)


def _unnamed(store: CrawlStore) -> dict[str, float]:
    content = store.objects.read(SWEEP)
    try:
        return json.decode(content, type=_Unnamed).since if content is not None else {}
    except DecodeError:
        return {}


def _newest(chains: list[Chain]) -> tuple[int, ...]:
    return tuple(max(chain.numbers(), default=0) for chain in chains)


def manifests_of(store: CrawlStore, name: str) -> list[ShardManifest] | None:
    """Return the manifests that a set names; None if some are gone.

    What cannot be read is not gone: that is raised, or its files would be taken for unnamed.
    """
    content = store.objects.read(name)
    try:
        if name.startswith(f"{KEPT}/"):
            return list(json.decode(content or b"", type=KeptSet).manifests)
        found = json.decode(content or b"", type=MomentSet)
    except DecodeError as error:
        if content is None:
            return None
        raise CannotGoOn(f"{store.objects.url}/{name} is damaged: {error}") from error
    chains = [store.shard_chain(found.generation, shard) for shard in range(len(found.numbers))]
    named = list(zip(chains, found.numbers, strict=True))
    if not all(store.objects.exists(chain.name(number)) for chain, number in named):
        return None
    return [store.manifest_of(chain, number) for chain, number in named]


def name_of(kind: str, at: float) -> str:
    """Return the name of a set of a moment."""
    return f"{kind}/{round(at * 1000):0{DIGITS}d}"


def _text_of(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def moment_of(name: str) -> float:
    """Return the moment of a set by its name."""
    digits = name.rpartition("/")[2]
    return int(digits) / 1000 if digits.isdecimal() else float("inf")
