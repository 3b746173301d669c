"""Whatever happens in whatever order, a committed key is known once, and no other key is."""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.examples import examples

from gossamer.config import SeenConfig
from gossamer.model import Row
from gossamer.seen import RunJob, UrlSeen, verify

KEYS = st.one_of(
    st.sampled_from([0, 1, 2**40, 2**63, 2**64 - 1]),
    st.integers(0, 60),
    st.integers(0, 5).map(lambda ring: ring << 40),
    st.integers(0, 2**64 - 1),
)
CONFIG = SeenConfig(run_keys=3, fan_in=2)


class SeenMachine(RuleBasedStateMachine):
    """A crawl that commits, works in the background and dies at any moment."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="seen-"))
        self.rows: dict[bytes, bytes] = {}
        self.durable: dict[bytes, bytes] = {}
        self.durable_keys: set[int] = set()
        self.committed: set[int] = set()
        self.added: set[int] = set()
        self.asked: set[int] = {0, 2**64 - 1}
        self.work: RunJob | None = None
        self.seen = UrlSeen.open(self.folder, CONFIG, [])

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def _write(self, rows: list[Row]) -> None:
        for key, value in rows:
            if value is None:
                del self.rows[key]
            else:
                self.rows[key] = value

    @rule(keys=st.lists(KEYS, max_size=12))
    def ask_and_add(self, keys: list[int]) -> None:
        self.asked.update(keys)
        batch = np.array(keys, np.uint64)
        unknown = self.seen.unknown(batch)
        assert unknown.tolist() == [key not in self.added for key in keys]
        self.seen.add(batch[unknown])
        self.added.update(keys)

    @rule()
    def commit(self) -> None:
        self._write(self.seen.rows_to_commit())
        self.committed = set(self.added)

    @precondition(lambda self: self.work is None)
    @rule()
    def take_work(self) -> None:
        self.work = self.seen.due()

    @precondition(lambda self: self.work is not None)
    @rule()
    def do_work(self) -> None:
        assert self.work is not None
        assert self.seen.due() is None
        self.work.do()

    @precondition(lambda self: self.work is not None and self.work.made is not None)
    @rule()
    def install(self) -> None:
        assert self.work is not None
        rows = self.seen.install(self.work)
        self.work = None
        self._write(rows)

    @precondition(lambda self: self.work is None)
    @rule(count=st.integers(3, 12))
    def add_commit_and_work_to_the_end(self, count: int) -> None:
        """Chance alone seldom gets as far as a merge."""
        self.ask_and_add([(len(self.asked) + n) << 33 for n in range(count)])
        self.commit()
        while (work := self.seen.due()) is not None:
            work.do()
            self._write(self.seen.install(work))

    @rule()
    def sync(self) -> None:
        self.durable, self.durable_keys = dict(self.rows), set(self.committed)
        self.seen.discard_replaced()

    @rule(is_power_loss=st.booleans())
    def die(self, *, is_power_loss: bool) -> None:
        """Power loss leaves what was synced; kill -9 everything written, which recovery syncs."""
        if is_power_loss:
            self._start(self.durable, self.durable_keys)
        else:
            self._start(self.rows, self.committed)

    def _start(self, rows: dict[bytes, bytes], keys: set[int]) -> None:
        self.work = None
        self.rows, self.durable = dict(rows), dict(rows)
        self.committed, self.durable_keys, self.added = set(keys), set(keys), set(keys)
        self.seen = UrlSeen.open(self.folder, CONFIG, rows.items())
        named = sum(key[:1] == b"S" for key in rows)
        files = list(self.folder.iterdir())
        assert len(files) == named
        assert sum(verify(path) for path in files) <= len(keys)

    @invariant()
    def exactly_the_added_keys_are_known(self) -> None:
        keys = np.array(sorted(self.asked), np.uint64)
        known = {int(key) for key in keys[~self.seen.unknown(keys)]}
        assert known == self.added
        assert self.seen.known == len(self.added)

    @invariant()
    def each_key_comes_out_once_and_in_order(self) -> None:
        chunks = list(self.seen.range_keys(0, 2**24 - 1))
        assert [int(key) for chunk in chunks for key in chunk] == sorted(self.added)


TestSeen = SeenMachine.TestCase
TestSeen.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
