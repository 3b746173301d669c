"""`gossamer search`: full-text search, and its answer as a person likes to read it."""

import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from gossamer.cli.options import REQUIRED, Json, declare, folder_to_read
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.cli.updating import bring_index_up_to_date, has_archive
from gossamer.clock import SystemClock
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.log import counted, escape

if TYPE_CHECKING:
    from gossamer import (
        Answer,
        Facets,
        Hit,
        HitImage,
        MissingShard,
        QueryFrequency,
        QueryLog,
        QueryReport,
        SearchIndex,
        SearchKeywords,
    )

PER_PAGE = 10
_OPTIONS = (
    *("--page", "--per-page", "--exact", "--without", "--rerank", "--facets", "--verbatim"),
    *(
        "--urls",
        "--like",
        "--build",
        "--no-build",
        "--no-ranks",
        "--query-log",
        "--log-report",
        "--json",
        "--help",
    ),
)
_NEARLY = 0.75
"""From which likeness on a word that is no option is taken for a misspelled one."""
_NOT_SAID = re.compile(
    r"\b(?:site|lang|language|type|filetype|label|inurl|before|after):(?=\s|\Z)|[\s\"-]+",
    re.IGNORECASE,
)
"""What of a query says nothing by itself: filters without a value, blanks, quotes and dashes."""
MOST_STDIN_BYTES = 64 << 20
_INDENT = (0, 0, 0, 4)


