"""The ledger: archive before rows, rows before leases; a commit that fails has not happened."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.crawl.harness import (
    Body,
    Books,
    RevisitResult,
    document,
    failed,
    fetched,
    open_books,
    redirected,
    refused,
    task_of,
    url,
)

from gossamer.crawl.ledger import DISORDER_S, judgement
from gossamer.errors import CannotGoOn
from gossamer.model import (
    CopyOf,
    Counters,
    Extraction,
    Failed,
    FailureKind,
    Link,
    LinkKind,
    RefusalKind,
    StoreRef,
    Turn,
    UrlState,
    Visit,
)
from gossamer.report import COUNTERS, url_row_key
from gossamer.store import (
    ROW_PREFIX,
    Ends,
    StateEnd,
    iter_links,
    iter_pages,
    read_ends,
    read_file_row,
)

A, B, C, D = (f"http://a.test/{name}" for name in "abcd")
SYNC = ["sync archive", "sync state", "write ends"]
COMMIT = ["append", "write", "committed"]


@pytest.fixture
def books(tmp_path: Path) -> Books:
    return open_books(tmp_path)


def committed_lengths(books: Books) -> dict[str, int]:
    """Return how much of each archive file counts, by its kind, as the state has it."""
    rows = [read_file_row(key, value) for key, value in books.state.scan(ROW_PREFIX)]
    return {name.partition("-")[0]: row.length for name, row in rows}


def stored_pages(books: Books) -> list[str]:
    """Return the URLs of all pages in the archive, in order."""
    folder = books.disk.folder
    paths = [folder.archive / name.file_name for name in folder.archive_names(kind="pages")]
    return [page.url for path in paths for page in iter_pages(path)]


def linked(books: Books) -> list[tuple[str, str]]:
    """Return URL and outcome of all records of the links archive, in order."""
    return [(record.url, record.outcome) for _, record in iter_links(books.disk.folder)]


def with_history(books: Books, text: str, count: int, **facts: Any) -> None:
    """Let a page have been visited so many times before."""
    first = fetched(text, b"first", at=0.0, fingerprint=1, words=2)
    books.commit(first)
    record = books.of(text)
    ref = record.visits[-1].ref
    record.visits = [Visit(float(at), "archived", "", 200, ref) for at in range(count)]
    for name, value in facts.items():
        setattr(record, name, value)
    key = url_row_key(url(text).key)
    books.state.write([(key, books.encode(record))])
    books.events.clear()


# Order


def test_the_archive_is_appended_before_the_batch_and_leases_go_after_it(books: Books) -> None:
    books.commit(fetched(A))
    assert books.events == COMMIT


def test_when_leases_are_released_the_whole_batch_can_be_read(books: Books) -> None:
    books.stations.waiting = [(b"lease", b"1"), (b"letter", b"2")]
    books.add_rows((b"extra", b"3"))
    books.commit(fetched(A))
    (readable,) = books.stations.committed_rows
    assert readable >= {b"lease", b"letter", b"extra", COUNTERS, url_row_key(url(A).key)}


def test_a_commit_is_one_batch(books: Books) -> None:
    books.stations.waiting = [(b"lease", b"1")]
    books.add_rows((b"extra", b"3"))
    books.commit(fetched(A), fetched(B, b"other"))
    (batch,) = books.state.batches
    keys = [key for key, _ in batch]
    assert len(keys) == len(set(keys))
    assert {b"lease", b"extra", COUNTERS} <= set(keys)
    assert {url_row_key(url(text).key) for text in (A, B)} <= set(keys)
    assert sum(key.startswith(ROW_PREFIX) for key in keys) == 3


def test_rows_of_stations_come_after_the_extra_ones_so_that_the_newer_wins(books: Books) -> None:
    books.add_rows((b"row", b"older"))
    books.stations.waiting = [(b"row", b"newer")]
    books.commit()
    assert books.state.rows[b"row"] == b"newer"


def test_nothing_is_written_before_the_commit(books: Books) -> None:
    books.record(fetched(A))
    assert books.events == []
    assert books.state.rows == {}
    assert books.disk.sizes() == {}


def test_a_commit_without_entries_leaves_the_archive_alone(books: Books) -> None:
    books.stations.waiting = [(b"lease", b"1")]
    books.commit()
    assert books.events == ["write", "committed"]
    assert books.state.rows.keys() == {b"lease", COUNTERS}


def test_what_was_committed_is_not_committed_again(books: Books) -> None:
    books.plant(A)
    books.add_rows((b"extra", b"1"))
    books.commit(fetched(B))
    books.commit()
    assert books.events == [*COMMIT, "write", "committed"]
    assert {key for key, _ in books.state.batches[1]} == {
        COUNTERS,
        *(key for key, _ in books.state.scan(ROW_PREFIX)),
    }
    assert stored_pages(books) == [B]
    assert linked(books) == [(A, "seed"), (B, "fetched")]


def test_the_state_says_how_long_the_archive_files_are(books: Books) -> None:
    books.commit(fetched(A))
    assert committed_lengths(books) == books.disk.sizes()
    books.commit(fetched(B, b"other"))
    assert committed_lengths(books) == books.disk.sizes()


# Sync policy


def test_with_sync_each_a_commit_is_durable_before_it_counts(tmp_path: Path) -> None:
    books = open_books(tmp_path, sync="each")
    books.commit(fetched(A))
    assert books.events == ["append", "write", *SYNC, "committed"]


@pytest.mark.parametrize("sync", ["second", "never"])
def test_with_another_policy_no_commit_waits_for_the_disk(tmp_path: Path, sync: str) -> None:
    books = open_books(tmp_path, sync=sync)
    books.commit(fetched(A))
    assert books.events == COMMIT


def test_the_archive_is_synced_before_the_state_that_counts_it(books: Books) -> None:
    books.commit(fetched(A))
    books.events.clear()
    books.ledger.sync()
    assert books.events == SYNC


def test_the_ends_say_what_was_committed_before_the_disk_was_asked(books: Books) -> None:
    books.commit(fetched(A))
    assert read_ends(books.disk.folder) == Ends(lengths={}, states={})
    books.ledger.sync()
    ends = read_ends(books.disk.folder)
    lengths = {name.partition("-")[0]: n for name, n in ends.lengths.items()}
    assert lengths == committed_lengths(books)
    assert ends.states == {0: StateEnd("dict", 1)}
    books.commit(fetched(B, b"other"))
    assert read_ends(books.disk.folder) == ends


def test_the_ends_do_not_claim_what_is_committed_while_the_disk_is_asked(books: Books) -> None:
    books.commit(fetched(A))
    before = committed_lengths(books)
    books.state.meanwhile = lambda: books.commit(fetched(B, b"other"))
    books.ledger.sync()
    claimed = {
        name.partition("-")[0]: n for name, n in read_ends(books.disk.folder).lengths.items()
    }
    assert claimed == before
    assert read_ends(books.disk.folder).states == {0: StateEnd("dict", 1)}
    assert committed_lengths(books) != before


def test_the_ends_claim_nothing_that_the_state_did_not_bring_to_the_disk(books: Books) -> None:
    books.commit(fetched(A))
    books.state.failing_syncs = 1
    with pytest.raises(CannotGoOn):
        books.ledger.sync()
    assert read_ends(books.disk.folder) == Ends(lengths={}, states={})


def test_a_group_that_was_undone_is_in_no_ends(books: Books) -> None:
    books.commit(fetched(A))
    before = committed_lengths(books)
    books.state.refusals = 1
    with pytest.raises(CannotGoOn):
        books.commit(fetched(B, b"other"))
    books.ledger.sync()
    claimed = {
        name.partition("-")[0]: n for name, n in read_ends(books.disk.folder).lengths.items()
    }
    assert claimed == before


@pytest.mark.parametrize("sync", ["each", "second", "never"])
def test_at_the_end_everything_is_durable_and_the_ends_say_so_last(
    tmp_path: Path, sync: str
) -> None:
    books = open_books(tmp_path, sync=sync)
    books.commit(fetched(A))
    books.events.clear()
    books.close()
    assert books.events == ["close archive", "write", "sync state", "write ends"]
    claimed = {
        name.partition("-")[0]: n for name, n in read_ends(books.disk.folder).lengths.items()
    }
    assert claimed == committed_lengths(books) == books.disk.sizes()
    assert read_ends(books.disk.folder).states == {0: StateEnd("dict", 2)}


# A commit that fails


def test_a_batch_that_fails_cuts_the_archive_back(books: Books) -> None:
    books.commit(fetched(A))
    before = books.disk.sizes()
    rows = dict(books.state.rows)
    books.state.refusals = 1
    books.events.clear()
    with pytest.raises(CannotGoOn, match="no space left for rows"):
        books.commit(fetched(B, b"other"))
    assert books.events == ["append", "write refused", "undo"]
    assert books.disk.sizes() == before == committed_lengths(books)
    assert books.state.rows == rows
    assert len(books.stations.committed_rows) == 1


def test_a_first_batch_that_fails_leaves_no_file(books: Books) -> None:
    books.state.refusals = 1
    with pytest.raises(CannotGoOn):
        books.commit(fetched(A))
    assert books.disk.sizes() == {}
    assert books.state.rows == {}


def test_a_clean_close_after_a_failed_commit_counts_what_was_committed_only(books: Books) -> None:
    books.commit(fetched(A))
    lengths = committed_lengths(books)
    books.state.refusals = 1
    with pytest.raises(CannotGoOn):
        books.commit(fetched(B, b"other"))
    books.close()
    assert committed_lengths(books) == lengths == books.disk.sizes()
    assert stored_pages(books) == [A]


@pytest.mark.parametrize("error", [RuntimeError("a bug"), KeyboardInterrupt()])
def test_whatever_fails_between_archive_and_batch_is_undone(
    books: Books, error: BaseException
) -> None:
    books.stations.error = error
    with pytest.raises(type(error)):
        books.commit(fetched(A))
    assert books.events == ["append", "undo"]
    assert books.disk.sizes() == {}
    assert books.stations.committed_rows == []


def test_a_disk_that_fills_up_inside_a_group_leaves_none_of_it(books: Books) -> None:
    books.disk.refuses = "links"
    with pytest.raises(CannotGoOn, match="No space left on device"):
        books.commit(fetched(A))
    assert books.events == ["append"]
    assert books.disk.sizes() == {}
    assert books.state.rows == {}
    assert books.stations.committed_rows == []


@pytest.mark.parametrize("what", ["batch", "archive"])
def test_after_a_failure_the_next_commit_writes_everything_once(books: Books, what: str) -> None:
    books.plant("http://seed.test/")
    books.add_rows((b"extra", b"1"))
    books.record(fetched(A, fingerprint=5), failed(B), fetched(C, b"other"))
    books.disk.refuses = "links" if what == "archive" else ""
    books.state.refusals = int(what == "batch")
    with pytest.raises(CannotGoOn):
        books.commit()
    books.disk.refuses = ""
    books.commit()
    assert stored_pages(books) == [A, C]
    assert linked(books) == [
        ("http://seed.test/", "seed"),
        (A, "fetched"),
        (C, "fetched"),
        (B, "failed"),
    ]
    assert books.state.rows[b"extra"] == b"1"
    assert [len(books.of(text).visits) for text in (A, B, C)] == [1, 1, 1]
    assert (books.stored(A).payload, books.stored(C).payload) == (b"hello", b"other")
    assert (books.state.totals().pages, books.state.totals().failed) == (2, {"connect_failed": 1})
    assert len(books.stations.committed_rows) == 1
    assert committed_lengths(books) == books.disk.sizes()


def test_a_group_that_failed_is_still_due(books: Books) -> None:
    books.record(fetched(A))
    books.state.refusals = 1
    with pytest.raises(CannotGoOn):
        books.commit()
    assert books.ledger.is_due(books.now + 1.0, wait_s=1.0)
    books.make_urgent()
    books.state.refusals = 1
    with pytest.raises(CannotGoOn):
        books.commit()
    assert books.ledger.is_due(books.now, wait_s=1.0)


def test_a_failed_commit_that_appended_nothing_cuts_nothing_back(books: Books) -> None:
    books.commit(fetched(A))
    before = books.disk.sizes()
    books.state.refusals = 1
    with pytest.raises(CannotGoOn):
        books.commit(failed(B, retry_at=200.0))
    assert books.disk.sizes() == before == committed_lengths(books)
    assert stored_pages(books) == [A]


def test_rows_that_the_stations_gave_to_a_failed_commit_are_in_the_next_one(books: Books) -> None:
    books.stations.waiting = [(b"lease", b"1"), (b"clock", b"old")]
    books.state.refusals = 1
    with pytest.raises(CannotGoOn):
        books.commit(fetched(A, fingerprint=5))
    books.stations.waiting = [(b"clock", b"new")]
    books.commit()
    assert (books.state.rows[b"lease"], books.state.rows[b"clock"]) == (b"1", b"new")
    assert original_of(books, 5) == A


def test_bytes_that_were_cut_back_are_not_counted(books: Books) -> None:
    books.commit(fetched(A))
    books.state.refusals = 2
    for _ in range(2):
        with pytest.raises(CannotGoOn):
            books.commit()
    books.record(fetched(B, b"other"))
    books.state.refusals = 2
    for _ in range(2):
        with pytest.raises(CannotGoOn):
            books.commit()
    books.commit()
    assert books.state.totals().archive_bytes == sum(books.disk.sizes().values())


def test_a_commit_whose_sync_fails_has_not_released_anything_and_is_not_written_twice(
    tmp_path: Path,
) -> None:
    books = open_books(tmp_path, sync="each")
    books.state.failing_syncs = 1
    with pytest.raises(CannotGoOn, match="does not answer"):
        books.commit(fetched(A))
    assert books.stations.committed_rows == []
    books.commit()
    assert len(books.stations.committed_rows) == 1
    assert stored_pages(books) == [A]
    assert committed_lengths(books) == books.disk.sizes()


# Positions in the archive


def test_each_record_says_where_its_page_lies(books: Books) -> None:
    pages = {text: f"this is {text}".encode() for text in (A, B, C)}
    books.commit(*(fetched(text, body) for text, body in pages.items()))
    for text, body in pages.items():
        page = books.stored(text)
        assert (page.url, page.payload) == (text, body)
        assert page.warc_headers["warc-type"] == "response"


def test_a_place_is_exactly_the_record(books: Books) -> None:
    books.commit(fetched(A), fetched(B, b"other"))
    folder = books.disk.folder
    (name,) = folder.archive_names(kind="pages")
    pages = {page.url: page.ref for page in iter_pages(folder.archive / name.file_name)}
    assert {text: books.of(text).stored for text in (A, B)} == pages


def test_entries_of_seeds_in_the_same_group_shift_no_place(books: Books) -> None:
    books.plant("http://s1.test/", "http://s2.test/")
    books.commit(fetched(A), fetched(B, b"other"))
    assert (books.stored(A).url, books.stored(B).url) == (A, B)
    assert books.stored(B).payload == b"other"


def test_turns_that_store_nothing_shift_no_place(books: Books) -> None:
    books.commit(
        failed(A, retry_at=200.0),
        fetched(B, b"bee"),
        refused(C),
        failed("http://a.test/x", retry_at=200.0),
        fetched(D, b"dee"),
    )
    assert (books.stored(B).payload, books.stored(D).payload) == (b"bee", b"dee")
    assert (books.of(A).stored, books.of(C).stored) == (None, None)


def test_places_go_on_in_later_groups_and_files(tmp_path: Path) -> None:
    books = open_books(tmp_path, file_bytes=1)
    for text in (A, B, C):
        books.commit(fetched(text, text.encode()))
    refs = [books.of(text).stored for text in (A, B, C)]
    assert len({ref.file for ref in refs if ref is not None}) == 3
    assert [books.stored(text).payload for text in (A, B, C)] == [t.encode() for t in (A, B, C)]


def test_a_place_after_a_failed_commit_is_that_of_the_second_try(books: Books) -> None:
    books.record(fetched(A))
    books.state.refusals = 1
    with pytest.raises(CannotGoOn):
        books.commit()
    books.plant(*(f"http://s{number}.test/" for number in range(3)))
    books.commit(fetched(B, b"other"))
    assert (books.stored(A).payload, books.stored(B).payload) == (b"hello", b"other")


def test_the_page_of_an_error_is_kept_and_its_place_noted(books: Books) -> None:
    gone = document(A, b"no such page", 404)
    books.commit(failed(A, FailureKind.NOT_FOUND, document=gone))
    assert books.stored(A).payload == b"no such page"
    (visit,) = books.of(A).visits
    assert (visit.state, visit.reason, visit.status) == ("failed", "not_found", 404)


def test_the_place_is_the_only_thing_that_a_commit_adds_to_a_visit(books: Books) -> None:
    books.commit(fetched(A, at=123.0))
    (visit,) = books.of(A).visits
    assert visit == Visit(123.0, "archived", "", 200, visit.ref)
    assert isinstance(visit.ref, StoreRef)


# Originals and copies


def original_of(books: Books, fingerprint: int) -> str:
    first = books.content.first_copy(fingerprint)
    return first.url if first is not None else ""


def test_the_first_page_of_a_content_is_remembered_with_its_record(books: Books) -> None:
    books.commit(fetched(A, fingerprint=5, document=document(A, b"hello", fetched_at=42.0)))
    first = books.content.first_copy(5)
    headers = books.stored(A).warc_headers
    assert first == CopyOf(A, headers["warc-record-id"], headers["warc-payload-digest"], 42.0)


def test_it_is_remembered_before_its_commit_so_that_a_copy_in_the_same_group_is_one(
    books: Books,
) -> None:
    books.record(fetched(A, fingerprint=5))
    books.record(fetched(B, fingerprint=5, copy_of=books.content.first_copy(5)))
    books.commit()
    assert books.stored(B).warc_headers["warc-type"] == "revisit"
    assert books.stored(B).warc_headers["warc-refers-to-target-uri"] == A
    assert books.of(B).copy_of == A
    assert original_of(books, 5) == A


def test_a_copy_that_was_stored_in_full_is_still_no_original(books: Books) -> None:
    books.commit(fetched(A, fingerprint=5))
    first = books.content.first_copy(5)
    books.commit(fetched(B, b"the same, sent in another coding", fingerprint=5, copy_of=first))
    assert books.stored(B).warc_headers["warc-type"] == "response"
    assert original_of(books, 5) == A


def test_a_revisit_of_itself_is_not_taken_as_an_original(books: Books) -> None:
    with_history(books, A, 1)
    first = books.content.first_copy(1)
    again = fetched(
        A,
        b"first",
        fingerprint=1,
        words=2,
        copy_of=first,
        revisit=RevisitResult.UNCHANGED,
        at=200.0,
    )
    books.commit(again)
    assert books.disk.page(last_ref(books, A)).warc_headers["warc-type"] == "revisit"
    assert books.content.first_copy(1) == first


def last_ref(books: Books, text: str) -> StoreRef:
    ref = books.of(text).visits[-1].ref
    assert ref is not None
    return ref


def test_a_page_stored_anew_in_full_is_the_new_original_of_its_content(books: Books) -> None:
    with_history(books, A, 1)
    first = books.content.first_copy(1)
    books.commit(
        fetched(A, b"other bytes", fingerprint=1, copy_of=first, revisit=RevisitResult.UNCHANGED)
    )
    record_id = books.stored(A).warc_headers["warc-record-id"]
    new = books.content.first_copy(1)
    assert new is not None
    assert new.record_id == record_id


def test_a_content_without_a_fingerprint_is_not_remembered(books: Books) -> None:
    books.commit(fetched(A))
    assert not any(True for _ in books.state.scan(b"x"))


def test_only_pages_are_originals(books: Books) -> None:
    books.commit(
        redirected(A, B, fingerprint=5),
        failed(C, FailureKind.NOT_FOUND, document=document(C, b"x", 404), fingerprint=6),
    )
    assert (original_of(books, 5), original_of(books, 6)) == ("", "")


def test_a_page_that_is_tried_again_is_no_original(books: Books) -> None:
    books.commit(fetched(A, fingerprint=5, retry_at=300.0))
    assert original_of(books, 5) == ""
    assert stored_pages(books) == []


# Pages that were visited before


def test_a_changed_page_lets_go_of_its_old_content(books: Books) -> None:
    with_history(books, A, 1)
    books.commit(fetched(A, b"second", fingerprint=7, words=8, revisit=RevisitResult.CHANGED))
    assert (original_of(books, 1), original_of(books, 7)) == ("", A)
    assert (books.of(A).fingerprint, books.of(A).words) == (7, 8)
    assert books.stored(A).payload == b"second"
    assert books.of(A).page is None


def test_a_page_that_is_gone_lets_go_of_its_content_and_keeps_its_place(books: Books) -> None:
    with_history(books, A, 2)
    place = books.of(A).stored
    gone = document(A, b"gone", 410)
    books.commit(failed(A, FailureKind.GONE, revisit=RevisitResult.GONE, document=gone))
    record = books.of(A)
    assert (record.state, original_of(books, 1)) == (UrlState.GONE, "")
    assert record.stored == place
    assert linked(books)[-1] == (A, "gone")


def test_content_of_another_page_is_not_forgotten_with_a_copy_of_it(books: Books) -> None:
    books.commit(fetched(A, b"first", fingerprint=1))
    books.commit(fetched(B, b"first", fingerprint=1, copy_of=books.content.first_copy(1)))
    books.commit(fetched(B, b"changed", fingerprint=9, revisit=RevisitResult.CHANGED))
    assert original_of(books, 1) == A


def test_an_unchanged_page_keeps_the_place_of_its_content(books: Books) -> None:
    with_history(books, A, 1)
    place = books.of(A).stored
    first = books.content.first_copy(1)
    same = fetched(A, b"first", fingerprint=1, copy_of=first, revisit=RevisitResult.UNCHANGED)
    books.commit(same)
    record = books.of(A)
    assert record.stored == place
    assert record.visits[-1].ref != place
    assert [visit.state for visit in record.visits] == ["archived", "unchanged"]
    assert linked(books)[-1] == (A, "unchanged")


def test_an_unchanged_page_that_came_in_other_bytes_lies_at_its_new_place(books: Books) -> None:
    with_history(books, A, 1)
    first = books.content.first_copy(1)
    books.commit(
        fetched(A, b"other bytes", fingerprint=1, copy_of=first, revisit=RevisitResult.UNCHANGED)
    )
    record = books.of(A)
    assert record.page is None
    assert record.stored == record.visits[-1].ref
    assert books.stored(A).payload == b"other bytes"


@pytest.mark.parametrize(
    "turn",
    [
        fetched(A, b"x", words=2, fingerprint=9, revisit=RevisitResult.SAME_WORDS),
        failed(
            A, FailureKind.NOT_FOUND, revisit=RevisitResult.MISSING, document=document(A, b"-", 404)
        ),
        failed(A, revisit=RevisitResult.NO_ANSWER, retry_at=500.0),
        refused(A, revisit=RevisitResult.NO_ANSWER, retry_at=500.0),
    ],
    ids=["same words", "missing", "no answer", "refused"],
)
def test_a_visit_that_found_nothing_to_store_stores_nothing(books: Books, turn: Turn) -> None:
    with_history(books, A, 1)
    place = books.of(A).stored
    books.commit(turn)
    record = books.of(A)
    assert books.events == ["write", "committed"]
    assert (record.stored, record.visits[-1].ref) == (place, None)
    assert record.state is UrlState.ARCHIVED
    assert original_of(books, 1) == A


def test_a_visit_to_a_page_that_we_have_counts_as_a_look_and_as_no_page(books: Books) -> None:
    with_history(books, A, 1)
    books.commit(
        fetched(A, b"second", fingerprint=7, revisit=RevisitResult.CHANGED, refused={"too_deep": 2})
    )
    totals = books.state.totals()
    assert (totals.pages, totals.looks, totals.changed) == (1, 1, 1)
    assert totals.refused == {"too_deep": 2}


# History


def test_eight_visits_are_kept_the_newest_of_them(books: Books) -> None:
    with_history(books, A, 8)
    books.commit(fetched(A, b"second", fingerprint=7, revisit=RevisitResult.CHANGED, at=99.0))
    assert [visit.at for visit in books.of(A).visits] == [1, 2, 3, 4, 5, 6, 7, 99]


def test_fewer_visits_are_all_kept(books: Books) -> None:
    with_history(books, A, 7)
    books.commit(fetched(A, b"second", fingerprint=7, revisit=RevisitResult.CHANGED, at=99.0))
    assert [visit.at for visit in books.of(A).visits] == [0, 1, 2, 3, 4, 5, 6, 99]


def test_a_page_whose_visits_are_forgotten_still_knows_its_place(books: Books) -> None:
    with_history(books, A, 1)
    place = books.of(A).stored
    for at in range(12):
        books.commit(failed(A, revisit=RevisitResult.NO_ANSWER, retry_at=500.0, at=float(at)))
    assert len(books.of(A).visits) == 8
    assert books.of(A).stored == place


def test_tries_that_failed_are_part_of_the_history_of_a_url(books: Books) -> None:
    books.commit(failed(A, FailureKind.DISCONNECTED, at=1.0, retry_at=5.0))
    books.commit(fetched(A, at=6.0, task=task_of(A, attempt=1)))
    record = books.of(A)
    assert [(v.at, v.state, v.reason, v.status) for v in record.visits] == [
        (1.0, "waiting", "disconnected", 0),
        (6.0, "archived", "", 200),
    ]
    assert record.attempts == 2


def test_tries_without_end_leave_eight_visits(books: Books) -> None:
    for attempt in range(20):
        task = task_of(A, attempt=attempt)
        books.commit(
            failed(A, FailureKind.DNS_UNREACHABLE, at=float(attempt), retry_at=99.0, task=task)
        )
    assert [visit.at for visit in books.of(A).visits] == list(range(12, 20))


def test_when_a_url_was_first_asked_for_is_known_though_that_visit_is_no_longer_kept(
    books: Books,
) -> None:
    for attempt in range(20):
        task = task_of(A, attempt=attempt)
        at = 10.0 + attempt
        books.commit(failed(A, FailureKind.DNS_UNREACHABLE, at=at, retry_at=99.0, task=task))
        assert books.of(A).asked_at == 10.0


def test_a_first_try_has_no_history(books: Books) -> None:
    with_history(books, A, 3)
    books.commit(fetched(A, at=50.0))
    assert [visit.at for visit in books.of(A).visits] == [50.0]
    assert books.of(A).asked_at == 50.0


def test_a_second_try_of_a_url_without_a_record_begins_its_history(books: Books) -> None:
    books.commit(fetched(A, at=50.0, task=task_of(A, attempt=1)))
    assert [visit.at for visit in books.of(A).visits] == [50.0]


# Dates


def marked(books: Books, text: str, at: float) -> bool:
    """Commit a page that was fetched at a moment; return True if its date is marked."""
    books.commit(fetched(text, document=document(text, fetched_at=at)))
    return "the clock was set back: an earlier record is of " in books.of(text).detail


def test_a_page_that_is_dated_before_what_was_stored_is_marked(books: Books) -> None:
    assert not marked(books, A, 10_000.0)
    assert marked(books, B, 6_400.0)
    assert "1970-01-01T02:46:40" in books.of(B).detail
    assert books.state.totals().latest_at == 10_000.0
    assert not marked(books, C, 10_001.0)


def test_that_the_clock_was_set_back_is_logged_once_until_it_is_right_again(
    books: Books, caplog: pytest.LogCaptureFixture
) -> None:
    for text, at in ((A, 10_000.0), (B, 6_400.0), (C, 6_401.0), (D, 10_001.0)):
        marked(books, text, at)
    told = [record.getMessage() for record in caplog.records]
    assert ["clock.set_back" in words for words in told] == [True]
    marked(books, A, 6_402.0)
    assert len(caplog.records) == 2


def test_each_commit_that_happened_is_timed(books: Books) -> None:
    timings = books.ledger.observer.timings
    books.commit(fetched(A))
    books.commit(fetched(B), fetched(C))
    assert (sum(timings.commits.counts), sum(timings.fetches.counts)) == (2, 3)


def test_answers_that_end_a_little_out_of_order_are_not_marked(books: Books) -> None:
    assert not marked(books, A, 10_000.0)
    assert not marked(books, B, 10_000.0 - DISORDER_S)
    assert books.state.totals().latest_at == 10_000.0


def test_a_slow_answer_counts_by_its_end(books: Books) -> None:
    assert not marked(books, A, 10_000.0)
    slow = document(B, fetched_at=9_000.0)
    slow.latency_s = 1_000.0
    books.commit(fetched(B, document=slow))
    assert books.of(B).detail == ""


# What is written down about a URL


def test_a_failure_that_is_tried_again_is_waiting_and_leaves_no_record_in_the_archive(
    books: Books,
) -> None:
    books.commit(failed(A, FailureKind.HTTP_5XX, retry_at=160.0, detail="502"))
    record = books.of(A)
    assert (record.state, record.reason, record.detail) == (UrlState.WAITING, "http_502", "502")
    assert (record.retry_at, record.attempts) == (160.0, 1)
    assert books.events == ["write", "committed"]
    totals = books.state.totals()
    assert (totals.failed, totals.retries) == ({}, {"http_502": 1})


def test_a_failure_that_is_final_is_failed(books: Books) -> None:
    books.commit(failed(A, FailureKind.HTTP_5XX, task=task_of(A, attempt=3)))
    record = books.of(A)
    assert (record.state, record.reason, record.retry_at) == (UrlState.FAILED, "http_5xx", None)
    assert record.attempts == 4
    totals = books.state.totals()
    assert (totals.failed, totals.retries) == ({"http_5xx": 1}, {})
    assert linked(books) == [(A, "failed")]


def test_a_refusal_is_no_attempt(books: Books) -> None:
    books.commit(refused(A, detail="line 3: Disallow: /", task=task_of(A, attempt=2)))
    record = books.of(A)
    assert (record.state, record.reason) == (UrlState.REFUSED, "robots_disallowed")
    assert (record.detail, record.attempts) == ("line 3: Disallow: /", 2)
    assert record.visits == [Visit(100.0, "refused", "robots_disallowed", 0)]
    assert linked(books) == [(A, "refused")]


def test_a_redirect_says_where_it_leads(books: Books) -> None:
    link = Link(target=url(B), kind=LinkKind.REDIRECT)
    books.commit(redirected(A, "b", found=Extraction(links=[link])), redirected(C, "/raw"))
    record = books.of(A)
    assert (record.state, record.reason) == (UrlState.REDIRECTED, "redirect")
    assert (record.target, books.of(C).target) == (B, "/raw")
    assert (record.attempts, record.visits[0].status) == (1, 301)


def test_a_redirect_whose_reading_found_no_link_says_what_the_server_said(books: Books) -> None:
    books.commit(redirected(A, "/raw", found=Extraction()))
    assert books.of(A).target == "/raw"


def test_what_led_to_a_url_and_what_its_server_said_of_it_is_written_down(books: Books) -> None:
    task = task_of(A, depth=3, via=B, kind=LinkKind.ANCHOR)
    marked = document(A, fields={"etag": '"e"', "last-modified": "yesterday"})
    first = CopyOf(C, "<id>", "sha1:X", 1.0)
    books.commit(
        fetched(
            A, task=task, document=marked, copy_of=first, fingerprint=5, words=6, importance=2.5
        )
    )
    record = books.of(A)
    assert (record.url, record.state) == (A, UrlState.ARCHIVED)
    assert (record.depth, record.via, record.kind) == (3, B, "a")
    assert (record.etag, record.modified) == ('"e"', "yesterday")
    assert (record.copy_of, record.fingerprint, record.words) == (C, 5, 6)
    assert (record.importance, record.reason, record.target) == (2.5, "", "")


def test_a_url_without_an_answer_has_no_marks(books: Books) -> None:
    books.commit(failed(A))
    record = books.of(A)
    assert (record.etag, record.modified, record.copy_of) == ("", "", "")
    assert record.visits[0].status == 0


def test_what_is_odd_about_a_page_is_told_in_this_order(books: Books) -> None:
    odd = document(A, truncated="length", oddities=("two lengths", "no end"))
    books.commit(fetched(A, document=odd, found=Extraction(errors=("html: crashed",))))
    assert books.of(A).detail == "truncated (length); two lengths; no end; html: crashed"
    books.commit(fetched(B), fetched(C, found=None))
    assert (books.of(B).detail, books.of(C).detail) == ("", "")


def test_a_remark_has_an_end(books: Books) -> None:
    books.commit(fetched(A, document=document(A, oddities=("x" * 600,))))
    assert books.of(A).detail == "x" * 500


# Counters


def test_pages_are_counted_by_what_they_are(books: Books) -> None:
    first = CopyOf(C, "<id>", "sha1:X", 1.0)
    xhtml = Extraction(media_type="application/xhtml+xml")
    books.commit(
        fetched(A, task=task_of(A, kind=LinkKind.SEED)),
        fetched(
            B,
            task=task_of(B, kind=LinkKind.ANCHOR),
            copy_of=first,
            found=Extraction(media_type="application/pdf"),
            label="login",
        ),
        fetched(C, found=None, task=task_of(C, kind=LinkKind.ANCHOR), label="login"),
        fetched(D, found=xhtml, task=task_of(D, kind=LinkKind.ANCHOR), refused={"scheme": 2}),
    )
    totals = books.state.totals()
    assert (totals.pages, totals.revisits, totals.html_pages) == (4, 1, 2)
    assert (totals.seeds_fetched, totals.labels) == (1, {"login": 2})
    assert totals.refused == {"scheme": 2}


def test_everything_else_is_counted_by_its_reason(books: Books) -> None:
    anchor = task_of(B, kind=LinkKind.ANCHOR)
    books.commit(
        redirected(A, B),
        redirected(B, C, task=anchor, refused={"too_deep": 1}),
        redirected("http://a.test/h", C, task=task_of("http://a.test/h", kind=LinkKind.ANCHOR)),
        refused(C),
        refused(D, RefusalKind.ROBOTS_DISALLOWED),
        refused("http://a.test/e", RefusalKind.BAD_PORT),
        failed("http://a.test/f"),
        failed("http://a.test/g"),
    )
    totals = books.state.totals()
    assert (totals.pages, totals.redirects, totals.seeds_fetched) == (0, 3, 1)
    assert totals.refused == {"too_deep": 1, "robots_disallowed": 2, "bad_port": 1}
    assert totals.failed == {"connect_failed": 2}


def test_the_bytes_of_the_archive_are_counted_with_the_commit_that_adds_them(
    books: Books,
) -> None:
    books.commit(fetched(A))
    assert books.state.totals().archive_bytes == sum(books.disk.sizes().values())
    books.commit(failed(B, retry_at=200.0))
    assert books.state.totals().archive_bytes == sum(books.disk.sizes().values())
    books.commit(fetched(C, b"other"))
    assert books.state.totals().archive_bytes == sum(books.disk.sizes().values())


# When a commit is due


def test_a_group_is_due_when_its_oldest_turn_has_waited_long_enough(books: Books) -> None:
    assert not books.ledger.is_due(books.now + 99.0, wait_s=0.0)
    books.record(fetched(A))
    books.now += 3.0
    books.record(fetched(B, b"other"))
    assert not books.ledger.is_due(1004.5, wait_s=5.0)
    assert books.ledger.is_due(1005.0, wait_s=5.0)
    books.commit()
    assert not books.ledger.is_due(2000.0, wait_s=5.0)


def test_an_urgent_turn_waits_for_nobody_and_hurries_one_commit_only(books: Books) -> None:
    books.record(fetched(A))
    books.make_urgent()
    assert books.ledger.is_due(books.now, wait_s=5.0)
    books.commit()
    books.record(fetched(B, b"other"))
    assert not books.ledger.is_due(books.now, wait_s=5.0)


# Bodies, and whoever else wants the text


def test_a_body_is_closed_when_its_turn_is_recorded(books: Books) -> None:
    answers = [document(A), document(B, b"", 301), document(C, b"no", 404)]
    books.record(
        fetched(A, document=answers[0]),
        failed(B, FailureKind.BAD_REDIRECT, document=answers[1]),
        failed(C, FailureKind.HTTP_5XX, document=answers[2], retry_at=200.0),
    )
    bodies = [answer.body for answer in answers]
    assert all(isinstance(body, Body) and body.is_closed for body in bodies)


def test_pages_with_text_and_copies_are_offered_to_whoever_compares_texts(books: Books) -> None:
    first = CopyOf(C, "<id>", "sha1:X", 1.0)
    books.commit(
        fetched(A, b"some words"),
        fetched(B, b"", found=Extraction(), copy_of=first),
        fetched(C, b"", found=Extraction()),
        failed(D),
        failed("http://a.test/e", retry_at=200.0),
    )
    assert books.offered == [(A, b"some words"), (B, b"")]


def test_pages_that_are_gone_or_changed_are_offered_again(books: Books) -> None:
    with_history(books, A, 2)
    books.offered.clear()
    books.commit(failed(A, FailureKind.GONE, revisit=RevisitResult.GONE))
    books.commit(fetched(A, b"", found=Extraction(), revisit=RevisitResult.CHANGED, fingerprint=3))
    books.commit(fetched(A, b"other", revisit=RevisitResult.SAME_WORDS))
    assert books.offered == [(A, b""), (A, b"")]


def failing(_fingerprint: int, _original: CopyOf) -> None:
    raise ValueError("not remembered")


def test_a_turn_whose_content_cannot_be_remembered_is_not_taken(books: Books) -> None:
    """Whoever gives it up would else leave two records of one URL."""
    ledger = replace(books.ledger, remember_content=failing)
    with pytest.raises(ValueError, match="not remembered"):
        ledger.record(fetched(A, fingerprint=5), 100.0)
    assert ledger.group == []
    assert ledger.counters.pages == 0


def test_the_content_of_a_turn_that_cannot_be_taken_is_forgotten(books: Books) -> None:
    broken = document(A, b"hello")

    class Unclosable(Body):
        def close(self) -> None:
            raise OSError("no")

    broken.body = Unclosable(b"hello")
    with pytest.raises(OSError, match="no"):
        books.ledger.record(fetched(A, fingerprint=5, document=broken), 100.0)
    assert books.ledger.group == []
    assert books.content.first_copy(5) is None


def test_what_was_queued_again_keeps_its_visits_and_nobody_else_is_asked_for_them(
    books: Books,
) -> None:
    failed = Failed(kind=FailureKind.NOT_FOUND)
    books.commit(Turn(task=task_of(A), outcome=failed, at=90.0))
    books.ledger.counters.count_retried(1)
    books.ledger.counters.uncount("failed", "not_found")
    books.commit(fetched(A), fetched(B))
    assert [visit.state for visit in books.of(A).visits] == ["failed", "archived"]
    assert [visit.state for visit in books.of(B).visits] == ["archived"]
    assert books.of(A).attempts == 1


@pytest.mark.parametrize("count", [1, 3])
def test_a_failure_that_is_taken_back_leaves_the_totals(count: int) -> None:
    counters = Counters(failed={"not_found": count}, refused={"not_found": 9})
    counters.uncount("failed", "not_found")
    assert counters.failed == ({"not_found": count - 1} if count > 1 else {})
    assert counters.refused == {"not_found": 9}
    counters.uncount("refused", "not_found")
    counters.uncount("refused", "never_met")
    assert counters.refused == {"not_found": 8}


def test_a_turn_of_which_no_record_can_be_made_is_committed_without_one(books: Books) -> None:
    turn = Turn(task=task_of(A), outcome=Failed(kind=FailureKind.INTERNAL), at=1.0)
    books.ledger.record_bare(turn, 1.0)
    books.commit()
    assert books.of(A).state is UrlState.FAILED
    assert linked(books) == []


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        (fetched(A), (UrlState.ARCHIVED, "", "", "")),
        (redirected(A, B), (UrlState.REDIRECTED, "redirect", "", B)),
        (failed(A, detail="x"), (UrlState.FAILED, "connect_failed", "x", "")),
        (failed(A, retry_at=9.0), (UrlState.WAITING, "connect_failed", "", "")),
        (refused(A, detail="x"), (UrlState.REFUSED, "robots_disallowed", "x", "")),
    ],
)
def test_only_a_redirect_has_a_target(turn: Turn, told: tuple[str, ...]) -> None:
    assert judgement(turn) == told
