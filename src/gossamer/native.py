"""Machine code without its compiler: kernels are compiled once, kept on disk, and mapped.

numba alone takes 0.4 s of CPU to import and to read its own cache: more than a small crawl spends
on all its pages. What it has compiled, in a process of its own (`compiling.py`), is kept as an
image that runs wherever it is mapped: a start needs neither numba nor LLVM, and processes share it.
"""

import ctypes
import mmap
import os
import re
import subprocess
import sys
from array import array as Array  # noqa: N812 -- a type
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from struct import Struct
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, SupportsInt, TypeAlias

import msgspec
import xxhash

from gossamer.linux import map_code, mapped_code, processor

if TYPE_CHECKING:
    import llvmlite.binding as llvm

Kernel: TypeAlias = Callable[..., int]
Signature: TypeAlias = str
"""One letter per argument. Arrays: B bytes, U 32-bit numbers, W words, I signed words, D floats,
F short floats; n is a number, d a float. `W[2*b+1]` is an array of at least that many, b being the
second argument; `W*[b]` one that is written to. Where lengths are told, arrays are given themselves
and are checked (`checked`); otherwise their addresses are."""

_C_TYPES = {
    **dict.fromkeys("BUWIDF", ctypes.c_void_p),
    "n": ctypes.c_int64,
    "d": ctypes.c_double,
}
_FORMAT = 7
_ARGUMENT = re.compile(r"([BUWIDFnd])(\*?)(?:\[([^\]]*)\])?")
_TERM = re.compile(r"(?:(\d+)\*?)?([a-z]?)")
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

    letter = "I"

    def __init__(self, count: int) -> None:
        self.room = count
        self._room = _mapped(_WORD_BYTES * count)
        self.view = memoryview(self._room).cast("q")
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self._room))

    def close(self) -> None:
        """Give the memory back now, whoever still knows of the array."""
        self.view.release()
        self._room.close()


class MappedBytes:
    """An array of bytes outside of the heap."""

    letter = "B"

    def __init__(self, count: int) -> None:
        self.room = count
        self.view = _mapped(count)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.view))

    def close(self) -> None:
        """Give the memory back now, whoever still knows of the array."""
        self.view.close()


def _mapped(size: int) -> mmap.mmap:
    """Return memory of this process alone: by default a fork would share it."""
    try:
        return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:  # by the limit of this process, or the machine's
        raise MemoryError(f"cannot map {size} bytes: {error.strerror}") from error


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
        self._signatures = signatures
        self._functions = {name: self._callable(name, signatures[name]) for name in signatures}
        self._kernels = {name: self._checked(name) for name in signatures}

    def __getitem__(self, name: str) -> Kernel:
        """Return a function. It takes arrays and numbers, and holds no lock of Python's."""
        return self._kernels[name]

    def _callable(self, name: str, signature: Signature) -> Kernel:
        """Return a function by its address."""
        kinds = [_C_TYPES[letter] for letter in letters_of(signature)]
        function = ctypes.CFUNCTYPE(ctypes.c_int64, *kinds)(self._code.address_of(DOOR + name))
        vars(function)["code"] = self._code  # whose memory it is in
        return function

    def _checked(self, name: str) -> Kernel:
        function, signature = self._functions[name], self._signatures[name]
        return checked(function, name, signature) if "[" in signature else function

    def bound(self, name: str, given: Sequence[object]) -> Kernel:
        """Return a function that takes those arguments alone that are given as FREE."""
        return bound(self._functions[name], name, self._signatures[name], given)

    def _kept(
        self, modules: Sequence[tuple[str, str]], signatures: Mapping[str, Signature]
    ) -> "KeptCode":
        """Return the code of all functions: as kept on disk, or made now and kept if possible."""
        paths = [Path(file) for _, file in modules]
        sources = [xxhash.xxh3_64_hexdigest(path.read_bytes()) for path in paths]
        plain = sorted((name, letters_of(letters)) for name, letters in signatures.items())
        about = (sources, plain, _FORMAT, processor() or _told_by_llvm())
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


class ArrayRule(NamedTuple):
    """What an array that is given to a kernel has to be."""

    place: int
    letter: str
    is_written: bool
    least: int
    more: list[tuple[int, int]]
    """Its least length, and more by other arguments: factors and places."""


def letters_of(signature: Signature) -> str:
    """Return the letters of a signature alone, one per argument."""
    return "".join(letter for letter, _, _ in _ARGUMENT.findall(signature))


def array_rules(signature: Signature) -> list[ArrayRule]:
    """Return what the arrays of a signature have to be."""
    rules = []
    for place, (letter, mark, length) in enumerate(_ARGUMENT.findall(signature)):
        if length:
            terms = [_TERM.fullmatch(term) for term in length.split("+")]
            found = [(int(term[1] or 1), term[2]) for term in terms if term is not None]
            least = sum(factor for factor, by in found if not by)
            more = [(factor, ord(by) - ord("a")) for factor, by in found if by]
            rules.append(ArrayRule(place, letter, bool(mark), least, more))
    return rules


