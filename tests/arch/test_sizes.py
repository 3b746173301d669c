"""Shape: files and functions that can be read at once, and no inheritance."""

import ast

from house import classes, functions, lines_of, name_of, sources

FILE_LINES, FUNCTION_LINES = 600, 60
STATE_MACHINES = "src/gossamer/process/onepass/"
"""Kernels that follow the HTML standard, state by state: what a loop of theirs remembers is in
registers, and would be in memory if the loop were cut into functions."""


def test_no_file_is_too_long_to_be_read_at_once() -> None:
    lengths = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in sources()}
    assert {name: n for name, n in lengths.items() if n > FILE_LINES} == {}


def test_no_function_is_longer_than_60_lines() -> None:
    found = {
        f"{name_of(path)}:{node.name}": lines_of(node)
        for path in sources()
        for node in functions(path)
        if not (name_of(path).startswith(STATE_MACHINES) and path.stem.endswith("_kernels"))
    }
    assert {name: n for name, n in found.items() if n > FUNCTION_LINES} == {}


def test_inheritance_is_for_protocols_values_enums_and_exceptions_only() -> None:
    allowed = {
        "Protocol",
        "Struct",
        "IntFlag",
        "StrEnum",
        "IntEnum",
        "Enum",
        "Exception",
        "Generic",
        "NamedTuple",
        "TypedDict",  # keyword arguments
        "Sequence",  # links in columns are what a list of links is to everybody else
        "Mapping",
    }
    for path in sources():
        names = {node.name for node in classes(path)}
        for node in classes(path):
            for base in node.bases:
                word = ast.unparse(base).partition("[")[0].rpartition(".")[2]
                is_error = word.endswith(("Error", "CannotGoOn")) or word in names
                assert word in allowed or is_error, f"{name_of(path)}: {node.name}({word})"
