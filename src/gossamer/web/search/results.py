"""Results: an answer as a page. Whatever comes from the web goes through `text` or `prose`."""

import re
from collections.abc import Iterator, Sequence
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from gossamer import Answer, Hit, HitImage, Segment
from gossamer.log import counted
from gossamer.web.frame import address, link_to, prose, text, web_link
from gossamer.web.search.images import are_images, grid
from gossamer.web.search.narrowing import (
    Chip,
    active,
    from_host,
    is_of,
    short_type,
    unfiltered,
)
from gossamer.web.search.sidebar import RESULTS_ID, opener, sidebar

Ways: TypeAlias = Sequence[tuple[str, str]]
"""Where a result leads beside the page itself: words, and the address that takes its URL."""
MOST_CHARS = 2000
"""Of a query: the page repeats it in a hundred links."""
PER_PAGE = 10
MOST_CRUMBS, CRUMB_CHARS = 3, 40
MOST_BEFORE = 4
"""Pages of results before this one that are offered by number."""
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
TIPS = (
    ('"two words"', "exactly so, in a row"),
    ("-word", "pages without it"),
    ("site:example.org", "of one site"),
    ("lang:de", "in one language"),
    ("type:pdf", "of one kind; type:image shows images"),
    ("inurl:blog", "with a word in the address"),
    ("after:2026-01-31", "fetched since then; also before:"),
)


def front(name: str, pages: int | None, building: str, *, has_graph: bool) -> Iterator[str]:
    """Give the page where one begins."""
    yield '<div class="front"><h1>gossamer</h1>'
    if building:
        yield f'<p class="hint" role="status">{text(building[:1].upper() + building[1:])}.</p>'
    if pages is None and building:
        yield f'<p class="note">{link_to("/crawl", "How the crawl does")}</p>'
    elif pages is None:
        yield from no_index(name, has_graph=has_graph)
    else:
        yield _form("", is_front=True)
        yield f'<p class="note">{pages:,} {"page" if pages == 1 else "pages"} of {text(name)}</p>'
        yield _tips()
    yield "</div>"


def no_index(name: str, *, has_graph: bool) -> Iterator[str]:
    """Give what to do where there is nothing to search."""
    yield '<div class="empty"><h2>There is no index yet</h2>'
    yield f"<p>This makes one:</p><pre>gossamer build {text(name)} index</pre>"
    if has_graph:
        yield f"<p>Meanwhile there are {link_to('/links', 'the links')}.</p>"
    yield "</div>"


def results(answer: Answer, ways: Ways, like: str = "") -> Iterator[str]:
    """Give the page of an answer, with facets beside the results; `like`: what they are like."""
    query = answer.corrected or answer.query
    yield _form(query)
    if like:
        yield f'<p class="meant">Like <bdi>{web_link(like, text(like))}</bdi></p>'
    yield from _chips(query)
    yield f'<div class="found"><div class="answers" id="{RESULTS_ID}">'
    yield f'<div class="told"><span role="status">{_told(answer)}</span>{opener(query)}</div>'
    yield from _help(answer)
    if are_images(answer.hits):
        yield from grid(answer.hits)
    elif answer.hits:
        yield '<ol class="hits">'
        for hit in answer.hits:
            yield from _hit(hit, query, ways)
        yield "</ol>"
    elif answer.page > 1:
        yield _nothing_more(query)
    else:
        yield _nothing(query)
    yield from _paging(answer, query, like)
    yield "</div>"
    is_wordy = answer.with_all_words < answer.total
    yield from sidebar(query, answer.facets, is_wordy=is_wordy)
    yield "</div>"


def _form(query: str, *, is_front: bool = False) -> str:
    focus = " autofocus" * is_front
    return (
        '<form class="search" role="search" action="/search">'
        '<label for="q" class="unseen">Search</label>'
        f'<input id="q" type="search" name="q" value="{text(query)}" maxlength="{MOST_CHARS}" '
        f'placeholder="Search the pages" autocomplete="off" spellcheck="false"{focus}>'
        "<button>Search</button></form>"
    )


def _tips() -> str:
    rows = "".join(f"<dt><code>{text(one)}</code></dt><dd>{about}</dd>" for one, about in TIPS)
    return f'<details class="tips"><summary>How to ask</summary><dl>{rows}</dl></details>'


def _chips(query: str) -> Iterator[str]:
    """Give the filters of a query; a click takes one out."""
    if taken := active(query):
        yield '<ul class="chips" aria-label="Filters of this query">'
        yield from map(_chip, taken)
        yield "</ul>"


def _chip(chip: Chip) -> str:
    return (
        f'<li><a class="chip on" href="{address("/search", q=chip.query)}" '
        f'aria-label="{text(f"Without {chip.label}")}"><bdi>{text(chip.label)}</bdi>'
        '<span aria-hidden="true">×</span></a></li>'
    )


def _told(answer: Answer) -> str:
    unit = "image" if are_images(answer.hits) else "page"
    many = counted(answer.total, unit)
    if 0 < answer.with_all_words < answer.total:
        many = f"{counted(answer.with_all_words, unit)} with all words, {answer.total:,} with any"
    place = f", page {answer.page}" if answer.page > 1 else ""
    partial = "; not all of the index answered" if answer.is_partial else ""
    return f"{many}{place} ({max(answer.took_ms, 1):,.0f} ms{partial})"


