"""Words: every reason that the program can give has a meaning and an advice."""

from gossamer.cli.words import EXIT_CODES, FAILURES, FETCH_REFUSALS, LINK_REFUSALS, meaning_of
from gossamer.model import FailureKind, RefusalKind, Reject


def test_every_reason_is_explained_and_no_other() -> None:
    assert set(LINK_REFUSALS) == {reason.value for reason in Reject}
    assert set(FETCH_REFUSALS) == {kind.value for kind in RefusalKind}
    assert set(FAILURES) == {kind.value for kind in FailureKind}


def test_the_meaning_of_an_unknown_reason_is_empty() -> None:
    assert meaning_of("off_scope") == "it leads outside the scope of the seeds"
    assert meaning_of("whatever") == ""


def test_there_are_five_exit_codes() -> None:
    assert list(EXIT_CODES) == [0, 1, 2, 3, 4]
