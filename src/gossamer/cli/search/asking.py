"""`gossamer search`: which pages say this?"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from gossamer.cli.graph.options import REQUIRED, Json, declare
from gossamer.cli.screen import out, print_json
from gossamer.cli.search.updating import bring_index_up_to_date
from gossamer.cli.search.views import answer_view
from gossamer.errors import ConfigError
from gossamer.log import escape

if TYPE_CHECKING:
    from gossamer.search import Answer, Searcher, SearchWish

PER_PAGE = 10


def search(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Search the pages of a crawl, or of any index: the best first, with the words in place.

    Words, "words in a row", -word, one OR other, site:example.org, lang:de,
    type:pdf, inurl:word, after:2026-05, before:2026-07-01. All words are needed;
    where few pages have them all, those with some of them follow.
    An answer without results is an answer: the exit code is 0.
    """
    question, wish = _question(given["question"]), wish_of(given)
    with _searcher(given["place"], is_built=given["build"]) as searcher:
        _tell(searcher.search(question, wish), given)
    return 0


declare(
    search,
    (
        "place",
        Annotated[
            str,
            typer.Argument(
                metavar="DIR|URL",
                help="A crawl's folder, one made by `gossamer index`, where an index was "
                "published to, such as s3://bucket/name, or a `gossamer serve --shard`. Several "
                "with commas between them are asked as one.",
            ),
        ],
        REQUIRED,
    ),
    (
        "question",
        Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for.")],
        REQUIRED,
    ),
    ("page", Annotated[int, typer.Option("--page", metavar="N", min=1, help="Which page.")], 1),
    (
        "per_page",
        Annotated[
            int, typer.Option("--per-page", metavar="N", min=1, max=100, help="Results on it.")
        ],
        PER_PAGE,
    ),
    (
        "exact",
        Annotated[
            bool, typer.Option("--exact", help="Scores as of one index, however many shards.")
        ],
        False,
    ),
    (
        "without",
        Annotated[
            str,
            typer.Option(
                "--without",
                metavar="PART,...",
                help="Rank without it: fields, anchors, static, proximity, copies, hosts.",
            ),
        ],
        "",
    ),
    ("urls", Annotated[bool, typer.Option("--urls", help="One URL a line, and no more.")], False),
    (
        "build",
        Annotated[
            bool,
            typer.Option("--build/--no-build", help="Bring the index up to date first."),
        ],
        True,
    ),
    ("json", Json, False),
)


def wish_of(given: dict[str, Any]) -> "SearchWish":
    """Return how somebody wants to be answered."""
    from gossamer.search import SearchWish, Switches  # noqa: PLC0415 - keeps --help fast

    names = [name.strip() for name in given["without"].split(",") if name.strip()]
    try:
        switches = Switches.without(names)
    except ValueError as error:
        raise ConfigError(f"--without: {error}") from error
    return SearchWish(
        page=given["page"], per_page=given["per_page"], is_exact=given["exact"], switches=switches
    )


def _question(words: list[str]) -> str:
    """Return the question. A word such as -this excludes; an option that is none is a mistake."""
    for word in words:
        if word.startswith("--"):
            raise ConfigError(f"no such option: {word}")
    if not "".join(words).strip():
        raise ConfigError("QUERY: expected words to look for")
    return " ".join(words)


@contextmanager
def _searcher(given: str, *, is_built: bool) -> "Iterator[Searcher]":
    """Give who answers questions about a place, or about several together."""
    from gossamer.search import Searcher, open_index, ranks_of  # noqa: PLC0415 - keeps --help fast

    places = _places(given)
    folders = [place for place in places if isinstance(place, Path)]
    for folder in folders:
        bring_index_up_to_date(folder, is_built=is_built)
    finder = open_index(places)
    try:
        yield Searcher(finder, ranks_of(folders[0]) if len(places) == len(folders) == 1 else None)
    finally:
        finder.close()


def _places(given: str) -> list[str | Path]:
    """Return folders and URLs; the name of a folder may have a comma in it."""
    if Path(given).exists():
        return [Path(given)]
    names = [name.strip() for name in given.split(",")]
    return [name if "://" in name else Path(name) for name in names if name]


def _tell(answer: "Answer", given: dict[str, Any]) -> None:
    if given["json"]:
        print_json(msgspec.to_builtins(answer))
    elif given["urls"]:
        sys.stdout.write("".join(f"{escape(hit.url)}\n" for hit in answer.hits))
    else:
        out().print(answer_view(answer, given["place"], _flags(given)), crop=False)


def _flags(given: dict[str, Any]) -> list[str]:
    """Return what else was asked for, so that the next page is one of the same results."""
    flags = ["--per-page", str(given["per_page"])] if given["per_page"] != PER_PAGE else []
    flags += ["--exact"] if given["exact"] else []
    flags += ["--without", given["without"]] if given["without"] else []
    return flags if given["build"] else [*flags, "--no-build"]
