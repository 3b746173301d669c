"""Coding: how a graph is to be compressed. Properties: what a file says of itself."""

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from gossamer.errors import ConfigError, CorruptFile
from gossamer.graph.bv.kernels.bit_kernels import DELTA, GAMMA, UNARY, ZETA

UNBOUNDED = (1 << 31) - 1
"""How WebGraph writes that chains of references may have any length."""
MOST_NODES = (1 << 32) - 1
MOST_ZETA = 7
MOST_WINDOW = 1 << 16
"""Rows that a reader must hold; no file in use comes near."""
_ZETA_K = 3
"""WebGraph in Rust looks at another only if the flags say that there are ζ codes."""
_CLASS = "it.unimi.dsi.webgraph.BVGraph"
_CODES = {"UNARY": UNARY, "GAMMA": GAMMA, "DELTA": DELTA, "ZETA": ZETA}
_PARTS = {
    "OUTDEGREES": GAMMA,
    "REFERENCES": UNARY,
    "BLOCK_COUNT": GAMMA,
    "BLOCKS": GAMMA,
    "RESIDUALS": ZETA,
    "OFFSETS": GAMMA,
}
"""The parts of a file whose code can be chosen, and the code that each has otherwise."""


class Coding(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """How a graph is compressed. The defaults are WebGraph's, and give its bits."""

    window: int = 7
    """Rows back that a row may copy from."""
    max_ref: int = 3
    """Rows that must be read, one after another, before a row can be; at most."""
    min_interval: int = 4
    """Consecutive targets that count as a run; 0: none do."""
    zeta_k: int = _ZETA_K
    is_optimal: bool = False
    """Choose references by looking ahead: fewer bits with the same `max_ref`, slower to write."""

    @classmethod
    def smallest(cls) -> "Coding":
        """Return the coding with the fewest bits: slow to write, and some four times to read."""
        return SMALLEST

    def __post_init__(self) -> None:
        """Refuse what cannot be written."""
        if self.window < 0 or self.max_ref < 0 or self.min_interval < 0:
            raise ConfigError("window, max_ref and min_interval: expected 0 or more")
        if not 1 <= self.zeta_k <= MOST_ZETA:
            raise ConfigError(f"zeta_k: expected 1 to {MOST_ZETA}, found {self.zeta_k}")


SMALLEST = Coding(window=64, max_ref=32, min_interval=3, zeta_k=2, is_optimal=True)
"""Few bits before all else: slow to write, and a row takes some four times as long to read."""


class Properties(Struct, kw_only=True, frozen=True):
    """What BASE.properties says of BASE.graph."""

    nodes: int
    arcs: int
    window: int
    max_ref: int
    min_interval: int
    zeta_k: int
    codes: tuple[int, ...] = tuple(_PARTS.values())
    """Of lengths, references, numbers of blocks, blocks, gaps, and of the offsets file."""


def read_properties(path: Path) -> Properties:
    """Return what a properties file says; raise `CorruptFile` if it is not one of ours to read."""
    said = _pairs(path)
    if said.get("graphclass", _CLASS).rpartition(".")[2] != "BVGraph":
        raise CorruptFile(path, 0, f"expected a BVGraph, found {said['graphclass']}")
    if said.get("endianness", "big") != "big" or said.get("version", "0") != "0":
        raise CorruptFile(path, 0, "expected version 0 and big-endian bits")
    try:
        found = Properties(
            nodes=int(said["nodes"]),
            arcs=int(said["arcs"]),
            window=int(said["windowsize"]),
            max_ref=int(said.get("maxrefcount", UNBOUNDED)),
            min_interval=int(said.get("minintervallength", "4")),
            zeta_k=int(said.get("zetak", _ZETA_K)),
            codes=_read_codes(said.get("compressionflags", "")),
        )
    except (KeyError, ValueError) as error:
        raise CorruptFile(path, 0, f"not the properties of a BVGraph: {error}") from error
    is_sound = 0 <= found.nodes <= MOST_NODES and 0 <= found.arcs <= found.nodes**2
    is_sound &= 1 <= found.zeta_k <= MOST_ZETA and 0 <= found.window <= MOST_WINDOW
    if not (is_sound and found.max_ref >= 0 and 0 <= found.min_interval <= MOST_NODES):
        raise CorruptFile(path, 0, "not the properties of a BVGraph: a number is out of range")
    return found


def write_properties(path: Path, found: Properties, graph_bits: int) -> None:
    """Write what others need to open the graph."""
    said: Mapping[str, object] = {
        "graphclass": _CLASS,
        "version": 0,
        "endianness": "big",
        "nodes": found.nodes,
        "arcs": found.arcs,
        "windowsize": found.window,
        "maxrefcount": found.max_ref,
        "minintervallength": found.min_interval,
        "zetak": found.zeta_k,
        "compressionflags": "" if found.zeta_k == _ZETA_K else "RESIDUALS_ZETA",
        "bitsperlink": f"{graph_bits / max(found.arcs, 1):.3f}",
        "bitspernode": f"{graph_bits / max(found.nodes, 1):.3f}",
        "length": graph_bits,
    }
    lines = ["#BVGraph properties", *(f"{key}={value}" for key, value in said.items())]
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _pairs(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="latin-1").splitlines()
    pairs = (line.partition("=") for line in lines if "=" in line and line[0] not in "#!")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _read_codes(flags: str) -> tuple[int, ...]:
    codes = dict(_PARTS)
    for flag in filter(None, (flag.strip() for flag in flags.split("|"))):
        part, _, code = flag.rpartition("_")
        if part not in _PARTS or code not in _CODES:
            raise ValueError(f"the code {flag} is not known")
        codes[part] = _CODES[code]
    return tuple(codes.values())
