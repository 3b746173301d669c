"""ScriptedWeb: small webs that a test writes line by line.

    web = ScriptedWeb()
    site = web.host("a.test")
    site.page("/", links=["/b", web.host("other.test").url("/")])
    site.page("/b", text="hello").redirect("/old", to="/b")
    web.host("slow.test").answers(503, retry_after_s=60)
    async with FakeServer(web) as server: ...

A host answers 404 to what it was not told about, /robots.txt included. Scripts may be changed
while the server runs. Before it runs no port is known: `url` then writes $PORT, and that word
becomes the port in the headers and the body of every scripted response.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Self, TypeAlias

from gossamer.testing.faults import PREFIX, fault_response
from gossamer.testing.responses import (
    CannedResponse,
    ConnectionEnd,
    Fault,
    FaultLocation,
    FaultStep,
    Headers,
    Request,
    Web,
    html_response,
    not_found,
    origin_of,
    redirect,
)

ResponseHandler: TypeAlias = Callable[[Request], CannedResponse]
ScriptedResponse: TypeAlias = CannedResponse | bytes | str | ResponseHandler
"""What a path may be given: a response, raw bytes for the wire, an HTML page, or a function."""

_ADDRESSES = tuple(f"127.0.9.{last}" for last in range(1, 9))
_PORT = "$PORT"


class ScriptedHost:
    """One host, told what to answer. Methods return the host, so that calls can be chained."""

    def __init__(self, name: str, web: "ScriptedWeb") -> None:
        self.name = name
        self._web = web
        self._paths: dict[str, ScriptedResponse] = {}
        self._else: CannedResponse | None = None

    def url(self, target: str = "/") -> str:
        """Return the URL of a target on this host."""
        return self._web.origin(self.name) + target

    def on(self, target: str, response: ScriptedResponse) -> Self:
        """Answer a target (path and query; a path alone serves all its queries)."""
        self._paths[target] = response
        return self

    def file(self, target: str, body: bytes, kind: str, *more: tuple[str, str]) -> Self:
        """Answer a target with a body of some media type, and further headers."""
        return self.on(target, CannedResponse(headers=(("Content-Type", kind), *more), body=body))

    def page(
        self, target: str, *, links: Sequence[str] = (), text: str = "", title: str = ""
    ) -> Self:
        """Answer a target with an HTML page that has some text and links."""
        return self.on(target, html_page(title or f"Page {target}", text, links))

    def redirect(self, target: str, *, to: str, status: int = 302) -> Self:
        """Redirect a target."""
        return self.on(target, redirect(to, status))

    def robots(self, text: str) -> Self:
        """Serve this robots.txt."""
        return self.file("/robots.txt", text.encode(), "text/plain")

    def fault(self, target: str, name: str) -> Self:
        """Misbehave at a target; the name is that of a path under /fault/, such as "drip"."""
        return self.on(target, lambda _: fault_response(self._location(PREFIX + name)))

    def custom_fault(
        self, target: str, run: Callable[[FaultLocation], Iterator[FaultStep]]
    ) -> Self:
        """Misbehave at a target in your own way: bytes, pauses, an end."""
        return self.on(
            target, lambda _: CannedResponse(fault=Fault("own", self._location(target), run))
        )

    def answers(
        self, status: int, *, retry_after_s: int | None = None, body: str = "", times: int = 0
    ) -> Self:
        """Answer every target that has no script with this status, /robots.txt excepted.

        With `times`, only that many requests for a target get it; later ones get 200.
        """
        wait: Headers = () if retry_after_s is None else (("Retry-After", str(retry_after_s)),)
        response = html_response(body or f"<title>{status}</title>", status=status, headers=wait)
        if times:
            response = replace(html_page("At last", "", ()), before=(response,) * times)
        self._else = response
        return self

    def respond(self, request: Request) -> CannedResponse:
        """Return the response to a request."""
        path = request.target.partition("?")[0]
        found = self._paths.get(request.target, self._paths.get(path))
        match found:
            case None:
                is_page = path != "/robots.txt" and self._else is not None
                return self._else if is_page and self._else else not_found()
            case CannedResponse():
                return found
            case bytes(raw):
                return CannedResponse(
                    fault=Fault(
                        "raw", self._location(path), lambda _: iter((raw, ConnectionEnd.CLOSE))
                    )
                )
            case str(html):
                return html_response(html)
            case handler:
                return handler(request)

    def _location(self, path: str) -> FaultLocation:
        return FaultLocation(self.name, self._web.port, path, self._web.scheme)


class ScriptedWeb:
    """Hosts by name, each with its script; other names are answered by `base`, if there is one."""

    def __init__(self, base: Web | None = None) -> None:
        self.scheme = "http"
        self.port = 0
        """0 until it is served."""
        self._base = base
        self._hosts: dict[str, ScriptedHost] = {}
        self._addresses: dict[str, str] = {}

    def host(self, name: str, address: str = "") -> ScriptedHost:
        """Return a host, made when first named; an address must be given before serving."""
        if name not in self._hosts:
            self._hosts[name] = ScriptedHost(name, self)
            self._addresses[name] = address or _ADDRESSES[len(self._hosts) % len(_ADDRESSES)]
        return self._hosts[name]

    def origin(self, name: str) -> str:
        """Return scheme, host and port."""
        if not self.port:
            return f"{self.scheme}://{name}:{_PORT}"
        return origin_of(self.scheme, name, self.port)

    @property
    def is_pure(self) -> bool:
        """Return False: scripts may change."""
        return False

    @property
    def addresses(self) -> dict[str, str]:
        """The loopback address of every host, by name."""
        return {**(self._base.addresses if self._base else {}), **self._addresses}

    @property
    def listen_on(self) -> set[str]:
        """The addresses of all hosts, and those that later hosts will be given."""
        return {*self.addresses.values(), *_ADDRESSES}

    def pages(self) -> Iterable[str]:
        """Return the pages of the base, if there is one."""
        return self._base.pages() if self._base else ()

    def served_at(self, scheme: str, port: int) -> Self:
        """Set the scheme and port that it is served on; return itself."""
        self.scheme, self.port = scheme, port
        if self._base is not None:
            self._base = self._base.served_at(scheme, port)
        return self

    def respond(self, request: Request) -> CannedResponse:
        """Return the response to a request."""
        host = self._hosts.get(request.host)
        if host is not None:
            return self._with_port(host.respond(request))
        return self._base.respond(request) if self._base else not_found()

    def _with_port(self, response: CannedResponse) -> CannedResponse:
        port = str(self.port)
        headers = tuple((name, value.replace(_PORT, port)) for name, value in response.headers)
        body = response.body.replace(_PORT.encode(), port.encode())
        return replace(response, headers=headers, body=body)


def html_page(title: str, text: str, links: Sequence[str]) -> CannedResponse:
    """Return a small HTML page with some text and links."""
    anchors = "\n".join(f'<p><a href="{link}">{link}</a></p>' for link in links)
    return html_response(
        f"<!doctype html>\n<title>{title}</title>\n<h1>{title}</h1>\n<p>{text}</p>\n{anchors}\n"
    )
