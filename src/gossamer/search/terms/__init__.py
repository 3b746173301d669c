"""EACH TERM IN ONE PLACE: an index that is split by terms instead of documents.

A question goes from shard to shard, the rarest term first. Neighbours: `build` fills a writer,
`ask` asks the finder. Not for: keeping up with a crawl; a set is built in full (ADR 32).
"""

from gossamer.search.terms.finder import Courier, LocalCourier, TermFinder
from gossamer.search.terms.making import TermsWriter
