"""The page of `gossamer copies --of --html`: given texts and pages, side by side."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from gossamer.log import counted
from gossamer.report.html_page import card, prose, table, text, web_link, whole_page
from gossamer.report.reuse import Passage, PassagePart, TextCopies, TextCopy

MOST_SHOWN = 500
"""Pages whose passages are shown; the rest is in a table."""
_STYLE = """
.sides{display:grid;grid-template-columns:1fr 1fr;gap:0 1.2rem;margin:.5rem 0 1rem;
border-top:1px solid var(--line);padding-top:.5rem}
.sides h4{margin:0 0 .2rem;font-size:.82rem;font-weight:500;color:var(--soft)}
.sides p{margin:0;overflow-wrap:anywhere}
.changed{background:var(--changed);border-radius:3px;padding:0 .12em}
.moved{background:var(--moved);border-radius:3px;padding:0 .12em}
.share{display:inline-block;vertical-align:middle;width:7rem;max-width:30vw;height:.5rem;
background:var(--track);border-radius:4px;overflow:hidden;margin:0 .5rem 0 0}
.share i{display:block;height:100%;background:var(--accent)}
@media(max-width:46rem){.sides{grid-template-columns:1fr}.sides div+div{margin-top:.6rem}}
"""


def copies_page(found: TextCopies) -> str:
    """Return everything that was found as one file of HTML."""
    return whole_page("Copies of given texts", _head(found), _body(found), _STYLE)


def _head(found: TextCopies) -> Iterator[str]:
    copies = found.left_out + len(found.copies)
    yield (
        f"<p>{counted(copies, 'page holds', 'pages hold')} passages of at least "
        f"{counted(found.min_words, 'word')}; {counted(found.pages, 'page')} compared with "
        f"{counted(len(found.texts), 'text')}.</p>"
    )
    yield (
        '<p class="note">Marked: <span class="changed">changed words</span>, '
        '<span class="moved">words that stand elsewhere in the given text</span>.</p>'
    )


def _body(found: TextCopies) -> Iterator[str]:
    rows = [[text(one.name), f"{one.words:,}", f"{one.pages:,}"] for one in found.texts]
    yield card("Given texts", table(("file", "words", "pages"), rows, ".nn"))
    if found.unread:
        unread = [[text(one.name), text(one.reason)] for one in found.unread]
        yield card("Not looked for", table(("file", "why"), unread))
    for copy in found.copies[:MOST_SHOWN]:
        yield _copy(copy)
    if rest := found.copies[MOST_SHOWN:]:
        more = [[web_link(one.url), text(one.text), f"{one.words:,}"] for one in rest]
        yield card("More pages", table(("page", "text", "words"), more, "..n"))
    if found.left_out:
        yield card(
            "Even more", f"<p>{counted(found.left_out, 'page is', 'pages are')} left out.</p>"
        )


def _copy(copy: TextCopy) -> str:
    percent = f"{copy.share:.0%}" if copy.share >= 0.01 else "less than 1%"  # noqa: PLR2004 - a per cent
    bar = f'<span class="share"><i style="width:{min(copy.share, 1):.1%}"></i></span>'
    when = datetime.fromtimestamp(copy.fetched_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    same = f" It has the same content as {web_link(copy.same_as)}." if copy.same_as else ""
    held = f"{counted(copy.words, 'word')}, the longest passage {counted(copy.longest, 'word')}"
    return (
        f'<section class="card"><h2>{web_link(copy.url)}</h2>'
        f"<p>{bar}<b>{percent}</b> of {text(copy.text)}: {held}. "
        f'<span class="soft">Fetched {when}.</span>{same}</p>'
        f"{''.join(_sides(one) for one in copy.passages)}</section>"
    )


def _sides(passage: Passage) -> str:
    cut = " …" if passage.is_cut else ""
    before = f'<span class="soft">… {prose(passage.before)}</span>' if passage.before else ""
    after = f'<span class="soft">{prose(passage.after)} …</span>' if passage.after else ""
    return (
        '<div class="sides"><div><h4>given text, from word '
        f"{passage.given_at + 1:,}: {counted(passage.words, 'word')} the same</h4>"
        f"<p>{_marked(passage.parts, is_page=False)}{cut}</p></div>"
        f"<div><h4>page, from word {passage.page_at + 1:,}</h4>"
        f"<p>{before}{_marked(passage.parts, is_page=True)}{cut}{after}</p></div></div>"
    )


def _marked(parts: Sequence[PassagePart], *, is_page: bool) -> str:
    return "".join(
        said if part.kind == "same" else f'<span class="{part.kind}">{said}</span>'
        for part in parts
        if (said := prose(part.page if is_page else part.given))
    )
