"""Machine code without its compiler: kernels are compiled once, kept on disk, and loaded by LLVM.

numba alone takes 0.4 s of CPU to import and to read its own cache: more than a small crawl spends
on all its pages. What it has compiled is kept as an object file; llvmlite, a tenth of that, loads
it. Where there is no such file yet, numba makes it.
"""

import ctypes
import mmap
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, SupportsInt, TypeAlias

import msgspec
import xxhash

Kernel: TypeAlias = Callable[..., int]
Signature: TypeAlias = str
"""One letter per argument. Arrays: B bytes, U 32-bit numbers, W words, I signed words, D floats;
n is a number, d a float."""

_C_TYPES = {
    **dict.fromkeys("BUWID", ctypes.c_void_p),
    "n": ctypes.c_int64,
    "d": ctypes.c_double,
}
_BLOCK = re.compile(r"^define .*?^}$", re.MULTILINE | re.DOTALL)
_FORMAT = 3
_WORD_BYTES = 8
_LEAN = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
"""Kernels call each other, not Python, and own no memory: what numba would write for that is left
out."""


def leading_zeros(word: SupportsInt) -> int:
    """Return how many of a word's 64 bits stand before its highest one; one instruction in kernels.

    A kernel imports it from here; when it is compiled, the machine's own takes its place.
    """
    return 64 - int(word).bit_length()


class MappedWords:
    """An array of signed words outside of the heap: what is not touched takes no memory."""

    def __init__(self, count: int) -> None:
        self._room = mmap.mmap(-1, _WORD_BYTES * count)
        self.view = memoryview(self._room).cast("q")
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._room))


class MappedBytes:
    """An array of bytes outside of the heap."""

    def __init__(self, count: int) -> None:
        self.room = count
        self.view = mmap.mmap(-1, count)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.view))


class NotCompiled(Exception):
    """Functions are not kept on this machine, and are not to be compiled now."""


class _Code(msgspec.Struct):
    """An object file and the name of its function."""

    symbol: str
    data: bytes


