"""Fetcher: ask one server for one URL, by whichever protocol its scheme names, built in or not."""

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.metadata import EntryPoint
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from gossamer.clock import Clock
from gossamer.config import FetchConfig
from gossamer.errors import ConfigError
from gossamer.fetch.curl import CurlLoop, TransferWatch
from gossamer.fetch.files import Files
from gossamer.fetch.ftp import Ftp
from gossamer.fetch.grants import HostRules
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.headers import Validators
from gossamer.fetch.http import FetchRequest, Http
from gossamer.fetch.protocols import ModuleRunner, ProtocolModule
from gossamer.log import OnUserError, describe_error, escape, ignore_error
from gossamer.machine import installed_points
from gossamer.model import Failed, FailureKind, FetchOutcome, RefusalKind, Refused, Url
from gossamer.urls import is_bad_port

GROUP = "gossamer.protocols"
BUILT_IN = ("http", "https", "ftp", "file")
"""Schemes that no module can take."""
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]{0,62}")
FetchBy: TypeAlias = Callable[[FetchRequest], Awaitable[FetchOutcome]]

_WEB = frozenset({"http", "https"})
_NETWORKED = frozenset({"http", "https", "ftp"})
"""And whatever a protocol module asks for."""


class Fetcher:
    """Fetches. It knows nothing of politeness or of what a page leads to.

    Whatever goes over the network has its port and its address checked here, before any protocol
    is asked: a protocol is given one address that may be contacted.
    """

    def __init__(
        self,
        config: FetchConfig,
        clock: Clock,
        rules: HostRules | None = None,
        protocols: Mapping[str, ProtocolModule] | None = None,
        on_user_error: OnUserError = ignore_error,
    ) -> None:
        self._config = config
        self._clock = clock
        self._rules = rules or HostRules()
        self._guard = AddressGuard(config)
        self._curls = (CurlLoop(clock, ends_idle=True), CurlLoop(clock, ends_idle=False))
        self._http = Http(config, clock, self._guard, self._curls[0], self._rules)
        self._modules = protocols or {}
        self._on_user_error = on_user_error
        self._others: dict[str, FetchBy] = {}
        """Protocols that were needed so far."""

    def is_networked(self, scheme: str) -> bool:
        """Return True if URLs of a scheme have a host, whose name must be resolved."""
        return scheme in _NETWORKED or scheme in self._modules

    def has_robots(self, scheme: str) -> bool:
        """Return True if servers of a scheme have a robots.txt (RFC 9309, 2.3 names ftp, too)."""
        module = self._modules.get(scheme)
        return scheme in _NETWORKED if module is None else module.has_robots

    def contacted(self, addresses: tuple[str, ...]) -> str:
        """Return the address of a host that would be asked; "" if none may be."""
        return self._guard.first_allowed(addresses)[0]

    async def fetch(
        self,
        url: Url,
        addresses: tuple[str, ...],
        *,
        validators: Validators | None = None,
        max_body_bytes: int | None = None,
        watch: TransferWatch | None = None,
        is_head: bool = False,
        on_sending: Callable[[], bool] | None = None,
    ) -> FetchOutcome:
        """Ask for a URL at the first of its host's addresses that may be contacted.

        The document's body belongs to the caller, who closes it. Redirects are not followed. With
        `is_head` a server of the web is asked for the header alone. `on_sending` is called when
        the connection to such a server stands; the request goes out if it returns True.
        """
        scheme = url.scheme
        ask = self._http.fetch if scheme in _WEB else self._other(scheme)
        if ask is None:
            return Refused(kind=RefusalKind.UNSUPPORTED_SCHEME, detail=scheme)
        address = ""
        if self.is_networked(scheme):
            port = _bad_port(url.origin)
            if port is not None and not self._is_own_port(scheme, port):
                return Refused(kind=RefusalKind.BAD_PORT, detail=f"port {port}")
            if addresses or not self._config.proxy:
                address, objection = self._guard.first_allowed(addresses)
                if not address:
                    return Refused(kind=RefusalKind.PRIVATE_ADDRESS, detail=objection)
            if self._config.proxy:
                address = ""
        cap = self._config.max_body_bytes if max_body_bytes is None else max_body_bytes
        return await ask(FetchRequest(url, address, validators, cap, watch, is_head, on_sending))

    def _other(self, scheme: str) -> FetchBy | None:
        """Return how to ask for URLs of a scheme that is not of the web; None if nobody knows."""
        if scheme not in self._others and (made := self._made(scheme)) is not None:
            self._others[scheme] = made
        return self._others.get(scheme)

    def _made(self, scheme: str) -> FetchBy | None:
        config, clock = self._config, self._clock
        match scheme:
            case "ftp":
                return Ftp(config, clock, self._guard, self._curls[1], self._rules).fetch
            case "file":
                return Files(config, clock).fetch
            case _ if scheme in self._modules:
                return ModuleRunner(config, clock, self._modules[scheme], self._on_user_error).fetch
            case _:
                return None

    def _is_own_port(self, scheme: str, port: str) -> bool:
        return scheme in self._modules and port == str(self._modules[scheme].port)

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


