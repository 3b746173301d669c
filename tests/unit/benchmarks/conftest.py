"""Packages of benchmarks are imported by the name under which a benchmark runs them.

numba's cache on disk remembers types by that name: under two names each would find the other's.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))
