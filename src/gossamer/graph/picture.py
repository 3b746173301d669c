"""Picture: a page among those that link to it and those it links to, as an SVG of its own.

The page stands in the middle, in-links to the left, out-links to the right; colours are hosts.
Nothing in it runs or is loaded, and whatever came from the web is text.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import chain
from math import log1p
from typing import NamedTuple
from urllib.parse import urlsplit

from gossamer.log import escape as without_controls

MOST_SPOTS = 20
"""On either side."""
WIDTH = 1120
_ROW, _TOP, _MIDDLE = 25, 62, WIDTH / 2
_LEFT, _RIGHT = 330, WIDTH - 330
_BOX, _BOX_HEIGHT = 230, 60
_LABEL_CHARS, _BOX_CHARS, _HOST_CHARS = 40, 30, 24
_LEAST_RADIUS, _MORE_RADIUS = 3.5, 4.5
_HOSTS_PER_LINE = 5
_HUES = (212, 24, 150, 280, 350, 52, 185, 320, 100, 0)
"""Of hosts, in the order in which they are met; the last is grey, for all others."""
_STYLE = """
svg{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;font-size:12px}
.ground{fill:#fff}.name{fill:#1f2328}.note,.more{fill:#667}.card{fill:#f6f8fa}.url{fill:#667}
.host{font-weight:600;fill:#1f2328}.line{fill:none;stroke-opacity:.45;stroke-width:1.6}
.weak{stroke-dasharray:4 4}.both{stroke-width:2.6;stroke-opacity:.8}
.card{stroke-width:2}
@media (prefers-color-scheme:dark){.ground{fill:#0d1117}.name,.host{fill:#e6edf3}
.note,.more,.url{fill:#9198a1}.card{fill:#161b22}}
"""


class Spot(NamedTuple):
    """A neighbour of a page."""

    url: str
    weight: float = 0.0
    """What it is worth beside the others: the larger, the bigger its dot."""
    is_mutual: bool = False
    """It links to the page, and the page to it."""
    is_weak: bool = False
    """Not a link that a person may follow: an image, a redirect, one marked nofollow."""


class Neighbourhood(NamedTuple):
    """A page, the neighbours that are shown, and how many there are."""

    url: str
    ins: Sequence[Spot]
    outs: Sequence[Spot]
    ins_total: int
    outs_total: int


def draw(around: Neighbourhood) -> str:
    """Return the picture; the same neighbourhood gives the same bytes."""
    ins, outs = around.ins[:MOST_SPOTS], around.outs[:MOST_SPOTS]
    colours = _colours([around.url, *(spot.url for spot in chain(ins, outs))])
    rows = max(len(ins), len(outs), 3)
    legend = -(-len(colours) // _HOSTS_PER_LINE)
    bottom = _TOP + rows * _ROW
    height = bottom + 44 + legend * 20
    middle = _TOP + rows * _ROW / 2
    most = max((spot.weight for spot in chain(ins, outs)), default=0.0)
    home = _host(around.url)
    parts = chain(
        _opening(around, height),
        _side(ins, Side(_LEFT, -1, middle, home, most), colours),
        _side(outs, Side(_RIGHT, 1, middle, home, most), colours),
        _card(around.url, middle, colours[home]),
        _mores(around, bottom + 14),
        _legend(colours, bottom + 40),
        ("</svg>\n",),
    )
    return "\n".join(parts)


class Side(NamedTuple):
    """One half of the picture: where its dots stand, and which way it looks."""

    x: float
    sign: int
    middle: float
    home: str
    most: float


def _opening(around: Neighbourhood, height: float) -> Iterator[str]:
    about = f"Links around {_shown(around.url, 200)}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" role="img" aria-label="{about}">'
    )
    yield f"<title>{about}</title><style>{_STYLE}</style>"
    yield f'<rect class="ground" width="{WIDTH}" height="{height:.0f}" rx="12"/>'
    told = f"linked from {_pages(around.ins_total)}", f"links to {_pages(around.outs_total)}"
    yield f'<text class="note" x="{_LEFT + 6}" y="32" text-anchor="end">{told[0]} →</text>'
    yield f'<text class="note" x="{_RIGHT - 6}" y="32">→ {told[1]}</text>'


def _side(spots: Sequence[Spot], side: Side, colours: Mapping[str, str]) -> Iterator[str]:
    start = side.middle - len(spots) * _ROW / 2 + _ROW / 2
    edge = _MIDDLE + side.sign * _BOX / 2
    bend = (side.x + edge) / 2
    for number, spot in enumerate(spots):
        y = start + number * _ROW
        colour = colours.get(_host(spot.url), _grey())
        # Lines reach the card fanned out a little, in the order of their dots.
        end = side.middle + (number - (len(spots) - 1) / 2) * min(2.2, 44 / max(len(spots), 1))
        look = "line" + " weak" * spot.is_weak + " both" * spot.is_mutual
        yield (
            f'<path class="{look}" stroke="{colour}" '
            f'd="M{side.x:g} {y:g}C{bend:g} {y:g} {bend:g} {end:g} {edge:g} {end:g}"/>'
        )
        radius = _LEAST_RADIUS + _MORE_RADIUS * _share(spot.weight, side.most)
        yield f'<circle cx="{side.x:g}" cy="{y:g}" r="{radius:.1f}" fill="{colour}"/>'
        anchor = ' text-anchor="end"' if side.sign < 0 else ""
        label = _label(spot.url, side.home) + (" ⇄" if spot.is_mutual else "")
        yield (
            f'<text class="name" x="{side.x + side.sign * 14:g}" y="{y + 4.3:g}"{anchor}>'
            f"{label}<title>{_shown(spot.url, 500)}</title></text>"
        )


def _card(url: str, middle: float, colour: str) -> Iterator[str]:
    top = middle - _BOX_HEIGHT / 2
    yield (
        f'<rect class="card" x="{_MIDDLE - _BOX / 2:g}" y="{top:g}" width="{_BOX}" '
        f'height="{_BOX_HEIGHT}" rx="10" stroke="{colour}"/>'
    )
    place = f'x="{_MIDDLE:g}" text-anchor="middle"'
    yield f'<text class="host" {place} y="{middle - 5:g}">{_shown(_host(url), _HOST_CHARS)}</text>'
    path = _shown(_path(url), _BOX_CHARS)
    yield f'<text class="url" {place} y="{middle + 15:g}">{path}</text>'


def _mores(around: Neighbourhood, y: float) -> Iterator[str]:
    for x, anchor, total, shown in (
        (_LEFT + 6, "end", around.ins_total, len(around.ins[:MOST_SPOTS])),
        (_RIGHT - 6, "start", around.outs_total, len(around.outs[:MOST_SPOTS])),
    ):
        if total > shown:
            told = f"and {total - shown:,} more"
            yield f'<text class="more" x="{x}" y="{y:g}" text-anchor="{anchor}">{told}</text>'


def _legend(colours: Mapping[str, str], y: float) -> Iterator[str]:
    step = (WIDTH - 40) / _HOSTS_PER_LINE
    for number, (host, colour) in enumerate(colours.items()):
        line, column = divmod(number, _HOSTS_PER_LINE)
        x = 28 + column * step
        yield f'<circle cx="{x:g}" cy="{y + line * 20 - 4:g}" r="5" fill="{colour}"/>'
        name = _shown(host, _HOST_CHARS)
        yield f'<text class="note" x="{x + 11:g}" y="{y + line * 20:g}">{name}</text>'


def _colours(urls: Sequence[str]) -> dict[str, str]:
    """Return a colour per host, for as many as can be told apart."""
    hosts = dict.fromkeys(_host(url) for url in urls)
    return {host: f"hsl({hue},62%,52%)" for host, hue in zip(hosts, _HUES[:-1], strict=False)}


def _grey() -> str:
    return f"hsl({_HUES[-1]},0%,58%)"


def _share(weight: float, most: float) -> float:
    return log1p(max(weight, 0.0)) / log1p(most) if most > 0 else 0.0


def _pages(count: int) -> str:
    return f"{count:,} page" + "s" * (count != 1)


def _host(url: str) -> str:
    try:
        return urlsplit(url).netloc or url
    except ValueError:
        return url


def _path(url: str) -> str:
    host = _host(url)
    return url.partition(host)[2] or "/" if host != url else ""


def _label(url: str, home: str) -> str:
    """Return a URL as short as it can be understood beside the page: its own host goes unsaid."""
    return _shown(_path(url) if _host(url) == home else _host(url) + _path(url), _LABEL_CHARS)


def _shown(text: str, most: int) -> str:
    """Return text for markup: cut in its middle, without controls, escaped."""
    text = without_controls(text).encode("utf-8", "backslashreplace").decode()
    if len(text) > most:
        head = (most - 1) * 2 // 5
        text = f"{text[:head]}…{text[head + 1 - most :]}"
    return escape(text, quote=True)
