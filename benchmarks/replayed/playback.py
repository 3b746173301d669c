"""libcurl played back: answers come from memory instead of sockets.

Both versions under comparison talk to servers through pycurl and differ in everything above it, so
this is where they are cut: an answer's header lines and body go to the same callbacks as libcurl's,
and all of the crawler runs but the network.
"""

from collections.abc import Callable
from typing import Any

import pycurl

PIECE_BYTES = 65_536


class Tape:
    """Answers by URL, cut into header lines and pieces of the body as libcurl hands them over."""

    def __init__(self, answer_of: Callable[[str], bytes]) -> None:
        self._answer_of = answer_of
        self._cut: dict[str, tuple[list[bytes], list[bytes]]] = {}

    def answer(self, url: str) -> tuple[list[bytes], list[bytes]]:
        """Return the lines and the pieces of an answer."""
        cut = self._cut.get(url)
        if cut is None:
            head, _, body = self._answer_of(url).partition(b"\r\n\r\n")
            lines = [line + b"\r\n" for line in head.split(b"\r\n")]
            starts = range(0, len(body), PIECE_BYTES)
            pieces = [body[start : start + PIECE_BYTES] for start in starts]
            cut = self._cut[url] = ([*lines, b"\r\n"], pieces)
        return cut


class PlayedCurl:
    """A handle."""

    def __init__(self) -> None:
        self._options: dict[int, Any] = {}

    def setopt(self, option: int, value: object) -> None:
        """Set an option."""
        self._options[option] = value

    def unsetopt(self, option: int) -> None:
        """Forget an option."""
        self._options.pop(option, None)

    def play(self, tape: Tape) -> None:
        """Hand the answer to the callbacks."""
        lines, pieces = tape.answer(self._options[pycurl.URL])
        take_line, take_piece = (
            self._options[pycurl.HEADERFUNCTION],
            self._options[pycurl.WRITEFUNCTION],
        )
        for line in lines:
            take_line(line)
        for piece in pieces:
            take_piece(piece)

    def close(self) -> None:
        """Free nothing."""


class PlayedMulti:
    """Many transfers: all that were added are answered when time has passed."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape
        self._set_timer: Callable[[int], None] = lambda _ms: None
        self._added: dict[PlayedCurl, None] = {}
        self._done: list[PlayedCurl] = []

    def setopt(self, option: int, value: Any) -> None:  # noqa: ANN401 - as pycurl takes it
        """Keep the callback that sets the timer."""
        if option == pycurl.M_TIMERFUNCTION:
            self._set_timer = value

    def add_handle(self, curl: PlayedCurl) -> None:
        """Begin a transfer."""
        self._added[curl] = None
        self._set_timer(0)

    def remove_handle(self, curl: PlayedCurl) -> None:
        """Break a transfer off, unless it has ended."""
        self._added.pop(curl, None)

    def socket_action(self, _descriptor: int, _events: int) -> None:
        """Answer all."""
        added, self._added = self._added, {}
        for curl in added:
            curl.play(self._tape)
        self._done += added

    def info_read(self, _most: int) -> tuple[int, list[PlayedCurl], list[object]]:
        """Return the transfers that have ended since."""
        done, self._done = self._done, []
        return 0, done, []

    def close(self) -> None:
        """Free nothing."""


def play_back(answer_of: Callable[[str], bytes]) -> None:
    """Let pycurl answer from memory in this process from now on."""
    tape = Tape(answer_of)
    pycurl.Curl = PlayedCurl
    pycurl.CurlMulti = lambda: PlayedMulti(tape)
