"""`gossamer demo`: crawl the built-in web and show what can be asked of the result."""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rich.console import Console
from rich.rule import Rule

from gossamer.cli.parameters import option
from gossamer.cli.screen import harmless, out
from gossamer.config import Config, FetchConfig
from gossamer.errors import ConfigError
from gossamer.settings import save_config

if TYPE_CHECKING:
    from gossamer.testing import FakeWeb

HOSTS, PAGES_PER_HOST, SEED = 12, 25, 7
WORDS = ("silver", "weir")
"""What is searched for: words that this web says."""
LOOPBACK = "127.0.0.0/8"
TEXT_LINES = 8
RULE_COLUMNS = 80
WATCH_PER_S, WATCH_S = "40", "4"
NAMES = "names.toml"
"""Where the demo's host names lead; also the mark of a folder that a demo made."""

Into = Annotated[Path, option("--into", metavar="DIR", help="Made anew each time.")]


def demo(*, into: Into = Path("demo-crawl")) -> int:
    """Crawl the built-in web on loopback, then ask about what was found."""
    from gossamer.testing import FakeWeb, serve_in_process

    _make_anew(into)
    screen = out()
    screen.print(
        f"A web of {HOSTS} hosts, made of the number {SEED}, is served on loopback. Nothing leaves "
        "this machine.\nThese are real commands: run them again on the folder when this has ended."
    )
    web = FakeWeb(seed=SEED, hosts=HOSTS, pages_per_host=PAGES_PER_HOST)
    with serve_in_process(web, into / "visits.log") as server:
        names = into / NAMES
        save_config(names, Config(fetch=FetchConfig(resolve=server.resolve)))
        code = _show(
            screen,
            "Start a crawl. It obeys robots.txt, keeps every page as WARC, and survives kill -9.",
            [
                *("crawl", *server.web.seeds, "--into", str(into), "--config", str(names)),
                *("--scope", "any", "--allow-net", LOOPBACK, "--delay", "0"),
            ],
        )
        code = code or _show(
            screen,
            "Keep it fresh for a moment: pages are looked at again when that is worth most.",
            ["watch", str(into), "--rate", WATCH_PER_S, "--max-time", WATCH_S],
        )
    return code or _ask(screen, into, server.web)


def _ask(screen: Console, into: Path, web: "FakeWeb") -> int:
    """Ask the stopped crawl about itself, one refused URL and one archived one."""
    refused, archived = _one_refused(into), web.seeds[0]
    steps: list[tuple[str, list[str]]] = [
        ("How does it stand?", ["status", str(into)]),
        ("Why is this page not there?", ["why", str(into), refused]),
        ("And the details of this one?", ["why", str(into), archived]),
        ("Near-duplicates (the first lines).", ["copies", str(into)]),
        ("Full-text search.", ["search", str(into), *WORDS, "--per-page", "2"]),
        ("Who links to it, and to whom does it link?", ["links", str(into), archived]),
        ("Which pages matter most?", ["rank", str(into), "--top", "5"]),
        (
            "Over which links does one get to the page that is not there?",
            ["graph", "path", str(into), archived, refused],
        ),
        (
            "The page again, as text (the first lines).",
            ["show", str(into), archived, "--text"],
        ),
    ]
    codes = [_show(screen, words, arguments) for words, arguments in steps]
    screen.print(Rule(style="dim"), width=min(screen.width, RULE_COLUMNS))
    screen.print(f"The archive: {into.resolve() / 'archive'}", markup=False, soft_wrap=True)
    screen.print(
        f"The web of this demo:  python -m gossamer.testing --seed {SEED} --hosts {HOSTS} "
        f"--pages-per-host {PAGES_PER_HOST} --port {web.port}",
        soft_wrap=True,
    )
    screen.print(
        f"Search and links in a browser:  gossamer serve {into}   (http://127.0.0.1:8080/)",
        markup=False,
        soft_wrap=True,
    )
    screen.print("A crawl of your own:  gossamer crawl https://example.org/ --into mycrawl")
    return max(codes)


def _show(screen: Console, words: str, arguments: Sequence[str]) -> int:
    """Run one command in view: what it is for, how it is typed, what it says."""
    screen.print(Rule(style="dim"), width=min(screen.width, RULE_COLUMNS))
    screen.print(words, style="bold cyan")
    screen.print(f"$ gossamer {shlex.join(arguments)}", style="green", markup=False, soft_wrap=True)
    screen.print()
    is_long = arguments[0] in {"show", "copies", "links"}
    ended = subprocess.run(  # noqa: S603 - our own command, arguments made here
        [sys.executable, "-m", "gossamer", *arguments],
        check=False,
        stdout=subprocess.PIPE if is_long else None,
    )
    if is_long:
        lines = [line for line in ended.stdout.decode("utf-8", "replace").splitlines() if line]
        for line in lines[:TEXT_LINES]:
            screen.print(harmless(line), markup=False, overflow="ellipsis", no_wrap=True)
    return ended.returncode


def _one_refused(into: Path) -> str:
    """Return a URL that robots.txt kept us from asking for."""
    from gossamer import OpenCrawl

    for record in OpenCrawl(into).records():
        if record.reason == "robots_disallowed":
            return record.url
    return "http://elsewhere.example/"


def _make_anew(folder: Path) -> None:
    """Delete the last demo; a folder that no demo made is left alone."""
    if folder.exists() and any(folder.iterdir()):
        if not (folder / NAMES).exists():
            raise ConfigError(f"{folder} holds something else: give another folder with --into")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
