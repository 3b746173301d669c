"""WHAT WE KEEP: pages, text and links as WARC files, and the shard's state in RocksDB.

A turn becomes an `ArchiveEntry` (`TurnWriter`), a group of entries is appended (`Archive`), and one
state write (`State`) makes it count; `EndsFile` says how far it is durable. After any death
`repair` brings the files back to what counts.
`read_page` and `iter_links` read them again. `Derived` is a folder that is made from the archive,
`Objects` is what lies below the URL of an object store, and `CrawlStore` what a crawl keeps there.

Neighbours: `crawl` commits through this room and repairs with it; `graph`, `search` and
`build state` read the archive. Not for: deciding what is worth keeping (the pipeline does), or
knowing what the rows of other rooms mean.
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.store.archive import ROW_PREFIX, Archive, FileRow, file_row, read_file_row
    from gossamer.store.building import builds_under_way, noting
    from gossamer.store.captures import (
        Capture,
        captures_among,
        files_without_index,
        indexed_captures,
        unindexed_captures,
    )
    from gossamer.store.chain import Chain, ChainLink
    from gossamer.store.checkpoints import (
        ALIVE,
        MANIFEST_VERSION,
        AliveNote,
        CrawlCharter,
        CrawlStore,
        ManifestSource,
        ShardManifest,
        ShippedFile,
        SplitIntent,
        shard_prefix,
    )
    from gossamer.store.cutting import PIECE_BYTES as LOG_PIECE_BYTES
    from gossamer.store.cutting import CutFiles, LiveFiles, StateCut, packed, unpacked
    from gossamer.store.derived import (
        BuiltElsewhere,
        Derived,
        RecordRange,
        counted_lengths,
        ends_findings,
        far_files,
        has_more,
        has_shrunk,
        is_locked,
        note_shipped,
    )
    from gossamer.store.digests import ShippedDigest, shipped_digest
    from gossamer.store.ends import (
        Ends,
        EndsFile,
        EndsFinding,
        KnownEnds,
        KnownFile,
        Lengths,
        StateEnd,
        compare_ends,
        lower_ends,
        read_ends,
        replace_ends,
    )
    from gossamer.store.entry import (
        REQUESTS_TYPE,
        ArchiveEntry,
        LinkRow,
        LinksRecord,
        TurnWriter,
        decode_all_links,
        decode_links,
    )
    from gossamer.store.exchange import (
        CrossLinks,
        LinkExchange,
        LinkSender,
        ReceivedLinks,
        SentBatch,
        UrlOwners,
        noted_lengths,
    )
    from gossamer.store.far import (
        ArchiveFile,
        FarObjects,
        bring_whole,
        bytes_at,
        cache_bytes,
        forget_far,
        note_far,
        objects_of_far,
        open_archive,
        store_of,
    )
    from gossamer.store.foreign import OPENING as WARC_OPENING
    from gossamer.store.foreign import Bad, ForeignRecord, read_warc
    from gossamer.store.joining import PageRecords
    from gossamer.store.layout import KINDS, ArchiveKind, ArchiveName, CrawlFolder
    from gossamer.store.lifecycle import (
        FileSeal,
        Pacing,
        anew_if_damaged,
        archive_of,
        check_seal,
        expect_no_purge,
        follow_builds,
        hash_of_file,
        mending,
        own_hash,
        seal_of,
        tell_damaged,
        with_own_hash,
    )
    from gossamer.store.mirror import (
        CacheRoom,
        Checkpoint,
        Mirror,
        PartialMirror,
        copy_shipped,
        newest_checkpoint,
    )
    from gossamer.store.objects import QUICK_RETRY_S, Objects, TooLarge, is_store, require_store
    from gossamer.store.proof import prove_exclusive, prove_visible
    from gossamer.store.purging import (
        Removal,
        StoredAnswer,
        removal_of,
        rewrite_set,
        sets_of,
        stored_answers,
        strip_file,
    )
    from gossamer.store.reader import (
        FindPage,
        StoredPage,
        cdx_row,
        cdxj_line,
        cdxj_lines,
        decoded,
        header_fields,
        iter_links,
        iter_pages,
        joined_field,
        links_in,
        read_original,
        read_page,
        read_record,
        record_ids,
        status_of,
    )
    from gossamer.store.reading_mark import LostReading, ReadingMark
    from gossamer.store.records import Record, Records, split_head
    from gossamer.store.repairing import (
        PAGE_TYPES,
        Repair,
        far_rows,
        forget_shipped,
        missing_ends,
        repair,
        set_aside_lone_indexes,
    )
    from gossamer.store.resolving import resolved
    from gossamer.store.rules import RulesRecord, decode_rules, encode_rules
    from gossamer.store.scanning import (
        ENDS_INSIDE,
        KEPT_BYTES,
        BadRecord,
        OnBad,
        RecordIdSet,
        count_of,
        next_boundary,
        readable_records,
        records_of,
        scan_records,
        undecodable,
    )
    from gossamer.store.seeking import RecordSeeker
    from gossamer.store.stamps import ContentStamp, content_stamp, stamp_of
    from gossamer.store.state import State, after_prefix
    from gossamer.store.stretches import BadStretches
    from gossamer.store.unpacking import DamagedError, Unpacked
    from gossamer.store.warc import (
        CdxLine,
        CdxRow,
        date_text,
        digest_of,
        pack_record,
        read_cdxj,
        surt,
        write_cdxj,
    )
else:
    __getattr__ = late(
        __name__,
        {
            "archive": "ROW_PREFIX Archive FileRow file_row read_file_row",
            "building": "builds_under_way noting",
            "captures": (
                "Capture captures_among files_without_index indexed_captures unindexed_captures"
            ),
            "chain": "Chain ChainLink",
            "checkpoints": (
                "ALIVE MANIFEST_VERSION AliveNote CrawlCharter CrawlStore "
                "ManifestSource ShardManifest ShippedFile SplitIntent shard_prefix"
            ),
            "cutting": "LOG_PIECE_BYTES=PIECE_BYTES CutFiles LiveFiles StateCut packed unpacked",
            "digests": "ShippedDigest shipped_digest",
            "derived": (
                "BuiltElsewhere Derived RecordRange counted_lengths ends_findings far_files "
                "has_more has_shrunk is_locked note_shipped"
            ),
            "far": (
                "ArchiveFile FarObjects bring_whole bytes_at cache_bytes forget_far note_far "
                "objects_of_far open_archive store_of"
            ),
            "ends": (
                "Ends EndsFile EndsFinding KnownEnds KnownFile Lengths StateEnd compare_ends "
                "lower_ends read_ends replace_ends"
            ),
            "entry": (
                "REQUESTS_TYPE ArchiveEntry LinkRow LinksRecord TurnWriter decode_all_links "
                "decode_links"
            ),
            "exchange": (
                "CrossLinks LinkExchange LinkSender ReceivedLinks SentBatch UrlOwners noted_lengths"
            ),
            "foreign": "WARC_OPENING=OPENING Bad ForeignRecord read_warc",
            "joining": "PageRecords",
            "layout": "KINDS ArchiveKind ArchiveName CrawlFolder",
            "lifecycle": (
                "FileSeal Pacing anew_if_damaged archive_of check_seal expect_no_purge "
                "follow_builds "
                "hash_of_file mending own_hash seal_of tell_damaged with_own_hash"
            ),
            "mirror": "CacheRoom Checkpoint Mirror PartialMirror copy_shipped newest_checkpoint",
            "objects": "QUICK_RETRY_S Objects TooLarge is_store require_store",
            "proof": "prove_exclusive prove_visible",
            "purging": (
                "Removal StoredAnswer removal_of rewrite_set sets_of stored_answers strip_file"
            ),
            "reader": (
                "FindPage StoredPage cdx_row cdxj_line cdxj_lines decoded header_fields "
                "iter_links iter_pages joined_field links_in read_original read_page "
                "read_record record_ids status_of"
            ),
            "reading_mark": "LostReading ReadingMark",
            "records": "Record Records split_head",
            "repairing": (
                "PAGE_TYPES Repair far_rows forget_shipped missing_ends repair "
                "set_aside_lone_indexes"
            ),
            "resolving": "resolved",
            "rules": "RulesRecord decode_rules encode_rules",
            "scanning": (
                "ENDS_INSIDE KEPT_BYTES BadRecord OnBad RecordIdSet count_of next_boundary "
                "readable_records records_of scan_records undecodable"
            ),
            "seeking": "RecordSeeker",
            "stamps": "ContentStamp content_stamp stamp_of",
            "state": "State after_prefix",
            "stretches": "BadStretches",
            "unpacking": "DamagedError Unpacked",
            "warc": "CdxLine CdxRow date_text digest_of pack_record read_cdxj surt write_cdxj",
        },
    )
