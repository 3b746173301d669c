"""`gossamer pause`, `resume`, `stop`: steer a crawl from another terminal."""

import shlex
from pathlib import Path

from gossamer.cli.options import Json, OwnFolder
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.cli.updating import crawl_folder


def pause(folder: OwnFolder, *, json: Json = False) -> None:
    """Begin no request any more, in a crawl that runs or not, until `gossamer resume`.

    A pause survives kills and restarts. Requests that are under way come to their end.
    """
    from gossamer import OpenCrawl

    facts = OpenCrawl(crawl_folder(folder)).pause()
    if json:
        print_json(as_json(facts))
        return
    told = "it was paused already" if facts.was_paused else "paused"
    goes_on = f"`gossamer resume {_named(folder)}` ends the pause"
    also = "" if facts.running else "; no crawl is running, and the next start is paused"
    out().print(harmless(f"{told}; {goes_on}{also}"), markup=False)


def resume(folder: OwnFolder, *, json: Json = False) -> None:
    """End a pause; a crawl that does not run is not started."""
    from gossamer import OpenCrawl

    facts = OpenCrawl(crawl_folder(folder)).resume()
    if json:
        print_json(as_json(facts))
        return
    told = "the pause is over" if facts.was_paused else "it was not paused"
    start = f"no crawl is running: `gossamer crawl --into {_named(folder)}` goes on with it"
    also = "the crawl goes on" if facts.running else start
    out().print(harmless(f"{told}; {also}"), markup=False)


def stop(folder: OwnFolder, *, json: Json = False) -> None:
    """End a running crawl cleanly, as Ctrl-C does, and wait until it has ended."""
    from gossamer import OpenCrawl

    facts = OpenCrawl(crawl_folder(folder)).stop()
    if json:
        print_json(as_json(facts))
        return
    go_on = f"`gossamer crawl --into {_named(folder)}` goes on with it"
    told = "stopped" if facts.was_running else "no crawl is running"
    out().print(harmless(f"{told}; {go_on}"), markup=False)


def _named(folder: Path) -> str:
    return shlex.quote(str(folder))
