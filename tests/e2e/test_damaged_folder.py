"""A folder whose small files are damaged: one line says what is wrong, and nothing is changed."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.crawler import Crawler, Ended
from tests.golden.test_crawl_folders import HERE, VERSIONS
from tests.golden.web import HOSTS, url_of

Damage = Callable[[Path], object]
SEED = url_of(HOSTS[0], "/")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of two shards that was stopped, and whose files this version has written."""
    folder = tmp_path_factory.mktemp("written") / "crawl"
    shutil.copytree(HERE / VERSIONS[-1] / "crawl", folder)
    Crawler(folder, (), ()).say("add", SEED).expect(0)
    assert (folder / "crawl.toml").read_text().startswith("format = 2\n")
    return folder


@pytest.fixture
def crawler(written: Path, tmp_path: Path) -> Crawler:
    shutil.copytree(written, tmp_path / "crawl")
    return Crawler(tmp_path / "crawl", (), ())


def listing(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return every file below a folder with its content and when it was changed."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns) for p in files}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def flip(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"2")] ^= 1
    path.write_bytes(raw)


def is_one_line(ended: Ended) -> bool:
    return ended.err.startswith("gossamer: ") and ended.err.strip().count("\n") == 0


SETTINGS: dict[str, Damage] = {
    "empty": lambda folder: (folder / "crawl.toml").write_bytes(b""),
    "zeros": lambda folder: (folder / "crawl.toml").write_bytes(b"\0" * 5000),
    "cut": lambda folder: cut(folder / "crawl.toml"),
    "missing": lambda folder: (folder / "crawl.toml").unlink(),
    "flipped": lambda folder: flip(folder / "crawl.toml"),
}
SHARDS: dict[str, Damage] = {
    "empty": lambda folder: (folder / "state/shards.json").write_bytes(b""),
    "zeros": lambda folder: (folder / "state/shards.json").write_bytes(b"\0" * 50),
    "cut": lambda folder: cut(folder / "state/shards.json"),
    "missing": lambda folder: (folder / "state/shards.json").unlink(),
    "flipped": lambda folder: flip(folder / "state/shards.json"),
}
STATE: dict[str, Damage] = {
    "missing": lambda folder: shutil.rmtree(folder / "state"),
    "half missing": lambda folder: shutil.rmtree(folder / "state/01"),
    "MANIFEST cut": lambda folder: [cut(path) for path in folder.glob("state/*/MANIFEST-*")],
    "MANIFEST empty": lambda folder: [
        path.write_bytes(b"") for path in folder.glob("state/*/MANIFEST-*")
    ],
    "CURRENT empty": lambda folder: [
        path.write_bytes(b"") for path in folder.glob("state/*/CURRENT")
    ],
}


@pytest.mark.parametrize("damage", SETTINGS)
def test_a_crawl_with_damaged_settings_is_not_started_and_nothing_is_changed(
    crawler: Crawler, damage: str
) -> None:
    SETTINGS[damage](crawler.folder)
    before = listing(crawler.folder)
    for more in ((), ("--max-pages", "3")):
        refusal = crawler.run(*more)
        assert refusal.code in {2, 4}
        assert is_one_line(refusal)
        assert "crawl.toml" in refusal.err
    assert crawler.say("add", url_of(HOSTS[0], "/1")).code in {2, 4}
    assert crawler.say("build", "state").code in {2, 4}
    assert listing(crawler.folder) == before


def test_the_copy_of_the_last_start_is_named_and_mends_a_crawl_with_damaged_settings(
    crawler: Crawler,
) -> None:
    settings, copy = crawler.folder / "crawl.toml", crawler.folder / "state" / "crawl.toml"
    cut(settings)
    assert str(copy) in crawler.run().expect(4).err
    shutil.copy(copy, settings)
    crawler.say("add", url_of(HOSTS[0], "/1")).expect(0)


def test_settings_that_somebody_edited_are_told_at_the_next_start(crawler: Crawler) -> None:
    settings = crawler.folder / "crawl.toml"
    text = settings.read_text()
    edited = text.replace("#max_bytes =", "max_bytes = 1 #")
    assert edited != text
    settings.write_text(edited + "\n# a note of mine\n")
    ended = crawler.run().expect(0)
    assert "crawl.toml changed: limits.max_bytes: not set -> 1" in ended.err
    assert settings.read_text().endswith("\n# a note of mine\n")
    assert "crawl.toml changed" not in crawler.run().expect(0).err


def test_a_file_given_by_config_needs_no_closing_line(crawler: Crawler, tmp_path: Path) -> None:
    given = tmp_path / "given.toml"
    given.write_text(f'format = 2\nseeds = ["{SEED}"]\n[limits]\nmax_pages = 1\n')
    assert crawler.run("--config", str(given)).expect(0).last_json["reason"] == "max_pages"
    (crawler.folder / "crawl.toml").unlink()
    assert crawler.run("--config", str(given)).expect(0).last_json["reason"] == "max_pages"


@pytest.mark.parametrize("damage", SHARDS)
def test_a_crawl_with_a_damaged_shard_map_is_refused_and_nothing_is_changed(
    crawler: Crawler, damage: str
) -> None:
    SHARDS[damage](crawler.folder)
    before = listing(crawler.folder)
    for refusal in (
        *(crawler.run(), crawler.run("--shards", "3"), crawler.say("add", SEED)),
        *(crawler.say("status"), crawler.say("why", SEED), crawler.say("show", SEED)),
    ):
        assert is_one_line(refusal.expect(4))
        assert "shards.json" in refusal.err
    after = listing(crawler.folder)
    assert {**after, "lock": None} == {**before, "lock": None}


@pytest.mark.parametrize(
    ("kind", "damage"), [("toml", one) for one in SETTINGS] + [("state", one) for one in STATE]
)
def test_a_question_to_a_damaged_folder_is_answered_or_refused_in_one_line(
    crawler: Crawler, written: Path, kind: str, damage: str
) -> None:
    sound = Crawler(written, (), ())
    (SETTINGS if kind == "toml" else STATE)[damage](crawler.folder)
    before = listing(crawler.folder)
    for verb, *words in (("status",), ("why", SEED), ("show", SEED), ("copies",)):
        ended = crawler.say(verb, *words)
        assert "Traceback" not in ended.err
        if (kind, verb) == ("toml", "status"):
            ended.expect(0)
        elif (verb, ended.code) == ("why", 0):  # the row may be there although others are not
            assert "archived" in ended.out
        elif (damage, ended.code) == ("MANIFEST cut", 0):  # behind all that tells of rows
            told = sound.say(verb, *words).out
            assert ended.out.replace(str(crawler.folder), str(written)) == told
        else:
            assert ended.code in {2, 4}, (verb, ended)
            assert is_one_line(ended), (verb, ended.err)
    assert listing(crawler.folder) == before


@pytest.mark.parametrize("damage", ["cut", "missing", "of another file", "longer"])
def test_a_damaged_index_of_an_archive_file_is_written_again_at_the_next_start_and_told(
    crawler: Crawler, damage: str
) -> None:
    first, second = sorted(crawler.folder.glob("archive/*.cdxj"))[:2]
    whole = first.read_bytes()
    match damage:
        case "cut":
            cut(first)
        case "missing":
            first.unlink()
        case "of another file":
            shutil.copy(second, first)
        case _:
            first.write_bytes(whole + whole)
    ended = crawler.run("--max-pages", "1").expect(0)
    told = [line for line in ended.err.splitlines() if "archive.reindexed" in line]
    assert len(told) == 1
    assert first.name in told[0]
    assert first.read_bytes() == whole
    assert "archive.reindexed" not in crawler.run("--max-pages", "1").expect(0).err
