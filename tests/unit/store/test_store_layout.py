"""Names and places."""

from pathlib import Path

import pytest

from gossamer.store import ArchiveName, CrawlFolder


def test_names_are_made_of_numbers_only() -> None:
    assert ArchiveName("pages", 3, 12, 7).file_name == "pages-03-0012-00007.warc.gz"
    assert ArchiveName("text", 3, 12, 7).file_name == "text-03-0012-00007.warc.wet.gz"
    assert ArchiveName("links", 3, 12, 7).file_name == "links-03-0012-00007.warc.gz"
    assert ArchiveName("text", 3, 12, 7).cdxj_name == "pages-03-0012-00007.cdxj"


@pytest.mark.parametrize("numbers", [(0, 0, 0), (99, 9999, 99999), (100, 10000, 100000)])
def test_a_name_is_read_back(numbers: tuple[int, int, int]) -> None:
    for kind in ("pages", "text", "links"):
        name = ArchiveName(kind, *numbers)
        assert ArchiveName.parse(name.file_name) == name


@pytest.mark.parametrize(
    "name",
    [
        "pages-00-0001-00000.cdxj",
        "pages-00-0001-00000.warc.gz.tmp",
        "text-00-0001-00000.warc.gz",
        "../pages-00-0001-00000.warc.gz",
        "pages-00-0001-00000.warc.gz\n",
        "pages-000-0001-00000.warc.gz",
        "pages-٠٠-0001-00000.warc.gz",
        "",
    ],
)
def test_other_names_are_not_ours(name: str, tmp_path: Path) -> None:
    assert ArchiveName.parse(name) is None
    with pytest.raises(ValueError, match="archive file"):
        CrawlFolder(tmp_path).archive_path(name)


def test_files_are_listed_in_the_order_of_writing(tmp_path: Path) -> None:
    folder = CrawlFolder(tmp_path)
    assert not folder.has_archive()
    folder.archive.mkdir()
    ages = [(2, 0), (1, 100000), (1, 5), (10000, 1)]
    for epoch, number in ages:
        (folder.archive / ArchiveName("links", 0, epoch, number).file_name).touch()
    (folder.archive / "stranger.txt").touch()
    (folder.archive / ArchiveName("links", 1, 1, 0).file_name).touch()
    assert [name.age for name in folder.archive_names(kind="links", shard=0)] == sorted(ages)
    assert folder.has_archive()
    assert folder.state(4) == tmp_path / "state" / "04"
