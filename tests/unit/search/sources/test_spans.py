"""Hidden text and ads are no text of a page in the index, and code is apart, unless it is kept."""

import pytest

from gossamer.search.sources.spans import ProseAndCode, split_text

TEXT = "Prose é.\nrun(1)\nMore prose.\nBuy!\nSecret\nrun(2)\nEnd."


def spans_of(**parts: list[str]) -> dict[str, list[int]]:
    """Return where parts of the text lie, as the archive says it."""
    spans: dict[str, list[int]] = {}
    for kind, texts in parts.items():
        at, numbers = 0, []
        for text in texts:
            start = TEXT.index(text, at)
            numbers += [start - at, len(text)]
            at = start + len(text)
        spans[kind] = numbers
    return spans


SPANS = spans_of(code=["run(1)", "run(2)"], ads=["Buy!"], hidden=["Secret"])


def words(split: ProseAndCode) -> tuple[list[str], list[str]]:
    return split.text.split(), split.code.split()


def test_a_text_is_without_hidden_text_ads_and_code() -> None:
    said, code = words(split_text(TEXT, SPANS))
    assert said == ["Prose", "é.", "More", "prose.", "End."]
    assert code == ["run(1)", "run(2)"]


@pytest.mark.parametrize(
    ("kind", "kept"), [("hidden", "Secret"), ("ads", "Buy!"), ("code", "run(1)")]
)
def test_what_is_kept_is_text(kind: str, kept: str) -> None:
    said, code = words(split_text(TEXT, SPANS, keep=[kind]))
    assert kept in said
    assert kept not in code


def test_without_spans_all_is_text() -> None:
    assert split_text(TEXT, {}) == (TEXT, "")


@pytest.mark.parametrize(
    "numbers", [[1], [-5, 10], [3, -1], [0, 10**9], [10**9, 5], [0, 5, 0, 10**9]]
)
def test_spans_that_cannot_be_do_no_harm(numbers: list[int]) -> None:
    split = split_text(TEXT, {"code": numbers, "strange": [0, 3]})
    assert len(split.text) + len(split.code) <= len(TEXT) + len(numbers)
