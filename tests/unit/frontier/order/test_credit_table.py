"""Credit by URL: the dictionary and the compiled table are the same thing."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.durable import replace_file
from gossamer.frontier.order import credit_table as module
from gossamer.frontier.order.credit_table import CreditTable
from tests.examples import examples

KEYS = st.integers(0, 20) | st.integers(0, 2**64 - 1)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["give", "put", "settle"]),
        st.lists(KEYS, min_size=1, max_size=5, unique=True),
        st.sampled_from([0.125, 0.5, 1.0, 3.0, 100.0]),
    ),
    max_size=40,
)


def grown(monkeypatch: pytest.MonkeyPatch) -> CreditTable:
    """Return credits that left their dictionary behind with the first URL."""
    monkeypatch.setattr(module, "DICTIONARY_URLS", 0)
    found = CreditTable()
    found.put(2**63, 1.0)
    monkeypatch.undo()
    assert found._small is None
    return found


@pytest.mark.parametrize("level", [0.0, 2.5, -1.0])
def test_the_compiled_table_does_what_the_dictionary_does(level: float) -> None:
    @settings(max_examples=examples(60), deadline=None)
    @given(acts=STEPS)
    def check(acts: list[tuple[str, list[int], float]]) -> None:
        with pytest.MonkeyPatch.context() as patch:
            old = grown(patch)
        small = CreditTable()
        small.put(2**63, 1.0)
        for what, keys, amount in acts:
            same = [key for key in keys if key != 1]  # 0 is held as 1
            if what == "give":
                risen = old.give(same, amount, level=level)
                assert risen == small.give(same, amount, level=level)
            for credits_ in (old, small):
                for key in same:
                    if what == "put":
                        credits_.put(key, amount)
                    elif what == "settle" and credits_.of(key) is not None:
                        credits_.settle(key)
            assert [old.of(key) for key in same] == [small.of(key) for key in same]
        assert len(old) == len(small)

    check()


def test_a_url_rises_when_its_credit_passes_a_power_of_two_and_never_after_its_turn() -> None:
    found = CreditTable()
    assert found.give([7], 0.3) == [7]
    assert found.give([7], 0.1) == []
    assert found.give([7], 0.2) == [7]
    found.settle(7)
    assert found.give([7], 100.0) == []
    assert found.of(7) == pytest.approx(100.6)


def test_a_full_table_forgets_the_poorest_half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DICTIONARY_URLS", 10)
    found = CreditTable(most_urls=600)
    for key in range(2, 1500):
        found.put(key, float(key))
    assert len(found) <= 1024 * module.FULL + 1
    assert found.of(1499) == 1499.0
    assert found.of(2) is None


@pytest.mark.parametrize("dictionary_urls", [0, 1000])
def test_a_snapshot_gives_everything_back(
    dictionary_urls: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(module, "DICTIONARY_URLS", dictionary_urls)
    found = CreditTable()
    found.give(list(range(2, 50)), 0.25)
    found.settle(9)
    found.keep_numbers(1, 4.5)
    replace_file(tmp_path / "credits", found.snapshot())
    again = CreditTable()
    assert again.restore((tmp_path / "credits").read_bytes())
    assert [again.of(key) for key in range(2, 50)] == [0.25] * 48
    assert again.give([9], 8.0) == []
    assert again.numbers == [0.0, 4.5, 0.0, 0.0]


def test_a_damaged_snapshot_changes_nothing() -> None:
    found = CreditTable()
    found.put(5, 2.0)
    data = found.snapshot()
    for broken in (b"", data[:-1], data[:-1] + b"\x07", b"x" + data[1:]):
        again = CreditTable()
        assert not again.restore(broken)
        assert again.of(5) is None