def _help(answer: Answer) -> Iterator[str]:
    if answer.corrected:
        instead = link_to("/search", answer.query, q=answer.query, verbatim=1)
        yield (
            f'<p class="meant">Showing results for <b><bdi>{text(answer.corrected)}</bdi></b>. '
            f"Nothing was found for <bdi>{instead}</bdi>.</p>"
        )
    if answer.suggestion:
        meant = link_to("/search", answer.suggestion, q=answer.suggestion)
        yield f'<p class="meant">Did you mean <bdi>{meant}</bdi>?</p>'
    for hint in answer.hints:
        yield f'<p class="hint">{prose(hint)}</p>'
    away = dict.fromkeys(one.place.rstrip("/").rpartition("/")[2] for one in answer.missing)
    if away:
        yield f'<p class="hint">Not answering now: {text(", ".join(away))}</p>'


def _hit(hit: Hit, query: str, ways: Ways) -> Iterator[str]:
    spoken = f' lang="{hit.language}"' if _LANGUAGE.fullmatch(hit.language) else ""
    yield f'<li class="hit"><h2 dir="auto"{spoken}>{web_link(hit.url, _title(hit))}</h2>'
    yield f'<p class="crumbs"><bdi>{" › ".join(_crumbs(hit.url))}</bdi></p>'
    yield f'<p class="snippet" dir="auto"{spoken}>{_marked(hit.segments)}</p>'
    links = "".join(link_to(path, label, url=hit.url) for label, path in ways)
    yield f'<p class="facts">{"".join(_facts(hit))}{links}{_more(hit, query)}</p></li>'


def _title(hit: Hit) -> str:
    return _marked(hit.title_segments) if hit.title_segments else text(hit.url)


def _marked(parts: Sequence[Segment]) -> str:
    return "".join(
        f"<mark>{prose(part.text)}</mark>" if part.is_hit else prose(part.text) for part in parts
    )


def _facts(hit: Hit) -> Iterator[str]:
    if hit.day:
        yield f'<time datetime="{hit.day}">{hit.day}</time>'
    if hit.language:
        yield f"<span>{text(hit.language)}</span>"
    if (kind := short_type(hit.type)) not in {"", "html"}:
        yield f'<span class="type">{text(kind)}</span>'
    if hit.image is not None:
        yield from _image(hit.image)
    if hit.is_near_copy:
        yield "<span>near-copy</span>"
    if hit.copies:
        yield f"<span>{hit.copies:,} {'copy' if hit.copies == 1 else 'copies'}</span>"


def _image(image: HitImage) -> Iterator[str]:
    """Give the size of an image, and the page that shows it."""
    if image.width and image.height:
        yield f"<span>{image.width:,} × {image.height:,}</span>"
    if image.page:
        yield f"<span>on {web_link(image.page, prose(image.page_title) or 'its page')}</span>"


def _more(hit: Hit, query: str) -> str:
    if not hit.host or is_of(query, hit.host):
        return ""
    narrow = from_host(query, hit.host)
    many = f"{hit.more_from_host:,} more" if hit.more_from_host else "more"
    return link_to("/search", f"{many} from {hit.host}", q=narrow)


def _crumbs(url: str) -> Iterator[str]:
    """Give where a page is, as a reader says it: its host and the parts of its path."""
    try:
        place = urlsplit(url)
        host, path = place.netloc or place.scheme, place.path
    except ValueError:
        host, path = url, ""
    yield f"<b>{text(host)}</b>"
    parts = [part for part in unquote(path).split("/") if part]
    if len(parts) > MOST_CRUMBS:
        parts = [parts[0], "…", parts[-1]]
    for part in parts:
        yield text(part if len(part) <= CRUMB_CHARS else f"{part[:CRUMB_CHARS]}…")


def _nothing(query: str) -> str:
    words = "<li>Other words, or fewer of them.</li>"
    if (bare := unfiltered(query)) != query:
        words += f"<li>{link_to('/search', 'The same without filters', q=bare)}.</li>"
    return f'<div class="empty"><h2>No page says that</h2><ul>{words}</ul>{_tips()}</div>'


def _nothing_more(query: str) -> str:
    return (
        '<div class="empty"><h2>That was all</h2>'
        "<p>Pages that say the same, and more pages of one host, are shown as one.</p>"
        f"<p>{link_to('/search', 'Back to the first results', q=query)}</p></div>"
    )


def _paging(answer: Answer, query: str, like: str) -> Iterator[str]:
    if answer.page == 1 and not answer.has_more:
        return
    yield '<nav class="paging" aria-label="Pages of results">'
    if answer.page > 1:
        yield _turn(answer, query, like, answer.page - 1, ("← Back", "prev"))
    for number in range(max(answer.page - MOST_BEFORE, 1), answer.page):
        yield _turn(answer, query, like, number, (f"{number}", ""))
    yield f'<span aria-current="page">{answer.page}</span>'
    if answer.has_more:
        yield _turn(answer, query, like, answer.page + 1, ("More →", "next"))
    yield "</nav>"


def _turn(answer: Answer, query: str, like: str, page: int, named: tuple[str, str]) -> str:
    label, way = named
    size = None if answer.per_page == PER_PAGE else answer.per_page
    number = None if page == 1 else page
    place = address("/search", q=query, like=like, page=number, per_page=size)
    relation = f' rel="{way}"' if way else f' aria-label="Page {page}"'
    return f'<a href="{place}"{relation}>{label}</a>'
