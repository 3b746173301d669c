"""A body for tests that need no server."""

from dataclasses import dataclass
from io import BytesIO
from typing import BinaryIO


@dataclass
class Bytes:
    """A body that was never sent."""

    data: bytes
    is_spooled: bool = False

    @property
    def sent_bytes(self) -> int:
        return len(self.data)

    def open_sent(self) -> BinaryIO:
        return BytesIO(self.data)

    def sent(self) -> bytes:
        return self.data

    def decoded(self) -> bytes:
        return self.data

    def close(self) -> None:
        pass
