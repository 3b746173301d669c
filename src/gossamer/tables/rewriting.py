"""Rewriting: references of a page or a style sheet are replaced, every other byte stays as it is.

Pages are walked through tag by tag, as a browser's tokenizer does it: comments, scripts and texts
are passed over, quotes count only behind an equals sign. Bytes are handled as Latin-1, which keeps
every encoding in which `<`, `>` and quotes are these bytes and nothing else (`is_ascii_safe`). All
of it is linear in the length of the page.
"""

import re
from collections.abc import Callable
from html import unescape
from typing import NamedTuple

from gossamer.process import may_refer, style_references, unescaped

NewReference = Callable[[str], str | None]
"""A reference as written → what to write instead; None: it stays as it is."""

_PLAIN = frozenset(
    {
        *("href", "src", "xlink:href", "poster", "background", "longdesc", "cite", "manifest"),
        *("data-src", "data-original", "data-lazy-src", "data-lazy", "lowsrc", "dynsrc"),
        *("action", "formaction", "icon"),
    }
)
"""Attributes that hold one reference."""
_ONLY_ON = {"data": "object", "cite": "", "manifest": "html", "icon": "menuitem"}
_SETS = frozenset({"srcset", "data-srcset", "imagesrcset", "data-lazy-srcset"})
_REMOVED = frozenset({"integrity", "crossorigin"})
"""A file that was rewritten has another hash; a file has no origin of which it could be asked."""
_RAW_TEXT = frozenset({"script", "style", "textarea", "title", "xmp", "iframe", "noembed"})
_ATTRIBUTE = re.compile(
    r"""[\s/]*+([^\s/>=][^\s/>=]*+|=[^\s/>=]*+)"""
    r"""(\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s>"'][^\s>]*+)?)?"""
)
_NEXT = re.compile(r"<(?=[A-Za-z!?])")
_TAG_NAME = re.compile(r"[A-Za-z][^\s/>]*+")
_TAG_END = re.compile(r"[\s/]*+>")
_REFRESH = re.compile(r"(\s*+[\d.]*+[\s;,]*+(?:url\s*+=\s*+)?)(.*)", re.IGNORECASE | re.DOTALL)
_HEAD = re.compile(r"(?i)<head(?=[\s/>])[^>]*>")
_OPENING = re.compile(
    r"(?i)\A\s*+(?:<\?[^>]*>\s*+)?(?:<!--.*?-->\s*+)*+(?:<!doctype[^>]*>)?", re.DOTALL
)


class _Attribute(NamedTuple):
    name: str
    start: int
    """Of the whole, with the blank before it."""
    end: int
    value: str | None
    value_start: int
    """Of the value with its quotes."""


class _Tag(NamedTuple):
    name: str
    attributes: list[_Attribute]
    end: int

    def value(self, name: str) -> str:
        return next((one.value or "" for one in self.attributes if one.name == name), "")


