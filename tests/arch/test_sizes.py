"""Sizes: a file, a function, a class and a room stay small enough to be read at once."""

import ast

from house import classes, functions, lines_of, name_of, public_methods, rooms, sources

FILE_LINES, FUNCTION_LINES, CLASS_LINES = 400, 40, 200
PUBLIC_METHODS, ROOM_FILES = 12, 10


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {name_of(p): len(p.read_text(encoding="utf-8").splitlines()) for p in sources()}
    assert {name: n for name, n in lengths.items() if n > FILE_LINES} == {}


def test_no_function_is_longer_than_40_lines() -> None:
    found = {
        f"{name_of(path)}:{node.name}": lines_of(node)
        for path in sources()
        for node in functions(path)
    }
    assert {name: n for name, n in found.items() if n > FUNCTION_LINES} == {}


def test_no_class_is_longer_than_200_lines() -> None:
    found = {
        f"{name_of(path)}:{node.name}": lines_of(node)
        for path in sources()
        for node in classes(path)
    }
    assert {name: n for name, n in found.items() if n > CLASS_LINES} == {}


def test_no_class_has_more_than_12_public_methods() -> None:
    found = {
        f"{name_of(path)}:{node.name}": public_methods(node)
        for path in sources()
        for node in classes(path)
    }
    assert {name: n for name, n in found.items() if n > PUBLIC_METHODS} == {}


def test_no_room_has_more_than_10_files_besides_its_front_door() -> None:
    found = {
        name_of(room): sum(path.name != "__init__.py" for path in room.glob("*.py"))
        for room in rooms()
    }
    assert {name: n for name, n in found.items() if n > ROOM_FILES} == {}


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
    }
    for path in sources():
        names = {node.name for node in classes(path)}
        for node in classes(path):
            for base in node.bases:
                word = ast.unparse(base).partition("[")[0].rpartition(".")[2]
                is_error = word.endswith(("Error", "CannotGoOn")) or word in names
                assert word in allowed or is_error, f"{name_of(path)}: {node.name}({word})"
