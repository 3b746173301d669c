"""A WEB OF OUR OWN: how do I test a crawler without the web?

Write one line by line (`ScriptedWeb`), or take one of any size that is a pure function of a seed
(`FakeWeb`). Serve it on loopback: from a thread (`serve_in_thread`), a process of its own
(`serve_in_process`) or the running event loop (`FakeServer`). Every way in which a server may
misbehave has a path (`fault_paths`), the server keeps a log of requests (`hits`, `repeats`,
`smallest_gap` and others judge it), and `ManualClock` is time that passes when told.

    web = ScriptedWeb()
    web.host("a.test").page("/", links=["/b"]).page("/b", text="hello").fault("/c", "drop")
    with serve_in_thread(web) as server:
        ...                                     # crawl it: fetch.resolve is server.resolve
        print([request.target for request in server.requests])

docs/TESTING.md has an example of each that runs.

Neighbours: `clock`, whose Protocol ManualClock fits. Not for: the product; only `cli.dev` (the
demo) may import it.
"""

from gossamer.testing.clock import ManualClock
from gossamer.testing.fakeweb import FakeWeb
from gossamer.testing.faults import fault_paths
from gossamer.testing.files import TRAPS
from gossamer.testing.request_log import (
    LoggedRequest,
    by_host,
    hits,
    most_connections,
    read_log,
    repeats,
    short_gaps,
    smallest_gap,
)
from gossamer.testing.responses import (
    CannedResponse,
    ConnectionEnd,
    Fault,
    FaultLocation,
    FaultStep,
    Pause,
    Request,
    Web,
    html_response,
    not_found,
    redirect,
)
from gossamer.testing.scripted import ScriptedHost, ScriptedWeb
from gossamer.testing.server import (
    Certificate,
    FakeServer,
    ServerOptions,
    ServerProcess,
    make_certificate,
    serve_in_process,
    serve_in_thread,
)
