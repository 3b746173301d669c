"""What becomes of a URL that is suspected of having killed the crawl, after it was read alone."""

from msgspec.structs import replace

from gossamer.crawl.core import MAX_HELPER_DEATHS, Suspects
from gossamer.crawl.pipeline import document_of, is_not_modified
from gossamer.log import tell
from gossamer.model import Failed, FailureKind, Refused, Turn


def judge_suspect(turn: Turn, suspects: Suspects, now: float) -> Turn:
    """Clear a suspect that was read, or is done with; let the helper that it killed try again.

    It stays a suspect if nothing came that could be read.
    """
    url, outcome = turn.task.url, turn.outcome
    key = url.key
    if isinstance(outcome, Failed) and outcome.kind is FailureKind.KILLED_US:
        suspect = suspects.helper_died(key, now)
        tell("page.suspected", url=url.text, helper_deaths=suspect.helper_deaths)
        if turn.revisit is not None:
            return turn  # its page is stored, and is revisited alone
        if suspect.helper_deaths < MAX_HELPER_DEATHS:
            return replace(turn, retry_at=suspect.until)
        suspects.clear(key)
        detail = f"{outcome.detail}, {suspect.helper_deaths} times"
        return replace(turn, outcome=replace(outcome, detail=detail))
    was_answered = document_of(outcome) is not None and not is_not_modified(outcome)
    if was_answered or (isinstance(outcome, Refused) and turn.revisit is None):
        suspects.clear(key)
    return turn
