"""Bar and line charts as SVG text: a light card with its own colours, right on any background."""

import math
from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape, quoteattr

WIDTH = 760
MARGIN = 24
LABEL_WIDTH = 190
NOTE_WIDTH = 250
BAR, STEP = 18, 30
PANEL_HEIGHT = 150
CLEAR = 22
"""Closer than this to the line above it, a line has its label below."""
TEXT, MUTED, GRID, CARD, EDGE = "#1f2328", "#5b636d", "#e4e7eb", "#ffffff", "#d4d9df"
OURS, OTHERS, GOAL = "#2563c9", "#aeb6c1", "#c2410c"
SERIES = (OURS, "#b45309", "#0f766e", "#7c3aed")
DASHED: dict[str, str | float] = {"stroke": GOAL, "stroke_dasharray": "4 3"}
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"


class Bar(NamedTuple):
    """One value with its name."""

    label: str
    value: float
    note: str = ""
    is_ours: bool = True


class Bars(NamedTuple):
    """A group of horizontal bars that share a scale, from zero."""

    title: str
    bars: Sequence[Bar]
    unit: str = ""
    goal: float | None = None
    """Drawn as a dashed line: where the bars should end."""
    goal_word: str = "at most"


class Panel(NamedTuple):
    """A small line chart: lines over the same points, from zero."""

    title: str
    points: Sequence[str]
    lines: dict[str, Sequence[float]]
    unit: str = ""
    goal: float | None = None


def bar_chart(title: str, about: str, groups: Sequence[Bars]) -> str:
    """Return a card of bar groups, one below the other."""
    parts, y = [], 76.0
    for group in groups:
        parts.append(_bar_group(group, y))
        y += STEP * len(group.bars) + 58
    return _card(title, about, parts, y - 14)


def line_chart(title: str, about: str, panels: Sequence[Panel]) -> str:
    """Return a card of small line charts, two in a row."""
    width = (WIDTH - 3 * MARGIN) / 2
    parts, bottom = [], 0.0
    for number, panel in enumerate(panels):
        x = MARGIN + (number % 2) * (width + MARGIN)
        y = 88.0 + (number // 2) * (PANEL_HEIGHT + 72)
        parts.append(_panel(panel, x, y, width))
        bottom = y + PANEL_HEIGHT + 40
    return _card(title, about, parts, bottom)


def figure(value: float) -> str:
    """Return a number with about three digits."""
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) < 0.001:
        return f"{value:.2g}"
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    text = f"{value:.{min(digits, 4)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _card(title: str, about: str, parts: Sequence[str], height: float) -> str:
    size = {"width": WIDTH, "height": round(height)}
    edge = {"x": 0.5, "y": 0.5, "width": WIDTH - 1, "height": round(height) - 1, "rx": 8}
    inside = [
        _tag("rect", **edge, fill=CARD, stroke=EDGE),
        _text(MARGIN, 34, title, font_size=17, font_weight=600),
        _text(MARGIN, 54, about, fill=MUTED),
        *parts,
    ]
    box = f"0 0 {WIDTH} {height:.0f}"
    about_it = {"role": "img", "aria_label": title, "font_family": FONT}
    space = "http://www.w3.org/2000/svg"
    return _tag("svg", "\n".join(inside), xmlns=space, viewBox=box, **size, **about_it) + "\n"


def _tag(name: str, content: str = "", **attributes: str | float) -> str:
    words = {
        key: round(one, 1) if isinstance(one, float) else one for key, one in attributes.items()
    }
    given = " ".join(f"{key.replace('_', '-')}={quoteattr(f'{one}')}" for key, one in words.items())
    return f"<{name} {given}>{content}</{name}>" if content else f"<{name} {given}/>"


def _text(x: float, y: float, words: str, **style: str | float) -> str:
    return _tag("text", escape(words), **{"x": x, "y": y, "font_size": 12, "fill": TEXT, **style})


