"""EACH TERM IN ONE PLACE: an index that is partitioned by terms instead of documents.

A query goes from shard to shard, the rarest term first. `writer`, `runs`, `merging`, `lists` write
the files (in full, in bounded memory: a set is never added to, ADR 32); `layout`, `words`, `sets`,
`tags` read them. Neighbours: `build` fills a writer, `ranking` asks the reader.
"""

from gossamer.search.terms.reader import LocalTransport, TermIndexReader, Transport
from gossamer.search.terms.writer import TermsWriter
