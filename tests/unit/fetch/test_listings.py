"""What ftp servers list: MLSD, LIST as of Unix and of Windows, NLST."""

import pytest

from gossamer.fetch.listings import (
    MAX_ENTRIES,
    EntryKind,
    FolderEntry,
    FolderIds,
    folder_page,
    read_listing,
)

FILE, FOLDER, UNKNOWN = EntryKind.FILE, EntryKind.FOLDER, EntryKind.UNKNOWN


def listed(
    command: str, text: str | bytes, folder: bytes = b"/d/"
) -> list[tuple[bytes, EntryKind]]:
    data = text.encode() if isinstance(text, str) else text
    return [entry[:2] for entry in read_listing(command, data, folder, is_cut=False).entries]


def test_mlsd_names_files_and_folders_and_says_itself_what_they_are() -> None:
    text = (
        "type=cdir;modify=20260101000000; .\r\n"
        "Type=pdir; ..\r\n"
        "type=dir;unique=1g2; a folder\r\n"
        "modify=20260101000000;size=3;type=file; ü 100%.txt\r\n"
        "type=OS.unix=slink:/x; way\r\n"
        "type=OS.unix=chr-1/3; null\r\n"
        "no facts\r\n"
    )
    assert listed("MLSD", text) == [
        (b"a folder", FOLDER),
        ("ü 100%.txt".encode(), FILE),
        (b"way", UNKNOWN),
    ]


@pytest.mark.parametrize(
    ("line", "name", "kind"),
    [
        ("drwxr-xr-x   2 root     root         4096 Nov 16 14:20 pub", b"pub", FOLDER),
        ("-rw-r--r--   1 1000     1000           12 Jan  2  2020 a b.txt", b"a b.txt", FILE),
        ("-rw-r--r--+  1 ftp      ftp             0 Feb 29 00:00  leading", b" leading", FILE),
        ("-rw-r--r--   1 ftp      ftp   1234567890 2026-01-02 03:04 iso.txt", b"iso.txt", FILE),
        ("-rw-r--r--   1 owner    1       9 Mar 03 1999 Jan 01 2000 x", b"Jan 01 2000 x", FILE),
        ("drwxrwxrwx   1 user with blanks  0 5 May 2001 d", b"d", FOLDER),
        ("lrwxrwxrwx   1 root     root    4 Nov 16 14:20 way -> else/where", b"way", UNKNOWN),
        ("-rw-r--r--   1 root     root    4 Nov 16 14:20 not -> a link", b"not -> a link", FILE),
        ("01-02-26  03:04PM       <DIR>          Program Files", b"Program Files", FOLDER),
        ("01-02-2026  03:04AM                  512 a  b.txt", b"a  b.txt", FILE),
        ("2026-01-02  15:04             1,234,567 big.bin", b"big.bin", FILE),
        ("01-02-26  03:04PM       <JUNCTION>     way", b"way", UNKNOWN),
    ],
)
def test_list_is_read_as_of_unix_and_of_windows(line: str, name: bytes, kind: EntryKind) -> None:
    assert listed("LIST", f"total 12\r\n{line}\r\n") == [(name, kind)]


def test_devices_and_pipes_are_no_entries() -> None:
    lines = "crw-rw-rw- 1 root root 1, 3 Nov 16 14:20 null\r\nprw-r--r-- 1 a a 0 Nov 16 14:20 p\r\n"
    assert listed("LIST", lines) == []


@pytest.mark.parametrize("target", [".", "..", "../..", "/", "/d", "/d/", "../d/.", "x/../.."])
def test_a_link_to_a_folder_above_is_left_out(target: str) -> None:
    line = f"lrwxrwxrwx 1 root root 4 Nov 16 14:20 up -> {target}\r\n"
    assert listed("LIST", line) == []


@pytest.mark.parametrize("target", ["../e", "x", "/e", "/d/x", "../d/x"])
def test_a_link_to_elsewhere_is_asked_for(target: str) -> None:
    line = f"lrwxrwxrwx 1 root root 4 Nov 16 14:20 way -> {target}\r\n"
    assert listed("LIST", line) == [(b"way", UNKNOWN)]


def test_nlst_has_names_only_and_sometimes_the_folder_in_front() -> None:
    assert listed("NLST", "a.txt\n/d/b.txt\r\n.\r\n..\r\n") == [
        (b"a.txt", UNKNOWN),
        (b"b.txt", UNKNOWN),
    ]


@pytest.mark.parametrize(
    "name", [b"../../etc/passwd", b"a/b", b"..", b".", b"", b"a\rb", b"x" * 2000]
)
def test_a_name_that_leads_out_of_its_folder_is_no_entry(name: bytes) -> None:
    assert listed("MLSD", b"type=file; " + name + b"\r\n") == []


def test_names_are_bytes_and_are_asked_for_as_they_are() -> None:
    found = read_listing("MLSD", b"type=dir; caf\xe9 50%\r\n", b"/", is_cut=False)
    assert b'<a href="./caf%E9%2050%25/">caf\xc3\xa9 50%/</a>' in folder_page(found.entries)


def test_of_a_list_that_was_cut_the_last_line_does_not_count() -> None:
    found = read_listing("MLSD", b"type=file; a\r\ntype=file; bcd", b"/", is_cut=True)
    assert ([entry.name for entry in found.entries], found.is_cut) == ([b"a"], True)


def test_a_folder_has_so_many_entries_at_most() -> None:
    text = b"".join(b"type=file; %d\r\n" % n for n in range(MAX_ENTRIES + 5))
    found = read_listing("MLSD", text, b"/", is_cut=False)
    assert (len(found.entries), found.is_cut) == (MAX_ENTRIES, True)


def test_a_list_of_which_no_line_can_be_read_is_told_from_an_empty_one() -> None:
    assert read_listing("LIST", b"", b"/", is_cut=False).is_readable
    assert read_listing("LIST", b"total 0\r\n", b"/", is_cut=False).is_readable
    assert not read_listing("LIST", b"What would you like?\r\n", b"/", is_cut=False).is_readable


def folder(name: bytes, unique: bytes) -> FolderEntry:
    return FolderEntry(name, FOLDER, unique)


def test_a_folder_that_is_one_above_it_is_a_loop_and_left_out() -> None:
    ids = FolderIds()
    root = b"ftp://a.test/"
    ids.without_loops(root, [folder(b"a", b"1")])
    assert ids.without_loops(root + b"a/", [folder(b"b", b"2"), folder(b"again", b"1")]) == [
        folder(b"b", b"2")
    ]
    assert ids.without_loops(root + b"a/b/", [folder(b"c", b"1"), folder(b"d", b"3")]) == [
        folder(b"d", b"3")
    ]


def test_a_folder_with_two_names_that_is_no_loop_is_kept_and_so_are_other_servers() -> None:
    ids = FolderIds()
    both = [folder(b"a", b"1"), folder(b"b", b"1")]
    assert ids.without_loops(b"ftp://a.test/", both) == both
    other = [folder(b"x", b"1")]
    assert ids.without_loops(b"ftp://b.test/a/", other) == other


def test_only_so_many_folders_are_remembered() -> None:
    ids = FolderIds(max_paths=1)
    ids.without_loops(b"ftp://a.test/", [folder(b"a", b"1"), folder(b"b", b"2")])
    again = [folder(b"x", b"1")]
    assert ids.without_loops(b"ftp://a.test/a/", again) == again
