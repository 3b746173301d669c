"""The compiler of kernels: Python functions in, one object file out, by numba and LLVM.

It is a process of its own, `python -m gossamer.compiling`, so that who needs a kernel does not
import numba, and several sets of kernels compile at once. numba is asked for types and for LLVM's
text alone. By itself it would optimise and emit each function whenever another one calls it, with
all that it calls: two thirds of the time. Here everything is linked once, and then optimised once.

Private interfaces of numba are used here and nowhere else: it is pinned to tested versions.

Not for: who wants kernels (`native.py`).
"""

import importlib.util
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

import llvmlite.binding as llvm
import msgspec

from gossamer.linking import CannotLayOut, image_of
from gossamer.native import DOOR, KernelRequest, kept_image, kept_object, target_machine

Foreign: TypeAlias = Any
"""What comes from numba, or goes to it: it has no types."""


_MAY_NOT_WRAP = re.compile(r"(?<=[a-z]) nsw(?= )")
"""What numba says of sums and products of signed numbers. Where they do wrap, as in a hash, LLVM
might return anything then; without it they do as the machine does."""


def compiled(modules: Sequence[ModuleType], signatures: Mapping[str, str]) -> bytes:
    """Return the code of some functions and of all that they call, as it is kept.

    LLVM inlines what it thinks worth it, and everything if one of the modules says
    `INLINED = True`. Signed numbers wrap.
    """
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415 -- slow to load

    machine = target_machine()
    names = _plain_names(modules)
    kernels = _kernels(names)
    whole = llvm.parse_assembly("")
    whole.triple, whole.data_layout = machine.triple, str(machine.target_data)
    with global_compiler_lock, _only_lowered():
        lowered = {name: _lowered(kernels[name], signatures[name]) for name in signatures}
        for library in _with_callees([library for _, library in lowered.values()]):
            part = library._final_module  # noqa: SLF001 -- numba's
            for one in part.functions:
                if not one.is_declaration:
                    one.linkage = "weak_odr"  # several parts may have it, and it is kept
            whole.link_in(part)
    whole = llvm.parse_assembly(_MAY_NOT_WRAP.sub("", str(whole)))
    for name, (symbol, _) in lowered.items():
        whole.link_in(llvm.parse_assembly(_door(DOOR + name, symbol, signatures[name])))
    for one in (*whole.functions, *whole.global_variables):
        if not one.is_declaration and not one.name.startswith(DOOR):
            one.linkage = "internal"
    whole.link_in(llvm.parse_assembly(_OF_THE_C_LIBRARY))
    _optimise(whole, machine)
    whole.verify()
    _expect_no_runtime(whole)
    made = bytes(machine.emit_object(whole))
    try:
        return kept_image(*image_of(made, DOOR))
    except CannotLayOut:
        return kept_object(made)


def _plain_names(modules: Sequence[ModuleType]) -> dict[str, Foreign]:
    """Return what is defined in some modules, by name; later ones come first."""
    names = {name: thing for module in modules for name, thing in vars(module).items()}
    names["leading_zeros"] = _leading_zeros_of_the_machine()
    return names


def _kernels(names: dict[str, Foreign]) -> dict[str, Foreign]:
    """Return the functions among some names as numba's; in `names` they take the places of these.

    None of them is called from Python or owns memory: what numba would write for that is left out.
    """
    import numba  # noqa: PLC0415 -- slow to load

    options: dict[str, Foreign] = {
        "error_model": "numpy",
        "forceinline": bool(names.get("INLINED", False)),
        "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
        "_nrt": False,
    }
    found: dict[str, Foreign] = {}
    for name, function in list(names.items()):
        if isinstance(function, FunctionType):
            plain = FunctionType(function.__code__, names, name)
            names[name] = found[name] = numba.njit(**options)(plain)
    return found


@contextmanager
def _only_lowered() -> Iterator[None]:
    """Let numba neither link, nor optimise, nor emit anything: only write LLVM's text."""
    from numba.core import codegen, cpu  # noqa: PLC0415 -- slow to load

    def keep(library: Foreign, module: Foreign) -> None:
        library._final_module.link_in(module)  # noqa: SLF001 -- numba's

    def end(library: Foreign) -> None:
        library._finalized = True  # noqa: SLF001 -- numba's

    def wrapper(*_: object) -> object:
        return [].append  # a builtin function of its own for each: numba knows them apart by that

    changes = (
        (codegen.CPUCodeLibrary, "add_llvm_module", keep),
        (codegen.CPUCodeLibrary, "finalize", end),
        (cpu.CPUContext, "get_executable", wrapper),
    )
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    try:
        for owner, name, change in changes:
            setattr(owner, name, change)
        yield
    finally:
        for owner, name, old in before:
            setattr(owner, name, old)


