"""WHOSE HOST IS IT? The shards of one crawl: their ranges, the mail between them, their supervisor.

Neighbours: `crawl` wires a `Splitter` where the pipeline asks what is new, an `Outbox` and a
`Mailbox` into the commit, and runs the shards under a `Supervisor`. A crawl with one shard uses
none of it. Not for: opening databases or deciding what is fetched; a shard does that for itself.
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.cluster.address_clocks import FileAddressClocks
    from gossamer.cluster.charter import Charter, read_charter, renew_charter, write_charter
    from gossamer.cluster.connection import Connection
    from gossamer.cluster.datagrams import DatagramSocket
    from gossamer.cluster.mailbox import MARK, Courier, Mailbox
    from gossamer.cluster.messages import (
        ContentMail,
        ContentNews,
        ControlReply,
        ControlRequest,
        Dismiss,
        Downward,
        GrantPages,
        Hello,
        Mail,
        Probe,
        RecallPages,
        Receipt,
        ReturnPages,
        RevisitShare,
        ShardEnded,
        ShardJoined,
        ShardReport,
        WantPages,
    )
    from gossamer.cluster.orders import (
        OutageOrders,
        Outages,
        ProbationOrders,
        ProbationShare,
        ShardOutages,
        ShardProbation,
    )
    from gossamer.cluster.outbox import OUTBOX, PARCELS, Outbox, outbox_tasks, parcel_rows
    from gossamer.cluster.page_budget import PageBudget
    from gossamer.cluster.processes import ShardChild, start_child
    from gossamer.cluster.ring import POINTS, Ranges, Ring, RingSlice
    from gossamer.cluster.splitter import Splitter
    from gossamer.cluster.supervisor import NoAnswer, ShardHandle, Supervisor
    from gossamer.cluster.termination import Termination
else:
    __getattr__ = late(
        __name__,
        {
            "address_clocks": "FileAddressClocks",
            "charter": "Charter read_charter renew_charter write_charter",
            "connection": "Connection",
            "datagrams": "DatagramSocket",
            "mailbox": "MARK Courier Mailbox",
            "messages": (
                "ContentMail ContentNews ControlReply ControlRequest Dismiss Downward "
                "GrantPages Hello Mail Probe RecallPages Receipt ReturnPages RevisitShare "
                "ShardEnded ShardJoined ShardReport WantPages"
            ),
            "orders": (
                "OutageOrders Outages ProbationOrders ProbationShare ShardOutages ShardProbation"
            ),
            "outbox": "OUTBOX PARCELS Outbox outbox_tasks parcel_rows",
            "page_budget": "PageBudget",
            "processes": "ShardChild start_child",
            "ring": "POINTS Ranges Ring RingSlice",
            "splitter": "Splitter",
            "supervisor": "NoAnswer ShardHandle Supervisor",
            "termination": "Termination",
        },
    )
