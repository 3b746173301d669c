r"""How to add a scheme: write a function from an exchange to what was found, and register it.

    from gossamer import Exchange, Resource, protocol

    @protocol("finger", port=79)
    async def finger(exchange: Exchange) -> Resource:
        wire = await exchange.connect()
        await wire.send(f"{exchange.url.target[1:]}\r\n".encode())
        return Resource(await wire.rest(), "text/plain")

Name it in your package's entry points, group "gossamer.protocols", and install the package; or hand
it to `Crawl(protocols=...)`.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import BinaryIO, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict, replace

from gossamer.clock import Clock
from gossamer.config import FetchConfig
from gossamer.fetch.body import BodyMemory, BodySpool
from gossamer.fetch.decoding import Caps
from gossamer.fetch.exchange import (
    Exchange,
    ExchangeMeter,
    ExchangeOver,
    MeteredExchange,
    ModuleAnswer,
    Moved,
    Resource,
)
from gossamer.fetch.files import resource
from gossamer.fetch.http import FetchRequest
from gossamer.log import OnUserError, describe_error, escape, ignore_error
from gossamer.model import (
    Document,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    RefusalKind,
    Refused,
    Url,
)

MAX_DETAIL_CHARS = 300
_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,100}/[a-z0-9!#$&^_.+-]{1,100}")
_MOVED = 301
_NEVER_S = 1e9
_NOT_TO_RETURN = frozenset(
    {FailureKind.STALE_CONNECTION, FailureKind.KILLED_US, FailureKind.INTERNAL}
)

FetchFunction: TypeAlias = Callable[[Exchange], Awaitable[ModuleAnswer]]


class ProtocolModule(Struct, frozen=True, kw_only=True):
    """Asks servers for URLs of some schemes. `protocol` makes one of a function."""

    name: str
    schemes: tuple[str, ...]
    """In lower case, without a colon. A URL of theirs has a host: scheme://host/path."""
    port: int
    """Where servers listen if a URL does not say."""
    fetch: FetchFunction
    """Awaited for each URL; must not block, since all hosts of a shard share one thread."""
    has_robots: bool = False
    """Servers have a /robots.txt, which is asked for first and obeyed (RFC 9309, 2.3)."""


def protocol(
    *schemes: str, port: int, name: str = "", has_robots: bool = False
) -> Callable[[FetchFunction], ProtocolModule]:
    """Turn an async function into a protocol module: @protocol("gopher", port=70)."""

    def register(fetch: FetchFunction) -> ProtocolModule:
        return ProtocolModule(
            name=name or (schemes[0] if schemes else "protocol"),
            schemes=schemes,
            port=port,
            fetch=fetch,
            has_robots=has_robots,
        )

    return register


