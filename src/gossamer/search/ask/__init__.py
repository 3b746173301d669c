"""WHAT IS THE BEST ANSWER? A question in words to a page of results.

Neighbours: `analysis` knows words, a `Finder` (`broker`, `terms`) knows candidates, `shown` makes
snippets; `cli` and `web` ask. Not for: finding pages, or scoring their words.
"""

from gossamer.search.ask.answer import Answer, Hit, SearchWish, Segment, Switches
from gossamer.search.ask.ranking import Taste
from gossamer.search.ask.reading import Question, Reading, read_question
from gossamer.search.ask.searcher import Searcher