def search(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared below
    """Full-text search in the pages of a crawl, or of any index: the best first, with snippets.

    Words, "a phrase", -word, one OR other, site:example.org, lang:de, type:pdf,
    label:news (of seeds), inurl:word, after:2026-05, before:2026-07-01. Pages with
    all the words come first, then those with most, then with any. Punctuation is text, and
    options such as --amend or -f are words.
    type:image finds images by what is said of them.
    With --like FILE or URL: pages like a text, by the words that tell most of it, or
    images that look like an image; near-copies come first. `graph like` goes by links
    instead, and `copies --of` finds pages that hold the same passages.
    An answer without results is an answer: the exit code is 0.
    """
    if given["log_report"]:
        return _log_report(given)
    query, without = _query(given["question"], given["like"]), _names(given["without"])
    like = _like(given["like"]) if given["like"] else None
    with _opened(given) as index:
        keywords: SearchKeywords = {
            "page": given["page"],
            "per_page": given["per_page"],
            "without": without,
            "facets": given["facets"],
            "verbatim": given["verbatim"],
        }
        if given["exact"]:
            keywords["exact"] = True
        if given["rerank"]:
            keywords["rerank"] = given["rerank"]
        if like is None:
            answer = index.search(query, **keywords)
        else:
            answer = index.search_like(like, query, **keywords)
    if given["query_log"]:
        from gossamer import logged_query

        log = _query_log(given["place"])
        try:
            log.append(logged_query(answer, SystemClock().wall()))
        except OSError as error:
            raise CannotGoOn(f"cannot write {log.path}: {error.strerror}") from error
    _tell(answer, given)
    return 0


declare(
    search,
    (
        "place",
        Annotated[
            str,
            argument(
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
        Annotated[
            list[str] | None,
            argument(metavar="QUERY", help="What to look for; with --like filters alone."),
        ],
        None,
    ),
    (
        "like",
        Annotated[
            str,
            option(
                "--like",
                metavar="FILE|URL|-",
                help="Pages like a text, HTML page or PDF; images like a PNG, JPEG, GIF or WebP: "
                "a file, standard input, or the URL of one in the index.",
            ),
        ],
        "",
    ),
    ("page", Annotated[int, option("--page", metavar="N", min=1, help="Which page.")], 1),
    (
        "per_page",
        Annotated[int, option("--per-page", metavar="N", min=1, max=100, help="Results on it.")],
        PER_PAGE,
    ),
    (
        "exact",
        Annotated[
            bool,
            option(
                "--exact", help="Scores as of one index, however many shards. Always so of a store."
            ),
        ],
        False,
    ),
    (
        "without",
        Annotated[
            str,
            option(
                "--without",
                metavar="PART,...",
                help="Rank without it: fields, anchors, static, proximity, spam, copies, hosts.",
            ),
        ],
        "",
    ),
    (
        "rerank",
        Annotated[
            str,
            option(
                "--rerank",
                metavar="MODULE:FUNCTION",
                help="Your own function that scores the best 100 pages anew.",
            ),
        ],
        "",
    ),
    (
        "facets",
        Annotated[
            bool,
            option(
                "--facets", help="Count the pages with all words by site, language, type and year."
            ),
        ],
        False,
    ),
    (
        "verbatim",
        Annotated[
            bool,
            option(
                "--verbatim", help="Without results of a corrected query, when this one has none."
            ),
        ],
        False,
    ),
    (
        "ranks",
        Annotated[
            bool,
            option("--ranks/--no-ranks", help="Build graph and ranks, too, if there are none."),
        ],
        True,
    ),
    ("urls", Annotated[bool, option("--urls", help="One URL a line, and no more.")], False),
    (
        "build",
        Annotated[
            bool,
            option("--build/--no-build", help="Bring the index up to date first."),
        ],
        True,
    ),
    (
        "query_log",
        Annotated[
            bool,
            option("--query-log", help="Note the query in DIR/queries.jsonl."),
        ],
        False,
    ),
    (
        "log_report",
        Annotated[
            bool,
            option(
                "--log-report",
                help="Instead of a query: which queries DIR/queries.jsonl has, those without "
                "results first. `serve --query-log` writes it.",
            ),
        ],
        False,
    ),
    ("json", Json, False),
)


def _names(words: str) -> list[str]:
    """Return the parts of ranking that --without names."""
    return [name.strip() for name in words.split(",") if name.strip()]


def _query_log(place: str) -> "QueryLog":
    from gossamer import QueryLog

    if not Path(place).is_dir():
        raise ConfigError(f"a log of queries needs a folder on this machine, found {place}")
    return QueryLog(place)


def _log_report(given: dict[str, Any]) -> int:
    """Tell which queries were asked."""
    if given["question"]:
        raise ConfigError("--log-report: expected no QUERY")
    report = _query_log(given["place"]).report(given["per_page"])
    if given["json"]:
        print_json(as_json(report))
    else:
        out().print(report_view(report), crop=False)
    return 0


def _like(given: str) -> "Path | str | bytes":
    """Return what --like names: standard input, a file, or a URL of the index."""
    if given == "-":
        return sys.stdin.buffer.read(MOST_STDIN_BYTES)
    return given if "://" in given and not Path(given).exists() else Path(given)


def _query(words: list[str] | None, like: str) -> str:
    """Return the query: `git commit --amend` is one. What is nearly an option is a mistake."""
    words = words or []
    for word in words:
        name = word.partition("=")[0]
        near = get_close_matches(name, _OPTIONS, n=1, cutoff=_NEARLY)
        if near and name.startswith("--"):
            raise ConfigError(f"no such option: {word}; did you mean {near[0]}?")
    query = " ".join(words)
    if not _NOT_SAID.sub("", query) and not like:
        found = f", found {query!r}" if query.strip() else ""
        raise ConfigError(f"QUERY: expected words to look for, or a filter as in lang:de{found}")
    return query


def _opened(given: dict[str, Any]) -> "SearchIndex":
    """Return the index of a place, or of several together."""
    from gossamer import open_search

    places = given_places(given["place"])
    for place in places:
        if isinstance(place, Path):
            bring_index_up_to_date(place, is_built=given["build"], is_ranked=given["ranks"])
    return open_search(*places)


def given_places(given: str) -> list[str | Path]:
    """Return folders and URLs; the name of a folder may have a comma in it."""
    if Path(given).exists():
        return [Path(given)]
    names = [name.strip() for name in given.split(",")]
    return [_given_place(name) for name in names if name]


def _given_place(name: str) -> str | Path:
    """Return a folder or a URL; of a crawl's store without indexes, a folder with all of it."""
    from gossamer import is_crawl_store, store_indexes

    is_indexed = "://" in name and (not is_crawl_store(name) or bool(store_indexes(name)))
    return name if is_indexed else folder_to_read(name)


def _tell(answer: "Answer", given: dict[str, Any]) -> None:
    if answer.missing:
        sys.stderr.write(f"{missing_line(answer.missing)}\n")
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
    for name in ("without", "rerank", "like"):
        flags += [f"--{name}", given[name]] if given[name] else []
    flags += [f"--{name}" for name in ("facets", "verbatim") if given[name]]
    flags += [] if given["ranks"] else ["--no-ranks"]
    return flags if given["build"] else [*flags, "--no-build"]


def missing_line(missing: "Sequence[MissingShard]") -> str:
    """Return a line that says what did not answer, each place once."""
    reasons = {one.place: one.reason for one in missing}
    said = "; ".join(f"{harmless(place)} {harmless(why)}" for place, why in reasons.items())
    return f"gossamer: some of the index is missing: {said}"


def answer_view(answer: "Answer", place: str, flags: Sequence[str] = ()) -> RenderableType:
    """Return a page of results; `flags` are those with which it was asked for."""
    parts: list[RenderableType] = []
    if answer.corrected:
        parts += [_whole(_line(_corrected(answer)), "bold"), Text()]
    first = (answer.page - 1) * answer.per_page + 1
    for number, hit in enumerate(answer.hits, first):
        parts += _hit(number, hit)
        parts.append(Text())
    if answer.facets is not None:
        parts += _facets(answer.facets)
    parts += [_whole(line, style) for line, style in _foot(answer, place, flags)]
    return Group(*parts)


def _hit(number: int, hit: "Hit") -> Iterator[RenderableType]:
    title = Text.assemble((f"{number:>2}. ", "dim"), no_wrap=True, overflow="ellipsis")
    for part in hit.title_segments:
        title.append(_spaced(part.text), "bold yellow" if part.is_hit else "bold cyan")
    unnamed = hit.image.file_name if hit.image else hit.url
    yield title if hit.title_segments else title.append(harmless(unnamed), "bold cyan")
    yield _whole(f"    {harmless(hit.url)}", "green")
    snippet = Text()
    for part in hit.segments:
        snippet.append(_spaced(part.text), "bold yellow" if part.is_hit else "")
    if snippet.plain.strip():
        yield Padding(snippet, _INDENT, expand=False)
    if hit.image is not None and hit.image.page:
        yield _whole(f"    on {harmless(hit.image.page)}", "dim green")
    yield Padding(Text(" · ".join(_facts(hit)), "dim"), _INDENT, expand=False)


def _facts(hit: "Hit") -> Iterator[str]:
    if hit.day:
        yield hit.day
    if hit.language:
        yield harmless(hit.language)
    kind = hit.type.partition(";")[0].rpartition("/")[2]
    if kind not in {"", "html"}:
        yield harmless(kind)
    if hit.image is not None:
        yield from _image_facts(hit.image)
    if hit.is_near_copy:
        yield "near-copy"
    if hit.copies:
        yield counted(hit.copies, "copy", "copies")
    if hit.more_from_host:
        yield f"{hit.more_from_host:,} more from site:{harmless(hit.host)}"
    yield f"score {hit.score:.2f}"


def report_view(report: "QueryReport") -> RenderableType:
    """Return what a log of queries says."""
    if not report.queries:
        return Text("There are no queries in the log; `gossamer serve DIR --query-log` keeps one.")
    parts: list[RenderableType] = []
    for title, rows in (
        ("Without results", report.empty),
        ("Most frequent", report.frequent),
        ("Slowest", report.slow),
    ):
        parts.append(Text(title, "bold"))
        parts += [_logged(one) for one in rows] or [Text("  none", "dim")]
        parts.append(Text())
    told = (
        f"{counted(report.queries, 'query', 'queries')}, {report.distinct:,} different, "
        f"{report.without_results:,} without results; median {report.median_ms:.0f} ms, "
        f"p99 {report.p99_ms:.0f} ms"
    )
    bad = f"; {counted(report.damaged, 'damaged line')} left out" if report.damaged else ""
    return Group(*parts, Text(told + bad, "dim"))


def _logged(one: "QueryFrequency") -> Text:
    facts = f"{counted(one.total, 'page')}, {one.slowest_ms:.0f} ms"
    line = Text(f"  {one.count:>6,}  {_line(one.query)}  ", no_wrap=True, overflow="ignore")
    return line.append(facts, "dim")


def _image_facts(image: "HitImage") -> Iterator[str]:
    if image.width and image.height:
        yield f"{image.width} × {image.height}"
    if image.bytes:
        yield f"{image.bytes:,} bytes"
    if not image.is_stored:
        yield "not stored"
    if image.pages > 1:
        yield f"on {counted(image.pages, 'page')}"


def _corrected(answer: "Answer") -> str:
    return (
        f"Nothing was found for {answer.query}: these are results for {answer.corrected} "
        "(--verbatim: without them)"
    )


def _facets(facets: "Facets") -> Iterator[RenderableType]:
    """Give the counts of each kind on a line, with what narrows the query to them."""
    kinds = (facets.sites, facets.languages, facets.types, facets.years)
    sign = "" if facets.is_exact else "+"
    for name, values in zip(("site", "language", "type", "year"), kinds, strict=True):
        if values:
            told = Text(f"{name:8}  ", "dim")
            for number, one in enumerate(values):
                told.append(" · " * (number > 0), "dim")
                told.append(f"{harmless(one.value)} ")
                told.append(f"{one.count:,}{sign}", "dim")
            yield told
    if any(kinds):
        yield Text()


def _foot(answer: "Answer", place: str, flags: Sequence[str]) -> Iterator[tuple[str, str]]:
    for hint in answer.hints:
        yield f"{_line(hint)}.", "yellow"
    if answer.suggestion:
        yield f"Did you mean: {_line(answer.suggestion)}", "bold"
    if not answer.hits and answer.page == 1 and answer.like is not None:
        yield f"No {_unit(answer)} is like it.", "bold"
        return
    if not answer.hits and answer.page == 1:
        yield "No page says that. Try other words, fewer of them, or fewer filters.", "bold"
        return
    if not answer.hits:
        yield f"There are no results on page {answer.page}.", "bold"
    partial = "; not all of the index answered" if answer.is_partial else ""
    where = f", page {answer.page}" if answer.page > 1 else ""
    many = counted(answer.total, _unit(answer))
    if 0 < answer.with_all_words < answer.total:
        firm = counted(answer.with_all_words, _unit(answer))
        many = f"{firm} with all words, {answer.total:,} with any"
    yield f"{many}{where}, {answer.took_ms:.0f} ms{partial}", "dim"
    yield from _ranks(answer, place)
    if answer.has_more:
        words = shlex.join([place, answer.query, "--page", str(answer.page + 1), *flags])
        yield f"more:  gossamer search {harmless(words)}", "dim"


def _unit(answer: "Answer") -> str:
    is_image = any(hit.image is not None for hit in answer.hits)
    is_like_image = answer.like is not None and answer.like.of == "image"
    return "image" if is_image or is_like_image else "page"


def _ranks(answer: "Answer", place: str) -> Iterator[tuple[str, str]]:
    """Yield that the ranks of a crawl are missing, or of another day than its index."""
    folder = Path(place)
    is_by_rank = answer.like is None and _unit(answer) == "page"
    if not is_by_rank or not has_archive(folder):
        return
    command = shlex.join(["gossamer", "rank", place])
    if answer.ranks is None:
        yield f"Ordered by words alone: there are no ranks; `{harmless(command)}` makes them", "dim"
    elif not answer.ranks.is_current:
        day = datetime.fromtimestamp(answer.ranks.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        yield f"Ranks are of {day}, pages are newer; `{harmless(command)}` renews them", "dim"


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
