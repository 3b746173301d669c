"""Which language a text is in: its script, a table of letters and words, and the page's claim."""

from array import array
from ctypes import c_uint8, c_uint32

import pytest

from gossamer.process import language_kernels
from gossamer.process.language import (
    LATIN,
    detector,
    language_of,
    natives,
    sample_of,
    scripts,
)

ENGLISH = "The library lends books to everyone who lives in the town and likes to read them. "
GERMAN = "Die Bibliothek leiht allen, die in der Stadt wohnen und gerne lesen, viele Romane aus. "
CHINESE = "图书馆把书借给住在城里而且喜欢读书的每一个人，不收任何费用，每天开放。"
JAPANESE = "図書館は町に住んでいて本を読むのが好きな人に無料で本を貸します。"
RUSSIAN = "Библиотека выдаёт книги всем, кто живёт в городе и любит читать. "
CODE = "int main(void) { return open(path, flags); } "

TITLES = {
    "en": "How to repair a broken chair",
    "de": "Wie man einen kaputten Stuhl repariert",
    "fr": "Comment réparer une chaise cassée",
    "es": "Cómo arreglar una silla que se ha roto",
    "it": "Come riparare una sedia che si è rotta",
    "pt": "Como consertar uma cadeira que não está boa",
    "nl": "Hoe je een kapotte stoel kunt repareren",
    "sv": "Hur man lagar en trasig stol själv",
    "da": "Hvad gør man, når en stol er gået i stykker",
    "fi": "Kuinka rikkinäinen tuoli korjataan itse",
    "pl": "Jak naprawić zepsute krzesło samemu",
    "cs": "Jak opravit rozbitou židli doma",
    "hu": "Hogyan javítsunk meg egy törött széket",
    "ro": "Cum să repari un scaun care s-a rupt",
    "tr": "Kırık bir sandalye nasıl tamir edilir",
    "el": "Πώς να φτιάξετε μια σπασμένη καρέκλα",
    "ru": "Как починить сломанный стул дома",
    "uk": "Як полагодити зламаний стілець удома",
    "ar": "كيف تصلح كرسيًا مكسورًا في البيت",
    "he": "איך לתקן כיסא שבור בבית",
    "hi": "टूटी हुई कुर्सी को घर पर कैसे ठीक करें",
    "vi": "Cách sửa một chiếc ghế bị gãy",
    "ko": "부러진 의자를 집에서 고치는 방법",
    "ja": "壊れた椅子を家で直す方法について",
    "zh": "如何在家里修理一把坏了的椅子这个问题",
    "zh-Hant": "如何在家裡修理一把壞了的椅子這個問題",
    "th": "วิธีซ่อมเก้าอี้ที่หักด้วยตัวเอง",
}


@pytest.mark.parametrize(("language", "title"), TITLES.items())
def test_a_title_is_enough_to_tell_the_language(language: str, title: str) -> None:
    assert detector().detect(title).code == language


@pytest.mark.parametrize(
    ("text", "claim", "expected"),
    [
        (ENGLISH * 30, "", "en"),
        (ENGLISH * 30, "en-GB", "en"),
        (ENGLISH * 30, "de", "en"),
        (GERMAN * 30, "", "de"),
        (GERMAN * 30, "de", "de"),
        (CHINESE * 60, "", "zh"),
        (ENGLISH * 3, "", "en"),
        ("word", "fr-CA", "fr"),
        ("0123456789 " * 200, "nl", "nl"),
        ("", "", ""),
        ("☰ 1 2 3 4 5 6 7 8 9 10 11 12 13 14", "", ""),
    ],
)
def test_a_text_has_the_language_that_it_is_written_in(
    text: str, claim: str, expected: str
) -> None:
    assert language_of(text, claim) == expected


@pytest.mark.parametrize(("text", "expected"), [(CHINESE, "zh"), (JAPANESE, "ja"), (RUSSIAN, "ru")])
def test_the_text_decides_when_its_script_is_not_that_of_the_claimed_language(
    text: str, expected: str
) -> None:
    assert language_of(text, "en") == expected
    assert language_of(text + CODE, "en") == expected