def checked(function: Kernel, name: str, signature: Signature) -> Kernel:
    """Return a function that takes arrays and checks each: its kind, its order, its length.

    A wrong one is a mistake of ours, told by `TypeError` or `ValueError` instead of by a crash.
    """
    rules = [
        (rule, *rule[:4], *(rule.more or [(0, rule.place)])[0], rule.more[1:])
        for rule in array_rules(signature)
    ]

    def call(*given: Any) -> int:  # noqa: ANN401 -- as a kernel takes it
        passed = list(given)
        for rule, place, letter, is_written, least, factor, by, rest in rules:
            need, array = least + factor * given[by] if factor else least, given[place]
            for other, at in rest:
                need += other * given[at]
            if type(array) is MappedWords or type(array) is MappedBytes:
                kind, room, passed[place] = array.letter, array.room, array.address
            elif type(array) is bytes and not is_written:
                kind, room = letter, len(array) // ITEM_BYTES[letter]
            else:
                kind, room, passed[place] = _told_of(array, letter, is_written=is_written)
            if kind != letter or room < need:
                _address(name, rule, given)
        return function(*passed)

    return call


FREE: Final = object()
"""Stands for an argument that is given when a bound kernel is called."""


def bound(function: Kernel, name: str, signature: Signature, given: Sequence[Any]) -> Kernel:
    """Return a function that takes those arguments alone that are FREE.

    The others are kept, and checked now, as far as no free one tells their length.
    """
    rules = array_rules(signature)
    free = [place for place, one in enumerate(given) if one is FREE]
    fresh = [rule for rule in rules if rule.place in free]
    later = [rule for rule in rules if any(at in free for _, at in rule.more)]
    passed, lengths = list(given), []
    for rule in rules:
        if rule in fresh:
            continue
        now = rule._replace(more=[term for term in rule.more if term[1] not in free])
        passed[rule.place] = _address(name, now, given)
        if rule in later:
            room = _told_of(given[rule.place], rule.letter, is_written=rule.is_written)[1]
            lengths.append((rule, room))

    def call(*others: Any) -> int:  # noqa: ANN401 -- as a kernel takes it
        arguments = passed.copy()
        for place, one in zip(free, others, strict=True):
            arguments[place] = one
        for rule, room in lengths:
            _expect_room(name, rule, room, arguments)
        for rule in fresh:
            arguments[rule.place] = _address(name, rule, arguments)
        return function(*arguments)

    vars(call)["kept"] = given  # whose addresses are passed
    return call


def _address(name: str, rule: ArrayRule, given: Sequence[Any]) -> object:
    """Return the address of an array that is as it has to be."""
    array = given[rule.place]
    kind, room, address = _told_of(array, rule.letter, is_written=rule.is_written)
    if kind != rule.letter:
        told = f"argument {rule.place + 1} is {_named_array(array)}"
        raise TypeError(f"{name}: {told}: {rule.letter}")
    _expect_room(name, rule, room, given)
    return address


def _expect_room(name: str, rule: ArrayRule, room: int, given: Sequence[Any]) -> None:
    """Raise `ValueError` if an array is too short."""
    need = rule.least
    for factor, place in rule.more:
        need += factor * given[place]
    if room < need:
        raise ValueError(f"{name}: argument {rule.place + 1} has {room} of {need} elements")


def _told_of(array: Any, letter: str, *, is_written: bool) -> tuple[str, int, object]:  # noqa: ANN401 -- whatever is given
    """Return letter, length and address of an array; no letter if no kernel can be given it."""
    if isinstance(array, MappedWords | MappedBytes):
        return array.letter, array.room, array.address
    if isinstance(array, bytes):
        return "" if is_written else letter, len(array) // ITEM_BYTES[letter], array
    if isinstance(array, Array):
        address, count = array.buffer_info()
        return _CODES.get(array.typecode, ""), count, address
    told = getattr(array, "__array_interface__", None)
    if told is not None:
        address, is_read_only = told["data"]
        if told["strides"] is not None or (is_written and is_read_only):
            return "", 0, None
        return _KINDS.get(told["typestr"], ""), array.size, address
    if isinstance(array, bytearray):
        return "B", len(array), ctypes.addressof(ctypes.c_char.from_buffer(array))
    if isinstance(array, ctypes.Array):
        return _LETTERS.get(array._type_, ""), len(array), array
    return "", 0, None


def _named_array(array: object) -> str:
    """Return what an array is, for who gave it."""
    flags = getattr(array, "flags", None)
    if flags is None:
        return type(array).__name__
    order = "" if flags.c_contiguous else ", not in one piece"
    return f"{getattr(array, 'dtype', '')}{order}{'' if flags.writeable else ', read-only'}"


ITEM_BYTES = {"B": 1, "U": 4, "W": 8, "I": 8, "D": 8, "F": 4}
_KINDS = {"|u1": "B", "|i1": "B", "|b1": "B", "<u4": "U", "<u8": "W", "<i8": "I"}
_KINDS.update({"<f8": "D", "<f4": "F"})
_CODES = {"B": "B", "b": "B", "I": "U", "Q": "W", "q": "I", "d": "D", "f": "F"}
_LETTERS: dict[object, str] = {
    ctypes.c_uint8: "B",
    ctypes.c_char: "B",
    ctypes.c_uint32: "U",
    ctypes.c_uint64: "W",
    ctypes.c_int64: "I",
    ctypes.c_double: "D",
}


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
    plain = {name: letters_of(signature) for name, signature in signatures.items()}
    request = msgspec.msgpack.encode(KernelRequest(list(modules), plain))
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
