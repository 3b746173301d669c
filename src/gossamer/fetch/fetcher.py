"""Fetcher: ask one server for one URL, by whichever protocol its scheme names."""

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TypeAlias

from gossamer.clock import Clock
from gossamer.config import FetchConfig
from gossamer.fetch.curl import CurlLoop
from gossamer.fetch.files import Files, Ftp
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http import FetchRequest, Http
from gossamer.fetch.request_headers import Validators
from gossamer.model import FetchOutcome, RefusalKind, Refused, Url
from gossamer.urls import is_bad_port

FetchBy: TypeAlias = Callable[[FetchRequest], Awaitable[FetchOutcome]]

_NETWORKED = frozenset({"http", "https", "ftp"})


class Fetcher:
    """Fetches. It knows nothing of robots, of politeness or of what a page leads to.

    A new scheme is a row in the table; one that goes over the network is in _NETWORKED too, so that
    its addresses and ports are checked.
    """

    def __init__(self, config: FetchConfig, clock: Clock) -> None:
        self._config = config
        self._guard = AddressGuard(config)
        self._curls = (CurlLoop(clock, ends_idle=True), CurlLoop(clock, ends_idle=False))
        self._http = Http(config, clock, self._guard, self._curls[0])
        self._ftp = Ftp(config, clock, self._guard, self._curls[1])
        self._files = Files(config, clock)
        self._protocols: dict[str, FetchBy] = {
            "http": self._http.fetch,
            "https": self._http.fetch,
            "ftp": self._ftp.fetch,
            "file": self._files.fetch,
        }

    async def fetch(
        self,
        url: Url,
        addresses: tuple[str, ...],
        *,
        validators: Validators | None = None,
        max_body_bytes: int | None = None,
    ) -> FetchOutcome:
        """Ask for a URL at the first of its host's addresses that may be contacted.

        The document's body belongs to the caller, who closes it. Redirects are not followed.
        """
        scheme = url.scheme
        ask = self._protocols.get(scheme)
        if ask is None:
            return Refused(kind=RefusalKind.UNSUPPORTED_SCHEME, detail=scheme)
        address = ""
        if scheme in _NETWORKED:
            port = _bad_port(url.origin)
            if port is not None:
                return Refused(kind=RefusalKind.BAD_PORT, detail=f"port {port}")
            if addresses or not self._config.proxy:
                address, objection = self._guard.first_allowed(addresses)
                if not address:
                    return Refused(kind=RefusalKind.PRIVATE_ADDRESS, detail=objection)
            if self._config.proxy:
                address = ""
        cap = self._config.max_body_bytes if max_body_bytes is None else max_body_bytes
        return await ask(FetchRequest(url, address, validators, cap))

    async def close(self) -> None:
        """Break off what is under way and close every connection."""
        for curl in self._curls:
            curl.close()
        self._http.close()


@lru_cache(maxsize=16_384)
def _bad_port(origin: str) -> str | None:
    """Return the port of an origin if it is not one to ask; the scheme's own always is."""
    _, _, authority = origin.partition("://")
    port = authority.rpartition("]")[2].rpartition(":")[2] if ":" in authority else ""
    is_good = not port or (port.isdigit() and not is_bad_port(int(port)))
    return None if is_good else port
