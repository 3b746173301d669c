"""One name at a time, asked of the name servers by c-ares.

Loaded when the first one is asked for: a crawl whose hosts stand in the operator's table or in the
hosts file does without it.
"""

import aiodns
import aiodns.error
import pycares

from gossamer.errors import ConfigError
from gossamer.model import Failed, FailureKind

NO_SUCH_HOST_S = 300.0
_ASK_S = 5.0
_MIN_TTL_S = 1.0
_MAX_TTL_S = 86_400.0
_UNREACHABLE_S = 4.0
"""An outage is remembered for so long; with the time of asking, a name is asked about every 5 s."""
_NO_SUCH_NAME = frozenset({aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_EBADNAME})
_NO_SUCH_RECORD = aiodns.error.ARES_ENODATA


class Ares:
    """The channel to the name servers. Belongs to one event loop."""

    def __init__(self, nameservers: tuple[str, ...]) -> None:
        # One try per server: our own retry table repeats, so that an outage is not a flood.
        try:
            self._engine = aiodns.DNSResolver(
                nameservers=nameservers or None, timeout=_ASK_S, tries=1
            )
        except (ValueError, pycares.AresError) as problem:
            raise ConfigError(
                f"fetch.nameservers: expected ADDR or ADDR:PORT, found {nameservers} ({problem})"
            ) from problem

    async def ask(self, host: str) -> tuple[tuple[str, ...] | Failed, float]:
        """Ask for IPv4 addresses, then, if the name has none, for IPv6; return the time to live."""
        for record in ("A", "AAAA"):
            try:
                result = await self._engine.query_dns(host, record)
            except aiodns.error.DNSError as problem:
                if problem.args[0] == _NO_SUCH_RECORD:
                    continue
                return _failure(host, problem)
            addresses, ttl_s = _read(result)
            if addresses:
                return addresses, ttl_s
        detail = f"{host} has no address"
        return Failed(kind=FailureKind.DNS_NO_SUCH_HOST, detail=detail), NO_SUCH_HOST_S

    async def close(self) -> None:
        """Stop asking."""
        await self._engine.close()


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
        return Failed(kind=FailureKind.DNS_NO_SUCH_HOST, detail=detail), NO_SUCH_HOST_S
    return Failed(kind=FailureKind.DNS_UNREACHABLE, detail=detail), _UNREACHABLE_S
