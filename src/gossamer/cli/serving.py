"""`gossamer serve`: the answers of a crawl in a browser, and for programs."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.beside import FirstBuild, end_with
from gossamer.cli.options import Build, Json, place_given
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import harmless, out, print_json
from gossamer.cli.searching import given_places, missing_line
from gossamer.cli.updating import (
    bring_all_up_to_date,
    bring_index_up_to_date,
    crawl_folder,
    has_archive,
)
from gossamer.errors import ConfigError

if TYPE_CHECKING:
    from gossamer import SearchIndex

LOCAL = ("127.0.0.1", "localhost", "::1")


Given = Annotated[
    list[str] | None,
    argument(
        metavar="DIR|URL",
        help="The crawl's folder. Or several, and URLs of published indexes and of "
        "`gossamer serve --shard`, which are searched as one. None: a page that lists the "
        "crawls below the current folder, and starts one.",
    ),
]
Port = Annotated[int, option("--port", min=0, max=65535, help="0: any that is free.")]
Host = Annotated[
    str,
    option("--host", help="Address to listen on; others can ask if it is not loopback."),
]
IsShard = Annotated[
    bool,
    option(
        "--shard",
        help="Let `search http://HOST:PORT` elsewhere ask its index; of a crawl's store, let "
        "`search URL` ask what this machine has of it.",
    ),
]
HasQueryLog = Annotated[
    bool,
    option(
        "--query-log",
        help="Keep queries, number of results and time in DIR/queries.jsonl, not who asked.",
    ),
]
Token = Annotated[
    str,
    option(
        "--token",
        envvar="GOSSAMER_TOKEN",
        show_default=False,
        metavar="TOKEN",
        help="Who logs in with it may pause, stop and change the crawl; better in the "
        "environment, as GOSSAMER_TOKEN. Without one, everybody on this machine may, and "
        "nobody else.",
    ),
]


MemoryMb = Annotated[
    int,
    option(
        "--memory-mb",
        min=0,
        max=65536,
        help="Stored copies and answers to queries that are asked for often are kept in memory, up "
        "to so many MiB; 0: none.",
    ),
]


def serve(
    given: Given = None,
    *,
    port: Port = 8080,
    host: Host = "127.0.0.1",
    shard: IsShard = False,
    query_log: HasQueryLog = False,
    token: Token = "",
    memory_mb: MemoryMb = 64,
    build: Build = True,
    json: Json = False,
    beside: Annotated[int, option("--beside", hidden=True)] = 0,
    only_build: Annotated[bool, option("--only-build", hidden=True)] = False,
) -> int:
    """Serve a search page, a link explorer, the crawl's console and a JSON API.

    On this machine unless told otherwise. Graph and index are brought up to date meanwhile; pages
    say how far that is, and take up at once what is built. Ctrl-C ends it.
    """
    from gossamer import is_crawl_store

    if beside:
        end_with(beside)
    if not given:
        return _serve_crawls(host, port, token, is_alone=not (shard or query_log), is_json=json)
    if shard and not query_log and len(given) == 1 and is_crawl_store(given[0]):
        return _serve_store_shards(given[0], host, port, is_json=json)
    places = [place for one in given for place in given_places(one)]
    only = places[0] if len(places) == 1 else None
    served: Path | SearchIndex
    if isinstance(only, Path):
        served = _folder(only)
        if only_build:
            bring_all_up_to_date(served)
            return 0
    else:
        served = _index(places, is_built=build, is_alone=not (shard or query_log))
    from gossamer import serve as serve_forever

    ready = _ready(", ".join(map(_typed, places)), host, has_token=bool(token), is_json=json)
    typed = _typed(only) if only is not None else ""
    folder = served if isinstance(served, Path) and build and has_archive(served) else None
    with _built_beside(folder) as is_building, suppress(KeyboardInterrupt):  # how a server ends
        serve_forever(
            served,
            host,
            port,
            ready,
            is_shard=shard,
            has_query_log=query_log,
            token=token,
            store=typed if isinstance(served, Path) and "://" in typed else "",
            memory_mb=memory_mb,
            is_building=is_building,
        )
    if not isinstance(served, Path):
        served.close()
    return 0


def _serve_store_shards(url: str, host: str, port: int, *, is_json: bool) -> int:
    """Serve a search page of a crawl's store, and to others the shards whose index is here."""
    from gossamer import StoreShards, open_search, store_indexes
    from gossamer import serve as serve_forever

    if host in {"0.0.0.0", "::"}:  # noqa: S104 - it is refused
        raise ConfigError(f"--host: expected the address by which others reach it, found {host}")
    if not store_indexes(url):
        raise ConfigError(f"{url} has no index: `gossamer build {url} index` makes one")
    shards, tell = StoreShards(url), _ready(url, host, has_token=False, is_json=is_json)

    def ready(address: str) -> None:
        shards.offer(address)
        tell(address)

    index = open_search(url)
    try:
        with suppress(KeyboardInterrupt):  # how a server ends
            serve_forever(index, host, port, ready, shards=shards)
    finally:
        shards.close()
        index.close()
    return 0


def _typed(place: str | Path) -> str:
    return place_given(place) if isinstance(place, Path) else place


def _serve_crawls(host: str, port: int, token: str, *, is_alone: bool, is_json: bool) -> int:
    """Serve the list of the crawls below the current folder."""
    if not is_alone:
        raise ConfigError("--shard and --query-log: expected one DIR, found none")
    from gossamer.web import serve_crawls

    folder = Path.cwd()
    named = f"the crawls in {folder.name or folder}"
    ready = _ready(named, host, has_token=bool(token), is_json=is_json, change="start crawls")
    with suppress(KeyboardInterrupt):  # how a server ends
        serve_crawls(folder, host, port, ready, token=token)
    return 0


def _ready(
    named: str, host: str, *, has_token: bool, is_json: bool, change: str = "change the crawl"
) -> Callable[[str], None]:
    """Return what tells that the server can be asked, and who can."""

    def ready(address: str) -> None:
        if is_json:
            print_json({"address": address})
        else:
            out().print(f"Serving {harmless(named)} at {address} (Ctrl-C ends it)", markup=False)
        if host not in LOCAL:
            allowed = f"{change} with the token" if has_token else "change nothing"
            out(is_aside=True).print(
                "Anybody who can reach this machine can look at it: there is no password. They can "
                f"{allowed}."
            )

    return ready


@contextmanager
def _built_beside(folder: Path | None) -> Iterator[Callable[[], bool]]:
    """Build what is due of a folder beside a server; give what tells whether that goes on."""
    if folder is None:
        yield lambda: False
        return
    first = FirstBuild(folder)
    first.start()
    try:
        yield first.is_running
    finally:
        first.kill()


def _folder(folder: Path) -> Path:
    """Return a folder that can be served; refuse one with neither a crawl nor an index in it."""
    from gossamer import OpenCrawl

    if not OpenCrawl(folder).has_index():
        crawl_folder(folder)
    return folder


def _index(places: Sequence[str | Path], *, is_built: bool, is_alone: bool) -> "SearchIndex":
    """Return the index of several places; raise if none of them answers."""
    from gossamer import open_search

    if not is_alone:
        raise ConfigError("--shard and --query-log: expected one DIR, found URLs or several places")
    for place in places:
        if isinstance(place, Path):
            bring_index_up_to_date(place, is_built=is_built)
    index = open_search(*places)
    if missing := index.missing():
        sys.stderr.write(f"{missing_line(missing)}; asked again until there\n")
    return index
