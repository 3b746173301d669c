"""Rows of traps lie in the state of crawls that are under way: their keys and names do not move."""

import msgspec

from gossamer.traps.held import held_key
from gossamer.traps.registry import decode_unit, is_unit_row, unit_key
from gossamer.traps.unit import Probation, Unit


def names_of(struct: type[msgspec.Struct]) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(struct)]


def test_a_unit_keeps_the_names_that_it_has_on_disk() -> None:
    assert names_of(Unit) == [
        *("name", "pages", "fresh", "block_pages", "block_bred", "block_fresh", "block_same"),
        *("block_brought", "block_number", "highest", "blocks", "chain", "next_look", "marks"),
        *("listed", "abroad", "listers", "growth_pages", "growth_known", "growth_rate", "young"),
        *("answered", "leaves", "doors", "copies", "trial", "verdict", "detail", "refused"),
    ]
    assert names_of(Probation) == [
        *("suspicion", "pages", "bred", "leaves", "same", "last_own", "looped", "same_bred"),
        *("moving", "depth", "fresh"),
        *("half_fresh", "half_crossed", "expected", "crossed", "numbered", "numbers", "series"),
        *("out", "inside", "children", "same_depth", "strikes", "is_heir", "shapes"),
        *("half_pages", "half_number"),
        *("rate_before", "weight", "is_easing", "is_endless", "spent", "spent_at", "shared"),
        *("is_steady", "has_endless_sitemaps", "is_again"),
    ]


def test_defaults_are_left_out_of_a_row_and_come_back() -> None:
    unit = Unit(name="h.test/", pages=8, probation=Probation(suspicion="why", strikes=2))
    row = msgspec.msgpack.encode(unit)
    trial = {"suspicion": "why", "strikes": 2}
    assert msgspec.msgpack.decode(row) == {"name": "h.test/", "pages": 8, "trial": trial}
    assert decode_unit(row) == unit


def test_the_key_of_a_unit_and_those_of_its_held_tasks_begin_alike() -> None:
    unit, held = unit_key("h.test/a/"), held_key("h.test/a/", 7)
    assert unit[:1] == b"t"
    assert (unit[12:], held[12:]) == (b"u", b"p" + (7).to_bytes(8, "big"))
    assert unit[:12] == held[:12]
    assert (is_unit_row(unit), is_unit_row(held)) == (True, False)
    assert unit[1:4] == unit_key("*.h.test")[1:4], "both lie at the domain's point of the ring"
