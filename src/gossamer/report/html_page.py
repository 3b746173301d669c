"""A page in one file: opens anywhere, loads nothing, runs nothing; light and dark, wide and narrow.

Whatever is put into it is escaped first, by `text` or `web_link`.
"""

import re
from collections.abc import Iterable, Sequence
from html import escape

from gossamer.log import escape as without_controls
from gossamer.log import redact

_SPACE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""What turns the direction of all text that follows."""
_WEB = ("http://", "https://")

STYLE = """
:root{color-scheme:light dark;--page:#f6f7f9;--card:#fff;--ink:#1b1f24;--soft:#5b6672;
--line:#e1e5ea;--track:#edf0f3;--accent:#2563c9;--good:#2e8b57;--move:#4a7fd6;--warn:#c77a0a;
--bad:#c8383b;--other:#7a8594;--changed:#ffe3b0;--moved:#cfe3ff}
@media(prefers-color-scheme:dark){:root{--page:#111418;--card:#1a1f25;--ink:#e7ebf0;--soft:#9aa6b3;
--line:#2b323a;--track:#262d35;--accent:#7fb0ff;--good:#4fb483;--move:#6f9ff0;--warn:#e0a03c;
--bad:#ef6f6c;--other:#8b97a5;--changed:#5a4313;--moved:#1f3f6b}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main,header,footer{max-width:76rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2rem}footer{padding:1rem 1.25rem 3rem;color:var(--soft);font-size:.87rem}
h1{font-size:1.65rem;line-height:1.2;margin:0 0 .3rem;overflow-wrap:anywhere}
h2{font-size:1.08rem;margin:0 0 .2rem}
h3{font-size:.95rem;margin:1.1rem 0 .3rem}
p{margin:.2rem 0 .7rem}
.soft,.note{color:var(--soft)}.note{font-size:.9rem}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
.url{overflow-wrap:anywhere}
.card{background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:1rem 1.15rem;margin:0 0 1rem;min-width:0}
.tiles{display:grid;grid-template-columns:repeat(8,minmax(0,1fr));gap:.8rem;margin:1.2rem 0 1rem}
.tile{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.75rem .9rem}
.tile b{display:block;font-size:1.4rem;line-height:1.2;font-variant-numeric:tabular-nums}
.tile span{color:var(--soft);font-size:.87rem}
.tile.bad b{color:var(--bad)}.tile.warn b{color:var(--warn)}
.grid{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:1rem;align-items:start}
.grid .card{margin:0;height:100%}.grid{margin-bottom:1rem}
.wide{grid-column:1/-1}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.92rem}
th{text-align:left;color:var(--soft);font-weight:500;border-bottom:1px solid var(--line)}
td,th{padding:.32rem .7rem .32rem 0;vertical-align:top}
tr+tr td{border-top:1px solid var(--line)}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
svg{display:block;width:100%;height:auto}
svg text{fill:var(--ink);font:13px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}
svg text.soft{fill:var(--soft)}
.nav{display:flex;flex-wrap:wrap;gap:.3rem 1rem;margin:.6rem 0 0;font-size:.92rem}
details summary{cursor:pointer;color:var(--accent);margin:.4rem 0}
@media(max-width:64rem){.tiles{grid-template-columns:repeat(4,minmax(0,1fr))}}
@media(max-width:46rem){.tiles{grid-template-columns:repeat(2,minmax(0,1fr))}.grid{grid-template-columns:minmax(0,1fr)}main,header,footer{padding-left:.9rem;
padding-right:.9rem}.card{padding:.85rem .85rem}h1{font-size:1.35rem}}
@media(max-width:46rem){table.stacked thead{display:none}table.stacked tr,table.stacked td{
display:block}table.stacked tr{padding:.4rem 0}table.stacked tr+tr{border-top:1px solid var(--line)}
table.stacked td{border:0!important;padding:.05rem 0}table.stacked td.n{text-align:left;
color:var(--soft)}table.stacked td.n::after{content:" " attr(data-name)}}
@media print{body{background:#fff}.card,.tile{break-inside:avoid}}
"""


def whole_page(title: str, head: Iterable[str], body: Iterable[str], style: str = "") -> str:
    """Return a whole page. `title` is text; `head` and `body` are markup."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'; img-src data:\">"
        '<meta name="referrer" content="no-referrer">'
        f"<title>{text(title)}</title><style>{STYLE}{style}</style></head>\n"
        f"<body><header><h1>{text(title)}</h1>{''.join(head)}</header>\n<main>"
        + "\n".join(body)
        + "</main>\n<footer>Made by Gossamer. This file loads nothing from elsewhere.</footer>"
        "</body></html>\n"
    )


def text(words: object) -> str:
    """Return text as markup that shows it and does nothing else."""
    return escape(without_controls(redact(str(words))), quote=True)


def prose(words: str) -> str:
    """Return text of a page as markup, to be read: what steers it is left out, spaces are one."""
    return escape(_TURNING.sub("", _SPACE.sub(" ", words)), quote=True)


def web_link(url: str, label: str = "") -> str:
    """Return a link to a page of the web; what is no address of the web leads nowhere."""
    shown = f'<span class="url">{text(label or url)}</span>'
    if not url.startswith(_WEB):
        return shown
    return f'<a href="{text(url)}" rel="noreferrer noopener nofollow">{shown}</a>'


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: str = "",
    *,
    is_stacked: bool = False,
) -> str:
    """Return a table of markup; `numbers` has an n for each column of numbers, else a dot.

    On a phone, the cells of a stacked one are below each other.
    """
    kinds = [' class="n"' if mark == "n" else "" for mark in numbers.ljust(len(head), ".")]
    cells = [f'<td{kind} data-name="{text(name)}">' for kind, name in zip(kinds, head, strict=True)]
    lines = (
        "".join(f"{opening}{cell}</td>" for opening, cell in zip(cells, row, strict=True))
        for row in rows
    )
    names = "".join(f"<th{kind}>{text(name)}</th>" for kind, name in zip(kinds, head, strict=True))
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    top = f"<thead><tr>{names}</tr></thead>"
    name = ' class="stacked"' if is_stacked else ""
    return f'<div class="scroll"><table{name}>{top}<tbody>{body}</tbody></table></div>'


def card(title: str, *parts: str, note: str = "", is_wide: bool = False, anchor: str = "") -> str:
    """Return a box with a heading. `title` and `note` are text, the parts are markup."""
    kind = "card wide" if is_wide else "card"
    said = f'<p class="note">{text(note)}</p>' if note else ""
    name = f' id="{anchor}"' if anchor else ""
    return f'<section class="{kind}"{name}><h2>{text(title)}</h2>{said}{"".join(parts)}</section>'
