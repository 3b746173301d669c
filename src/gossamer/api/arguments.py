"""Arguments of questions that are checked before anything is asked."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from threading import Event

from gossamer.errors import ConfigError

_STATUS_NAMES = {"401": "unauthorized", "404": "not_found", "410": "gone", "429": "throttled"}
"""HTTP statuses that have a name of their own among the reasons."""


def check_reasons(reasons: Iterable[str], *, with_filters: bool = False) -> None:
    """Refuse names that no URL fails, or is refused, for; links that filters refuse, if wanted."""
    from gossamer.model import FailureKind, RefusalKind, Reject

    of_filters = (*(one.value for one in Reject), "trial") if with_filters else ()
    known = list(dict.fromkeys((*(one.value for one in (*FailureKind, *RefusalKind)), *of_filters)))
    for reason in reasons:
        if reason not in known and not re.fullmatch("http_[45][0-9][0-9]", reason):
            named = _STATUS_NAMES.get(reason, f"http_{reason}" if reason.isdecimal() else "")
            near = [named] if named else get_close_matches(reason, known, n=1)
            names = f"expected http_403 or the like, or one of {', '.join(known)}"
            meant = f"did you mean {near[0]}?" if near else names
            raise ConfigError(f"there is no reason {reason!r}; {meant}")


def check_states(states: Iterable[str]) -> None:
    """Refuse names that are no states of URLs."""
    from gossamer.report import URL_STATES

    for state in states:
        if state not in URL_STATES:
            raise ConfigError(f"there is no state {state!r}; expected {', '.join(URL_STATES)}")


def texts(given: str | Iterable[str]) -> list[str]:
    """Return one text, or several, as a list."""
    return [given] if isinstance(given, str) else list(given)


def let_pass(seconds: float) -> None:
    """Wait, if nobody says how."""
    Event().wait(seconds)
