"""Work in a fork, for tests that let it be killed."""

import gc
import os
from collections.abc import Callable

ENDED, FAILED = 0, 3


def in_a_fork(work: Callable[[], object]) -> int:
    """Do something in a process of its own; return how that ended."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    gc.freeze()  # what another test has left is not ours to collect
    try:
        work()
    except BaseException:  # noqa: BLE001 -- nothing of the tests may go on in the fork
        os._exit(FAILED)
    os._exit(ENDED)
