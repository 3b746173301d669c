"""A WEB OF OUR OWN: how do I test a crawler without the web?

With a web that is a pure function of a seed (`FakeWeb`), or one that a test writes line by line
(`ScriptedWeb`), served on loopback (`FakeServer`, `serve_in_process`, `serve_in_thread`) with one
path per fault and per trap, and judged by the server's own record of visits. `ManualClock` is time
that passes when told. Shipped, so that users can test their processors and filters too.

Neighbours: `clock`, whose Protocol ManualClock fits. Not for: the product; only `cli.dev` (the
demo) may import it.
"""

from gossamer.testing.answer import (
    Act,
    Answer,
    End,
    Fault,
    Pause,
    Place,
    Request,
    Web,
    html_answer,
    not_found,
    redirect,
)
from gossamer.testing.clock import ManualClock
from gossamer.testing.fakeweb import FakeWeb
from gossamer.testing.faults import fault_paths
from gossamer.testing.process import (
    Certificate,
    ServerProcess,
    make_certificate,
    serve_in_process,
    serve_in_thread,
)
from gossamer.testing.script import ScriptedHost, ScriptedWeb
from gossamer.testing.server import FakeServer, Setting
from gossamer.testing.site import TRAPS
from gossamer.testing.visits import (
    Visit,
    by_host,
    hits,
    most_connections,
    read_log,
    repeats,
    short_gaps,
    smallest_gap,
)

__all__ = [
    "TRAPS",
    "Act",
    "Answer",
    "Certificate",
    "End",
    "FakeServer",
    "FakeWeb",
    "Fault",
    "ManualClock",
    "Pause",
    "Place",
    "Request",
    "ScriptedHost",
    "ScriptedWeb",
    "ServerProcess",
    "Setting",
    "Visit",
    "Web",
    "by_host",
    "fault_paths",
    "hits",
    "html_answer",
    "make_certificate",
    "most_connections",
    "not_found",
    "read_log",
    "redirect",
    "repeats",
    "serve_in_process",
    "serve_in_thread",
    "short_gaps",
    "smallest_gap",
]
