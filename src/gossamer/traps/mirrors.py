"""Mirrors: do several hosts have nothing but the pages of another?

One copy of a site may be wanted; the fourth is not. A host is a follower of another as long as all
its pages are copies of that one's pages under the same paths. When enough followers have shown two
pages, all followers are closed, and later ones at their first page.
"""

from gossamer.model import Turn
from gossamer.traps.evidence.unit import Unit

MIRROR_HOSTS = 4
"""Hosts whose first pages are all copies of one other host's, from which on they are closed."""
SURE_PAGES = 2
FOLLOWERS_KEPT = 4096


class Mirrors:
    """Hosts and whom they copy. Kept in memory only: a verdict is kept with its unit."""

    def __init__(self) -> None:
        self._followers: dict[str, dict[str, Unit]] = {}
        self._is_mirrored: set[str] = set()

    def observe(self, turn: Turn, host: Unit) -> tuple[str, list[Unit]]:
        """Hear of a page of a host; return the original, and the hosts to be closed as mirrors."""
        if turn.copy_of is None:
            return "", []
        address = turn.copy_of.url.partition("://")[2]
        name = address.partition("/")[0] + "/"
        own = turn.task.url.text.partition("://")[2]
        if name == host.name or address[len(name) :] != own[len(host.name) :]:
            return "", []
        host.copies += 1
        if host.copies < host.pages:  # it has pages of its own
            self._followers.get(name, {}).pop(host.name, None)
            return "", []
        followers = self._followers.setdefault(name, {})
        if len(followers) < FOLLOWERS_KEPT:
            followers[host.name] = host
        sure = sum(other.copies >= SURE_PAGES for other in followers.values())
        if name not in self._is_mirrored and sure < MIRROR_HOSTS:
            return "", []
        self._is_mirrored.add(name)
        found = [other for other in followers.values() if other.copies == other.pages]
        followers.clear()
        return name, found
