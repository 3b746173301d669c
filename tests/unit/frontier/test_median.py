"""The median time of a host's answers is estimated as they come."""

import itertools
from random import Random
from statistics import median

import msgspec
from msgspec.structs import astuple

from gossamer.config import PolitenessConfig
from gossamer.frontier.politeness import HostAnswer, note_answer
from gossamer.frontier.rows import HostState, decode_host


def noted(latencies: list[float]) -> HostState:
    row = HostState(name="a.test")
    for latency in latencies:
        note_answer(row, PolitenessConfig(), 0.0, HostAnswer(latency_s=latency))
    return row


def test_before_the_first_answer_there_is_none() -> None:
    row = HostState(name="a.test")
    note_answer(row, PolitenessConfig(), 0.0, HostAnswer(latency_s=1.0, is_answer=False))
    note_answer(row, PolitenessConfig(), 0.0, HostAnswer(latency_s=1.0, is_page=False))
    assert (row.answers, row.median_s) == (0, 0.0)


def test_it_comes_near_the_true_one_whatever_the_spread() -> None:
    rng = Random(7)
    for spread in (0.1, 0.5, 1.0):
        given = [rng.lognormvariate(-1.0, spread) for _ in range(1000)]
        assert 0.85 < noted(given).median_s / median(given) < 1.15, spread


def test_the_step_shrinks_as_answers_come() -> None:
    row = noted([1.0, 2.0])
    first = row.median_s - 1.0
    moves = [noted([1.0, 2.0] + [9.0] * count).median_s for count in range(4)]
    steps = [after / before - 1.0 for before, after in itertools.pairwise(moves)]
    assert row.answers == 2
    assert first > steps[0] > steps[1] > steps[2] > 0.0


def test_it_follows_a_server_that_becomes_slower() -> None:
    assert 0.8 < noted([0.1] * 200 + [1.0] * 400).median_s < 1.2


def test_a_row_of_an_older_version_has_none() -> None:
    old = msgspec.msgpack.encode(astuple(HostState(name="a.test"))[:-2])
    row = decode_host(old)
    assert (row.answers, row.median_s) == (0, 0.0)
