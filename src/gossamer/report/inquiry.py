"""Questions about a crawl in a folder, whether it runs or not: status, why, show, add."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gossamer.clock import SystemClock
from gossamer.cluster import OUTBOX, outbox_tasks, read_charter
from gossamer.config import Config
from gossamer.errors import CannotGoOn, ConfigError, CorruptFile
from gossamer.fetch import RobotsCache, by_host, header_names
from gossamer.filter import FilterChain, build_chain
from gossamer.frontier import OutsideScore, ScoreTable, count_waiting, find_host
from gossamer.model import (
    FINAL,
    PAUSED_ON_REQUEST,
    Counters,
    Standing,
    StoreRef,
    Task,
    Url,
    as_json,
)
from gossamer.ranks import RankFile
from gossamer.report.clusters import CopyClusters, clusters_of, name_in
from gossamer.report.control import ask_running
from gossamer.report.explanation import (
    Edition,
    HostSettings,
    PastVisit,
    RecordLocation,
    RobotsAnswer,
    Sources,
    StateRows,
    Why,
    explain_url,
    name_original,
    unnamed_original,
)
from gossamer.report.history import editions_of
from gossamer.report.linkers import find_linker
from gossamer.report.records import (
    COUNTERS,
    SUSPECT,
    CrawlMetrics,
    Status,
    decode_counters,
    decode_record,
    decode_suspect,
    merge_standings,
    status_of,
    sum_counters,
    url_row_key,
)
from gossamer.report.regions import region_facts
from gossamer.report.states import (
    all_states,
    ring_of_folder,
    settled_charter,
    shard_of,
    shard_with,
    stopped_state,
)
from gossamer.schedule import read_schedule
from gossamer.settings import load_crawl_config, readable_config
from gossamer.store import (
    CrawlFolder,
    State,
    StoredPage,
    expect_no_purge,
    read_page,
    read_record,
    record_ids,
)
from gossamer.traps import (
    TrapDetector,
    count_held_new,
    count_trusted,
    held_by,
    held_tasks,
    holding_probations,
)
from gossamer.urls import seed_urls

Answer = TypeVar("Answer")
EDITIONS_TOLD = 100
"""Of a URL, by `why`; `editions` has all of them."""


class Added(Struct, frozen=True, kw_only=True):
    """Seeds that were added to a crawl, and those that were refused."""

    added: int
    """Seeds that were queued, for the first time or again."""
    refused: dict[str, str]
    """The reason, by URL."""
    queued_again: dict[str, str] = {}  # msgspec copies it
    """What had become of it, such as "failed: connect_failed", by URL."""
    already_stored: list[str] = []  # msgspec copies it
    already_queued: list[str] = []  # msgspec copies it


class Retried(Struct, frozen=True, kw_only=True):
    """URLs that were queued again after they had failed, or were refused."""

    queued: int
    reasons: dict[str, int]
    """How many of them, by reason."""


class Trusted(Struct, frozen=True, kw_only=True):
    """Patterns that were added to `[traps] trust`, and the held URLs that they let go."""

    patterns: list[str]
    released: int
    """URLs that were held and are to be fetched."""
    units: dict[str, int]
    """How many of them, by the part of a site that held them; those with the most first."""
    running: bool
    """A crawl is running and fetches them; otherwise the next start does."""


class ChangedSettings(Struct, frozen=True, kw_only=True):
    """Settings of a crawl that were changed."""

    changes: list[str]
    """One line for each that has another value, such as "filter.max_depth: not set -> 3"."""
    running: bool
    """A crawl is running and obeys them; otherwise the next start does."""
    at_next_start: list[str] = []  # msgspec copies it
    """Names of settings that a running crawl does not obey before its next start."""


def status(folder: Path | str) -> Status:
    """Return the status of a crawl, running or stopped, even if its crawl.toml is damaged."""
    place = folder_of(folder)
    if (answer := ask_running(place.control_path, {"ask": "status"})) is not None:
        nothing = msgspec.to_builtins(status_of(Counters(), merge_standings([])))
        return _answer_as(Status, {**nothing, **answer}, place)
    charter, config = settled_charter(place), readable_config(place.root)
    counters: list[Counters] = []
    standings: list[Standing] = []
    for shard in range(charter.shards):
        with stopped_state(place, shard) as state:
            counters += [decode_counters(value) for _, value in state.scan(COUNTERS)]
            standings.append(_standing(state, config, charter.shards))
    if place.paused_path.exists():
        standings = [replace(one, paused=PAUSED_ON_REQUEST) for one in standings]
    found = status_of(sum_counters(counters), merge_standings(standings))
    if not place.taken_over_path.exists():
        return found
    return replace(found, taken_over=place.taken_over_path.read_text("utf-8", "replace").strip())


def crawl_metrics(folder: Path | str) -> CrawlMetrics | str:
    """Return the metrics of a running crawl as text; of a stopped one, what they are made of."""
    place = folder_of(folder)
    answer = ask_running(place.control_path, {"ask": "metrics"})
    if answer is not None and isinstance(text := answer.get("text"), str):
        return text
    return CrawlMetrics(status=status(folder), folder=place.root)


def _answer_as(kind: type[Answer], answer: object, place: CrawlFolder) -> Answer:
    """Return the answer of a running crawl, as what it should be.

    The crawl may be run by an older version, or by a newer one, than the one that asks.
    """
    try:
        return msgspec.convert(answer, kind)
    except msgspec.ValidationError as error:
        raise CannotGoOn(
            f"the crawl in {place.root} is run by another version of Gossamer, whose answer cannot "
            f"be read ({error}); ask with that version, or stop the crawl and start it with this"
        ) from error


def _standing(state: State, config: Config, shards: int) -> Standing:
    """Return how a stopped shard stands."""
    waiting = count_waiting(state, settled_in(state))
    outbox = sum(len(outbox_tasks(value)) for _, value in state.scan(OUTBOX))
    traps = trap_detector(state, config, shards)
    return Standing(
        queued=waiting.urls + traps.let_go,
        held=traps.held,
        on_probation=traps.left,
        hosts=waiting.hosts,
        parked=waiting.parked.urls,
        parked_hosts=waiting.parked.hosts,
        known_urls=waiting.known + count_held_new(state.scan),
        outbox=outbox,
        traps=traps.notes(),
        suspects=sum(decode_suspect(value) is not None for _, value in state.scan(SUSPECT)),
    )


def settled_in(state: State) -> Callable[[Task], bool]:
    """Return what tells of a leased task whether it has ended, or is held."""
    held = {task.url.key for task in held_tasks(state.scan)}

    def is_settled(task: Task) -> bool:
        if task.url.key in held:
            return True
        value = state.get(url_row_key(task.url.key))
        return value is not None and decode_record(value).state in FINAL

    return is_settled


def trap_detector(rows: StateRows, config: Config, shards: int) -> TrapDetector:
    """Return the trap detector of a shard as its rows have it."""
    return TrapDetector(
        config.traps,
        rows.scan,
        seed_urls(config),
        lambda host: _known_urls(rows, host),
        per_home=config.filter.max_urls_per_host,
        shards=shards,
    )


def _known_urls(rows: StateRows, host: str) -> int:
    row = find_host(rows, host)
    return row.known if row is not None else 0


def is_running(folder: Path | str) -> bool:
    """Return True if a crawl runs in a folder."""
    return ask_running(folder_of(folder).control_path, {"ask": "status"}) is not None


def why(folder: Path | str, url: str) -> Why:
    """Return everything known and decided about one URL, its editions included."""
    found = plain_why(folder, url)
    if found.canonical is None:
        return found
    stored = editions_of(folder_of(folder), found)
    return replace(found, editions=stored[-EDITIONS_TOLD:], editions_total=len(stored))


def why_at_once(folder: Path | str, url: str) -> Why | None:
    """Return the same; None if the links archive would have to be read for it."""
    place = folder_of(folder)
    found = _plain_why(place, url, reads_archive=False)
    if found is None or found.canonical is None:
        return found
    stored = editions_of(place, found)
    return replace(found, editions=stored[-EDITIONS_TOLD:], editions_total=len(stored))


def editions(folder: Path | str, url: str) -> list[Edition]:
    """Return all stored answers of a URL, the oldest first."""
    found = plain_why(folder, url)
    return [] if found.canonical is None else editions_of(folder_of(folder), found)


def plain_why(folder: Path | str, url: str) -> Why:
    """Return what state and settings say about one URL; the archive's indexes are not read."""
    found = _plain_why(folder_of(folder), url, reads_archive=True)
    assert found is not None  # noqa: S101  # the archive was read
    return found


