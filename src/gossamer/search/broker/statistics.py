"""Statistics: how many pages of the whole index have a term, remembered and kept up to date.

A term is asked for once, at first sight. When shards have changed enough, what is known is asked
for again in a thread; until it is through, questions are answered with what was known before.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from threading import Lock, Thread

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.errors import CannotGoOn, GossamerError
from gossamer.search.broker.fanout import ShardAnswers
from gossamer.search.fields import TEXT_FIELDS
from gossamer.search.messages import Counts, Term

MOST_TERMS = 50_000
"""Some 15 MB."""
AT_ONCE = 200
"""Terms that a refresh asks for at a time, so that questions get their turns between."""
GROWN = 0.02
"""A share of the pages; less than that changes no order."""
OLD_S = 60.0
AskCounts = Callable[[Sequence[Term]], ShardAnswers[Counts]]


class StatisticsFacts(Struct, frozen=True, kw_only=True):
    """How good the statistics are."""

    terms: int
    """That are remembered."""
    asked: int
    remembered: int
    """Of those asked for."""
    refreshes: int
    age_s: float
    """Since the last refresh began."""
    is_stale: bool
    """There were commits that they do not know of."""


class Statistics:
    """Counts over all shards. Any thread may ask."""

    def __init__(self, ask: AskCounts, clock: Clock, most_terms: int = MOST_TERMS) -> None:
        self._ask = ask
        self._clock = clock
        self._most_terms = most_terms
        self._lock = Lock()
        self._known: OrderedDict[Term, tuple[int, ...]] = OrderedDict()
        self._whole: Counts | None = None
        self._at = clock.steady()
        self._asked = self._remembered = self._refreshes = 0
        self._is_stale = False
        self._thread: Thread | None = None

    def counts(self, terms: Iterable[Term]) -> Counts:
        """Return the statistics of some terms."""
        wanted = list(dict.fromkeys(terms))
        with self._lock:
            having = {term: self._known[term] for term in wanted if term in self._known}
            for term in having:
                self._known.move_to_end(term)
            self._asked += len(wanted)
            self._remembered += len(having)
            whole = self._whole
        new = [term for term in wanted if term not in having]
        if new or whole is None:
            found = self._learned(new)
            whole = whole or found
            having |= found.having
        return Counts(pages=whole.pages, tokens=whole.tokens, having=having)

    def renew(self, pages: int) -> None:
        """Hear that shards have new commits, and so many pages; a refresh may begin."""
        with self._lock:
            self._is_stale = True
            known = self._whole.pages if self._whole else 0
            is_due = abs(pages - known) > GROWN * known or self._age_s() > OLD_S
            if not is_due or self._thread is not None:
                return
            self._is_stale = False
            self._thread = Thread(target=self._refresh, name="gossamer-statistics", daemon=True)
            self._thread.start()

    def settle(self) -> None:
        """Wait until a refresh that is under way is through."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def forget(self) -> None:
        """Know nothing: the shards are others."""
        with self._lock:
            self._known.clear()
            self._whole = None

    def facts(self) -> StatisticsFacts:
        """Return how good the statistics are."""
        with self._lock:
            return StatisticsFacts(
                terms=len(self._known),
                asked=self._asked,
                remembered=self._remembered,
                refreshes=self._refreshes,
                age_s=self._age_s(),
                is_stale=self._is_stale,
            )

    def _age_s(self) -> float:
        return self._clock.steady() - self._at

    def _learned(self, terms: Sequence[Term]) -> Counts:
        """Ask the shards; remember it if all of them answered."""
        answers = self._ask(terms)
        found = summed(list(answers.of.values()), terms)
        if not answers.missing:
            with self._lock:
                self._whole = self._whole or found
                self._known |= found.having
                while len(self._known) > self._most_terms:
                    self._known.popitem(last=False)
        return found

    def _refresh(self) -> None:
        """Ask for everything that is known again."""
        began = self._clock.steady()
        try:
            with self._lock:
                terms = list(self._known)
            newest: dict[Term, tuple[int, ...]] = {}
            whole = self._asked_of_all(())
            for start in range(0, len(terms), AT_ONCE):
                some = terms[start : start + AT_ONCE]
                newest |= self._asked_of_all(some).having
            with self._lock:
                self._whole = whole
                for term, having in newest.items():
                    if term in self._known:
                        self._known[term] = having
                self._at = began
                self._refreshes += 1
        except GossamerError:
            self._is_stale = True  # it is tried again; questions tell what is wrong
        finally:
            self._thread = None

    def _asked_of_all(self, terms: Sequence[Term]) -> Counts:
        """Return the statistics of some terms; raise if a shard is missing in them."""
        answers = self._ask(terms)
        if answers.missing:
            raise CannotGoOn("not all shards answer: the statistics stay as they are")
        return summed(list(answers.of.values()), terms)


def summed(counts: Sequence[Counts], terms: Sequence[Term]) -> Counts:
    """Return the statistics of several shards together."""
    none = (0,) * len(TEXT_FIELDS)
    return Counts(
        pages=sum(one.pages for one in counts),
        tokens=_sums([none, *(one.tokens for one in counts)]),
        having={
            term: _sums([none, *(one.having.get(term, none) for one in counts)]) for term in terms
        },
    )


def _sums(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*rows, strict=True)))
