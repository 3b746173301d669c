"""ShardFiles: the dictionary and the lists of one term shard, as they are written."""

from pathlib import Path

import numpy as np

from gossamer.search.terms.merging import Lists


class ShardFiles:
    """Writes a shard. Its vocabulary is put in order in memory, when all of it is there."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        names = ("hashes", "starts", "texts", "text_ends", "having", "postings")
        self._files = {name: (folder / name).open("wb") for name in names}

    def add(self, lists: Lists) -> None:
        """Append lists whose hashes are above those before."""
        starts = lists.starts + self._files["postings"].tell()
        text_ends = np.cumsum([len(text) for text in lists.texts]) + self._files["texts"].tell()
        parts = {
            "hashes": lists.hashes.tobytes(),
            "starts": starts.tobytes(),
            "texts": b"".join(lists.texts),
            "text_ends": text_ends.tobytes(),
            "having": lists.having.astype(np.uint32).tobytes(),
            "postings": lists.postings.tobytes(),
        }
        for name, part in parts.items():
            self._files[name].write(part)

    def close(self) -> None:
        """Write the order of the terms."""
        for file in self._files.values():
            file.close()
        texts = (self._folder / "texts").read_bytes()
        ends = np.fromfile(self._folder / "text_ends", np.int64).tolist()
        terms = [texts[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        order = sorted(range(len(terms)), key=terms.__getitem__)
        np.array(order, np.uint32).tofile(self._folder / "by_text")
