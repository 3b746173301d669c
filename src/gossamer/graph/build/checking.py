"""Is a crawl's graph what was written? By the hashes in its manifest."""

from collections.abc import Iterator
from pathlib import Path

from gossamer.errors import CorruptFile
from gossamer.graph.build.manifest import check_files, read_manifest
from gossamer.graph.build.place import graph_folder
from gossamer.model import CheckFinding


def check_graph(root: Path, *, is_quick: bool = False) -> Iterator[CheckFinding]:
    """Compare the files of a crawl's graph with its manifest; quick: only their lengths."""
    graph = graph_folder(root)
    if not graph.exists():
        return
    manifest = read_manifest(graph)
    if manifest is None:
        told = "it cannot be read, or is not what was written"
        yield _finding("manifest.json", 0, told)
        return
    for name, seal in manifest.files.items():
        one = type(manifest)(files={name: seal})
        try:
            check_files(graph, one, 0 if is_quick else None)
        except CorruptFile as error:
            if read_manifest(graph) != manifest:
                return  # it is being replaced at this moment
            yield _finding(name, error.offset, str(error).partition(": ")[2])


def _finding(name: str, byte: int, found: str) -> CheckFinding:
    return CheckFinding(
        kind="bad_graph", file=f"graph/{name}", byte=byte, found=found, remedy="graph"
    )
