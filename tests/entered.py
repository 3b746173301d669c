"""How many files does a reader meet who follows a crawl of two pages? `python tests/entered.py`.

Counts the files under src/gossamer in which a function runs between start and end of the crawl: one
shard, default settings, a site of two pages on loopback. A first crawl imports what is imported
late; the second one is counted, in all its threads. The server's thread began before and is not.
"""

import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

import gossamer
from gossamer import Config, Crawl
from gossamer.config import FetchConfig, FilterConfig, PolitenessConfig
from gossamer.testing import ScriptedWeb, serve_in_thread

PACKAGE = str(Path(gossamer.__file__).parent) + "/"


class Entered:
    """A profile function that remembers the files whose functions are called."""

    def __init__(self) -> None:
        self.files: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Remember the file of a call, unless it is a module's or a class's body."""
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(PACKAGE) and _is_function(code.co_flags):
            self.files.add(code.co_filename.removeprefix(PACKAGE))


def _is_function(flags: int) -> bool:
    return bool(flags & 2)  # CO_NEWLOCALS: bodies of modules and classes do not have it


def crawl_two_pages(folder: Path) -> Entered:
    """Crawl a site of two pages twice; return what the second crawl entered."""
    web = ScriptedWeb()
    site = web.host("a.test").page("/", links=["/b"]).page("/b", text="hello")
    entered = Entered()
    with serve_in_thread(web) as server:
        config = Config(
            shards=1,
            politeness=PolitenessConfig(delay_s=0.0),
            fetch=FetchConfig(resolve=server.resolve, allow_net=("127.0.0.0/8",)),
            filter=FilterConfig(scope="any"),
        )
        Crawl(folder / "first", [site.url("/")], config).run()
        crawl = Crawl(folder / "second", [site.url("/")], config)
        threading.setprofile(entered)
        sys.setprofile(entered)
        try:
            ending = crawl.run()
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    assert ending.status.pages == 2, ending
    return entered


def main() -> None:
    """Print the files by room, and how many there are."""
    with tempfile.TemporaryDirectory() as folder:
        files = sorted(crawl_two_pages(Path(folder)).files)
    print("\n".join(files))
    by_room = Counter(Path(name).parts[0] for name in files)
    print(", ".join(f"{room} {count}" for room, count in by_room.most_common()))
    print(f"{len(files)} files entered")


if __name__ == "__main__":
    main()
