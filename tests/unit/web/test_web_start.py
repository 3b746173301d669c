"""The start page: the crawls below a folder, and a form that starts one; who may, and how far."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import gossamer
from gossamer.config import Config
from gossamer.errors import ConfigError
from gossamer.settings import save_config
from gossamer.testing import ScriptedWeb, serve_in_thread
from gossamer.web.console.actions import PostedForm
from gossamer.web.start.found import MOST_CRAWLS, MOST_DEEP, CrawlCatalog, find_crawls
from gossamer.web.start.starting import CrawlOrder, CrawlStarter, order_of, words_of
from tests.e2e.crawler import flags_for
from tests.unit.web.served import PATIENCE_S, Served, crawled
from tests.unit.web.test_web_console import origin, post, secret_of

pytestmark = pytest.mark.slow

HARM = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(1)<'
START = "/crawls/start"
TOKEN = "a secret of this test"


@contextmanager
def serving_crawls(folder: Path, *flags: str) -> Iterator[Served]:
    words = [sys.executable, "-m", "gossamer", "serve", "--port", "0", "--json", *flags]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        try:
            address = json.loads(process.stdout.readline())["address"]
            yield Served(address, folder, process)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()


def made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    save_config(folder / "crawl.toml", Config(seeds=("http://a.test/",)))
    return folder


def eventually(is_so: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_S
    while not is_so() and time.monotonic() < until:
        time.sleep(0.1)
    return is_so()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    above = tmp_path_factory.mktemp("start")
    root = above / "crawls"
    (root / "shop").mkdir(parents=True)
    crawled(root / "shop")
    made(root / HARM)
    made(root / "-dash" / "a b")
    made(root / os.fsdecode(b"no \xff text"))
    (made(root / "broken") / "crawl.toml").write_bytes(b"\x00 no toml")
    (root / "broken" / "archive").mkdir()
    made(root / ".hidden")
    made(root / "shop" / "within")
    (root / "away").symlink_to(made(above / "outside"))
    (root / "pipe").mkdir()
    os.mkfifo(root / "pipe" / "crawl.toml")  # who reads it waits for ever
    with serving_crawls(root) as running:
        yield running


def form(server: Served, **given: str) -> dict[str, str]:
    usual = {"seeds": "http://127.0.0.1:9/", "name": "new", "scope": "host", "max_pages": "5"}
    return {"secret": secret_of(server, "/"), **usual, **given}


def names(server: Served) -> set[str]:
    return {path.name for path in server.folder.iterdir()}


def test_the_crawls_below_are_listed(server: Served) -> None:
    found = server.get("/api/crawls").json
    crawls = {one["name"]: one for one in found["crawls"]}
    assert found["complete"] is True
    assert set(crawls) >= {"shop", HARM, "-dash/a b", "no \ufffd text", "broken"}
    assert not set(crawls) & {"away", ".hidden", "shop/within", "pipe"}
    shop = crawls["shop"]
    assert shop["state"] == "unreadable"
    assert shop["detail"] == "shop has no state; run `gossamer build shop state`"
    assert shop["last_at"] > 0
    assert shop["serve"] == "gossamer serve shop --port 0"
    assert crawls["-dash/a b"]["serve"] == "gossamer serve './-dash/a b' --port 0"
    assert crawls["broken"]["state"] == "unreadable"
    assert str(server.folder) not in json.dumps(found)


def test_the_page_is_held_to_the_rules_of_all_pages_and_names_are_text(server: Served) -> None:
    found = server.get("/")
    assert found.status == 200
    assert found.headers["content-security-policy"].startswith("default-src 'none'")
    assert "unsafe-inline" not in found.headers["content-security-policy"]
    assert "<script" not in found.text
    assert "<img" not in found.text
    assert "&lt;img src=x onerror=alert(1)&gt;" in found.text
    assert "gossamer serve shop --port 0" in found.text
    assert str(server.folder) not in found.text
    assert server.get("/", host="evil.test").status == 403


def test_what_was_typed_is_text_and_is_kept_to_be_mended(server: Served) -> None:
    before = names(server)
    given = form(server, name=SCRIPT, seeds=HARM, max_pages=SCRIPT)
    found = post(server, START, given, origin=origin(server))
    assert found.status == 400
    assert "<script" not in found.text
    assert "<img" not in found.text
    assert "expected a plain name" in found.text
    assert names(server) == before


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".x", "-x", "a/b", "/tmp/x", "../x", "a\\b", "a b", "a\x00b", "x" * 61]
)
def test_a_name_that_is_not_plain_is_refused(name: str) -> None:
    asked = PostedForm(f"seeds=http://a.test/&name={name.replace(' ', '+')}".encode())
    with pytest.raises(ConfigError, match="expected a plain name"):
        order_of(asked)


@pytest.mark.parametrize("more", ["scope=all", "max_pages=0", "max_pages=-1", "max_pages=1e9"])
def test_a_scope_or_number_that_is_none_is_refused(more: str) -> None:
    with pytest.raises(ConfigError, match="expected"):
        order_of(PostedForm(f"seeds=http://a.test/&name=a&{more}".encode()))


def test_what_was_typed_as_a_seed_is_no_flag() -> None:
    order = order_of(PostedForm(b"seeds=--allow%3D127.0.0.0/8+-v&name=a"))
    words = words_of(order)
    assert words.index("--") < words.index("--allow=127.0.0.0/8")


@pytest.mark.parametrize("case", ["no origin", "another origin", "null", "no secret", "cross-site"])
def test_a_post_of_a_stranger_changes_nothing(server: Served, case: str) -> None:
    before = names(server)
    given, headers = form(server), {"origin": origin(server)}
    if case == "no origin":
        headers = {}
    elif case == "another origin":
        headers = {"origin": "http://evil.test"}
    elif case == "null":
        headers = {"origin": "null"}
    elif case == "no secret":
        given["secret"] = "0" * 64
    else:
        headers["sec-fetch-site"] = "cross-site"
    assert post(server, START, given, **headers).status == 403
    assert server.get(f"{START}?name=new&seeds=http://127.0.0.1:9/").status == 405
    assert names(server) == before


def test_what_gossamer_crawl_says_is_shown_and_nothing_is_left_behind(server: Served) -> None:
    found = post(server, START, form(server, seeds="http://["), origin=origin(server))
    assert found.status == 400
    assert "is not a valid URL; expected one such as https://example.com/" in found.text
    assert "new" not in names(server)


def test_a_folder_that_exists_is_left_alone(server: Served) -> None:
    for name in ("shop", "away"):
        found = post(server, START, form(server, name=name), origin=origin(server))
        assert found.status == 400
        assert f"{name} exists already" in found.text


def test_a_form_of_ours_starts_a_crawl_with_its_settings(server: Served) -> None:
    # Nothing allows it loopback: it ends without a request, at once or a little later.
    found = post(server, START, form(server, name="mine"), origin=origin(server))
    assert found.status in {303, 400}
    says = "It ended: no seed could be fetched: `gossamer status mine` says why"
    assert eventually(lambda: says in server.get("/").text)
    config = gossamer.open(server.folder / "mine").config()
    assert config.seeds == ("http://127.0.0.1:9/",)
    assert (config.filter.scope, config.limits.max_pages) == ("host", 5)
    entry = next(one for one in server.get("/api/crawls").json["crawls"] if one["name"] == "mine")
    assert entry["state"] == "finished"


def test_a_crawl_goes_on_without_who_has_started_it(tmp_path: Path) -> None:
    with serve_in_thread(ScriptedWeb()) as web:
        site = web.web.host("a.test").page("/", links=[f"/{n}" for n in range(50)])
        flags = flags_for(web.resolve, "--delay", "2", "--no-sitemaps", "--shards", "1")
        starter = CrawlStarter(tmp_path, flags)
        words = starter.start(CrawlOrder("mine", [site.url()], "host", ""))
        crawl = gossamer.open(tmp_path / "mine")
        try:
            assert eventually(crawl.is_running)
            assert eventually(lambda: crawl.status().pages > 0)
            assert words == "Started: mine. `gossamer stop mine` ends it."
            assert starter.endings() == {}
            assert crawl.is_running()
            (entry,) = CrawlCatalog(tmp_path).entries().crawls
            assert (entry.name, entry.state) == ("mine", "running")
            with pytest.raises(ConfigError, match="exists already"):
                starter.start(CrawlOrder("mine", [site.url()], "host", ""))
        finally:
            assert crawl.stop(wait_s=PATIENCE_S).has_ended
        assert eventually(lambda: starter.running() == 0)
        starter.close()
        status, (entry,) = crawl.status(), CrawlCatalog(tmp_path).entries().crawls
        assert entry.state == "stopped"
        assert entry.pages == status.pages > 0
        assert (entry.queued, entry.archive_bytes) == (status.queued, status.archive_bytes)


def test_with_a_token_only_who_has_it_may_start_one(tmp_path: Path) -> None:
    made(tmp_path / "one")
    with serving_crawls(tmp_path, "--token", TOKEN) as server:
        page = server.get("/").text
        assert START not in page
        assert "/crawl/login" in page
        secret = secret_of(server, "/crawl/login")
        given = {"secret": secret, "seeds": "http://[", "name": "new"}
        own = origin(server)
        assert post(server, START, given, origin=own).status == 403
        wrong = {"secret": secret, "token": "another"}
        assert post(server, "/crawl/login", wrong, origin=own).status == 403
        login = post(server, "/crawl/login", {"secret": secret, "token": TOKEN}, origin=own)
        assert (login.status, login.headers["location"]) == (303, "/")
        cookie = login.headers["set-cookie"].partition(";")[0]
        assert START in server.get("/", cookie=cookie).text
        found = post(server, START, given, origin=own, cookie=cookie)
        assert found.status == 400
        assert "is not a valid URL" in found.text
        assert {path.name for path in tmp_path.iterdir()} == {"one"}


def test_folders_are_looked_through_within_bounds(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"abcdefgh"[: MOST_DEEP - 1])
    made(deep / "last")
    made(deep / "more" / "beyond")
    (tmp_path / "again").symlink_to(tmp_path)
    found = find_crawls(tmp_path)
    assert found.folders == [deep / "last"]
    assert not found.is_complete
    for number in range(MOST_CRAWLS + 1):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "crawl.toml").touch()
    found = find_crawls(tmp_path)
    assert (len(found.folders), found.is_complete) == (MOST_CRAWLS, False)
    assert find_crawls(made(tmp_path / "x")).folders == [tmp_path / "x"]


def test_flags_of_one_crawl_want_one(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "gossamer", "serve", "--shard"]
    found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert re.fullmatch(r"gossamer: --shard and --query-log: expected one DIR.*\n", found.stderr)
