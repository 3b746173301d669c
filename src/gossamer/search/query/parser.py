"""The language of queries: text in, a `Query` out. It never fails.

    words                       pages with all of them first, then with most, then with any
    one OR other                either
    "in a row"  -word  -"in a row"
    site:example.org            the host and those below it
    lang:de  type:pdf  type:text/html  inurl:word
    after:2026-05  before:2026-07-01        when the page was fetched
    label:news  label:"climate change"      found from seeds with that label
    -site: -lang: -type: -label: -inurl:    not these

Punctuation is text. A dash leaves a word out only behind something else that was said, and before a
plain word: `--amend`, `-f` and `-Wno-unused` are words. What cannot be read is taken as plain
words, and a hint says so.
"""

import re
import unicodedata
from collections.abc import Callable

from msgspec import Struct

from gossamer.search.query.values import (
    day_of,
    is_image_type,
    label_of,
    language_of,
    moment_of,
    site_of,
    type_of,
)

MOST_CHARS = 10_000
MOST_WORDS = 500
"""Words, phrases and filters of a query; more are left out, and that is told."""

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»〝〞〟「」『』", '"'))
_DASHES = str.maketrans(dict.fromkeys("−‐‑", "-"))
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ufffd]")
_GAP = re.compile(r"\s*")
_SIGN = re.compile(r"-*")
_PLAIN = re.compile(r"-[^\W\d_][^\W_]*(?:['’-][^\W_]+)*(?=\s|$)")
"""A dash and a word: letters and digits, perhaps with hyphens between them."""
_LONG_OPTION = re.compile(r"-W(?:all|extra|error)$|-\w+-", re.ASCII)
"""An option that looks like a word, or like several: -Wall, -Wno-unused, -ffast-math, -dry-run."""
_DEFINED = re.compile(r"-(D([A-Z][A-Z0-9]*_\w*))")
"""An option that sets a variable, which is named without its D elsewhere: -DCMAKE_BUILD_TYPE."""
_VOWEL = re.compile(r"[aeiouy]", re.IGNORECASE)
_OPTION = re.compile(r"(?:^|\s)-[^\W\d_]\d*(?=\s|$)")
"""An option of one letter, perhaps with a number: -f, -O2. Beside one, -Wall is one as well."""
SHORTEST_LEFT_OUT = 3
"""Letters of a word that a dash leaves out, in English letters: -f, -rf and -xvf are options."""
_KEY = re.compile(r"(site|lang|language|type|filetype|label|inurl|before|after):", re.IGNORECASE)
_ROW = re.compile(r'"([^"]*)"')
_RUN = re.compile(r'"*([^\s"]*)"*')
"""A quote that follows a word closes nothing and opens nothing: 5" disk."""
_SPACE_AND_MORE = re.compile(r"\s+\S")
"""What follows a colon in a sentence, not in a filter."""
_OR = "OR"
SHOUTED = 6
"""Words of a query in capitals from which on it is a sentence, and OR a word of it."""
_READERS: dict[str, tuple[str, Callable[[str], str | None]]] = {
    "site": ("sites", site_of),
    "lang": ("languages", language_of),
    "language": ("languages", language_of),
    "type": ("types", type_of),
    "filetype": ("types", type_of),
    "label": ("labels", label_of),
    "inurl": ("in_url", lambda text: text if len(text.split()) == 1 else None),
}
_EXPECTED = {
    "site": "a host such as site:example.org",
    "lang": "a code such as lang:de",
    "language": "a code such as lang:de",
    "type": "a type such as type:pdf",
    "filetype": "a type such as type:pdf",
    "label": "a label of a seed such as label:news",
    "inurl": "a word such as inurl:manual",
    "before": "a day such as before:2026-07-01, a month or a year",
    "after": "a day such as after:2026-07-01, a month or a year",
}


