"""`gossamer watch`: keep the pages of a crawl fresh, under a budget of requests."""

from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.crawl import HOW_TO_TELL, flag_parameters, parameter
from gossamer.cli.flags import WATCH_FLAGS, with_flags
from gossamer.cli.screen import as_json, out, print_json, progress, summary, watch_line
from gossamer.errors import ConfigError
from gossamer.log import escape, redact, set_up
from gossamer.settings import changed, load_config

_OWN: tuple[tuple[str, object, object], ...] = (
    (
        "max_time",
        Annotated[
            float | None,
            typer.Option("--max-time", metavar="S", min=0.0, help="End after so many seconds."),
        ],
        None,
    ),
    *HOW_TO_TELL,
)


def watch(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what `_signature` declares
    """Look at the pages of a crawl again and again, the more so the more often they change.

    New pages that turn up are crawled besides. It has no end: Ctrl-C stops it cleanly, and it can
    be run again. A flag that is given, but for --max-time, changes DIR/crawl.toml.
    """
    folder: Path = given["folder"]
    set_up(verbose=given["verbose"])
    if not (folder / "crawl.toml").exists():
        raise ConfigError(f"{folder} is not the folder of a crawl: there is no crawl.toml in it")
    old = load_config(folder / "crawl.toml")
    new = with_flags(old, given, WATCH_FLAGS)
    from gossamer import Crawl

    aside = out(is_aside=True)

    def tell_changes() -> None:
        for line in changed(old, new):
            aside.print(f"crawl.toml changed: {escape(redact(line))}", markup=False)

    with progress(aside, is_live=not given["verbose"], line=watch_line) as tell:
        ending = Crawl(folder, (), new).watch(given["max_time"], tell, tell_changes)
    shown = aside if given["json"] else out()
    shown.print(watch_line(ending.status))
    reason = "watched" if ending.reason == "max_time" else ending.reason
    shown.print(summary(reason, ending.status, folder))
    if given["json"]:
        print_json({**as_json(ending.status), "reason": ending.reason})
    return ending.exit_code


def _signature() -> Signature:
    folder = Annotated[Path, typer.Argument(metavar="DIR", help="The crawl's folder.")]
    own = [parameter(name, kind, default) for name, kind, default in _OWN]
    return Signature(
        [parameter("folder", folder, Parameter.empty), *own, *flag_parameters(WATCH_FLAGS)]
    )


# typer reads a command's parameters from its signature; ours are data, so it is made of data.
vars(watch)["__signature__"] = _signature()
