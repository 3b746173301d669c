"""`gossamer shell`: Python with a page in hand."""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import UNKNOWN
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import harmless
from gossamer.cli.updating import crawl_folder
from gossamer.errors import ConfigError

if TYPE_CHECKING:
    from gossamer import ParsedPage

_FAILED = 1


def shell(
    place: Annotated[
        list[str],
        argument(metavar="URL | DIR URL", help="A page to fetch, or a stored one."),
    ],
    *,
    code: Annotated[
        str,
        option(
            "-c", metavar="CODE", help="Run this and end; the value of an expression is printed."
        ),
    ] = "",
    allow_net: Annotated[
        list[str] | None,
        option("--allow-net", metavar="CIDR", help="As for `crawl`: addresses to allow."),
    ] = None,
) -> int:
    """Open Python with a page in hand: page, tree, links, text, css(), xpath().

    A URL alone is fetched once, as a crawl does it: robots.txt and the address guard hold.
    """
    with TemporaryDirectory(prefix="gossamer-") as folder:
        return _opened(_page(place, Path(folder, "crawl"), allow_net or []), code)


def _opened(found: "ParsedPage | str", code: str) -> int:
    if isinstance(found, str):
        sys.stderr.write(f"gossamer: {harmless(found)}\n")
        return UNKNOWN
    names = _names(found)
    if code:
        return _run(code, names)
    import code as interpreter

    page = found.page
    banner = harmless(f"{page.url}\n{page.status} {page.media_type} · {page.title}")
    banner += "\npage, tree, links, text, markdown, css(SELECTOR), xpath(EXPRESSION)"
    _complete(names)
    interpreter.interact(banner, local=names, exitmsg="")
    return 0


def _page(place: list[str], into: Path, allow_net: list[str]) -> "ParsedPage | str":
    """Return the page, or why there is none."""
    from gossamer import OpenCrawl, ParsedPage, fetch_page, parsed_page

    match place:
        case [url] if "://" in url:
            got = fetch_page(url, into, allow_net=allow_net)
            if isinstance(got, ParsedPage):
                return got
            what = ": ".join(part for part in (got.reason, got.detail) if part)
            return f"{url} was not fetched: {what or got.state}"
        case [folder, url]:
            stored = OpenCrawl(crawl_folder(Path(folder))).page(url)
            if stored is None:
                return f"{url} is not stored; `gossamer why {folder} {url}` says what is known"
            return parsed_page(stored)
        case _:
            raise ConfigError("shell: expected a URL, or a crawl's folder and a URL")


def _names(found: "ParsedPage") -> dict[str, object]:
    return {
        "page": found.page,
        "tree": found.tree,
        "links": found.links,
        "text": found.text,
        "markdown": found.markdown,
        "main": found.main,
        "css": found.css,
        "xpath": found.xpath,
    }


def _run(code: str, names: dict[str, object]) -> int:
    """Run some code; print the value of an expression: a list one per line, elements as HTML."""
    import traceback

    try:
        try:
            compiled = compile(code, "<-c>", "eval")
        except SyntaxError:
            exec(compile(code, "<-c>", "exec"), names)  # noqa: S102 -- that is what -c is for
            return 0
        value = eval(compiled, names)  # noqa: S307 -- that is what -c is for
    except Exception:  # noqa: BLE001 -- the user's own code
        sys.stderr.write(traceback.format_exc(limit=-1))
        return _FAILED
    if value is not None:
        found = value if isinstance(value, list) else [value]
        sys.stdout.writelines(f"{getattr(one, 'html', one)}\n" for one in found)
    return 0


def _complete(names: dict[str, object]) -> None:
    """Let the tabulator key complete names, where Python has readline."""
    try:
        import readline
        import rlcompleter
    except ImportError:
        return
    readline.set_completer(rlcompleter.Completer(names).complete)
    readline.parse_and_bind("tab: complete")
