"""The nouns: frozen values that the rooms pass to each other. No I/O, no policy.

Neighbours: everyone. Not for: rules (those live in the room that applies them).
"""

from gossamer.model.checks import CheckedFolder, CheckFinding, CheckScope, FindingKind, Remedy
from gossamer.model.claims import (
    MEAN_PRIORITY,
    NO_CLAIM,
    ChangeFrequency,
    SitemapClaim,
    claim_of,
)
from gossamer.model.document import (
    CERTIFICATES,
    CLOCK_SET_BACK,
    CONNECTION_REFUSED,
    CUT_FOR_OTHERS,
    FAMILIES,
    SITEMAP_TYPES,
    Body,
    CertificateProblem,
    Document,
    Extraction,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    RefusalKind,
    Refused,
    certificate_problem,
)
from gossamer.model.ledger import (
    FINAL,
    NO_CONTENT,
    PAUSED_BY_SCHEDULE,
    PAUSED_ON_REQUEST,
    CopyOf,
    Counters,
    Histogram,
    RevisitResult,
    Row,
    Standing,
    StoreRef,
    TrapNote,
    Turn,
    UrlRecord,
    UrlState,
    UserErrors,
    Visit,
    WaitsFor,
    sum_histograms,
)
from gossamer.model.link import (
    EMBEDDED,
    FOLLOWED,
    MAX_LABELS,
    MAX_NESTING,
    MAX_REQUISITE_NESTING,
    REDIRECTS,
    HostKey,
    Link,
    LinkKind,
    Objection,
    Reject,
    Task,
    Url,
    add_labels,
    label_names,
    labels_complaint,
    new_labels,
    read_labels,
)
from gossamer.model.plain import as_json
from gossamer.model.progress import BuildProgress, BuildStep, built_anew, skipped
