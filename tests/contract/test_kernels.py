"""Every kernel refuses an array of a wrong kind, one in pieces, and one that is too short."""

import ctypes
from array import array
from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from gossamer.dedupe import kernels as dedupe
from gossamer.fetch import decoding
from gossamer.frontier.order import credit_table
from gossamer.native import (
    FREE,
    ArrayRule,
    Kernel,
    MappedBytes,
    MappedWords,
    Signature,
    array_rules,
    bound,
    checked,
    letters_of,
)
from gossamer.process import language
from gossamer.process.onepass import loading
from gossamer.seen import kernels as seen
from gossamer.urls import joining

SETS: tuple[Mapping[str, Signature], ...] = (
    dedupe._SIGNATURES,
    dedupe._REUSE_SIGNATURES,
    decoding._SIGNATURES,
    credit_table._SIGNATURES,
    language._SIGNATURES,
    *loading._SIGNATURES,
    seen._SIGNATURES,
    joining._SIGNATURES,
)
SIGNATURES = [pair for one in SETS for pair in one.items()]
DTYPES = {"B": "u1", "U": "u4", "W": "u8", "I": "i8", "D": "f8", "F": "f4"}
COUNT = 3
"""What every number is."""


def least(rule: ArrayRule) -> int:
    return rule.least + sum(factor * COUNT for factor, _ in rule.more)


def given_to(signature: Signature) -> list[object]:
    """Return arguments that are right: arrays just long enough, and numbers."""
    numbers: list[object] = [1.0 if letter == "d" else COUNT for letter in letters_of(signature)]
    for rule in array_rules(signature):
        numbers[rule.place] = np.zeros(least(rule), DTYPES[rule.letter])
    return numbers


def wrong_ones(signature: Signature) -> Iterator[tuple[list[object], type[Exception]]]:
    """Give the same with one array that is wrong."""
    for rule in array_rules(signature):
        need, kind = least(rule), DTYPES[rule.letter]
        other = "i8" if kind != "i8" else "u8"
        wrong: list[tuple[object, type[Exception]]] = [
            (np.zeros(need, other), TypeError),
            (np.zeros(2 * need + 6, kind)[::2], TypeError),
            (np.zeros((need + 2, 4), kind).T, TypeError),
            (np.zeros(need, kind).ctypes.data, TypeError),
            (None, TypeError),
            ("text", TypeError),
        ]
        if need:
            wrong.append((np.zeros(need - 1, kind), ValueError))
        if rule.is_written:
            wrong += [(bytes(8 * need), TypeError), (np.frombuffer(bytes(64), kind), TypeError)]
        for one, error in wrong:
            given = given_to(signature)
            given[rule.place] = one
            yield given, error


def never_called(*_: object) -> int:
    raise AssertionError("the kernel was called")


@pytest.mark.parametrize(("name", "signature"), SIGNATURES, ids=[name for name, _ in SIGNATURES])
def test_a_kernel_refuses_arrays_that_are_wrong(name: str, signature: Signature) -> None:
    refusing, taken = checked(never_called, name, signature), list[tuple[object, ...]]()

    def take(*given: object) -> int:
        taken.append(given)
        return 7

    taking: Kernel = checked(take, name, signature)
    given = given_to(signature)
    assert taking(*given) == 7
    for rule in array_rules(signature):
        one = given[rule.place]
        assert isinstance(one, np.ndarray)
        assert taken[0][rule.place] == one.ctypes.data
    for wrong, error in wrong_ones(signature):
        with pytest.raises(error, match=name):
            refusing(*wrong)


@pytest.mark.parametrize(("name", "signature"), SIGNATURES, ids=[name for name, _ in SIGNATURES])
def test_so_does_one_that_was_given_some_of_its_arguments_before(
    name: str, signature: Signature
) -> None:
    taken = list[tuple[object, ...]]()

    def take(*given: object) -> int:
        taken.append(given)
        return 7

    for first in (0, 1):  # every other argument is free
        given = given_to(signature)
        kept = [FREE if place % 2 == first else one for place, one in enumerate(given)]
        assert bound(take, name, signature, kept)(*given[first::2]) == 7
        assert checked(take, name, signature)(*given) == 7
        assert taken[-1] == taken[-2]
        for wrong, error in wrong_ones(signature):
            kept = [FREE if place % 2 == first else one for place, one in enumerate(wrong)]
            with pytest.raises(error, match=name):
                bound(never_called, name, signature, kept)(*wrong[first::2])


@pytest.mark.parametrize(("name", "signature"), SIGNATURES, ids=[name for name, _ in SIGNATURES])
def test_every_array_of_a_kernel_has_a_rule(name: str, signature: Signature) -> None:
    arrays = [n for n, letter in enumerate(letters_of(signature)) if letter not in "nd"]
    assert [rule.place for rule in array_rules(signature)] == arrays, name


@pytest.mark.parametrize(
    "one",
    [
        np.zeros(3, np.int64),
        array("q", (1, 2, 3)),
        (ctypes.c_int64 * 3)(),
        MappedWords(3),
        bytes(24),
    ],
)
def test_whatever_holds_words_may_be_given(one: object) -> None:
    assert checked(lambda address, _: bool(address), "k", "I[b]n")(one, 3)
    with pytest.raises(ValueError, match="k: argument 1 has 3 of 4 elements"):
        checked(never_called, "k", "I[b]n")(one, 4)


@pytest.mark.parametrize("one", [bytearray(3), MappedBytes(3), np.zeros(3, np.bool_)])
def test_whatever_holds_bytes_may_be_written_to(one: object) -> None:
    assert checked(lambda address, _: bool(address), "k", "B*[b]n")(one, 3)
    with pytest.raises(TypeError, match="k: argument 1"):
        checked(never_called, "k", "I*[b]n")(one, 3)
