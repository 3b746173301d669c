"""A process that races seven others for the names of objects: `python -m tests.store.racing`.

It is told a URL and its number; for each name on standard input it says whether it has won.
"""

import subprocess
import sys
from pathlib import Path

from gossamer.store import Objects

RACERS = 8
ROOT = Path(__file__).parents[2]


def race(url: str, names: int) -> list[list[int]]:
    """Let eight processes create each name at one moment; return for each who says it has won."""
    command = [sys.executable, "-m", "tests.store.racing", url]
    racers = [
        subprocess.Popen(
            [*command, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for number in range(RACERS)
    ]
    try:
        assert {_heard(racer) for racer in racers} == {"ready"}
        return [_raced(racers, name) for name in range(names)]
    finally:
        for racer in racers:
            racer.communicate()


def _raced(racers: list["subprocess.Popen[str]"], name: int) -> list[int]:
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write(f"{name}\n")
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.flush()
    return [number for number, racer in enumerate(racers) if _heard(racer) == "won"]


def _heard(racer: "subprocess.Popen[str]") -> str:
    assert racer.stdout is not None
    return racer.stdout.readline().strip()


def main() -> None:
    """Be one of them."""
    objects, content = Objects(sys.argv[1]), f"racer {sys.argv[2]}".encode()
    objects.names("")  # the connection is open when it begins
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write("won\n" if objects.create(line.strip(), content) else "lost\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
