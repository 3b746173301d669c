"""A sketch: what counts as a word, what two texts have in common, and what it all comes to."""

import numpy as np
import pytest

from gossamer.dedupe import Level, PageText, Sketcher, Sketches, compare
from tests.unit.dedupe.plainly import plain_sketch
from tests.unit.dedupe.prose import changed, prose

SKETCHER = Sketcher(seed=7)
KNOWN = [
    "042e870bc418efbb",
    "997db5bb2f85bbe9",
    "cdb711c2a8ebb4f0",
    "771f5bdd071a9bdb",
    "0195b898e9d33b4f",
    "000000000000000c",
]
"""Two words of bins, then SimHash, exact hash, title hash and number of words."""


def sketched(*texts: str, title: str = "One title") -> Sketches:
    return SKETCHER.of_texts([(text.encode(), title.encode()) for text in texts])


def verdict(one: str, other: str, titles: tuple[str, str] = ("A", "A")) -> tuple[Level, int]:
    texts = [(one.encode(), titles[0].encode()), (other.encode(), titles[1].encode())]
    return compare(SKETCHER.of_texts(texts).records, [(0, 1)])[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a\u00a0b", "a b"),
        ("\u201cx\u201d\u2014y", "x y"),
        ("Der gro\u00dfe Hund", "der gro\u00dfe hund"),
        ("\u3010x\u3011\uff0cy\u3002", "x \uff0c y"),
        ("\ufeffx \ufffd y", "x y"),
        ("x\u2026y\u2192z", "x y z"),
        ("x_y-z", "x y z"),
    ],
)
def test_spaces_quotes_dashes_and_signs_separate_whatever_their_alphabet(
    one: str, other: str
) -> None:
    first, second = sketched(one, other).records
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("  \n\t--", 0),
        ("one", 1),
        ("\u65e5\u672c\u8a9e", 3),
        ("abc\u65e5def", 3),
        ("\u30c6\u30b9\u30c8", 3),
        ("Стоит дом", 2),
        ("\ud55c\uad6d\uc5b4 \ubb38\uc11c", 2),
        ("na\u00efve caf\u00e9", 2),
        ("\U0001f600 smile", 2),
    ],
)
def test_words_are_counted_as_readers_of_each_script_would(text: str, words: int) -> None:
    assert sketched(text).records[0, 11] == words


def test_a_changed_character_of_a_chinese_text_changes_little() -> None:
    text = "".join(chr(0x4E00 + 7 * n % 2000) for n in range(600))
    level, bins = verdict(text, text[:300] + "\u9f98" + text[301:])
    assert (level, bins >= 55) == (Level.DUPLICATE, True)


def test_a_character_that_is_cut_off_is_a_letter_and_reads_nothing_beyond_the_end() -> None:
    whole = "x \u65e5".encode()
    for cut in (whole[:-1], whole[:-2], "x\u00a0".encode()[:-1]):
        records = SKETCHER.of_texts([(cut, b"")]).records
        assert records[0, 11] in {1, 2}


def test_the_kernels_say_what_the_description_says() -> None:
    texts = [
        "one",
        "One two",
        "one two three",
        " ".join(prose(1, 50)),
        " ".join(prose(2, 3000)),
        "\u65e5\u672c\u8a9e \u201cstra\u00dfe\u201d na\u00efve x\u00a0y",
        "",
    ]
    made = sketched(*texts, title="")
    for text, record, bands in zip(texts, made.records, made.bands, strict=True):
        plain = plain_sketch(text, seed=7)
        assert int(record[11]) == plain.words
        assert (int(record[8]), int(record[9])) == (plain.simhash, plain.exact)
        assert list(record[:8].tobytes()) == plain.bins
        assert [int(key) >> 27 for key in bands] == plain.bands
        assert int(record[10]) == 0


def test_a_known_text_has_the_sketch_that_it_always_had() -> None:
    """What is on disk was made by these rules: whoever changes one must raise VERSION."""
    record = sketched("The quick brown fox jumps over the lazy dog, again and again.").records[0]
    assert [f"{int(word):016x}" for word in (*record[:2], *record[8:12])] == KNOWN


def test_another_seed_makes_sketches_that_have_nothing_in_common() -> None:
    text = [(" ".join(prose(3)).encode(), b"T")]
    ours, theirs = SKETCHER.of_texts(text), Sketcher(seed=8).of_texts(text)
    assert not (ours.bands == theirs.bands).any()


def test_bins_of_a_text_of_one_shingle_are_not_all_alike() -> None:
    record = sketched("alone").records[0]
    assert len(set(record[:8].tobytes())) > 40


def test_the_longest_and_the_shortest_text_can_come_together() -> None:
    long = "a " * 300_000
    made = sketched("", long, "b", long)
    assert made.records[:, 11].tolist() == [0, 300_000, 1, 300_000]
    assert np.array_equal(made.records[1], made.records[3])


@pytest.mark.parametrize(("edits", "level"), [(0, 3), (1, 2), (8, 2), (200, 0)])
def test_a_few_changed_words_leave_a_duplicate_and_many_do_not(edits: int, level: int) -> None:
    words = prose(5)
    assert verdict(" ".join(words), " ".join(changed(words, edits)))[0] == level


def test_the_same_text_under_another_title_is_the_same_text() -> None:
    text = " ".join(prose(6))
    assert verdict(text, text, titles=("A", "B")) == (Level.EXACT, 64)


def test_near_under_another_title_or_none_is_only_similar() -> None:
    words = prose(6)
    one, other = " ".join(words), " ".join(changed(words, 4))
    assert verdict(one, other, titles=("A", "B"))[0] is Level.SIMILAR
    assert verdict(one, other, titles=("", ""))[0] is Level.SIMILAR
    assert verdict(one, other, titles=("A\u00a0b!", "a B"))[0] is Level.DUPLICATE


def test_few_words_must_be_the_same_and_under_the_same_title() -> None:
    words = prose(9, 60)
    short, edited = " ".join(words), " ".join(changed(words, 1))
    assert verdict(short, edited)[0] is Level.DIFFERENT
    assert verdict(short, short)[0] is Level.EXACT
    assert verdict(short, short, titles=("A", "B"))[0] is Level.SIMILAR


def test_a_page_with_a_fifth_more_text_is_different() -> None:
    words = prose(10)
    assert verdict(" ".join(words), " ".join(words + prose(11, 90)))[0] is Level.DIFFERENT


def test_a_page_brings_its_key_its_host_and_its_moment() -> None:
    pages = [PageText(2**63 + 5, "a.test", "T", b"some words", 1_800_000_000.9)]
    record = SKETCHER.sketches(pages).records[0]
    assert (int(record[12]), int(record[13])) == (2**63 + 5, 1_800_000_000_900_000)
    assert int(record[11]) & 0xFFFFFFFF == 2
    other = SKETCHER.sketches([PageText(1, "b.test", "T", b"some words", 0.0)]).records[0]
    assert int(record[11]) >> 32 != int(other[11]) >> 32


def test_a_title_that_is_not_unicode_is_sketched_all_the_same() -> None:
    made = SKETCHER.sketches([PageText(1, "a.test", "T\ud800", b"x \xff y", 0.0)])
    assert int(made.records[0, 11]) & 0xFFFFFFFF == 3
