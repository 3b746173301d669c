"""Passages of given texts are found in pages, also edited ones; what merely sounds alike is not."""

import random

import pytest

from gossamer.dedupe import TextReuse, WordSplitter

SYLLABLES = [f"{a}{b}" for a in "bdfgklmnprstvz" for b in ("a", "e", "i", "o", "u")]
STOCK = "all rights reserved by the owners of this page whoever they may be at the time of reading"


class Writer:
    """Writes texts on one topic: few words that are frequent, many that are not (Zipf)."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._words = ["".join(dice.choices(SYLLABLES, k=dice.randint(1, 4))) for _ in range(3000)]
        self._weights = [1 / rank for rank in range(1, 3001)]

    def words(self, count: int) -> list[str]:
        return self._dice.choices(self._words, self._weights, k=count)

    def edited(self, words: list[str], share: float) -> list[str]:
        """Return words of which a share was substituted, deleted, or has others before it."""
        made = list(words)
        for _ in range(round(share * len(words))):
            at = self._dice.randrange(len(made))
            kind = self._dice.randrange(3)
            made[at : at + (kind != 0)] = [] if kind == 1 else [self._dice.choice(self._words)]
        return made

    def with_moved_sentence(self, words: list[str]) -> list[str]:
        size = self._dice.randint(8, len(words) // 3)
        at = self._dice.randrange(len(words) - size)
        rest = words[:at] + words[at + size :]
        to = self._dice.randrange(len(rest))
        return rest[:to] + words[at : at + size] + rest[to:]

    def dressed(self, words: list[str]) -> str:
        """Return words with other case, punctuation and whitespace."""
        return " ".join(
            (word.upper() if self._dice.random() < 0.1 else word)
            + self._dice.choice(("", "", ",", ".\n"))
            for word in words
        )


def passages_in(reuse: TextReuse, text: str, host: str = "a.test") -> list[tuple[int, int]]:
    """Return the number of each text of which passages are in a page, and the words of these."""
    page = reuse.split(text)
    is_noted = reuse.note(page, host)
    found = [(one.text, one.words) for one in reuse.passages(page, host)]
    assert is_noted or not found
    return found


@pytest.mark.parametrize("share", [0.0, 0.01, 0.05, 0.1])
@pytest.mark.parametrize("length", [40, 120, 400])
def test_planted_quotations_are_found_and_nothing_else(length: int, share: float) -> None:
    dice = random.Random(f"{length} {share}")
    writer = Writer(dice)
    given = [writer.words(900) for _ in range(5)]
    reuse = TextReuse([" ".join(words) for words in given])
    for number in range(20):
        source = dice.randrange(5)
        start = dice.randrange(900 - length)
        quoted = given[source][start : start + length]
        quoted = writer.with_moved_sentence(quoted) if number % 4 == 0 and length > 40 else quoted
        page = [*writer.words(200), *writer.edited(quoted, share), *writer.words(200)]
        (found,) = passages_in(reuse, writer.dressed(page))
        assert found[0] == source
        assert 0.7 * length <= found[1] <= length + 6


def test_honest_pages_on_the_same_topic_share_no_passage() -> None:
    writer = Writer(random.Random(2))
    given = [[*writer.words(500), *STOCK.split(), *writer.words(500)] for _ in range(10)]
    reuse = TextReuse([" ".join(words) for words in given])
    for _ in range(200):
        words = [*writer.words(300), *STOCK.split(), *writer.words(300), *STOCK.split()]
        assert passages_in(reuse, writer.dressed(words)) == []


def test_what_every_page_of_a_host_says_is_no_quotation() -> None:
    writer = Writer(random.Random(3))
    navigation, essay = writer.words(120), writer.words(600)
    reuse = TextReuse([" ".join([*navigation, *essay])])
    pages = [" ".join([*navigation, *writer.words(200)]) for _ in range(40)]
    quoting = " ".join([*navigation, *writer.words(100), *essay[50:110], *writer.words(80)])
    for page in (*pages, quoting):
        reuse.note(reuse.split(page), "a.test")
    assert [reuse.passages(reuse.split(page), "a.test") for page in pages] == [[]] * 40
    (found,) = reuse.passages(reuse.split(quoting), "a.test")
    assert found.words == pytest.approx(60, abs=3)


def test_a_text_that_many_pages_hold_as_a_whole_is_told_of_each() -> None:
    writer = Writer(random.Random(4))
    essay = writer.words(150)
    reuse = TextReuse([" ".join(essay)])
    pages = [" ".join([*writer.words(50), *essay]) for _ in range(60)]
    for page in pages:
        reuse.note(reuse.split(page), "a.test")
    assert all(reuse.passages(reuse.split(page), "a.test") for page in pages)


def test_counting_to_100_and_the_alphabet_are_no_quotations() -> None:
    numbers = " ".join([*map(str, range(1, 101)), *"abcdefghijklmnopqrstuvwxyz"])
    writer = Writer(random.Random(5))
    reuse = TextReuse([f"{' '.join(writer.words(100))} {numbers}"])
    assert passages_in(reuse, f"{' '.join(writer.words(100))} {numbers}") == []


def test_every_given_text_that_has_a_passage_is_named() -> None:
    writer = Writer(random.Random(6))
    shared = writer.words(80)
    texts = [[*writer.words(100), *shared, *writer.words(100)] for _ in range(3)]
    reuse = TextReuse([" ".join(words) for words in texts])
    page = " ".join([*writer.words(60), *shared, *writer.words(60)])
    assert [text for text, _ in passages_in(reuse, page)] == [0, 1, 2]


def test_writing_without_spaces_is_compared_by_characters() -> None:
    dice = random.Random(7)
    text = "".join(chr(dice.randint(0x4E00, 0x6000)) for _ in range(400))
    page = "".join(chr(dice.randint(0x4E00, 0x6000)) for _ in range(100))
    quoted = text[100:130] + "。\n" + text[130:150] + "新" + text[150:180]
    reuse = TextReuse([text])
    assert passages_in(reuse, page) == []
    ((number, words),) = passages_in(reuse, page + quoted + page)
    assert (number, words) == (0, 80)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The STRASSE — naïve ﬁnal", "the straße, naive final"),
        ("cafe\u0301 au lait", "café au\u00a0lait"),
        ("soft\u00adware zero\u200bwidth", "software zerowidth"),
        ("ＦＵＬＬ width １２", "full width 12"),
    ],
)
def test_words_are_compared_by_their_letters(one: str, other: str) -> None:
    splitter = WordSplitter()
    assert splitter.split(one).words.tolist() == splitter.split(other).words.tolist()


def test_words_know_where_they_stand() -> None:
    text = "Ein «Wort», 東京 und\n42!"
    spans = WordSplitter().split(text).spans.tolist()
    assert [text[start:end] for start, end in spans] == ["Ein", "Wort", "東", "京", "und", "42"]


def test_texts_that_repeat_one_word_cost_no_more_than_others() -> None:
    reuse = TextReuse(["spam " * 50_000])
    page = reuse.split("spam " * 50_000)
    assert reuse.note(page, "a.test")
    (found,) = reuse.passages(page, "a.test")
    assert found.words > 40_000
