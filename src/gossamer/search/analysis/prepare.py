"""Analyser: the one who turns text into terms, for pages, questions and snippets alike."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import TypeVar

from xxhash import xxh3_64_intdigest

from gossamer.dedupe import Sketcher
from gossamer.search.analysis.address import host_of, sites_of, types_of, words_of_url
from gossamer.search.analysis.content import Arranged, Arranger
from gossamer.search.analysis.stems import codes_of, is_stop, language_code, stem
from gossamer.search.analysis.vocabulary import Vocabulary
from gossamer.search.analysis.word_kernels import Bytes
from gossamer.search.analysis.words import MOST, Word, words_of
from gossamer.search.messages import Group, Phrase, Term
from gossamer.search.page import IndexPage, Prepared, label_term
from gossamer.urls import fingerprint_of

MOST_SHOWN = 16_000
"""Characters of a page that are kept for snippets."""
REST = "\n\n"
"""In what is kept for snippets: what follows is not main content."""
MOST_TEXT = 1 << 21
"""Characters of a text that are looked at."""
MOST_TITLE, MOST_HEADINGS, MOST_ANCHORS = 500, 200, 50
LANGUAGES = 4
"""So many languages give a word of a question its forms."""
SKETCH_SEED = 0x60554D45
"""Public: sketches of an index decide what is shown together, not what is kept."""
COPY_BITS = 3
"""Copies' sketches differ in so many bits at most. Of texts of 40 words and more of which every
fiftieth word was replaced, 88 to 100 % do; of unlike pages fewer than one in a thousand."""
LEAST_SKETCHED = 40
"""Words of main content below which a page has no sketch."""
_T = TypeVar("_T")
_stem = lru_cache(maxsize=1 << 16)(stem)


class Analyser:
    """Turns text into terms. Any thread may ask about words; one at a time prepares pages."""

    def __init__(self) -> None:
        self._reader: _Reader | None = None

    def terms(self, text: str, language: str) -> list[Term]:
        """Return the terms of a text, in order."""
        return list(islice(_terms(text, language_code(language)), MOST))

    def groups(self, text: str, languages: Sequence[str]) -> list[Group]:
        """Return the words of a question, each with its forms in some languages.

        A name such as foo_bar is one word; its parts are not asked for.
        """
        codes = (*codes_of(languages, LANGUAGES), "")
        found: list[Group] = []
        for word in islice(words_of(text), MOST):
            if word.parts:
                del found[-word.parts :]
            forms = (_term(word, code) for code in codes)
            found.append(tuple(dict.fromkeys(form for form in forms if form)))
        return [group for group in found if group]

    def versions(self, text: str, languages: Sequence[str]) -> Phrase:
        """Return words in a row as terms, once for each language where that makes a difference."""
        codes = (*codes_of(languages, LANGUAGES), "")
        rows = (tuple(islice(_terms(text, code), MOST)) for code in codes)
        return tuple(dict.fromkeys(row for row in rows if row))

    def is_stop(self, word: str, languages: Sequence[str]) -> bool:
        """Return True if a word says nothing by itself in any of some languages."""
        plain = [one.text for one in words_of(word)]
        return len(plain) == 1 and is_stop(plain[0], languages)

    def prepare(self, page: IndexPage) -> Prepared:
        """Return what is written of a page."""
        if self._reader is None:
            self._reader = _Reader()
        arranged, words, start = self._reader.read(page)
        host = host_of(page.url)
        return Prepared(
            url=page.url,
            key=fingerprint_of(page.url),
            host=xxh3_64_intdigest(host.encode()),
            sketch=self._reader.sketch(arranged.text[start : arranged.middle], words[0]),
            at=max(int(page.at), 0),
            language=page.language,
            media_type=page.media_type,
            sites=sites_of(host),
            types=types_of(page.media_type),
            labels=tuple(map(label_term, filter(None, page.labels.split(",")))),
            title=page.title[:MOST_TITLE].encode("utf-8", "replace").decode(),
            text=_shown(arranged, start),
            words=words,
        )


class _Reader:
    """Reads whole pages, with kernels."""

    def __init__(self) -> None:
        self._arranger = _if_usable(Arranger) or Arranger(is_plain=True)
        self._vocabulary = _if_usable(Vocabulary)
        self._sketcher = _if_usable(lambda: Sketcher(SKETCH_SEED))

    def read(self, page: IndexPage) -> tuple[Arranged, tuple[str, ...], int]:
        """Return a page's text with main content first, its fields' terms, and where it begins."""
        heads = _encoded("\n".join(page.headings[:MOST_HEADINGS]))
        fields = (
            _encoded(page.title[:MOST_TITLE]),
            heads,
            _encoded("\n".join(page.anchors[:MOST_ANCHORS])),
            _encoded(words_of_url(page.url)),
        )
        prefix = b"\n".join((*fields, b""))
        arranged = self._arranger.arranged(
            prefix, page.link_texts, heads, _encoded(page.text[:MOST_TEXT])
        )
        spans, at = [], 0
        for field in fields:
            spans += [at, at + len(field)]
            at += len(field) + 1
        spans[4:4] = [at, arranged.middle, arranged.middle, arranged.end]
        code = language_code(page.language)
        return arranged, tuple(self._terms(arranged.text, spans, code)), at

    def _terms(self, text: Bytes, spans: Sequence[int], code: str) -> list[str]:
        """Return the terms of parts of a text, each with a space between two."""
        found = self._vocabulary.terms(text, spans, code) if self._vocabulary else None
        if found is not None:
            return found
        parts = [text[start:end] for start, end in zip(spans[::2], spans[1::2], strict=True)]
        return [" ".join(islice(_terms(_decoded(part), code), MOST)) for part in parts]

    def sketch(self, main: Bytes, title: str) -> int:
        """Return 64 bits that pages share with nearly the same main content and the same title.

        Copies differ in COPY_BITS at most. Where pages are made by one template (a class, a
        keyword, a function each), the title is all that tells them apart; so another title turns
        some fourteen bits of the SimHash, two in each byte where it differs. 0: hardly any text.
        """
        if self._sketcher is None:
            return 0
        words, simhash = self._sketcher.simhash(main)
        if words < LEAST_SKETCHED:
            return 0
        named = xxh3_64_intdigest(title.encode()) if title else 0
        bits = sum(1 << (8 * byte + (named >> 3 * byte & 7)) for byte in range(8)) if named else 0
        return simhash ^ bits


def _if_usable(make: Callable[[], _T]) -> _T | None:
    """Return what needs kernels; None where there is no compiler, nor what one has made."""
    try:
        return make()
    except (ImportError, OSError, RuntimeError):
        return None


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _terms(text: str, code: str) -> Iterator[Term]:
    found = (_term(word, code) for word in words_of(text))
    return (term for term in found if term)


def _term(word: Word, code: str) -> Term:
    return word.text if word.is_solid else _stem(word.text, code)


def _shown(arranged: Arranged, start: int) -> str:
    """Return as much of a text as is kept, in whole characters."""
    main = _decoded(arranged.text[start : min(arranged.middle, start + 4 * MOST_SHOWN)])
    if len(main) >= MOST_SHOWN or arranged.middle == arranged.end:
        return main[:MOST_SHOWN]
    room = MOST_SHOWN - len(main) - 1
    rest = arranged.text[arranged.middle : min(arranged.end, arranged.middle + 4 * room)]
    return f"{main}\n{_decoded(rest)[:room]}"


def _decoded(text: Bytes) -> str:
    return str(text.data, "utf-8", "ignore")
