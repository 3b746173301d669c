"""Where the peers are: Python packages in an environment of their own, the rest from the system."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "requirements.txt"
GOSSAMER = str(Path(sys.executable).parent / "gossamer")


@cache
def peer_python() -> str:
    """Return the interpreter of the peers' environment, made on first use and kept in the cache."""
    wanted = REQUIREMENTS.read_bytes()
    name = hashlib.sha256(wanted + sys.version.encode()).hexdigest()[:12]
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = caches / "gossamer-bench" / f"peers-{name}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(f"installing the peers into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*pip, "--only-binary", ":all:", "-r", str(REQUIREMENTS)], check=True)
        (folder / "complete").touch()
    return str(python)


@cache
def has_program(name: str) -> bool:
    """Tell whether a program of the distribution is there, after trying to install it."""
    if shutil.which(name) is None and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-qq", name], check=False, capture_output=True)
    return shutil.which(name) is not None


def versions() -> dict[str, str]:
    """Return the version of every crawler that takes part."""
    pinned = re.findall(r"^([a-z0-9]+)(?:\[\w+\])?==(\S+)", REQUIREMENTS.read_text(), re.MULTILINE)
    found = {"gossamer": version("gossamer"), **dict(pinned)}
    for program in ("wget", "wget2"):
        if has_program(program):
            told = subprocess.run(
                [program, "--version"], check=True, capture_output=True, text=True
            )
            found[program] = told.stdout.split()[2]
    return found
