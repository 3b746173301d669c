"""Style sheets: where they refer to something, by url(), @import or a string in image-set().

One reading for all who ask: which files a page needs, and where a mirror writes other names. It
passes over comments, namespaces and other strings, and is linear in the length of the text.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from gossamer.process.references import MAX_FINDS

_STRING = r""""(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]++|\\.)*+'"""
_TOKEN = re.compile(
    rf"""url\(\s*+(?P<url>{_STRING}|[^)\s"'(]*+(?=\s*+(?:\)|\Z)))"""
    rf"""|@import\s*+(?P<import>{_STRING})"""
    r"""|(?P<set>image-set\()"""
    r"""|(?P<comment>/\*.*?(?:\*/|\Z)|@namespace\b[^;{}]*+)"""
    rf"""|(?P<string>{_STRING}|"(?:[^"\\\n]++|\\.)*+|'(?:[^'\\\n]++|\\.)*+)"""
    r"""|(?P<opened>\()|(?P<closed>\))|(?P<ended>[;{}])""",
    re.IGNORECASE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:([0-9A-Fa-f]{1,6})\s?|(.))", re.DOTALL)
_MOST_CODE_POINT = 0x10FFFF
_SIGNS = ("url(", "@import", "image-set(")


class StyleReference(NamedTuple):
    """A reference in a style sheet."""

    start: int
    """Where it is written, with its quotes."""
    end: int
    written: str
    """Without its quotes; escapes are in it."""


def may_refer(text: str) -> bool:
    """Return False if a style sheet, or the declarations of an element, refer to nothing."""
    lower = text.lower()
    return any(sign in lower for sign in _SIGNS)


def style_references(text: str) -> Iterator[StyleReference]:
    """Yield what a style sheet refers to, in order."""
    depth = 0
    """Of brackets, from 1 inside of image-set(); strings in others there name types of files."""
    for found in _TOKEN.finditer(text):
        match found.lastgroup:
            case "url" | "import" as kind:
                yield _reference(found, kind)
                depth += bool(depth) and kind == "url"
            case "string" if depth == 1:
                yield _reference(found, "string")
            case "set":
                depth += 1
            case "opened":
                depth += bool(depth)
            case "closed":
                depth -= bool(depth)
            case "ended":
                depth = 0
            case _:
                pass


def _reference(found: re.Match[str], group: str) -> StyleReference:
    written = found[group]
    inner = written[1:].removesuffix(written[0]) if written[:1] in {'"', "'"} else written
    return StyleReference(found.start(group), found.end(group), inner)


def unescaped(written: str) -> str:
    r"""Return a text of a style sheet without its escapes: `\20` is a blank."""
    return _ESCAPE.sub(_character, written) if "\\" in written else written


def _character(found: re.Match[str]) -> str:
    if found[1]:
        code = int(found[1], 16)
        return chr(code) if 0 < code <= _MOST_CODE_POINT else "\ufffd"
    return "" if found[2] == "\n" else found[2]


def css_urls(text: str) -> list[str]:
    """Return what a style sheet refers to, apart from data that it holds itself."""
    if not may_refer(text):
        return []
    found = (unescaped(one.written) for one in style_references(text))
    return list(islice((one for one in found if one and one[:5].lower() != "data:"), MAX_FINDS))