_MOST_GROWTH = 200
"""A delay does not grow any more after so many failures."""


class RetryRule(Struct, frozen=True):
    """How often a kind of failure is tried again, and the wait, which grows by a factor."""

    retries: int
    first_s: float = 0.0
    factor: float = 1.0
    longest_s: float = 3600.0
    is_host_wide: bool = False

    def delay_s(self, attempt: int) -> float:
        """Return the wait after so many earlier failures."""
        return min(self.first_s * self.factor ** min(attempt, _MOST_GROWTH), self.longest_s)


_NEVER = RetryRule(retries=0)
_LINE = RetryRule(retries=4, first_s=1.0, factor=3.0)
"""1, 3, 9, 27 s: a torn line is mended soon or not at all."""
_SLOW = RetryRule(retries=2, first_s=5.0, factor=6.0)
"""5 and 30 s: every further try costs a whole deadline, and a small crawl must come to an end."""
_CONNECT = RetryRule(retries=8, first_s=5.0, factor=3.0)
"""5, 15, 45 s and so on, over two hours: the host answers, but not this port, or not always."""
_UNCHARGED = 1 << 30
"""Retries of what is never the URL's own failure."""
_SERVER = RetryRule(retries=3, first_s=5.0, factor=4.0)
"""5, 20, 80 s."""

RETRY: dict[FailureKind, RetryRule] = {
    FailureKind.DNS_NO_SUCH_HOST: _NEVER,
    # An outage of the resolver is nobody's failure: 5 s, growing by 3 % to half a minute, as long
    # as it takes.
    FailureKind.DNS_UNREACHABLE: RetryRule(
        retries=_UNCHARGED, first_s=5.0, factor=1.03, longest_s=30.0, is_host_wide=True
    ),
    FailureKind.CONNECT_FAILED: _CONNECT,
    FailureKind.CONNECT_TIMEOUT: _CONNECT,
    FailureKind.TLS_FAILED: _CONNECT,
    FailureKind.TLS_CERTIFICATE: _NEVER,
    FailureKind.FIRST_BYTE_TIMEOUT: _SLOW,
    FailureKind.TOTAL_TIMEOUT: _SLOW,
    FailureKind.STALLED: _SLOW,
    FailureKind.DISCONNECTED: _LINE,
    # Not a failure of the URL: it is put back without having had its turn.
    FailureKind.STALE_CONNECTION: _NEVER,
    FailureKind.BAD_HTTP: RetryRule(retries=1, first_s=5.0),
    FailureKind.HEADER_TOO_LARGE: _NEVER,
    FailureKind.TOO_MANY_REDIRECTS: _NEVER,
    FailureKind.BAD_REDIRECT: _NEVER,
    FailureKind.PROXY_FAILED: RetryRule(retries=20, first_s=5.0, factor=1.3, longest_s=60.0),
    FailureKind.NOT_FOUND: _NEVER,
    FailureKind.GONE: _NEVER,
    FailureKind.UNAUTHORIZED: _NEVER,
    FailureKind.HTTP_4XX: _NEVER,
    FailureKind.THROTTLED: RetryRule(
        retries=_UNCHARGED, first_s=10.0, factor=2.0, longest_s=900.0, is_host_wide=True
    ),
    FailureKind.HTTP_5XX: _SERVER,
    FailureKind.UNREADABLE_FILE: _NEVER,
    FailureKind.PROTOCOL_FAILED: _NEVER,
    FailureKind.KILLED_US: _NEVER,
    FailureKind.INTERNAL: _NEVER,
}
"""One row per kind of failure; a test sees to it."""


