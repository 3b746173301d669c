"""The kernels read as plain Python does, whatever the text."""

import re
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from gossamer.search.analysis import Analyser
from gossamer.search.analysis.content import Arranger
from gossamer.search.analysis.stems import STEMMED
from gossamer.search.analysis.vocabulary import PADDING, Vocabulary
from gossamer.search.analysis.words import LONGEST
from gossamer.search.page import IndexPage

_PLAIN = Analyser()
_WORDY = st.sampled_from(
    (
        *(
            "don't",
            "page's",
            "foo_bar",
            "_",
            "__",
            "'",
            "’",
            "s",
            "t",
            "c++",
            "C#",
            "+",
            "#",
            " ",
            "\n",
        ),
        *(
            "é",
            "e\u0301",
            "\u00ad",
            "\u200d",
            "東京",
            "ไทย",
            "한국어",
            "ß",
            "İ",
            "ﬁ",
            "Σας",
            "1",
            "ǅ",
        ),
        *(
            "x" * 70,
            "é" * 40,
            "running",
            "universities",
            "๑",
            "\U00020000",
            "😀",
            "\x00",
            "＿",
            "ｃ",
        ),
        *("＃", "\ufdfa"),
    )
)
_TEXTS = st.one_of(st.text(max_size=80), st.lists(_WORDY, max_size=30).map("".join))
_NOTHING = re.compile(rb"[\x00- ]*(?:[*-]|[0-9]+\.)?[\x00- ]*")
"""A line without words: the mark of a list at most."""
_LINES = st.lists(
    st.one_of(
        st.sampled_from(["Home", "* About us", "1. First", "", "   ", "| a | b  c", "x = 1;", "©"]),
        st.sampled_from(["This is a sentence, and it says something.", "All rights reserved"]),
        st.text(max_size=40),
    ),
    max_size=25,
)


@cache
def _vocabulary() -> Vocabulary:
    return Vocabulary()


@cache
def _arrangers() -> tuple[Arranger, Arranger]:
    return Arranger(), Arranger(is_plain=True)


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(st.lists(_TEXTS, min_size=1, max_size=4), st.sampled_from(STEMMED))
@example(["À" * 31 + "É_0"], "fr")
def test_the_kernel_finds_the_terms_that_plain_python_finds(texts: list[str], code: str) -> None:
    parts = [text.encode("utf-8", "replace") for text in texts]
    ends = [sum(map(len, parts[: n + 1])) for n in range(len(parts))]
    spans = [
        place for end, part in zip(ends, parts, strict=True) for place in (end - len(part), end)
    ]
    found = _vocabulary().terms(b"".join(parts) + PADDING, spans, code)
    plain = [_PLAIN.terms(part.decode(), code) for part in parts]
    assert found == [" ".join(terms) for terms in plain]


@settings(max_examples=examples(150), deadline=None)
@given(_TEXTS, st.sampled_from(["en", "de", "ru", "zh-Hant", "xx", ""]))
def test_terms_are_short_and_have_neither_spaces_nor_controls(text: str, language: str) -> None:
    for term in _PLAIN.terms(text, language):
        assert term
        assert len(term.encode()) <= LONGEST
        assert not any(char.isspace() or ord(char) < 32 for char in term)


@settings(max_examples=examples(150), deadline=None)
@given(_LINES, st.lists(st.sampled_from(["Home", "About us", "b", "a"]), max_size=3))
def test_main_content_and_rest_are_all_lines_that_say_something(
    lines: list[str], links: list[str]
) -> None:
    text = "\n".join(lines).encode("utf-8", "replace")
    one, other = (each.arranged(b"prefix\n", links, b"First\n", text) for each in _arrangers())
    assert (one.middle, one.end) == (other.middle, other.end)
    told = one.text[: one.end].tobytes()
    assert told == other.text[: one.end].tobytes()
    assert told.startswith(b"prefix\n")
    said = [line for line in text.split(b"\n") if not _NOTHING.fullmatch(line)]
    assert sorted(line for line in told[7:].split(b"\n") if line) == sorted(said)


@settings(max_examples=examples(100), deadline=None)
@given(_TEXTS, _TEXTS, st.lists(_TEXTS, max_size=3))
def test_any_page_can_be_prepared(title: str, text: str, said: list[str]) -> None:
    page = IndexPage(
        url="http://a.test/x",
        title=title,
        text=text,
        language="en",
        headings=tuple(said),
        anchors=tuple(said),
        link_texts=frozenset(said),
    )
    made = _PLAIN.prepare(page)
    assert made == _PLAIN.prepare(page)
    assert made.words[0] == " ".join(_PLAIN.terms(title.encode("utf-8", "replace").decode(), "en"))
    assert made.text.encode().decode() == made.text
