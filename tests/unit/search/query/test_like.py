"""Pages like a text, images like an image: whoever asks gets the same from any number of shards."""

import random
from io import BytesIO
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace
from PIL import Image, ImageDraw

from gossamer import open_search
from gossamer.cli.main import exit_code
from gossamer.errors import ConfigError
from gossamer.report import read_document
from gossamer.search import publish
from gossamer.search.build import IndexOptions, build_index
from gossamer.search.messages import QueryFilters, ShardQuery
from gossamer.search.remote.protocol import BadMessage, answer_shard
from gossamer.search.shard import LocalShard
from tests.unit.search.build.test_index_images import stored
from tests.unit.search.pages_archive import PagesArchive, page

pytestmark = pytest.mark.slow  # builds indexes

TOPICS = {
    "foxes": "fox den cub vixen fur tail hunt burrow dusk scent rodent forest",
    "boats": "hull mast sail keel rudder harbour anchor rope tide deck crew voyage",
    "bread": "flour yeast dough oven crust loaf knead rise bake salt water rye",
}
COMMON = "the of and a in to is was it for with on as by at from or"


def written(topic: str, seed: int, words: int = 120) -> str:
    """Return a text about something, in words of its own."""
    rng = random.Random(f"{topic} {seed}")
    own = [f"{topic}word{seed}n{n}" for n in range(4)]
    return " ".join(
        rng.choice([*TOPICS[topic].split() * 3, *COMMON.split() * 3, *own]) for _ in range(words)
    )


def url(topic: str, seed: int) -> str:
    return f"http://{topic}.test/{seed}"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> PagesArchive:
    archive = PagesArchive(tmp_path_factory.mktemp("like") / "crawl")
    pages = [
        page(url(topic, seed), written(topic, seed), title=f"{topic} {seed}", language="en")
        for topic in TOPICS
        for seed in range(12)
    ]
    copy = page("http://mirror.test/3", written("boats", 3), title="Another name", language="en")
    archive.write([*pages, copy])
    hashes = {"a": 0x0F0F0F0F0F0F0F0F, "b": 0x0F0F0F0F0F0F0F0E, "c": 0x0F0F0F0F0F0F00FE, "d": 1}
    archive.write(
        [
            page(f"http://{name}.test/", "x", images=[(f"http://{name}.test/i.png", f"im {name}")])
            for name in hashes
        ]
        + [stored(f"http://{n}.test/i.png", dct_hash=f"{h:016x}") for n, h in hashes.items()]
    )
    build_index(archive.root)
    return archive


def test_pages_of_the_same_topic_are_like_a_text(archive: PagesArchive) -> None:
    answer = open_search(archive.root).search_like(written("foxes", 99))
    assert {hit.host for hit in answer.hits} == {"foxes.test"}
    assert answer.like is not None
    assert answer.like.of == "text"
    assert set(answer.like.terms) & {"vixen", "rodent", "burrow"}
    assert not any(hit.is_near_copy for hit in answer.hits)


def test_a_near_copy_comes_first_and_is_told_under_whatever_title(archive: PagesArchive) -> None:
    words = written("boats", 3).split()
    answer = open_search(archive.root).search_like(" ".join([*words[:60], "changed", *words[61:]]))
    assert {hit.url for hit in answer.hits[:2]} == {url("boats", 3), "http://mirror.test/3"}
    assert [hit.is_near_copy for hit in answer.hits[:3]] == [True, True, False]


def test_a_page_is_not_like_itself_and_its_copy_is(archive: PagesArchive) -> None:
    answer = open_search(archive.root).search_like("HTTP://Boats.test:80/./3#there")
    assert (answer.hits[0].url, answer.hits[0].is_near_copy) == ("http://mirror.test/3", True)
    assert url("boats", 3) not in {hit.url for hit in answer.hits}


def test_filters_and_words_beside_narrow_it(archive: PagesArchive) -> None:
    index = open_search(archive.root)
    assert {hit.host for hit in index.search_like(written("foxes", 1), "site:bread.test").hits} <= {
        "bread.test"
    }
    (hit,) = index.search_like(written("foxes", 1), "foxesword5n2").hits
    assert hit.url == url("foxes", 5)
    assert index.search_like(written("foxes", 1), "lang:de").hits == []


