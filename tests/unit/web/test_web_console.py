"""The console: every page of it, what means harm on it, and who may change what."""

import http.client
import json
import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest

import gossamer
from tests.browser.site import HARM_PATH, crawl
from tests.e2e.crawler import only_json, say
from tests.unit.search.pages_archive import PagesArchive, page
from tests.unit.web.served import PATIENCE_S, Answer, Served, serving

pytestmark = pytest.mark.slow

PAGES = (
    "/crawl",
    "/crawl/hosts",
    "/crawl/host?host=127.0.0.1",
    "/crawl/problems",
    "/crawl/urls?state=failed",
    "/crawl/changes?since=2020-01-01",
    "/crawl/copies",
    "/crawl/queries",
    "/crawl/seeds",
)
HARM = ("<script>alert", "<img src=x", "<svg onload", "onmouseover='alert")
TOKEN = "a secret of this test"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = crawl(tmp_path_factory.mktemp("crawled") / "spiders")
    with serving(folder) as running:
        yield running


def settled(server: Served, path: str) -> Answer:
    """Return a page as soon as its figures were counted."""
    for _ in range(200):
        found = server.get(path)
        if "is being counted" not in found.text:
            return found
    raise AssertionError(path)


def post(server: Served, path: str, form: dict[str, str], **headers: str) -> Answer:
    place = urlsplit(server.address)
    line = http.client.HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE_S)
    try:
        given = {"content-type": "application/x-www-form-urlencoded"}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        line.request("POST", path, urlencode(form), given)
        answer = line.getresponse()
        names = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, names, answer.read())
    finally:
        line.close()


def secret_of(server: Served, path: str = "/crawl", **headers: str) -> str:
    found = re.search(r'name="secret" value="([0-9a-f]+)"', server.get(path, **headers).text)
    assert found is not None
    return found[1]


def origin(server: Served) -> str:
    return server.address.rstrip("/")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_there_and_nothing_from_the_web_is_markup_on_it(
    server: Served, path: str
) -> None:
    found = settled(server, path)
    assert found.status == 200
    assert found.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in found.headers["content-security-policy"]
    assert "unsafe-inline" not in found.headers["content-security-policy"]
    scripts = re.findall(r"<script[^>]*>", found.text)
    assert scripts == (['<script src="/static/live.js" defer>'] if path == "/crawl" else [])
    for harm in HARM:
        assert harm not in found.text


