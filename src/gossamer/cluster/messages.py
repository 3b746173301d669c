"""What shards say to each other, and to their supervisor. Plain data; msgpack on the wire."""

from msgspec import Struct, field

from gossamer.cluster.orders import OutageOrders, ProbationOrders, ShardOutages, ShardProbation
from gossamer.model import CopyOf, Counters, Standing, Task


class Hello(Struct, frozen=True, tag=True, array_like=True):
    """A shard opens a connection to another: who it is, and which start of it."""

    sender: int
    epoch: int


class Mail(Struct, frozen=True, tag=True, array_like=True):
    """Tasks for the receiver, found by the sender; (epoch, sequence) names the letter."""

    sender: int
    epoch: int
    sequence: int
    tasks: list[Task]
    parcels: list[bytes] = field(default_factory=list)
    """Sealed for the receiver's station of near-duplicates: sketches, and labels of its pages."""
    given: list[int] = field(default_factory=list)
    """Points of the ring that are the receiver's, although the ring gives them to the sender."""


class Receipt(Struct, frozen=True, tag=True, array_like=True):
    """The receiver's durable point covers a letter: the sender may forget it."""

    epoch: int
    sequence: int


class ContentNews(Struct, frozen=True, array_like=True):
    """What became of a content, durable in its shard's archive: its first page, or that it went."""

    url: str
    original: CopyOf | None
    """None if the page no longer has this content."""


class ContentMail(Struct, frozen=True, array_like=True):
    """What shards say about contents, by fingerprint. All but the news may be lost."""

    asked: list[int] = field(default_factory=list)
    """To the owner: who had this first? If nobody, the sender is going to store it."""
    answers: list[tuple[int, CopyOf | None]] = field(default_factory=list)
    """From the owner: a page that is durable, or None for "store it"."""
    wanted: list[int] = field(default_factory=list)
    """From the owner: others wait until what the receiver is going to store is durable."""
    released: list[int] = field(default_factory=list)
    """To the owner: the sender will not store it after all."""
    news: list[tuple[int, ContentNews]] = field(default_factory=list)
    """To the owner, until it acknowledges them."""
    receipts: list[int] = field(default_factory=list)
    """From the owner: its durable point covers the news."""


class ContentLetter(Struct, frozen=True, tag=True, array_like=True):
    """What a shard says about contents to one on another machine."""

    mail: ContentMail


class ShardJoined(Struct, frozen=True, tag=True):
    """A shard is open and about to run; or it runs, and a new coordinator is there."""

    pages: int
    """Stored, and those that it may still store without being granted any more."""
    refused: dict[str, str] = field(default_factory=dict)
    """Seeds that were not wanted, with the reason."""
    address: str = ""
    """Where other shards reach it, if they are on other machines."""
    stages: dict[str, float] = field(default_factory=dict)
    """How many seconds each part of its start took."""


class ShardReport(Struct, frozen=True, tag=True):
    """How a shard stands."""

    counters: Counters
    standing: Standing
    commits: int
    is_idle: bool
    """Nothing queued, leased, under way, uncommitted, or without a receipt."""
    outages: ShardOutages
    probation: ShardProbation
    round: int = 0
    """The round of questions that this answers; 0 if nobody asked."""


class ShardInHand(Struct, frozen=True, tag=True):
    """What a shard on another machine is asking for, by key: all that is known if both go."""

    keys: list[int]
    alone: int = 0
    """The page that is about to be read alone in a helper process; 0 for none."""


class WantPages(Struct, frozen=True, tag=True):
    """A shard could use so many more pages."""

    pages: int


class ReturnPages(Struct, frozen=True, tag=True):
    """A shard gives back pages that it was granted and did not use."""

    pages: int


class ControlReply(Struct, frozen=True, tag=True):
    """The answer to a question."""

    number: int
    answer: dict[str, object]


class ShardEnded(Struct, frozen=True, tag=True):
    """A shard has closed everything and goes."""

    report: ShardReport | None = None
    error: str = ""
    is_usage: bool = False
    """The error is of the operator's making (exit code 2), not of the machine's (4)."""
    is_taken_over: bool = False
    """Another machine goes on with the crawl (exit code 5)."""
    is_local: bool = False
    """The trouble is of its machine: on another one it could go on."""


class GrantPages(Struct, frozen=True, tag=True):
    """A shard may store so many more pages."""

    pages: int


