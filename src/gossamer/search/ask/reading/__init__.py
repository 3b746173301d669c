"""WHAT IS ASKED? A text as words, phrases and filters. Pure, and it never fails.

Neighbours: `ask` turns a question into terms. Not for: languages, or looking anything up.
"""

from gossamer.search.ask.reading.query import (
    MOST_CHARS,
    MOST_WORDS,
    Question,
    Reading,
    read_question,
)
