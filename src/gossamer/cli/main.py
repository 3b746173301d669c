"""The command `gossamer`: its verbs, and what becomes of an error: one line and an exit code."""

import os
import signal
import sys
from collections.abc import Sequence

from gossamer.cli.flags import plain_flags
from gossamer.errors import CannotGoOn, ConfigError, CorruptFile, GossamerError
from gossamer.log import escape, redact

USAGE, STOPPED, CANNOT_GO_ON = 2, 3, 4
_INTERRUPTED = 130
"""What typer makes of Ctrl-C."""


def run() -> None:
    """Run the command line of this process and end it with its exit code."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads would only spin
    # A crawl listens for itself once it is set up; until then a signal ends it as Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):  # a job in the background may ignore SIGINT
        signal.signal(number, signal.default_int_handler)
    sys.exit(exit_code(sys.argv[1:]))


def exit_code(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; errors become one line on standard error."""
    try:
        ended = _ended(list(arguments) or ["--help"])
    except (GossamerError, OSError, MemoryError) as error:
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


def _ended(words: list[str]) -> object:
    """Run one command; return what it returned.

    A plain `crawl` line is read here: loading the parser takes a quarter of a crawl's start-up.
    """
    if words[0] == "crawl" and (given := plain_flags(words[1:])) is not None:
        from gossamer.cli.start import start

        return start(given)
    from gossamer.cli.app import parse_and_run

    return parse_and_run(words)


def explained(error: GossamerError | OSError | MemoryError) -> tuple[str, int]:
    """Return what to tell of an error, and the exit code that it means."""
    match error:
        case ConfigError():
            return str(error), USAGE
        case CorruptFile() if error.path.parent.name in {"graph", "index"}:
            what, root = error.path.parent.name, error.path.parent.parent
            advice = f"`gossamer build {root} {what} --full` makes it anew"
            return f"{error}; {advice}", CANNOT_GO_ON
        case CannotGoOn():
            return str(error), CANNOT_GO_ON
        case GossamerError():
            return f"this is a bug, please report it: {error}", CANNOT_GO_ON
        case BrokenPipeError():
            return "", 0  # the reader has seen enough
        case MemoryError():
            return f"not enough memory for this: {error}", CANNOT_GO_ON
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            # numpy tells only how much of an array was written
            return f"{where}{error.strerror or f'{error}: is the disk full?'}", CANNOT_GO_ON