def _plain_why(place: CrawlFolder, url: str, *, reads_archive: bool) -> Why | None:
    """Return what is known; None if only the archive can tell more, and is not to be read."""
    if (answer := _why_of_running(place, url, reads_archive=reads_archive)) is not None:
        if "error" in answer:
            raise CannotGoOn(str(answer["error"]))
        return None if "lacks_linker" in answer else _answer_as(Why, answer, place)
    config = load_crawl_config(place.root)
    lacking: list[str] = []
    shard = shard_of(place, url, config)
    with stopped_state(place, shard) as state:
        sources = why_sources(place, config, state, shard=shard)
        hours = read_schedule(config.schedule.hours, config.schedule.time_zone)
        sources = replace(sources, opens_at=hours.opens_at(SystemClock().wall()))
        if not reads_archive:
            sources = replace(sources, find_linker=lacking.append)
        found = explain_url(url, sources)
    if lacking:
        return None
    if (key := unnamed_original(found)) is not None:
        with stopped_state(place, shard_with(place, key)) as state:
            return name_original(found, name_in(state.get, key))
    return found


def _why_of_running(
    place: CrawlFolder, url: str, *, reads_archive: bool
) -> dict[str, object] | None:
    """Return what a running crawl says of a URL; None if none runs.

    Who linked a URL that the crawl has no record of stands in the archive alone. That is read here:
    in the crawl it would take its time from the pages.
    """
    question: dict[str, object] = {"ask": "why", "url": url}
    if place.archive.is_dir() or not reads_archive:
        question["finds_linkers"] = True
    answer = ask_running(place.control_path, question)
    if answer is None or "lacks_linker" not in answer or not reads_archive:
        return answer
    linker = find_linker(place, str(answer["lacks_linker"]))
    told = as_json(linker) if linker is not None else None
    return ask_running(place.control_path, {"ask": "why", "url": url, "linker": told})


