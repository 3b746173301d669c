"""Plan: which hosts there are, and what kind of site each of them is."""

import re
from dataclasses import dataclass, replace

from gossamer.testing.site import words
from gossamer.testing.site.words import Dice

_NAME = re.compile(r"h(\d{2,9})\.fake(\d{1,9})\.test")
_HOSTS_PER_DOMAIN = 4
_ADDRESSES_PER_NET = 250
_HEADLINES = 31
_SECTIONS = 5
_PATIENT_PAGES = 4
"""Pages of a host that asks for patience: enough to judge by, few enough to wait for."""

_KINDS = (
    *("open", "open", "disallow", "missing", "wildcards", "override", "groups", "mirror"),
    *("delay", "redirected", "open", "giant", "html", "empty", "own_group", "closed"),
    *("open", "mirror", "unreachable", "slow"),
)
_MIRROR_STEP = 6
"""A mirror repeats the host this many places before it."""
_LANGUAGES = ("en", "en", "en", "de", "en", "en", "fr", "en", "en", "es", "en", "en", "ja", "en")
_CODINGS = ((False, False), (True, False), (False, True), (True, True), (False, False))
_SITEMAPS = ("xml", "none", "index", "txt", "xml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One host: what it is called, what it speaks of and how it behaves."""

    index: int
    name: str
    salt: int
    """What sets this site's draws apart from those of others."""
    source: int
    """The host whose bytes it serves: itself, unless it is a mirror."""
    title: str
    topic: str
    language: str
    robots: str
    sitemap: str
    gzip: bool
    chunked: bool
    wait_s: float
    pages: int
    has_extras: bool
    sections: tuple[str, ...]
    headlines: tuple[str, ...]
    slugs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """The list of hosts as a function of a seed; a host is worked out when it is asked for."""

    seed: int
    hosts: int
    pages_per_host: int
    address_count: int
    is_patient: bool
    """Leave out the hosts that keep a crawler waiting: slow ones, and those whose robots.txt
    cannot be had."""

    def name(self, index: int) -> str:
        """Return the name of a host."""
        return f"h{index:02d}.fake{index // _HOSTS_PER_DOMAIN}.test"

    def index(self, name: str) -> int | None:
        """Return the number of a host, or None if there is none of that name."""
        found = _NAME.fullmatch(name)
        if found is None:
            return None
        index = int(found[1])
        return index if index < self.hosts and self.name(index) == name else None

    def address(self, index: int) -> str:
        """Return the loopback address of a host; several hosts share one."""
        net, last = divmod(index % self.address_count, _ADDRESSES_PER_NET)
        return f"127.0.{net + 1}.{last + 1}"

    def kind(self, index: int) -> str:
        """Return what the host is there for: a kind of robots.txt, "mirror" or "slow"."""
        kind = _KINDS[index % len(_KINDS)]
        if kind in {"slow", "unreachable"} and self.is_patient:
            return "open"
        return kind

    def site(self, index: int) -> Site:
        """Return the plan of a host."""
        kind = self.kind(index)
        if kind == "mirror":
            original = self.site(index - _MIRROR_STEP)
            return replace(original, index=index, name=self.name(index))
        return self._original(index, kind)

    def _original(self, index: int, kind: str) -> Site:
        dice = Dice(self.seed, "site", index)
        topic = dice.pick(tuple(words.TOPICS))
        headlines = tuple(words.title(topic, dice) for _ in range(_HEADLINES))
        gzip, chunked = _CODINGS[index % len(_CODINGS)]
        is_brief = kind in {"delay", "slow"}
        return Site(
            index=index,
            name=self.name(index),
            salt=dice.number(),
            source=index,
            title=words.site_title(topic, dice),
            topic=topic,
            language=_LANGUAGES[index % len(_LANGUAGES)],
            robots="open" if kind == "slow" else kind,
            sitemap=_SITEMAPS[index % len(_SITEMAPS)],
            gzip=gzip,
            chunked=chunked,
            wait_s=0.3 if kind == "slow" else 0.0,
            pages=min(self.pages_per_host, _PATIENT_PAGES) if is_brief else self.pages_per_host,
            has_extras=not is_brief,
            sections=words.TOPICS[topic][:_SECTIONS],
            headlines=headlines,
            slugs=tuple(map(words.slug, headlines)),
        )
