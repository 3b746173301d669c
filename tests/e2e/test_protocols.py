"""Whole crawls from the command line by other protocols than HTTP: ftp, and a plug-in's."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from itertools import pairwise
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

import gossamer
from gossamer import Config, Crawl, Exchange, Resource, protocol
from gossamer.config import FetchConfig, PolitenessConfig
from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for, say
from tests.ftp import Served, serve_ftp
from tests.gopher import GopherHole, serve_gopher

FENCE = ("--allow-net", "127.0.0.0/8", "--max-time", "60s")
ODD = ("a b.txt", "ü.html", "100%.txt", "50%25.txt", "q?x#y.txt", "s;type=a.txt", "&<x>.txt")


def records_of(folder: Path) -> dict[str, list[str]]:
    """Return the types of the records of each URL in the pages archive."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("archive/pages-*.warc.gz")):
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                if url := record.rec_headers.get_header("WARC-Target-URI"):
                    record.content_stream().read()
                    found.setdefault(url, []).append(record.rec_type)
    return found


def stored_texts(folder: Path) -> set[str]:
    """Return what the pages say, but for folders."""
    pages = (page.raw().decode() for page in gossamer.open(folder).pages())
    return {text for text in pages if not text.startswith("<!DOCTYPE")}


# ftp


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a tree of folders: nested, empty, and with odd names."""
    root = tmp_path / "tree"
    for folder in ("", "a", "a/b", "a/b/c/d/e", "odd name/ü 100%/x", "empty", "a/empty"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        if folder.name != "empty":
            for name in ODD:
                (folder / name).write_text(f"this is {folder.relative_to(root)}/{name}")
    return root


def contents_of(tree: Path) -> set[str]:
    return {path.read_text() for path in tree.rglob("*") if path.is_file()}


@pytest.mark.parametrize("without", [(), ("MLSD",), ("MLSD", "LIST")], ids=["MLSD", "LIST", "NLST"])
def test_a_tree_of_folders_is_fetched_whole_by_ftp(
    without: tuple[str, ...], tree: Path, tmp_path: Path
) -> None:
    with serve_ftp(tree, without=without) as server:
        crawler = Crawler(tmp_path / "crawl", (server.url(),), (*FENCE, "--delay", "0"))
        told = crawler.run().expect(0).last_json
    assert stored_texts(crawler.folder) == contents_of(tree)
    folders = 1 + sum(path.is_dir() for path in tree.rglob("*"))
    assert told["pages"] == len(contents_of(tree)) + folders
    assert told["failed"] == {}
    assert server.connections <= 2  # one for each shard that asked, and it is kept
    kinds = [kind for found in records_of(crawler.folder).values() for kind in found]
    assert set(kinds) == {"resource", "revisit"}  # the folders with equal names in them are copies


def test_a_copy_is_a_revisit_record_that_can_be_read_checked_and_built_from(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "tree" / name).write_text("the same content")
    with serve_ftp(tmp_path / "tree") as server:
        flags = (*FENCE, "--delay", "0", "--shards", "1")
        crawler = Crawler(tmp_path / "crawl", (server.url(),), flags)
        told = crawler.run().expect(0).last_json
        stored = records_of(crawler.folder)
        kinds = sorted(stored[server.url(path)] for path in ("/a.txt", "/b.txt"))
        assert (told["revisits"], kinds) == (1, [["resource"], ["revisit"]])
        for verb in ("check", "build", "check"):
            say(verb, str(crawler.folder), *(["state"] if verb == "build" else [])).expect(0)
        for path in ("/a.txt", "/b.txt"):
            shown = say("show", str(crawler.folder), server.url(path)).expect(0)
            assert "the same content" in shown.out
        found = say("search", str(crawler.folder), "content").expect(0)
        assert ".txt" in found.out
        assert crawler.run().expect(0).last_json["pages"] == 3


def test_a_loop_of_symbolic_links_comes_to_an_end(tree: Path, tmp_path: Path) -> None:
    (tree / "a" / "up").symlink_to("..")
    (tree / "self").symlink_to(".")
    for without in ((), ("MLSD",)):
        with serve_ftp(tree, without=without) as server:
            crawler = Crawler(
                tmp_path / f"crawl{len(without)}", (server.url(),), (*FENCE, "--delay", "0")
            )
            told = crawler.run().expect(0).last_json
        assert stored_texts(crawler.folder) == contents_of(tree)
        assert told["pages"] < 6 * len(contents_of(tree))
        assert told["reason"] == "finished"


def test_an_ftp_server_has_a_robots_txt_that_is_obeyed(tree: Path, tmp_path: Path) -> None:
    (tree / "robots.txt").write_text("User-agent: *\nDisallow: /a/b\n")
    with serve_ftp(tree) as server:
        crawler = Crawler(tmp_path / "crawl", (server.url(),), (*FENCE, "--delay", "0"))
        told = crawler.run().expect(0).last_json
        why = say("why", str(crawler.folder), server.url("/a/b/")).expect(0)
    assert told["refused"] == {"robots_disallowed": 1}
    assert "Disallow: /a/b" in why.out
    assert not [line for line in server.said if line.startswith("CWD") and "b" in line[4:]]


def test_the_gap_is_kept_between_two_folders(tree: Path, tmp_path: Path) -> None:
    shutil.rmtree(tree / "a")
    with serve_ftp(tree) as server:
        flags = (*FENCE, "--delay", "0.3", "--max-pages", "5")
        crawler = Crawler(tmp_path / "crawl", (server.url(),), flags)
        told = crawler.run().expect(0).last_json
    assert told["pages"] == 5
    assert told["seconds"] >= 0.3 * 5  # robots.txt is asked for, too


def test_credentials_come_from_secrets_and_go_nowhere_else(tree: Path, tmp_path: Path) -> None:
    with (
        serve_ftp(tree, login=("ann", "geheim7")) as server,
        serve_ftp(tree, login=("ann", "geheim7")) as other,
    ):
        auth = f"ftp://127.0.0.1:{server.port}=ann:geheim7"
        crawler = Crawler(
            tmp_path / "crawl",
            (server.url(), other.url()),
            (*FENCE, "--delay", "0", "--auth", auth),
        )
        told = crawler.run("--max-pages", "20").expect(0).last_json
    assert told["pages"] == 20
    assert set(server.users) == {"ann"}
    assert other.users == []
    kept = [path for path in crawler.folder.rglob("*") if path.is_file()]
    holders = {path.name for path in kept if b"geheim7" in path.read_bytes()}
    assert holders == {"secrets.toml"}


def ftp_and_web(
    server: Served, tmp_path: Path, *flags: str
) -> tuple[dict[str, int], dict[str, list[str]]]:
    """Crawl a web page that links to an ftp server; return the refusals, and what is stored."""
    web = ScriptedWeb()
    site = web.host("a.test").page("/", links=[server.url("/a/", "ftp.a.test")])
    with serve_in_thread(web) as http:
        names = flags_for({**http.resolve, "ftp.a.test": "127.0.0.1"}, *FENCE, "--no-sitemaps")
        crawler = Crawler(tmp_path / "crawl", (site.url("/"),), (*names, "--delay", "0", *flags))
        told = crawler.run().expect(0).last_json
    return told["refused"], records_of(crawler.folder)


def test_links_of_pages_to_ftp_are_followed_where_that_is_wanted(
    tree: Path, tmp_path: Path
) -> None:
    with serve_ftp(tree) as server:
        refused, stored = ftp_and_web(server, tmp_path / "without")
        assert refused == {"scheme": 1}
        assert not [url for url in stored if url.startswith("ftp:")]
        refused, stored = ftp_and_web(server, tmp_path / "with", "--scheme", "ftp")
    assert refused == {}
    assert len([url for url in stored if url.startswith("ftp:")]) > 20


# gopher, by examples/gossamer-gopher


@pytest.fixture
def hole() -> Iterator[GopherHole]:
    try:
        distribution("gossamer-gopher")
    except PackageNotFoundError:
        pytest.skip("examples/gossamer-gopher is not installed: run `make setup`")
    with serve_gopher() as served:
        menus = ["0about\t/about.txt", *(f"1menu {n}\t/menu/{n}" for n in range(4))]
        served.answers[b""] = served.menu("iWelcome\t", *menus, "0gone\t/gone", "9x\t/ä b.dat")
        served.answers[b"/about.txt"] = b"About us\r\n.\r\n"
        served.answers["/ä b.dat".encode()] = b"\0\1\2"
        for n in range(4):
            selectors = [f"0text {n} {m}\t/menu/{n}/{m}.txt" for m in range(4)]
            served.answers[f"/menu/{n}".encode()] = served.menu(*selectors, "1up\t")
            for m in range(4):
                served.answers[f"/menu/{n}/{m}.txt".encode()] = f"text {n} {m}".encode()
        yield served


@pytest.mark.parametrize("shards", ["1", "3"])
def test_a_scheme_of_an_installed_package_is_crawled(
    shards: str, hole: GopherHole, tmp_path: Path
) -> None:
    flags = (*FENCE, "--delay", "0", "--shards", shards)
    crawler = Crawler(tmp_path / "crawl", (hole.url(),), flags)
    told = crawler.run().expect(0).last_json
    assert (told["pages"], told["failed"]) == (2 + 1 + 4 + 16, {"not_found": 1})
    assert sorted(hole.selectors) == sorted([*hole.answers, b"/robots.txt", b"/gone"])
    assert all(kinds == ["resource"] for kinds in records_of(crawler.folder).values())
    why = say("why", str(crawler.folder), hole.url("/0/gone")).expect(0)
    assert "'/gone' does not exist" in why.out
    shown = say("show", str(crawler.folder), hole.url("/0/menu/1/2.txt")).expect(0)
    assert "text 1 2" in shown.out


def test_gaps_and_robots_txt_hold_for_it_too(hole: GopherHole, tmp_path: Path) -> None:
    hole.answers[b"/robots.txt"] = b"User-agent: *\nDisallow: /1/menu\n"
    crawler = Crawler(tmp_path / "crawl", (hole.url(),), (*FENCE, "--delay", "0.3"))
    told = crawler.run().expect(0).last_json
    assert told["refused"] == {"robots_disallowed": 4}
    assert hole.selectors[0] == b"/robots.txt"
    moments = [moment for moment, _ in hole.asked]
    assert min(after - before for before, after in pairwise(moments)) >= 0.29


def test_it_goes_on_where_it_stopped(hole: GopherHole, tmp_path: Path) -> None:
    crawler = Crawler(tmp_path / "crawl", (hole.url(),), (*FENCE, "--delay", "0", "--shards", "2"))
    crawler.run("--max-pages", "7").expect(0)
    assert len(hole.asked) < 20
    told = crawler.run("--max-pages", "1000").expect(0).last_json
    assert told["pages"] == 2 + 1 + 4 + 16
    assert len(hole.selectors) == len(set(hole.selectors))


def test_private_addresses_are_refused_for_it_too(hole: GopherHole, tmp_path: Path) -> None:
    crawler = Crawler(tmp_path / "crawl", (hole.url(),), ("--max-time", "60s"))
    ended = crawler.run().expect(1)
    assert "private_address" in ended.out
    named = Crawler(
        tmp_path / "named", (hole.url(host="a.test"),), ("--resolve", "a.test:127.0.0.1")
    )
    assert "private_address" in named.run("--max-time", "60s").expect(1).out
    assert hole.asked == []


def test_links_to_it_in_web_pages_are_followed_where_that_is_wanted(
    hole: GopherHole, tmp_path: Path
) -> None:
    web = ScriptedWeb()
    site = web.host("a.test").page("/", links=[hole.url("/1/menu/1")])
    with serve_in_thread(web) as http:
        flags = flags_for(http.resolve, *FENCE, "--allow", "127.0.0.1", "--scheme", "gopher")
        told = Crawler(tmp_path / "crawl", (site.url("/"),), flags).run().expect(0).last_json
    assert told["pages"] >= 6


# Modules of a program


@protocol("finger", port=79)
async def FINGER(exchange: Exchange) -> Resource:  # noqa: N802 -- a module, once decorated
    """Ask who somebody is; of one it is not asked."""
    if exchange.url.target == "/nobody":
        raise ValueError("there is nobody")
    wire = await exchange.connect()
    await wire.send(exchange.url.target[1:].encode() + b"\r\n")
    return Resource(await wire.rest(), "text/plain")


def run_finger(folder: str, port: int, shards: int) -> None:
    """Crawl two seeds with a module that is handed over."""
    seeds = [f"finger://127.0.0.1:{port}/{name}" for name in ("ann", "nobody")]
    config = Config(
        shards=shards,
        fetch=FetchConfig(allow_net=("127.0.0.0/8",)),
        politeness=PolitenessConfig(delay_s=0.0),
    )
    Crawl(folder, seeds, config, protocols=[FINGER]).run()


PROGRAM = """
import sys
from tests.e2e.test_protocols import run_finger
run_finger(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
"""


@pytest.mark.parametrize("shards", [1, 2])
def test_a_module_of_a_program_is_used_and_told_if_it_raises(shards: int, tmp_path: Path) -> None:
    folder = tmp_path / "crawl"
    with serve_gopher({b"ann": b"Ann is here"}) as hole:
        words = [sys.executable, "-c", PROGRAM, str(folder), str(hole.port), str(shards)]
        subprocess.run(words, check=True, timeout=120, cwd=Path(__file__).parents[2])
    crawl = gossamer.open(folder)
    status = crawl.status()
    assert (status.pages, status.failed) == (1, {"protocol_failed": 1})
    assert status.user_errors["protocol finger"].error == "ValueError: there is nobody"
    why = crawl.why(f"finger://127.0.0.1:{hole.port}/nobody")
    assert "the protocol module finger failed: ValueError: there is nobody" in why.detail


def test_without_its_module_a_crawl_does_not_go_on_and_loses_nothing(tmp_path: Path) -> None:
    with serve_gopher({b"ann": b"Ann is here"}) as hole:
        words = [sys.executable, "-c", PROGRAM, str(tmp_path / "crawl"), str(hole.port), "1"]
        subprocess.run(words, check=True, timeout=120, cwd=Path(__file__).parents[2])
    ended = Crawler(tmp_path / "crawl", (), FENCE).run().expect(2)
    assert "is a seed: no protocol module for finger; install a package with one" in ended.err


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("raise RuntimeError('not today')", "cannot be loaded: RuntimeError: not today"),
        ("PROTOCOL = 3", "expected a ProtocolModule, found int"),
    ],
)
def test_a_package_whose_module_cannot_be_loaded_is_told_and_harms_nobody(
    module: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    (site / "broken-1.dist-info").mkdir(parents=True)
    (site / "broken-1.dist-info" / "METADATA").write_text("Name: broken\nVersion: 1\n")
    points = "[gossamer.protocols]\nnowhere = broken:PROTOCOL\n"
    (site / "broken-1.dist-info" / "entry_points.txt").write_text(points)
    (site / "broken.py").write_text(module + "\n")
    monkeypatch.setenv("PYTHONPATH", f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    crawler = Crawler(tmp_path / "crawl", ("nowhere://a.test/",), FENCE)
    ended = crawler.run(is_fresh=True).expect(2)
    assert "no protocol module for nowhere (nowhere (broken:PROTOCOL)" in ended.err
    assert words in ended.err
    (tmp_path / "a.html").write_text("hello")
    file = Crawler(tmp_path / "file", (f"file://{tmp_path}/a.html",), FENCE)
    done = file.run(is_fresh=True).expect(0)
    assert done.last_json["pages"] == 1
