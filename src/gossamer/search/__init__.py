"""WHICH PAGES SAY THIS? The text archive as an index, asked in words.

    searcher = open_searcher(Path("mycrawl"))
    answer = searcher.search('"web crawler" site:example.org')

Neighbours: `store` keeps the archive, `web` and `cli` ask. Not for: who links to whom (`graph`).
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.search.answer import (
        Answer,
        Facets,
        FacetValue,
        Hit,
        HitImage,
        LikeThis,
        SearchOptions,
        Segment,
        Switches,
    )
    from gossamer.search.broker import Broker, BrokerOptions, open_reader
    from gossamer.search.build import (
        IndexFacts,
        IndexOptions,
        StoredIndexes,
        build_foreign,
        build_index,
        check_index,
        follow,
        follow_stored,
    )
    from gossamer.search.index_reader import IndexReader, MissingShard
    from gossamer.search.manifest import Manifest, index_folder, read_manifest
    from gossamer.search.opening import has_index, open_index, open_searcher, ranks_of
    from gossamer.search.published import (
        BEAT_S,
        Offering,
        Published,
        offer_shards,
        publish,
        published_places,
    )
    from gossamer.search.query_log import (
        LoggedQuery,
        QueryFrequency,
        QueryLog,
        QueryReport,
        logged_query,
    )
    from gossamer.search.ranking.rerank import Reranker, RerankPage, named_reranker
    from gossamer.search.ranking.similar import LikeText
    from gossamer.search.remote import MOST_REQUEST_BYTES, BadMessage, ShardGroup, ShardServer
    from gossamer.search.searcher import Searcher
    from gossamer.search.similarity import Given, LikeImage, LikeSearcher
else:
    __getattr__ = late(
        __name__,
        {
            "answer": (
                "Answer Facets FacetValue Hit HitImage LikeThis SearchOptions Segment Switches"
            ),
            "broker": "Broker BrokerOptions open_reader",
            "build": (
                "IndexFacts IndexOptions StoredIndexes build_foreign build_index check_index "
                "follow follow_stored"
            ),
            "index_reader": "IndexReader MissingShard",
            "manifest": "Manifest index_folder read_manifest",
            "opening": "has_index open_index open_searcher ranks_of",
            "published": "BEAT_S Offering Published offer_shards publish published_places",
            "query_log": "LoggedQuery QueryFrequency QueryLog QueryReport logged_query",
            "ranking.rerank": "Reranker RerankPage named_reranker",
            "ranking.similar": "LikeText",
            "remote": "MOST_REQUEST_BYTES BadMessage ShardGroup ShardServer",
            "searcher": "Searcher",
            "similarity": "Given LikeImage LikeSearcher",
        },
    )
