"""Words: every reason that the program can give has a meaning and an advice."""

from gossamer.cli.words import (
    CERTIFICATES,
    EXIT_CODES,
    FAILURES,
    FETCH_REFUSALS,
    LINK_REFUSALS,
    advice_on,
    meaning_of,
)
from gossamer.model import CERTIFICATES as MODEL_WORDS
from gossamer.model import CertificateProblem, FailureKind, RefusalKind, Reject


def test_every_reason_is_explained_and_no_other() -> None:
    assert set(LINK_REFUSALS) == {reason.value for reason in Reject}
    assert set(FETCH_REFUSALS) == {kind.value for kind in RefusalKind}
    assert set(FAILURES) == {kind.value for kind in FailureKind}


def test_everything_that_may_be_wrong_with_a_certificate_has_words() -> None:
    assert set(CERTIFICATES) == {problem.value for problem in CertificateProblem}
    for problem, words in MODEL_WORDS.items():
        assert CERTIFICATES[problem.value] == words


def test_an_http_status_is_a_reason_of_its_own() -> None:
    assert meaning_of("http_403") == "the server answered 403 Forbidden"
    assert meaning_of("http_599") == "the server answered 599"
    assert meaning_of("http_999") == meaning_of("http_40") == ""


def test_a_private_address_is_told_the_flag_with_its_value() -> None:
    detail = "127.0.0.1 is loopback (127.0.0.0/8)"
    assert advice_on("private_address", detail).startswith("--allow-net 127.0.0.0/8 ")


def test_the_meaning_of_an_unknown_reason_is_empty() -> None:
    assert meaning_of("off_scope") == "it leads outside the scope of the seeds"
    assert meaning_of("whatever") == ""


def test_there_are_six_exit_codes() -> None:
    assert list(EXIT_CODES) == [0, 1, 2, 3, 4, 5]