def test_a_name_in_another_script_does_not_change_the_language() -> None:
    assert language_of(ENGLISH + "Deutsch, 日本語, 한국어, Русский. " + ENGLISH, "en") == "en"


def test_a_claim_that_no_table_knows_stands() -> None:
    assert language_of(ENGLISH * 3, "oc") == "oc"


def test_a_claim_that_may_well_be_right_stands() -> None:
    assert language_of("Kommunen har nye planer for skolen.", "nb") in {"nb", "no"}
    assert language_of("foo bar baz 12345 qux quux", "de") == "de"


def test_a_menu_in_english_does_not_hide_a_text_in_chinese() -> None:
    assert language_of(ENGLISH * 7 + CHINESE * 60) == "zh"


def test_a_menu_in_english_does_not_hide_a_text_in_german_on_a_page_that_claims_english() -> None:
    assert language_of(ENGLISH * 14 + GERMAN * 60, "en") == "de"


def test_a_claim_that_the_beginning_does_not_bear_out_is_looked_at_further_down() -> None:
    assert language_of(ENGLISH * 7 + GERMAN * 30, "de") == "de"


def test_a_sample_is_short_however_long_the_text_is() -> None:
    assert sample_of("short") == "short"
    assert len(sample_of(ENGLISH * 100_000)) < 1_300


def test_a_lone_surrogate_costs_only_the_guess() -> None:
    assert language_of(ENGLISH * 30 + "\ud800", "en") == "en"
    assert language_of("\ud800" + ENGLISH * 30, "en") == "en"


@pytest.mark.parametrize("text", [ENGLISH, GERMAN, CHINESE, JAPANESE, RUSSIAN, CODE, "a", "é𝒳ß"])
def test_plain_and_compiled_features_are_the_same(text: str) -> None:
    data, made = text.lower().encode("utf-32-le"), scripts()
    size, room = len(data) // 4, 3 * len(data) + 3
    found, owners, counts = (c_uint32 * room)(), (c_uint8 * room)(), (c_uint32 * 128)()
    many = natives()["hashes"](data, size, made, len(made), counts, found, owners)
    plain = ([0] * 128, [0] * room, [0] * room)
    codes = array("I", data)
    assert language_kernels.hashes(codes, size, made, len(made), *plain) == many
    assert [list(counts), list(found), list(owners)] == list(plain)


def test_plain_and_compiled_rows_and_sums_of_weights_are_the_same() -> None:
    crowded = [5, 6, 7, 8, 9, 1 << 31]
    keys, first = [*crowded, 0, 0, 0, 0], [0, 5, 6]
    rows = [5, 9, 9, 4, 7, (1 << 31) + 1, 1 << 31, 0]
    known = language_kernels.known_rows(rows, [1, 1, 1, 1, 2, 1, 1, 1], 8, 1, keys, 0, first, 0, 31)
    assert rows[:known] == [1, 5, 5, 6]
    scores = [9, 9]
    language_kernels.weigh(rows, known, [0, *range(12)], 1, 2, scores)
    assert scores == [0 + 8 + 8 + 10, 1 + 9 + 9 + 11]


@pytest.mark.parametrize("text", [ENGLISH * 9, GERMAN, RUSSIAN, CHINESE, JAPANESE, "a", "1 2"])
@pytest.mark.parametrize("script", [0, LATIN])
def test_plain_and_compiled_scores_are_the_same(text: str, script: int) -> None:
    one = detector()
    codes = array("I", text.lower().encode("utf-32-le"))
    size, made, parts, table = len(codes), scripts(), one.parts, one.tables
    lists = [array("I", some).tolist() for some in (table.keys, table.first)]
    plain = [[0] * 128, [0] * 3 * size, [0] * 3 * size, [0] * 64, [0] * 68]
    native = [array(letter, each) for letter, each in zip("IIBIq", plain, strict=True)]
    head = (size, made, len(made))
    told = language_kernels.scored(
        codes,
        *head,
        array("d", parts),
        script,
        array("q", table.places),
        *lists,
        table.weights,
        *plain,
    )
    rest = (parts, script, table.places, table.keys, table.first, table.weights)
    assert natives()["scored"](codes, *head, *rest, *native) == told
    assert [each.tolist() for each in native] == plain
