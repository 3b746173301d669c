"""Charts: whatever the figures are, what is drawn is a picture that fits them."""

from xml.etree import ElementTree as ET

from benchmarks.svg import WIDTH, Bar, Bars, Panel, bar_chart, figure, line_chart
from hypothesis import given
from hypothesis import strategies as st

SVG = "{http://www.w3.org/2000/svg}"
VALUES = st.floats(min_value=0, max_value=1e9)
WORDS = st.text(st.characters(exclude_categories=["C"]), max_size=20)


def words_of(picture: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(picture).iter(f"{SVG}text")]


@given(
    st.lists(st.builds(Bar, WORDS, VALUES, WORDS, st.booleans()), min_size=1, max_size=9), VALUES
)
def test_every_bar_lies_inside_the_card_and_is_as_long_as_its_value(
    bars: list[Bar], goal: float
) -> None:
    picture = bar_chart("a", "b", [Bars("c", bars, "ms", goal)])
    drawn = list(ET.fromstring(picture).iter(f"{SVG}rect"))[1:]
    lengths = [float(rect.attrib["width"]) for rect in drawn]
    assert len(lengths) == len(bars)
    assert all(float(rect.attrib["x"]) + float(rect.attrib["width"]) <= WIDTH for rect in drawn)
    by_value = [length for _, length in sorted(zip([b.value for b in bars], lengths, strict=True))]
    assert by_value == sorted(by_value)


@given(st.lists(VALUES, min_size=1, max_size=6), WORDS)
def test_a_line_has_a_point_per_value(values: list[float], name: str) -> None:
    points = [str(number) for number in range(len(values))]
    picture = line_chart("a", "b", [Panel("c", points, {name: values}, "MB", goal=3.0)])
    root = ET.fromstring(picture)
    assert len(list(root.iter(f"{SVG}circle"))) == len(values)


def test_names_and_values_are_written_beside_the_bars() -> None:
    told = words_of(bar_chart("T & T", "<about>", [Bars("group", [Bar("one", 1.25)], "ms")]))
    assert {"T & T", "<about>", "group", "one", "1.25 ms"} <= set(told)


def test_a_goal_is_written_down() -> None:
    assert "at most 800" in words_of(bar_chart("a", "b", [Bars("c", [Bar("d", 1)], "", 800)]))


def test_a_figure_has_about_three_digits() -> None:
    values = (0, 0.00321, 0.5, 1.234, 12.34, 123.4, 12345.6, 10.0, 100.0)
    told = [figure(value) for value in values]
    assert told == ["0", "0.0032", "0.5", "1.23", "12.3", "123", "12,346", "10", "100"]