def copies(folder: Path | str, url: str = "") -> CopyClusters:
    """Return the clusters of near-duplicates, or that of one URL; running or stopped."""
    place = folder_of(folder)
    config = load_crawl_config(place.root)
    with all_states(place) as states:
        return clusters_of(states, ring_of_folder(place), url, config.urls)


def show(folder: Path | str, url: str) -> StoredPage | None:
    """Return the stored page of a URL, a copy's content included; None if none is stored."""
    place = folder_of(folder)
    ref = _ref(stored_at(folder, url))
    if ref is None:
        return None
    return read_page(place, ref, lambda target, record_id: find_page(place, target, record_id))


def stored_at(folder: Path | str, url: str) -> RecordLocation | None:
    """Return where the page of a URL lies; None if none is stored."""
    found = _plain_why(folder_of(folder), url, reads_archive=False)
    return None if found is None else found.page


def find_page(folder: CrawlFolder, url: str, record_id: str) -> StoreRef | None:
    """Return where a record of a URL lies: among its last visits, its editions, or anywhere."""
    answer = _plain_why(folder, url, reads_archive=False)
    damaged: CorruptFile | None = None
    for ref in _known_refs(folder, answer) if answer is not None else ():
        try:
            if read_record(folder, ref).record_id == record_id:
                return ref
        except CorruptFile as error:
            damaged = error
    for name in folder.archive_names(kind="pages"):  # it was another URL's, or an index is lost
        for found, ref in record_ids(folder.archive_path(name.file_name)):
            if found == record_id:
                return ref
    if damaged is not None:  # that was it
        raise damaged
    return None


