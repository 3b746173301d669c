"""`gossamer crawl` and `watch`: their arguments, as the parser and `--help` know them."""

from collections.abc import Iterator, Sequence
from functools import partial
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

from gossamer.cli.flags import FLAGS, WATCH_FLAGS, Flag, max_time_of, with_flags
from gossamer.cli.options import OwnFolder
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import (
    as_json,
    out,
    print_json,
    progress,
    round_line,
    summary,
    watch_line,
)
from gossamer.cli.start import start, unindexed_bytes
from gossamer.cli.updating import no_crawl_in
from gossamer.log import escape, redact, set_up
from gossamer.settings import load_crawl_config

_TYPES: dict[str, object] = {
    "number": float | None,
    "count": str | None,
    "size": str | None,
    "time": str | None,
    "text": str | None,
    "switch": bool | None,
    "list": list[str] | None,
    "table": list[str] | None,
    "steps": list[str] | None,
}


HOW_TO_TELL: tuple[tuple[str, object, object], ...] = (
    (
        "json",
        Annotated[bool, option("--json", help="End with the status as one line of JSON.")],
        False,
    ),
    (
        "verbose",
        Annotated[bool, option("--verbose", "-v", help="Tell every fetch and event.")],
        False,
    ),
    (
        "log",
        Annotated[
            str,
            option(
                "--log",
                metavar="FILE",
                help="Write a line of JSON for each fetch to this file, or to - for standard "
                "output.",
                show_default=False,
            ),
        ],
        "",
    ),
    (
        "metrics_port",
        Annotated[
            str,
            option(
                "--metrics-port",
                metavar="[ADDR:]PORT",
                help="Serve metrics for Prometheus at http://127.0.0.1:PORT/metrics, or at another "
                "address.",
                show_default=False,
            ),
        ],
        "",
    ),
)
_OWN: tuple[tuple[str, object, object], ...] = (
    (
        "seed",
        Annotated[list[str] | None, argument(metavar="SEED...", help="URLs to start from.")],
        None,
    ),
    (
        "into",
        Annotated[
            Path | None,
            option("--into", metavar="DIR", help="The crawl's folder; it may exist."),
        ],
        None,
    ),
    (
        "seeds",
        Annotated[
            Path | None,
            option("--seeds", metavar="FILE", help="A URL and maybe labels per line."),
        ],
        None,
    ),
    (
        "label",
        Annotated[
            list[str] | None,
            option(
                "--label",
                metavar="L",
                help="A label (topic, region) of the seeds of this command. Repeatable.",
            ),
        ],
        None,
    ),
    (
        "config",
        Annotated[
            Path | None,
            option("--config", metavar="FILE", help="Knobs in TOML, instead of DIR/crawl.toml."),
        ],
        None,
    ),
    (
        "index",
        Annotated[
            bool,
            option(
                "--index",
                help="Index pages while they come, beside it; each machine with --cluster.",
            ),
        ],
        False,
    ),
    (
        "serve",
        Annotated[
            bool,
            option("--serve", help="Serve the console while it runs, in a process beside it."),
        ],
        False,
    ),
    (
        "serve_port",
        Annotated[
            str,
            option(
                "--serve-port",
                metavar="N",
                help="Where --serve listens; 8080 unless given.",
                show_default=False,
            ),
        ],
        "",
    ),
    (
        "take_over",
        Annotated[
            bool,
            option(
                "--take-over", help="With --store: go on though the crawl runs elsewhere; ends it."
            ),
        ],
        False,
    ),
    (
        "cluster",
        Annotated[
            str,
            option(
                "--cluster",
                metavar="auto|local",
                help="With --store: on all machines of this one's cluster, or here as if on one.",
                show_default=False,
            ),
        ],
        "",
    ),
    *HOW_TO_TELL,
)


def crawl(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what `_signature` declares
    """Start a crawl in a folder, or go on with it. Ctrl-C stops cleanly; run again to resume.

    A flag that is not given keeps the value in DIR/crawl.toml; one that is given changes it there,
    but for --max-time, which is for this run only.
    """
    return start(given)


def _signature() -> Signature:
    """Return the parameters of `crawl`: its own, then one for each flag, worded by config.py."""
    own = [parameter(name, kind, default) for name, kind, default in _OWN]
    return Signature([*own, *flag_parameters(FLAGS)])


def flag_parameters(flags: Sequence[Flag]) -> Iterator[Parameter]:
    """Give a parameter for each flag, worded by config.py."""
    for flag in flags:
        declared = option(
            flag.name,
            metavar=flag.metavar,
            knob=flag.knob,
            panel=flag.panel,
            show_default=False,
        )
        yield parameter(flag.parameter, Annotated[_TYPES[flag.shape], declared], None)


def parameter(name: str, kind: object, default: object) -> Parameter:
    """Return a parameter that is given by name."""
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)


# The parser reads a command's parameters from its signature; these are data, so it is made of data.
vars(crawl)["__signature__"] = _signature()


_OF_WATCH: tuple[tuple[str, object, object], ...] = (
    (
        "max_time",
        Annotated[
            str | None,
            option("--max-time", metavar="TIME", help="End after so long, such as 90s or 8h."),
        ],
        None,
    ),
    (
        "once",
        Annotated[
            bool,
            option(
                "--once",
                help="Revisit what is due, each page once, crawl what is new, and end: for cron.",
            ),
        ],
        False,
    ),
    *HOW_TO_TELL,
)


def watch(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what `_watch_signature` declares
    """Revisit the pages of a crawl, the more often they change the more often.

    New pages that turn up are crawled besides. It has no end: Ctrl-C stops it cleanly, and it can
    be run again; with --once it ends when all that is due was revisited. A flag that is given, but
    for --max-time and --once, changes DIR/crawl.toml.
    """
    folder: Path = given["folder"]
    max_time_s = max_time_of(given)
    set_up(verbose=given["verbose"])
    if not (folder / "crawl.toml").exists():
        raise no_crawl_in(folder)
    new = with_flags(load_crawl_config(folder), given, WATCH_FLAGS)
    from gossamer import Crawl

    how = {name: given[name] for name in ("log", "verbose", "metrics_port")}
    how["unindexed_bytes"] = partial(unindexed_bytes, folder)
    crawl, aside = Crawl(folder, (), new, **how), out(is_aside=True)

    def tell_changes() -> None:
        for line in crawl.changes:
            aside.print(f"crawl.toml changed: {escape(redact(line))}", markup=False)

    with progress(aside, is_live=not given["verbose"], line=watch_line) as tell:
        ending = crawl.watch(max_time_s, tell, tell_changes, is_once=given["once"])
    shown = aside if given["json"] else out()
    shown.print(watch_line(ending.status))
    words = {"max_time": "watched"} | ({"finished": "revisited"} if given["once"] else {})
    shown.print(summary(words.get(ending.reason, ending.reason), ending.status, folder))
    if ending.round is not None:
        shown.print(round_line(ending.round))
    if given["json"]:
        told = {"round": as_json(ending.round)} if ending.round is not None else {}
        print_json({**as_json(ending.status), **told, "reason": ending.reason})
    return ending.exit_code


def _watch_signature() -> Signature:
    own = [parameter(name, kind, default) for name, kind, default in _OF_WATCH]
    return Signature(
        [parameter("folder", OwnFolder, Parameter.empty), *own, *flag_parameters(WATCH_FLAGS)]
    )


vars(watch)["__signature__"] = _watch_signature()
