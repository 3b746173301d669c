"""WHOSE HOST IS IT? The shards of one crawl: their ranges, the mail between them, their supervisor.

Neighbours: `crawl` wires a `Splitter` where the pipeline asks what is new, an `Outbox` and a
`Mailbox` into the commit, and runs the shards under a `Supervisor`. A crawl with one shard uses
none of it. Not for: opening databases or deciding what is fetched; a shard does that for itself.
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.cluster.address_clocks import FileAddressClocks
    from gossamer.cluster.address_owners import OwnedAddressClocks
    from gossamer.cluster.certificates import client_context, fingerprint, server_context
    from gossamer.cluster.charter import (
        Charter,
        encoded_charter,
        read_charter,
        renew_charter,
        write_charter,
    )
    from gossamer.cluster.connection import (
        Connection,
        address_of,
        bound_socket,
        join_address,
        listen,
        own_address,
        reason_of,
        split_address,
    )
    from gossamer.cluster.datagrams import DatagramSocket
    from gossamer.cluster.engines import HERE, HeadEngine, LocalEngine, ShardEngine
    from gossamer.cluster.fork_server import start_fork_server
    from gossamer.cluster.head import ClusterHead, join_line
    from gossamer.cluster.home import (
        AUTO,
        LOCAL,
        PROCESSES,
        RAY,
        ClusterHome,
        ClusterMembership,
        default_home,
        found_cluster,
        home_of_cluster,
        local_home,
        read_token,
    )
    from gossamer.cluster.mailbox import MARK, Courier, Mailbox
    from gossamer.cluster.manifests import (
        PodPlan,
        head_address,
        node_manifests,
        ray_manifests,
        to_yaml,
    )
    from gossamer.cluster.messages import (
        ContentMail,
        ContentNews,
        ControlQuestion,
        ControlReply,
        ControlRequest,
        Dismiss,
        Downward,
        FirstWords,
        GrantPages,
        Hello,
        KeepSettings,
        Mail,
        MeetCoordinator,
        Probe,
        RecallPages,
        Receipt,
        ReturnPages,
        RevisitShare,
        ShardAddresses,
        ShardBeat,
        ShardEnded,
        ShardHello,
        ShardInHand,
        ShardJoined,
        ShardReport,
        ShardRight,
        StartShard,
        TurnedAway,
        Upward,
        WantPages,
    )
    from gossamer.cluster.moved import (
        MOVED_ROWS,
        MovedDomain,
        MovedDomains,
        moved_key,
        owner_in_state,
        taken_points,
    )
    from gossamer.cluster.network import ShardNetwork
    from gossamer.cluster.node import ClusterNode, join_cluster
    from gossamer.cluster.node_messages import (
        CoordinatorHello,
        HeadAnswer,
        HeadQuestion,
        NodeState,
        NodeWork,
        ProcessEnded,
        ShardProcess,
        ToCommand,
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
    from gossamer.cluster.placement import PlacedNode, moves, place, place_in_regions
    from gossamer.cluster.processes import ShardChild, start_child
    from gossamer.cluster.ray_engine import RayEngine, ray_nodes, require_ray
    from gossamer.cluster.regions import (
        RegionChoice,
        RegionRules,
        ShardRegions,
        read_region_rules,
        region_complaint,
        shard_near,
        shards_by_region,
        share_shards,
    )
    from gossamer.cluster.ring import POINTS, Ranges, Ring, RingSlice
    from gossamer.cluster.splitter import Splitter
    from gossamer.cluster.supervisor import (
        MOVED,
        ForkedShards,
        NoAnswer,
        ShardHandle,
        ShardStarter,
        StartedShard,
        Supervisor,
    )
    from gossamer.cluster.termination import Termination
    from gossamer.cluster.uplink import SupervisorLine, Uplink
else:
    __getattr__ = late(
        __name__,
        {
            "address_clocks": "FileAddressClocks",
            "address_owners": "OwnedAddressClocks",
            "certificates": "client_context fingerprint server_context",
            "charter": "Charter encoded_charter read_charter renew_charter write_charter",
            "connection": (
                "Connection address_of bound_socket join_address listen own_address reason_of "
                "split_address"
            ),
            "datagrams": "DatagramSocket",
            "engines": "HERE ShardEngine HeadEngine LocalEngine",
            "fork_server": "start_fork_server",
            "head": "ClusterHead join_line",
            "home": (
                "AUTO LOCAL PROCESSES RAY ClusterHome ClusterMembership default_home found_cluster "
                "home_of_cluster local_home read_token"
            ),
            "mailbox": "MARK Courier Mailbox",
            "manifests": "PodPlan head_address node_manifests ray_manifests to_yaml",
            "messages": (
                "ContentMail ContentNews ControlQuestion ControlReply ControlRequest Dismiss "
                "Downward FirstWords GrantPages Hello KeepSettings Mail MeetCoordinator Probe "
                "RecallPages Receipt ReturnPages RevisitShare ShardAddresses ShardBeat "
                "ShardEnded ShardHello ShardInHand ShardJoined ShardReport ShardRight StartShard "
                "TurnedAway Upward WantPages"
            ),
            "moved": "MOVED_ROWS MovedDomain MovedDomains moved_key owner_in_state taken_points",
            "network": "ShardNetwork",
            "node": "ClusterNode join_cluster",
            "node_messages": (
                "CoordinatorHello HeadAnswer HeadQuestion NodeState ProcessEnded ShardProcess "
                "ToCommand NodeWork"
            ),
            "orders": (
                "OutageOrders Outages ProbationOrders ProbationShare ShardOutages ShardProbation"
            ),
            "outbox": "OUTBOX PARCELS Outbox outbox_tasks parcel_rows",
            "page_budget": "PageBudget",
            "placement": "PlacedNode moves place place_in_regions",
            "processes": "ShardChild start_child",
            "ray_engine": "RayEngine ray_nodes require_ray",
            "regions": (
                "RegionChoice RegionRules ShardRegions read_region_rules region_complaint "
                "shard_near shards_by_region share_shards"
            ),
            "ring": "POINTS Ranges Ring RingSlice",
            "splitter": "Splitter",
            "supervisor": (
                "MOVED ForkedShards NoAnswer ShardHandle ShardStarter StartedShard Supervisor"
            ),
            "termination": "Termination",
            "uplink": "SupervisorLine Uplink",
        },
    )
