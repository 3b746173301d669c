"""Machine code without its compiler: kernels are compiled once, kept on disk, and mapped.

numba alone takes 0.4 s of CPU to import and to read its own cache: more than a small crawl spends
on all its pages. What it has compiled, in a process of its own (`compiling.py`), is kept as an
image that runs wherever it is mapped: a start needs neither numba nor LLVM, and processes share it.
"""

import ctypes
import mmap
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from struct import Struct
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple, Protocol, SupportsInt, TypeAlias

import msgspec
import xxhash

from gossamer.linux import map_code, mapped_code, processor

if TYPE_CHECKING:
    import llvmlite.binding as llvm

Kernel: TypeAlias = Callable[..., int]
Signature: TypeAlias = str
"""One letter per argument. Arrays: B bytes, U 32-bit numbers, W words, I signed words, D floats;
n is a number, d a float."""

_C_TYPES = {
    **dict.fromkeys("BUWID", ctypes.c_void_p),
    "n": ctypes.c_int64,
    "d": ctypes.c_double,
}
_FORMAT = 7
_TRAILER = Struct("<QQ8s")
_IMAGE, _OBJECT = b"image   ", b"object  "
_WORD_BYTES = 8
DOOR = "gossamer."
"""What the names of the functions begin with that are called from outside."""


def leading_zeros(word: SupportsInt) -> int:
    """Return how many of a word's 64 bits stand before its highest one; one instruction in kernels.

    A kernel imports it from here; when it is compiled, the machine's own takes its place.
    """
    return 64 - int(word).bit_length()


class MappedWords:
    """An array of signed words outside of the heap: what is not touched takes no memory."""

    def __init__(self, count: int) -> None:
        self._room = _mapped(_WORD_BYTES * count)
        self.view = memoryview(self._room).cast("q")
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._room))

    def close(self) -> None:
        """Give the memory back now, whoever still knows of the array."""
        self.view.release()
        self._room.close()


class MappedBytes:
    """An array of bytes outside of the heap."""

    def __init__(self, count: int) -> None:
        self.room = count
        self.view = _mapped(count)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.view))

    def close(self) -> None:
        """Give the memory back now, whoever still knows of the array."""
        self.view.close()


def _mapped(size: int) -> mmap.mmap:
    """Return memory of this process alone: by default a fork would share it."""
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


class NotCompiled(Exception):
    """Functions are not kept on this machine, and are not to be compiled now."""


class KernelRequest(msgspec.Struct, frozen=True):
    """Which functions the compiler is to make."""

    modules: list[tuple[str, str]]
    """Names and files: a later one may use what an earlier one defines."""
    signatures: dict[str, Signature]


def target_machine() -> "llvm.TargetMachine":
    """Return this machine, as LLVM compiles for it: for images, where they are known."""
    import llvmlite.binding as llvm  # noqa: PLC0415 -- 0.03 s and 50 MB that a start shall not pay

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    is_elsewhere = llvm.get_default_triple().partition("-")[0] != "x86_64"
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3,
        reloc="default" if is_elsewhere else "pic",
        codemodel="jitdefault" if is_elsewhere else "small",
        jit=is_elsewhere,
    )


class Native:
    """The compiled functions of some modules, by name."""

    def __init__(
        self,
        modules: Sequence[ModuleType | str],
        signatures: Mapping[str, Signature],
        *,
        is_only_loaded: bool = False,
    ) -> None:
        """Load the functions; compile those that are not kept, unless that is not wanted.

        Modules are given by name where nobody else needs them: they are not imported then.
        """
        self._is_only_loaded = is_only_loaded
        code = self._kept([_named(module) for module in modules], signatures)
        self._code = loaded(code)
        self._kernels = {name: self._callable(name, signatures[name]) for name in signatures}

    def __getitem__(self, name: str) -> Kernel:
        """Return a function. It takes addresses and numbers, and holds no lock of Python's."""
        return self._kernels[name]

    def _callable(self, name: str, signature: Signature) -> Kernel:
        """Return a function by its address."""
        kinds = [_C_TYPES[letter] for letter in signature]
        function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self._code.address_of(DOOR + name))
        vars(function)["code"] = self._code  # whose memory it is in
        return function

    def _kept(
        self, modules: Sequence[tuple[str, str]], signatures: Mapping[str, Signature]
    ) -> "KeptCode":
        """Return the code of all functions: as kept on disk, or made now and kept if possible."""
        paths = [Path(file) for _, file in modules]
        sources = [xxhash.xxh3_64_hexdigest(path.read_bytes()) for path in paths]
        about = (sources, sorted(signatures.items()), _FORMAT, processor() or _told_by_llvm())
        name = f"{paths[0].stem}-{xxhash.xxh3_64_hexdigest(repr(about).encode())}.native"
        places = [paths[0].parent / "__pycache__" / name, _user_cache() / name]
        for place in places:
            if (code := _whole(place)) is not None:
                return KeptCode(code, place)
        if self._is_only_loaded:
            raise NotCompiled
        announce()
        code = _made(modules, signatures)
        for place in places:
            if _keep(place, code + xxhash.xxh3_64_digest(code)):
                return KeptCode(code, place)
        return KeptCode(code, None)


