"""WHICH PAGE IS BETTER? Candidates by words, then by all else that is known of them.

`candidates` asks the index, `ranker` scores, `layout` shows copies as one and few pages of a host.
Neighbours: `query` says what is asked, `broker` and `terms` score words. Not for: snippets.
"""

from gossamer.search.ranking.candidates import MOST, CandidateBlocks, CandidateFinder
from gossamer.search.ranking.layout import Layout, Place
from gossamer.search.ranking.ranker import Ranked, Ranker, RankingParameters
