"""Core: the stations that live on rows, plugged together."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from gossamer.cluster import Outbox, Splitter
from gossamer.config import Config, WatchConfig
from gossamer.crawl.contents import SharedContents
from gossamer.crawl.copies import CopyLabeller, NoCopies
from gossamer.crawl.lanes import lane_sizes
from gossamer.crawl.opening import ShardFolder, load_credit
from gossamer.crawl.pipeline import DETAIL_CHARS, NextTasks, is_tried
from gossamer.crawl.ports import Stations
from gossamer.dedupe import ContentSeen
from gossamer.fetch import RobotsCache, by_host, retry_rule
from gossamer.filter import FilterChain, UrlFilter, as_user_filter, build_chain
from gossamer.frontier import (
    Frontier,
    LabelMoves,
    LinkRanker,
    ScoreTable,
    choose_order,
    named_score,
    queued_tasks,
)
from gossamer.log import OnUserError
from gossamer.model import (
    Counters,
    Fetched,
    Link,
    LinkKind,
    Objection,
    Reject,
    Row,
    Task,
    Turn,
    Url,
    UrlRecord,
    UrlState,
    add_labels,
    new_labels,
    picked_links,
)
from gossamer.report import (
    LATE_LABELS,
    SUSPECT,
    Suspect,
    decode_record,
    decode_suspect,
    encode_suspect,
    late_labels_key,
    suspect_row_key,
    url_row_key,
)
from gossamer.seen import UrlSeen
from gossamer.store import State
from gossamer.traps import ReleasedTasks, TrapDetector
from gossamer.urls import join, seed_urls

BACK_QUEUES = 3
"""Active hosts per fetch in flight, at least: so that some are always ready (Mercator)."""


POSTPONED_S = 60.0
"""A suspect waits so long, or until there is nothing else to do."""
MAX_DEATHS = 3
"""Of the crawl. The second can only come after a helper has read the page well: by a filter, or
by a processor that no helper can load."""
MAX_HELPER_DEATHS = 2
SEEDS_TOLD = 5
OF_STORED_PAGES = frozenset({LinkKind.REVISIT, LinkKind.WITNESS})
"""Kinds of tasks that ask for a page that we have."""


class Suspects:
    """URLs whose page was being read when the crawl died, by key. One per death: all in memory.

    Whatever killed it, a suspect is not guilty. It is postponed, then read alone in a helper
    process; that clears it, unless the helper dies of it, too. Rows in and rows out.
    """

    def __init__(self, scan: Callable[[bytes], Iterator[tuple[bytes, bytes]]]) -> None:
        self._by_key: dict[int, Suspect] = {}
        self._changed: dict[bytes, bytes | None] = {}
        for row, value in scan(SUSPECT):
            if (suspect := decode_suspect(value)) is not None:
                self._by_key[int.from_bytes(row[1:], "big")] = suspect
            else:
                self._changed[row] = None
        self.postponed = set(self._by_key)
        """Those that may wait for their moment, though there is nothing else to do."""

    def __len__(self) -> int:
        return len(self._by_key)

    def __contains__(self, key: int) -> bool:
        return key in self._by_key

    def until(self, key: int) -> float:
        """Return the moment before which a URL is postponed; 0.0 if it is no suspect."""
        suspect = self._by_key.get(key)
        return suspect.until if suspect is not None else 0.0

    def add(self, key: int, died_at: float, now: float) -> Suspect:
        """Take note that the crawl died while a page was being read; return what is known of it."""
        old = self._by_key.get(key)
        deaths = 1 if old is None else old.deaths + 1
        return self._put(key, Suspect(died_at or now, now + POSTPONED_S, deaths))

    def add_in_hand(self, key: int, machines: int, now: float) -> None:
        """Take note that a URL was in hand when machines went; it is read alone, in its turn."""
        old = self._by_key.get(key) or Suspect(now, now, 0)
        self._by_key[key] = suspect = replace(old, deaths=max(old.deaths, machines))
        self._changed[suspect_row_key(key)] = encode_suspect(suspect)

    def guilt(self, key: int) -> str:
        """Return why a URL is not to be asked for any more; "" if it may be."""
        deaths = self._by_key[key].deaths if key in self._by_key else 0
        return f"{deaths} machines went while its page was read" * (deaths >= MAX_DEATHS)

    def helper_died(self, key: int, now: float) -> Suspect:
        """Take note that the helper process died of a suspect; return what is known of it."""
        old = self._by_key[key]
        return self._put(
            key, replace(old, until=now + POSTPONED_S, helper_deaths=old.helper_deaths + 1)
        )

    def clear(self, key: int) -> None:
        """Forget a suspicion: the page was read, or its URL is given up."""
        if self._by_key.pop(key, None) is not None:
            self.postponed.discard(key)
            self._changed[suspect_row_key(key)] = None

    def take_postponed(self) -> set[int]:
        """Return those that are postponed: from now on they wait no longer."""
        postponed, self.postponed = self.postponed, set()
        return postponed

    def _put(self, key: int, suspect: Suspect) -> Suspect:
        self._by_key[key] = suspect
        self.postponed.add(key)
        self._changed[suspect_row_key(key)] = encode_suspect(suspect)
        return suspect

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that changed since the last call."""
        changed, self._changed = self._changed, {}
        return list(changed.items())


