"""Are wheel and sdist whole? `make dist`: each is installed in a new environment and crawls there.

Dependencies come from the package index, in the versions of requirements.lock.
"""

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]


def run(*words: str | Path, cwd: Path) -> str:
    """X"""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"dist: {' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def try_out(package: Path, version: str) -> None:
    """Install a package in a new environment, ask for its version, and crawl the built-in web."""
    with TemporaryDirectory(prefix="gossamer-dist-") as place:
        folder = Path(place)
        venv.create(folder / "env", with_pip=True)
        command = folder / "env" / "bin"
        print(f"installing {package.name} ...", flush=True)
        pip = (command / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
        run(*pip, "--constraint", ROOT / "requirements.lock", package, cwd=folder)
        told = run(command / "gossamer", "--version", cwd=folder).strip()
        if told != f"gossamer {version}":
            sys.exit(f"dist: {package.name} says {told!r}, expected version {version}")
        print(f"{told}: gossamer demo ...", flush=True)
        run(command / "gossamer", "demo", cwd=folder)


def main() -> None:
    """Try out what was built, and say what there is."""
    built = Path(sys.argv[1]).resolve()
    (wheel,) = built.glob("*.whl")
    (sdist,) = built.glob("*.tar.gz")
    version = wheel.name.split("-")[1]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = [line for line in changes.splitlines() if line.startswith("## ")]
    if not any(version in line for line in headings):
        sys.exit(f"dist: CHANGELOG.md has no heading with version {version}")
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    with tarfile.open(sdist) as files:
        sources = [name for name in files.getnames() if "/src/gossamer/" in name]
    for package in (wheel, sdist):
        try_out(package, version)
    print(
        f"{wheel.name}: {len(names)} files; {sdist.name}: {len(sources)} of them from src/gossamer"
    )


if __name__ == "__main__":
    main()
