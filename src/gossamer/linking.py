"""Object files laid out as one image that runs wherever it is mapped: no linker, no loader.

LLVM's objects name symbols and places to be filled in. An image has all of that done: its sections
follow each other, and what one says of another is a distance. What cannot be told that way, or by
this module, is refused; such an object is loaded by LLVM (`native.py`).

Knows ELF for x86-64 (System V ABI, AMD64 supplement, 4.4.1 Relocation Types).
"""

from collections.abc import Iterator, Mapping
from struct import Struct
from typing import Final, NamedTuple

_HEADER: Final = Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = Struct("<IIQQQQIIQQ")
_SYMBOL: Final = Struct("<IBBHQQ")
_RELOCATION: Final = Struct("<QQq")
_SLOT: Final = Struct("<i")
_MAGIC: Final = b"\x7fELF\x02\x01"
_X86_64: Final = 62
_CONTENTS, _SYMBOLS, _RELOCATIONS = 1, 2, 4
"""Types of sections."""
_WRITABLE, _LOADED = 1, 2
"""Flags of sections."""
_DISTANCES: Final = {2, 4}
"""R_X86_64_PC32 and R_X86_64_PLT32: 32 bits, from where they stand."""
_UNWINDING: Final = ".eh_frame"
"""What tells debuggers and exceptions of frames; neither comes here."""


class Image(NamedTuple):
    """Code and constants, and where functions begin."""

    code: bytes
    places: dict[str, int]


class CannotLayOut(Exception):
    """An object asks for what an image cannot have."""


class _Part(NamedTuple):
    """A section of an object."""

    name: str
    kind: int
    flags: int
    start: int
    size: int
    link: int
    about: int
    alignment: int


def image_of(made: bytes, prefix: str) -> Image:
    """Return the image of an object, with the functions whose names begin with a prefix.

    Raise `CannotLayOut` if it needs anything else, or anything that is not known here.
    """
    parts = _parts(made)
    places: dict[int, int] = {}
    image = bytearray()
    for number, part in enumerate(parts):
        if not part.flags & _LOADED or part.name.startswith(_UNWINDING) or not part.size:
            continue
        if part.kind != _CONTENTS or part.flags & _WRITABLE:
            raise CannotLayOut(f"section {part.name}")
        image += bytes(-len(image) % max(1, part.alignment))
        places[number] = len(image)
        image += made[part.start : part.start + part.size]
    for part in parts:
        if part.kind == _RELOCATIONS and part.about in places:
            symbols = list(_symbols(made, parts, parts[part.link]))
            _relocate(image, made, part, places, symbols)
    named = (one for part in parts if part.kind == _SYMBOLS for one in _symbols(made, parts, part))
    return Image(
        bytes(image),
        {
            name: places[section] + value
            for name, section, value in named
            if name.startswith(prefix) and section in places
        },
    )


def _parts(made: bytes) -> list[_Part]:
    """Return the sections of an object."""
    if not made.startswith(_MAGIC):
        raise CannotLayOut("not ELF of 64 bits")
    _, _, machine, _, _, _, start, _, _, _, _, size, count, names = _HEADER.unpack_from(made)
    if machine != _X86_64:
        raise CannotLayOut(f"machine {machine}")
    rows = [_SECTION.unpack_from(made, start + size * number) for number in range(count)]
    return [
        _Part(_text(made, rows[names][4] + name), kind, flags, at, bytes_, link, about, alignment)
        for name, kind, flags, _, at, bytes_, link, about, alignment, _ in rows
    ]


def _symbols(made: bytes, parts: list[_Part], table: _Part) -> Iterator[tuple[str, int, int]]:
    """Return names, sections and values of the symbols of a table."""
    for at in range(table.start, table.start + table.size, _SYMBOL.size):
        name, _, _, section, value, _ = _SYMBOL.unpack_from(made, at)
        yield _text(made, parts[table.link].start + name), section, value


def _relocate(
    image: bytearray,
    made: bytes,
    part: _Part,
    places: Mapping[int, int],
    symbols: list[tuple[str, int, int]],
) -> None:
    """Fill in the distances that a section of an object asks for."""
    for at in range(part.start, part.start + part.size, _RELOCATION.size):
        offset, what, addend = _RELOCATION.unpack_from(made, at)
        name, section, value = symbols[what >> 32]
        if what & 0xFFFFFFFF not in _DISTANCES or section not in places:
            raise CannotLayOut(f"relocation {what & 0xFFFFFFFF} of {name or section}")
        place = places[part.about] + offset
        _SLOT.pack_into(image, place, places[section] + value + addend - place)


def _text(made: bytes, at: int) -> str:
    return made[at : made.index(b"\0", at)].decode()
