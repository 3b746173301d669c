"""Ftp: asks ftp servers for files, and for what is in their folders. Passive mode only.

libcurl does the talking (EPSV, else PASV; the address that a server names for the data connection
is ignored, and the address guard sees every socket), and keeps control connections for a next
request. A folder, whose path ends with a slash, is answered with a page of links.
"""

from collections import OrderedDict
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

import pycurl

from gossamer.clock import Clock
from gossamer.config import MIB, FetchConfig
from gossamer.fetch.body import BodyMemory
from gossamer.fetch.curl import CurlHandle, CurlLoop
from gossamer.fetch.decoding import Caps
from gossamer.fetch.files import media_type_of_name, resource
from gossamer.fetch.grants import HostRules
from gossamer.fetch.guard import AddressGuard
from gossamer.fetch.http import FetchRequest, base_options
from gossamer.fetch.listings import COMMANDS, FolderIds, folder_page, read_listing
from gossamer.model import (
    Document,
    Failed,
    FailureKind,
    Fetched,
    FetchOutcome,
    Redirected,
    RefusalKind,
    Refused,
)

MAX_LISTING_BYTES = 16 * MIB
MAX_REPLY_BYTES = 256 * 1024
"""Of all replies over the control connection in one exchange."""
ORIGINS_KEPT = 10_000
_ACCESS_DENIED = 9
_MOVED = 301
_LATE = ("first_byte", "stalled")

_BY_REPLY: dict[int, FailureKind] = {
    421: FailureKind.THROTTLED,
    530: FailureKind.UNAUTHORIZED,
    532: FailureKind.UNAUTHORIZED,
    550: FailureKind.NOT_FOUND,
    551: FailureKind.NOT_FOUND,
    553: FailureKind.NOT_FOUND,
}
"""By the server's last reply: too many connections, no access, no such file (RFC 959, 4.2)."""
_BY_CODE: dict[int, FailureKind] = {
    3: FailureKind.NOT_FOUND,  # a name that cannot be said: with a line feed in it
    5: FailureKind.PROXY_FAILED,
    7: FailureKind.CONNECT_FAILED,
    _ACCESS_DENIED: FailureKind.NOT_FOUND,
    28: FailureKind.TOTAL_TIMEOUT,
    67: FailureKind.UNAUTHORIZED,
    78: FailureKind.NOT_FOUND,
    97: FailureKind.PROXY_FAILED,
}
"""libcurl's errors; those that are not here mean that the connection broke."""
_UNKNOWN_COMMAND = frozenset({500, 501, 502, 503, 504})


class _Ask(NamedTuple):
    """What is asked for: a file (""), what a folder holds ("LIST"), or whether it is one."""

    command: str = ""
    is_question: bool = False


class Ftp:
    """Asks ftp servers: as a guest, or with the credentials that secrets.toml has for an origin."""

    def __init__(
        self,
        config: FetchConfig,
        clock: Clock,
        guard: AddressGuard,
        curl: CurlLoop,
        rules: HostRules,
    ) -> None:
        self._config = config
        self._clock = clock
        self._guard = guard
        self._curl = curl
        self._logins = rules.logins
        self._caps = Caps(config.max_decoded_bytes, config.max_ratio)
        self._memory = BodyMemory(config.body_memory_bytes)
        self._options = base_options(config) | {
            pycurl.PROTOCOLS: pycurl.PROTO_FTP,
            pycurl.FTP_SKIP_PASV_IP: 1,
            pycurl.HTTPPROXYTUNNEL: 1,
            pycurl.USERNAME: "anonymous",
            pycurl.PASSWORD: config.contact or "anonymous@",
        }
        self._commands: OrderedDict[str, str] = OrderedDict()
        """By origin: how it tells what is in a folder, if not by MLSD."""
        self._ids = FolderIds()

    async def fetch(self, request: FetchRequest) -> FetchOutcome:
        """Retrieve a file, or what is in a folder."""
        try:
            return await self._fetch(request, self._clock.steady() + self._config.total_s)
        finally:
            if request.watch is not None:
                request.watch.leave()

    async def _fetch(self, request: FetchRequest, ends_at: float) -> FetchOutcome:
        if _path(request).endswith("/"):
            return await self._list(request, ends_at)
        came = await self._exchange(request, _Ask(), ends_at)
        if not isinstance(came, Failed) or came.kind is not FailureKind.NOT_FOUND:
            return came
        folder = await self._exchange(request, _Ask(is_question=True), ends_at)
        if not isinstance(folder, Fetched):
            return came
        folder.document.status = _MOVED
        return Redirected(document=folder.document, target=f"{_path(request)}/")

    async def _list(self, request: FetchRequest, ends_at: float) -> FetchOutcome:
        """Ask what is in a folder, in the way that its server understands."""
        origin = request.url.origin
        names = list(COMMANDS)
        first = names.index(self._commands.get(origin, names[0]))
        outcome: FetchOutcome = Failed(kind=FailureKind.NOT_FOUND)
        for command in names[first:]:
            outcome = await self._exchange(request, _Ask(command), ends_at)
            if not _is_not_understood(outcome):
                self._remember(origin, command)
                break
        return outcome

    def _remember(self, origin: str, command: str) -> None:
        self._commands.pop(origin, None)
        if len(self._commands) >= ORIGINS_KEPT:
            self._commands.popitem(last=False)
        if command != next(iter(COMMANDS)):
            self._commands[origin] = command

    async def _exchange(self, request: FetchRequest, ask: _Ask, ends_at: float) -> FetchOutcome:
        left_s = ends_at - self._clock.steady()
        if left_s <= 0:
            return Failed(kind=FailureKind.TOTAL_TIMEOUT, detail="no time was left")
        handle = CurlHandle(self._config, self._guard, self._options, self._memory)
        handle.curl.setopt(pycurl.TIMEOUT_MS, max(1, int(left_s * 1000)))
        try:
            return await self._ask(handle, request, ask)
        finally:
            self._curl.leave(handle)
            handle.close()

    async def _ask(self, handle: CurlHandle, request: FetchRequest, ask: _Ask) -> FetchOutcome:
        self._prepare(handle, request, ask)
        asked_at = self._clock.wall()
        most = min(request.max_body_bytes, MAX_LISTING_BYTES if ask.command else 1 << 62)
        handle.begin(most, self._clock.steady())
        if request.watch is not None:
            request.watch.follow(self._curl, handle, request.url.host)
        ended = await self._curl.start(handle)
        if handle.refusal:
            return Refused(kind=RefusalKind.PRIVATE_ADDRESS, detail=handle.refusal)
        if ended.code and not handle.is_full:
            return _failed(handle, ended.code, ended.message, ended.overdue)
        document = self._document(handle, request, ask)
        if document is None:
            return _not_understood(f"its answer to {ask.command} cannot be read")
        document.fetched_at = asked_at
        document.latency_s = self._clock.steady() - handle.began_at
        return Fetched(document=document)

    def _prepare(self, handle: CurlHandle, request: FetchRequest, ask: _Ask) -> None:
        curl, address = handle.curl, request.address
        host = f"[{address}]" if ":" in address else address
        is_folder = ask.is_question or ask.command
        path = request.url.target.replace("?", "%3F")
        slash = "/" if is_folder and not path.endswith("/") else ""
        curl.setopt(pycurl.URL, f"{request.url.origin}{path}{slash}")
        curl.setopt(pycurl.CONNECT_TO, [f"::{host}:"] if host else [])
        if ask.command:
            curl.setopt(pycurl.CUSTOMREQUEST, ask.command)
        curl.setopt(pycurl.NOBODY, ask.is_question)
        if login := self._logins.get(request.url.origin):
            curl.setopt(pycurl.USERNAME, login.user)
            curl.setopt(pycurl.PASSWORD, login.password)

        room = MAX_REPLY_BYTES

        def take(line: bytes) -> int | None:
            nonlocal room
            room -= len(line)
            handle.lines.append(line)
            return None if room > 0 else -1

        curl.setopt(pycurl.HEADERFUNCTION, take)

    def _document(self, handle: CurlHandle, request: FetchRequest, ask: _Ask) -> Document | None:
        """Return what came as a document; None if it is a list that cannot be read."""
        spool, is_cut = handle.spool, handle.is_full
        if not ask.command:
            kind = "text/html" if ask.is_question else media_type_of_name(_path(request))
            size = spool.size
            found = resource(request, spool.contents(), size, kind, self._caps, spool.claim())
        else:
            contents = spool.contents()
            if isinstance(contents, bytes):
                data = contents
            else:
                with contents:
                    contents.seek(0)
                    data = contents.read()
            folder = unquote_to_bytes(_path(request))
            listing = read_listing(ask.command, data, folder, is_cut=is_cut)
            if not listing.is_readable:
                return None
            entries = self._ids.without_loops(request.url.origin.encode() + folder, listing.entries)
            page, is_cut = folder_page(entries), listing.is_cut
            found = resource(request, page, len(page), "text/html", self._caps)
        found.truncated = "length" if is_cut else ""
        return found


def _path(request: FetchRequest) -> str:
    """Return the path of a URL: with what looks like a query, which ftp does not have."""
    return request.url.target.replace("?", "%3F")


def _failed(handle: CurlHandle, code: int, message: str, overdue: str) -> Failed:
    reply = int(handle.curl.getinfo(pycurl.RESPONSE_CODE) or 0)
    if overdue in _LATE:
        late = FailureKind.FIRST_BYTE_TIMEOUT if overdue == _LATE[0] else FailureKind.STALLED
        return Failed(kind=late, detail=message)
    if sum(map(len, handle.lines)) >= MAX_REPLY_BYTES:
        return Failed(kind=FailureKind.HEADER_TOO_LARGE, detail="the server's replies are too long")
    said = handle.lines[-1].decode("utf-8", "replace").strip() if handle.lines else ""
    if reply in _UNKNOWN_COMMAND:
        return _not_understood(said or message)
    kind = _BY_REPLY.get(reply) or _BY_CODE.get(code, FailureKind.DISCONNECTED)
    return Failed(kind=kind, detail=(said if reply in _BY_REPLY else "") or message)


_NOT_UNDERSTOOD = "the server does not understand: "


def _not_understood(words: str) -> Failed:
    return Failed(kind=FailureKind.NOT_FOUND, detail=f"{_NOT_UNDERSTOOD}{words}")


def _is_not_understood(outcome: FetchOutcome) -> bool:
    return isinstance(outcome, Failed) and outcome.detail.startswith(_NOT_UNDERSTOOD)
