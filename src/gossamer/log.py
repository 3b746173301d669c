"""Structured logging: one event is one line, control characters escaped, secrets redacted."""

import logging
import re
import sys
from collections.abc import Callable, Mapping
from typing import TextIO, TypeAlias

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SECRET = re.compile(
    r"(?i)(://)[^/?#\s]*@|((?:api[-_]?key|access[-_]?key|auth|token|secret|password|passwd|pwd"
    r"|sig|signature|credential|jwt)=)[^&#\s]+"
)
_MAX_ERROR_CHARS = 300

OnUserError: TypeAlias = Callable[[str, str], None]
"""Called with the name of a user's function and a description of the exception it raised."""


def escape(text: str) -> str:
    r"""Return text that cannot start a line or control a terminal: controls become \x escapes."""
    return _CONTROL.sub(lambda m: m.group().encode("unicode_escape").decode("ascii"), text)


def redact(text: str) -> str:
    """Return text without user info and known secret parameters in its URLs."""
    return _SECRET.sub(lambda m: m.group(1) or f"{m.group(2)}[redacted]", text)


def counted(count: int, unit: str, many: str = "") -> str:
    """Return a number of things with their name: 1 page, 2 pages."""
    return f"{count:,} {plural(count, unit, many)}"


def plural(count: int, unit: str, many: str = "") -> str:
    """Return the name of one thing, or of several."""
    return unit if count == 1 else many or f"{unit}s"


def describe_error(error: BaseException) -> str:
    """Return an exception as one short line: its type and message, even if that cannot be read."""
    try:
        message = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as failed:  # noqa: BLE001 -- a stranger's exception may fail in any way
        message = f"(its message cannot be read: {type(failed).__name__})"
    return f"{type(error).__name__}: {message}"[:_MAX_ERROR_CHARS].rstrip(": ")


def ignore_error(_function: str, _error: str) -> None:
    """Do nothing about an exception of a user's function."""


def tell(event: str, **fields: object) -> None:
    """Log one event: a noun and a past tense, such as host.parked, with its fields."""
    _log(logging.INFO, event, fields)


def warn(event: str, **fields: object) -> None:
    """Log one event that is shown without --verbose, too."""
    _log(logging.WARNING, event, fields)


def _log(level: int, event: str, fields: Mapping[str, object]) -> None:
    logger = logging.getLogger("gossamer")
    if logger.isEnabledFor(level):
        words = " ".join(f"{name}={escape(redact(str(value)))}" for name, value in fields.items())
        logger.log(level, "%s %s", event, words)


def set_up(*, verbose: bool, stream: TextIO = sys.stderr) -> None:
    """Send events to a stream: everything when verbose, warnings only otherwise."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.getLogger("gossamer")
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
    logger.propagate = False
