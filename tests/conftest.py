"""What holds for all tests: none fails because a machine is slow, so no example has a deadline.

Packages of benchmarks are imported by the name under which a benchmark runs them (`laboratory`,
`orders`): numba's cache on disk remembers types by that name, and under two names each would find
the other's. Their folder comes last on the path, so that it hides no installed package.
"""

import sys
from pathlib import Path

from hypothesis import settings

from tests.examples import HALF, ORDINARY, QUICK

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

settings.register_profile("full", deadline=None, max_examples=ORDINARY)
settings.register_profile("unhurried", settings.get_profile("full"), max_examples=HALF)
settings.register_profile("quick", settings.get_profile("unhurried"), max_examples=QUICK)
settings.load_profile("unhurried")  # `make quick` says --hypothesis-profile=quick
