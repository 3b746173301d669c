"""The command `gossamer`: its verbs, and what becomes of an error: one line and an exit code."""

import os
import signal
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from gossamer import __version__
from gossamer.cli import crawl, dev, store
from gossamer.errors import CannotGoOn, ConfigError, GossamerError
from gossamer.log import escape, redact

USAGE, STOPPED, CANNOT_GO_ON = 2, 3, 4
_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""

app = typer.Typer(
    name="gossamer",
    help="A web crawler that keeps what it finds and can say why.",
    epilog="Exit codes: 0 done, 1 no seed could be fetched, 2 wrong usage, 3 stopped on request, "
    "4 could not go on.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("crawl")(crawl.crawl)
app.command("add")(store.add)
app.command("status")(store.status)
app.command("why")(store.why)
app.command("show")(store.show)
app.command("build")(store.build)
app.command("demo")(dev.demo)


Version = Annotated[
    bool, typer.Option("--version", is_eager=True, help="Print the version and end.")
]


@app.callback(invoke_without_command=True)
def _top(*, version: Version = False) -> None:
    """Take what stands before the verb."""
    if version:
        typer.echo(f"gossamer {__version__}")
        raise typer.Exit


def run() -> None:
    """Run the command line of this process and end it with its exit code."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads would only spin
    # A crawl listens for itself once it is set up; until then a wish to stop ends it as Ctrl-C.
    for wish in (signal.SIGINT, signal.SIGTERM):  # a job in the background may ignore SIGINT
        signal.signal(wish, signal.default_int_handler)
    sys.exit(exit_code(sys.argv[1:]))


def exit_code(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; errors become one line on standard error."""
    words = list(arguments) or ["--help"]
    try:
        ended = app(args=words, prog_name="gossamer", standalone_mode=False)
    except (typer.TyperException, GossamerError, OSError) as error:
        message, code = explained(error)
        if message:
            line = escape(redact(" ".join(message.split())))
            sys.stderr.write(f"gossamer: {line}\n")
        return code
    except KeyboardInterrupt:
        return STOPPED
    if ended == _INTERRUPTED:
        return STOPPED
    return ended if isinstance(ended, int) else 0


def explained(error: typer.TyperException | GossamerError | OSError) -> tuple[str, int]:
    """Return what to tell of an error, and the exit code that it means."""
    match error:
        case typer.TyperException():
            return error.format_message(), USAGE
        case ConfigError():
            return str(error), USAGE
        case CannotGoOn():
            return str(error), CANNOT_GO_ON
        case GossamerError():
            return f"this is a bug, please report it: {error}", CANNOT_GO_ON
        case BrokenPipeError():
            return "", 0  # the reader has seen enough
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            return f"{where}{error.strerror or error}", CANNOT_GO_ON
