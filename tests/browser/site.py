"""A site of our own on loopback: thirty tame pages, and some whose every word means harm."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

TAME = 30
SUBJECTS = ("orb", "wolf", "crab", "trapdoor", "jumping", "money")
PLACES = ("meadow", "cellar", "forest", "dune", "garden")
SCRIPT = "<script>alert('title')</script>"
IMAGE = "\"><img src=x onerror=alert('text')>"
OTHERS = (
    "<svg onload=alert('svg')></svg>",
    "<iframe srcdoc=\"<script>parent.alert('frame')</script>\"></iframe>",
    "javascript:alert('link')",
    "'onmouseover='alert(1)",
    "</title></head><base href=//elsewhere.test/>",
    "<style>body{display:none}</style>",
    "\u202egnp.exe\u202c \u2066hidden\u2069",
    "&lt;b&gt; &#x3c;i&#x3e; \x07 {{7*7}} ${7*7}",
)
LIVE_PATH = "/live.html"
HARM_PATH = "/%22%3E%3Cimg%20src=x%20onerror=alert('path')%3E.html"


def tame(number: int) -> str:
    """Return a page about spiders; no two of them are much alike."""
    subject, place = SUBJECTS[number % len(SUBJECTS)], PLACES[number % len(PLACES)]
    words = " ".join(f"{subject}{number}x{n}" for n in range(40))
    return _page(
        f"The {subject} spider of the {place}, part {number}",
        f"<h1>Spider {number}</h1><p>Every spider of the {place} spins silk, and the {subject} "
        f"spider spins gossamer for its young. {words}</p>",
    )


def harmful() -> str:
    """Return a page whose title and text would act if anybody took them for markup."""
    body = "".join(f"<p>A tarantula says {escape(one)} and nothing else.</p>" for one in OTHERS)
    links = f'<a href="javascript:alert(4)">{escape(SCRIPT)}</a>'
    return _page(
        f"tarantula {SCRIPT} {IMAGE}",
        f"<h1>{escape(IMAGE)}</h1><p>tarantula {escape(IMAGE)} tarantula</p>{body}{links}",
    )


def live() -> str:
    """Return a page that acts as soon as anybody runs it."""
    return (
        "<!doctype html><html><head><title>scorpion</title>"
        '<base href="http://elsewhere.test/"><meta http-equiv="refresh" content="0;url=/healthz">'
        "<style>h1 { color: rgb(1, 2, 3) } body { background: url(/ran-style) }</style></head>"
        "<body onload=\"document.title='ran'\"><h1>A scorpion</h1>"
        "<script>document.title = 'ran'; alert('ran'); fetch('/ran-script')</script>"
        '<img src="/ran-image" onerror="alert(1)"><iframe src="/ran-frame"></iframe>'
        '<link rel="stylesheet" href="/ran-sheet">'
        '<form action="/ran-form"><button>Go</button></form>'
        "<p>A scorpion sits in the sand and waits for nobody.</p></body></html>"
    )


def pages() -> Mapping[str, str]:
    """Return the site."""
    found = {f"/spiders/{number}.html": tame(number) for number in range(TAME)}
    found[HARM_PATH] = harmful()
    found[LIVE_PATH] = live()
    links = "".join(f'<li><a href="{escape(path)}">{escape(path)}</a></li>' for path in found)
    found["/"] = _page("All of them", f"<h1>Arachnids</h1><ul>{links}</ul>")
    return found


def _page(title: str, body: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)}</title></head><body>{body}</body></html>"
    )


@contextmanager
def site() -> Iterator[str]:
    """Serve the site; give its address."""
    known = pages()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = known.get(self.path)
            body = (found or "not here").encode()
            self.send_response(200 if found else 404)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as its parent has it
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def crawl(into: Path) -> Path:
    """Crawl the site as anybody would; return the crawl's folder."""
    with site() as address:
        words = ["crawl", address, "--into", str(into), "--shards", "1", "--delay", "0"]
        subprocess.run(
            [sys.executable, "-m", "gossamer", *words, "--allow-private", "--no-sitemaps"],
            check=True,
            capture_output=True,
            timeout=120,
        )
    return into
