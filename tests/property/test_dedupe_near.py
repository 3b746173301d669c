"""Near-duplicates: words as described, verdicts without direction, look-ups as by brute force."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.unit.dedupe.plainly import plain_sketch, words_of
from tests.unit.dedupe.prose import changed, prose

from gossamer.dedupe import (
    CopyLabel,
    Level,
    NearSet,
    PageText,
    Sketcher,
    Sketches,
    compare,
    root_of,
)

SKETCHER = Sketcher(seed=3)
texts = st.text(
    st.one_of(st.characters(codec="utf-8"), st.sampled_from(" aB9.\u00a0\u201c\u3042\u4e2d\uff0c")),
    max_size=60,
)


def bands_of(rows: list[list[int]]) -> np.ndarray:
    """Return band keys; a band's keys are its own, as with real ones, whose hash it is part of."""
    keys = np.array(rows, np.uint64).reshape(-1, 12)
    own = np.where(keys == 0, keys, keys + 100 * np.arange(12, dtype=np.uint64))
    return own << np.uint64(27)


few_bands = st.lists(st.lists(st.integers(0, 6), min_size=12, max_size=12), max_size=30)
"""Band keys so few that pages share many, but no more than are looked at; 0 is kept by others."""


@settings(deadline=None)
@given(texts)
def test_a_sketch_is_what_the_description_says_of_any_text(text: str) -> None:
    made = SKETCHER.of_texts([(text.encode(), b"")])
    plain = plain_sketch(text, seed=3)
    record = made.records[0]
    assert (int(record[11]), int(record[8])) == (plain.words, plain.simhash)
    assert (int(record[9]), list(record[:8].tobytes())) == (plain.exact, plain.bins)
    assert [int(key) >> 27 for key in made.bands[0]] == plain.bands


@settings(deadline=None)
@given(texts)
def test_what_stands_between_words_does_not_matter(text: str) -> None:
    joined = "\u2026".join(words_of(text))
    made = SKETCHER.of_texts([(text.encode(), b""), (joined.encode(), b"")])
    assert np.array_equal(made.records[0], made.records[1])
    assert np.array_equal(made.bands[0], made.bands[1])


@settings(deadline=None)
@given(st.integers(0, 50), st.integers(0, 60), st.integers(20, 300), st.sampled_from(["", "T"]))
def test_a_verdict_has_no_direction_and_a_page_is_its_own_copy(
    seed: int, edits: int, size: int, title: str
) -> None:
    words = prose(seed, size)
    pages = [" ".join(words), " ".join(changed(words, min(edits, size)))]
    made = SKETCHER.of_texts([(text.encode(), title.encode()) for text in pages])
    there, back, itself = compare(made.records, [(0, 1), (1, 0), (0, 0)])
    assert there == back
    assert itself[1] == 64


@settings(max_examples=examples(40), deadline=None)
@given(few_bands, few_bands, st.integers(1, 30))
def test_a_look_up_finds_whom_brute_force_finds(
    held: list[list[int]], asked: list[list[int]], flush_pages: int
) -> None:
    known, wanted = bands_of(held), bands_of(asked)
    with TemporaryDirectory() as folder:
        near = NearSet.open(Path(folder), (), is_synced=False, flush_pages=flush_pages)
        records = np.zeros((len(known), 14), np.uint64)
        records[:, 12] = np.arange(len(known))
        records[:, 9] = np.arange(len(known)) + 1  # no two are alike
        for start in range(0, len(known), 7):
            near.label_and_add(Sketches(records[start : start + 7], known[start : start + 7]))
        found = near.look_up(wanted).tolist() if len(wanted) else []
    pairs = {
        page << 27 | number
        for page, one in enumerate(wanted)
        for number, other in enumerate(known)
        if ((one == other) & (one != 0)).any()
    }
    assert found == sorted(pairs)


@settings(max_examples=examples(25), deadline=None)
@given(st.permutations(range(12)), st.integers(1, 6))
def test_who_stands_for_whom_does_not_depend_on_the_order_or_the_size_of_batches(
    order: list[int], batch: int
) -> None:
    words = [prose(n // 4, 200) for n in range(12)]
    pages = [
        PageText(n + 1, "a.test", f"T{n // 4}", " ".join(changed(words[n], n % 4, n)).encode(), n)
        for n in range(12)
    ]
    expected = labels_of(pages, 12)
    assert labels_of([pages[n] for n in order], batch) == expected
    assert expected.keys() >= {2, 3, 4, 6, 7, 8, 10, 11, 12}


def labels_of(pages: list[PageText], batch: int) -> dict[int, int]:
    """Return the page that stands for each copy in the end."""
    found: dict[int, int] = {}
    with TemporaryDirectory() as folder:
        near = NearSet.open(Path(folder), (), is_synced=False)
        for start in range(0, len(pages), batch):
            for row in near.label_and_add(SKETCHER.sketches(pages[start : start + batch])).tolist():
                found[row[0]] = min(row[1], found.get(row[0], row[1]))
    labels = {key: CopyLabel(Level.DUPLICATE, original) for key, original in found.items()}
    return {key: root_of(key, labels.get) for key in found}