class RecallPages(Struct, frozen=True, tag=True):
    """Pages are scarce: give back what you do not use."""


class RevisitShare(Struct, frozen=True, tag=True):
    """A shard that watches its pages may make this part of the crawl's requests."""

    part: float


class Probe(Struct, frozen=True, tag=True):
    """Say how you stand."""

    round: int


class ControlRequest(Struct, frozen=True, tag=True):
    """A question that came through the control socket."""

    number: int
    question: dict[str, object]


class Dismiss(Struct, frozen=True, tag=True):
    """End: with a reason it is a stop or a limit, without one the crawl is finished."""

    reason: str = ""


class ShardAddresses(Struct, frozen=True, tag=True):
    """Where the shards are heard, by number, and on how many machines they are."""

    addresses: dict[int, str]
    machines: int


class KeepSettings(Struct, frozen=True, tag=True):
    """What crawl.toml says from now on."""

    config: dict[str, object]


class ShardRight(Struct, frozen=True, kw_only=True):
    """By what right a shard of a crawl on several machines may be claimed."""

    crawl: str
    generation: int
    shard: int
    epoch: int
    """Issued for this start: nobody else has it."""
    lease_s: float
    ship_s: float
    must_wait: bool = False
    """Wait a whole lease, whatever is known of the last owner."""


class StartShard(Struct, frozen=True, tag=True, kw_only=True):
    """All that a process needs to be a shard."""

    coordinator: int
    """The number of the charter by which the coordinator has the crawl."""
    right: ShardRight
    ranges: tuple[tuple[int, int], ...]
    """Of the ring: the first point of each, and its shard."""
    regions: tuple[str, ...] = ()
    """Of the shards, by number."""
    config: dict[str, object]
    """The settings of this moment."""
    kept: dict[str, object]
    """What crawl.toml says: the next start."""
    secrets: dict[str, object]
    files: dict[str, bytes] = field(default_factory=dict)
    """Small files of the whole crawl, by their names below its folder."""
    seeds: list[tuple[str, str]]
    is_limited: bool
    reports_commits: bool
    asks_again: bool
    is_paused: bool = False
    suspects: dict[int, int] = field(default_factory=dict)
    """Keys of URLs that were in hand when machines went, and how many went over each."""


class ShardHello(Struct, frozen=True, tag=True, kw_only=True):
    """A process wants to be a shard, or runs one already and looks for a coordinator."""

    shard: int
    process: str = ""
    """Names the start, if a coordinator has asked for it."""
    node: str = ""
    epoch: int = 0
    """By which it has claimed the shard; 0 if it has not yet."""


class MeetCoordinator(Struct, frozen=True, tag=True):
    """A shard that runs is heard by a coordinator again: it joins anew."""

    coordinator: int


class ControlQuestion(Struct, frozen=True, tag=True):
    """A command asks the coordinator."""

    question: dict[str, object]


class ShardBeat(Struct, frozen=True, tag=True):
    """A shard that has not joined yet is still busy with that."""


class TurnedAway(Struct, frozen=True, tag=True):
    """Who called is not wanted."""

    reason: str


class AddressAsk(Struct, frozen=True, tag=True, array_like=True):
    """To the owner of an IP address: may it be asked now?"""

    ticket: int
    address: str
    gap_s: float


class AddressGrant(Struct, frozen=True, tag=True, array_like=True):
    """From the owner: it is taken, if `wait_s` is 0; else ask again then."""

    ticket: int
    wait_s: float


class AddressTouch(Struct, frozen=True, tag=True, array_like=True):
    """To the owner: the address has just answered."""

    address: str
    gap_s: float


PeerMessage = Hello | Mail | Receipt | ContentLetter | AddressAsk | AddressGrant | AddressTouch
Upward = (
    ShardJoined
    | ShardBeat
    | ShardReport
    | ShardInHand
    | WantPages
    | ReturnPages
    | ControlReply
    | ShardEnded
)
FirstWords = ShardHello | ControlQuestion
"""What a coordinator is told first."""
Downward = (
    GrantPages
    | RecallPages
    | RevisitShare
    | Probe
    | OutageOrders
    | ProbationOrders
    | ControlRequest
    | Dismiss
    | ShardAddresses
    | KeepSettings
    | StartShard
    | MeetCoordinator
    | TurnedAway
)
