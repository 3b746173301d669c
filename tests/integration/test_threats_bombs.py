"""T6, T7, P12, P27: answers that are small on the wire and huge when unpacked."""

import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import zstandard
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

import gossamer
from gossamer.settings import save_config
from gossamer.testing import CannedResponse, FakeServer, ScriptedWeb
from gossamer.testing.faults import bomb
from tests.integration.threats import Done, Knobs, crawl, serving, settings

MIB = 1 << 20
GROWTH_MIB = 64
"""What all the bombs together may add to a crawler's memory."""
CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))
import gossamer
ending = gossamer.Crawl(sys.argv[1]).run()
status = open("/proc/self/status").read()  # ru_maxrss would count what our parent had
peak = int(status.split("VmHWM:")[1].split()[0])
print(json.dumps([ending.reason, peak, ending.status.pages]))
"""


def inflating(prefix: bytes, mib: int = 1024) -> bytes:
    """Return a deflate stream of so many MiB of spaces in a thousandth of that."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    head = squeeze.compress(prefix) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(b" " * MIB) + squeeze.flush(zlib.Z_FULL_FLUSH)
    return head + block * mib + squeeze.flush()


LINK = b'<!doctype html><title>Bomb</title><a href="/inside">before the cut</a>'
GZIP_HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03"
BOMBS = {
    "gzip": ("gzip", GZIP_HEAD + inflating(LINK)),
    "deflate": ("deflate", b"\x78\xda" + inflating(LINK)),
    "raw-deflate": ("deflate", inflating(LINK)),
    "br": ("br", bomb("br")),
    "zstd": ("zstd", bomb("zstd")),
    "gzip-in-gzip": ("gzip, gzip", bomb("gzip, gzip")),
    "gzip-in-zstd": ("gzip, zstd", zstandard.compress(GZIP_HEAD + inflating(LINK))),
    "zstd-in-gzip": ("zstd, gzip", gzip.compress(bomb("zstd"))),
    "br-in-deflate": ("br, deflate", zlib.compress(bomb("br"))),
    "five-codings": ("gzip, gzip, gzip, gzip, gzip", bomb("gzip, gzip")),
}


@dataclass(frozen=True)
class Blast:
    """A crawl of all bombs in a process of its own, and what it cost."""

    done: Done
    growth_mib: float
    stored: dict[str, bytes]
    """Payloads as sent, by URL, as both readers give them."""

    def url(self, name: str, path: str = "/x") -> str:
        return self.done.server.web.host(f"{name}.test").url(path)