@pytest.mark.parametrize(
    "path",
    ["/crawl/host?host=", "/crawl/hosts?q=", "/crawl/urls?state=failed&reason=", "/crawl?done="],
)
@pytest.mark.parametrize("harm", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>'])
def test_what_is_asked_for_is_text_too(server: Served, path: str, harm: str) -> None:
    found = server.get(path + quote(harm))
    assert "<script>alert" not in found.text
    assert "<img src=x" not in found.text


def test_a_url_that_means_harm_has_a_page_a_copy_and_a_way_back(server: Served) -> None:
    url = next(page.url for page in gossamer.open(server.folder).pages() if "alert" in page.url)
    for path in ("/page", "/copy"):
        found = server.ask(path, url=url, form="view")
        assert found.status == 200
        assert "<img src=x" not in found.text
        assert "<script>alert" not in found.text
    assert quote(HARM_PATH.encode(), safe="")[:20] in server.ask("/copy", url=url, form="view").text


def test_every_figure_is_that_of_status(server: Served) -> None:
    status = only_json(say("status", str(server.folder), "--json"))
    text = server.get("/crawl").text
    told = {key: unescape(value) for key, value in re.findall(r'data-live="(\w+)">([^<]*)<', text)}
    for key, name in {
        "pages": "pages",
        "queued": "queued",
        "in_flight": "in_flight",
        "active": "active_hosts",
        "hosts": "hosts",
        "parked": "parked_hosts",
        "held": "held",
        "known": "known_urls",
        "requests": "requests",
        "shards": "shards",
    }.items():
        assert told[key] == f"{status[name]:,}", key
    assert told["failed"] == f"{sum(status['failed'].values()):,}"
    assert told["rate"] == f"{status['pages_per_s']:,}"
    live = server.get("/crawl/live").json
    assert {key: live[key] for key in told if key != "disk"} == {
        key: value for key, value in told.items() if key != "disk"
    }


def test_a_form_of_ours_pauses_and_resumes(server: Served) -> None:
    crawl = gossamer.open(server.folder)
    form = {"action": "pause", "back": "/crawl", "secret": secret_of(server)}
    done = post(server, "/crawl/do", form, origin=origin(server))
    assert done.status == 303
    assert crawl.status().paused == "on_request"
    told = server.get(done.headers["location"]).text
    assert "Paused; no crawl is running" in told
    assert "Resume" in told
    post(server, "/crawl/do", {**form, "action": "resume"}, origin=origin(server))
    assert crawl.status().paused == ""


def test_seeds_blocks_and_delays_of_a_form_are_those_of_the_command_line(server: Served) -> None:
    crawl, secret = gossamer.open(server.folder), secret_of(server)

    def do(action: str, **fields: str) -> str:
        form = {"action": action, "back": "/crawl/seeds", "secret": secret, **fields}
        done = post(server, "/crawl/do", form, origin=origin(server))
        assert done.status == 303, done.text
        return server.get(done.headers["location"]).text

    assert "Added: 1 seed." in do("add", seeds="http://new.test/", label="news", scope="host")
    assert crawl.config().seed_labels["http://new.test/"] == "news"
    assert crawl.config().host["new.test"].scope == "host"
    assert "http://new.test/" in server.get("/crawl/seeds").text
    assert "is blocked" in do("block", pattern="bad.test")
    assert "bad.test" in crawl.config().filter.block
    do("delay", host="new.test", delay_s="5")
    assert crawl.config().host["new.test"].delay_s == 5.0
    assert "is trusted" in do("trust", pattern="shop.test/x/*")
    assert "shop.test/x/*" in crawl.config().traps.trust
    assert "Queued again: 0 URLs." in do("retry", reason="not_found")


@pytest.mark.parametrize(
    ("headers", "form"),
    [
        ({}, {}),
        ({"origin": "http://evil.test"}, {}),
        ({"origin": "null"}, {}),
        ({"origin": "OURS", "sec_fetch_site": "cross-site"}, {}),
        ({"origin": "OURS"}, {"secret": "0" * 64}),
        ({"origin": "OURS"}, {"secret": ""}),
        ({"origin": "OURS"}, {"action": "nothing"}),
    ],
)
def test_a_post_that_is_not_from_a_page_of_ours_changes_nothing(
    server: Served, headers: dict[str, str], form: dict[str, str]
) -> None:
    given = {"action": "pause", "back": "/crawl", "secret": secret_of(server), **form}
    sent = {name: origin(server) if value == "OURS" else value for name, value in headers.items()}
    assert post(server, "/crawl/do", given, **sent).status == 403
    assert gossamer.open(server.folder).status().paused == ""


def test_a_browser_is_sent_back_to_pages_of_ours_only(server: Served) -> None:
    secret = secret_of(server)
    for back in ("//evil.test/", "https://evil.test/", "/crawl\\@evil.test", "/crawl\r\nX: y", "x"):
        form = {"action": "resume", "back": back, "secret": secret}
        done = post(server, "/crawl/do", form, origin=origin(server))
        assert re.fullmatch(r"/crawl\?done=[0-9a-f]+", done.headers["location"]), back


def test_other_paths_take_no_post(server: Served) -> None:
    assert post(server, "/crawl", {}, origin=origin(server)).status == 405


def test_with_a_token_only_who_has_it_may_change_anything(server: Served) -> None:
    with serving(server.folder, "--no-build", "--token", TOKEN) as other:
        page = other.get("/crawl").text
        assert "Log in" in page
        assert 'name="action"' not in page
        secret = secret_of(other, "/crawl/login")
        form = {"action": "pause", "back": "/crawl", "secret": secret}
        assert post(other, "/crawl/do", form, origin=origin(other)).status == 403
        wrong = {"secret": secret, "token": "another"}
        assert post(other, "/crawl/login", wrong, origin=origin(other)).status == 403
        right = {"secret": secret, "token": TOKEN}
        assert post(other, "/crawl/login", right, origin="http://evil.test").status == 403
        done = post(other, "/crawl/login", right, origin=origin(other))
        cookie = done.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert TOKEN not in cookie
        own = {"cookie": cookie.partition(";")[0]}
        assert 'value="pause"' in other.get("/crawl", **own).text
        done = post(other, "/crawl/do", form, origin=origin(other), **own)
        assert done.status == 303
        assert gossamer.open(server.folder).resume().was_paused


def test_metrics_have_those_of_the_crawl(server: Served) -> None:
    for _ in range(600):  # until the index is there
        text = server.get("/metrics").text
        if "gossamer_index_pages" in text:
            break
        time.sleep(0.1)
    pages = gossamer.open(server.folder).status().pages
    assert f"gossamer_crawl_pages_total {float(pages)}" in text
    assert "gossamer_index_pages" in text
    lag = gossamer.open(server.folder).console.index_lag()  # rules of other tests are on record
    assert f"\ngossamer_index_lag_bytes {lag}\n" in text


def test_metrics_say_how_many_answers_memory_had(server: Served) -> None:
    def counts() -> tuple[int, int]:
        values = dict(
            line.rsplit(" ", 1)
            for line in server.get("/metrics").text.splitlines()
            if not line.startswith("#")
        )
        hits, misses = (
            f'gossamer_cache_{name}_total{{kind="whole"}}' for name in ("hits", "misses")
        )
        return int(values[hits]), int(values[misses])

    server.get("/api/hosts")
    hits, misses = counts()
    assert misses >= 1
    for _ in range(3):
        assert server.get("/api/hosts").status == 200
    assert counts() == (hits + 3, misses)


def test_metrics_say_how_far_the_index_is_behind(tmp_path: Path) -> None:
    archive = PagesArchive(tmp_path / "crawl")
    archive.write([page("http://a.test/", "one")])
    crawl = gossamer.OpenCrawl(archive.root)
    assert crawl.console.index_lag() is None
    texts = [
        one for one in (archive.root / "archive").iterdir() if not one.name.startswith("pages")
    ]
    assert 0 < (crawl.console.unindexed_bytes() or 0) <= sum(one.stat().st_size for one in texts)
    crawl.build_index()
    assert crawl.console.index_lag() == 0
    files = list((archive.root / "archive").iterdir())
    before = sum(file.stat().st_size for file in files)
    archive.write([page("http://a.test/b", "two")])
    behind = sum(file.stat().st_size for file in files) - before
    assert behind > 0
    with serving(archive.root, "--no-build", is_waited_for=False) as server:
        assert f"\ngossamer_index_lag_bytes {behind}\n" in server.get("/metrics").text
    assert crawl.console.unindexed_bytes() == behind
    crawl.build_index()
    assert crawl.console.index_lag() == crawl.console.unindexed_bytes() == 0


def test_a_stored_file_has_no_address_but_that_of_our_pages(server: Served) -> None:
    url = next(iter(gossamer.open(server.folder).pages())).url
    assert server.ask("/stored", url=url, key="0" * 32).status == 403
    assert server.ask("/stored", url=url).status == 403


def test_json_of_live_figures_is_json(server: Served) -> None:
    answer = server.get("/crawl/live")
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body)["state"]
