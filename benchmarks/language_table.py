"""Make the table of the language detector: `TEXTS=folder python benchmarks/language_table.py`.

The folder has a file LANGUAGE.txt for every language (en.txt, zh-Hant.txt), a sentence per line.
What ships was made from the sentences of Common Voice, lists of word frequencies of subtitles, the
Universal Declaration of Human Rights where these have little, and, for English, titles and text of
software documentation (half of the hosts of a crawl; the other half was measured). ADR 67 has the
figures; `languages.py` measures. The texts themselves are not kept here.

Features are chosen by their information about a language, an equal number for each; their weights
are those of a multinomial logistic regression on snippets of 14 to 240 characters.
"""

import os
import random
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numba
import numpy as np
import zstandard
from numpy.typing import NDArray

from gossamer.process import language
from gossamer.process.language import ScriptTable

LATIN = (
    "en de fr es it pt nl sv da no nn fi is pl cs sk sl hr bs sr hu ro tr vi id ms et lv lt ca gl"
    " eu sq eo af cy ga gd mt sw tl la az uz tk ku so ha yo ig zu xh st tn ts sn lg rw mg mi ht lb"
    " fy br"
)
OTHERS = (
    (language.CYRILLIC, "ru uk be bg sr mk kk ky tg mn tt cv os"),
    (language.ARABIC, "ar fa ur ps ug"),
    (language.DEVANAGARI, "hi mr ne sa"),
    (language.BENGALI, "bn as"),
    (language.HEBREW, "he yi"),
    (language.ETHIOPIC, "am ti"),
    (language.HAN, "zh zh-Hant"),
)
LANGUAGES = {script: codes.split() for script, codes in ((language.LATIN, LATIN), *OTHERS)}
FEATURES = dict(zip(LANGUAGES, (16_000, 6_000, 2_500, 2_500, 800, 400, 500, 1_600), strict=True))
MANY = (
    "en de fr es it pt nl sv da no fi is pl cs sk sl hr hu ro tr vi id et lv lt ca ru uk bg hi ar"
    " fa he zh bn"
)
WIDESPREAD = frozenset(MANY.split())
SNIPPETS, ROUNDS, RATE, FEWEST = 5_000, 12, 0.5, 3
STEPS, ZERO = language.WEIGHT_STEPS, language.WEIGHT_ZERO

Numbers = NDArray[np.uint32]


def snippet(lines: Sequence[str], chance: random.Random) -> str:
    """Return a piece of a line, or of two, that begins and ends with a word."""
    text = chance.choice(lines)
    if chance.random() < 0.25:
        text += " " + chance.choice(lines)
    size = max(14, int(20 * (12 if chance.random() < 0.25 else 4) ** chance.random()))
    if len(text) <= size:
        return text
    start = chance.randrange(len(text) - size + 1)
    while start and text[start - 1] != " " and not "\u3000" < text[start] < "\ua000":
        start -= 1
    cut = text[start : start + size]
    return cut.rsplit(" ", 1)[0] if " " in cut[10:] else cut


def features(text: str, script: int, scripts: bytes) -> Numbers:
    """Return the features of one script that a text has."""
    codes = text.lower().encode("utf-32-le", "replace")
    size = len(codes) // 4
    found, owners = np.empty(3 * size + 3, np.uint32), np.empty(3 * size + 3, np.uint8)
    counts = np.zeros(256, np.uint32)
    many = language.natives()["hashes"](codes, size, scripts, len(scripts), counts, found, owners)
    chosen: Numbers = found[:many][owners[:many] == script]
    return chosen


def chosen_features(counts: NDArray[np.float32], wanted: int) -> NDArray[np.intp]:
    """Return about so many features: as many for each language, the most informative ones."""
    shares = counts / np.maximum(counts.sum(0), 1)
    mean = shares.mean(1, keepdims=True)
    worth = shares * np.log((shares + 1e-9) / (mean + 1e-9))
    worth[counts < FEWEST] = 0
    order = np.argsort(-worth, axis=0)
    low, high = 10, len(counts)
    while high - low > 5:
        middle = (low + high) // 2
        low, high = (low, middle) if len(np.unique(order[:middle])) > wanted else (middle, high)
    found = np.unique(order[:low])
    return found[counts.sum(1)[found] >= FEWEST]


@numba.njit(fastmath=True)  # type: ignore[untyped-decorator, unused-ignore]
def descend(weights, rows, starts, labels, order, rate):  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
    """Go once over all snippets, by stochastic gradient descent; return how many were right."""
    columns = weights.shape[1]
    scores = np.empty(columns, np.float32)
    right = 0
    for which in order:
        begin, end = starts[which], starts[which + 1]
        if begin == end:
            continue
        scale = np.float32(1 / np.sqrt(end - begin))
        scores[:] = 0
        for at in range(begin, end):
            scores += weights[rows[at]]
        scores *= scale
        best = np.argmax(scores)
        right += best == labels[which]
        scores = np.exp(scores - scores[best])
        scores *= -rate * scale / scores.sum()
        scores[labels[which]] += rate * scale
        for at in range(begin, end):
            weights[rows[at]] += scores
    return right


def trained(texts: Path, script: int, scripts: bytes) -> ScriptTable:
    """Return the table of one script."""
    languages, chance = LANGUAGES[script], random.Random(script)
    found: list[Numbers] = []
    labels: list[int] = []
    for label, code in enumerate(languages):
        lines = [line for line in (texts / f"{code}.txt").read_text().splitlines() if line]
        share = 3 if code == "en" else 2 if code in WIDESPREAD else 1
        for _ in range(share * SNIPPETS):
            found.append(features(snippet(lines, chance), script, scripts))
            labels.append(label)
    sizes = np.array([len(one) for one in found])
    hashes, places = np.unique(np.concatenate(found), return_inverse=True)
    counts = np.zeros((len(hashes), len(languages)), np.float32)
    np.add.at(counts, (places, np.repeat(labels, sizes)), 1)
    kept = chosen_features(counts, FEATURES[script])
    numbers = np.full(len(hashes), -1, np.int32)
    numbers[kept] = np.arange(len(kept))
    rows = numbers[places]
    owners = np.repeat(np.arange(len(found)), sizes)[rows >= 0]
    starts = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(found)))])
    rows = rows[rows >= 0]
    weights = np.zeros((len(kept), len(languages)), np.float32)
    order = np.random.default_rng(1)
    right = 0
    for number in range(ROUNDS):
        rate = np.float32(RATE * (1 - number / ROUNDS) + 0.02)
        turns = order.permutation(len(found))
        right = descend(weights, rows, starts, np.array(labels), turns, rate)
    print(f"script {script}: {len(kept)} features, {right / len(found):.3f} right in training")
    weights -= weights.mean(1, keepdims=True)
    steps = np.clip(np.round(weights * STEPS), -127, 127) + ZERO
    return ScriptTable(script, languages, hashes[kept].tobytes(), steps.astype(np.uint8).tobytes())


def main() -> None:
    """Make the tables of all scripts and write them beside the detector."""
    texts, scripts = Path(os.environ["TEXTS"]), language.scripts()
    tables = [trained(texts, script, scripts) for script in LANGUAGES]
    packed = zstandard.ZstdCompressor(level=22).compress(msgspec.msgpack.encode(tables))
    language.TABLE.write_bytes(packed)
    print(f"{language.TABLE}: {len(packed):,} bytes")


if __name__ == "__main__":
    main()
