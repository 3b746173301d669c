"""`drop --purge` of a crawl with a store: what goes is nowhere, there neither.

Killed at any moment nothing else is lost, and whoever comes next finishes it.
"""

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.archive import read_archive
from tests.e2e.crawler import Crawler, flags_for, only_json, say
from tests.store.extent import parts
from tests.store.kept_copies import copy_of, files_with, kill_while, objects_with
from tests.store.places import FolderPlace, S3Place, StorePlace

pytestmark = pytest.mark.slow
TOKEN = b"xylophonequartz"
SHARED = b"<title>shared</title><p>kept because a marmoset says it elsewhere</p>"
PATTERN = "*/secret/*"
KNOBS = "[store]\nship_s = 0.3\nlease_s = 2.0\nfile_bytes = 20000\ncommit_pages = 4\n"


@pytest.fixture(scope="module", params=["folder", "s3"])
def kept(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[Crawler, StorePlace]]:
    """Give a crawl with a store, whose secret part has the originals of copies that stay."""
    made = ScriptedWeb()
    site = made.host("a.test")
    others = [f"/open/{n}" for n in range(12)]
    site.page("/", links=[f"/secret/{n}" for n in range(4)] + ["/secret/shared", "/later", *others])
    for n in range(4):
        site.page(f"/secret/{n}", text=f"{TOKEN.decode()} number {n}")
    for path in others:
        site.page(path, text=f"the open page {path} speaks of a platypus " * 30)
    site.page("/later", links=["/twin1", "/twin2"], text="later")
    for path in ("/secret/shared", "/twin1", "/twin2"):
        site.file(path, SHARED, "text/html")
    folder = tmp_path_factory.mktemp("purged")
    place: StorePlace = FolderPlace(folder / "store")
    if request.param == "s3":
        place = S3Place(str(folder))
    with serve_in_thread(made) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in place.variables.items():
            patch.setenv(name, value)
        knobs = folder / "knobs.toml"
        knobs.write_text(KNOBS)
        words = ("--no-sitemaps", "--shards", "2", "--delay", "0.05", "--config", str(knobs))
        flags = flags_for(server.resolve, *words, "--store", place.url)
        crawler = Crawler(folder / "crawl", (site.url(),), flags)
        crawler.run(is_fresh=True).expect(0)
        yield crawler, place
    place.close()


def expect_whole(crawler: Crawler, place: StorePlace, at: Path) -> None:
    """Insist that the secret part is nowhere, and that a restore has all else."""
    assert objects_with(TOKEN, place) == []
    restored = at / "restored"
    # In a process that has opened states: a fork of it could not.
    say("restore", place.url, "--into", str(restored), "--shards", "3").expect(0)
    for folder in (crawler.folder, restored):
        archive = read_archive(folder)
        assert not [one for one in archive.records if "/secret/" in one.url]
        assert files_with(TOKEN, folder) == []
        stored = {record.id for record in archive.of_kind("response")}
        assert {one.headers["warc-refers-to"] for one in archive.revisits} <= stored
        pages = {record.url.rpartition(".test")[2].partition("/")[2] for record in archive.pages}
        assert pages >= {"", "later", *(f"open/{n}" for n in range(12))}
        assert len(pages & {"twin1", "twin2"}) == 1
        say("check", str(folder)).expect(0)
        shown = say("show", str(folder), f"{crawler.seeds[0]}twin2").expect(0)
        assert SHARED.decode() in shown.out
    shutil.rmtree(restored)


@pytest.mark.parametrize("numbers", parts(20, 5))
def test_what_is_purged_is_not_in_the_store_either(
    numbers: range, kept: tuple[Crawler, StorePlace], tmp_path: Path
) -> None:
    crawler, place = kept
    if isinstance(place, S3Place):
        if numbers.start:
            pytest.skip("the folder tells as much")
        told = only_json(crawler.say("drop", PATTERN, "--purge", "--json").expect(0))
        assert (told["pages"], told["store"]) == (5, place.url)
        expect_whole(crawler, place, tmp_path)
        return
    for number in numbers:
        crawler, place = copy_of(*kept, tmp_path / f"{number}")
        rng = random.Random(number)
        assert objects_with(TOKEN, place)
        kill_while(crawler, ["drop", PATTERN, "--purge", "--json"], rng)
        if number % 3 == 0:
            crawler.run("--take-over").expect(0)  # a start finishes it, too
        told = only_json(crawler.say("drop", PATTERN, "--purge", "--json").expect(0))
        expect_whole(crawler, place, tmp_path / f"{number}")
        shutil.rmtree(tmp_path / f"{number}")


def test_checkpoints_of_before_stay_and_those_that_have_it_go(
    kept: tuple[Crawler, StorePlace], tmp_path: Path
) -> None:
    if isinstance(kept[1], S3Place):
        pytest.skip("the folder tells as much")
    crawler, place = copy_of(*kept, tmp_path / "copy")
    sets = [json.loads(one.read_bytes()) for one in (place.folder / "sets").iterdir()]
    assert sets
    told = only_json(crawler.say("drop", PATTERN, "--purge", "--json").expect(0))
    left = [*(place.folder / "kept").iterdir()]
    assert not [*(place.folder / "sets").iterdir()]
    assert told["checkpoints"] + len(left) >= len(sets)
    named = {path.name for path in (place.folder / "archive").rglob("*") if path.is_file()}
    for one in left:
        for manifest in json.loads(one.read_bytes())["manifests"]:
            objects = [file for files in manifest["archive"].values() for file in files]
            assert {name.rpartition("/")[2] for name, *_ in objects} <= named
