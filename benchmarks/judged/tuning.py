"""Coordinate search: one constant after another, as long as anything gets better."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from gossamer.search.ranking.ranker import RankingParameters

GRID: Final[Mapping[str, tuple[float, ...]]] = {
    "title": (0.5, 1, 1.5, 2, 3, 4, 6),
    "heads": (0.25, 0.5, 1, 1.5, 2, 3),
    "rest": (0.1, 0.2, 0.3, 0.5, 0.75, 1),
    "anchors": (0.25, 0.5, 1, 1.5, 2, 3, 4),
    "path": (0, 0.1, 0.25, 0.5, 1),
    "static": (0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3),
    "cover": (0, 0.25, 0.5, 1, 2),
    "complete": (0, 0.5, 1, 2),
    "near": (0.5, 1, 1.5, 2, 3),
    "near_prose": (0.5, 1, 1.5, 2, 3),
    "listing": (0, 0.3, 0.5, 0.7),
    "short": (2, 3, 4),
    "long": (6, 8, 10, 12),
    "same_bits": (0, 1, 2, 3, 5),
    "per_host": (1, 2, 3),
}
"""What is tried; the weight of the main text is 1."""
LEAST = 1e-4
"""What is gained by less is noise."""
ROUNDS = 3


def tuned(
    judged: Callable[[RankingParameters], float], parameters: RankingParameters | None = None
) -> RankingParameters:
    """Return the best constants that were found; say how."""
    best = parameters or RankingParameters()
    score = judged(best)
    print(f"tuning: {score:.4f} to begin with")
    for _ in range(ROUNDS):
        before = score
        for name, values in GRID.items():
            for value in values:
                other = changed(best, name, value)
                found = judged(other) if other != best else score
                if found > score + LEAST:
                    best, score = other, found
                    print(f"tuning: {score:.4f} with {name} {value:g}", flush=True)
        if score == before:
            break
    print(f"tuning: {best}")
    return best


def changed(parameters: RankingParameters, name: str, value: float) -> RankingParameters:
    """Return a parameters with another constant."""
    if name in parameters.weights.__struct_fields__:
        weights = msgspec.structs.replace(parameters.weights, **{name: float(value)})
        return msgspec.structs.replace(parameters, weights=weights)
    kind: Any = type(getattr(parameters, name))
    return msgspec.structs.replace(parameters, **{name: kind(value)})
