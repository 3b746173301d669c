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
GO_PEER = Path(__file__).parent / "peers" / "go"
REPOSITORY = Path(__file__).resolve().parent.parent.parent


@cache
def peer_python() -> str:
    """Return the interpreter of the peers' environment, made on first use and kept in the cache."""
    wanted = REQUIREMENTS.read_bytes()
    folder = _kept("peers", wanted + sys.version.encode())
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(f"installing the peers into {folder}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        subprocess.run([*pip, "--only-binary", ":all:", "-r", str(REQUIREMENTS)], check=True)
        (folder / "complete").touch()
    return str(python)


def _kept(name: str, content: bytes) -> Path:
    """Return the folder in the cache for what is made of some content."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "gossamer-bench" / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"


@cache
def go_peer() -> str:
    """Return the program of the Go crawler, built if need be; "" without Go."""
    sources = sorted(GO_PEER.glob("*.go"))
    program = _kept("go", b"".join(path.read_bytes() for path in sources)) / "crawler"
    if not program.exists():
        if not has_program("go") and not has_program("golang-go"):
            return ""
        program.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["go", "build", "-o", str(program), "."], check=True, cwd=GO_PEER)
    return str(program)


@cache
def gossamer_at(commit: str) -> str:
    """Return the command of an older version with the dependencies of its day, made on first use.

    Its kernels are compiled by the first crawl, which therefore should not count.
    """
    folder = _kept(f"gossamer-{commit}", sys.version.encode())
    if not (folder / "complete").exists():
        print(f"installing {commit} into {folder}", flush=True)
        source, bin_ = folder / "source", folder / "bin"
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        source.mkdir()
        archive = ["git", "-C", str(REPOSITORY), "archive", commit]
        packed = subprocess.run(archive, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(source)], check=True, input=packed)
        pip = [str(bin_ / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        lock = str(source / "requirements.lock")
        subprocess.run([*pip, "--only-binary", ":all:", "-r", lock], check=True)
        subprocess.run([*pip, "--no-deps", "--no-build-isolation", "-e", str(source)], check=True)
        (folder / "complete").touch()
    return str(folder / "bin" / "gossamer")


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
    if go_peer():
        told = subprocess.run(["go", "version"], check=True, capture_output=True, text=True)
        found["go"] = told.stdout.split()[2].removeprefix("go")
    for program in ("wget", "wget2"):
        if has_program(program):
            told = subprocess.run(
                [program, "--version"], check=True, capture_output=True, text=True
            )
            found[program] = told.stdout.split()[2]
    return found
