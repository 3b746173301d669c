"""Url, Link, Task: an address, a page that points at it, and the decision to fetch it or not.

Also labels of seeds, which travel with tasks.
"""

from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

HostKey: TypeAlias = bytes
"""11 bytes: 3 of ring (registrable domain), 8 of xxh3(host); orders queues and clocks."""


class Url(Struct, frozen=True, gc=False):
    """A canonical absolute URL. Only `gossamer.urls` makes one.

    `text` has no fragment and no credentials. `host` is the ASCII host without port (IPv6 in
    brackets). `origin` is scheme, host and any port that is not the scheme's default. `key` is the
    64-bit fingerprint: 24 bits of ring (registrable domain), then 40 bits of xxh3 of `text`.
    """

    text: str
    host: str
    origin: str
    key: int

    @property
    def scheme(self) -> str:
        """Return the scheme without its colon."""
        return self.origin.partition(":")[0]

    @property
    def target(self) -> str:
        """Return path and query: what robots rules are matched against."""
        return self.text[len(self.origin) :] or "/"


class LinkKind(StrEnum):
    """Where a link was found. The value is what the links archive stores."""

    SEED = "seed"
    REVISIT = "revisit"
    """No link: a revisit of a page that we have. How it was found is in its record."""
    WITNESS = "witness"
    """No link: a page that we have is asked for only to see whether its host answers."""
    ANCHOR = "a"
    AREA = "area"
    FRAME = "frame"
    REFRESH = "refresh"
    REDIRECT = "redirect"
    HEADER = "header"
    FEED = "feed"
    SITEMAP = "sitemap"
    CANONICAL = "canonical"
    NEXT = "next"
    ALTERNATE = "alternate"
    PARENT = "parent"
    DATA = "data"
    PDF = "pdf"
    TEXT = "text"
    IMAGE = "image"
    SCRIPT = "script"
    STYLE = "style"
    MEDIA = "media"
    CSS = "css"
    EMBED_REDIRECT = "embed_redirect"
    """No link: where a requisite of a page redirects to, which is a requisite, too."""
    FORM = "form"


FOLLOWED = frozenset(
    {
        LinkKind.SEED,
        LinkKind.ANCHOR,
        LinkKind.AREA,
        LinkKind.FRAME,
        LinkKind.REFRESH,
        LinkKind.REDIRECT,
        LinkKind.HEADER,
        LinkKind.FEED,
        LinkKind.SITEMAP,
        LinkKind.CANONICAL,
        LinkKind.NEXT,
        LinkKind.ALTERNATE,
        LinkKind.PARENT,
        LinkKind.DATA,
        LinkKind.PDF,
    }
)
"""Kinds that lead to pages: always followed, if the filters agree."""

EMBEDDED = frozenset(
    {
        LinkKind.IMAGE,
        LinkKind.SCRIPT,
        LinkKind.STYLE,
        LinkKind.MEDIA,
        LinkKind.CSS,
        LinkKind.EMBED_REDIRECT,
    }
)
"""Kinds that a page is made of: recorded always, followed only with `--embeds` or `--requisites`.
"""
REDIRECTS = frozenset({LinkKind.REDIRECT, LinkKind.EMBED_REDIRECT})
"""Kinds of tasks to which a redirect led."""


MAX_NESTING = 2
"""So many indexes of sitemaps in a row are followed. By the protocol an index names no index; one
such step is common, more are an endless chain."""
MAX_REQUISITE_NESTING = 8
"""So many requisites in a row are followed, each named by the one before: a page, its style, a
style that this imports, a font. Real pages need four; what imports without an end is a trap."""


class Link(Struct, frozen=True, gc=False):
    """One link of a page. The page itself is known from where the link is kept."""

    target: Url
    kind: LinkKind
    text: str = ""
    rel: str = ""
    line: int = 0
    """Of the page's source, from 1; 0 if it is not known."""
    fragment: str = ""
    """Behind the #, as written, or its beginning."""

    @property
    def is_nofollow(self) -> bool:
        """Return True if the page asked robots not to follow this link."""
        return "nofollow" in self.rel.split()

    @property
    def is_sitemap(self) -> bool:
        """Return True if this link names a sitemap, not a page: it stands in an index of them."""
        return self.rel == "sitemap" and self.kind is LinkKind.SITEMAP


class Reject(StrEnum):
    """Why a link was not wanted. The value is what `status` counts and `why` prints."""

    SCHEME = "scheme"
    OFF_SCOPE = "off_scope"
    NOT_ALLOWED = "not_allowed"
    BLOCKED = "blocked"
    DROPPED = "dropped"
    EXTENSION = "extension"
    TOO_LONG = "too_long"
    TOO_DEEP = "too_deep"
    REPEATED_SEGMENTS = "repeated_segments"
    HOST_BUDGET = "host_budget"
    BAD_PORT = "bad_port"
    TRAP_ENDLESS = "trap_endless"
    TRAP_SAME = "trap_same"
    TRAP_HOSTS = "trap_hosts"
    MIRROR_HOST = "mirror_host"
    NOFOLLOW = "nofollow"
    NOT_FOLLOWED = "not_followed"
    """Links of its kind are not followed: no filter is asked about them."""
    USER = "user"
    FILTER_FAILED = "filter_failed"
    """A filter of the user's own raised an exception; the detail names it."""