class KeptCode(NamedTuple):
    """Code as it is kept, and the file that it is in."""

    content: bytes
    place: Path | None


class Code(Protocol):
    """Code in memory, for as long as this object lives."""

    def address_of(self, name: str) -> int:
        """Return where a function begins."""


class _MappedImage:
    """An image (`linking.py`) in memory; it stays there for good."""

    def __init__(self, code: KeptCode, size: int, places: Mapping[str, int]) -> None:
        self._places = places
        self._start = _map_file(code.place, size) if code.place is not None else 0
        if not self._start:  # no file, or one of a file system without programs
            self._start = map_code(code.content[:size])

    def address_of(self, name: str) -> int:
        """Return where a function begins."""
        return self._start + self._places[name]


class _LoadedObject:
    """An object file that LLVM loads."""

    def __init__(self, code: bytes) -> None:
        import llvmlite.binding as llvm  # noqa: PLC0415 -- 0.03 s and 50 MB, where nothing else does

        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address_of(self, name: str) -> int:
        """Return where a function begins."""
        return int(self._engine.get_function_address(name))


def kept_image(code: bytes, places: Mapping[str, int]) -> bytes:
    """Return what is kept of an image: the image, where functions begin, and how long that is."""
    told = msgspec.msgpack.encode(places)
    return code + told + _TRAILER.pack(len(code), len(told), _IMAGE)


def kept_object(code: bytes) -> bytes:
    """Return what is kept of an object file."""
    return code + _TRAILER.pack(len(code), 0, _OBJECT)


def loaded(code: KeptCode) -> Code:
    """Return kept code in memory."""
    size, told, kind = _TRAILER.unpack(code.content[-_TRAILER.size :])
    if kind == _OBJECT:
        return _LoadedObject(code.content[:size])
    places = msgspec.msgpack.decode(code.content[size : size + told], type=dict[str, int])
    return _MappedImage(code, size, places)


def _map_file(place: Path, size: int) -> int:
    """Return the address of a file's beginning, as code; 0 if that is not allowed."""
    try:
        with place.open("rb") as file:
            return mapped_code(file.fileno(), size)
    except OSError:
        return 0


def _told_by_llvm() -> tuple[str, str]:
    """Return what the processor is and can do, where the system does not tell."""
    import llvmlite.binding as llvm  # noqa: PLC0415 -- as above

    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _named(module: ModuleType | str) -> tuple[str, str]:
    """Return name and file of a module."""
    if isinstance(module, ModuleType):
        return module.__name__, str(module.__file__)
    room, _, name = module.rpartition(".")
    return module, str(Path(*import_module(room).__path__, f"{name}.py"))


def at_once(*loads: Callable[..., Native], is_only_loaded: bool = False) -> list[Native]:
    """Return what several loads return; those that have to compile do so at the same time."""
    if is_only_loaded:
        return [load(is_only_loaded=True) for load in loads]
    with ThreadPoolExecutor(len(loads)) as pool:
        return list(pool.map(lambda load: load(), loads))


def _made(modules: Sequence[tuple[str, str]], signatures: Mapping[str, Signature]) -> bytes:
    """Compile some functions in a process of its own; raise `RuntimeError` if that fails."""
    request = msgspec.msgpack.encode(KernelRequest(list(modules), dict(signatures)))
    paths = os.pathsep.join(path for path in sys.path if path)
    with TemporaryDirectory(prefix="gossamer-") as folder:
        out = Path(folder, "object")
        done = subprocess.run(  # noqa: S603 -- this program itself
            [sys.executable, "-m", "gossamer.compiling", str(out)],
            input=request,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONPATH": paths},
        )
        if done.returncode:
            told = done.stderr.decode(errors="replace").strip().splitlines() or ["no message"]
            raise RuntimeError(f"cannot compile code for this machine: {told[-1]}")
        return out.read_bytes()


def _whole(place: Path) -> bytes | None:
    """Return the code that a file keeps; None if there is none, or it is damaged."""
    try:
        content = place.read_bytes()
    except OSError:
        return None
    code = content[:-8]
    return code if code and xxhash.xxh3_64_digest(code) == content[-8:] else None


@cache
def announce() -> None:
    """Say why it takes a while: once per process, however many modules it compiles."""
    with suppress(OSError, ValueError):  # nobody reads it
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
