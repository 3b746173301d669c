"""An object file laid out as an image runs wherever it is mapped, and is refused if it cannot."""

import ctypes
import platform
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from gossamer import native
from gossamer.linking import CannotLayOut, image_of
from gossamer.native import KeptCode, kept_image, kept_object, loaded, target_machine

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="images are known for x86-64 only"
)
SWITCH = """
@table = internal constant [4 x i64] [i64 7, i64 11, i64 13, i64 17]
define i64 @"gossamer.pick"(i64 %n) {
  %place = and i64 %n, 3
  %at = getelementptr [4 x i64], ptr @table, i64 0, i64 %place
  %value = load i64, ptr %at
  %more = call i64 @twice(i64 %value)
  ret i64 %more
}
define internal i64 @twice(i64 %n) noinline {
  %sum = add i64 %n, %n
  ret i64 %sum
}
define i64 @"gossamer.other"(i64 %n) {
  ret i64 5
}
"""
WRITES = """
@count = internal global i64 1
define i64 @"gossamer.pick"(i64 %n) {
  store i64 %n, ptr @count
  ret i64 %n
}
"""
CALLS = """
declare i64 @elsewhere(i64)
define i64 @"gossamer.pick"(i64 %n) {
  %found = call i64 @elsewhere(i64 %n)
  ret i64 %found
}
"""


def object_of(text: str) -> bytes:
    machine = target_machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    return bytes(machine.emit_object(module))


def picked(code: KeptCode) -> list[int]:
    kept = loaded(code)
    pick = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(kept.address_of("gossamer.pick"))
    return [pick(n) for n in range(4)]


def test_an_image_runs_from_a_file_and_from_memory(tmp_path: Path) -> None:
    image = image_of(object_of(SWITCH), "gossamer.")
    assert set(image.places) == {"gossamer.pick", "gossamer.other"}
    content = kept_image(*image)
    place = tmp_path / "kept"
    place.write_bytes(content)
    assert picked(KeptCode(content, place)) == [14, 22, 26, 34]
    assert picked(KeptCode(content, None)) == [14, 22, 26, 34]
    assert picked(KeptCode(content, tmp_path / "gone")) == [14, 22, 26, 34]


def test_an_object_is_loaded_by_llvm() -> None:
    assert picked(KeptCode(kept_object(object_of(SWITCH)), None)) == [14, 22, 26, 34]


@pytest.mark.parametrize("text", [WRITES, CALLS])
def test_what_an_image_cannot_have_is_refused(text: str) -> None:
    with pytest.raises(CannotLayOut):
        image_of(object_of(text), "gossamer.")


@pytest.mark.parametrize("made", [b"", b"\x7fELF\x01\x01", b"MZ" + bytes(100)])
def test_what_is_no_object_of_64_bits_is_refused(made: bytes) -> None:
    with pytest.raises(CannotLayOut):
        image_of(made, "")


def test_a_processor_that_the_system_does_not_name_is_named_by_llvm() -> None:
    assert native.processor(Path("/nowhere")) == ""
    assert native.processor()