class _Edits:
    """Replacements of parts of a text, in order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: list[str] = []
        self._at = 0

    def replace(self, start: int, end: int, new: str) -> None:
        self._parts += [self._text[self._at : start], new]
        self._at = end

    def done(self) -> str:
        return "".join((*self._parts, self._text[self._at :]))


class MarkupRewriter:
    """Replaces the references of pages.

    `of_bytes` turns what stands in a page that was read as Latin-1 into what it means. Values of
    attributes are written in ASCII, other characters as references (`&#233;`).
    """

    def __init__(
        self,
        new_reference: NewReference,
        of_bytes: Callable[[str], str] = lambda text: text,
    ) -> None:
        self._new = new_reference
        self._of_bytes = of_bytes

    def page(self, text: str) -> str:
        """Return a page with other references."""
        edits, at = _Edits(text), _next_tag(text, 0)
        while at < len(text):
            tag = _read_tag(text, at)
            if tag is None:
                at = _next_tag(text, _end_of_other(text, at))
                continue
            if tag.attributes:
                self._rewrite_tag(tag, edits)
            end = tag.end
            if tag.name in _RAW_TEXT:
                closing = _closing_of(text, tag)
                if tag.name == "style":
                    edits.replace(tag.end, closing, self.style(text[tag.end : closing]))
                end = closing
            at = _next_tag(text, end)
        return edits.done()

    def style(self, text: str) -> str:
        """Return a style sheet, or the declarations of an element, with other references."""
        if not may_refer(text):
            return text
        edits = _Edits(text)
        for found in style_references(text):
            plain = unescaped(self._of_bytes(found.written))
            new = self._new(plain) if plain else None
            if new is not None:
                escaped = new.replace("\\", "%5C").replace('"', "%22").replace("\n", "%0A")
                edits.replace(found.start, found.end, f'"{escaped}"')
        return edits.done()

    def _rewrite_tag(self, tag: _Tag, edits: _Edits) -> None:
        if tag.name == "base":
            for one in tag.attributes:
                if one.name == "href":
                    edits.replace(one.start, one.end, "")
            return
        is_policy = tag.value("http-equiv").strip().lower() == "content-security-policy"
        for one in tag.attributes:
            if one.name in _REMOVED or (is_policy and tag.name == "meta"):
                edits.replace(one.start, one.end, "")
            elif one.value and (new := self._new_value(tag, one, one.value)) is not None:
                edits.replace(one.value_start, one.end, f'"{_escaped(new)}"')

    def _new_value(self, tag: _Tag, one: _Attribute, written: str) -> str | None:
        if one.name == "content" and tag.name == "meta":
            return self._new_refresh(tag, self._plain(written))
        if one.name in _SETS:
            return self._new_set(self._plain(written))
        if one.name == "style" or (one.name == "srcdoc" and tag.name == "iframe"):
            plain, inner = self._plain(written), MarkupRewriter(self._new)
            new = inner.style(plain) if one.name == "style" else inner.page(plain)
            return new if new != plain else None
        only = _ONLY_ON.get(one.name)
        is_plain = one.name in _PLAIN and not only
        return self._new(self._plain(written)) if is_plain or only == tag.name else None

    def _plain(self, written: str) -> str:
        return unescape(self._of_bytes(written))

    def _new_refresh(self, tag: _Tag, content: str) -> str | None:
        if tag.value("http-equiv").strip().lower() != "refresh":
            return None
        found = _REFRESH.fullmatch(content)
        if found is None or not found[2].strip():
            return None
        target = found[2].strip()
        if target[0] in {'"', "'"}:
            target = target[1:].partition(target[0])[0]
        new = self._new(target)
        return None if new is None else f"{found[1]}{new}"

    def _new_set(self, text: str) -> str | None:
        new, has_changed = [], False
        for reference, descriptor in candidates(text):
            other = self._new(reference)
            has_changed |= other is not None
            safe = (other or reference).replace(" ", "%20").replace(",", "%2C")
            new.append(f"{safe if other else reference} {descriptor}".strip())
        return ", ".join(new) if has_changed else None


def candidates(text: str) -> list[tuple[str, str]]:
    """Return the images of a srcset, each with its descriptor."""
    found: list[tuple[str, str]] = []
    waiting = ""
    descriptor: list[str] = []
    for word in text.split():
        if not waiting:
            reference = word.lstrip(",")
            if reference.endswith(","):
                found.append((reference.rstrip(","), ""))
            else:
                waiting = reference
            continue
        part, comma, rest = word.partition(",")
        descriptor.append(part)
        if comma and "(" not in part:
            found.append((waiting, " ".join(descriptor).strip()))
            waiting, descriptor = rest.lstrip(","), []
            if waiting.endswith(","):
                found.append((waiting.rstrip(","), ""))
                waiting = ""
    if waiting:
        found.append((waiting, " ".join(descriptor).strip()))
    return [one for one in found if one[0]]


def base_reference(text: str) -> str:
    """Return the href of the first <base> of a page that has one; "" if none has."""
    at = _next_tag(text, 0)
    while at < len(text):
        tag = _read_tag(text, at)
        if tag is None:
            at = _next_tag(text, _end_of_other(text, at))
            continue
        if tag.name == "base" and any(one.name == "href" for one in tag.attributes):
            return unescape(tag.value("href")).strip()
        if tag.name == "body":
            return ""
        at = _next_tag(text, _closing_of(text, tag) if tag.name in _RAW_TEXT else tag.end)
    return ""


def with_charset(text: str, charset: str) -> str:
    """Return a page that says at its beginning in which encoding it is."""
    found = _HEAD.search(text, 0, 4096)
    if found is not None:
        place = found.end()
    else:
        opening = _OPENING.match(text)
        place = opening.end() if opening is not None else 0
    return f'{text[:place]}<meta charset="{_escaped(charset)}"/>{text[place:]}'


def _read_tag(text: str, at: int) -> _Tag | None:
    """Return the start tag at a place; None if there is none.

    One without values holds no references, and ends with the next `>`. One that never ends has all
    of the rest: no browser shows it, and nothing in it is replaced.
    """
    name = _TAG_NAME.match(text, at + 1)
    if name is None:
        return None
    attributes: list[_Attribute] = []
    place = name.end()
    close = text.find(">", place)
    if close >= 0 and text.find("=", place, close) < 0:
        return _Tag(name[0].lower(), attributes, close + 1)
    while (end := _TAG_END.match(text, place)) is None:
        found = _ATTRIBUTE.match(text, place)
        if found is None or found.end() == place:
            return _Tag("", [], len(text))
        written = found[3]
        value = None if written is None else written
        if written and written[0] in {'"', "'"}:
            value = written[1:-1]
        start = found.start(3) if written is not None else found.end()
        attributes.append(_Attribute(found[1].lower(), found.start(), found.end(), value, start))
        place = found.end()
    return _Tag(name[0].lower(), attributes, end.end())


def _next_tag(text: str, at: int) -> int:
    """Return where the next start tag or comment may begin; the end if there is none."""
    found = _NEXT.search(text, at)
    return found.start() if found is not None else len(text)


_COMMENT_END = re.compile(r"(?<=<!--)-?>|--!?>")
"""As browsers have it: `<!-->` is a whole comment, too."""


def _end_of_other(text: str, at: int) -> int:
    """Return where a comment or a declaration ends."""
    if text.startswith("<!--", at):
        found = _COMMENT_END.search(text, at + 4)
        return found.end() if found is not None else len(text)
    end = text.find(">", at)
    return end + 1 if end >= 0 else len(text)


def _closing_of(text: str, tag: _Tag) -> int:
    """Return where the text of an element ends that holds no tags."""
    found = _CLOSINGS[tag.name].search(text, tag.end)
    return found.start() if found is not None else len(text)


_CLOSINGS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW_TEXT}


def _escaped(value: str) -> str:
    plain = value.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return plain.encode("ascii", "xmlcharrefreplace").decode()
