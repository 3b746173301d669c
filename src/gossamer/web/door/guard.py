"""What every answer of the server is held to: who may ask, and what a browser may do with it."""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, TypeAlias

import msgspec

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_QUERY_BYTES = 32 * 1024
_METHODS = frozenset({"GET", "HEAD"})
_PAGE_POLICY = (
    b"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    b"base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Sequence[tuple[bytes, bytes]] = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
"""Of every answer; the server itself adds them, so that its own have them, too."""
POLICY = b"content-security-policy"
RESOURCE_POLICY = b"cross-origin-resource-policy"


class Guard:
    """Stands before the application: wrong hosts and methods end here, headers are added."""

    def __init__(self, app: App, *, is_local: bool, posted: tuple[str, ...] = ()) -> None:
        self._app = app
        self._is_local = is_local
        self._posted = posted
        """Where something may be posted: questions too long for a URL, and changes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        problem = self._problem(scope)
        guarded = _with_headers(send)
        if problem is None:
            await self._app(scope, receive, guarded)
        else:
            await _refuse(guarded, *problem)

    def _problem(self, scope: Scope) -> tuple[int, str, str] | None:
        """Return why a request is refused: status, a word for programs, words for people."""
        if scope["method"] not in _METHODS and not self._is_posted(scope):
            return 405, "method", "expected GET or HEAD: nothing can be changed here"
        if len(scope["query_string"]) > MOST_QUERY_BYTES:
            return 414, "too_long", f"the query is longer than {MOST_QUERY_BYTES} bytes"
        if self._is_local and not is_loopback(_host_of(scope)):
            # A name that leads here, but is not ours, is how another site would read our answers.
            return 403, "host", "expected localhost or a loopback address in the Host header"
        return None

    def _is_posted(self, scope: Scope) -> bool:
        path: str = scope["path"]
        is_there = any(
            path.startswith(one) if one.endswith("/") else path == one for one in self._posted
        )
        return is_there and scope["method"] == "POST"


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Return True if a host, without its port, names this machine and no other."""
    if host == "localhost":
        return True
    if host[:1] == "[" and host[-1:] == "]":
        host = host[1:-1]
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _host_of(scope: Scope) -> str:
    values: list[bytes] = [value for name, value in scope["headers"] if name == b"host"]
    if len(values) != 1:
        return ""
    host = values[0].decode("latin-1").lower()
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _with_headers(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            names = {name for name, _ in headers}
            if POLICY not in names:
                headers.append((POLICY, _PAGE_POLICY))
            if RESOURCE_POLICY not in names:
                headers.append((RESOURCE_POLICY, b"same-origin"))
            message = {**message, "headers": headers}
        await send(message)

    return guarded


async def _refuse(send: Send, status: int, reason: str, detail: str) -> None:
    body = msgspec.json.encode({"error": reason, "detail": detail})
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"allow", b"GET, HEAD"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
