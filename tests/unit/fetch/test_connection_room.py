"""How many connections the descriptors of a process allow."""

import pytest

from gossamer.fetch.curl import MAX_CONNECTIONS, OTHER_DESCRIPTORS, room_in


@pytest.mark.parametrize("descriptors", [256, 1024, 4096])
def test_two_descriptors_per_connection_leave_enough_for_everything_else(descriptors: int) -> None:
    assert 2 * room_in(descriptors) + OTHER_DESCRIPTORS == descriptors


def test_there_is_room_for_some_connections_and_never_for_too_many() -> None:
    assert [room_in(few) for few in (48, 64, 128)] == [2, 8, 16]
    assert room_in(1 << 20) == MAX_CONNECTIONS
