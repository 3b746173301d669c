"""The protocol of checkpoints in an object store, as a model: the rules hold, each alone is needed.

Runs are random: machines die with their disks, freeze, are cut off; puts come late, answers are
lost, folders are put back, coordinators replace one another. What happens too rarely is a scene.
"""

import os
from contextlib import suppress

import pytest

from tests.model.chains import Lost
from tests.model.rules import VARIANTS, Rules
from tests.model.scenes import SCENES
from tests.model.world import SHARDS, RunOutcome, World

RUNS = int(os.environ.get("MODEL_RUNS", "300"))
MOST_RUNS = 200
"""Within so many the random runs catch each variant that is not a scene."""


def played(rules: Rules, seed: int) -> RunOutcome:
    try:
        return World(rules, seed).run()
    except Lost as error:
        return RunOutcome(str(error))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_whatever_happens_the_rules_lose_nothing_and_every_run_ends(part: int) -> None:
    bad = {seed: o for seed in range(part, RUNS, 4) if (o := played(Rules(), seed)).is_bad}
    assert not bad


@pytest.mark.slow
@pytest.mark.parametrize("rule", sorted(VARIANTS.keys() - SCENES.keys()))
def test_without_one_rule_random_runs_go_wrong(rule: str) -> None:
    rules = Rules(**{rule: False})
    assert any(played(rules, seed).is_bad for seed in range(MOST_RUNS)), VARIANTS[rule]


@pytest.mark.parametrize("rule", SCENES)
def test_a_rare_mishap_does_no_harm_but_without_its_rule(rule: str) -> None:
    scene = SCENES[rule]
    outcome = scene(Rules())
    assert not outcome.is_bad, outcome
    with suppress(Lost):
        assert scene(Rules(**{rule: False})).is_bad, VARIANTS[rule]


def test_runs_are_eventful_and_yet_most_pages_are_asked_for_once() -> None:
    outcomes = [played(Rules(), seed) for seed in range(20)]
    requests = sum(outcome.requests for outcome in outcomes)
    assert sum(outcome.claims for outcome in outcomes) > 20 * 2 * SHARDS
    assert sum(outcome.pages for outcome in outcomes) <= requests
    assert requests <= 1.5 * sum(outcome.pages for outcome in outcomes)
