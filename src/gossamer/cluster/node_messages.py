"""What nodes, coordinators and commands say to the head of a cluster. Plain data; msgpack."""

from enum import StrEnum

from msgspec import Struct, field


class NodeWork(StrEnum):
    """What a process of a crawl does on a machine."""

    SHARD = ""
    INDEX = "index"
    """It indexes the shards that are there, as far as they are shipped."""


class ShardProcess(Struct, frozen=True, array_like=True):
    """A process that runs a shard of a crawl, or works for those that run there."""

    process: str
    """Names the start: drawn by the coordinator."""
    store: str
    shard: int
    join: str = ""
    """Where the coordinator is heard."""
    work: NodeWork = NodeWork.SHARD


class NodeState(Struct, frozen=True, kw_only=True):
    """A machine of the cluster."""

    name: str
    cores: int
    host: str = ""
    """Its address: where it is to be reached, else as the head sees it."""
    pid: int = 0
    """The process that stands for it."""
    region: str = ""
    is_draining: bool = False
    """It gets no shards any more, and gives those it has away."""
    processes: list[ShardProcess] = field(default_factory=list)

    @property
    def shards(self) -> list[ShardProcess]:
        """Return the processes that run shards."""
        return [one for one in self.processes if one.work is NodeWork.SHARD]


class AskToJoin(Struct, frozen=True, tag=True):
    """A machine without a certificate wants one: the only thing that such a one can say."""

    token: str
    name: str


class Admitted(Struct, frozen=True, tag=True):
    """It gets one."""

    authority: bytes
    certificate: bytes
    key: bytes
    engine: str = "processes"
    ray: str = ""


class NodeHello(Struct, frozen=True, tag=True):
    """A node is there, for the first time or again."""

    name: str
    cores: int
    processes: list[ShardProcess] = field(default_factory=list)
    listen: str = ""
    """The address by which others are to reach it, if it was given one."""
    pid: int = 0
    region: str = ""


class NodeBeat(Struct, frozen=True, tag=True):
    """A node is still there."""


class ProcessEnded(Struct, frozen=True, tag=True):
    """A process of a node has ended: nothing of it runs any more."""

    process: str
    code: int
    node: str = ""


class CoordinatorHello(Struct, frozen=True, tag=True):
    """A coordinator wants to know the nodes, and to start shards on them."""

    store: str
    address: str
    title: str = ""


class StartOn(Struct, frozen=True, tag=True):
    """Start a shard on a node."""

    node: str
    process: ShardProcess


class StopOn(Struct, frozen=True, tag=True):
    """Kill a process on a node."""

    node: str
    process: str


class HeadQuestion(Struct, frozen=True, tag=True):
    """What a command asks: status, drain or down."""

    ask: str
    node: str = ""


class HeadAnswer(Struct, frozen=True, tag=True):
    """The answer to a command."""

    nodes: list[NodeState] = field(default_factory=list)
    crawls: list[CoordinatorHello] = field(default_factory=list)
    error: str = ""


class StartProcess(Struct, frozen=True, tag=True):
    """To a node: start this."""

    process: ShardProcess


class StopProcess(Struct, frozen=True, tag=True):
    """To a node: kill this."""

    process: str


class NodesNow(Struct, frozen=True, tag=True):
    """To a coordinator: all nodes, whenever something about them has changed."""

    nodes: list[NodeState]


class ClusterEnds(Struct, frozen=True, tag=True):
    """To everybody: the cluster, or this node's part in it, is over."""

    reason: str = ""


class NotHeard(Struct, frozen=True, tag=True):
    """Whoever called is not heard any further."""

    reason: str


ToHead = (
    AskToJoin
    | NodeHello
    | NodeBeat
    | ProcessEnded
    | CoordinatorHello
    | StartOn
    | StopOn
    | HeadQuestion
)
ToNode = StartProcess | StopProcess | ClusterEnds | NotHeard
ToCoordinator = NodesNow | ProcessEnded | ClusterEnds | NotHeard
ToCommand = HeadAnswer | Admitted | NotHeard
