"""WHAT DOES IT SAY? Text in, terms out: the same for pages, questions and snippets.

Neighbours: `build` prepares pages with it, `ask` analyses questions. Not for: ranking.
"""

from gossamer.search.analysis.letters import is_solid
from gossamer.search.analysis.prepare import COPY_BITS, REST_MARK, Analyser, untitled
from gossamer.search.analysis.stems import language_code
