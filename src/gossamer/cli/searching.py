"""`gossamer search`: full-text search, and its answer as a person likes to read it."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from gossamer.cli.options import REQUIRED, Json, declare
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.cli.updating import bring_index_up_to_date
from gossamer.errors import ConfigError
from gossamer.log import counted, escape

if TYPE_CHECKING:
    from gossamer import Answer, Hit, SearchIndex

PER_PAGE = 10
_INDENT = (0, 0, 0, 4)


def search(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Full-text search in the pages of a crawl, or of any index: the best first, with snippets.

    Words, "a phrase", -word, one OR other, site:example.org, lang:de, type:pdf,
    label:news (of seeds), inurl:word, after:2026-05, before:2026-07-01. All words are
    needed; where few pages have them all, those with most of them are shown, too.
    An answer without results is an answer: the exit code is 0.
    """
    query, without = _query(given["question"]), _names(given["without"])
    with _opened(given["place"], is_built=given["build"]) as index:
        answer = index.search(
            query,
            page=given["page"],
            per_page=given["per_page"],
            exact=given["exact"],
            without=without,
        )
        _tell(answer, given)
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


def _names(words: str) -> list[str]:
    """Return the parts of ranking that --without names."""
    return [name.strip() for name in words.split(",") if name.strip()]


def _query(words: list[str]) -> str:
    """Return the query. A word such as -this excludes; an option that is none is a mistake."""
    for word in words:
        if word.startswith("--"):
            raise ConfigError(f"no such option: {word}")
    if not "".join(words).strip():
        raise ConfigError("QUERY: expected words to look for")
    return " ".join(words)


def _opened(given: str, *, is_built: bool) -> "SearchIndex":
    """Return the index of a place, or of several together."""
    from gossamer import open_search

    places = _places(given)
    for place in places:
        if isinstance(place, Path):
            bring_index_up_to_date(place, is_built=is_built)
    return open_search(*places)


def _places(given: str) -> list[str | Path]:
    """Return folders and URLs; the name of a folder may have a comma in it."""
    if Path(given).exists():
        return [Path(given)]
    names = [name.strip() for name in given.split(",")]
    return [name if "://" in name else Path(name) for name in names if name]


def _tell(answer: "Answer", given: dict[str, Any]) -> None:
    if given["json"]:
        print_json(as_json(answer))
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


def answer_view(answer: "Answer", place: str, flags: Sequence[str] = ()) -> RenderableType:
    """Return a page of results; `flags` are those with which it was asked for."""
    parts: list[RenderableType] = []
    first = (answer.page - 1) * answer.per_page + 1
    for number, hit in enumerate(answer.hits, first):
        parts += _hit(number, hit)
        parts.append(Text())
    parts += [_whole(line, style) for line, style in _foot(answer, place, flags)]
    return Group(*parts)


def _hit(number: int, hit: "Hit") -> Iterator[RenderableType]:
    title = Text.assemble((f"{number:>2}. ", "dim"), no_wrap=True, overflow="ellipsis")
    for part in hit.title_segments:
        title.append(_spaced(part.text), "bold yellow" if part.is_hit else "bold cyan")
    yield title if hit.title_segments else title.append(harmless(hit.url), "bold cyan")
    yield _whole(f"    {harmless(hit.url)}", "green")
    snippet = Text()
    for part in hit.segments:
        snippet.append(_spaced(part.text), "bold yellow" if part.is_hit else "")
    if snippet.plain.strip():
        yield Padding(snippet, _INDENT, expand=False)
    yield Padding(Text(" · ".join(_facts(hit)), "dim"), _INDENT, expand=False)


def _facts(hit: "Hit") -> Iterator[str]:
    if hit.day:
        yield hit.day
    if hit.language:
        yield harmless(hit.language)
    kind = hit.type.partition(";")[0].rpartition("/")[2]
    if kind not in {"", "html"}:
        yield harmless(kind)
    if hit.copies:
        yield counted(hit.copies, "copy", "copies")
    if hit.more_from_host:
        yield f"{hit.more_from_host:,} more from site:{harmless(hit.host)}"
    yield f"score {hit.score:.2f}"


def _foot(answer: "Answer", place: str, flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    for hint in answer.hints:
        yield f"{_line(hint)}.", "yellow"
    if answer.suggestion:
        yield f"Did you mean: {_line(answer.suggestion)}", "bold"
    if not answer.hits and answer.page == 1:
        yield "No page says that. Try other words, fewer of them, or fewer filters.", "bold"
        return
    if not answer.hits:
        yield f"There are no results on page {answer.page}.", "bold"
    partial = "; not all of the index answered" if answer.is_partial else ""
    where = f", page {answer.page}" if answer.page > 1 else ""
    yield f"{counted(answer.total, 'page')}{where}, {answer.took_ms:.0f} ms{partial}", "dim"
    if answer.has_more:
        words = shlex.join([place, answer.query, "--page", str(answer.page + 1), *flags])
        yield f"more:  gossamer search {harmless(words)}", "dim"


def _whole(words: str, style: str) -> Text:
    """Return a line that is not cut into pieces: somebody may want to copy it."""
    return Text(words, style, no_wrap=True, overflow="ignore")


def _line(words: str) -> str:
    return escape(" ".join(words.split()))


def _spaced(words: str) -> str:
    """Return a part of a text on one line; what it begins and ends with still parts words."""
    head, tail = words[:1].isspace(), words[-1:].isspace()
    inner = _line(words)
    return f"{' ' * head}{inner}{' ' * (tail and bool(inner))}"
