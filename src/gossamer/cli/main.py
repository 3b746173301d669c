"""The command `gossamer`: its verbs, and what becomes of an error: one line and an exit code.

Nothing slow is imported before `run` listens for signals: until then Python's own traceback, or
death by the signal, is what a stop gets.
"""

import errno
import gc
import os
import signal
import sys
from collections.abc import Sequence
from io import TextIOWrapper

USAGE, STOPPED, CANNOT_GO_ON, TAKEN_OVER = 2, 3, 4, 5

NEW_OBJECTS = 200_000
"""So many are there before those that nobody can reach are looked for. What a command imports are
fewer, and they stay: to walk through them takes a twelfth of a crawl's start."""

_REMEDIES: dict[int | None, str] = {
    errno.ENOSPC: "free some space, then run the command again",
    errno.EDQUOT: "free some space, then run the command again",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EROFS: "give a place that can be written",
    errno.ENOENT: "check the spelling",
    errno.EISDIR: "give a file",
    errno.ENOTDIR: "give a folder",
    errno.EMFILE: "raise the limit on open files (`ulimit -n 1024`), then run the command again",
}
"""What to do about errors of the system that no one else has explained."""


def run() -> None:
    """Run the command line of this process and end it with its exit code."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # numpy's threads would only spin
    gc.set_threshold(NEW_OBJECTS, 20, 50)
    # A crawl listens for itself once it is set up; until then a signal ends it as Ctrl-C.
    for number in (signal.SIGINT, signal.SIGTERM):  # a job in the background may ignore SIGINT
        signal.signal(number, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):  # what a terminal cannot show must not end a command
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    code = exit_code(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough; Python would say so as it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    gc.freeze()  # or Python walks through everything, several times, as it ends
    sys.exit(code)


def exit_code(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; errors become one line on standard error."""
    words = list(arguments) or ["--help"]
    try:
        return _exit_code(words)
    except KeyboardInterrupt:
        return _stopped(words)


def _exit_code(words: list[str]) -> int:
    from gossamer.cli.app import parse_and_run
    from gossamer.errors import GossamerError
    from gossamer.log import escape, redact
    from gossamer.machine import expect_memory, is_out_of_memory, raise_open_files

    try:
        if not words[0].startswith("-"):
            expect_memory()
        raise_open_files()
        ended = parse_and_run(words)
    except (GossamerError, OSError, MemoryError, ImportError, RuntimeError) as error:
        if isinstance(error, ImportError | RuntimeError) and not is_out_of_memory(error):
            raise
        message, code = explained(error)
        if message:
            line = escape(redact(" ".join(message.split())))
            sys.stderr.write(f"gossamer: {line}\n")
        return code
    except SystemExit as ending:  # what rich makes of it
        if isinstance(ending.__context__, BrokenPipeError):
            return 0
        raise
    return ended if isinstance(ended, int) else 0


def _stopped(words: list[str]) -> int:
    """Return the exit code of a stop; say so of a crawl, whose engine did not listen yet."""
    if words[0] in {"crawl", "watch"}:
        sys.stderr.write("gossamer: stopped; run the same command again to go on\n")
        if "--json" in words:  # of its totals nothing is known
            sys.stdout.write('{"finished": false, "reason": "stopped"}\n')
    return STOPPED


def explained(error: Exception) -> tuple[str, int]:
    """Return what to tell of an error, and the exit code that it means."""
    from gossamer.errors import CannotGoOn, ConfigError, CorruptFile, GossamerError, TakenOver
    from gossamer.machine import is_out_of_memory, memory_words

    if not isinstance(error, GossamerError) and is_out_of_memory(error):
        return f"{memory_words()}: {error}".rstrip(": "), CANNOT_GO_ON
    match error:
        case ConfigError():
            return str(error), USAGE
        case CorruptFile() if error.path.parent.name in {"graph", "index", "tables"}:
            what, root = error.path.parent.name, error.path.parent.parent
            advice = f"`gossamer build {root} {what} --full` makes it anew"
            return f"{error}; {advice}", CANNOT_GO_ON
        case CannotGoOn():
            return str(error), TAKEN_OVER if isinstance(error, TakenOver) else CANNOT_GO_ON
        case GossamerError():
            return f"this is a bug, please report it: {error}", CANNOT_GO_ON
        case BrokenPipeError():
            return "", 0  # the reader has seen enough
        case OSError():
            where = f"{error.filename}: " if error.filename else ""
            remedy = f"; {_REMEDIES[error.errno]}" if error.errno in _REMEDIES else ""
            # numpy tells only how much of an array was written
            said = error.strerror or f"{error}: is the disk full?"
            return f"{where}{said}{remedy}", CANNOT_GO_ON
        case _:
            return f"this is a bug, please report it: {error!r}", CANNOT_GO_ON