def delay_s(kind: FailureKind, failures: int) -> float:
    """Return the wait after a failure, and so many of its kind before it, final or not."""
    rule = RETRY[kind]
    return rule.delay_s(min(failures, max(0, rule.retries - 1)))


def next_try_at(failed: Failed, attempt: int, now: float) -> float | None:
    """Return when a task that failed is tried again; None when this failure is final.

    `attempt` is how many of its tries had failed before this one. A Retry-After is obeyed.
    """
    rule = RETRY[failed.kind]
    if attempt >= rule.retries:
        return None
    delay_s = rule.delay_s(attempt) if failed.retry_after_s is None else failed.retry_after_s
    return now + delay_s


RetryAt: TypeAlias = Callable[[Failed, int, float], float | None]
_LONGEST_RETRY_AFTER_S = 60.0
_SHORT_RETRY_S = 2.0
"""The first wait if retries are few; it doubles. What concerns the whole host keeps its own."""


def retry_rule(most: int | None) -> RetryAt:
    """Return `next_try_at`, or the same with at most so many retries, and sooner ones."""
    if most is None:
        return next_try_at

    def limited(failed: Failed, attempt: int, now: float) -> float | None:
        is_long = (failed.retry_after_s or 0.0) > _LONGEST_RETRY_AFTER_S
        again_at = None if attempt >= most or is_long else next_try_at(failed, attempt, now)
        if again_at is None or failed.retry_after_s is not None or RETRY[failed.kind].is_host_wide:
            return again_at
        return min(again_at, now + _SHORT_RETRY_S * 2.0 ** min(attempt, _MOST_GROWTH))

    return limited


class ProtocolTable(NamedTuple):
    """The protocol modules of this crawl, and those that could not be loaded."""

    modules: dict[str, ProtocolModule]
    """By scheme."""
    problems: dict[str, str]
    """What is wrong with modules that are installed, by their name."""


def load_protocols(extra: Sequence[ProtocolModule] = ()) -> ProtocolTable:
    """Return the modules that were given by hand, then those that are installed."""
    found: dict[str, ProtocolModule] = {}
    for module in extra:
        if complaint := _complaint(module, found):
            raise ConfigError(f"protocols: {complaint}")
        found |= dict.fromkeys(module.schemes, module)
    installed = _installed()
    given = dict(found)
    for module in installed.modules.values():
        if not given.keys() & module.schemes:  # what was given by hand holds
            found |= dict.fromkeys(module.schemes, module)
    return ProtocolTable(found, installed.problems)


@cache
def _installed() -> ProtocolTable:
    """Return the modules that are installed, in an order that does not change."""
    found: dict[str, ProtocolModule] = {}
    problems: dict[str, str] = {}
    for point in installed_points(GROUP):
        module, problem = _loaded(point, found)
        if module is not None:
            found |= dict.fromkeys(module.schemes, module)
        else:
            problems[point.name] = problem
            logging.getLogger("gossamer").warning("protocol.skipped %s", escape(problem))
    return ProtocolTable(found, problems)


def _loaded(
    point: EntryPoint, known: dict[str, ProtocolModule]
) -> tuple[ProtocolModule | None, str]:
    """Return the module that an entry point names, or None and why there is none."""
    where = f"{point.name} ({point.value})"
    try:
        module: object = point.load()
    except KeyboardInterrupt:
        raise
    except BaseException as crash:  # noqa: BLE001 -- a stranger's package may fail in any way
        return None, f"{where} cannot be loaded: {describe_error(crash)}"
    complaint = _complaint(module, known)
    if complaint or not isinstance(module, ProtocolModule):
        return None, f"{where}: {complaint}"
    return module, ""


def _complaint(module: object, known: dict[str, ProtocolModule]) -> str:
    """Return what is wrong with a module, or ""."""
    if not isinstance(module, ProtocolModule):
        return f"expected a ProtocolModule, found {type(module).__name__}"
    if not module.schemes:
        return f"{module.name} has no schemes"
    for scheme in module.schemes:
        if not _SCHEME.fullmatch(scheme):
            return f"{scheme!r} is no scheme; expected letters in lower case, such as gopher"
        if scheme in BUILT_IN:
            return f"{scheme} is built in and cannot be replaced"
        if scheme in known and known[scheme] is not module:
            return f"{scheme} is what {known[scheme].name} asks for already"
    if not inspect.iscoroutinefunction(module.fetch):
        return f"{module.name}: expected a function with `async def`"
    return ""
