"""The built wheel works in an environment of its own."""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from gossamer.testing import FakeWeb, serve_in_process
from tests.e2e.archive import read_archive
from tests.e2e.crawler import flags_for
from tests.e2e.judge import Judge

pytest.importorskip("hatchling", reason="hatchling builds the wheel")

ROOT = Path(__file__).parents[2]


def run(*words: str | Path, cwd: Path) -> str:
    """Run a command that must succeed, away from the checkout and its settings."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", place, cwd=ROOT)
    found = list(place.glob("*.whl"))
    assert len(found) == 1
    return found[0]


@pytest.fixture(scope="module")
def bin_folder(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; the dependencies are lent, the package is not."""
    place = tmp_path_factory.mktemp("fresh")
    venv.create(place / "env", with_pip=False)
    fresh = place / "env" / "bin" / "python"
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(run(fresh, "-I", "-c", code, cwd=place).strip())
    target = f"--python={fresh}"
    run(sys.executable, "-m", "pip", target, "install", "-q", "--no-deps", wheel, cwd=place)
    # A path after our own packages: what is installed in both is taken from here.
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return fresh.parent


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "gossamer/py.typed" in names
    roots = {name.split("/")[0].partition("-")[0] for name in names}
    assert roots == {"gossamer"}
    assert not [n for n in names if n.endswith((".pyc", ".so")) or "test_" in n]


def test_the_installed_command_says_what_it_is(bin_folder: Path, tmp_path: Path) -> None:
    said = run(bin_folder / "gossamer", "--version", cwd=tmp_path)
    assert said.startswith("gossamer ")
    assert "crawl" in run(bin_folder / "gossamer", "--help", cwd=tmp_path)
    code = "import gossamer; print(gossamer.__file__)"
    assert str(bin_folder.parent) in run(bin_folder / "python", "-I", "-c", code, cwd=tmp_path)


@pytest.mark.slow
def test_the_installed_command_crawls(bin_folder: Path, tmp_path: Path) -> None:
    with serve_in_process(FakeWeb(seed=9, hosts=2, pages_per_host=4), tmp_path / "log") as server:
        flags = flags_for(server.resolve, "--delay", "0", "--json")
        words = ("crawl", *server.web.seeds, "--into", tmp_path / "crawl", *flags)
        run(bin_folder / "gossamer", *words, cwd=tmp_path)
        Judge(server.web).assert_complete(read_archive(tmp_path / "crawl"))
        run(bin_folder / "python", "-m", "gossamer", "status", tmp_path / "crawl", cwd=tmp_path)
