"""Bytes to characters."""

import codecs
from collections.abc import Callable

import pytest

from gossamer.model import Document
from gossamer.process import Registry, decode
from gossamer.process.detect import clean

MakeDocument = Callable[..., Document]

RUSSIAN = (
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Поисковый робот читает страницы."
)
JAPANESE = "いろはにほへと ちりぬるを わかよたれそ つねならむ。検索エンジンはページを読みます。"
GERMAN = "Falsches Üben von Xylophonmusik quält jeden größeren Zwerg; schöne Grüße aus Köln."


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (RUSSIAN, "utf-8"),
        (RUSSIAN, "koi8-r"),
        (RUSSIAN, "cp1251"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (JAPANESE, "iso2022_jp"),
        (GERMAN, "latin-1"),
        (GERMAN, "utf-16-le"),
        (GERMAN, "utf-16-be"),
        (GERMAN, "utf-32-le"),
        (GERMAN, "utf-32-be"),
        ("한국어 문장을 여기에 적어 둡니다. 검색 로봇이 읽습니다.", "iso2022_kr"),
        ("这是一个用来测试的中文句子，搜索引擎会读取它。", "hz"),
        ("这是一个用来测试的中文句子，搜索引擎会读取它。", "gb18030"),
    ],
)
def test_an_unlabelled_text_is_decoded(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding))[0] == text


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_beats_the_header(mark: bytes, encoding: str) -> None:
    assert decode(mark + RUSSIAN.encode(encoding), "latin-1") == (RUSSIAN, encoding)


def test_the_header_beats_the_declaration() -> None:
    body = b"<?xml version='1.0' encoding='koi8-r'?>" + RUSSIAN.encode("cp1251")
    assert RUSSIAN in decode(body, "windows-1251")[0]


def test_the_declaration_is_used_without_a_header() -> None:
    body = b"<?xml version='1.0' encoding='koi8-r'?>" + RUSSIAN.encode("koi8-r")
    assert RUSSIAN in decode(body)[0]


@pytest.mark.parametrize("label", ["utf-7", "no-such", "\x00", "a" * 9999, "UTF-8 ", "'utf-8'"])
def test_an_odd_label_does_no_harm(label: str) -> None:
    assert decode(GERMAN.encode(), label)[0] == GERMAN


def test_utf_7_is_not_understood() -> None:
    assert decode(b"+ADw-script+AD4-", "utf-7")[0] == "+ADw-script+AD4-"


def test_a_cut_character_does_not_change_the_guess() -> None:
    assert decode(RUSSIAN.encode()[:-1], is_cut=True)[1] == "utf-8"


def test_lone_surrogates_become_replacement_characters() -> None:
    assert clean("a\ud800b") == "a\ufffdb"
    assert clean("a\ud83d\ude00b") == "a😀b"


@pytest.mark.parametrize("encoding", ["koi8-r", "cp1251", "utf-16", "utf-16-le"])
def test_pages_go_through_the_same_steps(
    document: MakeDocument, registry: Registry, encoding: str
) -> None:
    body = f"<title>{RUSSIAN}</title><p>{RUSSIAN}".encode(encoding)
    assert registry.read(document(body), "text/html").title == RUSSIAN


@pytest.mark.parametrize("label", ["cp855", "mac-cyrillic", "x-cp1251", "koi8-t", "iso-2022-kr"])
@pytest.mark.parametrize("header", ["", "no-such"])
def test_a_page_may_declare_whatever_a_header_may(
    document: MakeDocument, registry: Registry, label: str, header: str
) -> None:
    spoken = "\uc0c8\ub85c\uc6b4 \uc18c\uc2dd" if label == "iso-2022-kr" else RUSSIAN
    page = f"<!doctype html><html><head><meta charset={label}><title>{spoken}</title>" + "<p>x" * 9
    body = page.encode(label.removeprefix("x-"))
    if label == "iso-2022-kr":  # the mark of the encoding may stand further down
        body = b" " * 99 + body
    assert registry.read(document(body, charset=header), "text/html").title == spoken


def test_a_declaration_against_which_the_bytes_speak_does_no_harm(
    document: MakeDocument, registry: Registry
) -> None:
    for label in ("cp855", "cp037", "utf-32", "utf-7"):
        body = f"<meta charset={label}><title>{RUSSIAN}</title>".encode()
        assert registry.read(document(body), "text/html").title == RUSSIAN


def test_a_page_may_declare_its_charset_itself(document: MakeDocument, registry: Registry) -> None:
    body = f"<meta charset=koi8-r><title>{RUSSIAN}</title>".encode("koi8-r")
    found = registry.read(document(body), "text/html")
    assert (found.title, found.charset) == (RUSSIAN, "koi8-r")
