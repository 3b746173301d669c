"""The local real web: brought up by the scripts beside this repository, judged by nginx's log."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

from provenance import REPOSITORY, provenance
from summary import RESULTS, misses

SCRIPTS = REPOSITORY.parent / "shared" / "realweb"
DATA = Path(os.environ.get("REALWEB_DIR") or Path(tempfile.gettempdir()) / "realweb")
SEED = "http://hub.test:8100/"
FLAGS = ["--scope", "any", "--allow", "*.test", "--allow-private", "--delay", "0"]


class Visit(NamedTuple):
    """One request in nginx's log."""

    at: float
    host: str
    target: str
    status: str
    media_type: str
    agent: str

    @property
    def is_page(self) -> bool:
        """Tell whether a page of HTML was sent."""
        return self.status == "200" and self.media_type.startswith("text/html")


def bring_up() -> None:
    """Start nginx on the real web, or say what is missing and end; a web that answers is left."""
    if answers():
        return
    if not SCRIPTS.is_dir():
        sys.exit(f"the real web's scripts are not there: expected {SCRIPTS}")
    if shutil.which("nginx") is None:
        subprocess.run(["apt-get", "install", "-y", "-qq", "nginx-light"], check=True)
    environment = {**os.environ, "REALWEB_DIR": str(DATA)}
    subprocess.run([str(SCRIPTS / "up.sh")], check=True, env=environment)


def new_log() -> None:
    """Begin a new access log, so that it holds one crawl."""
    log = DATA / "run" / "access.log"
    log.unlink(missing_ok=True)
    pid = int((DATA / "run" / "nginx.pid").read_text())
    os.kill(pid, signal.SIGUSR1)


def answers() -> bool:
    """Tell whether the hub sends its page."""
    try:
        with urllib.request.urlopen(SEED, timeout=2) as answer:
            return b"real web" in answer.read()
    except (urllib.error.URLError, OSError):
        return False


def visits(agent: str = "") -> list[Visit]:
    """Return the requests of the log, of one user agent or of all, oldest first."""
    found = []
    for line in (DATA / "run" / "access.log").read_text(errors="replace").splitlines():
        fields = line.split("\t")
        if len(fields) == 9 and (not agent or fields[7] == agent):
            at, host, _method, target, status, media_type, _sent, name, _connection = fields
            found.append(Visit(float(at), host, target, status, media_type, name))
    return found


def html_kb_served(agent: str = "") -> float:
    """Return how many kB of decoded HTML the logged pages hold, from the files on disk."""
    sys.path.insert(0, str(SCRIPTS))
    from common import Web, canon  # noqa: PLC0415  # lies beside the repository

    web = Web(str(DATA))
    total = 0
    for visit in visits(agent):
        if not visit.is_page:
            continue
        place = canon(f"http://{visit.host}:{web.port}{visit.target}")
        found = web.answer(*place) if place else ("missing",)
        if found[0] == "html":
            total += Path(found[1]).stat().st_size
    return total / 1000


def sample_pages(count: int) -> list[tuple[str, bytes]]:
    """Return URL and HTML of pages from all over the web, read from disk; always the same ones."""
    hosts = json.loads((DATA / "hosts.json").read_text())
    places = []
    for name, host in sorted(hosts["hosts"].items()):
        places += [(name, host["site"], page) for page in host["pages"]]
    chosen = places[:: max(1, len(places) // count)][:count]
    return [
        (f"http://{name}:{hosts['port']}/{page}", (DATA / "www" / site / page).read_bytes())
        for name, site, page in chosen
    ]


def commit_of(source: Path) -> str:
    """Return the commit that a source folder is at, with a + if something in it has changed."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(source), *words]
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + ("+" if git("status", "--porcelain", ".") else "")


def save(name: str, result: dict[str, object]) -> None:
    """Keep a result with its provenance, print it as the last line, and exit 1 if an aim is missed.

    The aims of `growth` are those of `growth-quick`, too.
    """
    result = {**result, "provenance": provenance()}
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result), flush=True)
    if missed := misses(name.removesuffix("-quick"), result):
        sys.exit("\n".join(missed))
