"""Resolver: addresses of host names, asked for asynchronously and remembered.

A name is looked up in the operator's table, then in the hosts file, then in the cache, then by
c-ares. An outage of the resolver is told apart from a name that does not exist: only the latter is
an answer. Never raises for a name; never asks twice for one name at the same time.

Behind a proxy, which resolves names itself, nobody is asked: a host then has an address only if it
is one, if the operator's table has it, or if it is localhost by name.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer.clock import Clock
from gossamer.config import FetchConfig
from gossamer.errors import ConfigError
from gossamer.model import Failed, FailureKind

if TYPE_CHECKING:
    from gossamer.fetch.ares import Ares

HOSTS_FILE = Path("/etc/hosts")

_HOSTS_CHECK_S = 2.0
_MAX_NAME_CHARS = 253

Resolved = tuple[str, ...] | Failed


class Resolver:
    """Turns host names into addresses. Belongs to one event loop."""

    def __init__(self, config: FetchConfig, clock: Clock, hosts_file: Path = HOSTS_FILE) -> None:
        self._table = {
            name.lower(): _addresses(name, text) for name, text in config.resolve.items()
        }
        self._is_proxied = bool(config.proxy)
        self._nameservers = config.nameservers
        self._max_names = config.dns_cache
        self._clock = clock
        self._hosts = _HostsFile(hosts_file)
        self._cache: OrderedDict[str, tuple[float, Resolved]] = OrderedDict()
        self._asked: dict[str, asyncio.Future[Resolved]] = {}
        self._ares: Ares | None = None

    def cached(self, host: str) -> Resolved | None:
        """Return what is known of a host without asking anybody; None if it must be asked for."""
        now = self._clock.steady()
        local = self._local(host, now)
        if local is not None:
            return local
        known = self._cache.get(host)
        return known[1] if known is not None and now < known[0] else None

    async def resolve(self, host: str) -> Resolved:
        """Return a host's addresses, or why there are none; () if a proxy has to find them."""
        known = self.cached(host)
        if known is not None:
            return known
        if host in self._asked:
            return await asyncio.shield(self._asked[host])
        shared = self._asked[host] = asyncio.get_running_loop().create_future()
        answer: Resolved = Failed(kind=FailureKind.DNS_UNREACHABLE, detail="lookup was abandoned")
        try:
            answer, ttl_s = await self._channel().ask(host)
            self._remember(host, answer, self._clock.steady() + ttl_s)
        finally:
            del self._asked[host]
            shared.set_result(answer)
        return answer

    async def close(self) -> None:
        """Stop asking."""
        if self._ares is not None:
            await self._ares.close()
            self._ares = None

    def _local(self, host: str, now: float) -> Resolved | None:
        name = host.rstrip(".").lower()
        if (literal := _literal(host)) is not None:
            return (literal,)
        if name in self._table:
            return self._table[name]
        found = None if self._is_proxied else self._hosts.look_up(name, now)
        if found is not None:
            return found
        if name == "localhost" or name.endswith(".localhost"):
            return ("127.0.0.1",)
        if not name or len(name) > _MAX_NAME_CHARS:
            return Failed(kind=FailureKind.DNS_NO_SUCH_HOST, detail=f"{host[:60]!r} is no name")
        return () if self._is_proxied else None

    def _remember(self, host: str, answer: Resolved, until: float) -> None:
        self._cache.pop(host, None)
        if len(self._cache) >= self._max_names:
            self._cache.popitem(last=False)
        self._cache[host] = (until, answer)

    def _channel(self) -> "Ares":
        if self._ares is None:
            from gossamer.fetch.ares import Ares  # noqa: PLC0415 -- many crawls never need c-ares

            self._ares = Ares(self._nameservers)
        return self._ares


class _HostsFile:
    """The system's own table of names, read again when it changes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: dict[str, tuple[str, ...]] = {}
        self._stamp: tuple[int, int] | None = None
        self._next_check = float("-inf")

    def look_up(self, name: str, now: float) -> tuple[str, ...] | None:
        if now >= self._next_check:
            self._next_check = now + _HOSTS_CHECK_S
            self._refresh()
        return self._names.get(name)

    def _refresh(self) -> None:
        try:
            stat = self._path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            if stamp != self._stamp:
                lines = self._path.read_text("utf-8", "replace").splitlines()
                self._names, self._stamp = _read_hosts(lines), stamp
        except OSError:
            self._names, self._stamp = {}, None


def _read_hosts(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    names: dict[str, tuple[str, ...]] = {}
    for line in lines:
        address, *aliases = line.partition("#")[0].split() or [""]
        if _literal(address) is None:
            continue
        for alias in aliases:
            name = alias.lower()
            names[name] = (*names.get(name, ()), address)
    return names


def _literal(host: str) -> str | None:
    """Return the address that a host is when it is written as one, without brackets."""
    if host[-1:].isdigit() or ":" in host:
        try:
            return str(ip_address(host.strip("[]")))
        except ValueError:
            return None
    return None


def _addresses(name: str, text: str) -> tuple[str, ...]:
    addresses = tuple(_literal(part.strip()) for part in text.split(","))
    known = tuple(address for address in addresses if address is not None)
    if len(known) != len(addresses):
        raise ConfigError(f"fetch.resolve: expected an IP address for {name}, found {text!r}")
    return known
