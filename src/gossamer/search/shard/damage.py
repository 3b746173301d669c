"""What the engine says when its files are not what it wrote, told as what to do about it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.errors import CannotGoOn

_PANIC = "PanicException"
"""A bug trap of the engine. It is no `Exception`, and its module cannot be imported."""


class BadShard(CannotGoOn):
    """A shard that cannot be asked: it is damaged, or not there."""


@contextmanager
def guarded(path: Path, doing: str = "read") -> Iterator[None]:
    """Turn what the engine raises into `BadShard`, with what to do."""
    try:
        yield
    except (ValueError, OSError, KeyError, IndexError) as error:
        raise _told(path, doing, error) from error
    except BaseException as error:
        if type(error).__name__ == _PANIC:
            raise _told(path, doing, error) from None  # its trace is the engine's, and long
        raise


def _told(path: Path, doing: str, error: BaseException) -> BadShard:
    reason = " ".join(str(error).split())[:200]
    room = "make room there, or " if doing == "written" else ""
    return BadShard(
        f"the index at {path} cannot be {doing}: {reason}; {room}"
        "make it anew from the archive with `gossamer build DIR index --full`"
    )
