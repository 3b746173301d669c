"""Kernels: compiled once, kept as a file, and loaded without a compiler after that."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gossamer.native import Native

KERNEL = """
def total(words, count):
    found = 0
    for place in range(count):
        found += words[place]
    return found
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "total_kernels.py"
    path.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location("total_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.mark.slow
def test_a_kernel_is_compiled_once(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = np.arange(10, dtype=np.int64)
    first = Native([module], {"total": "In"})
    assert first["total"](words.ctypes.data, len(words)) == 45
    assert len(list(tmp_path.rglob("total_kernels-*.native"))) == 1

    monkeypatch.setitem(sys.modules, "numba", None)  # there is no compiler now
    again = Native([module], {"total": "In"})
    assert again["total"](words.ctypes.data, len(words)) == 45
    with pytest.raises(ImportError):
        Native([module], {"total": "Bn"})


@pytest.mark.slow
def test_compiling_is_told_once_per_process_also_without_a_terminal(
    module: ModuleType, tmp_path: Path
) -> None:
    compiling = """
import total_kernels
from gossamer.native import Native
for signature in ("In", "Wn"):
    Native([total_kernels], {"total": signature})
"""
    search = os.pathsep.join([str(tmp_path), *sys.path])
    told = [
        subprocess.run(
            [sys.executable, "-c", compiling],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": search},
        ).stderr
        for _ in range(2)
    ]
    assert Path(str(module.__file__)).parent == tmp_path
    assert told[0].count("compiling") == told[0].count("\n") == 1
    assert told[1] == ""
