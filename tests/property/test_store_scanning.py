"""Whatever happens to the bytes of an archive file, every record that was spared is read again."""

import gzip
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from gossamer.store import BadRecord, Record, scan_records
from gossamer.store.warc import END, RecordIds, digest_of, header, pack, pack_stored, pack_stream

Damage: TypeAlias = tuple[str, float, float, int]
"""What is done, where (as a share of the file), to how much of it, and a number for the rest."""

NAME = "pages-00-0001-00000.warc.gz"
BESIDE = "links-00-0001-00000.warc.gz"


def record(ids: RecordIds, n: int, block: bytes, how: str) -> bytes:
    lines = f"WARC-Target-URI: http://one.test/{n}\r\nWARC-Block-Digest: {digest_of(block)}\r\n"
    opening = header("resource", ids.next(), "2026-01-01T00:00:00Z", lines, len(block))
    if how == "stored":
        return pack_stored(opening, block, END)
    if how == "streamed":
        return b"".join(pack_stream([opening, block, END]))
    return pack(opening, block)


def members(seed: int, count: int) -> list[bytes]:
    """Return the members of a file: texts, noise, and pages that are archive files themselves."""
    dice = random.Random(seed)
    ids, others = RecordIds(dice), RecordIds(dice)
    result = []
    for n in range(count):
        text = " ".join(dice.choices(("gossamer", "page", "link", str(n)), k=dice.randrange(300)))
        inner = b"".join(record(others, m, b"inner %d" % m, "packed") for m in range(5))
        block, how = dice.choice(
            [
                (text.encode(), "packed"),
                (text.encode(), "streamed"),
                (dice.randbytes(3000), "packed"),
                (inner, "stored"),
                (b"\x1f\x8b\x08\x00" * 200, "stored"),
                (gzip.compress(b"WARC/1.0 it is not" * 9), "stored"),
            ]
        )
        result.append(record(ids, n, block, how))
    return result


def damaged(whole: bytes, damages: list[Damage]) -> tuple[bytes, list[int]]:
    """Return the bytes after all that was done to them, and where each old byte went; -1: lost."""
    data, origin = bytearray(whole), list(range(len(whole)))
    for kind, where, share, number in damages:
        at = min(int(where * len(data)), len(data) - 1)
        length = max(1, int(share * share * len(data)))
        if not data:
            break
        if kind == "flip":
            data[at] ^= 1 << number % 8
            origin[at] = -1
        elif kind == "zeros":
            until = min(at + length, len(data))
            for place in range(at, until):
                origin[place] = origin[place] if data[place] == 0 else -1
            data[at:until] = bytes(until - at)
        elif kind == "cut":
            del data[at:], origin[at:]
        elif kind == "hole":
            del data[at : at + length], origin[at : at + length]
        else:
            noise = random.Random(number).randbytes(length)
            data[at:at] = noise
            origin[at:at] = [-1] * len(noise)
    return bytes(data), origin


def spared(parts: list[bytes], origin: list[int]) -> dict[int, bytes]:
    """Return the members all of whose bytes are still there and together, by their new place."""
    place = {old: new for new, old in enumerate(origin) if old >= 0}
    result, start = {}, 0
    for part in parts:
        first = place.get(start)
        old = range(start, start + len(part))
        if first is not None and origin[first : first + len(part)] == list(old):
            result[first] = part
        start += len(part)
    return result


DAMAGE = st.tuples(
    st.sampled_from(["flip", "zeros", "cut", "hole", "noise"]),
    st.floats(0, 1, exclude_max=True),
    st.floats(0, 0.4),
    st.integers(0, 1000),
)


@given(st.integers(0, 50), st.integers(1, 12), st.lists(DAMAGE, max_size=4))
@settings(max_examples=examples(300), deadline=None)
def test_every_record_that_was_spared_is_yielded_and_all_else_is_named(
    seed: int, count: int, damages: list[Damage]
) -> None:
    parts = members(seed, count)
    data, origin = damaged(b"".join(parts), damages)
    with TemporaryDirectory() as folder:
        path = Path(folder) / NAME
        path.write_bytes(data)
        (Path(folder) / BESIDE).write_bytes(parts[0])
        found = list(scan_records(path, digests="all"))
        path.write_bytes(b"".join(parts))
        whole = {r.record_id: r.block for r in scan_records(path) if isinstance(r, Record)}
    assert len(whole) == count
    at = 0
    for one in found:
        assert one.offset == at
        at = one.end if isinstance(one, BadRecord) else one.offset + one.length
    assert at == len(data)
    read = {one.offset: one for one in found if isinstance(one, Record)}
    assert spared(parts, origin).keys() <= read.keys()
    assert all(whole.get(one.record_id) == one.block for one in read.values())


def test_a_record_that_a_page_contained_is_not_taken_for_the_first_one(tmp_path: Path) -> None:
    dice = random.Random(7)
    ids, others = RecordIds(dice), RecordIds(dice)
    inner = [record(others, n, b"inner %d" % n, "packed") for n in range(2)]
    parts = [record(ids, 0, b"".join(inner), "stored"), record(ids, 1, b"text", "packed")]
    whole = b"".join(parts)
    path = tmp_path / NAME
    path.write_bytes(whole[whole.index(inner[0]) :])
    (tmp_path / BESIDE).write_bytes(parts[0])
    bad, found = scan_records(path)
    assert isinstance(bad, BadRecord)
    assert bad.found == "a record of another archive, in what is left of a page"
    assert isinstance(found, Record)
    assert found.block == b"text"


def test_a_file_is_read_on_behind_its_first_record_though_nothing_says_whose_it_is(
    tmp_path: Path,
) -> None:
    parts = members(5, 9)
    path = tmp_path / NAME
    path.write_bytes(b"\0" + b"".join(parts)[1:])
    found = [one.offset for one in scan_records(path) if isinstance(one, Record)]
    assert {sum(map(len, parts[:n])) for n in range(1, 9)} <= set(found)


def test_a_bad_record_is_named_with_its_url_where_its_header_can_be_read(tmp_path: Path) -> None:
    parts = members(3, 6)
    path = tmp_path / NAME
    for n, part in enumerate(parts):
        bad = bytearray(b"".join(parts))
        start = sum(map(len, parts[:n]))
        bad[start + len(part) - 6] ^= 1  # in the checksum
        path.write_bytes(bad)
        (named,) = [one for one in scan_records(path) if isinstance(one, BadRecord)]
        assert (named.offset, named.end) == (start, start + len(part))
        assert named.url == f"http://one.test/{n}"


def test_a_block_that_is_not_kept_is_still_compared_with_its_digest(tmp_path: Path) -> None:
    ids = RecordIds(random.Random(1))
    block = random.Random(2).randbytes(5_000_000)
    path = tmp_path / NAME
    path.write_bytes(record(ids, 0, block, "streamed"))
    (whole,) = scan_records(path, digests="all", kept_bytes=10)
    assert isinstance(whole, Record)
    assert whole.block == block[:10]
    lines = "WARC-Target-URI: http://one.test/\r\nWARC-Block-Digest: sha1:OTHER\r\n"
    opening = header("resource", ids.next(), "2026-01-01T00:00:00Z", lines, len(block))
    path.write_bytes(pack(opening, block))
    (bad,) = scan_records(path, digests="block", kept_bytes=10)
    assert isinstance(bad, BadRecord)
    assert "digest" in bad.found
