"""STATUS, WHY, COPIES, SHOW: typed facts about a crawl, from the state's rows.

Neighbours: `crawl` writes the rows and asks here for a running crawl, `cli` for a stopped one.
Not for: deciding anything. It only reads.
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.report.change_list import Changes
    from gossamer.report.changes import (
        CHANGE_KINDS,
        ChangeHistory,
        ChangeKind,
        EditionTexts,
        PageChange,
        change_rows,
        described,
    )
    from gossamer.report.checking import check as check_crawl
    from gossamer.report.clusters import (
        ClusterMember,
        CopyCluster,
        CopyClusters,
        Labels,
        NearCopy,
        name_in,
        near_copy,
    )
    from gossamer.report.control import ControlSocket
    from gossamer.report.dropping import Dropped, count_named, drop
    from gossamer.report.explanation import (
        Edition,
        FilterVerdict,
        HostSettings,
        Linker,
        PastVisit,
        RecordLocation,
        Revisits,
        RobotsAnswer,
        Sources,
        Why,
        explain_url,
        name_original,
        unnamed_original,
    )
    from gossamer.report.given_texts import GivenDocument, plain_text, read_document, read_given
    from gossamer.report.history import (
        asked_edition,
        edition_at,
        numbered,
        read_moment,
        read_since,
    )
    from gossamer.report.history_ring import CrawlSample, HistoryFile, read_history
    from gossamer.report.hosts import (
        CrawledHost,
        HostDetails,
        HostFetch,
        HostGap,
        host_details,
        host_table,
    )
    from gossamer.report.html_pages import html_of
    from gossamer.report.inquiry import (
        Added,
        ChangedSettings,
        Retried,
        Trusted,
        add,
        copies,
        count_held,
        crawl_metrics,
        editions,
        is_running,
        probations_of,
        retry,
        set_settings,
        show,
        status,
        trust,
        trusted_answer,
        why,
        why_at_once,
        why_sources,
    )
    from gossamer.report.left_out import DROPPED, DroppedUrls, dropped_of
    from gossamer.report.linkcheck import (
        LINK_CHECK_FOLDER,
        LinkCheckOptions,
        LinkFinding,
        LinkPlace,
        LinkReport,
        check_stored_links,
        moved_seeds,
        unasked_targets,
    )
    from gossamer.report.linkers import find_linker
    from gossamer.report.linkformats import LinkFormat, links_summary, render_links
    from gossamer.report.prometheus import index_lag_text, metrics_text
    from gossamer.report.receipts import HostReceipt, HostRequest, host_receipt
    from gossamer.report.records import (
        ADDRESSES_TOLD,
        CLAIM,
        COUNTERS,
        LATE_LABELS,
        SUSPECT,
        URL,
        CrawlMetrics,
        Status,
        StoreState,
        Suspect,
        WatchTotals,
        claim_row_key,
        decode_claim,
        decode_counters,
        decode_record,
        decode_suspect,
        encode_claim,
        encode_counters,
        encode_record,
        encode_suspect,
        late_labels_key,
        merge_standings,
        status_of,
        sum_counters,
        suspect_row_key,
        suspicion,
        url_row_key,
    )
    from gossamer.report.reuse import (
        GivenText,
        Passage,
        PassagePart,
        TextCopies,
        TextCopy,
        UnreadFile,
        copies_of,
    )
    from gossamer.report.site import site_report
    from gossamer.report.site_facts import (
        CopiedPage,
        CopyFacts,
        FailureCount,
        MediaTypeCount,
        OrphanFacts,
        RedirectChain,
        RedirectFacts,
        RepeatedTitle,
        ReportedHost,
        ReportedPage,
        RobotsFacts,
        RobotsLine,
        SiteReport,
        Spread,
        StatusCount,
        TitleFacts,
        TrapUnit,
        ValueRange,
    )
    from gossamer.report.snapshot import Snapshot
    from gossamer.report.standings import CopyNames, UrlStandings
    from gossamer.report.steering import PauseState, StoppedCrawl, pause, resume, stop
    from gossamer.report.stored import (
        EditionDiff,
        Page,
        brief_page,
        diff_editions,
        diff_numbered,
        page,
        page_at,
        pages,
    )
    from gossamer.report.stores import page_of_part, store_status
    from gossamer.report.tasks import TaskRow, task_table
    from gossamer.report.urls import (
        URL_STATES,
        UrlCounts,
        UrlRow,
        UrlSelection,
        count_urls,
        url_table,
    )
    from gossamer.report.words import address_words, state_sentence, waiting_words
else:
    __getattr__ = late(
        __name__,
        {
            "change_list": "Changes",
            "changes": (
                "CHANGE_KINDS ChangeHistory ChangeKind EditionTexts PageChange change_rows "
                "described"
            ),
            "checking": "check_crawl=check",
            "html_pages": "html_of",
            "prometheus": "index_lag_text metrics_text",
            "site": "site_report",
            "clusters": "ClusterMember CopyCluster CopyClusters Labels NearCopy name_in near_copy",
            "control": "ControlSocket",
            "dropping": "Dropped count_named drop",
            "explanation": (
                "Edition FilterVerdict HostSettings Linker PastVisit RecordLocation Revisits "
                "RobotsAnswer Sources Why explain_url name_original unnamed_original"
            ),
            "given_texts": "GivenDocument plain_text read_document read_given",
            "history": "asked_edition edition_at numbered read_moment read_since",
            "history_ring": "CrawlSample HistoryFile read_history",
            "hosts": "CrawledHost HostDetails HostFetch HostGap host_details host_table",
            "inquiry": (
                "Added ChangedSettings Retried Trusted add copies count_held crawl_metrics "
                "editions is_running probations_of retry set_settings show status "
                "trust trusted_answer why why_at_once why_sources"
            ),
            "left_out": "DROPPED DroppedUrls dropped_of",
            "linkcheck": (
                "LINK_CHECK_FOLDER LinkCheckOptions LinkFinding LinkPlace LinkReport "
                "check_stored_links moved_seeds unasked_targets"
            ),
            "linkers": "find_linker",
            "linkformats": "LinkFormat links_summary render_links",
            "receipts": "HostReceipt HostRequest host_receipt",
            "records": (
                "ADDRESSES_TOLD CLAIM COUNTERS CrawlMetrics LATE_LABELS SUSPECT Status "
                "StoreState Suspect URL WatchTotals claim_row_key decode_claim "
                "decode_counters decode_record decode_suspect encode_claim encode_counters "
                "encode_record encode_suspect late_labels_key merge_standings status_of "
                "sum_counters suspect_row_key suspicion url_row_key"
            ),
            "reuse": "GivenText Passage PassagePart TextCopies TextCopy UnreadFile copies_of",
            "site_facts": (
                "CopiedPage CopyFacts FailureCount MediaTypeCount OrphanFacts RedirectChain "
                "RedirectFacts RepeatedTitle ReportedHost ReportedPage RobotsFacts RobotsLine "
                "SiteReport Spread StatusCount TitleFacts TrapUnit ValueRange"
            ),
            "snapshot": "Snapshot",
            "standings": "CopyNames UrlStandings",
            "steering": "PauseState StoppedCrawl pause resume stop",
            "stored": "EditionDiff Page brief_page diff_editions diff_numbered page page_at pages",
            "stores": "page_of_part store_status",
            "tasks": "TaskRow task_table",
            "urls": "URL_STATES UrlCounts UrlRow UrlSelection count_urls url_table",
            "words": "address_words state_sentence waiting_words",
        },
    )
