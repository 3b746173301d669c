"""A gopher server on loopback, in a thread: as much as a crawl needs, with notes taken."""

import socketserver
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class GopherHole:
    """A gopher server that runs, and what it was asked for."""

    answers: dict[bytes, bytes]
    port: int = 0
    asked: list[tuple[float, bytes]] = field(default_factory=list)

    @property
    def selectors(self) -> list[bytes]:
        return [selector for _, selector in self.asked]

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"gopher://{host}:{self.port}{path}"

    def menu(self, *items: str, host: str = "127.0.0.1") -> bytes:
        """Return a menu of items written as TYPE, name, a tab, selector."""
        lines = [f"{item}\t{host}\t{self.port}\r\n" for item in items]
        return "".join([*lines, ".\r\n"]).encode()


@contextmanager
def serve_gopher(answers: Mapping[bytes, bytes] | None = None) -> Iterator[GopherHole]:
    """Serve answers by selector; any other selector is an error."""
    hole = GopherHole(dict(answers or {}))

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            selector = self.rfile.readline(2000).rstrip(b"\r\n")
            hole.asked.append((time.monotonic(), selector))
            error = b"3'" + selector + b"' does not exist\t\terror.host\t1\r\n.\r\n"
            self.wfile.write(hole.answers.get(selector, error))

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        hole.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield hole
        finally:
            server.shutdown()
            thread.join(10)
