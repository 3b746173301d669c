"""The kernels that read pages: compiled ahead, or by another process while trees are read."""

import fcntl
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from gossamer.native import Kernel, Native, NotCompiled, announce, at_once
from gossamer.process.onepass import (
    body_kernels,
    character_kernels,
    layout_kernels,
    link_kernels,
    mode_kernels,
    nesting_kernels,
    numbers,
    outline_kernels,
    row_kernels,
    scanning_kernels,
    vocabulary,
    writing_kernels,
)
from gossamer.urls import load_joining

_MODULES: Final = (
    *(outline_kernels, mode_kernels, body_kernels, nesting_kernels, scanning_kernels),
    *(layout_kernels, writing_kernels, link_kernels, row_kernels, character_kernels),
    *(numbers, vocabulary),
)
_SIGNATURES: Final = (
    {"outline": "BnnIBIIBIIIInIIInI"},
    {
        "layout": "BInIIBBIInIBnBInI",
        "link_texts": "BIInnnIBInBnBnBBInII",
        "write_rows": "BBInIBBnInBnBIBIIIII",
        "characters_of": "BnnnIBB",
        "element_texts": "BIInIBBnBn",
    },
)
"""In two parts, which compile at the same time, beside the kernel that joins references."""
_kernels: dict[str, Kernel] = {}


def natives() -> dict[str, Kernel]:
    """Return the kernels; compile them if this machine has not done so."""
    if not _kernels:
        _load(is_only_loaded=False)
    return _kernels


def _load(*, is_only_loaded: bool) -> None:
    """Load the kernels; raise `NotCompiled` if they are not to be compiled and never were."""
    loads = [partial(Native, _MODULES, names) for names in _SIGNATURES]
    _, *parts = at_once(load_joining, *loads, is_only_loaded=is_only_loaded)
    for part, names in zip(parts, _SIGNATURES, strict=True):
        _kernels.update({name: part[name] for name in names})


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
            if _kernels:
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
