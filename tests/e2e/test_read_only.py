"""A crawl on a medium that cannot be written can be asked; and asking writes nothing anywhere.

Root may write wherever modes forbid it, so the medium is a read-only bind mount, in a mount
namespace of its own.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.crawler import GOSSAMER, Crawler
from tests.golden.test_crawl_folders import HERE, VERSIONS
from tests.golden.web import HOSTS, url_of

SEED = url_of(HOSTS[0], "/")
READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
MAY_MOUNT = subprocess.run(
    ["unshare", "-m", "sh", "-c", READ_ONLY, str(HERE), "true"], check=False, capture_output=True
).returncode
QUESTIONS = (
    ("status",),
    ("why", SEED),
    ("show", SEED),
    ("copies",),
    ("list", "urls"),
    ("list", "hosts", "--json"),
    ("list", "links", "--failed"),
    ("search", "amber"),
    ("links", SEED),
    ("rank",),
)
PYTHON = """
import sys, gossamer
crawl = gossamer.open(sys.argv[1])
url = sys.argv[2]
assert crawl.status().pages and crawl.why(url).state == "archived" and crawl.page(url).body()
assert crawl.search("amber").hits and crawl.links(url) and crawl.rank().pages
assert sum(1 for _ in crawl.pages()) and sum(1 for _ in crawl.records())
"""


@pytest.fixture(scope="module", params=["killed", "stopped"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as an older version left it when it was killed; and one that we have written.

    An index of another version cannot be asked: it is built again in both.
    """
    folder = tmp_path_factory.mktemp("crawl") / "crawl"
    shutil.copytree(HERE / VERSIONS[0] / "crawl", folder)
    crawler = Crawler(folder, (), ())
    if request.param == "stopped":
        crawler.say("add", SEED).expect(0)
        crawler.ask("build", "graph").expect(0)
    crawler.ask("build", "index", "--no-ranks").expect(0)
    return folder


def listing(*folders: Path) -> dict[str, tuple[int, int]]:
    """Return when each file and folder below some folders was changed, and how long it is."""
    found = (path for folder in folders for path in (folder, *folder.rglob("*")))
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in found}


def run(words: list[str], nowhere: Path, temporary: Path) -> subprocess.CompletedProcess[str]:
    """Run a command with a home and a working directory in which nothing may appear."""
    env = {**os.environ, "HOME": str(nowhere), "TMPDIR": str(temporary), "COLUMNS": "200"}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    return subprocess.run(
        words, check=False, capture_output=True, text=True, errors="replace", env=env, cwd=nowhere
    )


@pytest.fixture
def nowhere(tmp_path: Path) -> Path:
    (tmp_path / "nowhere").mkdir()
    return tmp_path / "nowhere"


@pytest.fixture
def temporary(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return tmp_path / "tmp"


@pytest.mark.skipif(MAY_MOUNT != 0, reason="needs root: makes a read-only mount in a namespace")
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda words: words[0])
def test_a_crawl_on_a_read_only_medium_is_asked_without_writing_anywhere(
    folder: Path, nowhere: Path, temporary: Path, question: tuple[str, ...]
) -> None:
    verb, *words = question
    before = listing(folder, nowhere)
    command = [GOSSAMER, verb, str(folder), *words]
    ended = run(["unshare", "-m", "sh", "-c", READ_ONLY, str(folder), *command], nowhere, temporary)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout
    assert "Traceback" not in ended.stderr
    assert ended.stderr.count("\n") <= 1
    assert listing(folder, nowhere) == before
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(MAY_MOUNT != 0, reason="needs root: makes a read-only mount in a namespace")
def test_a_crawl_on_a_read_only_medium_is_asked_from_python(
    folder: Path, nowhere: Path, temporary: Path
) -> None:
    before = listing(folder, nowhere)
    command = [sys.executable, "-c", PYTHON, str(folder), SEED]
    ended = run(["unshare", "-m", "sh", "-c", READ_ONLY, str(folder), *command], nowhere, temporary)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert listing(folder, nowhere) == before
    assert list(temporary.iterdir()) == []


@pytest.mark.skipif(MAY_MOUNT != 0, reason="needs root: makes a read-only mount in a namespace")
@pytest.mark.parametrize(
    ("what", "verb", "word"), [("index", "search", "amber"), ("graph", "links", SEED)]
)
def test_what_must_be_built_first_is_refused_in_one_line_on_a_read_only_medium(
    tmp_path: Path, nowhere: Path, temporary: Path, what: str, verb: str, word: str
) -> None:
    folder = tmp_path / "crawl"
    shutil.copytree(HERE / VERSIONS[-1] / "crawl", folder)
    shutil.rmtree(folder / what)
    command = [GOSSAMER, verb, str(folder), word]
    ended = run(["unshare", "-m", "sh", "-c", READ_ONLY, str(folder), *command], nowhere, temporary)
    assert ended.returncode == 4
    assert ended.stderr.startswith(f"gossamer: cannot build the {what} in {folder}: Read-only")
    assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "question",
    [*QUESTIONS[:4], ("links", SEED, "--no-build"), ("rank", "--no-build", "--no-save")],
    ids=lambda words: words[0],
)
def test_a_question_writes_nothing_into_a_folder_that_can_be_written(
    folder: Path, nowhere: Path, temporary: Path, question: tuple[str, ...]
) -> None:
    verb, *words = question
    before = listing(folder, nowhere)
    ended = run([GOSSAMER, verb, str(folder), *words], nowhere, temporary)
    assert ended.returncode == 0, ended.stderr
    assert listing(folder, nowhere) == before
    assert list(temporary.iterdir()) == []
