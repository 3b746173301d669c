"""The kernels that read pages: compiled ahead, or by another process while trees are read."""

import subprocess
import sys
from typing import Final

from gossamer.native import Kernel, Native, NotCompiled
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
"""In two parts: on a new machine the second is compiled in another process beside the first, and
with it the kernel that joins references."""
_loaded: list[Native] = []
_kernels: dict[str, Kernel] = {}


def natives() -> dict[str, Kernel]:
    """Return the kernels; compile them if this machine has not done so."""
    if not _kernels:
        _load(is_only_loaded=False)
    return _kernels


def _load(*, is_only_loaded: bool) -> None:
    """Load the kernels; raise `NotCompiled` if they are not to be compiled and never were."""
    load_joining(is_only_loaded=is_only_loaded)
    parts = [Native(_MODULES, part, is_only_loaded=is_only_loaded) for part in _SIGNATURES]
    _loaded.extend(parts)
    for part, names in zip(parts, _SIGNATURES, strict=True):
        _kernels.update({name: part[name] for name in names})


def compile_all() -> None:
    """Compile what is not kept on this machine, on two cores."""
    try:
        _load(is_only_loaded=True)
    except NotCompiled:
        command = [sys.executable, "-m", "gossamer.process.onepass", "--second"]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL):  # noqa: S603 -- this program
            Native(_MODULES, _SIGNATURES[0])
        natives()


def compile_second() -> None:
    """Compile the second part."""
    load_joining()
    Native(_MODULES, _SIGNATURES[1])


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
                quiet = subprocess.DEVNULL
                command = [sys.executable, "-m", "gossamer.process.onepass", "--beside"]
                self._compiler = subprocess.Popen(  # noqa: S603 -- this program itself
                    command, stdin=quiet, stdout=quiet, stderr=quiet
                )
            else:
                self._compiler.poll()
            return False
        return True


loader: Final = _Loader()
_PAGES_PER_LOOK: Final = 64