class Query(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody asked for, as far as it was understood."""

    words: tuple[tuple[str, ...], ...] = ()
    """Each with those that would do in its place. One that was said twice is here twice."""
    rows: tuple[str, ...] = ()
    """Words that must stand in a row."""
    without: tuple[str, ...] = ()
    """Words that must not occur."""
    without_rows: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    not_sites: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    not_languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    not_types: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    not_labels: tuple[str, ...] = ()
    in_url: tuple[str, ...] = ()
    not_in_url: tuple[str, ...] = ()
    after: int | None = None
    before: int | None = None

    @property
    def is_about_images(self) -> bool:
        """Return True if it asks for images, and for nothing else."""
        return bool(self.types) and all(map(is_image_type, self.types))

    def text(self) -> str:
        """Return a text that is read as this query."""
        parts = [f" {_OR} ".join(choice) for choice in self.words]
        parts += [f'"{row}"' for row in self.rows]
        for key in ("site", "lang", "type", "label", "inurl"):
            name = _READERS[key][0]
            parts += [f"{key}:{_quoted(value)}" for value in getattr(self, name)]
            parts += [f"-{key}:{_quoted(value)}" for value in getattr(self, f"not_{name}")]
        parts += [f"after:{day_of(self.after)}"] if self.after is not None else []
        parts += [f"before:{day_of(self.before)}"] if self.before is not None else []
        parts += [f"-{word}" for word in self.without]  # last: they must follow something
        parts += [f'-"{row}"' for row in self.without_rows]
        return " ".join(parts)


class ParsedQuery(Struct, frozen=True, kw_only=True):
    """A query, and what its reader should know about it."""

    query: Query
    hints: tuple[str, ...] = ()


def parse_query(text: str) -> ParsedQuery:
    """Return what a text asks for. It never fails."""
    hints = ["the query is too long: its end was left out"] if len(text) > MOST_CHARS else []
    plain = unicodedata.normalize("NFKC", text[:MOST_CHARS].translate(_QUOTES))[:MOST_CHARS]
    plain = _CONTROL.sub(" ", plain.encode("utf-8", "replace").decode().translate(_DASHES))
    scan = _Scan(plain, hints)
    while scan.parts < MOST_WORDS and scan.step():
        pass
    if not scan.is_done():
        hints.append(f"only the first {MOST_WORDS} words count")
    return ParsedQuery(query=scan.query(), hints=tuple(dict.fromkeys(scan.hints)))


class _Scan:
    """A walk over the text of a query."""

    def __init__(self, text: str, hints: list[str]) -> None:
        self._text = text
        self._has_options = _OPTION.search(text) is not None
        self._is_shouted = text.isupper() and len(text.split()) >= SHOUTED
        self._at = _end(_GAP, text, 0)
        self._lists: dict[str, list[str]] = {}
        self._words: list[list[str]] = []
        self._is_open = False
        """The last thing said was a word: OR may follow."""
        self._is_either = False
        """The last thing said was a word and OR."""
        self._after: int | None = None
        self._before: int | None = None
        self.hints = hints
        self.parts = 0

    def is_done(self) -> bool:
        return self._at >= len(self._text)

    def step(self) -> bool:
        """Take the next part; tell whether there was one."""
        if self.is_done():
            return False
        start = self._at
        is_not = self._signs()
        while key := _KEY.match(self._text, self._at):
            if _SPACE_AND_MORE.match(self._text, key.end()):
                self._at = key.end()
                self._word(key[1], is_not=False)
                break
            self._at = key.end()
            if self._filter(key[1].lower(), is_not=is_not):
                break
            self.hints.append(f"{key[1].lower()}: takes {_EXPECTED[key[1].lower()]}")
            self._signs()
        else:
            self._said(is_not=is_not and self._leaves_out(start))
        self._at = _end(_GAP, self._text, self._at)
        return True

    def _signs(self) -> bool:
        """Pass signs, and a quote that is not closed; tell whether there was a sign."""
        start, self._at = self._at, _end(_SIGN, self._text, self._at)
        is_not = self._at > start
        if self._text.startswith('"', self._at) and not _ROW.match(self._text, self._at):
            self.hints.append("a quote is not closed: its words may stand anywhere")
            self._at += 1
            return self._signs() or is_not
        return is_not

    def _leaves_out(self, start: int) -> bool:
        """Return True if the sign at a place is meant: behind something, before a plain word."""
        if not self.parts:
            return False
        if self._text.startswith('-"', start):
            return True
        found = _PLAIN.match(self._text, start)
        if found is None or not found.group().isascii():
            return found is not None
        if _LONG_OPTION.match(found.group()):
            return False
        letters = found.group()[1:]
        is_word = len(letters) >= SHORTEST_LEFT_OUT and _VOWEL.search(letters) is not None
        return is_word and not self._has_options

    def query(self) -> Query:
        lists = {name: tuple(dict.fromkeys(values)) for name, values in self._lists.items()}
        words = tuple(tuple(dict.fromkeys(choice)) for choice in self._words)
        return Query(words=words, after=self._after, before=self._before, **lists)

    def _filter(self, key: str, *, is_not: bool) -> bool:
        """Take a filter's value, if it is one."""
        row = _ROW.match(self._text, self._at)
        found = row or _RUN.match(self._text, self._at)
        value = " ".join(found[1].split()) if found else ""
        if key in _READERS:
            is_taken = self._fact(key, value, is_not=is_not)
        else:
            is_taken = self._moment(value, is_after=(key == "after") != is_not)
        if is_taken and found:
            self._at = found.end()
            self._is_open = self._is_either = False
            self.parts += 1
        return is_taken

    def _fact(self, key: str, text: str, *, is_not: bool) -> bool:
        name, read = _READERS[key]
        value = read(text)
        if value is None:
            return False
        self._lists.setdefault(f"not_{name}" if is_not else name, []).append(value)
        return True

    def _moment(self, text: str, *, is_after: bool) -> bool:
        at = moment_of(text)
        if at is None:
            return False
        if is_after:
            self._after = at if self._after is None else max(at, self._after)
        else:
            self._before = at if self._before is None else min(at, self._before)
        return True

    def _said(self, *, is_not: bool) -> None:
        """Take a word, or words in quotes."""
        if row := _ROW.match(self._text, self._at):
            self._at = row.end()
            if words := " ".join(filter(None, _RUN.findall(row[1]))):
                self._lists.setdefault("without_rows" if is_not else "rows", []).append(words)
                self.parts += 1
            self._is_open = self._is_either = False
            return
        run = _RUN.match(self._text, self._at)
        if run:  # it always does
            self._at = run.end()
            if defined := _DEFINED.match(self._text, run.start() - 1):
                self._word(defined[1], is_not=False)
                self._is_either = True
                self._word(defined[2], is_not=False)
                self._at = defined.end()
                return
            self._word(run[1], is_not=is_not)

    def _word(self, word: str, *, is_not: bool) -> None:
        if word == _OR and self._is_shouted:
            word = word.lower()
        if word == _OR and not is_not:
            self._is_either, self._is_open = self._is_open, False
            return
        if not word:
            return
        self.parts += 1
        if is_not:
            self._lists.setdefault("without", []).append(word)
        elif self._is_either:
            self._words[-1].append(word)
        else:
            self._words.append([word])
        self._is_open, self._is_either = not is_not, False


def _quoted(value: str) -> str:
    """Return the value of a filter; in quotes, if it has blanks."""
    return f'"{value}"' if " " in value else value


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
