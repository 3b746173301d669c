"""The picture of a page among its neighbours: whole, harmless, the same each time."""

from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.graph import Neighbourhood, Spot, draw
from gossamer.graph.picture import MOST_SPOTS
from tests.examples import examples

SVG = "{http://www.w3.org/2000/svg}"
SPOTS = st.lists(
    st.builds(
        Spot,
        st.text(st.characters()),
        st.floats(0, 1e300),
        is_mutual=st.booleans(),
        is_weak=st.booleans(),
    ),
    max_size=50,
)


def spots(count: int, host: str = "a.test") -> list[Spot]:
    return [Spot(f"http://{host}/{n}", n) for n in range(count)]


def texts(picture: str) -> list[str]:
    return ["".join(one.itertext()) for one in ET.fromstring(picture).iter(f"{SVG}text")]


def test_the_page_its_neighbours_and_how_many_there_are() -> None:
    around = Neighbourhood("http://a.test/x", spots(2), spots(1, "b.test"), 1234, 1)
    told = " ".join(texts(draw(around)))
    for words in ("linked from 1,234 pages", "links to 1 page ", "and 1,232 more", "b.test/0"):
        assert words in told, words
    assert "a.test/0" not in told.replace("http://a.test/0", ""), "its own host goes unsaid"


def test_more_neighbours_than_fit_are_counted_not_drawn() -> None:
    picture = draw(Neighbourhood("http://a.test/", spots(100), spots(100), 100, 100))
    lines = ET.fromstring(picture).findall(f"{SVG}path")
    assert len(lines) == 2 * MOST_SPOTS
    assert texts(picture).count(f"and {100 - MOST_SPOTS} more") == 2


def test_a_page_without_links_is_a_picture_too() -> None:
    told = " ".join(texts(draw(Neighbourhood("http://a.test/", [], [], 0, 0))))
    assert "linked from 0 pages" in told
    assert "links to 0 pages" in told


def test_hosts_have_colours_of_their_own_and_too_many_share_grey() -> None:
    others = [Spot(f"http://h{n}.test/") for n in range(15)]
    picture = draw(Neighbourhood("http://a.test/", others, [], 15, 0))
    dots = [one.get("fill") for one in ET.fromstring(picture).findall(f"{SVG}circle")]
    assert len(set(dots)) == 9 + 1
    assert "hsl(0,0%,58%)" in dots


@settings(max_examples=examples(60))
@given(url=st.text(st.characters()), ins=SPOTS, outs=SPOTS)
def test_whatever_the_text_it_is_sound_xml_and_the_same_each_time(
    url: str, ins: list[Spot], outs: list[Spot]
) -> None:
    around = Neighbourhood(url, ins, outs, len(ins), len(outs))
    picture = draw(around)
    tags = {one.tag for one in ET.fromstring(picture).iter()}
    assert tags <= {SVG + t for t in ("svg", "title", "style", "rect", "text", "path", "circle")}
    assert picture == draw(around)
