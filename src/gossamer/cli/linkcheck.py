"""`gossamer check-links`: broken links of a site, or of a stored crawl."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from gossamer.cli.crawl import flag_parameters, parameter
from gossamer.cli.flags import FLAGS, given_knobs, max_time_of, named_by_flag, with_flags
from gossamer.cli.options import folder_to_change, folder_to_read
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import harmless, out, progress
from gossamer.cli.updating import crawl_folder
from gossamer.errors import ConfigError
from gossamer.log import set_up

if TYPE_CHECKING:
    from gossamer import LinkFormat, LinkReport, Status

FOUND, STOPPED = 1, 3
FORMATS: "tuple[LinkFormat, ...]" = ("text", "json", "csv", "junit", "sarif", "html")
_OWN: tuple[tuple[str, object, object], ...] = (
    (
        "what",
        Annotated[
            list[str],
            argument(
                metavar="SEED...|DIR|URL",
                help="URLs to start from, or a crawl's folder or store.",
            ),
        ],
        Parameter.empty,
    ),
    (
        "into",
        Annotated[
            Path | None,
            option("--into", metavar="DIR", help="Keep the crawl here; otherwise nowhere."),
        ],
        None,
    ),
    (
        "external",
        Annotated[
            bool,
            option("--external", help="Ask for links that lead outside, each once; follow none."),
        ],
        False,
    ),
    (
        "fragments",
        Annotated[bool, option("--fragments", help="Compare #x with the ids of the page.")],
        False,
    ),
    (
        "markup",
        Annotated[
            bool,
            option(
                "--markup",
                help="List parse errors, too: of the tokenizer (attributes, references, comments), "
                "elements that are not closed, and end tags that close nothing.",
            ),
        ],
        False,
    ),
    (
        "ignore",
        Annotated[
            list[Path] | None,
            option(
                "--ignore",
                metavar="FILE",
                help="Leave out targets that match a line of it: a host glob or URL pattern; # "
                "begins a comment. Repeatable.",
            ),
        ],
        None,
    ),
    (
        "format",
        Annotated[str, option("--format", metavar="|".join(FORMATS), help="What is printed.")],
        "text",
    ),
    ("json", Annotated[bool, option("--json", help="The same as --format json.")], False),
    (
        "strict",
        Annotated[
            bool,
            option(
                "--strict",
                help="End with 1 also for links that have moved or could not be checked.",
            ),
        ],
        False,
    ),
    ("verbose", Annotated[bool, option("--verbose", "-v", help="Tell every event.")], False),
)


def check_links(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what is declared
    """Find broken links: crawl a site for it, or look into a stored crawl.

    Ends with 1 if a link is broken or is no URL (or a fragment names nothing, a page by https loads
    by http, a parse error is listed), with 0 if none is. On a stored crawl nothing is asked for but
    with --external, and then only what was not asked for before. The flags below are for a crawl.
    """
    set_up(verbose=given["verbose"])
    form = _form(given)
    try:
        found = _found(given)
    except ConfigError as error:
        raise named_by_flag(error, given_knobs(given)) from None
    _print(found, form)
    if found.ended == "stopped":
        return STOPPED
    is_fine = found.ok and not (given["strict"] and found.findings)
    return 0 if is_fine else FOUND


def _form(given: Mapping[str, Any]) -> "LinkFormat":
    asked = "json" if given["json"] else given["format"]
    for form in FORMATS:
        if form == asked:
            return form
    raise ConfigError(f"--format: expected one of {', '.join(FORMATS)}, found {asked!r}")


def _found(given: Mapping[str, Any]) -> "LinkReport":
    from gossamer import OpenCrawl, is_crawl_store, link_check_config
    from gossamer import check_links as check_site

    what: Sequence[str] = given["what"]
    ignore = [line for file in given["ignore"] or () for line in ignored_in(file)]
    wanted = {name: given[name] for name in ("external", "fragments", "markup")}
    max_time_s = max_time_of(given)
    is_store = len(what) == 1 and is_crawl_store(what[0])
    if is_store or not any("://" in one for one in what):
        _expect_no_flags(given)
        folder = _stored_in(what) if not is_store else _read_from(what[0], given)
        crawl = OpenCrawl(folder)
        with _telling(given) as tell:
            return crawl.check_links(ignore=ignore, max_time=max_time_s, on_progress=tell, **wanted)
    into: Path | None = given["into"]
    limit: dict[str, Any] = {} if max_time_s is None else {"max_time": max_time_s}
    with _telling(given) as tell:
        return check_site(
            what,
            into=into,
            config=with_flags(link_check_config(into), given),
            ignore=ignore,
            on_progress=tell,
            **wanted,
            **limit,
        )


def _stored_in(what: Sequence[str]) -> Path:
    """Return the crawl folder that was given."""
    if len(what) > 1:
        raise ConfigError(f"expected one folder, or URLs; found {' '.join(what)}")
    if not Path(what[0]).exists():
        raise ConfigError(
            f"{what[0]} is neither a crawl's folder nor a URL; a URL begins with https:// or "
            "http://"
        )
    return crawl_folder(Path(what[0]))


def _read_from(store: str, given: Mapping[str, Any]) -> Path:
    """Return a cache of a crawl's store; links that lead outside are asked from a folder only."""
    return folder_to_change(store) if given["external"] else folder_to_read(store)


def _telling(given: Mapping[str, Any]) -> "AbstractContextManager[Callable[[Status], None]]":
    return progress(out(is_aside=True), is_live=not given["verbose"])


def _expect_no_flags(given: Mapping[str, Any]) -> None:
    """Refuse flags of a crawl where none is made: its own settings hold."""
    names = [name for knob, name in given_knobs(given).items() if knob != "limits.max_time_s"]
    if given["into"] is not None:
        names.append("--into")
    if names:
        raise ConfigError(f"{names[0]} is for a crawl from a URL; a stored one has its settings")


def ignored_in(file: Path) -> list[str]:
    """Return the patterns of a file, one per line; # at its start or after a blank is a comment."""
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"--ignore {file}: cannot read it: {why}") from None
    found = (line.partition(" #")[0].strip() for line in lines if not line.startswith("#"))
    return [pattern for pattern in found if pattern]


def _print(found: "LinkReport", form: "LinkFormat") -> None:
    from gossamer import links_summary, render_links

    sys.stdout.write(render_links(found, form))
    sys.stdout.flush()
    if form != "text":
        out(is_aside=True).print(harmless(links_summary(found)), markup=False, soft_wrap=True)


vars(check_links)["__signature__"] = Signature(
    [*(parameter(name, kind, default) for name, kind, default in _OWN), *flag_parameters(FLAGS)]
)
