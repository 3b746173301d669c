"""Work: a run that is due to be written, and everything needed to do so in the background."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gossamer.seen.runs import Run, checked_chunks, merged, write_run
from gossamer.seen.table import KeyTable


@dataclass(slots=True, kw_only=True)
class Work:
    """A flush of the frozen table, or a merge of runs.

    `do` may run in another thread: it reads only what nobody changes any more (the frozen table,
    the files of the runs) and touches nothing but its own new file. It can be done again after
    a failure.
    """

    path: Path
    frozen: KeyTable | None = None
    log: tuple[int, ...] = ()
    """Sequence numbers of the log rows that the new run makes superfluous."""
    replaces: tuple[Run, ...] = ()
    made: Run | None = None

    def do(self) -> None:
        """Write the run: temporary file, fsync, rename, fsync of the folder."""
        if self.frozen is not None:
            keys = np.sort(self.frozen.keys())
            self.made = write_run(self.path, [keys], len(keys))
        else:
            sources = [checked_chunks(run.path) for run in self.replaces]
            self.made = write_run(self.path, merged(sources), sum(r.count for r in self.replaces))
            for run in self.replaces:
                run.let_go()  # here, or whoever drops them waits until gigabytes are unmapped