class Objection(Struct, frozen=True, gc=False):
    """One filter's refusal: the reason, and the detail that decided (a pattern, a limit)."""

    reason: Reject
    detail: str = ""


_REDIRECT, _EMBED_REDIRECT = LinkKind.REDIRECT, LinkKind.EMBED_REDIRECT


class Task(Struct, frozen=True, gc=False, omit_defaults=True):
    """A URL to fetch, how we came to it, and how often it was tried.

    `via` is the text of the URL that linked it first ("" for a seed). `grade` is its priority
    class, 1 (low) to F (high), 0 if nobody has graded it yet. `attempt` counts the tries that ended
    in a retryable failure, `hops` the redirects that led here one after another, `nesting` the
    sitemap indexes, or the requisites of a page. `credit` is what the linking page gives it on its
    way to the frontier: credit, or in the breadth-first order the classes by which it moves up or
    down; `is_doubtful` says on that way that the page is on probation, `named_at` and `generation`
    on which address its domain is, and how many domains there led to it, each named by the one
    before. `labels` are those of the seeds that led here: one text, see `read_labels`. `rules` is
    the checksum of the filters that it has passed, 0 if it is to be judged at its turn.
    """

    url: Url
    depth: int = 0
    via: str = ""
    kind: LinkKind = LinkKind.SEED
    grade: int = 0
    attempt: int = 0
    hops: int = 0
    nesting: int = 0
    labels: str = ""
    rules: int = 0
    credit: float = 0.0
    is_doubtful: bool = False
    named_at: str = ""
    generation: int = 0

    @property
    def is_requisite(self) -> bool:
        """Return True if it is fetched because a page is made of it (`--requisites`)."""
        return self.nesting > 0 and self.kind in EMBEDDED

    def follow(self, link: Link, grade: int = 0, credit: float = 0.0) -> "Task":
        """Return the task for a link found on this task's page.

        A redirect is the same step of the walk, so it does not deepen it. The link was judged by
        the rules that the page has passed, or by later ones: then it is judged again.
        """
        url, via, kind, rules = link.target, self.url.text, link.kind, self.rules
        if kind is _REDIRECT or kind is _EMBED_REDIRECT:
            hops, nesting = self.hops + 1, self.nesting
            depth, labels = self.depth, self.labels
            return Task(url, depth, via, kind, grade, 0, hops, nesting, labels, rules, credit)
        nesting = self.nesting + 1 if link.is_sitemap else 0
        depth, labels = self.depth + 1, self.labels
        return Task(url, depth, via, kind, grade, 0, 0, nesting, labels, rules, credit)


# Labels of seeds: topics or regions that everything found from a seed carries. A set of labels is
# one text: the names in alphabetical order, separated by commas; "" if there are none. All tasks of
# a page share that text, so labels cost each of them a reference.

MAX_LABELS = 4
"""Labels that a URL carries; the first that reach it are kept, later ones are dropped."""
MAX_LABEL_CHARS = 64
_REMEMBERED = 4096


def label_names(labels: str) -> list[str]:
    """Return the names in a set of labels."""
    return labels.split(",") if labels else []


@lru_cache(maxsize=_REMEMBERED)
def read_labels(text: str) -> str:
    """Return the set of labels that somebody wrote as "news, climate change"."""
    names = (" ".join(name.split()) for name in text.split(","))
    return ",".join(sorted({name for name in names if name})[:MAX_LABELS])


def labels_complaint(text: str) -> str:
    """Return what is wrong with labels that somebody wrote; "" if nothing is."""
    names = {" ".join(name.split()) for name in text.split(",")} - {""}
    if len(names) > MAX_LABELS:
        return f"{text!r} are {len(names)} labels; expected at most {MAX_LABELS}"
    for name in sorted(names):
        if len(name) > MAX_LABEL_CHARS:
            shown = f"{name[:MAX_LABEL_CHARS]}..."
            return f"the label {shown!r} is too long; expected at most {MAX_LABEL_CHARS} characters"
        if not name.isprintable() or '"' in name:
            return (
                f"the label {name!r} has a character that no label may have; expected "
                "printable ones without quotation marks"
            )
    return ""


@lru_cache(maxsize=_REMEMBERED)
def add_labels(have: str, more: str) -> str:
    """Return a set of labels with those of another, as far as there is room for them."""
    if not more or have == more:
        return have
    kept = label_names(have)
    new = [name for name in label_names(more) if name not in kept]
    return ",".join(sorted([*kept, *new[: MAX_LABELS - len(kept)]]))


@lru_cache(maxsize=_REMEMBERED)
def new_labels(have: str, more: str) -> str:
    """Return those labels of a set that another lacks and has room for."""
    kept = label_names(have)
    return ",".join(name for name in label_names(add_labels(have, more)) if name not in kept)
