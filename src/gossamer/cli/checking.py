"""`gossamer check`: is everything in a crawl's folder what was written?"""

from typing import TYPE_CHECKING, Annotated

from gossamer.cli.options import Folder, Json
from gossamer.cli.parameters import option
from gossamer.cli.screen import MIB, as_json, harmless, out, print_json
from gossamer.cli.updating import crawl_folder, telling
from gossamer.log import counted

if TYPE_CHECKING:
    from gossamer import CheckReport

DAMAGED = 4
_REMEDIES = {
    "state": "`gossamer build {folder} state`",
    "near": "`gossamer build {folder} near`",
    "cdxj": "`gossamer check {folder} --repair`",
    "graph": "`gossamer build {folder} graph --full`",
    "index": "`gossamer build {folder} index --full`",
    "tables": "`gossamer build {folder} tables --full`",
    "backup": "only a copy of the file",
}
_BUILT = {
    "state": "the state",
    "near": "the labels of near-duplicates",
    "cdxj": "the CDXJ indexes",
    "graph": "the graph",
    "index": "the index",
    "tables": "the tables",
}


def check(
    folder: Folder,
    *,
    quick: Annotated[
        bool, option("--quick", help="Lengths, manifests and CDXJ indexes only.")
    ] = False,
    sample: Annotated[
        int, option("--sample", metavar="N", min=0, help="N records of each archive file.")
    ] = 0,
    seed: Annotated[
        int, option("--seed", metavar="N", help="Another number draws other records.")
    ] = 0,
    repair: Annotated[
        bool,
        option("--repair", help="Build again what can be; the crawl must not run."),
    ] = False,
    json: Json = False,
) -> int:
    """Read everything and compare it: archive, CDXJ, state, graph and index."""
    from gossamer import OpenCrawl

    crawl = OpenCrawl(crawl_folder(folder))
    with telling("check") as tell:
        found = crawl.check(quick=quick, sample=sample, seed=seed, repair=repair, on_progress=tell)
    if json:
        print_json(as_json(found))
    else:
        _show(found, str(folder), is_part=quick or sample > 0)
    return 0 if found.ok else DAMAGED


def _show(found: "CheckReport", folder: str, *, is_part: bool) -> None:
    screen = out()
    for what in found.repaired:
        screen.print(f"{_BUILT[what]} built again", markup=False)
    for finding in found.findings:
        remedy = _REMEDIES[finding.remedy].format(folder=folder)
        line = harmless(f"{finding.kind}: {finding.line()}; mended by: {remedy}")
        screen.print(line, markup=False, soft_wrap=True)
    size, speed = found.bytes_read / MIB, found.bytes_read / MIB / max(found.seconds, 1e-9)
    share = f", {found.share:.1%} of the archive" if is_part else ""
    screen.print(
        f"{counted(found.files, 'archive file')}, {counted(found.records, 'record')}, "
        f"{size:,.1f} MiB read{share} in {found.seconds:,.1f} s ({speed:,.0f} MiB/s)"
    )
    if found.dated_back:
        screen.print(
            f"{counted(found.dated_back, 'page')} dated before others that were stored earlier: "
            "the clock had been set back, and they are marked (WARC-Clock-Set-Back-From)."
        )
    if found.is_running:
        screen.print("The crawl runs: what it stores meanwhile was not looked at.")
    problems = counted(len(found.findings), "finding")
    screen.print("Everything that was read is sound." if found.ok else f"{problems}.")
