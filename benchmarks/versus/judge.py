"""What an arm really did, from nginx's log and never from its own count."""

import subprocess
import time
from collections import Counter
from typing import NamedTuple

from realweb import DATA, SCRIPTS, html_kb_served, visits

from versus.arms import PEERS
from versus.installed import peer_python

FLUSH_S = 0.5
"""nginx writes its log within 0.2 s."""


class LogTail:
    """Counts one agent's pages while the log grows."""

    def __init__(self, agent: str, enough: int) -> None:
        self.mark = f"\t{agent}\t".encode()
        self.enough = enough
        self.pages = 0
        self.offset = 0

    def is_enough(self) -> bool:
        """Read on; tell whether the agent has been sent the pages that it was asked for."""
        path = DATA / "run" / "access.log"
        if not path.exists():  # nginx has not begun the new one yet
            return False
        with path.open("rb") as log:
            log.seek(self.offset)
            lines = log.readlines()
        if lines and not lines[-1].endswith(b"\n"):
            lines.pop()
        self.offset += sum(map(len, lines))
        self.pages += sum(self.mark in line and b"\t200\ttext/html" in line for line in lines)
        return self.pages >= self.enough


class Work(NamedTuple):
    """What the server sent to one agent."""

    pages: int
    html_kb: float
    hosts: int
    repeats: int
    forbidden: int
    answers: int
    """Answers of status 200, of whatever type; robots.txt left out."""


def work_of(agent: str) -> Work:
    """Return what the log says of an agent, once it is written."""
    time.sleep(FLUSH_S)
    asked = [visit for visit in visits(agent) if visit.target != "/robots.txt"]
    pages = Counter((visit.host, visit.target) for visit in asked if visit.is_page)
    command = [peer_python(), str(PEERS / "forbidden.py"), str(SCRIPTS), str(DATA), agent]
    told = subprocess.run(command, check=True, capture_output=True, text=True)
    return Work(
        pages=len(pages),
        html_kb=html_kb_served(agent),
        hosts=len({host for host, _ in pages}),
        repeats=pages.total() - len(pages),
        forbidden=int(told.stdout),
        answers=sum(visit.status == "200" for visit in asked),
    )
