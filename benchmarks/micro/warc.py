"""What a page's archive records cost: request and response, then its text, then its links.

Pages of the local real web, sent as gzip; CPU time, the best of some rounds that take turns. Every
member is unpacked and its block digest computed anew. Run it with `make bench-micro ONLY=warc`; the
last line is one JSON object.
"""

import base64
import gzip
import hashlib
import json
import time
from collections.abc import Callable
from random import Random

from _turns import turns
from msgspec.structs import replace as changed

from gossamer.model import Extraction, Turn
from gossamer.store import ArchiveEntry, TurnWriter

PAGES = 300
ROUNDS = 7


def new_writer() -> TurnWriter:
    """Return a writer whose record ids are always the same."""
    return TurnWriter(software="gossamer", rng=Random(1))


def told_less(turn: Turn, *, keeps_text: bool) -> Turn:
    """Return a turn whose page has no links, and maybe no text."""
    assert turn.found is not None
    found = changed(turn.found, links=[]) if keeps_text else Extraction(media_type="text/html")
    return Turn(
        task=turn.task, outcome=turn.outcome, at=turn.at, found=found, fingerprint=turn.fingerprint
    )


def members(entry: ArchiveEntry) -> list[bytes]:
    """Return the packed records of an entry: request, response, text, links."""
    at = entry.page_offset
    return [part for part in (entry.pages[:at], entry.pages[at:], entry.text, entry.links) if part]


def check(entry: ArchiveEntry) -> int:
    """Unpack every record, hold its block against its digest, and return how many there are."""
    packed = members(entry)
    for member in packed:
        header, _, rest = gzip.decompress(member).partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in header.decode("ascii").splitlines()[1:])
        block = rest[: int(fields["Content-Length"])]
        digest = base64.b32encode(hashlib.sha1(block, usedforsecurity=False).digest()).decode()
        assert fields["WARC-Block-Digest"] == f"sha1:{digest}"
        assert rest[len(block) :] == b"\r\n\r\n"
    return len(packed)


def cpu_us(work: Callable[[Turn], ArchiveEntry], given: list[Turn]) -> float:
    """Return the CPU microseconds per turn of one round."""
    began = time.process_time()
    for turn in given:
        work(turn)
    return 1e6 * (time.process_time() - began) / len(given)


def main() -> None:
    """Measure, print a table, end with JSON."""
    whole = turns(PAGES)
    arms = {
        "page": [told_less(turn, keeps_text=False) for turn in whole],
        "page_and_text": [told_less(turn, keeps_text=True) for turn in whole],
        "all": whole,
    }
    entries = [new_writer().entry(turn) for turn in whole]
    records = sum(map(check, entries))
    assert 3 * PAGES <= records <= 4 * PAGES, records
    best = dict.fromkeys(arms, float("inf"))
    writer = new_writer()
    for _ in range(ROUNDS):
        for name, given in arms.items():
            best[name] = min(best[name], cpu_us(writer.entry, given))
    result: dict[str, object] = {
        "page_us": round(best["page"], 1),
        "text_us": round(best["page_and_text"] - best["page"], 1),
        "links_us": round(best["all"] - best["page_and_text"], 1),
        "all_us": round(best["all"], 1),
        "sent_bytes_per_page": sum(t.outcome.document.body.sent_bytes for t in whole) // PAGES,
        "archive_bytes_per_page": sum(entry.size for entry in entries) // PAGES,
        "records_checked": records,
    }
    for name, value in result.items():
        print(f"{name:24} {value:>10}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
