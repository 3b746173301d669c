"""as_json: an answer as `--json` and the JSON API give it."""

from typing import Protocol, runtime_checkable

from msgspec import Struct, to_builtins


@runtime_checkable
class HasJsonFields(Protocol):
    """An answer whose JSON differs from its fields."""

    def json_fields(self) -> dict[str, object]:
        """Return its keys and values."""


def as_json(answer: Struct) -> dict[str, object]:
    """Return an answer as plain values, with the keys that its JSON has."""
    if isinstance(answer, HasJsonFields):
        return answer.json_fields()
    told: dict[str, object] = to_builtins(answer)
    return told