KNOWN_KEPT = 131_072
"""URLs per generation of the memory of who has which labels; two are kept. It saves look-ups."""


class _Turned(Struct, frozen=True, gc=False):
    """A URL whose turn is not committed yet."""

    labels: str
    is_page: bool


class LateLabels:
    """Labels that reach a URL after it was queued. Rows in, rows out; without labels, no work.

    What is found on a page starts with the page's labels: they travel in the task. A link to a URL
    that is known already brings its page's labels later. They wait in a row until the URL is
    fetched, and then what it links to has them, too. A page that is stored gets them all the same,
    and a record in the archive says so; its own links are not walked through again.
    """

    def __init__(
        self,
        get: Callable[[bytes], bytes | None],
        scan: Callable[[bytes], Iterator[tuple[bytes, bytes]]],
        record_of: Callable[[int], UrlRecord | None],
        counters: Counters,
    ) -> None:
        self._get = get
        self._record_of = record_of
        self._counters = counters
        self._has_rows = next(scan(LATE_LABELS), None) is not None
        self._changed: dict[int, str] = {}
        """Rows to be committed; "" deletes one."""
        self._turned: dict[int, _Turned] = {}
        self._known: dict[int, str] = {}
        self._known_before: dict[int, str] = {}
        self._stored: list[tuple[str, str]] = []

    def with_late(self, task: Task) -> Task:
        """Return a task whose turn has come with all labels that have reached its URL."""
        if not self._has_rows or not (late := self._late(task.url.key)):
            return task
        return replace(task, labels=add_labels(task.labels, late))

    def note_turn(self, turn: Turn) -> None:
        """Note that a URL had its turn: from now on its record has its labels."""
        if turn.retry_at is not None and turn.revisit is None:
            return
        key = turn.task.url.key
        if self._has_rows and self._late(key):
            self._changed[key] = ""
        if turn.task.labels:
            is_page = isinstance(turn.outcome, Fetched) and not turn.is_sitemap
            self._turned[key] = _Turned(turn.task.labels, is_page)

    def lacking(self, page: Task, new: Sequence[Task], known: Mapping[int, Link]) -> Sequence[Task]:
        """Return tasks for the known links of a page whose targets may lack its labels."""
        labels, memory, before = page.labels, self._known, self._known_before
        for task in new:
            memory[task.url.key] = labels
        lacking: list[int] = []
        for key in known:
            have = memory.get(key)
            if have is None:
                have = before.get(key, "")
            if have == labels or not new_labels(have, labels):
                continue
            memory[key] = add_labels(have, labels)
            lacking.append(key)
        if len(memory) >= KNOWN_KEPT:
            self._known, self._known_before = {}, memory
        return [page.follow(link) for link in picked_links(known, lacking)]

    def add(self, tasks: Iterable[Task]) -> None:
        """Add the labels of tasks to known URLs of ours."""
        for task in tasks:
            self.add_to(task.url, task.labels)

    def add_to(self, url: Url, labels: str) -> bool:
        """Add labels to a known URL of ours; return True if it lacked some of them."""
        key = url.key
        late = self._late(key)
        turned = self._turned.get(key)
        record = self._record_of(key) if turned is None else None
        have = turned.labels if turned is not None else record.labels if record is not None else ""
        more = new_labels(add_labels(have, late), labels)
        if not more:
            return False
        self._has_rows = True
        self._changed[key] = add_labels(late, more)
        if (turned is not None and turned.is_page) or (record is not None and _is_page(record)):
            self._counters.count_seed_labels(more)
            self._stored.append((url.text, more))
        return True

    def _late(self, key: int) -> str:
        if (changed := self._changed.get(key)) is not None:
            return changed
        value = self._get(late_labels_key(key)) if self._has_rows else None
        return value.decode() if value is not None else ""

    def take_stored(self) -> Sequence[tuple[str, str]]:
        """Return the stored pages that got labels since the last call, with these."""
        if not self._stored:
            return ()
        stored, self._stored = self._stored, []
        return stored

    def rows_to_commit(self) -> list[Row]:
        """Return the rows that changed since the last call."""
        if not self._changed:
            return []
        changed, self._changed = self._changed, {}
        return [(late_labels_key(key), labels.encode() or None) for key, labels in changed.items()]

    def committed(self) -> None:
        """Forget the turns that are on record by now."""
        self._turned.clear()


