"""Every setting of a crawl: one frozen struct per package, one root. `crawl.toml` has this shape.

A package receives its own struct and never the root. Ranges are part of the types, unknown keys are
errors, and everything is checked before the first request.
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
    """How long to wait between requests to the same host."""

    delay_s: Annotated[float, Meta(ge=0.0)] | None = None
    """A fixed delay per host instead of the minimum and adaptive ones; 0 for your own servers."""
    min_delay_s: Seconds = 1.0
    """Minimum delay between two requests to the same host."""
    latency_factor: Seconds = 10.0
    """The delay is at least this many times the duration of the last fetch..."""
    max_adaptive_s: Seconds = 30.0
    """...but this adaptive delay never exceeds this."""
    address_delay_s: Seconds = 0.25
    """Minimum delay between two requests to the same IP address; never more than that of a host
    (delay_s, or min_delay_s where that is not set)."""
    throttle_s: Seconds = 10.0
    """Delay for a host after a 429 without Retry-After; doubled each time it repeats."""
    max_retry_after_s: Seconds = 86400.0
    """Upper limit on Retry-After: a longer one is shortened to this."""


class FetchConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How requests are made, and their limits."""

    user_agent: str = ""
    """The User-Agent header; "" means gossamer/VERSION with the contact address."""
    robots_agent: str = "gossamer"
    """The product token that robots.txt groups are matched against."""
    contact: str = ""
    """Your email address or URL, included in the User-Agent header."""
    headers: tuple[str, ...] = ()
    """Additional request headers, as "Name: value", for the hosts of the seeds given with them:
    they are kept in [host] tables, and secret values in secrets.toml. "Name: env:VARIABLE" takes
    the value from the environment."""
    header_everywhere: bool = False
    """Send these headers to every host instead."""
    auth: dict[str, str] = field(default_factory=dict)
    """Basic authentication credentials, as USER:PASS or env:VARIABLE, by host (with the scheme and
    port of its seeds, otherwise https) or origin (http://host:8080); kept in [host] tables."""
    secrets: tuple[str, ...] = ()
    """Names of headers for every host, or "proxy", whose values are in secrets.toml."""
    proxy: str = ""
    """Proxy URL (http, https, socks5 or socks5h) for all requests, or env:VARIABLE; "" means no
    proxy. Names are then resolved by the proxy alone. With a password it is kept in
    secrets.toml."""
    cookies: bool = False
    """Accept and send cookies, per host, for the duration of a run."""
    insecure: bool = False
    """Do not verify TLS certificates; a failed verification is recorded either way."""
    resolve: dict[str, str] = field(default_factory=dict)
    """IP addresses by host name, used instead of DNS."""
    nameservers: tuple[str, ...] = ()
    """DNS servers to use instead of the system's, as ADDR or ADDR:PORT."""
    allow_net: tuple[str, ...] = ()
    """Private networks, in CIDR notation, that may be contacted; none by default."""
    allow_private: bool = False
    """Allow connections to any private, loopback or link-local address."""
    max_header_bytes: AtLeastOne = 32 * KIB
    """Maximum size of the headers of a response, interim (1xx) responses included; many WARC
    readers accept no more than the default."""
    max_header_lines: AtLeastOne = 1000
    """Maximum number of header lines in a response."""
    max_body_bytes: AtLeastOne = 32 * MIB
    """Maximum size of a body as sent; a longer one is truncated and marked as such."""
    max_decoded_bytes: AtLeastOne = 64 * MIB
    """Maximum size of a body after decompression; a longer one is truncated."""
    max_ratio: AtLeastOne = 200
    """Maximum compression ratio of bodies over 1 MB; beyond it the body is truncated."""
    connect_s: Seconds = 10.0
    """Timeout for connecting, TLS handshake included."""
    first_byte_s: Seconds = 20.0
    """Timeout for the first byte of the response."""
    stall_s: Seconds = 20.0
    """A transfer is aborted after this long below 50 bytes per second."""
    total_s: Seconds = 60.0
    """Timeout for the whole request."""
    max_redirects: AtLeastOne = 10
    """Maximum number of redirects followed from a URL."""
    method: Literal["get", "head"] = "get"
    """How pages are asked for: "head" asks for the header alone, which tells whether a link works,
    and for the page itself only if that fails. No links are found then."""
    retries: Count | None = None
    """Maximum number of retries of a URL, whatever the failure; a Retry-After of more than a minute
    ends it. By default it depends on the failure."""
    spool_bytes: AtLeastOne = 64 * KIB
    """Bodies larger than this go to a temporary file once body_memory_bytes is used up."""
    body_memory_bytes: Count = 32 * MIB
    """Memory for bodies larger than spool_bytes, of all documents together; 1 MB each at most."""
    dns_cache: AtLeastOne = 100_000
    """Maximum number of names in the DNS cache."""


class RobotsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How robots.txt is fetched and cached. It can be ignored only on hosts that you own."""

    own_hosts: tuple[str, ...] = ()
    """Names of hosts that you own: their robots.txt is not fetched."""
    max_bytes: AtLeastOne = 512 * KIB
    """How much of a robots.txt is read (RFC 9309 requires at least 500 KiB)."""
    max_age_s: Seconds = 86400.0
    """How long a cached robots.txt is used (RFC 9309: at most 24 hours)."""
    cache: AtLeastOne = 50_000
    """Maximum number of origins whose robots.txt is kept in memory."""
    retry_s: Seconds = 20.0
    """While other ports of the same host answer, or an expired copy is used, an unreachable
    robots.txt is fetched again after this delay; tripled each time. Otherwise the host is down."""
    retries: Count = 3
    """How often that delay is tripled."""


class OutageConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What happens to hosts that are down. Their URLs wait; one request at a time tests them."""

    give_up_s: Seconds = 86400.0
    """A host that has answered before is given up, with its URLs, after it was down so long."""
    wait_at_end_s: Seconds = 1800.0
    """How long the crawl waits for hosts that are down when nothing else is left to do."""


class UrlConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How URLs are canonicalized."""

    strip_session_ids: bool = True
    """Remove session ids such as jsessionid, PHPSESSID and sid."""
    strip_tracking: bool = True
    """Remove tracking parameters such as utm_source and gclid."""


class FilterConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which links are followed."""

    scope: Literal["any", "domain", "host", "prefix"] = "domain"
    """Which URLs are in scope: any; or the domains, hosts or path prefixes of the seeds."""
    schemes: tuple[str, ...] = ("http", "https")
    """Schemes of links that are followed, such as ftp; those of the seeds always are. file: only
    as a seed, and from local pages."""
    allow: tuple[str, ...] = ()
    """Host globs or URL patterns; if given, only URLs that match one are fetched, even seeds."""
    block: tuple[str, ...] = ()
    """Host globs or URL patterns that are never fetched; takes precedence over allow."""
    blocklist: str = ""
    """A file with one host or pattern per line, added to block."""
    drop: tuple[str, ...] = ()
    """Host globs or URL patterns that are never fetched, and whose stored pages are left out of
    index, graph and tables; see `gossamer drop`."""
    block_extensions: tuple[str, ...] = BINARY_EXTENSIONS
    """File extensions that are not fetched (sitemaps excepted)."""
    max_url_chars: AtLeastOne = 2048
    """URLs longer than this are refused."""
    max_depth: Count | None = None
    """URLs more than this many links away from a seed are refused; no limit by default."""
    max_repeats: AtLeastOne = 2
    """How often the same path segment may occur in a URL; more is taken for a trap."""
    max_urls_per_host: AtLeastOne = 100_000
    """Maximum number of URLs of one host that are queued."""
    user_filters: tuple[str, ...] = ()
    """Your own filters, as "module:function"."""


class DedupeConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How duplicates are detected. They are only labelled; every page is stored all the same."""

    near: bool = True
    """Compare the text of all pages, and label near-duplicates with their original."""
    wait_s: Seconds = 1.0
    """How long a page waits for another shard to say whether its content is stored already; without
    an answer it is stored in full."""


class TrapsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How crawler traps are detected. A suspect part of a site goes last; `status` lists it."""

    enabled: bool = True
    """Detect traps."""
    trust: tuple[str, ...] = ()
    """Host globs or URL patterns that are never throttled, held or closed; see `gossamer trust`."""
    allowance: AtLeastOne = 12_000
    """Pages of one domain that are fetched on probation, ten times as many per IP address; what is
    left is held. On the host of a seed, filter.max_urls_per_host is the limit instead."""
    new_hosts: AtLeastOne = 8
    """How many new hosts of one domain are crawled at once; others wait for their results."""
    unproven_pages: AtLeastOne = 80
    """Pages on probation after which a part of a site that shows no sign of an end goes behind
    those that may have one."""


class ProcessConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is extracted from documents."""

    embeds: bool = False
    """Also fetch images, scripts, style sheets and media that are in scope."""
    requisites: bool = False
    """Fetch what stored pages are made of (images, style sheets, scripts, fonts, and what style
    sheets name) from any host; pages there are not followed."""
    sitemaps: bool = True
    """Fetch the sitemaps named in robots.txt, and /sitemap.xml of seed hosts."""
    media_types: tuple[str, ...] = ()
    """Store only these media types (globs such as text/*); an empty list stores all."""
    max_text_chars: AtLeastOne = 2_000_000
    """Maximum number of characters of extracted text that are stored."""
    max_links: AtLeastOne = 50_000
    """Maximum number of links of one document that are stored."""
    helper_seconds: Seconds = 10.0
    """CPU and wall-clock time limit for a document parsed in the helper process."""
    helper_memory_bytes: AtLeastOne = 512 * MIB
    """Memory limit of the helper process."""


class FrontierConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The order in which URLs are fetched."""

    order: Literal["bfs", "best", "opic", "dfs"] = "bfs"
    """Breadth-first, best-first (by credit along links), adaptive OPIC, or depth-first per host."""
    score: str = ""
    """Your own scoring function, as "module:function": it is called with a URL, its anchor text and
    its depth, and returns a priority from 0.0 (last) to 1.0 (first)."""
    ascend: bool = False
    """Also try every parent path of links and seeds: for /a/b/p.html also /a/b/, /a/ and /."""
    ranks: str = ""
    """A file of ranks, such as graph/ranks of an earlier crawl: with the orders best and opic, URLs
    ranked above the mean start with credit."""
    scores: str = ""
    """A file of scores from outside, such as web traffic: lines of a URL or host and a number of 0
    or more, plain or gzipped. A score is credit to start with or, in the order bfs, moves a URL
    by up to two classes. A copy is kept in the crawl's folder."""
    rules: dict[str, Annotated[int, Meta(ge=1, le=16)]] = field(default_factory=dict)
    """Fixed priorities, from 1 (last) to 16 (first), by host, host glob or URL pattern; the first
    match wins."""
    labels: dict[str, Annotated[int, Meta(ge=-15, le=15)]] = field(default_factory=dict)
    """Priority classes up (2) or down (-1) by label of a seed, for all that is found from it; each
    class up is drawn four times as often."""
    grades: Annotated[int, Meta(ge=1, le=16)] = 8
    """Number of priority classes (front queues) of the breadth-first order."""
    lease_urls: AtLeastOne = 16
    """URLs of one host that are read from disk at a time."""
    quantum_urls: AtLeastOne = 256
    """After this many URLs, a host makes way for one that waits."""


class SeenConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How seen URLs are remembered."""

    run_keys: AtLeastOne = 1_000_000
    """Fingerprints held in memory before they are written as a sorted run."""
    fan_in: Annotated[int, Meta(ge=2)] = 3
    """Runs of similar size that are merged into one."""


class StoreConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How pages are stored, and how durably."""

    file_bytes: AtLeastOne = 1024 * MIB
    """A new archive file is started once the current one is larger than this."""
    sync: Literal["each", "second", "never"] = "second"
    """When commits are synced to disk to survive a power loss: each one, every second, or never."""
    commit_pages: AtLeastOne = 64
    """Maximum number of fetches per commit."""
    commit_s: Seconds = 0.05
    """Maximum time that a finished fetch waits for its commit."""
    min_free_bytes: Count = 64 * MIB
    """The crawl pauses when less disk space than this is free."""
    url: str = ""
    """URL of an object store for checkpoints, from which any machine goes on with the crawl:
    s3://BUCKET/PREFIX, gs://, az:// or file:///FOLDER. Credentials come from the environment."""
    ship_s: Annotated[float, Meta(ge=0.2)] = 5.0
    """How often a checkpoint goes to the store while much happens; every 30 s otherwise."""
    local_archive: bool = True
    """Keep the archive on this disk beside an object store. If false, a take-over leaves archive
    files that are whole in the store there: what is read of them is fetched, and kept in DIR/far up
    to GOSSAMER_CACHE_BYTES (10 GB)."""
    lease_s: Annotated[float, Meta(ge=0.5)] = 10.0
    """Requests stop when the store has not confirmed for so long that the crawl is still ours;
    another machine that takes over waits for as long."""


class WatchConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How `gossamer watch` keeps stored pages up to date."""

    rate_per_s: Annotated[float, Meta(ge=0.001)] = 1.0
    """Requests per second, over all hosts: revisits and new pages together."""
    new_share: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.5
    """Share of these requests that may go to new pages while there are any."""
    prior_s: Annotated[float, Meta(ge=0.001)] = 12_960_000.0
    """Assumed time between two changes of a page that has not been revisited yet."""
    confirm_s: Seconds = 86_400.0
    """A page that returns 404 is fetched again after this long, and then counts as gone."""
    confirm_gone_s: Seconds = 3_600.0
    """The same for 410."""
    lost_s: Seconds = 2_592_000.0
    """A page that is gone or cannot be fetched is tried again after at most this long."""
    replan_s: Annotated[float, Meta(ge=0.01)] = 60.0
    """How often revisits are rescheduled."""


class LimitsConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When to stop although URLs are left. Pages and bytes count over all runs of the crawl."""

    max_pages: Count | None = None
    """Maximum number of stored pages."""
    max_time_s: Seconds | None = None
    """Maximum duration of each run; --max-time gives one for a single run."""
    max_bytes: Count | None = None
    """Maximum size of the archive."""


class ScheduleConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """When requests may be made. Outside of these hours the crawl waits, and says until when."""

    hours: tuple[str, ...] = ()
    """Hours in which requests may be made, such as "22:00-06:00", "Mon-Fri 20:00-07:00" or
    "Sat,Sun 00:00-24:00"; days are those on which they begin. None: at any time."""
    time_zone: str = ""
    """The time zone of these hours, such as "Europe/Berlin" or "UTC"; "" is the machine's."""


class ClusterConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a crawl on several machines is shared out."""

    split_urls: AtLeastOne = 200_000_000
    """A shard that knows more URLs is split while the crawl runs, without copying what it has."""


class HostConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of one host, by its name, with a port ("x.org:8080") or as an origin.

    What is secret is in secrets.toml, which has such tables too, and its names are here. It is sent
    to the origin that the name says, or to those of the host's seeds, otherwise by https; also up
    to https and with or without "www.", never down to http and never to another port.
    """

    delay_s: Annotated[float, Meta(ge=0.0)] | None = None
    """A fixed delay between two requests to this host, instead of the rules in [politeness]."""
    scope: Literal["any", "domain", "host", "prefix"] | None = None
    """What filter.scope says of all hosts: which URLs of this host are in scope and, if it is a
    seed's, how far the crawl may go from that."""
    insecure: bool | None = None
    """Accept this host's certificate even if it is not valid; it is recorded."""
    headers: tuple[str, ...] = ()
    """Additional request headers, as "Name: value" or "Name: env:VARIABLE"."""
    cookies: str = ""
    """Value of the Cookie header, such as "a=1; b=2", or env:VARIABLE."""
    auth: str = ""
    """Basic authentication credentials, as USER:PASS or env:VARIABLE."""
    secrets: tuple[str, ...] = ()
    """Names of headers, "cookies" or "auth" that are in secrets.toml: no start without them."""


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `crawl.toml`."""

    seeds: tuple[str, ...] = ()
    """URLs to start from."""
    seed_labels: dict[str, str] = field(default_factory=dict)
    """Labels of seeds (topics, regions), by URL; several are separated by commas. All that is found
    from a seed carries its labels."""
    regions: dict[str, str] = field(default_factory=dict)
    """In which region a domain is crawled, by domain ("example.com"), by what domains end with
    ("*.de") or "*", if machines of a cluster have regions; the longest match counts. What has no
    rule goes by the table of countries, if its region there is one of the crawl's."""
    concurrency: Annotated[int, Meta(ge=1, le=4096)] = 512
    """Maximum number of fetches at once, those that wait for their commit included."""
    shards: Annotated[int, Meta(ge=0, le=256)] = 0
    """Number of processes that share the crawl, each with its own hosts; 0 means one per core."""
    politeness: PolitenessConfig = field(default_factory=PolitenessConfig)
    fetch: FetchConfig = field(default_factory=FetchConfig)
    robots: RobotsConfig = field(default_factory=RobotsConfig)
    outage: OutageConfig = field(default_factory=OutageConfig)
    urls: UrlConfig = field(default_factory=UrlConfig)
    filter: FilterConfig = field(default_factory=FilterConfig)
    dedupe: DedupeConfig = field(default_factory=DedupeConfig)
    traps: TrapsConfig = field(default_factory=TrapsConfig)
    process: ProcessConfig = field(default_factory=ProcessConfig)
    frontier: FrontierConfig = field(default_factory=FrontierConfig)
    seen: SeenConfig = field(default_factory=SeenConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    limits: LimitsConfig = field(default_factory=LimitsConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    cluster: ClusterConfig = field(default_factory=ClusterConfig)
    watch: WatchConfig = field(default_factory=WatchConfig)
    host: dict[str, HostConfig] = field(default_factory=dict)
    """Settings of single hosts, each a table of its own such as [host."x.org"]."""


LIVE = frozenset(
    {
        *("politeness.delay_s", "politeness.min_delay_s", "politeness.latency_factor"),
        *("politeness.max_adaptive_s", "politeness.throttle_s", "politeness.max_retry_after_s"),
        *("store.commit_pages", "store.commit_s", "store.min_free_bytes"),
        *("limits.max_pages", "limits.max_time_s", "limits.max_bytes"),
        *("schedule.hours", "schedule.time_zone"),
        *("watch.rate_per_s", "host.delay_s", "host.scope"),
        *(f"filter.{name}" for name in FilterConfig.__struct_fields__ if name != "drop"),
    }
)
"""Settings that a running crawl obeys at once, when `gossamer set` changes them; those of [host]
tables by the name of the setting alone. Others hold from the next start."""
