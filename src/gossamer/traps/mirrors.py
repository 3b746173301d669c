"""Mirrors: hosts that have nothing but the pages of another, told from sites that share some."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gossamer.model import LinkKind, Turn
from gossamer.traps.hosts import host_in
from gossamer.traps.unit import Unit, address_of, host_of

MIRROR_HOSTS = 4
"""Proven mirrors of one host, from which on they are closed."""
MIRROR_PAGES = 10
"""Sites of one owner share fewer pages before the first of their own comes (a front page, an
imprint, terms); and a mirror of fewer pages costs no more than any small site."""
HOSTS_KEPT = 16_384
UNSHARED_KEPT = 32
SHOWN_KEPT = 1024


@dataclass(slots=True)
class _HostPages:
    """The pages of one host, as far as other hosts may have them, too."""

    unit: Unit
    original: str = ""
    """The unit of the host whose front page its own is a copy of; "" if there is none."""
    unshared: dict[str, str] = field(default_factory=dict)
    """Paths of pages that the original is not known to have: the host that showed each first."""
    has_own: bool = False
    """More pages are unshared than are remembered."""
    is_home: bool = False
    brought: int = 0
    """URLs of the host that its own pages brought."""
    listed_done: int = 0
    """URLs of the host that were listed elsewhere, or in a sitemap, and have had their turn."""


@dataclass(slots=True)
class _Group:
    """Hosts that have the front page of one other host, the original."""

    members: dict[str, _HostPages] = field(default_factory=dict)
    proven: set[str] = field(default_factory=set)
    shown_by: dict[str, str] = field(default_factory=dict)
    """Paths of the original's pages that a member had shown first, and that member."""


class Mirrors:
    """Do several hosts have nothing but the pages of another?

    A mirror has the pages of its original under the same paths, and nothing else. Sites of one
    owner may share a front page, an imprint and more, and have pages of their own: so a shared
    page is only a suspicion, and the pages after it are fetched as usual. They are the probes: is
    there one that the original does not have? A host is a proven mirror when it has shown
    `MIRROR_PAGES` pages, all of them the original's, and no URL of it waits that was listed
    elsewhere than on these pages, by another host or a sitemap.

    One copy of a site may be wanted; the fourth is not. When there are `MIRROR_HOSTS` proven
    mirrors they are closed, and later ones as soon as they are proven. The original is the host
    whose front page came first; it stays open, and so does every seed's own host.

    Kept in memory only: a verdict is kept with its unit. What was known of a host is lost with the
    process, and then URLs of it are in the queue of which nobody knows who listed them: it stays
    open.
    """

    def __init__(self, known_urls: Callable[[str], int]) -> None:
        self._known_urls = known_urls
        self._hosts: dict[str, _HostPages] = {}
        self._groups: dict[str, _Group] = {}

    def observe(self, turn: Turn, host: Unit, *, is_page: bool) -> tuple[str, list[Unit]]:
        """Count a finished URL of a host; return an original, and the mirrors of it to be closed.

        `is_page` means that a page with content came.
        """
        here, task = self._pages_of(host), turn.task
        is_listed = task.kind is LinkKind.SITEMAP or host_in(task.via) != task.url.host
        here.listed_done += is_listed
        if not (task.depth or task.is_requisite) and task.kind is not LinkKind.SITEMAP:
            here.is_home = True  # of a seed, or where it redirects
        changed = self._compare(turn, here) if is_page and not turn.is_sitemap else []
        closed = self._close_proven(here.original or host.name, [here, *changed])
        if not turn.is_sitemap:  # counted last: what is new is not in the queue yet
            here.brought += sum([new.url.host == task.url.host for new in turn.new_tasks])
        return closed

    def _pages_of(self, host: Unit) -> _HostPages:
        found = self._hosts.get(host.name)
        if found is None:
            if len(self._hosts) >= HOSTS_KEPT:
                self._forget(next(iter(self._hosts)))
            found = self._hosts[host.name] = _HostPages(host)
        return found

    def _forget(self, name: str) -> None:
        """Forget a host: when it is met again it counts as one that was begun before."""
        group = self._groups.get(self._hosts.pop(name).original)
        if group is not None:
            group.members.pop(name, None)
            group.proven.discard(name)
        self._groups.pop(name, None)

    def _compare(self, turn: Turn, here: _HostPages) -> list[_HostPages]:
        """Compare a page with those of other hosts; return the members that it tells more about."""
        name = here.unit.name
        path = address_of(turn.task.url)[len(name) - 1 :]
        address = turn.copy_of.url.partition("://")[2] if turn.copy_of is not None else name
        first = address.partition("/")[0] + "/"
        if turn.copy_of is not None and (first == name or address[len(first) - 1 :] != path):
            return []  # known, but not from there: it tells nothing
        if path == "/" and first != name:
            self._join(here, first)
        group = self._groups.get(here.original)
        if first == here.original or (group is not None and group.shown_by.get(path) == first):
            here.unit.copies += 1
        elif len(here.unshared) < UNSHARED_KEPT:
            here.unshared[path] = first
        else:
            here.has_own = True
        return self._note_original(name, path, first)

    def _join(self, here: _HostPages, original: str) -> None:
        """Make a host a member of a group: it has the front page of that original."""
        here.original = original
        self._groups.setdefault(original, _Group()).members[here.unit.name] = here
        known = [path for path, first in here.unshared.items() if first == original]
        for path in known:
            del here.unshared[path]
        here.unit.copies += len(known)

    def _note_original(self, name: str, path: str, first: str) -> list[_HostPages]:
        """Note a page of an original that a member had shown first; return who has it, too."""
        group = self._groups.get(name)
        if group is None or first == name:
            return []
        if len(group.shown_by) < SHOWN_KEPT:
            group.shown_by[path] = first
        found = [one for one in group.members.values() if one.unshared.get(path) == first]
        for member in found:
            del member.unshared[path]
            member.unit.copies += 1
        return found

    def _close_proven(self, original: str, hosts: list[_HostPages]) -> tuple[str, list[Unit]]:
        """Return the members of a group that are to be closed, after some of them have changed."""
        group = self._groups.get(original) if self._groups else None
        if group is None:
            return "", []
        for one in hosts:
            if one.unit.name in group.members and self._is_proven(one):
                group.proven.add(one.unit.name)
        if len(group.proven) < MIRROR_HOSTS:
            return "", []
        proven = [group.members[name] for name in sorted(group.proven)]
        found = [one for one in proven if not one.is_home and self._is_proven(one)]
        return original, [one.unit for one in found if not one.unit.verdict]

    def _is_proven(self, one: _HostPages) -> bool:
        """Return True if a member has shown enough, and nothing that the original may not have."""
        listed = self._known_urls(host_of(one.unit.name)) - one.brought
        has_waiting = listed > one.listed_done
        has_own = one.has_own or bool(one.unshared)
        return one.unit.copies >= MIRROR_PAGES and not has_own and not has_waiting