def _rule(start: tuple[float, float], end: tuple[float, float], **style: str | float) -> str:
    (x1, y1), (x2, y2) = start, end
    return _tag("line", x1=x1, y1=y1, x2=x2, y2=y2, **{"stroke": GRID, **style})


def _bar_group(group: Bars, top: float) -> str:
    notes = NOTE_WIDTH if any(bar.note for bar in group.bars) else 0
    left, room = MARGIN + LABEL_WIDTH, WIDTH - 2 * MARGIN - LABEL_WIDTH - notes - 64
    most = max([*(bar.value for bar in group.bars), group.goal or 0.0]) or 1.0
    parts = [_text(MARGIN, top + 8, group.title, font_size=13, font_weight=600)]
    y = top + 24
    for bar in group.bars:
        length = max(1.5, room * bar.value / most)
        weight = 600 if bar.is_ours else 400
        colour = OURS if bar.is_ours else OTHERS
        told = f"{figure(bar.value)} {group.unit}".strip()
        parts += [
            _text(left - 10, y + 13, bar.label, text_anchor="end", font_weight=weight),
            _tag("rect", x=left, y=y, width=length, height=BAR, rx=2, fill=colour),
            _text(left + length + 6, y + 13, told, font_weight=weight),
            _text(WIDTH - MARGIN, y + 13, bar.note, fill=MUTED, text_anchor="end", font_size=11),
        ]
        y += STEP
    if group.goal is not None:
        x = left + room * group.goal / most
        told = f"{group.goal_word} {figure(group.goal)}"
        parts += [
            _rule((x, top + 16), (x, y - 6), **DASHED),
            _text(x, top + 10, told, fill=GOAL, text_anchor="middle", font_size=11),
        ]
    return "\n".join(parts)


def _panel(panel: Panel, left: float, top: float, width: float) -> str:
    values = [value for line in panel.lines.values() for value in line]
    most = max([*values, panel.goal or 0.0]) or 1.0
    start, end = left + 44, left + width - 14
    gap = (end - start) / max(1, len(panel.points) - 1)
    small: dict[str, str | float] = {"font_size": 11, "fill": MUTED}

    def height(value: float) -> float:
        return top + 30 + (PANEL_HEIGHT - 30) * (1 - value / most)

    parts = [_text(left, top, panel.title, font_size=13, font_weight=600)]
    for value in (0.0, most / 2, most):
        y = height(value)
        parts.append(_rule((start, y), (end, y)))
        parts.append(_text(start - 6, y + 4, figure(value), text_anchor="end", **small))
    for number, name in enumerate(panel.points):
        x, y = start + number * gap, top + PANEL_HEIGHT + 16
        parts.append(_text(x, y, name, text_anchor="middle", **small))
    if panel.goal is not None:
        y = height(panel.goal)
        told = f"at most {figure(panel.goal)}"
        parts.append(_rule((start, y), (end, y), **DASHED))
        parts.append(_text(start + 4, y - 4, told, font_size=11, fill=GOAL))
    above = -math.inf
    by_height = sorted(
        zip(SERIES, panel.lines.items(), strict=False), key=lambda one: one[1][1][-1], reverse=True
    )
    for colour, (name, line) in by_height:
        places = [(start + number * gap, height(value)) for number, value in enumerate(line)]
        parts.append(_curve(places, colour))
        told = f"{name} {figure(line[-1])} {panel.unit}".strip()
        y = places[-1][1]
        place = {"text_anchor": "end", "font_weight": 600, "font_size": 11, "fill": colour}
        parts.append(_text(end, y + 16 if y - above < CLEAR else y - 8, told, **place))
        above = y
    return "\n".join(parts)


def _curve(places: Sequence[tuple[float, float]], colour: str) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    line = _tag("polyline", points=path, fill="none", stroke=colour, stroke_width=2)
    return line + "".join(_tag("circle", cx=x, cy=y, r=3, fill=colour) for x, y in places)
