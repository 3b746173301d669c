"""Scores from outside, such as web traffic: a number for URLs and hosts, and what it counts for.

The user's file has a URL or a host and a number in each line. It is read once and kept in the
crawl's folder as sorted keys with a 32-bit float for each: 12 bytes per line, mapped into memory by
all shards, so that a crawl can go on without the original. A URL has its own score, or its host's,
or that of its registrable domain. What counts is how often a score is the mean of the file.
"""

import gzip
import mmap
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from math import isfinite, log2
from pathlib import Path
from struct import Struct as Layout

import msgspec
import numpy as np
import xxhash
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from gossamer.config import UrlConfig
from gossamer.durable import replacing
from gossamer.errors import CannotGoOn, ConfigError, CorruptFile
from gossamer.frontier.order.grading import Importance, grade_of
from gossamer.frontier.order.prior_ranks import MOST_LIFTED
from gossamer.model import Task, Url
from gossamer.urls import host_key, parse, registrable_domain

MAGIC, VERSION = b"GOSSSCOR", 1
SCORE_CREDIT = 1.0
"""The credit of a mean score."""
MOST_CLASSES = 2
"""By how many classes a score moves a URL in the breadth-first order, at most."""
_HEAD = Layout("<8sQQQQQd")
_LINE = re.compile(r"(\S+?)(?:\s+|\s*,\s*)(\S+)")
_HOST = re.compile(r"[^/?#@:\\]+|\[[0-9A-Fa-f:.]+\]")
_LINE_CHARS = 8_192
_GZIP = b"\x1f\x8b"
_HOSTS_KEPT = 65_536
_SHOWN_CHARS = 80


class OutsideScore(Struct, frozen=True, kw_only=True):
    """The score of a URL by the file that the crawl was given."""

    value: float
    """As the file has it."""
    by: str
    """Whose it is: the URL, its host, or its registrable domain."""
    of_mean: float
    """The same, in means of the file: what counts."""


class ScoreTable:
    """Scores of URLs and hosts, by key."""

    def __init__(
        self,
        urls: tuple[NDArray[np.uint64], NDArray[np.float32]],
        hosts: tuple[NDArray[np.uint64], NDArray[np.float32]],
        mean: float,
        source: int = 0,
    ) -> None:
        self._urls, self._hosts, self.mean = urls, hosts, mean
        self.source = source
        """Tells the files apart that it was read from, and the rules for URLs."""
        self._known: dict[str, tuple[float, str] | None] = {}

    def __len__(self) -> int:
        return len(self._urls[0]) + len(self._hosts[0])

    def of(self, url: Url) -> OutsideScore | None:
        """Return the score of a URL, with whose it is; None if the file says nothing of it."""
        found = self._found(url)
        if found is None:
            return None
        value, by = found
        return OutsideScore(value=value, by=by, of_mean=value / self.mean if self.mean else 0.0)

    def of_mean(self, url: Url) -> float | None:
        """Return the score of a URL in means of the file; None if the file says nothing of it."""
        found = self._found(url)
        return None if found is None else found[0] / self.mean if self.mean else 0.0

    def has(self, url: Url) -> bool:
        """Return True if a URL starts with credit for its score."""
        return self.start_credit(url) > 0.0

    def start_credit(self, url: Url) -> float:
        """Return the credit with which a URL starts for its score, as if links had given it.

        Those of a mean score have grade 13 of 16, a factor of two is a grade. Names that the file
        leaves out are worth less than all that it has: they start with nothing.
        """
        return SCORE_CREDIT * (self.of_mean(url) or 0.0)

    def class_shift(self, url: Url) -> int:
        """Return by how many classes a URL moves: one for each factor of four from the mean.

        What is above the mean moves up by one at least; what has a score of 0 goes last.
        """
        score = self.of_mean(url)
        if score is None:
            return 0
        if score <= 0.0:
            return -MOST_CLASSES
        shift = int(log2(score) / 2.0) + (score >= 1.0)
        return min(max(shift, -MOST_CLASSES), MOST_CLASSES)

    def _found(self, url: Url) -> tuple[float, str] | None:
        value = _look_up(self._urls, url.key) if len(self._urls[0]) else None
        return (value, url.text) if value is not None else self._of_host(url.host)

    def _of_host(self, host: str) -> tuple[float, str] | None:
        if host not in self._known:
            if len(self._known) >= _HOSTS_KEPT:
                self._known.clear()
            names = (host, registrable_domain(host)) if len(self._hosts[0]) else ()
            values = ((_look_up(self._hosts, _host_number(name)), name) for name in names)
            self._known[host] = next(((v, name) for v, name in values if v is not None), None)
        return self._known[host]

    @classmethod
    def open(cls, path: Path, *, is_checked: bool = True) -> "ScoreTable":
        """Return the copy in a crawl's folder, mapped into memory; raise if it is damaged.

        All of it is read for that, unless one look-up is not worth it.
        """
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD.size).ljust(_HEAD.size, b"\0")
                size = os.fstat(file.fileno()).st_size
                magic, version, urls, hosts, source, digest, mean = _HEAD.unpack(head)
                if magic != MAGIC or version != VERSION or size != _HEAD.size + 12 * (urls + hosts):
                    raise CorruptFile(path, 0, "not a file of scores; give --scores FILE again")
                mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        except OSError as problem:
            raise CannotGoOn(
                f"cannot read {path}: {problem.strerror}; give --scores FILE again"
            ) from problem
        if is_checked and xxhash.xxh3_64_intdigest(memoryview(mapped)[_HEAD.size :]) != digest:
            raise CorruptFile(path, 0, "the checksum does not match; give --scores FILE again")
        place, columns = _HEAD.size, []
        for count in (urls, hosts):
            keys = np.frombuffer(mapped, "<u8", count, place)
            columns.append((keys, np.frombuffer(mapped, "<f4", count, place + 8 * count)))
            place += 12 * count
        return cls(columns[0], columns[1], mean, source)

    def save(self, path: Path) -> None:
        """Write the table whole or not at all."""
        columns = [column for pair in (self._urls, self._hosts) for column in pair]
        digest = xxhash.xxh3_64()
        for column in columns:
            digest.update(column.tobytes())
        counts = len(self._urls[0]), len(self._hosts[0])
        head = _HEAD.pack(MAGIC, VERSION, *counts, self.source, digest.intdigest(), self.mean)
        try:
            with replacing(path) as file:
                file.write(head)
                for column in columns:
                    file.write(column.tobytes())
        except OSError as problem:
            raise CannotGoOn(
                f"cannot write {path}: {problem.strerror}; free some disk space"
            ) from problem


