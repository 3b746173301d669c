import pytest

from gossamer.search.analysis import REST_MARK, Analyser
from gossamer.search.messages import Stored
from gossamer.search.snippets import Segments, Snippets

ANALYSER = Analyser()
FILL = "Nothing of that kind is said in this sentence at all. " * 20


def page(text: str, title: str = "", language: str = "en") -> Stored:
    return Stored(
        key=1,
        url="http://a.test/",
        title=title,
        text=text,
        language=language,
        media_type="text/html",
        at=0,
    )


def asked(question: str, languages: tuple[str, ...] = ("en",)) -> Snippets:
    return Snippets(ANALYSER, ANALYSER.groups(question, languages))


def marked(segments: Segments) -> str:
    return "".join(f"[{text}]" if is_hit else text for text, is_hit in segments)


def test_words_are_hits_in_any_of_their_forms() -> None:
    text = "Foxes are happy, a fox runs; foxglove and outfox are none."
    assert (
        marked(asked("fox running happiness happily happy").snippet(page(text)))
        == "[Foxes] are [happy], a [fox] [runs]; foxglove and outfox are none."
    )


def test_the_part_with_most_words_is_shown_from_its_sentence_on() -> None:
    text = f"A fox here. {FILL}The quick brown fox jumps over dogs. {FILL}"
    told = marked(asked("quick fox").snippet(page(text)))
    assert told.startswith("… The [quick] brown [fox] jumps over dogs. Nothing")
    assert told.endswith(" …")
    assert len(told) < 260


def test_words_that_stand_apart_are_shown_in_two_parts() -> None:
    told = marked(asked("zebra giraffe").snippet(page(f"{FILL}A zebra. {FILL}A giraffe. {FILL}")))
    assert told.count("…") == 3
    assert "[zebra]" in told
    assert "[giraffe]" in told


def test_main_content_is_shown_rather_than_what_surrounds_it() -> None:
    text = f"{FILL}A zebra. {FILL}{REST_MARK}zebra zebra zebra"
    assert marked(asked("zebra").snippet(page(text))).count("[zebra]") == 1


def test_without_a_hit_the_beginning_is_shown_without_the_title() -> None:
    told = marked(asked("zebra").snippet(page(f"A title\n* {FILL}", title="A title")))
    assert told.startswith("Nothing of that kind")
    assert told.endswith(" …")
    assert marked(asked("zebra").snippet(page(""))) == ""


def test_a_title_has_hits_too() -> None:
    assert marked(asked("foxes").title(page("", title=" The\nfox "))) == "The [fox]"
    assert asked("foxes").title(page("")) == []


def test_marks_of_lists_are_left_out_and_dashes_and_numbers_behind_a_hit_are_not() -> None:
    text = f"* a fox - 2. of two\n  * a hen\n3. a fox\n- {'x' * 150}\n* {FILL}"
    told = marked(asked("fox").snippet(page(text)))
    assert told == f"a [fox] - 2. of two a hen a [fox] {'x' * 150} …"
    assert marked(asked("fox").title(page("", title="2. Fox - 3. Hen"))) == "2. [Fox] - 3. Hen"


@pytest.mark.parametrize(
    ("question", "text", "language", "expected"),
    [
        ("東京都", "私は東京都に住む。", "ja", "私は[東京都]に住む。"),
        ("مرحبا", "قال مرحبا بكم", "ar", "قال [مرحبا] بكم"),
        ("שלום", "אמר שלום לכם", "he", "אמר [שלום] לכם"),
        ("ecole", "Une École à Paris", "fr", "Une [École] à Paris"),
        ("école", "Une École à Paris", "fr", "Une [École] à Paris"),
        ("Häuser", "Ein Haus, zwei HÄUSER", "de", "Ein [Haus], zwei [HÄUSER]"),
        ("fox", "🦊 fox 🦊👩‍👩‍👧", "en", "🦊 [fox] 🦊👩‍👩‍👧"),
        ("foo_bar", "call FOO_BAR(x)", "en", "call [FOO_BAR](x)"),
        ("bar", "call foo_bar(x)", "en", "call foo_[bar](x)"),
        ("C++", "in C++ and C", "en", "in [C++] and C"),
        ("İstanbul", "İstanbul İİİ istanbul", "tr", "[İstanbul] İİİ [istanbul]"),
    ],
)
def test_hits_are_found_in_any_script(
    question: str, text: str, language: str, expected: str
) -> None:
    shown = asked(question, (language,))
    assert marked(shown.snippet(page(text, language=language))) == expected


def test_nothing_steers_a_screen_and_nothing_is_markup() -> None:
    text = "\x1b[31m<script>fox</script>\u202e\u2066\x9b\x07\r\n\t &amp; \ufeff\x00fox"
    segments = asked("fox").snippet(page(text))
    assert marked(segments) == "[31m<script>[fox]</script> &amp; [fox]"
    assert [text for text, is_hit in segments if is_hit] == ["fox", "fox"]


def test_words_of_a_phrase_are_hits_only_beside_others() -> None:
    shown = Snippets(
        ANALYSER, ANALYSER.groups("art war", ["en"]), [ANALYSER.versions("the art of war", ["en"])]
    )
    told = marked(shown.snippet(page("The end of it. The art of war, and of the sea.")))
    assert told == "The end of it. [The] [art] [of] [war], and of the sea."


def test_endless_words_and_lines_are_cut() -> None:
    told = "".join(text for text, _ in asked("fox").snippet(page("x" * 5000 + "fox" + "y" * 5000)))
    assert len(told) <= 205
    told = "".join(text for text, _ in asked("fox").snippet(page("fox " * 5000)))
    assert len(told) <= 205