class Native:
    """The compiled functions of some modules, by name."""

    def __init__(
        self,
        modules: Sequence[ModuleType],
        signatures: Mapping[str, Signature],
        *,
        is_only_loaded: bool = False,
    ) -> None:
        """Load the functions; compile those that are not kept, unless that is not wanted."""
        self._is_only_loaded = is_only_loaded
        import llvmlite.binding as llvm  # noqa: PLC0415 -- 0.04 s that a start shall not pay

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        self._llvm = llvm
        self._machine = llvm.Target.from_default_triple().create_target_machine(
            cpu=llvm.get_host_cpu_name(),
            features=llvm.get_host_cpu_features().flatten(),
            opt=3,
            codemodel="jitdefault",
            jit=True,
        )
        codes = self._kept(modules, signatures)
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), self._machine)
        for code in codes.values():
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code.data))
        self._engine.finalize_object()
        self._kernels = {
            name: self._callable(codes[name].symbol, signature)
            for name, signature in signatures.items()
        }

    def __getitem__(self, name: str) -> Kernel:
        """Return a function. It takes addresses and numbers, and holds no lock of Python's."""
        return self._kernels[name]

    def _callable(self, symbol: str, signature: Signature) -> Kernel:
        """Return a function by its address."""
        address = self._engine.get_function_address(symbol)
        kinds = [_C_TYPES[letter] for letter in signature]
        return ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(address)

    def _kept(
        self, modules: Sequence[ModuleType], signatures: Mapping[str, Signature]
    ) -> dict[str, _Code]:
        """Return the code of all functions: as kept on disk, or made now and kept if possible."""
        paths = [Path(str(module.__file__)) for module in modules]
        sources = [path.read_bytes() for path in paths]
        cpu = (self._llvm.get_host_cpu_name(), self._llvm.get_host_cpu_features().flatten())
        about = (sources, sorted(signatures.items()), _FORMAT, self._llvm.llvm_version_info, cpu)
        name = f"{paths[0].stem}-{xxhash.xxh3_64_hexdigest(repr(about).encode())}.native"
        places = [paths[0].parent / "__pycache__" / name, _user_cache() / name]
        for place in places:
            try:
                return msgspec.msgpack.decode(place.read_bytes(), type=dict[str, _Code])
            except (OSError, msgspec.MsgspecError):
                continue
        if self._is_only_loaded:
            raise NotCompiled
        _announce()
        made = self._made(modules, signatures)
        for place in places:
            if _keep(place, msgspec.msgpack.encode(made)):
                break
        return made

    def _made(
        self, modules: Sequence[ModuleType], signatures: Mapping[str, Signature]
    ) -> dict[str, _Code]:
        """Compile all functions; those that call each other are inlined.

        LLVM leaves large ones alone unless one of the modules says `INLINED = True`.
        """
        import numba  # noqa: PLC0415 -- only where nothing is kept yet
        from numba import types  # noqa: PLC0415 -- see above

        pointer: Callable[[Any], Any] = types.CPointer
        letters: dict[str, Any] = {
            "B": pointer(types.uint8),
            "U": pointer(types.uint32),
            "W": pointer(types.uint64),
            "I": pointer(types.int64),
            "D": pointer(types.float64),
            "n": types.int64,
            "d": types.float64,
        }
        names = {name: thing for module in modules for name, thing in vars(module).items()}
        names["leading_zeros"] = _leading_zeros_of_the_machine()
        plain: dict[str, FunctionType] = {}
        for name, function in names.items():
            if isinstance(function, FunctionType):
                plain[name] = FunctionType(function.__code__, names, name)
                options = {
                    **_LEAN,
                    "error_model": "numpy",
                    "forceinline": names.get("INLINED", False),
                }
                names[name] = numba.njit(**options)(plain[name])
        made: dict[str, _Code] = {}
        for name, signature in signatures.items():
            kinds = types.int64(*(letters[letter] for letter in signature))
            code = numba.cfunc(kinds, error_model="numpy")(plain[name])
            made[name] = self._emitted(code.inspect_llvm(), name, signature)
        return made

    def _emitted(self, assembly: str, name: str, signature: Signature) -> _Code:
        """Return the object file of one function alone, without what ties it to numba."""
        blocks = _BLOCK.findall(assembly)
        ties = [b for b in blocks if re.match(r"define [^@]*@\"?(cfunc\.|NRT_)", b)]
        for block in ties:
            assembly = assembly.replace(block, "")
        lines = assembly.splitlines()
        kept = [line for line in lines if not line.startswith("declare") or "@llvm." in line]
        found = self._llvm.parse_assembly("\n".join(kept))
        symbols = [f.name for f in found.functions if not f.is_declaration]
        door = f"gossamer.{name}"
        kept.append(_door(door, _own(symbols, name), signature))
        found = self._llvm.parse_assembly("\n".join(kept))
        found.verify()
        return _Code(door, self._machine.emit_object(found))


def _leading_zeros_of_the_machine() -> object:
    from llvmlite import ir  # noqa: PLC0415 -- see `_made`
    from numba import types  # noqa: PLC0415 -- see `_made`
    from numba.extending import intrinsic  # noqa: PLC0415 -- see `_made`

    def count(_typing: object, _word: object) -> tuple[Any, Callable[..., Any]]:
        def emit(_context: object, builder: Any, _signature: object, given: Any) -> Any:  # noqa: ANN401 -- LLVM's
            return builder.ctlz(given[0], ir.Constant(ir.IntType(1), 0))

        return types.int64(types.uint64), emit

    return intrinsic(count)


def _door(name: str, symbol: str, signature: Signature) -> str:
    """Return a plain C function that calls numba's, which wants places for result and error."""
    kinds = [{"n": "i64", "d": "double"}.get(letter, "ptr") for letter in signature]
    given = ", ".join(f"{kind} %a{n}" for n, kind in enumerate(kinds))
    return f"""
define i64 @"{name}"({given}) {{
  %result = alloca i64
  %error = alloca ptr
  %status = call i32 @"{symbol}"(ptr %result, ptr %error, {given})
  %value = load i64, ptr %result
  ret i64 %value
}}
"""


def _own(symbols: Sequence[str], name: str) -> str:
    """Return the symbol of a function: numba's names hold the plain one and its length."""
    return next(symbol for symbol in symbols if f"{len(name)}{name}" in symbol)


@cache
def _announce() -> None:
    """Say why it takes a while: once per process, however many modules it compiles."""
    sys.stderr.write("gossamer: compiling code for this machine; this happens only once\n")


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gossamer"


def _keep(place: Path, content: bytes) -> bool:
    """Write a file that is whole at any moment; return True if that was possible."""
    new = place.with_name(f"{place.name}.{os.getpid()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(content)
        new.replace(place)
    except OSError:
        return False
    return True