def test_what_is_not_in_the_index_or_has_nothing_to_compare_is_told(
    archive: PagesArchive, tmp_path: Path
) -> None:
    index = open_search(archive.root)
    with pytest.raises(ConfigError, match="not in the index"):
        index.search_like("http://foxes.test/none")
    with pytest.raises(ConfigError, match="no words"):
        index.search_like("  ")
    with pytest.raises(ConfigError, match="No such file"):
        index.search_like(tmp_path / "none.txt")
    with pytest.raises(ConfigError, match="no perceptual hash"):
        index.search_like(picture("PNG", is_plain=True))
    assert index.search_like("zzz qqq").hints == [
        "the text has few words that pages of the index have"
    ]


@pytest.mark.parametrize("organisation", ["documents", "terms"])
def test_answers_are_the_same_however_the_index_is_split(
    organisation: str, archive: PagesArchive
) -> None:
    texts = [written("foxes", 50), written("bread", 51, 40), url("boats", 3)]
    lists = []
    for shards in (1, 4, 16):
        build_index(archive.root, IndexOptions(shards=shards, organisation=organisation))
        with open_search(archive.root) as index:
            answers = [index.search_like(text, per_page=30) for text in texts]
            answers.append(index.search_like("http://a.test/i.png"))
        lists.append([[(hit.url, hit.is_near_copy) for hit in one.hits] for one in answers])
        assert all(lists[-1])
    assert lists[0] == lists[1] == lists[2]
    build_index(archive.root, IndexOptions(shards=1, organisation="documents"))


def test_images_are_like_an_image_by_bits_of_their_hashes(archive: PagesArchive) -> None:
    index = open_search(archive.root)
    answer = index.search_like("http://a.test/i.png")
    assert [hit.url for hit in answer.hits] == ["http://b.test/i.png", "http://c.test/i.png"]
    assert [hit.score for hit in answer.hits] == [round(63 / 64, 4), round(55 / 64, 4)]
    assert [hit.is_near_copy for hit in answer.hits] == [True, False]
    assert answer.like is not None
    assert answer.like.of == "image"
    narrowed = index.search_like("http://a.test/i.png", "site:c.test").hits
    assert [hit.url for hit in narrowed] == ["http://c.test/i.png"]


def test_a_published_index_has_its_images(
    archive: PagesArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    place = (tmp_path / "published").as_uri()
    publish(archive.root / "index", place)
    with open_search(place) as index:
        assert index.search("im type:image").total == 4
        assert index.search_like("http://a.test/i.png").hits[0].url == "http://b.test/i.png"
        assert index.search_like(url("boats", 3)).hits[0].url == "http://mirror.test/3"


def picture(kind: str, size: int = 200, *, is_plain: bool = False) -> bytes:
    image = Image.new("RGB", (200, 200), "white")
    if not is_plain:
        pen = ImageDraw.Draw(image)
        pen.ellipse((20, 30, 110, 150), fill="navy")
        pen.rectangle((120, 90, 190, 180), fill="orange")
    out = BytesIO()
    image.resize((size, size)).save(out, kind)
    return out.getvalue()


def test_a_file_is_given_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive, photo = PagesArchive(tmp_path / "crawl"), tmp_path / "photo.jpg"
    photo.write_bytes(picture("JPEG", 90))
    hashed = f"{read_document(picture('PNG'), 'x.png').hash:016x}"
    archive.write([stored("http://a.test/i.png", width=200, height=200, dct_hash=hashed)])
    archive.write([page(url("boats", 1), written("boats", 1), language="en")])
    given = ["search", str(archive.root), "--no-ranks"]
    assert exit_code([*given, "--like", str(photo), "--urls"]) == 0
    assert capsys.readouterr().out == "http://a.test/i.png\n"
    assert exit_code([*given, "--like", str(photo)]) == 0
    told = capsys.readouterr().out
    assert "i.png" in told
    assert "200 × 200" in told
    assert "near-copy" in told
    assert "1 image," in told
    text = tmp_path / "text.txt"
    text.write_text(written("boats", 1))
    assert exit_code([*given, "--like", str(text), "--json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out)["hits"][0]["is_near_copy"] is True
    assert exit_code([*given, "--like", str(photo), "site:b.test"]) == 0
    assert "No image is like it." in capsys.readouterr().out
    assert exit_code(given) == 2


def test_a_hash_that_cannot_be_is_refused_by_a_shard(archive: PagesArchive) -> None:
    shard = LocalShard(archive.root / "index" / "images-00")
    good = ShardQuery(hash=1, hash_bits=3, filters=QueryFilters())
    answer_shard(shard, "top", msgspec.msgpack.encode(good))
    for bad in (replace(good, hash=-1), replace(good, hash_bits=65)):
        with pytest.raises(BadMessage):
            answer_shard(shard, "top", msgspec.msgpack.encode(bad))
