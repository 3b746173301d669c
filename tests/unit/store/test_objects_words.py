"""What an object store's library says is told in one line, with what helps."""

import pytest

from gossamer.store.objects import explained


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("Unable to delete file /x/proof/1: Read-only file system (os error 30)", "mounted"),
        ("Unable to create dir /x/0001: Permission denied (os error 13)", "owner and mode"),
        ("something\nelse", "something"),
    ],
)
def test_what_a_folder_refuses_is_told_with_its_remedy(said: str, told: str) -> None:
    words = explained(f"Generic LocalFileSystem error: {said}")
    assert told in words
    assert "\n" not in words
