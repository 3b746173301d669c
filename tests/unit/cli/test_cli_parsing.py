"""The parser: what a line of words gives a command, and what is said of a wrong one."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.cli.app import ELSEWHERE, every_command
from gossamer.cli.crawl import crawl
from gossamer.cli.main import exit_code
from gossamer.cli.parameters import argument, declarations_of, option
from gossamer.cli.parsing import given_values
from gossamer.errors import ConfigError


def bake(
    folder: Annotated[Path, argument(metavar="DIR")],
    words: Annotated[list[str] | None, argument(metavar="WORD")] = None,
    *,
    json: Annotated[bool, option("--json", "-j")] = False,
    ranks: Annotated[bool, option("--ranks/--no-ranks")] = True,
    top: Annotated[int, option("--top", "-t", min=1, max=9)] = 3,
    rate: Annotated[float | None, option("--rate")] = None,
    kind: Annotated[list[str] | None, option("--kind")] = None,
    how: Annotated[Literal["text", "jsonl"], option("--how")] = "text",
    both: Annotated[tuple[int, int] | None, option("--both")] = None,
    token: Annotated[str, option("--token", envvar="BAKE_TOKEN")] = "",
) -> None:
    """Bake."""


def read(line: str, *, ours_alone: bool = True) -> dict[str, object] | None:
    """Return what a line gives, without what is as it is if nothing is given."""
    command = declarations_of(bake)
    found = given_values(command, line.split(), "gossamer bake", ours_alone=ours_alone)
    if found is None:
        return None
    defaults = {one.name: one.default for one in command}
    return {name: value for name, value in found.items() if value != defaults[name]}


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("D", {}),
        ("D a b", {"words": ["a", "b"]}),
        ("D --json a -t 4 b", {"words": ["a", "b"], "json": True, "top": 4}),
        ("--top=4 D", {"top": 4}),
        ("-t4 D", {"top": 4}),
        ("-jt4 D", {"top": 4, "json": True}),
        ("--top 4 --top 5 D", {"top": 5}),
        ("D --no-ranks", {"ranks": False}),
        ("D --no-ranks --ranks", {}),
        ("D --rate .5", {"rate": 0.5}),
        ("D --kind a --kind=b", {"kind": ["a", "b"]}),
        ("D --how jsonl", {"how": "jsonl"}),
        ("D --both 1 2 a", {"both": (1, 2), "words": ["a"]}),
        ("D --token -x", {"token": "-x"}),
        ("D -- --json -j", {"words": ["--json", "-j"]}),
        ("D -", {"words": ["-"]}),
    ],
)
def test_options_may_stand_anywhere_and_be_spelled_in_the_usual_ways(
    line: str, given: dict[str, object]
) -> None:
    found = read(line)
    assert found is not None
    assert found.pop("folder") == Path("D")
    assert found == given


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "Missing argument 'DIR'; see `gossamer bake --help`"),
        ("D --top", "Option '--top' requires an argument; see"),
        ("D --both 1", "Option '--both' requires 2 arguments; see"),
        ("D --json=1", "Option '--json' does not take a value; see"),
        ("D --tpo 3", "No such option: --tpo; did you mean --top? (or see `gossamer bake --help`)"),
        ("D -x", "No such option: -x; see `gossamer bake --help`"),
        ("D -jx", "No such option: -x; see"),
        ("D --top 0", "'--top': expected a whole number from 1 to 9, found '0'; see"),
        ("D --top 1.5", "'--top': expected a whole number from 1 to 9, found '1.5'; see"),
        ("D --rate fast", "'--rate': expected a number, found 'fast'; see"),
        ("D --how json", "expected one of text, jsonl, found 'json'; did you mean jsonl?"),
    ],
)
def test_what_is_wrong_is_said_with_the_remedy(line: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(line)
    assert said in str(caught.value)


def test_an_empty_name_is_not_the_current_folder() -> None:
    with pytest.raises(ConfigError, match="'DIR': expected a name, found ''"):
        given_values(declarations_of(bake), [""], "gossamer bake")


@pytest.mark.parametrize("line", ["--help", "-h", "D -jh", "D --top 4 --help", "--help --json"])
def test_help_is_given_wherever_it_is_asked_for(line: str) -> None:
    assert read(line) is None


def test_a_command_may_take_options_of_others_for_words() -> None:
    found = read("D --amend -f --json -xj", ours_alone=False)
    assert found == {"folder": Path("D"), "words": ["--amend", "-f", "-xj"], "json": True}


def test_the_environment_gives_what_the_line_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BAKE_TOKEN", "from outside")
    assert read("D") == {"folder": Path("D"), "token": "from outside"}
    assert read("D --token x") == {"folder": Path("D"), "token": "x"}


@given(st.lists(st.sampled_from(["a", "--json", "-t", "4", "--", "-h", "--both", "-jx", "", "-"])))
def test_any_line_is_read_or_refused_in_one_line(words: list[str]) -> None:
    try:
        found = given_values(declarations_of(bake), words, "gossamer bake")
    except ConfigError as error:
        said = str(error)
    else:
        assert found is None or set(found) == {one.name for one in declarations_of(bake)}
        return
    assert "\n" not in said
    assert "gossamer bake --help" in said


def test_no_option_of_a_command_stands_for_two() -> None:
    for command, declarations in every_command():
        names = [name for one in declarations for name in (*one.on, *one.off)]
        assert len(set(names)) == len(names), command
        assert all(
            one.declared.help or one.declared.knob or one.declared.hidden for one in declarations
        ), command


def test_flags_of_other_crawlers_are_none_of_ours() -> None:
    ours = {name for one in declarations_of(crawl) for name in (*one.on, *one.off)}
    assert ours.isdisjoint(ELSEWHERE)


def test_a_command_with_commands_shows_them_and_asks_which(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert exit_code(["graph"]) == 2
    said = capsys.readouterr()
    assert said.err == "gossamer: which of its commands? See `gossamer graph --help`\n"
    assert "from-edges" in said.out
    assert exit_code(["graph", "--help"]) == 0
    assert capsys.readouterr().out == said.out


@pytest.mark.parametrize("line", ["--version", "status {folder}", "crawl --help", "links --help"])
def test_what_a_command_does_not_need_is_not_loaded(line: str, tmp_path: Path) -> None:
    words = line.format(folder=tmp_path).split()
    code = (
        "import sys; from gossamer.cli.main import exit_code; exit_code(sys.argv[1:])\n"
        "heavy = ('typer', 'numpy', 'pycurl', 'gossamer.search', 'gossamer.crawl', 'numba')\n"
        "print([name for name in heavy if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout
