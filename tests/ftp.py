"""A real FTP server on loopback, in a thread: pyftpdlib, with commands left out and notes taken."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # asyncore, which Python 3.12 has not
    from pyftpdlib.authorizers import DummyAuthorizer
    from pyftpdlib.handlers import FTPHandler
    from pyftpdlib.ioloop import IOLoop
    from pyftpdlib.log import config_logging
    from pyftpdlib.servers import FTPServer


@dataclass
class Served:
    """An FTP server that runs."""

    port: int = 0
    said: list[str] = field(default_factory=list)
    """The commands that came, in order; without passwords."""
    users: list[str] = field(default_factory=list)
    connections: int = 0

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"ftp://{host}:{self.port}{path}"


@contextmanager
def serve_ftp(
    folder: Path,
    *,
    without: tuple[str, ...] = (),
    login: tuple[str, str] | None = None,
    banner: str = "ready",
    passive_address: str = "",
) -> Iterator[Served]:
    """Serve a folder to guests, or to one user only; some commands are not understood."""
    served = Served()
    config_logging(level=100)
    rights = DummyAuthorizer()
    if login is None:
        rights.add_anonymous(str(folder))
    else:
        rights.add_user(*login, str(folder))

    class Handler(FTPHandler):
        authorizer = rights
        masquerade_address = passive_address or None

        def on_connect(self) -> None:
            served.connections += 1

        def on_login(self, username: str) -> None:
            served.users.append(username)

        def pre_process_command(self, line: str, cmd: str, arg: str) -> None:
            served.said.append("PASS" if cmd == "PASS" else line)
            super().pre_process_command(line, cmd, arg)

    known = FTPHandler.proto_cmds.items()
    Handler.proto_cmds = {name: facts for name, facts in known if name not in without}
    Handler.banner = banner
    loop = IOLoop()
    server = FTPServer(("127.0.0.1", 0), Handler, ioloop=loop)
    served.port = server.address[1]
    stop = threading.Event()

    def run() -> None:
        while not stop.is_set():
            loop.loop(timeout=0.02, blocking=False)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        stop.set()
        thread.join(10)
        server.close_all()