def crawl_apart(
    server: FakeServer[ScriptedWeb], folder: Path, seed: str, knobs: Knobs | None = None
) -> float:
    """Crawl in a process of its own; return its peak memory in MiB."""
    folder.mkdir()
    save_config(folder / "crawl.toml", replace(settings(server, knobs), seeds=(seed,)))
    command = [sys.executable, "-c", CHILD, str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    reason, peak_kib, pages = json.loads(ended.stdout)
    assert (reason, ended.stderr) == ("finished", "")
    assert pages
    return float(peak_kib / 1024)


def stored_payloads(done: Done) -> dict[str, bytes]:
    """Return payloads with their codings on: neither reader is asked to unpack a bomb."""
    by_warcio = {}
    for path in (done.folder / "archive").glob("pages-*.gz"):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == "response":
                    url = record.rec_headers.get_header("WARC-Target-URI")
                    by_warcio[url] = record.raw_stream.read()
    by_fastwarc = {u: b.partition(b"\r\n\r\n")[2] for u, b in done.raw_blocks.items()}
    assert by_warcio == by_fastwarc
    return by_warcio


def bomb_web() -> ScriptedWeb:
    web = ScriptedWeb()
    links = []
    for name, (coding, body) in BOMBS.items():
        headers = (("Content-Type", "text/html"), ("Content-Encoding", coding))
        host = web.host(f"{name}.test").page("/after", text=name).page("/inside", text=name)
        host.on("/x", CannedResponse(headers=headers, body=body))
        links += [host.url("/x"), host.url("/after")]
    packed = (("Content-Type", "text/html"), ("Content-Encoding", "gzip"))
    body = BOMBS["gzip"][1]
    moved = web.host("moved.test").page("/after", text="moved")
    moved.on("/x", CannedResponse(status=302, headers=(*packed, ("Location", "/after")), body=body))
    wrong = web.host("wrong.test").page("/after", text="wrong")
    wrong.on("/x", CannedResponse(status=404, headers=packed, body=body))
    web.host("hub.test").page("/", links=[*links, moved.url("/x"), wrong.url("/x")])
    web.host("calm.test").page("/", links=["/1"]).page("/1", text="an honest page")
    return web


@pytest.fixture(scope="module")
def blast(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Blast]:
    place = tmp_path_factory.mktemp("bombs")
    with serving(bomb_web()) as server:
        calm = crawl_apart(server, place / "calm", server.web.host("calm.test").url())
        wild = crawl_apart(server, place / "wild", server.web.host("hub.test").url())
        ending = gossamer.Ending(is_finished=True, reason="finished", exit_code=0, status={})
        done = Done(place / "wild", ending, server)
        yield Blast(done, wild - calm, stored_payloads(done))


def test_all_bombs_together_add_little_memory(blast: Blast) -> None:
    assert blast.growth_mib <= GROWTH_MIB


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_stored_as_sent_and_said_to_be_cut(name: str, blast: Blast) -> None:
    assert blast.stored[blast.url(name)] == BOMBS[name][1]
    told = blast.done.why(blast.url(name))
    assert told["state"] == "archived"
    assert "cut at" in told["detail"] or "too many codings" in told["detail"]
    assert blast.done.asked[blast.url(name, "/after")] == 1


@pytest.mark.parametrize("name", ["gzip", "deflate", "raw-deflate", "gzip-in-zstd"])
def test_links_before_the_cut_are_followed(name: str, blast: Blast) -> None:
    assert blast.done.fate(blast.url(name, "/inside")) == ("archived", "")


def test_the_body_of_a_redirect_or_an_error_may_be_a_bomb_too(blast: Blast) -> None:
    assert blast.done.fate(blast.url("moved")) == ("redirected", "redirect")
    assert blast.done.fate(blast.url("moved", "/after")) == ("archived", "")
    assert blast.done.fate(blast.url("wrong")) == ("failed", "not_found")
    body = BOMBS["gzip"][1]
    assert blast.stored[blast.url("moved")] == blast.stored[blast.url("wrong")] == body


def test_a_robots_txt_that_is_a_bomb_is_read_as_far_as_it_matters(tmp_path: Path) -> None:
    rules = b"User-agent: *\nDisallow: /no\n"
    packed = (("Content-Type", "text/plain"), ("Content-Encoding", "gzip"))
    web = ScriptedWeb()
    host = web.host("a.test").page("/", links=["/no", "/yes"]).page("/no").page("/yes")
    host.on("/robots.txt", CannedResponse(headers=packed, body=GZIP_HEAD + inflating(rules, 256)))
    with serving(web) as server:
        done = crawl(server, tmp_path / "c", host.url())
        assert done.fate(host.url("/no")) == ("refused", "robots_disallowed")
        assert done.fate(host.url("/yes")) == ("archived", "")
        assert not done.asked[host.url("/no")]


def test_the_cap_is_on_what_the_author_wrote_not_on_what_was_sent(tmp_path: Path) -> None:
    page = LINK + b"<p>words " * 400_000
    packed = (("Content-Type", "text/html"), ("Content-Encoding", "gzip"))
    web = ScriptedWeb()
    host = web.host("a.test").page("/inside")
    host.on("/", CannedResponse(headers=packed, body=gzip.compress(page)))
    with serving(web) as server:
        knobs = {"fetch": {"max_decoded_bytes": 100_000}}
        done = crawl(server, tmp_path / "c", host.url(), knobs=knobs)
        assert "cut at 100000 bytes" in done.why(host.url())["detail"]
        assert done.fate(host.url("/inside")) == ("archived", "")
        assert done.response(host.url()).payload == page
        assert len(done.archive.text_of(host.url())) < 100_000


def test_large_pages_that_wait_to_be_read_wait_on_disk(tmp_path: Path) -> None:
    web = ScriptedWeb()
    page = LINK + b"some words and more words " * 480_000
    hosts = [web.host(f"h{n}.test") for n in range(8)]
    for number, host in enumerate(hosts):
        host.file("/", page + b"%d" % number, "text/html").page("/inside", text=str(number))
    hub = web.host("hub.test").page("/", links=[host.url() for host in hosts])
    calm = web.host("calm.test").page("/")
    with serving(web) as server:
        least = crawl_apart(server, tmp_path / "calm", calm.url())
        most = crawl_apart(server, tmp_path / "wild", hub.url())
        assert len([v for v in server.requests if v.target == "/inside"]) == len(hosts)
    assert most - least <= 5 * len(page) / MIB
