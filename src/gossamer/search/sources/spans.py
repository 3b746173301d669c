"""Parts of a page's text that are no prose: what is hidden, ads, blocks of code (ADR 68).

The archive keeps a whole text, and beside it where such parts lie. The first two are left out of
the index, code has a field of its own; `gossamer build DIR index --keep` takes any of them as text.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

CODE: Final = "code"
KINDS: Final = ("hidden", "ads", CODE)


class ProseAndCode(NamedTuple):
    """A text, and what is code of it."""

    text: str
    code: str = ""


def split_text(
    text: str, spans: Mapping[str, Sequence[int]], keep: Collection[str] = ()
) -> ProseAndCode:
    """Return a text without what is hidden, ads and code, unless that is to be kept; and code."""
    parts = sorted(
        part for kind in KINDS if kind in spans and kind not in keep for part in _parts(spans, kind)
    )
    if not parts:
        return ProseAndCode(text)
    prose: list[str] = []
    code: list[str] = []
    at = 0
    for start, end, kind in parts:
        if start > at:
            prose.append(text[at:start])
        if kind == CODE:
            code.append(text[max(start, at) : end])
        at = max(at, end)
    prose.append(text[at:])
    return ProseAndCode("\n".join(prose), "\n".join(code))


def _parts(spans: Mapping[str, Sequence[int]], kind: str) -> list[tuple[int, int, str]]:
    """Return where parts of a kind lie; none if what says so was not written by us."""
    found: list[tuple[int, int, str]] = []
    numbers, at = spans[kind], 0
    if len(numbers) % 2 or min(numbers, default=0) < 0:
        return found
    for gap, length in zip(numbers[::2], numbers[1::2], strict=True):
        found.append((at + gap, at + gap + length, kind))
        at += gap + length
    return found
