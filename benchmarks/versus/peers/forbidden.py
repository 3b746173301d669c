"""How many URLs that robots.txt forbids did a user agent ask for? Judged by the server's log.

`forbidden.py SCRIPTS DATA AGENT` prints the number. It needs the real web's own rules, which lie
with its scripts, and Protego, which lies in the peers' environment.
"""

import sys
from pathlib import Path


def main() -> None:
    """Count and print."""
    scripts, data, agent = sys.argv[1:]
    sys.path.insert(0, scripts)
    from common import Web, canon  # noqa: PLC0415  # lies beside the repository

    web, forbidden = Web(data), set()
    for line in Path(data, "run", "access.log").read_text(errors="replace").splitlines():
        fields = line.split("\t")
        if len(fields) != 9 or fields[7] != agent or fields[3] == "/robots.txt":
            continue
        place = canon(f"http://{fields[1]}:{web.port}{fields[3]}")
        if place and place[0] in web.hosts and not web.allowed(*place, agent=agent):
            forbidden.add(place)
    print(len(forbidden))


if __name__ == "__main__":
    main()