def _known_refs(folder: CrawlFolder, answer: Why) -> Iterator[StoreRef]:
    """Yield where records of a URL with a payload may lie, each once: the likeliest first."""
    given: set[StoreRef] = set()
    for ref in filter(None, map(_ref, (answer.page, *answer.visits))):
        if ref not in given:
            given.add(ref)
            yield ref
    stored = editions_of(folder, answer) if answer.canonical is not None else []
    for edition in reversed(stored):  # the page has changed often since
        where = edition.location
        ref = StoreRef(where.file, where.offset, where.length)
        if not edition.revisit and ref not in given:
            yield ref


def add(folder: Path | str, seeds: Sequence[tuple[str, str]]) -> Added | None:
    """Hand seeds (URL and label) to a running crawl; None if none is running in the folder."""
    answer = ask_running(folder_of(folder).control_path, {"ask": "add", "seeds": list(seeds)})
    if answer is not None and "error" in answer:
        raise ConfigError(str(answer["error"]))
    return None if answer is None else _answer_as(Added, answer, folder_of(folder))


def retry(
    folder: Path | str, reasons: Sequence[str], hosts: Sequence[str], urls: Sequence[str]
) -> Retried | None:
    """Let a running crawl queue failures again; None if none is running in the folder."""
    asked = {"ask": "retry", "reasons": [*reasons], "hosts": [*hosts], "urls": [*urls]}
    answer = ask_running(folder_of(folder).control_path, asked)
    if answer is not None and "error" in answer:
        raise CannotGoOn(str(answer["error"]))
    return None if answer is None else _answer_as(Retried, answer, folder_of(folder))


def trust(folder: Path | str, patterns: Sequence[str]) -> Trusted | None:
    """Let a running crawl trust what patterns name; None if none is running in the folder."""
    answer = ask_running(folder_of(folder).control_path, {"ask": "trust", "patterns": [*patterns]})
    if answer is not None and "error" in answer:
        raise CannotGoOn(str(answer["error"]))
    return None if answer is None else _answer_as(Trusted, answer, folder_of(folder))


def set_settings(
    folder: Path | str, settings: Mapping[str, object], host: str = ""
) -> ChangedSettings | None:
    """Let a running crawl obey other settings; None if none is running in the folder."""
    asked = {"ask": "set", "settings": dict(settings), "host": host}
    answer = ask_running(folder_of(folder).control_path, asked)
    if answer is not None and "error" in answer:
        raise ConfigError(str(answer["error"]))
    return None if answer is None else _answer_as(ChangedSettings, answer, folder_of(folder))


def count_held(folder: CrawlFolder, patterns: Sequence[str]) -> dict[str, int]:
    """Return how many held URLs of a stopped crawl patterns name, by unit."""
    found: dict[str, int] = {}
    for shard in range(settled_charter(folder).shards):
        with stopped_state(folder, shard) as state:
            found.update(count_trusted(state.scan, patterns))
    return found


def probations_of(folder: CrawlFolder) -> set[str]:
    """Return the probations of a stopped crawl that hold URLs; none if it has no state."""
    found: set[str] = set()
    for shard in range(read_charter(folder.charter_path).shards):
        if State.exists(folder.state(shard)):
            with stopped_state(folder, shard) as state:
                found |= holding_probations(state.scan)
    return found


