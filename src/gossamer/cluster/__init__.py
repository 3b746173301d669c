"""WHOSE HOST IS IT? The shards of one crawl: their ranges, the mail between them, their supervisor.

Neighbours: `crawl` wires a `Splitter` where the pipeline asks what is new, an `Outbox` and a
`Mailbox` into the commit, and runs the shards under a `Supervisor`. A crawl with one shard uses
none of it. Not for: opening databases or deciding what is fetched; a shard does that for itself.
"""

from gossamer.cluster.charter import Charter, read_charter, write_charter
from gossamer.cluster.council import Allowance, Consensus
from gossamer.cluster.line import Line
from gossamer.cluster.mailbox import MARK, Courier, Mailbox
from gossamer.cluster.messages import (
    Dismiss,
    Downward,
    Ended,
    Grant,
    Hello,
    Joined,
    Mail,
    Probe,
    Question,
    Recall,
    Receipt,
    Reply,
    Report,
    Return,
    Share,
    Want,
)
from gossamer.cluster.nursery import start_child
from gossamer.cluster.outbox import OUTBOX, PARCELS, Outbox, outbox_rows, parcel_rows
from gossamer.cluster.ring import POINTS, Ring
from gossamer.cluster.splitter import Splitter
from gossamer.cluster.supervisor import Member, Supervisor

__all__ = [
    "MARK",
    "OUTBOX",
    "PARCELS",
    "POINTS",
    "Allowance",
    "Charter",
    "Consensus",
    "Courier",
    "Dismiss",
    "Downward",
    "Ended",
    "Grant",
    "Hello",
    "Joined",
    "Line",
    "Mail",
    "Mailbox",
    "Member",
    "Outbox",
    "Probe",
    "Question",
    "Recall",
    "Receipt",
    "Reply",
    "Report",
    "Return",
    "Ring",
    "Share",
    "Splitter",
    "Supervisor",
    "Want",
    "outbox_rows",
    "parcel_rows",
    "read_charter",
    "start_child",
    "write_charter",
]
