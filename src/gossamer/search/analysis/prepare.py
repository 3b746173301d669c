"""From a page to what is written of it."""

import re
from collections.abc import Sequence

from xxhash import xxh3_64_intdigest

from gossamer.search.messages import Group, Phrase
from gossamer.search.page import IndexPage, Prepared
from gossamer.urls import fingerprint_of

_WORDS = re.compile(r"\w+")
MOST_SHOWN = 20_000
LONG_LINE = 60


class Analyser:
    """Turns text into terms. One per process; it remembers the stems of words."""

    def terms(self, text: str, language: str) -> list[str]:
        """Return the terms of a text, in order."""
        del language
        return _WORDS.findall(text.lower())

    def groups(self, text: str, languages: Sequence[str]) -> list[Group]:
        """Return the words of a question, each with its forms in some languages."""
        del languages
        return [(term,) for term in _WORDS.findall(text.lower())]

    def versions(self, text: str, languages: Sequence[str]) -> Phrase:
        """Return words in a row, as terms, in some languages."""
        del languages
        return (tuple(_WORDS.findall(text.lower())),)

    def is_stop(self, word: str, languages: Sequence[str]) -> bool:
        """Tell whether a word says nothing by itself."""
        del languages
        return word.lower() in {"the", "of", "a", "and", "in", "to", "is", "for"}

    def prepare(self, page: IndexPage) -> Prepared:
        """Return what is written of a page."""
        lines = page.text.split("\n")
        main = "\n".join(line for line in lines if len(line) >= LONG_LINE)
        rest = "\n".join(line for line in lines if len(line) < LONG_LINE)
        host = page.url.split("/", 3)[2].partition(":")[0]
        texts = (
            page.title,
            "\n".join(page.headings),
            main,
            rest,
            "\n".join(page.anchors),
            page.url.partition("://")[2],
        )
        labels = host.split(".")
        return Prepared(
            url=page.url,
            key=fingerprint_of(page.url),
            host=xxh3_64_intdigest(host.encode()),
            sketch=0,
            at=int(page.at),
            language=page.language,
            media_type=page.media_type,
            sites=tuple(".".join(labels[start:]) for start in range(len(labels))),
            types=(page.media_type, page.media_type.rpartition("/")[2]),
            title=page.title,
            text=page.text[:MOST_SHOWN],
            words=tuple(" ".join(self.terms(text, page.language)) for text in texts),
        )
