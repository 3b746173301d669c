"""Any text is a question, and a question that is written down is read as itself."""

from hypothesis import example, given
from hypothesis import strategies as st

from gossamer.search.query import MOST_CHARS, MOST_WORDS, parse_query

PIECES = st.sampled_from(
    [
        *('"', "-", "--", " ", ":", "OR", "“", "”", "«", "\u3000", "\x00", "\x1b[31m", "\ud800"),
        *("site:", "-site:", "lang:", "type:", "inurl:", "before:", "after:", "SITE："),
        *("example.org", "münchen.de", "[::1]", "http://a.b/c", "de", "zh-Hant", "pdf"),
        *("2026", "2026-02-30", "2026-05", "1950-1-1", "9999-12-31", "0000", "word", "語", "ﬁ"),
    ]
)
SAID = st.one_of(st.text(), st.lists(PIECES, max_size=20).map("".join))


@given(SAID)
@example('"-')
@example('"-word')
@example('word "site:example.org')
@example('inurl:"\x00word"')
@example('-"site:example.org')
@example('inurl:"\x08"')
def test_any_text_is_read_and_what_is_printed_is_read_as_the_same_question(text: str) -> None:
    question = parse_query(text).query
    again = parse_query(question.text())
    assert again.query == question
    assert again.hints == ()


@given(SAID)
def test_a_question_has_only_printable_parts(text: str) -> None:
    shown = parse_query(text).query.text()
    shown.encode()
    assert "\x1b" not in shown
    assert "\x00" not in shown


@given(st.lists(st.text(min_size=1), max_size=300).map(" ".join))
def test_a_long_question_is_cut(text: str) -> None:
    question = parse_query(text).query
    assert len(question.words) + len(question.rows) + len(question.without) <= MOST_WORDS
    assert len(question.text()) <= 2 * MOST_CHARS
