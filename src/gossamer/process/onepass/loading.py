"""The kernels that read pages, and the arrays that they work in.

They are compiled ahead, or by another process while trees are read. One workspace serves all usual
pages; others are given back when their page has been read.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Final

from gossamer.native import (
    Kernel,
    MappedBytes,
    MappedWords,
    Native,
    NotCompiled,
    announce,
    at_once,
)
from gossamer.process.onepass import numbers
from gossamer.urls import Joiner, load_joining

_MODULES: Final = tuple(
    f"gossamer.process.onepass.{name}"
    for name in (
        *("outline_kernels", "mode_kernels", "body_kernels", "nesting_kernels"),
        *("scanning_kernels", "layout_kernels", "writing_kernels", "link_kernels"),
        *("row_kernels", "character_kernels", "numbers", "vocabulary"),
    )
)
_NAMES, _MEANINGS = 4 * 512, 3 * 8192
"""Words of the tables of names, and of character references (`page.py`)."""
_SIGNATURES: Final = (
    {
        "outline": f"B[b]nnI[{_NAMES}]B[1]I[1]I[{_NAMES}]B[1]I[1]"
        f"I*[{2 * numbers.MOST_DEPTH}]I*[{2 * numbers.MOST_FORMATTING}]I*[{numbers.ROW}*m]n"
        f"I*[{numbers.ELEMENT}*q]I*[{numbers.ATTRIBUTE}*q]I*[{numbers.ANCHOR}*q]nI*[16]",
    },
    {
        "layout": f"B[0]I[{numbers.ROW}*c]nI[1]I[{_MEANINGS}]B[1]B[0]"
        f"I*[{numbers.FRAME * numbers.MOST_DEPTH}]I*[{numbers.CELL}*j]n"
        f"I*[{numbers.MOST_COLUMNS}]B*[m]nB*[1]I*[2*p]nI*[16]",
        "link_texts": f"B[0]I[1]I[{numbers.ANCHOR}*d]nnnI[{_MEANINGS}]B[1]I*[j+1]nB*[l]nB*[n]n"
        f"B*[1]B*[1]I*[{numbers.KEPT}*d]nI*[{numbers.REFERENCE}*d]I*[16]",
        "write_rows": f"B[1]B[1]I[{numbers.REFERENCE}*d]nI[5*d]B[1]B[1]nI*[j+1]nB*[l]nB*[l]"
        "I*[2*d]B*[d]I*[d]I*[d]I*[d]I*[1]I*[16]",
        "characters_of": f"B[c]nnnI[{_MEANINGS}]B[1]B*[1]",
        "element_texts": f"B[0]I[1]I[3*d]nI[{_MEANINGS}]B[1]B*[h]nB*[j]n",
    },
)
"""In two parts, which compile at the same time, beside the kernel that joins references."""
_MOST_EVENTS, _MOST_ROWS = 1 << 20, 1 << 18
"""Of one page, so that none of whatever size takes more than 150 MB."""
_USUAL_BYTES: Final = 512 * 1024
KEPT_BYTES: Final = 2 * 1024 * 1024
"""Workspaces for pages of these sizes are kept; for a larger page one is made. Two sizes: helpers,
which may map little, read few pages that are not usual."""
_parts: dict[str, Native] = {}
"""By the names of their kernels."""


def natives() -> dict[str, Native]:
    """Return the kernels; compile them if this machine has not done so."""
    if not _parts:
        _load(is_only_loaded=False)
    return _parts


def _load(*, is_only_loaded: bool) -> None:
    """Load the kernels; raise `NotCompiled` if they are not to be compiled and never were."""
    loads = [partial(Native, _MODULES, names) for names in _SIGNATURES]
    _, *parts = at_once(load_joining, *loads, is_only_loaded=is_only_loaded)
    for part, names in zip(parts, _SIGNATURES, strict=True):
        _parts.update(dict.fromkeys(names, part))


def lock_path() -> Path:
    """Return the file that is locked by who compiles: of several crawls on a new machine one."""
    return Path(tempfile.gettempdir()) / f"gossamer-compiling-{os.getuid()}"


class _Loader:
    """The kernels, as soon as this machine has them; another process compiles them meanwhile."""

    def __init__(self) -> None:
        self._is_ready = False
        self._pages = 0
        self._compiler: subprocess.Popen[bytes] | None = None

    def is_ready(self) -> bool:
        """Return True if pages can be read; until then their trees are."""
        if not self._is_ready:
            if _parts:
                self._is_ready = True
            elif self._pages % _PAGES_PER_LOOK == 0:
                self._is_ready = self._look()
            self._pages += 1
        return self._is_ready

    def _look(self) -> bool:
        try:
            _load(is_only_loaded=True)
        except NotCompiled:
            if self._compiler is None:
                self._compiler = _compile_beside()
            else:
                self._compiler.poll()
            return False
        return True


def _compile_beside() -> "subprocess.Popen[bytes] | None":
    """Begin to compile in another process and say so, unless somebody is at it already."""
    with suppress(OSError), lock_path().open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        announce()
        quiet = subprocess.DEVNULL
        return subprocess.Popen(
            [sys.executable, "-m", "gossamer.process.onepass", "--beside"],
            stdin=quiet,
            stdout=quiet,
            stderr=quiet,
            pass_fds=[lock.fileno()],  # it holds the lock from now on
        )
    return None


loader: Final = _Loader()
_PAGES_PER_LOOK: Final = 64


class LinkRoom:
    """Arrays for the links of a page as columns."""

    def __init__(self, page_bytes: int, most_links: int) -> None:
        self.joiner = Joiner()
        self.rows = MappedBytes(8 * page_bytes + 65536)
        self.pages = MappedBytes(8 * page_bytes + 65536)
        self.kinds = MappedBytes(most_links)
        self.ends = MappedWords(2 * most_links)
        self.keys = MappedWords(most_links)
        self.origins = MappedWords(most_links)
        self.lines = MappedWords(most_links)

    def close(self) -> None:
        """Give the memory back."""
        for one in vars(self).values():
            one.close()


class Workspace:
    """Arrays for the reading of one page of up to so many bytes."""

    def __init__(self, page_bytes: int) -> None:
        self.page_bytes = page_bytes
        self.most_events = min(page_bytes // 2, _MOST_EVENTS) + 8192
        self.most_rows = min(page_bytes // 8, _MOST_ROWS) + 1024
        self.stack = MappedWords(2 * numbers.MOST_DEPTH + 16)
        self.formats = MappedWords(2 * numbers.MOST_FORMATTING + 16)
        self.events = MappedWords(numbers.ROW * self.most_events)
        self.elements = MappedWords(numbers.ELEMENT * self.most_rows)
        self.attributes = MappedWords(numbers.ATTRIBUTE * self.most_rows)
        self.anchors = MappedWords(numbers.ANCHOR * self.most_rows)
        self.kept = MappedWords(numbers.KEPT * self.most_rows)
        self.references = MappedWords(numbers.REFERENCE * self.most_rows)
        self.frames = MappedWords(numbers.FRAME * (numbers.MOST_DEPTH + 16))
        self.most_cells = page_bytes // 4 + 1024
        self.cells = MappedWords(numbers.CELL * self.most_cells)
        self.widths = MappedWords(numbers.MOST_COLUMNS + 8)
        self.most_spans = page_bytes // 8 + 64
        self.spans = MappedWords(2 * self.most_spans)
        self.table = MappedWords(1 << 18)
        self.out = MappedWords(16)
        self.text = MappedBytes(4 * page_bytes + 65536)
        self.scratch = MappedBytes(4 * page_bytes + 65536)
        self.hrefs = MappedBytes(2 * page_bytes + 65536)
        self.rels = MappedBytes(2 * page_bytes + 65536)
        self.links = LinkRoom(page_bytes, self.most_rows)
        self._bound: dict[str, Kernel] = {}

    def kernel(self, name: str, given: Callable[["Workspace"], Sequence[object]]) -> Kernel:
        """Return a kernel that works with these arrays: `given` is asked once for its arguments."""
        found = self._bound.get(name)
        if found is None:
            found = self._bound[name] = natives()[name].bound(name, given(self))
        return found

    def close(self) -> None:
        """Give the memory back; a page that was read in it may be known to somebody for long."""
        for one in vars(self).values():
            if isinstance(one, MappedWords | MappedBytes | LinkRoom):
                one.close()


_spare: Final[dict[int, list[Workspace]]] = {_USUAL_BYTES: [], KEPT_BYTES: []}
"""Workspaces that are not in use, by size: as many as such pages were ever read at a time."""


class Lent:
    """A workspace, for as long as a page is read."""

    def __init__(self, page_bytes: int) -> None:
        size = next((size for size in _spare if page_bytes <= size), page_bytes)
        self._kept = _spare.get(size)
        try:
            self._workspace = self._kept.pop() if self._kept else Workspace(size)
        except IndexError:  # another thread was quicker
            self._workspace = Workspace(size)

    def __enter__(self) -> Workspace:
        return self._workspace

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._kept is not None:
            self._kept.append(self._workspace)
        else:
            self._workspace.close()
