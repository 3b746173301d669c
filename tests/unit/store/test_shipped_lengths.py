"""Index, graph and tables are made of what a loss of the machine cannot take back."""

from pathlib import Path

from store_samples import Shard, pages

from gossamer.store import (
    CrawlFolder,
    State,
    counted_lengths,
    forget_shipped,
    note_shipped,
    read_file_row,
)


def two_sets(root: Path) -> tuple[CrawlFolder, dict[str, int], set[str]]:
    """Store pages in two sets of files, of which the second is open; return all lengths."""
    shard = Shard(root, file_bytes=100)
    shard.commit(pages(2))
    shard.commit(pages(2, first=2))
    folder, rows = shard.folder, shard.die()
    lengths = {name: row.length for name, row in (read_file_row(*one) for one in rows)}
    return folder, lengths, {name for name in lengths if "-00000." in name}


def test_what_is_committed_counts_where_there_is_no_store(tmp_path: Path) -> None:
    folder, lengths, _ = two_sets(tmp_path)
    assert counted_lengths(folder, "pages", "text", "links") == lengths


def test_only_what_is_shipped_counts_where_there_is_one(tmp_path: Path) -> None:
    folder, lengths, closed = two_sets(tmp_path)
    note_shipped(folder.state(), {name: lengths[name] for name in closed}, ())
    of_first = {name: length if name in closed else 0 for name, length in lengths.items()}
    assert counted_lengths(folder, "pages", "text", "links") == of_first
    note_shipped(folder.state(), {name: lengths[name] for name in closed}, closed)
    assert counted_lengths(folder, "pages", "text", "links") == of_first
    part = {name: length if name in closed else 50 for name, length in lengths.items()}
    note_shipped(folder.state(), part, closed)
    assert counted_lengths(folder, "pages", "text", "links") == part
    longer = {name: length + 7 for name, length in lengths.items()}  # a repair has cut it since
    note_shipped(folder.state(), longer, closed)
    assert counted_lengths(folder, "pages", "text", "links") == lengths
    note_shipped(folder.state(), lengths, lengths.keys())
    assert counted_lengths(folder, "links") == {
        name: length for name, length in lengths.items() if name.startswith("links")
    }


def test_a_file_of_the_open_set_that_came_after_the_checkpoint_does_not_count(
    tmp_path: Path,
) -> None:
    folder, lengths, closed = two_sets(tmp_path)
    known = {name: length for name, length in lengths.items() if not name.startswith("links")}
    note_shipped(folder.state(), known, closed)
    late = next(name for name in lengths if name.startswith("links") and name not in closed)
    assert counted_lengths(folder, "links")[late] == 0


def test_files_of_shards_that_are_no_more_count_whole(tmp_path: Path) -> None:
    folder, lengths, _ = two_sets(tmp_path)
    folder.state().rename(folder.state(1))
    note_shipped(folder.state(1), {"pages-01-0009-00000.warc.gz": 5}, ())
    assert counted_lengths(folder, "pages", "text", "links") == lengths


def test_without_a_store_or_with_a_damaged_note_everything_counts_again(tmp_path: Path) -> None:
    folder, lengths, _ = two_sets(tmp_path)
    note_shipped(folder.state(), {next(iter(lengths)): 1}, ())
    forget_shipped(folder.state())
    assert counted_lengths(folder, "pages", "text", "links") == lengths
    (folder.state() / "shipped-lengths").write_bytes(b"{")
    assert counted_lengths(folder, "pages", "text", "links") == lengths
    note_shipped(folder.state(), {}, ())
    assert State.exists(folder.state())
