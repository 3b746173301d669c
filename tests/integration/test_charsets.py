"""Texts in many encodings over the wire: with a label, without one, and bytes that are no text."""

import asyncio
import codecs
import encodings
import pkgutil
import random
import struct
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.fetch import Fetcher
from gossamer.model import Extraction, Fetched
from gossamer.process import Registry, Tools
from gossamer.process.detect import is_binary
from tests.integration.raw import LOOPBACK, RawServer, fetching, serve

LINES = (Path(__file__).parents[1] / "data" / "texts.txt").read_text("utf-8").splitlines()
TEXTS = dict(line.split(" ", 1) for line in LINES if not line.startswith("#"))
SPOKEN = {
    "de": "cp037 cp1140 cp1252 cp273 cp500 cp850 cp858 cp865 hp_roman8 mac_croatian",
    "ur": "cp1006",
    "tr": "cp1026 cp1254 cp857 mac_turkish",
    "ru": "cp1125 cp1251 cp855 cp866",
    "pl": "cp1250 cp852 mac_latin2",
    "el": "cp1253 cp737 cp869 cp875",
    "he": "cp1255 cp424 cp856 cp862",
    "ar": "cp1256 cp720 cp864 mac_arabic mac_farsi",
    "lt": "cp1257 cp775 iso8859_4 iso8859_13",
    "vi": "cp1258",
    "fr": "cp437 cp860 cp863",
    "is": "cp861 iso8859_10 mac_iceland",
    "th": "cp874 tis_620",
    "tg": "koi8_t",
    "kk": "kz1048 ptcp154",
    "mt": "iso8859_3",
    "cy": "iso8859_14",
    "ro": "iso8859_16 mac_romanian",
}
LANGUAGE_OF = {codec: language for language, names in SPOKEN.items() for codec in names.split()}
ANY = ("ja", "zh", "zht", "ko", "ru", "el", "he", "ar", "th", "pl", "tr", "lt", "de", "fr", "en")
NO_TEXTS = {"charmap", "idna", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"}
WEB_LABELS = {
    "windows-1250": "cp1250",
    "x-cp1251": "cp1251",
    "windows-1252": "cp1252",
    "windows-1253": "cp1253",
    "windows-1256": "cp1256",
    "dos-874": "cp874",
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "ks_c_5601-1987": "cp949",
    "windows-949": "cp949",
    "x-gbk": "gbk",
    "x-x-big5": "big5",
    "big5-hkscs": "big5hkscs",
    "iso-8859-8-i": "iso8859_8",
    "logical": "iso8859_8",
    "x-mac-cyrillic": "mac_cyrillic",
    "macintosh": "mac_roman",
    "koi8-ru": "koi8_u",
    "ibm866": "cp866",
    "csisolatin2": "iso8859_2",
    "iso-ir-144": "iso8859_5",
    "sun_eu_greek": "iso8859_7",
    "csiso2022jp": "iso2022_jp",
    "iso-2022-kr": "iso2022_kr",
    "hz-gb-2312": "hz",
    "unicode-1-1-utf-8": "utf_8",
    "utf-16le": "utf_16_le",
    "utf-16be": "utf_16_be",
    "utf-32le": "utf_32_le",
    "utf-32be": "utf_32_be",
    "ibm037": "cp037",
    "ibm850": "cp850",
}
WITHOUT_A_LABEL = (
    *("utf_8", "utf_8_sig", "utf_16", "utf_16_le", "utf_16_be"),
    *("utf_32", "utf_32_le", "utf_32_be"),
)


def python_codecs() -> Iterable[str]:
    for module in pkgutil.iter_modules(encodings.__path__):
        try:
            codecs.lookup(module.name)
            "a".encode(module.name)
        except (LookupError, UnicodeError):
            continue
        if module.name not in NO_TEXTS:
            yield module.name


def text_for(codec: str) -> str:
    """Return a text in a language that an encoding was made for, several lines of it."""
    languages = (LANGUAGE_OF[codec],) if codec in LANGUAGE_OF else ANY
    for language in languages:
        text = f"{TEXTS[language]}\n" * 3
        try:
            if text.encode(codec).decode(codec) == text:
                return text
        except UnicodeError:
            continue
    return f"{TEXTS['en']}\n" * 3


@dataclass
class Wire:
    """A server that says what it is told to say, and whoever reads it."""

    server: RawServer
    fetcher: Fetcher
    registry: Registry
    pages: dict[bytes, tuple[str, bytes]]

    async def read(self, content_type: str, body: bytes) -> tuple[str, Extraction]:
        """Send a body over a socket; return what it was taken for, and what was read."""
        path = f"/{len(self.pages)}"
        self.pages[path.encode()] = content_type, body
        outcome = await self.fetcher.fetch(self.server.url(path), LOOPBACK)
        assert isinstance(outcome, Fetched)
        media_type = self.registry.media_type(outcome.document)
        return media_type, self.registry.read(outcome.document, media_type)


@asynccontextmanager
async def wire() -> AsyncIterator[Wire]:
    pages: dict[bytes, tuple[str, bytes]] = {}

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while request := await reader.readuntil(b"\r\n\r\n"):
            content_type, body = pages[request.split()[1]]
            head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n"
            writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    tools = Tools(urls=UrlConfig(), process=ProcessConfig(), robots_agent="Gossamer")
    async with serve(talk) as server, fetching() as fetcher:
        yield Wire(server, fetcher, Registry.load(tools), pages)


async def test_texts_in_130_encodings_are_read_as_they_are_labelled() -> None:
    labels = {name: name for name in python_codecs()} | WEB_LABELS
    wrong = []
    async with wire() as line:
        for label, codec in labels.items():
            text = text_for(codec)
            kind, found = await line.read(f"text/plain; charset={label}", text.encode(codec))
            if (kind, found.text) != ("text/plain", text):
                wrong.append(label)
    right = len(labels) - len(wrong)
    print(f"labelled texts: {right} right of {len(labels)}; not {wrong}")  # noqa: T201 -- the counts are of interest
    assert len(labels) >= 130
    assert right >= 118
    assert wrong == ["utf_7"], "UTF-7 is never understood, on purpose"


@pytest.mark.parametrize("language", TEXTS)
async def test_unicode_without_a_label_is_read_in_every_language(language: str) -> None:
    async with wire() as line:
        for codec in WITHOUT_A_LABEL:
            text = f"{TEXTS[language]}\n" * 3
            kind, found = await line.read("text/plain", text.encode(codec))
            assert (kind, found.text) == ("text/plain", text), codec


@pytest.mark.parametrize("codec", ["iso2022_kr", "iso2022_jp", "hz"])
@pytest.mark.parametrize("content_type", ["text/plain", "", "application/octet-stream"])
async def test_encodings_with_shifts_are_read_without_a_label(
    codec: str, content_type: str
) -> None:
    text = (f"{TEXTS[{'iso2022_kr': 'ko', 'iso2022_jp': 'ja', 'hz': 'zh'}[codec]]}\n") * 3
    async with wire() as line:
        kind, found = await line.read(content_type, text.encode(codec))
    assert (kind, found.text) == ("text/plain", text)


@pytest.mark.parametrize(
    ("codec", "label"),
    [
        *((codec, "") for codec in ("utf_16_le", "utf_16_be", "utf_32_le", "iso2022_kr")),
        *(("utf_16_le", "utf-16"), ("utf_32_be", "utf-32"), ("iso2022_kr", "iso-2022-kr")),
        ("cp037", "ibm037"),
    ],
)
async def test_pages_are_read_in_the_same_encodings(codec: str, label: str) -> None:
    text = TEXTS["de" if codec == "cp037" else "ko"]
    label = f"; charset={label}" if label else ""
    page = f"<!doctype html><title>{text}</title><p>{text}</p>"
    if codec == "iso2022_kr":
        page = f"<!-- {text[:3]} -->{page}"
    async with wire() as line:
        _, found = await line.read(f"text/html{label}", page.encode(codec))
    assert found.title == text


async def test_a_label_that_the_server_gives_to_all_does_not_hide_utf_16() -> None:
    text = f"{TEXTS['de']}\n" * 3
    async with wire() as line:
        kind, found = await line.read("text/plain; charset=utf-8", text.encode("utf-16-le"))
    assert (kind, found.text) == ("text/plain", text)


def no_texts() -> dict[str, bytes]:
    dice = random.Random(15)
    small = [dice.randrange(-200, 200) for _ in range(600)]
    return {
        "noise": dice.randbytes(4000),
        "16 bits": struct.pack("<600h", *small),
        "32 bits": struct.pack("<600i", *small),
        "floats": struct.pack("<300f", *(dice.random() for _ in range(300))),
        "zeroes": bytes(3000),
        "ones": b"\x01" * 3000,
        "a few": b"a\x00\x01\x02b",
        "words and zeroes": b"some\x00words\x00in\x00a\x00table\x00" * 30,
        "records": b"".join(struct.pack("<IHB9s", n, n % 7, n % 3, b"name") for n in range(100)),
    }


@pytest.mark.parametrize("name", no_texts())
@pytest.mark.parametrize("label", ["", "; charset=utf-8", "; charset=windows-1252"])
async def test_what_is_no_text_is_still_binary(name: str, label: str) -> None:
    async with wire() as line:
        kind, _ = await line.read(f"text/plain{label}", no_texts()[name])
    assert kind == "application/octet-stream"


def test_noise_is_hardly_ever_taken_for_text() -> None:
    dice = random.Random(7)
    taken = sum(not is_binary(dice.randbytes(dice.choice((64, 512, 2048)))) for _ in range(2000))
    assert taken == 0
