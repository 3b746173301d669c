"""What a folder on an ftp server holds, read from what the server lists. Pure.

MLSD (RFC 3659) is made for programs. LIST is what a server likes to show people: in practice the
output of `ls -l`, or of `dir` on Windows. NLST has names only. Names are bytes: what a server calls
a file is what it must be asked for, in whatever encoding.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from html import escape
from typing import NamedTuple
from urllib.parse import quote_from_bytes

MAX_ENTRIES = 50_000
"""Of one folder: as many as a page may have links."""
MAX_NAME_BYTES = 1_024
MAX_PATHS = 100_000
"""Folders whose names by MLSD are remembered: about 20 MB."""
_HERE = frozenset({b".", b".."})

_MONTH = rb"[A-Za-z]{3,9}\.?"
_DATE = (
    rb"(?:" + _MONTH + rb"\ +\d{1,2}|\d{1,2}\.?\ +" + _MONTH + rb")\ +(?:\d{1,2}:\d\d|\d{4})"
    rb"|\d{4}-\d\d-\d\d\ +\d\d:\d\d(?::\d\d)?"
)
_UNIX = re.compile(
    rb"(?P<kind>[-dlbcpsD])[A-Za-z-]{9}[^ ]{0,3}\ [^\n]{0,400}?\ (?:" + _DATE + rb")\ (?P<name>.+)",
    re.DOTALL,
)
_DOS = re.compile(
    rb"\d{1,4}[-/.]\d\d[-/.]\d{2,4}\ +\d{1,2}:\d\d(?:\ ?[AaPp][Mm])?\ +"
    rb"(?:<(?P<kind>[A-Z]+)>\ +|[\d,.]+\ )(?P<name>.+)",
    re.DOTALL,
)
_ARROW = b" -> "


class EntryKind(StrEnum):
    """What an entry of a folder is."""

    FILE = "file"
    FOLDER = "folder"
    UNKNOWN = "unknown"
    """A symbolic link, or a bare name: to ask for it is to find out."""


class FolderEntry(NamedTuple):
    """Something in a folder."""

    name: bytes
    kind: EntryKind
    unique: bytes = b""
    """What MLSD calls it wherever it is found: two names of one folder have the same."""


class FolderListing(NamedTuple):
    """What a folder holds."""

    entries: list[FolderEntry]
    is_cut: bool
    """There are more than we take."""
    is_readable: bool = True
    """False if there were lines, and none could be read."""


def read_mlsd(data: bytes, _folder: bytes) -> Iterator[FolderEntry | None]:
    """Give the entries of an answer to MLSD; None for a line that is none."""
    for line in _lines(data):
        facts, blank, name = line.lstrip(b" ").partition(b" ")
        said = _facts(facts) if blank else {}
        match said.get(b"type", b"").lower():
            case b"dir":
                yield FolderEntry(name, EntryKind.FOLDER, said.get(b"unique", b""))
            case b"file":
                yield FolderEntry(name, EntryKind.FILE)
            case b"cdir" | b"pdir":
                yield FolderEntry(b".", EntryKind.FOLDER)
            case other if other.startswith((b"os.unix=slink", b"os.unix=symlink")):
                yield FolderEntry(name, EntryKind.UNKNOWN)
            case b"":
                yield None
            case _:
                pass  # a device


def _facts(facts: bytes) -> dict[bytes, bytes]:
    pairs = (fact.partition(b"=") for fact in facts.split(b";"))
    return {name.lower(): value for name, _, value in pairs}


def read_list(data: bytes, folder: bytes) -> Iterator[FolderEntry | None]:
    """Give the entries of an answer to LIST; None for a line that is none.

    A symbolic link to the folder itself, or to one above it, is left out: it has no end.
    """
    for line in _lines(data):
        if found := _UNIX.fullmatch(line):
            name, _, target = found["name"].partition(_ARROW)
            match found["kind"]:
                case b"d" | b"D":
                    yield FolderEntry(found["name"], EntryKind.FOLDER)
                case b"-":
                    yield FolderEntry(found["name"], EntryKind.FILE)
                case b"l" if not _leads_up(folder, target):
                    yield FolderEntry(name, EntryKind.UNKNOWN)
        elif found := _DOS.fullmatch(line):
            kind = found["kind"]
            is_file, is_folder = kind is None, kind == b"DIR"
            known = EntryKind.FILE if is_file else EntryKind.UNKNOWN
            yield FolderEntry(found["name"], EntryKind.FOLDER if is_folder else known)
        elif not line.startswith(b"total "):
            yield None


def read_nlst(data: bytes, _folder: bytes) -> Iterator[FolderEntry | None]:
    """Give the names of an answer to NLST; some servers put the folder in front of them."""
    for line in _lines(data):
        yield FolderEntry(line.rpartition(b"/")[2], EntryKind.UNKNOWN)


ReadListing = Callable[[bytes, bytes], Iterable[FolderEntry | None]]
COMMANDS: dict[str, ReadListing] = {"MLSD": read_mlsd, "LIST": read_list, "NLST": read_nlst}
"""In the order in which they are tried."""


def read_listing(command: str, data: bytes, folder: bytes, *, is_cut: bool) -> FolderListing:
    """Return what a folder holds; of an answer that was cut, the last line does not count."""
    if is_cut:
        data = data[: data.rfind(b"\n") + 1]
    found: dict[bytes, FolderEntry] = {}
    unread = 0
    for entry in COMMANDS[command](data, folder):
        if entry is None:
            unread += 1
        elif _is_name(entry.name):
            found.setdefault(entry.name, entry)
        if len(found) > MAX_ENTRIES:
            is_cut = True
            break
    entries = list(found.values())[:MAX_ENTRIES]
    return FolderListing(entries, is_cut, bool(entries) or not unread)


def _is_name(name: bytes) -> bool:
    """Return True if a name is one that can be in a folder, and be asked for."""
    is_plain = b"/" not in name and not any(byte < 32 for byte in name)  # noqa: PLR2004 -- control characters
    return 0 < len(name) <= MAX_NAME_BYTES and is_plain and name not in _HERE


def _lines(data: bytes) -> Iterator[bytes]:
    for line in data.split(b"\n"):
        if bare := line.rstrip(b"\r"):
            yield bare


def _leads_up(folder: bytes, target: bytes) -> bool:
    """Return True if a symbolic link in a folder leads to the folder or to one above it."""
    if not target:
        return False
    path: list[bytes] = [] if target.startswith(b"/") else [p for p in folder.split(b"/") if p]
    for part in target.split(b"/"):
        if part == b"..":
            path = path[:-1]
        elif part not in {b"", b"."}:
            path.append(part)
    return [part for part in folder.split(b"/") if part][: len(path)] == path


class FolderIds:
    """What folders are called wherever they are found, by their path: the most recent ones.

    A folder that is one of those above it, under another name, is a loop of links: all that is in
    it is found above. After a restart a loop may be walked once more.
    """

    def __init__(self, max_paths: int = MAX_PATHS) -> None:
        self._max_paths = max_paths
        self._by_path: OrderedDict[bytes, bytes] = OrderedDict()

    def without_loops(self, folder: bytes, entries: Iterable[FolderEntry]) -> list[FolderEntry]:
        """Return the entries of a folder but for those that lead back up, and remember them.

        `folder` begins with the origin and ends with a slash.
        """
        above = {self._by_path.get(path) for path in _ancestors(folder)} - {None}
        kept: list[FolderEntry] = []
        for entry in entries:
            if entry.unique and entry.unique in above:
                continue
            kept.append(entry)
            if entry.unique:
                self._remember(folder + entry.name + b"/", entry.unique)
        return kept

    def _remember(self, path: bytes, unique: bytes) -> None:
        self._by_path.pop(path, None)
        if len(self._by_path) >= self._max_paths:
            self._by_path.popitem(last=False)
        self._by_path[path] = unique


def _ancestors(folder: bytes) -> Iterator[bytes]:
    """Give a folder and those above it."""
    while folder:
        yield folder
        folder = folder[: folder.rfind(b"/", 0, -1) + 1]


def folder_page(entries: Iterable[FolderEntry]) -> bytes:
    """Return a folder as a page of links, in HTML."""
    items = "".join(map(_item, entries))
    return f"<!DOCTYPE html>\n<meta charset=utf-8>\n<ul>\n{items}</ul>\n".encode()


def _item(entry: FolderEntry) -> str:
    slash = "/" if entry.kind is EntryKind.FOLDER else ""
    href = quote_from_bytes(entry.name, safe="")
    return f'<li><a href="./{href}{slash}">{escape(_shown(entry.name))}{slash}</a></li>\n'


def _shown(name: bytes) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        return name.decode("latin-1")