def trusted_answer(
    patterns: Sequence[str], parts: Iterable[Mapping[str, int]], *, is_running: bool
) -> Trusted:
    """Return the answer to `trust`, of what each shard lets go by unit."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    units = dict(sorted(total.items(), key=lambda pair: (-pair[1], pair[0])))
    return Trusted(patterns=list(patterns), released=total.total(), units=units, running=is_running)


def why_sources(
    folder: CrawlFolder,
    config: Config,
    rows: StateRows,
    live: TrapDetector | None = None,
    shard: int = 0,
) -> Sources:
    """Return where `why` finds its facts: the state's rows, the filters, the links archive.

    `live` is the trap detector of a shard that runs: that of the rows need not be made.
    """
    seeds = seed_urls(config)
    keys = {seed.key for seed in seeds}
    charter = read_charter(folder.charter_path)
    traps = live or trap_detector(rows, config, charter.shards)
    chain = filters_of(rows, config, traps)

    def robots_says(url: Url) -> RobotsAnswer | None:
        robots = RobotsCache(config.robots, config.fetch.robots_agent, rows.get)
        rules = robots.peek(url, 0.0)
        if rules is None:
            return None
        verdict = rules.verdict(url.target)
        return RobotsAnswer(
            allowed=verdict.allowed,
            line=verdict.line,
            number=verdict.number,
            crawl_delay_s=rules.crawl_delay_s,
        )

    def who_holds(url: Url) -> str | None:
        if live is not None:
            name = live.holder_of(url, rows)
        else:
            name = unit.name if (unit := held_by(rows, url)) is not None else None
        if name is None:
            return None
        note = None if traps.trusts(url) else traps.note_on(name)
        return note.detail if note is not None else ""

    return Sources(
        rows=rows,
        urls=config.urls,
        judge=chain.judge,
        judge_queued=chain.judge_queued,
        robots=robots_says,
        find_linker=lambda text: find_linker(folder, text),
        is_seed=lambda url: url.key in keys,
        settings_of=_settings_of(config, seeds),
        who_holds=who_holds,
        rank_of=lambda url: _rank(config.frontier.ranks, url),
        score_of=lambda url: _score(folder, config, url),
        time_zone=config.schedule.time_zone,
        shard=shard,
        region_of=lambda url: region_facts(url, shard, charter.regions, config),
    )


def filters_of(rows: StateRows, config: Config, traps: TrapDetector) -> FilterChain:
    """Return the filters of a shard as its rows and the settings have them."""
    return build_chain(
        config.filter,
        seed_urls(config),
        partial(_known_urls, rows),
        follow_embeds=config.process.embeds,
        requisites=config.process.requisites,
        extra=[traps.objection_to],
        scopes=by_host(config, lambda table: table.scope),
    )


def _settings_of(config: Config, seeds: Sequence[Url]) -> Callable[[Url], HostSettings | None]:
    """Return what tells the settings of a URL's host, without a look at any secret."""
    delays = by_host(config, lambda table: table.delay_s)
    scopes = by_host(config, lambda table: table.scope)
    rules = header_names(config, seeds)

    def settings(url: Url) -> HostSettings | None:
        names = [line.name for line in (*rules.everywhere, *rules.headers.get(url.origin, ()))]
        found = HostSettings(
            delay_s=delays.get(url.host),
            scope=scopes.get(url.host),
            insecure=rules.insecure.get(url.host),
            headers=list(dict.fromkeys(names)),
        )
        is_usual = found == HostSettings(delay_s=None, scope=None, insecure=None, headers=[])
        return None if is_usual else found

    return settings


def _rank(name: str, url: Url) -> float | None:
    """Return the rank of a URL in a file; None if there is none, or the file is gone."""
    try:
        return RankFile.open(Path(name), is_checked=False).of(url.key) if name else None
    except CannotGoOn:
        return None


def _score(folder: CrawlFolder, config: Config, url: Url) -> OutsideScore | None:
    """Return the score of a URL; None if the crawl has none, or its copy is gone."""
    if not config.frontier.scores:
        return None
    try:
        return ScoreTable.open(folder.scores_path, is_checked=False).of(url)
    except CannotGoOn:
        return None


def _ref(found: RecordLocation | PastVisit | None) -> StoreRef | None:
    if found is None or not found.file or found.offset is None or found.length is None:
        return None
    return StoreRef(found.file, found.offset, found.length)


def folder_of(folder: Path | str) -> CrawlFolder:
    """Return the folder of a crawl; refuse one that holds none."""
    place = CrawlFolder(Path(folder))
    if not place.config_path.exists() and not place.archive.is_dir():
        raise ConfigError(f"{folder} is not a crawl: expected a folder with crawl.toml in it")
    expect_no_purge(place)
    return place