class ModuleRunner:
    """Asks for URLs through a protocol module: whatever it does ends in an outcome."""

    def __init__(
        self,
        config: FetchConfig,
        clock: Clock,
        module: ProtocolModule,
        on_error: OnUserError = ignore_error,
    ) -> None:
        self._config = config
        self._clock = clock
        self._module = module
        self._on_error = on_error
        self._caps = Caps(config.max_decoded_bytes, config.max_ratio)
        self._memory = BodyMemory(config.body_memory_bytes)
        self._left_behind: set[asyncio.Task[object]] = set()
        """Calls that did not end when they were asked to."""

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        """Let the module ask for a URL at an address that was checked."""
        if self._config.proxy:
            detail = f"{request.url.scheme} does not go through a proxy"
            return Refused(kind=RefusalKind.UNSUPPORTED_SCHEME, detail=detail)
        meter = ExchangeMeter(self._config, request.max_body_bytes, self._memory)
        port = _port_of(request.url) or self._module.port
        exchange = MeteredExchange(request.url, request.address, port, meter)
        if request.watch is not None:
            request.watch.follow_exchange(meter, request.url.host)
        asked_at, began_at = self._clock.wall(), self._clock.steady()
        try:
            answer = await self._ask(exchange, meter)
        finally:
            meter.close()
            if request.watch is not None:
                request.watch.leave()
        if isinstance(answer, Failed):
            return answer
        document = self._document(request, answer, is_cut=meter.is_full)
        document.fetched_at = asked_at
        document.latency_s = self._clock.steady() - began_at
        if isinstance(answer, Moved):
            document.status = _MOVED
            return Redirected(document=document, target=answer.target)
        return Fetched(document=document)

    async def _ask(self, exchange: Exchange, meter: ExchangeMeter) -> ModuleAnswer:
        """Run the module in a task of its own, so that it has so much time and no more."""
        task: asyncio.Task[object] = asyncio.ensure_future(_guarded(self._module, exchange))
        try:
            either: set[asyncio.Future[object]] = {task, meter.over}
            await asyncio.wait(
                either,
                timeout=self._config.total_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            if not task.done():
                task.cancel()
                self._left_behind.add(task)
                task.add_done_callback(self._left_behind.discard)
        if meter.failed is not None:
            return meter.failed
        if not task.done():
            detail = f"after {self._config.total_s:g} s"
            return Failed(kind=FailureKind.TOTAL_TIMEOUT, detail=detail)
        said = task.result()
        if isinstance(said, _Crash):
            return self._broken(said.words)
        if complaint := _objection(said):
            return self._broken(complaint)
        if isinstance(said, Failed):
            return replace(said, detail=escape(said.detail)[:MAX_DETAIL_CHARS])
        return said if isinstance(said, Resource | Moved) else self._broken("")

    def _broken(self, words: str) -> Failed:
        module = self._module
        words = escape(words)[:MAX_DETAIL_CHARS]
        self._on_error(f"protocol {module.name}", words)
        detail = f"the protocol module {module.name} failed: {words}"
        return Failed(kind=FailureKind.PROTOCOL_FAILED, detail=detail)

    def _document(
        self, request: FetchRequest, answer: Resource | Moved, *, is_cut: bool
    ) -> Document:
        if isinstance(answer, Moved):
            return resource(request, b"", 0, "text/plain", self._caps)
        content = answer.content
        body: bytes | BinaryIO = b""
        if isinstance(content, BodySpool):
            size, claim = content.size, content.claim()
            body = content.contents()
        else:
            content = content if isinstance(content, bytes) else b""
            is_cut = is_cut or len(content) > request.max_body_bytes
            body, claim = content[: request.max_body_bytes], None
            size = len(body)
        document = resource(request, body, size, answer.media_type, self._caps, claim)
        document.charset = answer.charset
        document.truncated = "length" if is_cut else ""
        return document


def _port_of(url: Url) -> int:
    """Return the port that a URL names; 0 if it names none."""
    port = url.origin.rpartition(":")[2]
    return int(port) if port.isdecimal() else 0


class _Crash(NamedTuple):
    """A module raised."""

    words: str


async def _guarded(module: ProtocolModule, exchange: Exchange) -> object:
    """Return what a module returns, or what it raised: a task that raises could end the loop."""
    try:
        return await module.fetch(exchange)
    except ExchangeOver as over:
        return over.failed
    except KeyboardInterrupt:
        raise
    except BaseException as crash:  # noqa: BLE001 -- strangers' code
        return _Crash(describe_error(crash))


def _objection(said: object) -> str:
    """Return what is wrong with what a module returned, or ""; constructors do not look."""
    if not isinstance(said, Resource | Moved | Failed):
        return f"expected a Resource, Moved or Failed, found {type(said).__name__}"
    fields: dict[str, object] = asdict(said)
    match said:
        case Resource():
            return _resource_objection(fields)
        case Moved():
            return _text_objection("target", fields["target"])
        case Failed():
            return _failure_objection(fields)


def _resource_objection(fields: Mapping[str, object]) -> str:
    content, kind, charset = fields["content"], fields["media_type"], fields["charset"]
    if not isinstance(content, bytes | BodySpool):
        return f"expected content of type bytes, found {type(content).__name__}"
    if not isinstance(kind, str) or not _MEDIA_TYPE.fullmatch(kind):
        return f"expected a media type such as text/plain, found {kind!r}"
    return _text_objection("charset", charset) if charset != "" else ""


def _failure_objection(fields: Mapping[str, object]) -> str:
    kind, wait_s = fields["kind"], fields["retry_after_s"]
    if not isinstance(kind, FailureKind) or kind in _NOT_TO_RETURN:
        return f"expected a kind of failure, found {kind!r}"
    if wait_s is not None and not (isinstance(wait_s, int | float) and 0 <= wait_s < _NEVER_S):
        return f"expected a number of seconds to wait, found {wait_s!r}"
    if fields["document"] is not None:
        return "expected a failure without a document"
    return _text_objection("detail", fields["detail"]) if fields["detail"] != "" else ""


def _text_objection(name: str, value: object) -> str:
    if not isinstance(value, str) or not value:
        return f"expected a text as the {name}, found {value!r}"
    return ""