def needed_scores(source: Path, kept: Path, urls: UrlConfig) -> ScoreTable | None:
    """Return the scores of a file, if they are not those that a crawl's folder keeps already.

    Raise `ConfigError` if a line is wrong, or if there is neither file nor copy.
    """
    if not source.exists() and kept.exists():
        return None
    try:
        digest = _digest(source, urls)
        return None if _kept_source(kept) == digest else read_scores(source, urls, digest)
    except OSError as problem:
        raise ConfigError(f"frontier.scores: cannot read {source}: {problem.strerror}") from None


def _kept_source(kept: Path) -> int | None:
    """Return which file the copy in a crawl's folder was read from; None if there is none."""
    if not kept.exists():
        return None
    with kept.open("rb") as file:
        magic, version, _, _, source, _, _ = _HEAD.unpack(file.read(_HEAD.size).ljust(_HEAD.size))
    return source if (magic, version) == (MAGIC, VERSION) else None


def read_scores(path: Path, rules: UrlConfig, source: int = 0) -> ScoreTable:
    """Return the scores that a text file holds; `ConfigError` with its line if one is wrong.

    A line is a URL or a host, then a number, with blanks, a tab or a comma between; empty lines and
    those that begin with "#" are left out. Of a name that comes twice the highest counts.
    """
    urls, hosts = (array("Q"), array("d")), (array("Q"), array("d"))
    for number, line in _lines(path):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        name, score = _read_line(text) or ("", -1.0)
        is_url = "//" in name
        is_host = not is_url and _HOST.fullmatch(name) is not None
        url = parse(name if is_url else f"http://{name}/", rules) if is_url or is_host else None
        if url is None:
            shown = text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "..."
            raise ConfigError(
                f"frontier.scores: {path}, line {number}: expected a URL or a host and a number "
                f"of 0 or more, such as 'example.org 12.5', found {shown!r}"
            )
        keys, values = urls if is_url else hosts
        keys.append(url.key if is_url else _host_number(url.host))
        values.append(score)
    count = len(urls[0]) + len(hosts[0])
    if not count:
        raise ConfigError(f"frontier.scores: {path} has no scores in it")
    mean = (sum(urls[1]) + sum(hosts[1])) / count
    return ScoreTable(_sorted(*urls), _sorted(*hosts), mean, source)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, gzipped or not, with their numbers."""
    with path.open("rb") as plain:
        is_zipped = plain.read(2) == _GZIP
        plain.seek(0)
        lines: Iterable[bytes] = gzip.GzipFile(fileobj=plain) if is_zipped else plain
        number = 0
        try:
            for number, line in enumerate(lines, 1):
                yield number, line[:_LINE_CHARS].decode("utf-8", "replace").lstrip("\ufeff")
        except (EOFError, gzip.BadGzipFile) as problem:
            raise ConfigError(
                f"frontier.scores: {path}, after line {number}: damaged gzip data ({problem})"
            ) from None


def _read_line(text: str) -> tuple[str, float] | None:
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    try:
        score = float(match[2])
    except ValueError:
        return None
    return (match[1], score) if isfinite(score) and score >= 0.0 else None


def _digest(path: Path, rules: UrlConfig) -> int:
    digest = xxhash.xxh3_64(msgspec.msgpack.encode(rules))
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.intdigest()


def _sorted(
    keys: "array[int]", values: "array[float]"
) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """Return keys in order, each once, and the highest value of each."""
    number, score = np.array(keys, "<u8"), np.array(values, "<f4")
    order = np.lexsort((-score, number))
    number, score = number[order], score[order]
    is_first = np.ones(len(number), np.bool_)
    is_first[1:] = number[1:] != number[:-1]
    return number[is_first], score[is_first]


def _look_up(table: tuple[NDArray[np.uint64], NDArray[np.float32]], key: int) -> float | None:
    keys, values = table
    place = int(keys.searchsorted(np.uint64(key)))
    return float(values[place]) if place < len(keys) and int(keys[place]) == key else None


def _host_number(host: str) -> int:
    return int.from_bytes(host_key(host)[-8:], "big")


class WithScores:
    """A rule of credit, and scores: what has a score starts with credit."""

    def __init__(self, rule: Importance, scores: ScoreTable) -> None:
        self._rule, self._scores = rule, scores
        self.credits, self.local = rule.credits, rule.local

    def note_known(self, ring: int, count: int) -> None:
        """Count known URLs of the domain at a ring point."""
        self._rule.note_known(ring, count)

    def deposit(self, task: Task) -> None:
        """Add the credit that a task carries; one that is met for the first time has its score."""
        key = task.url.key
        is_met = self.credits.of(key) is not None
        self._rule.deposit(task)
        if not is_met and (start := self._scores.start_credit(task.url)):
            self._rule.give((key,), start)

    def meet(self, keys: Sequence[int], share: float) -> int:
        """Credit new URLs, none of which has a score, with their share; return their grade."""
        return self._rule.meet(keys, share)

    def grade(self, key: int) -> int:
        """Return the grade that a URL has earned so far."""
        return self._rule.grade(key)

    def share(self, key: int, links: int) -> float:
        """Return what each link of a page is given, now that the page was fetched."""
        return self._rule.share(key, links)

    def give(self, keys: Sequence[int], share: float) -> list[int]:
        """Credit known URLs with a share each; return queued ones whose grade may have risen."""
        return self._rule.give(keys, share)

    def save(self) -> bytes:
        """Return everything as the bytes of a file."""
        return self._rule.save()

    def load(self, data: bytes) -> bool:
        """Load what `save` returned; return False, and change nothing, if it is damaged."""
        return self._rule.load(data)

    def lift(self, queued: Iterator[Task], most: int = MOST_LIFTED) -> list[Task]:
        """Return queued tasks that were graded without these scores and are worth more by them.

        One that has its grade by its score is not lifted again.
        """
        starts = ((self._scores.start_credit(task.url), task) for task in queued)
        worth_more = (pair for pair in starts if pair[0] and grade_of(pair[0]) > pair[1].grade)
        lifted: list[Task] = []
        for start, task in nlargest(most, worth_more, key=lambda found: found[0]):
            self._rule.give((task.url.key,), start)
            if (grade := self.grade(task.url.key)) > task.grade:
                lifted.append(replace(task, grade=grade))
        return lifted
