"""The local real web: brought up by the scripts beside this repository, judged by nginx's log."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
SCRIPTS = REPOSITORY.parent / "shared" / "realweb"
DATA = Path(os.environ.get("REALWEB_DIR") or Path(tempfile.gettempdir()) / "realweb")
SEED = "http://hub.test:8100/"
FLAGS = ["--scope", "any", "--allow", "*.test", "--allow-private", "--delay", "0"]


def bring_up() -> None:
    """Start nginx on the real web, or say what is missing and end."""
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


def html_kb_served() -> float:
    """Return how many kB of decoded HTML the logged pages hold, from the files on disk."""
    sys.path.insert(0, str(SCRIPTS))
    from common import Web, canon  # noqa: PLC0415  # lies beside the repository

    web = Web(str(DATA))
    total = 0
    for line in (DATA / "run" / "access.log").read_text(errors="replace").splitlines():
        fields = line.split("\t")
        if len(fields) != 9 or fields[4] != "200" or not fields[5].startswith("text/html"):
            continue
        place = canon(f"http://{fields[1]}:{web.port}{fields[3]}")
        found = web.answer(*place) if place else ("missing",)
        if found[0] == "html":
            total += Path(found[1]).stat().st_size
    return total / 1000


def save(name: str, result: dict[str, object]) -> None:
    """Keep a result in the repository and print it as the last line."""
    path = REPOSITORY / "benchmarks" / "results" / f"{name}.json"
    path.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result))
