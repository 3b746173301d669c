"""T6, T19, T22: no page and no PDF takes shard and helper together beyond a gibibyte of memory."""

import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.config import ProcessConfig, UrlConfig
from gossamer.model import LinkKind
from gossamer.process.api import MAX_LINKS_CHARS, Tools
from gossamer.settings import save_config
from gossamer.testing import CannedResponse, ScriptedWeb
from tests.integration.threats import serving, settings

MIB = 1 << 20
MOST_MIB = 1024
CHILD = """
import json, resource, sys
import gossamer
ending = gossamer.Crawl(sys.argv[1]).run()
status = open("/proc/self/status").read()
own = int(status.split("VmHWM:")[1].split()[0])
helper = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps([ending.reason, ending.status.pages, own // 1024, helper // 1024]))
"""
HTML, PDF = "text/html; charset=utf-8", "application/pdf"
TOP = b"<!doctype html><title>Top</title><a href=/found>before</a>"


def pdf(objects: Sequence[bytes]) -> bytes:
    """Return a PDF of some objects, the first of which is its catalogue."""
    parts, places, at = [b"%PDF-1.7\n"], [], 9
    for number, said in enumerate(objects, 1):
        places.append(at)
        parts.append(b"%d 0 obj\n%b\nendobj\n" % (number, said))
        at += len(parts[-1])
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    parts.append(b"xref\n0 %d\n0000000000 65535 f \n" % size + table)
    parts.append(b"trailer\n<</Root 1 0 R/Size %d>>\nstartxref\n%d\n%%%%EOF" % (size, at))
    return b"".join(parts)


def inflating(unit: bytes, mib: int) -> bytes:
    """Return a zlib stream of so many MiB."""
    squeeze = zlib.compressobj(9)
    block = unit * (MIB // len(unit))
    return b"".join(squeeze.compress(block) for _ in range(mib)) + squeeze.flush()


def one_page(content: bytes, extra: bytes = b"", page: bytes = b"") -> bytes:
    """Return a PDF of one page with some content."""
    stream = b"<</Length %d%b>>stream\n%b\nendstream" % (len(content), extra, content)
    return pdf(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 4 0 R"
            b"/Resources<</Font<</F 5 0 R>>>>%b>>" % page,
            stream,
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        ]
    )


FLATE = b"/Filter/FlateDecode"
SHOWN = b"BT /F 1 Tf (aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa) Tj ET\n"
LONG_BASE = b"<base href='http://a.test/" + b"b" * 1990 + b"/'>"
HOSTILE: dict[str, tuple[str, Callable[[], bytes]]] = {
    "misnested in the shard": (HTML, lambda: TOP + b"<b><i><u><s><em><p>" * (2 * MIB // 19 - 9)),
    "misnested": (HTML, lambda: TOP + b"<b><p>" * (31 * MIB // 6)),
    "attributes": (HTML, lambda: TOP + b"<p " + b"".join(b"a%x " % n for n in range(4_000_000))),
    "links": (HTML, lambda: TOP + b"".join(b"<a href=%x>x</a>" % n for n in range(1_500_000))),
    "long base": (HTML, lambda: LONG_BASE + b"".join(b"<a href=%x>" % n for n in range(60_000))),
    "pdf of text": (PDF, lambda: one_page(inflating(SHOWN, 64), FLATE)),
    "pdf of annotations": (
        PDF,
        lambda: one_page(b"", page=b"/Annots[" + b"<</A<<>>>>" * 3_000_000 + b"]"),
    ),
    "pdf of pages": (
        PDF,
        lambda: pdf(
            [
                b"<</Type/Catalog/Pages 2 0 R>>",
                b"<</Type/Pages/Kids[" + b"3 0 R " * 500_000 + b"]/Count 500000>>",
                b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
            ]
        ),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_shard_and_helper_stay_under_a_gibibyte(name: str, tmp_path: Path) -> None:
    kind, make = HOSTILE[name]
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=["/x", "/next"]).page("/next")
    host.on("/x", CannedResponse(headers=(("Content-Type", kind),), body=make()))
    with serving(web) as server:
        folder = tmp_path / "c"
        folder.mkdir()
        config = settings(server, {"limits": {"max_pages": 3, "max_time_s": 120.0}})
        save_config(folder / "crawl.toml", replace(config, seeds=(host.url(),), shards=1))
        child = [sys.executable, "-c", CHILD, str(folder)]
        ended = subprocess.run(child, capture_output=True, text=True, check=True)
    reason, pages, own_mib, helper_mib = json.loads(ended.stdout.splitlines()[-1])
    print(f"{name}: shard {own_mib} MiB, helper {helper_mib} MiB")  # noqa: T201 -- of interest
    assert reason in {"finished", "max_pages"}
    assert pages == 3
    assert own_mib + helper_mib < MOST_MIB


def test_links_of_a_page_are_bounded_together() -> None:
    tools = Tools(urls=UrlConfig(), process=ProcessConfig(), robots_agent="Gossamer")
    base = "http://a.test/" + "b" * 1990 + "/"
    found = tools.links(base, [(f"{n:x}", LinkKind.ANCHOR, "", "") for n in range(40_000)])
    assert 1000 < len(found) < 40_000
    assert sum(len(link.target.text) for link in found) <= MAX_LINKS_CHARS
    short = [(f"{n}", LinkKind.ANCHOR, "", "") for n in range(40_000)]
    assert len(tools.links("http://a.test/", short)) == len(short)
