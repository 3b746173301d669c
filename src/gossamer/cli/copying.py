"""`gossamer copies`: near-duplicates of each other, and pages that hold parts of given texts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Group, RenderableType
from rich.text import Text

from gossamer.cli.options import Folder, Json
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import as_json, copies_view, harmless, out, print_json
from gossamer.cli.updating import crawl_folder
from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, ConfigError
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import TextCopies, TextCopy

COPIES_TOLD = 50
"""Pages that are named on a terminal; --json and --html have more."""
_EXCERPT_CHARS = 160


def copies(
    folder: Folder,
    url: Annotated[str, argument(metavar="[URL]", help="Only the pages like this one.")] = "",
    *,
    of: Annotated[
        list[Path] | None,
        option(
            "--of",
            metavar="FILE|FOLDER",
            help="Instead: pages that hold passages of these texts (plain text, Markdown, HTML, "
            "PDF). Repeatable.",
        ),
    ] = None,
    min_words: Annotated[
        int | None,
        option(
            "--min-words",
            metavar="N",
            min=5,
            help="With --of: a passage has at least so many words of the text (25). In scripts "
            "without spaces a character is a word.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        option("--html", metavar="FILE", help="With --of: write them side by side."),
    ] = None,
    json: Json = False,
) -> None:
    """Near-duplicates: originals, and their exact, near and similar copies.

    With --of: pages that hold parts of given texts, also with some words changed.
    """
    from gossamer import OpenCrawl

    crawl = OpenCrawl(crawl_folder(folder))
    if of:
        if url:
            raise ConfigError("give either a URL or --of, not both")
        found = crawl.copies_of(of, **({} if min_words is None else {"min_words": min_words}))
        _tell(found, html, is_json=json)
        return
    if min_words is not None or html is not None:
        raise ConfigError("--min-words and --html need --of FILE")
    facts = crawl.copies(url)
    if json:
        print_json(as_json(facts))
    else:
        out().print(copies_view(facts))


def _tell(found: "TextCopies", html: Path | None, *, is_json: bool) -> None:
    if html is not None:
        from gossamer import html_of

        write_page(html, html_of(found))
    if is_json:
        print_json(as_json(found))
        return
    out().print(_text_copies_view(found))
    if html is not None:
        out().print(harmless(f"side by side: {html}"), markup=False)


def write_page(path: Path, page: str) -> None:
    """Write a page to a file, or say in one line why that is impossible."""
    if path.is_dir():
        raise ConfigError(f"{path} is a folder; give a file, such as {path / 'page.html'}")
    try:
        replace_file(path, page.encode("utf-8", "replace"), is_synced=False)
    except OSError as error:
        raise CannotGoOn(f"cannot write {path}: {error.strerror}") from error


def _text_copies_view(found: "TextCopies") -> RenderableType:
    """Return the pages that hold passages of given texts: share and longest passage of each."""
    parts: list[RenderableType] = []
    for copy in found.copies[:COPIES_TOLD]:
        parts += _copy_lines(copy)
    total = len(found.copies) + found.left_out
    if total > COPIES_TOLD:
        parts.append(Text(f"and {total - COPIES_TOLD:,} more; --json and --html have them"))
    for file in found.unread:
        parts.append(Text(f"not looked for: {harmless(file.name)}: {harmless(file.reason)}"))
    pages = counted(total, "page holds", "pages hold")
    compared = f"{counted(found.pages, 'page')} compared with {counted(len(found.texts), 'text')}"
    least = counted(found.min_words, "word")
    parts.append(Text(f"{pages} passages of {least} or more; {compared}."))
    return Group(*parts)


def _copy_lines(copy: "TextCopy") -> list[Text]:
    longest = copy.passages[0]
    words = "".join(part.page for part in longest.parts)
    excerpt = " ".join(words.split())[:_EXCERPT_CHARS]
    share = f"{copy.share:.0%}" if copy.share >= 0.01 else "<1%"  # noqa: PLR2004 - a per cent
    held = f"{counted(copy.words, 'word')}, longest passage {counted(copy.longest, 'word')}"
    same = f", the same content as {harmless(copy.same_as)}" if copy.same_as else ""
    return [
        Text(harmless(copy.url), "bold"),
        Text(f"  {share} of {harmless(copy.text)}: {held}{same}"),
        Text(f'  "{harmless(excerpt)} ..."', "dim"),
    ]
