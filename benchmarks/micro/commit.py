"""What it costs to make pages count: records, archive files and one RocksDB batch per group.

Pages of the local real web through the crawl's own ledger, in groups of 1, 8, 32 and 64, without
the frontier; CPU time, the best of some rounds that take turns. Every URL is then read back from
the state, and its page from the archive. Run it with `make bench-micro ONLY=commit`; the last line
is one JSON object.
"""

import json
import shutil
import tempfile
import time
from pathlib import Path
from random import Random

from _turns import turns

from gossamer.config import StoreConfig
from gossamer.crawl.ledger import Ledger
from gossamer.dedupe import ContentSeen
from gossamer.model import Counters, Row, Turn
from gossamer.report import decode_record, url_row_key
from gossamer.store import Archive, CrawlFolder, EndsFile, State, TurnWriter, read_page

PAGES = 320
GROUPS = (1, 8, 32, 64)
ROUNDS = 4
CHECKED = 16
"""One page in so many is read back from the archive."""


class Contents:
    """The fingerprints of contents, as a ledger asks for them."""

    def __init__(self, seen: ContentSeen) -> None:
        self._seen = seen

    def rows_to_commit(self) -> list[Row]:
        """Give the rows that changed."""
        return self._seen.rows_to_commit()

    def committed(self) -> None:
        """Do nothing."""


def open_ledger(root: Path) -> Ledger:
    """Return a ledger on an empty folder."""
    folder = CrawlFolder(root)
    state = State.open(folder.state(0))
    writer = TurnWriter(software="gossamer", rng=Random(1))
    archive = Archive.open(
        folder, 0, 1, StoreConfig(), lambda name: writer.warcinfo(name, 1_700_000_000.0)
    )
    content = ContentSeen(state.get)
    return Ledger(
        state=state,
        archive=archive,
        ends=EndsFile.begin(folder, 0, {}, None),
        writer=writer,
        stations=(Contents(content),),
        remember_content=content.remember,
        forget_content=content.forget,
        offer=lambda _turn, _text: None,
        counters=Counters(),
    )


def commit_all(ledger: Ledger, given: list[Turn], group: int) -> tuple[float, float]:
    """Record and commit turns; return the CPU seconds of all, and of the commits alone."""
    commit_s, began = 0.0, time.process_time()
    for number, turn in enumerate(given, 1):
        ledger.record(turn, turn.at)
        if number % group == 0 or number == len(given):
            before = time.process_time()
            ledger.commit()
            commit_s += time.process_time() - before
    return time.process_time() - began, commit_s


def check(ledger: Ledger, root: Path, given: list[Turn]) -> None:
    """Read every URL's row back, and some of the pages that the rows point at."""
    for number, turn in enumerate(given):
        value = ledger.state.get(url_row_key(turn.task.url.key))
        assert value is not None
        record = decode_record(value)
        ref = record.visits[-1].ref
        assert record.url == turn.task.url.text
        assert ref is not None
        if number % CHECKED == 0:
            page = read_page(CrawlFolder(root), ref)
            assert page.payload == turn.outcome.document.body.sent()


def main() -> None:
    """Measure, print a table, end with JSON."""
    given = list({turn.fingerprint: turn for turn in turns(PAGES)}.values())  # no copies
    best = {group: (float("inf"), float("inf")) for group in GROUPS}
    for _ in range(ROUNDS):
        for group in GROUPS:
            root = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
            try:
                ledger = open_ledger(root)
                best[group] = min(best[group], commit_all(ledger, given, group))
                check(ledger, root, given)
                ledger.archive.close()
                ledger.state.close()
            finally:
                shutil.rmtree(root, ignore_errors=True)
    result: dict[str, object] = {"pages": len(given)}
    for group, (all_s, commit_s) in best.items():
        result[f"us_per_page_groups_of_{group}"] = round(1e6 * all_s / len(given), 1)
        result[f"commit_us_per_page_groups_of_{group}"] = round(1e6 * commit_s / len(given), 1)
        print(
            f"groups of {group:3}: {1e6 * all_s / len(given):8.1f} us a page, "
            f"{1e6 * commit_s / len(given):6.1f} of them in the commit"
        )
    print(json.dumps(result))


if __name__ == "__main__":
    main()
