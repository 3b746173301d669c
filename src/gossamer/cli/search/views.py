"""Views: an answer as a person likes to read it. Text from the web is harmless."""

import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from gossamer.cli.screen import harmless
from gossamer.log import escape

if TYPE_CHECKING:
    from gossamer.search import Answer, Hit

_INDENT = (0, 0, 0, 4)


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
        yield f"{hit.copies:,} {'copy' if hit.copies == 1 else 'copies'}"
    if hit.more_from_host:
        yield f"{hit.more_from_host:,} more from site:{harmless(hit.host)}"
    yield f"score {hit.score:.2f}"


def _foot(answer: "Answer", place: str, flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    for hint in answer.hints:
        yield f"{_line(hint)}.", "yellow"
    if answer.suggestion:
        yield f"Did you mean: {_line(answer.suggestion)}", "bold"
    many = "page" if answer.total == 1 else "pages"
    if not answer.hits and answer.page == 1:
        yield "No page says that. Try other words, fewer of them, or fewer filters.", "bold"
        return
    if not answer.hits:
        yield f"There are no results on page {answer.page}.", "bold"
    partial = "; not all of the index answered" if answer.is_partial else ""
    where = f", page {answer.page}" if answer.page > 1 else ""
    yield f"{answer.total:,} {many}{where}, {answer.took_ms:.0f} ms{partial}", "dim"
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
