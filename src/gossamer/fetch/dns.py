"""Resolver: addresses of host names, asked for asynchronously and remembered.

A name is looked up in the operator's table, then in the hosts file, then in the cache, then by
c-ares. An outage of the resolver is told apart from a name that does not exist: only the latter is
an answer. Never raises for a name; never asks twice for one name at the same time.
"""

import asyncio
from collections.abc import Iterable
from ipaddress import ip_address
from pathlib import Path

import aiodns
import aiodns.error
import pycares

from gossamer.clock import Clock
from gossamer.config import FetchConfig
from gossamer.errors import ConfigError
from gossamer.model import Failed, FailureKind

HOSTS_FILE = Path("/etc/hosts")

_ASK_S = 5.0
_MIN_TTL_S = 1.0
_MAX_TTL_S = 86_400.0
_NO_SUCH_HOST_S = 300.0
_UNREACHABLE_S = 4.0
"""An outage is remembered for so long; with the time of asking, a name is asked about every 5 s."""
_HOSTS_CHECK_S = 2.0
_MAX_NAME_CHARS = 253
_NO_SUCH_NAME = frozenset({aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_EBADNAME})
_NO_SUCH_RECORD = aiodns.error.ARES_ENODATA

Answer = tuple[str, ...] | Failed


class Resolver:
    """Turns host names into addresses. Belongs to one event loop."""

    def __init__(self, config: FetchConfig, clock: Clock, hosts_file: Path = HOSTS_FILE) -> None:
        self._table = {
            name.lower(): _addresses(name, text) for name, text in config.resolve.items()
        }
        self._nameservers = config.nameservers
        self._max_names = config.dns_cache
        self._clock = clock
        self._hosts = _HostsFile(hosts_file)
        self._cache: dict[str, tuple[float, Answer]] = {}
        self._asked: dict[str, asyncio.Future[Answer]] = {}
        self._engine: aiodns.DNSResolver | None = None

    def cached(self, host: str) -> Answer | None:
        """Return what is known of a host without asking anybody; None if it must be asked for."""
        now = self._clock.steady()
        local = self._local(host, now)
        if local is not None:
            return local
        known = self._cache.get(host)
        return known[1] if known is not None and now < known[0] else None

    async def resolve(self, host: str) -> Answer:
        """Return a host's addresses, or why there are none."""
        known = self.cached(host)
        if known is not None:
            return known
        if host in self._asked:
            return await asyncio.shield(self._asked[host])
        shared = self._asked[host] = asyncio.get_running_loop().create_future()
        answer: Answer = Failed(kind=FailureKind.DNS_UNREACHABLE, detail="lookup was abandoned")
        try:
            answer, ttl_s = await self._ask(host)
            self._remember(host, answer, self._clock.steady() + ttl_s)
        finally:
            del self._asked[host]
            shared.set_result(answer)
        return answer

    async def close(self) -> None:
        """Stop asking."""
        if self._engine is not None:
            await self._engine.close()
            self._engine = None

    def _local(self, host: str, now: float) -> Answer | None:
        name = host.rstrip(".").lower()
        if (literal := _literal(host)) is not None:
            return (literal,)
        if name in self._table:
            return self._table[name]
        found = self._hosts.look_up(name, now)
        if found is not None:
            return found
        if name == "localhost" or name.endswith(".localhost"):
            return ("127.0.0.1",)
        if not name or len(name) > _MAX_NAME_CHARS:
            return Failed(kind=FailureKind.DNS_NO_SUCH_HOST, detail=f"{host[:60]!r} is no name")
        return None

    def _remember(self, host: str, answer: Answer, until: float) -> None:
        self._cache.pop(host, None)
        if len(self._cache) >= self._max_names:
            del self._cache[next(iter(self._cache))]
        self._cache[host] = (until, answer)

    async def _ask(self, host: str) -> tuple[Answer, float]:
        """Ask for IPv4 addresses, then, if the name has none, for IPv6; return the time to live."""
        for record in ("A", "AAAA"):
            try:
                result = await self._channel().query_dns(host, record)
            except aiodns.error.DNSError as problem:
                if problem.args[0] == _NO_SUCH_RECORD:
                    continue
                return _failure(host, problem)
            addresses, ttl_s = _read(result)
            if addresses:
                return addresses, ttl_s
        detail = f"{host} has no address"
        return Failed(kind=FailureKind.DNS_NO_SUCH_HOST, detail=detail), _NO_SUCH_HOST_S

    def _channel(self) -> aiodns.DNSResolver:
        # One try per server: our own retry table repeats, so that an outage is not a flood.
        if self._engine is None:
            try:
                self._engine = aiodns.DNSResolver(
                    nameservers=self._nameservers or None, timeout=_ASK_S, tries=1
                )
            except (ValueError, pycares.AresError) as problem:
                raise ConfigError(f"nameservers {self._nameservers}: {problem}") from problem
        return self._engine


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
        raise ConfigError(f"resolve: {text!r} for {name} is not an address")
    return known


def _read(result: pycares.DNSResult) -> tuple[tuple[str, ...], float]:
    addresses = []
    ttl_s = _MAX_TTL_S
    for record in result.answer:
        ttl_s = min(ttl_s, float(record.ttl))
        if isinstance(record.data, pycares.ARecordData | pycares.AAAARecordData):
            addresses.append(record.data.addr)
    return tuple(addresses), max(ttl_s, _MIN_TTL_S)


def _failure(host: str, problem: aiodns.error.DNSError) -> tuple[Failed, float]:
    code, *words = problem.args
    detail = f"{host}: {words[0] if words else code}"
    if code in _NO_SUCH_NAME:
        return Failed(kind=FailureKind.DNS_NO_SUCH_HOST, detail=detail), _NO_SUCH_HOST_S
    return Failed(kind=FailureKind.DNS_UNREACHABLE, detail=detail), _UNREACHABLE_S
