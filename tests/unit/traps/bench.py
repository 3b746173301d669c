"""A trap detector with its rows and its hosts, driven by hand."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from gossamer.config import TrapsConfig
from gossamer.model import LinkKind, Task, Turn
from gossamer.traps import TrapDetector
from gossamer.traps.held import decode_held
from gossamer.traps.registry import TRAP_ROWS, decode_unit, is_unit_row, unit_key
from gossamer.traps.unit import Probation, Unit
from tests.unit.traps.pages import page_turn, url, write_rows

HOME = "http://home.test/"


def suspect(name: str, **counts: object) -> Unit:
    """Return a unit on probation that has eight pages and brought 16 URLs before."""
    probation = Probation(suspicion="why", **counts)  # type: ignore[arg-type] -- counts
    return Unit(name=name, pages=8, new_urls=16, probation=probation)


@dataclass
class TrapBench:
    """Begins with some units as an earlier run has left them."""

    units: Sequence[Unit] = ()
    config: TrapsConfig = field(default_factory=TrapsConfig)
    per_home: int = 1000
    shards: int = 1
    rows: dict[bytes, bytes] = field(default_factory=dict)
    hosts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for unit in self.units:
            self.rows[unit_key(unit.name)] = msgspec.msgpack.encode(unit)
            self.hosts[unit.name.partition("/")[0].removeprefix("*.")] += 8
        self.hosts["home.test"] += 1
        self.open()

    def open(self) -> None:
        """Begin, or begin again after a kill: only the rows are left."""
        self.traps = TrapDetector(
            self.config,
            self.scan,
            [url(HOME)],
            lambda host: self.hosts[host],
            per_home=self.per_home,
            shards=self.shards,
        )

    def restart(self) -> None:
        self.commit()
        self.open()

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return iter(sorted(row for row in self.rows.items() if row[0].startswith(prefix)))

    def get(self, key: bytes) -> bytes | None:
        return self.rows.get(key)

    def commit(self) -> None:
        write_rows(self.rows, self.traps.rows_to_commit())

    def admit(
        self,
        *places: str,
        via: str,
        kind: LinkKind = LinkKind.ANCHOR,
        is_doubtful: bool = False,
    ) -> list[str]:
        """Return which of some new URLs may be queued."""
        tasks = [
            Task(url=url(place), via=via, kind=kind, is_doubtful=is_doubtful) for place in places
        ]
        admitted = self.traps.admit(tasks)
        assert not any(task.is_doubtful for task in admitted)
        self.hosts.update(task.url.host for task in admitted)
        return [task.url.text for task in admitted]

    def fetch(self, place: str, *links: str, via: str = "", known: Sequence[str] = ()) -> list[str]:
        """Be told of a page; return which of the new URLs that it links may be queued."""
        turn = page_turn(place, body=f"Text of {place}", links=(*links, *known), new=links, via=via)
        return self.end(turn)

    def end(self, turn: Turn) -> list[str]:
        self.traps.observe(turn)
        admitted = self.traps.admit(turn.new_tasks)
        self.hosts.update(task.url.host for task in admitted)
        return [task.url.text for task in admitted]

    def look(self, *, granted: int | None = None, now: float = 0.0) -> list[str]:
        """Return what may go to the queue: when nothing else waits, or so many while others do."""
        self.traps.obey(is_open=granted is None, granted=granted or 0, now=now)
        return self.released()

    def released(self) -> list[str]:
        back = self.traps.release()
        self.hosts.update(task.url.host for task in back.new)
        return [task.url.text for task in (*back.known, *back.new)]

    def held(self) -> dict[str, list[str]]:
        """Return what the units hold, by name, as after a commit."""
        self.commit()
        names = {
            key[:-1]: decode_unit(value).name
            for key, value in self.scan(TRAP_ROWS)
            if is_unit_row(key)
        }
        found: dict[str, list[str]] = {}
        for key, value in self.scan(TRAP_ROWS):
            if not is_unit_row(key):
                found.setdefault(names[key[:12]], []).append(decode_held(value).task.url.text)
        return {name: sorted(texts) for name, texts in found.items()}

    def unit(self, name: str) -> Unit:
        """Return a unit as it is in its row after a commit."""
        self.commit()
        return decode_unit(self.rows[unit_key(name)])