def _lowered(kernel: Foreign, signature: str) -> tuple[str, Foreign]:
    """Return the symbol of a function, and the library that it is in."""
    from numba import types  # noqa: PLC0415 -- slow to load

    pointer: Callable[[Foreign], Foreign] = types.CPointer
    letters: dict[str, Foreign] = {
        "B": pointer(types.uint8),
        "U": pointer(types.uint32),
        "W": pointer(types.uint64),
        "I": pointer(types.int64),
        "D": pointer(types.float64),
        "F": pointer(types.float32),
        "n": types.int64,
        "d": types.float64,
    }
    kinds = tuple(letters[letter] for letter in signature)
    kernel.compile(types.int64(*kinds))
    result = kernel.overloads[kinds]
    return str(result.fndesc.llvm_func_name), result.library


def _with_callees(libraries: Sequence[Foreign]) -> list[Foreign]:
    """Return libraries and all that they link to, each once."""
    found: dict[int, Foreign] = {}
    waiting = list(libraries)
    while waiting:
        library = waiting.pop()
        if id(library) not in found:
            found[id(library)] = library
            waiting.extend(library._linking_libraries)  # noqa: SLF001 -- numba's
    return list(found.values())


_OF_THE_C_LIBRARY = """
define hidden ptr @memset(ptr %to, i32 %byte, i64 %size) #0 {
entry:
  %small = trunc i32 %byte to i8
  %none = icmp eq i64 %size, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %at = getelementptr i8, ptr %to, i64 %i
  store i8 %small, ptr %at
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %size
  br i1 %more, label %loop, label %end
end:
  ret ptr %to
}
define hidden ptr @memcpy(ptr noalias %to, ptr noalias %from, i64 %size) #0 {
entry:
  %none = icmp eq i64 %size, 0
  br i1 %none, label %end, label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %source = getelementptr i8, ptr %from, i64 %i
  %byte = load i8, ptr %source
  %at = getelementptr i8, ptr %to, i64 %i
  store i8 %byte, ptr %at
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %size
  br i1 %more, label %loop, label %end
end:
  ret ptr %to
}
attributes #0 = { nounwind "no-builtins" }
"""
"""What LLVM makes of loops that fill and copy."""


def _optimise(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization, tuning.slp_vectorization = True, False  # as numba has it
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def _expect_no_runtime(module: llvm.ModuleRef) -> None:
    """Raise if a function needs more than the machine: a list, an exception, a call to Python."""
    names = [one.name for one in module.functions if one.is_declaration]
    if needed := [name for name in names if not name.startswith("llvm.")]:
        raise RuntimeError(f"kernels need numba's runtime: {', '.join(needed)}")


def _leading_zeros_of_the_machine() -> object:
    from llvmlite import ir  # noqa: PLC0415 -- slow to load
    from numba import types  # noqa: PLC0415 -- slow to load
    from numba.extending import intrinsic  # noqa: PLC0415 -- slow to load

    def count(_typing: object, _word: object) -> tuple[Any, Callable[..., Any]]:
        def emit(_context: object, builder: Foreign, _signature: object, given: Foreign) -> Foreign:
            return builder.ctlz(given[0], ir.Constant(ir.IntType(1), 0))

        return types.int64(types.uint64), emit

    return intrinsic(count)


def _door(name: str, symbol: str, signature: str) -> str:
    """Return a plain C function that calls numba's, which wants places for result and error."""
    kinds = [{"n": "i64", "d": "double"}.get(letter, "ptr") for letter in signature]
    given = ", ".join(f"{kind} %a{n}" for n, kind in enumerate(kinds))
    return f"""
declare i32 @"{symbol}"(ptr, ptr, {", ".join(kinds)})
define i64 @"{name}"({given}) {{
  %result = alloca i64
  %error = alloca ptr
  %status = call i32 @"{symbol}"(ptr %result, ptr %error, {given})
  %value = load i64, ptr %result
  ret i64 %value
}}
"""


def _module(name: str, file: str) -> ModuleType:
    """Return a module by its name, or by its file if it cannot be imported by that."""
    spec = importlib.util.find_spec(name) if name in sys.modules or "." in name else None
    if spec is not None and spec.origin == file:
        return import_module(name)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} is no module")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def main() -> None:
    """Compile what standard input asks for into the file that is named."""
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=KernelRequest)
    modules = [_module(name, file) for name, file in request.modules]
    Path(sys.argv[1]).write_bytes(compiled(modules, request.signatures))


if __name__ == "__main__":
    main()
