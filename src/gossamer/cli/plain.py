"""Plain lines: commands that are asked often, and read without loading the parser.

The parser takes longer to load than these take to run. It is asked about every line that is not as
plain as can be, and has the words for what is wrong with one.
"""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer import __version__

if TYPE_CHECKING:
    from gossamer import OpenCrawl


def plain_command(words: Sequence[str]) -> Callable[[], int | None] | None:
    """Return what a plain line asks for; None if it is for the parser."""
    match list(words):
        case ["--version"]:
            return _show_version
        case ["status", *rest]:
            places = [word for word in rest if not word.startswith("-")]
            flags = [word for word in rest if word.startswith("-")]
            if len(places) != 1 or not places[0] or flags not in ([], ["--json"]):
                return None
            return partial(show_status, places[0], json=bool(flags))
        case ["crawl", *rest]:
            from gossamer.cli.flags import plain_flags

            given = plain_flags(rest)
            return None if given is None else partial(_start, given)
        case _:
            return None


def opened(place: str) -> "OpenCrawl":
    """Return the crawl in a folder, or in a store."""
    import gossamer
    from gossamer.cli.updating import crawl_folder

    return gossamer.open(place if "://" in place else crawl_folder(Path(place)))


def show_status(place: str, *, json: bool) -> None:
    """Tell how a crawl stands."""
    from gossamer.cli.screen import as_json, out, print_json, status_view

    facts = opened(place).status()
    if json:
        print_json(as_json(facts))
    else:
        out().print(status_view(facts, place))


def _show_version() -> None:
    sys.stdout.write(f"gossamer {__version__}\n")
    sys.stdout.flush()  # who has closed it is met here, not at the end of the process


def _start(given: dict[str, object]) -> int:
    from gossamer.cli.start import start

    return start(given)
