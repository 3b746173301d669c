"""`copies --of`: pages of a crawl that hold passages of given files, and what is told of them."""

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import gossamer
from gossamer.cli.app import parse_and_run
from gossamer.errors import ConfigError
from gossamer.testing import ScriptedWeb
from tests.integration.threats import serving, settings
from tests.unit.dedupe.prose import prose

ESSAY = prose(1, 500)
NASTY = '<script>alert("&quot;")</script>'


def scripted() -> ScriptedWeb:
    dice = random.Random(1)
    web = ScriptedWeb()
    host, other = web.host("a.test"), web.host("b.test")
    host.page("/", links=["/quoting", "/honest", "/whole", "/again", other.url("/quoting")])
    quoted = ESSAY[100:180]
    for place in dice.sample(range(80), 6):
        quoted[place] = "changed"
    around = prose(2, 200)
    text = " ".join(
        [*around[:100], "&lt;script&gt;alert(1)&lt;/script&gt;", *quoted, *around[100:]]
    )
    host.on("/quoting", f"<title>q</title><p>{text}</p>")
    host.on("/honest", f"<title>h</title><p>{' '.join([*prose(3, 300), *ESSAY[10:22]])}</p>")
    host.on("/whole", f"<title>w</title><p>{' '.join(ESSAY)}</p>")
    host.on("/again", f"<title>w</title><p>{' '.join(ESSAY)}</p>")
    other.on("/quoting", f"<title>o</title><p>{' '.join([*prose(4, 90), *ESSAY[300:400]])}</p>")
    return web


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    place = tmp_path_factory.mktemp("copies") / "c"
    with serving(scripted()) as server:
        config = settings(server)
        gossamer.Crawl(place, [server.web.host("a.test").url()], config).run()
        yield place


@pytest.fixture
def given(tmp_path: Path) -> Path:
    place = tmp_path / "given"
    (place / "more").mkdir(parents=True)
    (place / "essay.txt").write_text(" ".join(ESSAY))
    (place / "part.md").write_text(f"# {NASTY}\n\n" + " ".join(ESSAY[300:400]) + " [x](http://y/z)")
    (place / "more" / "part.html").write_text(f"<p>{' '.join(ESSAY[90:200])}</p>")
    (place / "more" / "short.txt").write_text("too short")
    (place / "more" / "noise.bin").write_bytes(bytes(range(256)) * 40)
    (place / ".hidden.txt").write_text(" ".join(ESSAY))
    return place


def names(found: gossamer.TextCopies) -> dict[tuple[str, str], gossamer.TextCopy]:
    def place(url: str) -> str:
        return url.partition("//")[2].partition(":")[0] + "/" + url.rpartition("/")[2]

    return {(place(one.url), Path(one.text).name): one for one in found.copies}


def test_pages_that_hold_passages_are_told_with_their_share(folder: Path, given: Path) -> None:
    found = gossamer.open(folder).copies_of(given)
    copies = names(found)
    assert {page for page, text in copies if text == "essay.txt"} == {
        "a.test/quoting",
        "a.test/whole",
        "a.test/again",
        "b.test/quoting",
    }
    assert copies["a.test/whole", "essay.txt"].share == 1.0
    assert copies["a.test/quoting", "essay.txt"].words == 74
    assert copies["a.test/quoting", "essay.txt"].share == pytest.approx(74 / 500)
    assert copies["b.test/quoting", "part.md"].longest == 100
    assert ("a.test/quoting", "part.html") in copies
    assert [(Path(one.name).name, one.words) for one in found.texts] == [
        ("essay.txt", 500),
        ("part.html", 110),
        ("part.md", pytest.approx(104, abs=3)),
    ]
    reasons = {Path(one.name).name: one.reason for one in found.unread}
    assert reasons["short.txt"] == "it has 2 words, fewer than a passage (25)"
    assert "noise.bin" in reasons
    assert found.pages == 5


def test_a_page_with_the_same_content_as_another_is_told_too(folder: Path, given: Path) -> None:
    copies = names(gossamer.open(folder).copies_of(given / "essay.txt"))
    pair = [copies["a.test/whole", "essay.txt"], copies["a.test/again", "essay.txt"]]
    second = next(one for one in pair if one.same_as)
    assert {one.url for one in pair} == {second.url, second.same_as}


def test_the_parts_of_a_passage_are_both_texts_again(folder: Path, given: Path) -> None:
    copies = names(gossamer.open(folder).copies_of(given / "essay.txt"))
    (passage,) = copies["a.test/quoting", "essay.txt"].passages
    kinds = {part.kind for part in passage.parts}
    assert kinds == {"same", "changed"}
    first = passage.given_at
    said = "".join(part.given for part in passage.parts).split()
    assert said == ESSAY[first : first + len(said)]
    assert {part.page.strip() for part in passage.parts if part.kind == "changed"} >= {"changed"}
    assert passage.longest_run < passage.words
    assert "alert" in passage.before


def test_longer_passages_can_be_asked_for(folder: Path, given: Path) -> None:
    found = gossamer.open(folder).copies_of([given / "essay.txt"], min_words=90)
    assert {name for name, _ in names(found)} == {"a.test/whole", "a.test/again", "b.test/quoting"}


def test_the_page_of_html_runs_nothing_and_loads_nothing(
    folder: Path, given: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "copies.html"
    evil = given / f"{NASTY.replace('/', '')}.txt"
    evil.write_text(f"{NASTY} " + " ".join(ESSAY[:200]))
    parse_and_run(["copies", str(folder), "--of", str(given), "--html", str(page)])
    written = page.read_text()
    assert "<script" not in written
    assert "&lt;script&gt;" in written
    assert "src=" not in written
    assert 'class="changed"' in written
    assert "of" in capsys.readouterr().out


def test_the_command_tells_share_and_longest_passage(
    folder: Path, given: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parse_and_run(["copies", str(folder), "--of", str(given / "essay.txt")])
    told = capsys.readouterr().out
    assert "15% of " in told
    assert "74 words, longest passage 74 words" in told
    assert "4 pages hold passages of 25 words or more; 5 pages compared with 1 text." in told
    parse_and_run(["copies", str(folder), "--of", str(given / "essay.txt"), "--json"])
    assert json.loads(capsys.readouterr().out)["texts"][0]["pages"] == 4


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--of", "/nowhere/at/all"), "does not exist"),
        (("--min-words", "30"), "need --of FILE"),
        (("--of", "x", "--min-words", "4"), "--min-words"),
        (("http://a.test/", "--of", "x"), "either a URL or --of"),
    ],
)
def test_what_makes_no_sense_is_refused(folder: Path, words: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        parse_and_run(["copies", str(folder), *words])


def test_a_passage_is_no_shorter_than_a_phrase(folder: Path, given: Path) -> None:
    with pytest.raises(ConfigError, match="min_words: expected 5 or more, found 4"):
        gossamer.open(folder).copies_of(given, min_words=4)


def test_a_folder_without_any_text_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no text to look for: no file is in it"):
        gossamer.open(folder).copies_of(tmp_path)
