"""Gossamer: a web crawler that keeps what it finds, survives kill -9, and can say why.

>>> import gossamer
>>> gossamer.Crawl("mycrawl", ["https://example.org/"]).run()   # doctest: +SKIP
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.config import Config
    from gossamer.crawl import Crawl, Ending, Seed, build_state, read_seeds
    from gossamer.filter import url_filter
    from gossamer.process import processor
    from gossamer.report import add, show, status, why

__version__ = "0.1.0"

__all__ = [
    "Config",
    "Crawl",
    "Ending",
    "Seed",
    "__version__",
    "add",
    "build_state",
    "processor",
    "read_seeds",
    "show",
    "status",
    "url_filter",
    "why",
]

_ROOM_OF = {
    "Config": "config",
    **dict.fromkeys(("Crawl", "Ending", "Seed", "build_state", "read_seeds"), "crawl"),
    "url_filter": "filter",
    "processor": "process",
    **dict.fromkeys(("add", "show", "status", "why"), "report"),
}


def __getattr__(name: str) -> object:
    """Fetch a public name from its room when it is first asked for: `import gossamer` is quick."""
    if name not in _ROOM_OF:
        raise AttributeError(f"module 'gossamer' has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415  # only when a name is asked for

    return getattr(import_module(f"gossamer.{_ROOM_OF[name]}"), name)
