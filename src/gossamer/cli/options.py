"""Options: arguments that several verbs share, and signatures made of data."""

import sys
from collections.abc import Callable
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from gossamer.cli.parameters import argument, option
from gossamer.errors import ConfigError

if TYPE_CHECKING:
    from gossamer import Coding, OpenCrawl, StoredLinkGraph

UNKNOWN = 1
"""The exit code when a URL is not known."""

_MIRRORS: "list[OpenCrawl]" = []
"""Of stores that were given by URL: their caches are ours until the process ends."""
_STORES: dict[Path, str] = {}
"""By the folder that is a cache, or leads to a coordinator: the store that was given."""

_STEERED: "dict[Path, OpenCrawl]" = {}
"""By the folder that leads to a coordinator: the crawl."""


def folder_to_read(place: str) -> Path:
    """Return the folder that was given; of the URL of a crawl's store, a cache of it."""
    if "://" not in place:
        return Path(place)
    import gossamer

    crawl = gossamer.open(place)
    _MIRRORS.append(crawl)
    folder = crawl.folder
    _STORES[folder] = place
    return folder


def graph_to_ask(place: str) -> "Path | StoredLinkGraph":
    """Return the folder or files that were given; of a store, the graph that was built there.

    Of a store without one, the folder that is a cache of it.
    """
    if "://" not in place:
        return Path(place)
    import gossamer

    graph = gossamer.StoredLinkGraph.find(place)
    if graph is None:
        return folder_to_read(place)
    if graph.has_newer_pages():
        advice = f"`gossamer build {place} graph` brings it up to date"
        sys.stderr.write(f"gossamer: there are newer pages than in this graph: {advice}\n")
    return graph


def folder_to_change(place: str) -> Path:
    """Return the folder that was given; a store is refused."""
    if "://" in place:
        raise ConfigError(
            f"{place} is a store, and only read: `gossamer crawl --into DIR --store {place}` goes "
            "on with the crawl in a folder, which can be changed"
        )
    return Path(place)


def folder_to_steer(place: str) -> Path:
    """Return the folder that was given; of a store, one that leads to the coordinator of a crawl.

    Only a crawl that a cluster runs has one; any other store is refused.
    """
    if "://" not in place:
        return Path(place)
    import gossamer

    crawl = gossamer.open(place)
    _MIRRORS.append(crawl)
    folder = crawl.steered_folder
    _STORES[folder], _STEERED[folder] = place, crawl
    return folder


def steered_crawl(folder: Path) -> "OpenCrawl | None":
    """Return the crawl that a folder only leads to the coordinator of; None of any other."""
    return _STEERED.get(folder)


def place_given(folder: Path) -> str:
    """Return what was typed where a folder is used."""
    return _STORES.get(folder, str(folder))


Folder = Annotated[
    Path,
    argument(metavar="DIR|URL", help="The crawl's folder, or its store.", parser=folder_to_read),
]
OwnFolder = Annotated[
    Path, argument(metavar="DIR", help="The crawl's folder.", parser=folder_to_change)
]
SteeredFolder = Annotated[
    Path,
    argument(
        metavar="DIR|URL",
        help="The crawl's folder, or the store of one that a cluster runs.",
        parser=folder_to_steer,
    ),
]
FolderOrStore = Annotated[
    str, argument(metavar="DIR|URL", help="The crawl's folder, or its store.")
]
Place = Annotated[
    Path,
    argument(
        metavar="DIR|URL|BASE",
        help="A crawl's folder or store, or the files BASE.graph ...",
        parser=folder_to_read,
    ),
]
GraphPlace = Annotated[
    Path,
    argument(
        metavar="DIR|URL|BASE",
        help="A crawl's folder or store, or the files BASE.graph ...",
        parser=graph_to_ask,
    ),
]
Base = Annotated[
    Path, argument(metavar="BASE", help="The files are BASE.graph, .offsets, .properties.")
]
Address = Annotated[str, argument(metavar="URL", help="Any spelling of it.")]
Json = Annotated[bool, option("--json", help="End with one line of JSON.")]
Build = Annotated[
    bool,
    option("--build/--no-build", help="Bring the graph up to date first, if need be."),
]
Kinds = Annotated[
    list[str] | None,
    option(
        "--kind",
        metavar="K",
        help="Only links of this kind: link, nofollow, redirect, canonical, embed, form, list, "
        "or all. Repeatable.",
    ),
]
Memory = Annotated[
    str, option("--memory", metavar="SIZE", help="For sorting, such as 512MiB or 2GiB.")
]

Option: TypeAlias = tuple[str, object, object]
"""Name, annotation and default of a parameter; `REQUIRED` has none."""
REQUIRED = Parameter.empty
Verb: TypeAlias = Callable[..., int | None]

CODING: tuple[Option, ...] = (
    ("window", Annotated[int, option("--window", min=0, help="Rows to copy from.")], 7),
    ("max_ref", Annotated[int, option("--max-ref", min=0, help="Longest chain.")], 3),
    (
        "min_interval",
        Annotated[int, option("--min-interval", min=0, help="Shortest run of links.")],
        4,
    ),
    ("zeta", Annotated[int, option("--zeta", min=1, max=7, help="Code of the gaps.")], 3),
    (
        "smallest",
        Annotated[bool, option("--smallest", help="Fewest bits, slower access; instead of these.")],
        False,
    ),
)
"""How a graph is compressed."""


def declare(verb: Verb, *options: Option) -> None:
    """Give a verb that takes `**given` its parameters: the parser reads them from the signature."""
    vars(verb)["__signature__"] = Signature(
        [
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, kind, default in options
        ]
    )


def coding_of(given: dict[str, Any]) -> "Coding":
    """Return the coding that was asked for."""
    from gossamer import Coding

    if given["smallest"]:
        return Coding.smallest()
    return Coding(
        window=given["window"],
        max_ref=given["max_ref"],
        min_interval=given["min_interval"],
        zeta_k=given["zeta"],
    )
