"""Kernels: compiled once, kept as a file, and loaded without a compiler after that."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gossamer.native import Native, at_once

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

    monkeypatch.setattr(sys, "executable", "/bin/false")  # there is no compiler now
    again = Native([module], {"total": "In"})
    assert again["total"](words.ctypes.data, len(words)) == 45
    with pytest.raises(RuntimeError, match="cannot compile code for this machine"):
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


@pytest.mark.slow
def test_code_that_is_damaged_on_disk_is_made_anew(module: ModuleType, tmp_path: Path) -> None:
    words = np.arange(10, dtype=np.int64)
    Native([module], {"total": "In"})
    (kept,) = tmp_path.rglob("total_kernels-*.native")
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-100])
    assert Native([module], {"total": "In"})["total"](words.ctypes.data, 10) == 45
    assert kept.read_bytes() == whole


@pytest.mark.slow
def test_what_needs_more_than_the_machine_is_refused(tmp_path: Path, module: ModuleType) -> None:
    path = Path(str(module.__file__))
    path.write_text("def total(words, count):\n    return len([words[0]] * count)\n")
    with pytest.raises(RuntimeError, match="cannot compile code for this machine"):
        Native([module], {"total": "In"})
    assert not list(tmp_path.rglob("*.native"))


@pytest.mark.slow
def test_sets_of_kernels_that_are_compiled_at_once_are_the_same(module: ModuleType) -> None:
    words = np.arange(10, dtype=np.int64)
    signed, unsigned = at_once(
        lambda: Native([module], {"total": "In"}), lambda: Native([module], {"total": "Wn"})
    )
    assert signed["total"](words.ctypes.data, 10) == unsigned["total"](words.ctypes.data, 10) == 45


@pytest.mark.slow
def test_signed_numbers_wrap_as_the_machine_has_it(module: ModuleType) -> None:
    path = Path(str(module.__file__))
    path.write_text("""
PRIME = 0x9E3779B185EBCA87 - (1 << 64)

def total(words, count):
    found = count * PRIME
    for place in range(count):
        found = (found ^ words[place]) * PRIME + count
    return found + 1 > found
""")
    native = Native([module], {"total": "In"})
    words = np.array([2**62, -(2**62), 2**63 - 1], dtype=np.int64)
    found = 3 * 0x9E3779B185EBCA87
    for word in words.tolist():
        found = (found ^ word) * 0x9E3779B185EBCA87 + 3
    assert native["total"](words.ctypes.data, 3) == 1
    path.write_text(path.read_text().replace("found + 1 > found", "found"))
    wrapped = Native([module], {"total": "In"})["total"](words.ctypes.data, 3)
    assert wrapped % 2**64 == found % 2**64
    path.write_text("def total(words, count):\n    return words[0] + 1 > words[0]\n")
    largest = np.array([2**63 - 1], dtype=np.int64)
    assert Native([module], {"total": "In"})["total"](largest.ctypes.data, 1) == 0
