"""One arm of a replay, as a process of its own: python -m replayed.arm RECORDING FOLDER SOURCE.

PYTHONPATH says whose Gossamer it is; SOURCE is checked against it. Prints the totals as JSON. With
RECORD in the environment it asks the web for what is missing and keeps the recording.
"""

import json
import os
import random
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import gossamer
from gossamer import Config, Crawl
from gossamer.config import FetchConfig, FilterConfig, PolitenessConfig
from replayed.playback import play_back
from replayed.recording import FORBIDDEN, Recording, load, record

DRAW = 13
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Player:
    """Answers from a recording, and notes what it does not hold."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._hosts = frozenset(recording.hosts)
        self.missing: list[str] = []

    def answer(self, url: str) -> bytes:
        """Return the recorded answer to a URL; hosts that were not recorded forbid everything."""
        found = self._recording.answers.get(url)
        if found is not None:
            return found
        if urlsplit(url).hostname not in self._hosts:
            return FORBIDDEN
        self.missing.append(url)
        return NOT_FOUND


def config_of(recording: Recording) -> Config:
    """Return how the crawl is made: as it comes, but without pauses and in one process."""
    return Config(
        filter=FilterConfig(scope="any", allow=("*.test",)),
        fetch=FetchConfig(allow_private=True, resolve=recording.addresses),
        politeness=PolitenessConfig(delay_s=0.0),
        shards=1,
    )


def main(path: Path, folder: Path, source: Path) -> None:
    """Crawl the recording to its end."""
    assert Path(gossamer.__file__).is_relative_to(source), gossamer.__file__
    recording = load(path)
    player, is_new = Player(recording), bool(os.environ.get("RECORD"))
    play_back((lambda url: record(recording, url)) if is_new else player.answer)
    random.SystemRandom.getrandbits = lambda _self, _bits: DRAW  # type: ignore[method-assign]  # the same draws in each run
    crawl = Crawl(folder, recording.seeds, config_of(recording))
    began_cpu_s, began = time.process_time(), time.perf_counter()
    ending = crawl.run()
    cpu_s, wall_s = time.process_time() - began_cpu_s, time.perf_counter() - began
    assert ending.reason == "finished", ending
    assert not player.missing, f"not recorded: {player.missing[:20]}"
    if is_new:
        recording.save(path)
    print(json.dumps({"crawl_cpu_s": cpu_s, "crawl_wall_s": wall_s}))


if __name__ == "__main__":
    main(*(Path(word).resolve() for word in sys.argv[1:4]))