def _is_page(record: UrlRecord) -> bool:
    """Return True if a record is of a stored page; sitemaps are none."""
    return record.state is UrlState.ARCHIVED and record.kind != LinkKind.SITEMAP


@dataclass(slots=True)
class SeedFailures:
    """The seeds of which a try has failed in this run, or that were refused."""

    reasons: dict[str, str] = field(default_factory=dict)
    """Why seeds could not be fetched in their first try, by URL; some of them."""
    keys: set[int] = field(default_factory=set)

    def note(self, task: Task, why: str | None = None) -> None:
        """Note that a try has failed, if the task is a seed; "" as the reason means that none did.

        The reason of the first try is kept.
        """
        if task.kind is not LinkKind.SEED or why == "":
            return
        self.keys.add(task.url.key)
        if why and task.url.text not in self.reasons and len(self.reasons) < SEEDS_TOLD:
            self.reasons[task.url.text] = why[:DETAIL_CHARS].rstrip(": ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """The stations that live on rows: what a crawl and a rebuild of its state have in common."""

    state: State
    counters: Counters
    url_seen: UrlSeen
    content_seen: ContentSeen | SharedContents
    robots: RobotsCache
    frontier: Frontier
    filters: FilterChain
    traps: TrapDetector
    stations: Stations
    watch: WatchConfig
    copies: CopyLabeller | NoCopies
    suspects: Suspects
    labels: LateLabels
    splitter: Splitter | None
    outbox: Outbox | None
    make_filters: Callable[[Config], FilterChain]

    def change_filters(self, config: Config) -> None:
        """Judge by the filters of another configuration from now on, what is queued included."""
        self.filters.adopt(self.make_filters(config))

    def rows_to_commit(self) -> list[Row]:
        """Give the rows that changed since the last commit, of all stations."""
        rows = self.frontier.rows_to_commit()
        rows += self.url_seen.rows_to_commit()
        rows += self.content_seen.rows_to_commit()
        rows += self.robots.rows_to_commit()
        rows += self.traps.rows_to_commit()
        rows += self.copies.rows_to_commit()
        rows += self.suspects.rows_to_commit()
        rows += self.labels.rows_to_commit()
        if self.outbox is not None:
            rows += self.outbox.rows_to_commit()
        return rows

    def record_of(self, key: int) -> UrlRecord | None:
        """Return what is written down about a URL that had its turn."""
        return _record_of(self.state, key)

    def objection_to(self, task: Task) -> Objection | None:
        """Return what the filters have against a task whose turn has come; None if nothing.

        A stored page is judged as the link by which it was found. The /sitemap.xml of a seed's
        host is tried for wherever the scope begins.
        """
        if task.kind in OF_STORED_PAGES:
            record = self.record_of(task.url.key)
            kind = LinkKind.ANCHOR if record is None else LinkKind(record.kind)
            depth, via = (0, "") if record is None else (record.depth, record.via)
            task = replace(task, kind=kind, depth=depth, via=via)
        objection = self.filters.judge_queued(task)
        if objection is not None and objection.reason is Reject.OFF_SCOPE and is_tried(task):
            return None
        return objection

    def committed(self) -> None:
        """Tell the stations that wait for it that a commit has happened."""
        self.frontier.committed()
        self.copies.committed()
        self.labels.committed()

    def take_turn(self, turn: Turn) -> None:
        """Take what follows from a turn to its owners."""
        self.labels.note_turn(turn)
        self.add(turn.new_tasks)
        if turn.promoted:
            self.promote(turn.promoted)
        if turn.labelled:
            self.add_labels(turn.labelled)

    def take_tasks(self, found: NextTasks) -> None:
        """Take tasks that another shard has sent, and that were accepted."""
        self.add(found.new)
        self.promote(found.promoted)
        if found.labelled:
            self.add_labels(found.labelled)

    def add_labels(self, tasks: Sequence[Task]) -> None:
        """Take labels of known URLs to their owner: our rows, or the outbox for another shard."""
        if self.splitter is None or self.outbox is None:
            self.labels.add(tasks)
        else:
            self.splitter.route(tasks, self.labels.add, self.outbox.post)

    def add(self, tasks: list[Task]) -> None:
        """Take new tasks to their owner: our frontier, or the outbox for another shard."""
        if self.splitter is None or self.outbox is None:
            self._queue(tasks)
        else:
            self.splitter.route(self.traps.mark(tasks), self._queue, self.outbox.post)

    def _queue(self, tasks: list[Task]) -> None:
        self.frontier.add(self.traps.admit(tasks))

    def release_held(self) -> None:
        """Queue tasks that the trap detector lets go; count those it refuses."""
        self._release(self.traps.release())

    def has_free(self) -> bool:
        """Return True if URLs wait that are free of suspicion, on hosts that are not down."""
        frontier, traps = self.frontier, self.traps
        down, out = frontier.parked.urls, traps.out
        if down and out:
            out = sum(not frontier.hosts.row(host).is_parked for host in traps.hosts_out())
        left = frontier.queued - down - out
        return left > 0 and left > frontier.unresolved_urls

    @property
    def has_only_suspects(self) -> bool:
        """Return True if postponed suspects are all that is left to do here."""
        postponed = len(self.suspects.postponed)
        return 0 < self.frontier.queued <= postponed and not self.frontier.has_uncommitted

    def wake_suspects(self, now: float) -> None:
        """Let suspects wait no longer: there is nothing else to do."""
        self.frontier.hasten(self.suspects.take_postponed(), now)

    def _release(self, back: ReleasedTasks) -> None:
        if back.refused:
            self.counters.count_refused(back.refused)
        if back.known:
            self.frontier.add(back.known, are_new=False)
        if back.new:
            self.frontier.add(back.new)

    def importance_of(self, key: int) -> float:
        """Return what the order of the crawl makes of a URL; 0 if it has no opinion."""
        credit = self.frontier.order.credit
        return 0.0 if credit is None else 2.0 ** credit.grade(key)  # grades are powers of two

    def promote(self, tasks: list[Task]) -> None:
        """Take queued tasks that are worth more by now to their owner."""
        if self.splitter is None or self.outbox is None:
            self.frontier.promote(tasks)
        else:
            self.splitter.route(tasks, self.frontier.promote, self.outbox.post)


def build_core(
    state: State,
    place: ShardFolder,
    config: Config,
    random: Random,
    counters: Counters,
    filters: Sequence[UrlFilter] = (),
    outbox: Outbox | None = None,
    copies: CopyLabeller | NoCopies | None = None,
    contents: SharedContents | None = None,
) -> Core:
    """Build the stations that live on the rows of a state."""
    url_seen, content_seen = _open_seen(state, config), contents or ContentSeen(state.get)
    frontier = _build_frontier(state, place, config, random)
    known_urls = frontier.hosts.known_urls
    traps = _build_traps(state, config, known_urls, place.shards)
    make_filters = _filter_maker(filters, traps, known_urls, counters, random)
    chain = make_filters(config)
    labels = LateLabels(state.get, state.scan, lambda key: _record_of(state, key), counters)
    is_split = place.shards > 1
    moved = outbox.moved if outbox is not None else None
    splitter = Splitter(place.ring, place.shard, url_seen, moved) if is_split else None
    stations = Stations(
        content_seen=content_seen,
        url_seen=splitter or url_seen,
        filters=chain,
        ranking=_build_ranking(config, frontier, splitter, counters.add_user_error),
        ascends=config.frontier.ascend,
        urls=config.urls,
        process=config.process,
        max_redirects=config.fetch.max_redirects,
        retry_at=retry_rule(config.fetch.retries),
        join=join,
        most_retries=config.fetch.retries,
        content_wait_s=config.dedupe.wait_s,
        redirect_of=lambda key: _redirect_of(state, key),
        lacking_labels=labels.lacking,
    )
    return Core(
        state=state,
        counters=counters,
        url_seen=url_seen,
        content_seen=content_seen,
        robots=RobotsCache(config.robots, config.fetch.robots_agent, state.get),
        frontier=frontier,
        filters=chain,
        traps=traps,
        stations=stations,
        watch=config.watch,
        copies=copies if copies is not None else NoCopies(),
        suspects=Suspects(state.scan),
        labels=labels,
        splitter=splitter,
        outbox=outbox,
        make_filters=make_filters,
    )


def _record_of(state: State, key: int) -> UrlRecord | None:
    value = state.get(url_row_key(key))
    return decode_record(value) if value is not None else None


def _filter_maker(
    own: Sequence[UrlFilter],
    traps: TrapDetector,
    known_urls: Callable[[str], int],
    counters: Counters,
    random: Random,
) -> Callable[[Config], FilterChain]:
    """Return what makes the filters of a configuration, with those of the user's program."""
    run, changes = random.getrandbits(32), count()

    def make_filters(config: Config) -> FilterChain:
        chain = build_chain(
            config.filter,
            seed_urls(config),
            known_urls,
            follow_embeds=config.process.embeds,
            requisites=config.process.requisites,
            extra=[*map(as_user_filter, own), traps.object_to],
            scopes=by_host(config, lambda table: table.scope),
            run=run,
            changes=next(changes),
        )
        return chain.reporting_to(counters.add_user_error)

    return make_filters


def _redirect_of(state: State, key: int) -> str:
    """Return where a URL redirects to, by its record; "" if it does not, or has none here."""
    record = _record_of(state, key)
    return record.target if record is not None and record.state is UrlState.REDIRECTED else ""


def _build_traps(
    state: State, config: Config, known_urls: Callable[[str], int], shards: int
) -> TrapDetector:
    return TrapDetector(
        config.traps,
        state.scan,
        seed_urls(config),
        known_urls,
        per_home=config.filter.max_urls_per_host,
        shards=shards,
    )


def _open_seen(state: State, config: Config) -> UrlSeen:
    rows = [*state.scan(b"s"), *state.scan(b"S")]
    return UrlSeen.open(state.path / "seen", config.seen, rows)


def _build_frontier(state: State, place: ShardFolder, config: Config, random: Random) -> Frontier:
    """Build the frontier with its order, and what URLs were worth when the last run ended."""
    scores = ScoreTable.open(place.folder.scores_path) if config.frontier.scores else None
    order = choose_order(config.frontier, len(config.seeds), scores)

    def has_had_its_turn(task: Task) -> bool:
        value = state.get(url_row_key(task.url.key))
        if value is None:
            return False
        found = decode_record(value).state
        is_next = found is UrlState.QUEUED or (found is UrlState.WAITING and task.attempt > 0)
        return not is_next

    frontier = Frontier(
        config.frontier,
        config.politeness,
        state,
        random,
        order,
        at_least=BACK_QUEUES * lane_sizes(config.concurrency).fast,
        is_settled=has_had_its_turn,
        own_delays=by_host(config, lambda table: table.delay_s),
    )
    load_credit(state, order)
    for lift in order.lifts:
        frontier.promote(lift(queued_tasks(state)))
    return frontier


def _build_ranking(
    config: Config, frontier: Frontier, splitter: Splitter | None, on_user_error: OnUserError
) -> LinkRanker:
    score = config.frontier.score
    return LinkRanker(
        frontier.order.credit,
        named_score(score, on_user_error) if score else None,
        splitter.is_ours if splitter is not None else None,
        LabelMoves(config.frontier.labels),
        frontier.order.has_score,
    )
