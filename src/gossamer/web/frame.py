"""The frame of every page: head, navigation, foot. Whatever is put into it is escaped first."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import zip_longest
from urllib.parse import quote

from gossamer.log import escape as without_controls

SECTIONS: Sequence[tuple[str, str]] = (
    ("/", "Search"),
    ("/links", "Links"),
    ("/ranks", "Ranks"),
    ("/hosts", "Hosts"),
    ("/crawl", "Crawl"),
)
_SEARCH = (
    '<link rel="search" type="application/opensearchdescription+xml" title="gossamer" '
    'href="/opensearch.xml">'
)
_NUMBERS = ' class="number"'
_HERE = ' aria-current="page"'
_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""What turns the direction of all text that follows."""
_WEB = ("http://", "https://")


def frame(
    title: str,
    body: Iterable[str],
    *,
    section: str = "",
    sections: Sequence[tuple[str, str]] = SECTIONS,
) -> str:
    """Return a whole page. `title` is text; `body` is markup made by the functions below."""
    links = "".join(
        f'<a href="{path}"{_HERE * (path == section)}>{name}</a>' for path, name in sections
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{text(title)}</title>"
        '<link rel="stylesheet" href="/static/style.css">'
        '<link rel="icon" href="/static/icon.svg">'
        f"{_SEARCH * (sections is SECTIONS)}"
        '</head><body><a class="skip" href="#main">To the content</a>'
        '<header><a class="brand" href="/">gossamer</a>'
        f'<nav aria-label="Parts">{links}</nav></header>'
        f'<main id="main">{"".join(body)}</main>'
        '<footer>Everything here is also JSON: <a href="/api">/api</a></footer></body></html>\n'
    )


def text(words: object) -> str:
    """Return text as markup that shows it and does nothing else."""
    return escape(without_controls(str(words)), quote=True)


def prose(words: str) -> str:
    """Return text of a page as markup, to be read: what steers it is left out, spaces are one."""
    return escape(_TURNING.sub("", _SPACE.sub(" ", words)), quote=True)


def lines(words: str) -> str:
    """Return text of several lines as markup; the page's style keeps its lines apart."""
    return "\n".join(prose(line).strip() for line in words.splitlines())


def web_link(url: str, label: str) -> str:
    """Return a link to a page of the web; what is no address of the web leads nowhere.

    `label` is markup made by `text` or `prose`.
    """
    if not url.startswith(_WEB):
        return f"<span>{label}</span>"
    return f'<a href="{text(url)}" rel="noreferrer noopener nofollow">{label}</a>'


def link_to(path: str, label: object, **query: object) -> str:
    """Return a link to a page of our own; the query's values may be anything."""
    return f'<a href="{address(path, **query)}">{text(label)}</a>'


def address(path: str, **query: object) -> str:
    """Return the address of a page of our own, as an attribute may hold it."""
    pairs = "&amp;".join(
        f"{name.rstrip('_')}={quote(str(value), safe='')}"
        for name, value in query.items()
        if value not in (None, "")
    )
    return f"{path}?{pairs}" if pairs else path


def out_link(url: str) -> str:
    """Return a small link to a page of the web, which learns nothing of where it was found."""
    if not url.startswith(_WEB):
        return ""
    return (
        f'<a class="out" href="{text(url)}" rel="noreferrer noopener nofollow" title="open">↗</a>'
    )


def field(name: str, value: str, about: str) -> str:
    """Return a line of a form."""
    return (
        f'<label><span>{text(about)}</span><input name="{name}" value="{text(value)}" '
        'autocomplete="off" spellcheck="false"></label>'
    )


def table(rows: Iterable[Sequence[str]], heads: Sequence[str] = ()) -> str:
    """Return a table of cells that are markup already; numbers stand under each other."""
    kept = list(rows)
    first = kept[0] if kept else ()
    head = "".join(
        f"<th{_NUMBERS * _is_number(cell)}>{text(one)}</th>"
        for one, cell in zip_longest(heads, first, fillvalue="")
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in kept)
    return (
        f"<table>{f'<thead><tr>{head}</tr></thead>' if heads else ''}<tbody>{body}</tbody></table>"
    )


def _cell(markup: str) -> str:
    return f"<td{_NUMBERS * _is_number(markup)}>{markup}</td>"


def _is_number(markup: str) -> bool:
    return markup[:1].isdigit()


def diff_line(line: str) -> str:
    """Return a line of a difference, marked as removed or added."""
    mark = {"-": "del", "+": "ins"}.get(line[:1])
    return f"<{mark}>{text(line)}</{mark}>" if mark else text(line)
