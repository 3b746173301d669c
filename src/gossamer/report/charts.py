"""Pictures in inline SVG: lengths are per cent of the width, so letters keep their size."""

from collections.abc import Sequence
from typing import NamedTuple

from gossamer.report.html_page import text

BAR_PX, COLUMNS_PX = 14, 130
_LEAST = 0.4
"""Per cent: what is there can be seen."""


class Bar(NamedTuple):
    """A row or column of a picture."""

    label: str
    value: float
    shown: str
    """The value in words."""
    color: str = "accent"
    """A color of the style: good, move, warn, bad, other, accent."""
    title: str = ""
    """What is said when one points to it."""


def bars(rows: Sequence[Bar], name: str) -> str:
    """Return horizontal bars with their labels and values."""
    most = max((row.value for row in rows), default=0) or 1
    lines: list[str] = []
    for row in rows:
        width = max(100 * row.value / most, _LEAST if row.value else 0)
        hint = f"<title>{text(row.title or f'{row.label}: {row.shown}')}</title>"
        track = f'<rect width="100%" height="{BAR_PX}" rx="3" fill="var(--track)"/>'
        bar = f'<rect width="{width:.2f}%" height="{BAR_PX}" rx="3" fill="var(--{row.color})"/>'
        lines.append(
            f"<span>{text(row.label)}</span>{_picture(BAR_PX, row.label, (hint, track, bar))}"
            f"<b>{text(row.shown)}</b>"
        )
    return f'<div class="bars" role="group" aria-label="{text(name)}">{"".join(lines)}</div>'


def columns(rows: Sequence[Bar], name: str) -> str:
    """Return upright bars with their labels below and values above."""
    most = max((row.value for row in rows), default=0) or 1
    step = 100 / max(len(rows), 1)
    lines: list[str] = []
    for n, row in enumerate(rows):
        height = max(COLUMNS_PX * row.value / most, 2 if row.value else 0)
        top, middle = 20 + COLUMNS_PX - height, (n + 0.5) * step
        lines.append(
            f"<g><title>{text(row.title or f'{row.label}: {row.shown}')}</title>"
            f'<rect x="{n * step + step * 0.12:.2f}%" y="{top:.1f}" width="{step * 0.76:.2f}%" '
            f'height="{height:.1f}" rx="3" fill="var(--{row.color})"/>'
            f'<text x="{middle:.2f}%" y="{top - 5:.1f}" text-anchor="middle" class="value">'
            f"{text(row.shown)}</text>"
            f'<text x="{middle:.2f}%" y="{COLUMNS_PX + 38}" text-anchor="middle" '
            f'class="soft value">{text(row.label)}</text></g>'
        )
    lines.append(
        f'<line x1="0" x2="100%" y1="{COLUMNS_PX + 20.5}" y2="{COLUMNS_PX + 20.5}" '
        'stroke="var(--line)"/>'
    )
    return _picture(COLUMNS_PX + 44, name, lines)


def stacked(parts: Sequence[Bar], name: str) -> str:
    """Return one bar of parts, and a legend; parts of nothing are left out."""
    total = sum(part.value for part in parts) or 1
    lines: list[str] = []
    at = 0.0
    for part in parts:
        width = 100 * part.value / total
        lines.append(
            f'<rect x="{at:.3f}%" y="0" width="{width:.3f}%" height="26" '
            f'fill="var(--{part.color})"><title>{text(part.label)}: {text(part.shown)}</title>'
            "</rect>"
        )
        at += width
    legend = "".join(
        f'<span><i style="background:var(--{part.color})"></i>{text(part.label)} '
        f"<b>{text(part.shown)}</b></span>"
        for part in parts
    )
    return f'<div class="stack">{_picture(26, name, lines)}</div><p class="legend">{legend}</p>'


def _picture(height: int, name: str, lines: Sequence[str]) -> str:
    return (
        f'<svg role="img" aria-label="{text(name)}" width="100%" height="{height}" '
        f'style="height:{height}px">{"".join(lines)}</svg>'
    )
