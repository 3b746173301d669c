"""Every knob of a crawl: one frozen struct per room, one root. `crawl.toml` has the same shape.

A room receives its own struct and never the root. Ranges live in the types, unknown keys fail,
and everything is checked before the first packet.
"""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct, field

Seconds: TypeAlias = Annotated[float, Meta(ge=0.0)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
AtLeastOne: TypeAlias = Annotated[int, Meta(ge=1)]

BINARY_EXTENSIONS: tuple[str, ...] = (
    *("7z", "apk", "bin", "bz2", "deb", "dmg", "exe", "gz", "iso", "jar", "msi", "rar", "rpm"),
    *("tar", "tgz", "xz", "zip", "zst", "doc", "docx", "ppt", "pptx", "xls", "xlsx", "swf"),
    *("avi", "m4a", "m4v", "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "ogg", "ogv", "wav"),
    *("webm", "wma", "wmv", "woff", "woff2"),
)

KIB = 1024
MIB = 1024 * KIB


class PolitenessConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How long to leave a host alone."""

    delay_s: Annotated[float, Meta(ge=0.0)] | None = None
    """A fixed gap per host instead of the minimum and the adaptive rule; 0 for your own servers."""
    min_delay_s: Seconds = 1.0
    """The shortest gap between two requests to one host."""
    latency_factor: Seconds = 10.0
    """The gap is at least this many times the last fetch's duration..."""
    max_adaptive_s: Seconds = 30.0
    """...but that term is never longer than this."""
    address_delay_s: Seconds = 0.25
    """The gap between two requests to one IP address, whatever the host; 0 if delay_s is 0."""
    throttle_s: Seconds = 10.0
    """The host's gap after a 429 or 503 that names no Retry-After; doubled at each repeat."""
    max_retry_after_s: Seconds = 86400.0
    """A Retry-After longer than this is cut to it."""


class FetchConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to ask a server, and when to stop listening."""

    user_agent: str = ""
    """Sent as User-Agent; "" means gossamer/VERSION with the contact address."""
    robots_agent: str = "gossamer"
    """The product token that robots.txt groups are matched against."""
    contact: str = ""
    """A mail address or URL of yours; it goes into the user agent."""
    headers: tuple[str, ...] = ()
    """Further request headers, as "Name: value"; never stored in the archive."""
    auth: dict[str, str] = field(default_factory=dict)
    """Basic credentials, as USER:PASS, by host (scheme and port of its seeds, else https) or origin
    (http://host:8080); sent there only, never stored."""
    proxy: str = ""
    """A proxy URL (http, https, socks5h) for all requests; "" means none."""
    cookies: bool = False
    """Keep cookies per host for the length of a run; off unless you need them."""
    insecure: bool = False
    """Do not verify TLS certificates (failures are recorded either way)."""
    resolve: dict[str, str] = field(default_factory=dict)
    """Addresses by host name that replace DNS."""
    nameservers: tuple[str, ...] = ()
    """DNS servers to ask instead of the system's, as ADDR or ADDR:PORT."""
    allow_net: tuple[str, ...] = ()
    """Private networks (CIDR) that may be contacted; none by default."""
    allow_private: bool = False
    """Contact any private, loopback or link-local address."""
    max_header_bytes: AtLeastOne = 32 * KIB
    """All header bytes of one answer, interim answers included; readers of WARC take no more."""
    max_header_lines: AtLeastOne = 1000
    """Header lines of one answer."""
    max_body_bytes: AtLeastOne = 32 * MIB
    """Bytes as sent; more is cut off and marked as truncated."""
    max_decoded_bytes: AtLeastOne = 64 * MIB
    """Bytes after decompression; more is cut off."""
    max_ratio: AtLeastOne = 200
    """Decoded bytes per byte as sent, once a megabyte is exceeded; beyond it the rest is cut."""
    connect_s: Seconds = 10.0
    """Deadline for connecting, TLS included."""
    first_byte_s: Seconds = 20.0
    """Deadline for the first byte of the answer."""
    stall_s: Seconds = 20.0
    """The transfer is given up when it stays under 50 bytes a second for so long."""
    total_s: Seconds = 60.0
    """Deadline for the whole exchange."""
    max_redirects: AtLeastOne = 10
    """Hops from a URL to its page."""
    spool_bytes: AtLeastOne = 64 * KIB
    """Bodies larger than this lie in a temporary file when the memory for bodies is used up."""
    body_memory_bytes: Count = 32 * MIB
    """Memory for bodies that are larger than that, of all documents together; each is at most a
    megabyte."""
    dns_cache: AtLeastOne = 100_000
    """Names kept in the DNS cache."""


class RobotsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How robots.txt is kept. There is no switch to ignore it, except for hosts of your own."""

    own_hosts: tuple[str, ...] = ()
    """Hosts that you own, by name: their robots.txt is not asked for."""
    max_bytes: AtLeastOne = 512 * KIB
    """Bytes of a robots.txt that are read (RFC 9309 asks for at least 500 KiB)."""
    max_age_s: Seconds = 86400.0
    """A copy is used for so long (RFC 9309: 24 hours)."""
    cache: AtLeastOne = 50_000
    """Origins kept in memory."""
    retry_s: Seconds = 20.0
    """Wait before an unreachable robots.txt is asked for again; tripled each time."""
    retries: Count = 3
    """After so many repeats the host's URLs are refused as robots_unreachable."""


class UrlConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How URLs are brought into canonical form."""

    strip_session_ids: bool = True
    """Remove session ids such as jsessionid, PHPSESSID and sid."""
    strip_tracking: bool = True
    """Remove tracking parameters such as utm_source and gclid."""


class FilterConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which links are wanted."""

    scope: Literal["any", "domain", "host", "prefix"] = "domain"
    """How far from the seeds the crawl may go."""
    allow: tuple[str, ...] = ()
    """Host globs or URL patterns; with any given, only what matches one is wanted, seeds too."""
    block: tuple[str, ...] = ()
    """Host globs or URL patterns that are never wanted; wins over allow."""
    blocklist: str = ""
    """A file with one host or pattern per line, added to block."""
    block_extensions: tuple[str, ...] = BINARY_EXTENSIONS
    """File extensions of pages that are not asked for (sitemaps excepted)."""
    max_url_chars: AtLeastOne = 2048
    """Longer URLs are refused."""
    max_depth: Count | None = None
    """Links deeper than this are refused; none by default."""
    max_repeats: AtLeastOne = 2
    """A path segment may occur this often in a URL; more looks like a trap."""
    max_urls_per_host: AtLeastOne = 100_000
    """URLs of one host that are taken into the queue."""
    user_filters: tuple[str, ...] = ()
    """Filters of your own, as "module:function"."""


class DedupeConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which pages say the same. Labels only: what is stored does not depend on them."""

    near: bool = True
    """Compare the texts of all pages, and label near-duplicates with their original."""


class TrapsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How parts of a site without an end are found. What is closed is named by `status`."""

    enabled: bool = True
    """Look for traps."""
    trust: tuple[str, ...] = ()
    """Host globs or URL patterns that are never throttled or closed."""
    new_hosts: AtLeastOne = 8
    """Hosts of one domain that are asked at once; more have to wait for their answers."""
    unproven_pages: AtLeastOne = 80
    """Pages on probation after which a part that is neither clearly honest nor a trap is closed; a
    seed's own site has 25 times as many."""


class ProcessConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is read out of documents."""

    embeds: bool = False
    """Follow images, scripts, styles and media too."""
    sitemaps: bool = True
    """Ask for sitemaps named in robots.txt, and for /sitemap.xml of seed hosts."""
    media_types: tuple[str, ...] = ()
    """Keep only these media types (globs such as text/*); () keeps all."""
    max_text_chars: AtLeastOne = 2_000_000
    """Characters of extracted text that are kept."""
    max_links: AtLeastOne = 50_000
    """Links of one document that are kept."""
    helper_seconds: Seconds = 10.0
    """CPU and wall seconds for a document that is read in the helper process."""
    helper_memory_bytes: AtLeastOne = 1024 * MIB
    """Memory of the helper process."""


class FrontierConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which URL next."""

    order: Literal["bfs", "best", "opic", "dfs"] = "bfs"
    """Breadth first, best first (by credit along links), adaptive OPIC, depth first in a host."""
    score: str = ""
    """A function of yours, as "module:function", that grades instead: it is given a URL, its anchor
    text and its depth, and returns 0.0 (last) to 1.0 (first)."""
    ascend: bool = False
    """Try every parent path of a found URL, too: /a/b/p.html also /a/b/, /a/ and /."""
    ranks: str = ""
    """A file of ranks, such as graph/ranks of an earlier crawl: in the orders best and opic, URLs
    that have more than the mean start with credit."""
    rules: dict[str, Annotated[int, Meta(ge=1, le=16)]] = field(default_factory=dict)
    """Fixed grades, 1 (last) to 16 (first), by host, host glob or URL pattern; the first that
    matches has the say."""
    grades: Annotated[int, Meta(ge=1, le=16)] = 8
    """F: the number of priority classes of the breadth-first order."""
    lease_urls: AtLeastOne = 16
    """URLs of one host that are taken from disk at a time."""
    quantum_urls: AtLeastOne = 256
    """After so many URLs a host makes room for a waiting one."""


class SeenConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How known URLs are remembered."""

    run_keys: AtLeastOne = 1_000_000
    """Fingerprints held in memory before they are written as a sorted run."""
    fan_in: Annotated[int, Meta(ge=2)] = 3
    """Runs of similar size that are merged into one."""


class StoreConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept, and how safely."""

    file_bytes: AtLeastOne = 1024 * MIB
    """An archive file is closed when it is larger than this."""
    sync: Literal["each", "second", "never"] = "second"
    """When the disk is told to make commits durable against power loss."""
    commit_pages: AtLeastOne = 64
    """Turns per commit, at most."""
    commit_s: Seconds = 0.05
    """A turn waits no longer than this for its commit."""
    min_free_bytes: Count = 64 * MIB
    """The crawl pauses when the disk has less than this left."""


class WatchConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How `gossamer watch` keeps stored pages fresh."""

    rate_per_s: Annotated[float, Meta(ge=0.001)] = 1.0
    """Requests a second, over all hosts: looks at known pages and new pages together."""
    new_share: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.5
    """Of that, what new pages may take while there are any."""
    prior_s: Annotated[float, Meta(ge=0.001)] = 12_960_000.0
    """A page of which nothing is known yet is taken to change once in so many seconds."""
    confirm_s: Seconds = 86_400.0
    """A page that answers 404 is asked again after this long, then it is gone."""
    confirm_gone_s: Seconds = 3_600.0
    """The same for 410."""
    lost_s: Seconds = 2_592_000.0
    """A page that is gone, or cannot be asked for, is asked again after this long at most."""
    replan_s: Annotated[float, Meta(ge=0.01)] = 60.0
    """How often the looks are planned anew."""


class LimitsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When to stop although there is work left. All count the whole crawl, not one run."""

    max_pages: Count | None = None
    """Stored pages."""
    max_time_s: Seconds | None = None
    """Seconds of crawling in this run."""
    max_bytes: Count | None = None
    """Bytes of archive."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `crawl.toml`."""

    seeds: tuple[str, ...] = ()
    """URLs to start from."""
    concurrency: Annotated[int, Meta(ge=1, le=4096)] = 64
    """Fetches in flight at once, turns that wait for their commit included."""
    shards: Annotated[int, Meta(ge=0, le=256)] = 0
    """Processes that share the crawl, each with its own hosts; 0 means one per core."""
    politeness: PolitenessConfig = field(default_factory=PolitenessConfig)
    fetch: FetchConfig = field(default_factory=FetchConfig)
    robots: RobotsConfig = field(default_factory=RobotsConfig)
    urls: UrlConfig = field(default_factory=UrlConfig)
    filter: FilterConfig = field(default_factory=FilterConfig)
    dedupe: DedupeConfig = field(default_factory=DedupeConfig)
    traps: TrapsConfig = field(default_factory=TrapsConfig)
    process: ProcessConfig = field(default_factory=ProcessConfig)
    frontier: FrontierConfig = field(default_factory=FrontierConfig)
    seen: SeenConfig = field(default_factory=SeenConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
