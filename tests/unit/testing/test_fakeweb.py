import gzip
import io
import re
from html import unescape
from urllib.parse import urldefrag, urljoin, urlsplit
from xml.etree import ElementTree as ET

import pytest
from PIL import Image
from pypdf import PdfReader

from gossamer.testing import TRAPS, CannedResponse, FakeWeb

WEB = FakeWeb(seed=3, hosts=20, pages_per_host=20, port=8080)
HREF = re.compile(rb'<a [^>]*?href=["\']?([^"\' >]+)')


def ask(web: FakeWeb, url: str) -> CannedResponse:
    parts = urlsplit(url)
    assert parts.hostname is not None
    return web.response(parts.hostname, parts.path + (f"?{parts.query}" if parts.query else ""))


def links(url: str, body: bytes) -> set[str]:
    body = body.replace(b'rel="nofollow" href', b"x").partition(b"<script>")[0]
    found = (unescape(href.decode("latin-1")) for href in HREF.findall(body))
    return {urldefrag(urljoin(url, href)).url for href in found}


def crawl(web: FakeWeb) -> dict[str, CannedResponse]:
    """Follow links as a crawler would, with the web's own word on robots."""
    found: dict[str, CannedResponse] = {}
    queue = list(web.seeds)
    while queue:
        url = queue.pop()
        parts = urlsplit(url)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        if url in found or parts.scheme != "http" or not web.allows(parts.hostname or "", target):
            continue
        answer = found[url] = ask(web, url)
        if answer.header("Location"):
            queue.append(urljoin(url, answer.header("Location")))
        elif answer.header("Content-Type").startswith("text/html"):
            queue.extend(links(url, answer.body))
    return found


def is_page(answer: CannedResponse) -> bool:
    return answer.status == 200 and answer.header("Content-Type").startswith("text/html")


@pytest.mark.slow
def test_the_truth_is_what_a_reader_of_the_html_finds() -> None:
    found = crawl(WEB)
    assert {url for url, answer in found.items() if is_page(answer)} == WEB.truth()


def test_the_truth_leaves_out_closed_hosts_and_private_pages() -> None:
    truth = WEB.truth()
    hosts = {urlsplit(url).hostname for url in truth}
    assert len(hosts) == 19
    assert "h15.fake3.test" not in hosts
    assert WEB.url(0, "/private/ledger.html") in truth
    assert WEB.url(2, "/private/ledger.html") not in truth
    assert WEB.url(5, "/private/open/notice.html") in truth
    assert WEB.url(4, "/archive/first.print") not in truth


def test_equal_seeds_give_equal_bytes_and_other_seeds_give_others() -> None:
    again = FakeWeb(seed=3, hosts=20, pages_per_host=20, port=8080)
    other = FakeWeb(seed=4, hosts=20, pages_per_host=20, port=8080)
    for url in [*WEB.pages()][:40]:
        assert ask(WEB, url) == ask(again, url)
    assert ask(WEB, WEB.seeds[0]).body != ask(other, WEB.seeds[0]).body


def test_pages_have_the_size_and_the_links_of_real_ones() -> None:
    web = FakeWeb(seed=1, hosts=10, pages_per_host=50)
    bodies = [ask(web, url).body for url in web.pages()]
    assert all(8_000 < len(body) < 170_000 for body in bodies)
    assert max(map(len, bodies)) > 140_000
    assert 20_000 < sum(map(len, bodies)) / len(bodies) < 60_000
    assert all(20 <= body.count(b"<a ") <= 150 for body in bodies)


def test_each_page_carries_a_word_that_no_other_page_has() -> None:
    originals = [url for url in WEB.truth() if not url.startswith(("http://h07.", "http://h17."))]
    words = [re.findall(rb"tok3h\d+p\w+", ask(WEB, url).body)[-1] for url in originals]
    assert len(set(words)) == len(words)


def test_a_mirror_sends_the_bytes_of_its_original() -> None:
    path = WEB.catalog.renderer(1).path(4)
    assert WEB.response("h07.fake1.test", path) == WEB.response("h01.fake0.test", path)


def test_a_near_copy_differs_a_little() -> None:
    original = WEB.response("h00.fake0.test", WEB.catalog.renderer(0).path(1)).body
    copy = WEB.response("h00.fake0.test", "/copies/1.html").body
    changed = set(copy.split(b"\n")) - set(original.split(b"\n"))
    assert 0 < sum(map(len, changed)) < 0.1 * len(copy)


def test_hosts_spread_over_domains_and_addresses() -> None:
    assert len({name.partition(".")[2] for name in WEB.addresses}) == 5
    assert set(WEB.addresses.values()) == {f"127.0.1.{last}" for last in range(1, 9)}


def test_redirects_lead_to_pages() -> None:
    for number, status in ((1, 301), (2, 302), (3, 308), (4, 307)):
        url = WEB.url(0, f"/old/{number}")
        answer = ask(WEB, url)
        assert answer.status == status
        assert ask(WEB, urljoin(url, answer.header("Location"))).status in {200, 301}


def test_sitemaps_and_feeds_name_pages_that_exist() -> None:
    pages = set(WEB.pages())
    locs = {
        loc.text
        for loc in ET.fromstring(WEB.response("h00.fake0.test", "/sitemap.xml").body).iter()
        if loc.tag.endswith("loc")
    }
    assert len(locs) == 20
    assert locs <= pages
    zipped = gzip.decompress(WEB.response("h02.fake0.test", "/sitemap-1.xml.gz").body)
    listed = WEB.response("h02.fake0.test", "/sitemap-2.txt").body.decode().split()
    assert zipped.count(b"<loc>") == len(listed) == 10
    assert set(listed) <= pages
    for feed in ("/feed.xml", "/atom.xml", "/feed.json"):
        assert (
            WEB.url(0, WEB.catalog.renderer(0).path(3)).encode()
            in WEB.response("h00.fake0.test", feed).body
        )


def test_the_pdf_has_text_and_a_link() -> None:
    page = PdfReader(
        io.BytesIO(WEB.response("h00.fake0.test", "/files/report.pdf").body), strict=True
    ).pages[0]
    assert WEB.token(0, "/files/report.pdf") in page.extract_text()
    assert page["/Annots"][0].get_object()["/A"]["/URI"] == WEB.seeds[0]


def test_the_png_is_an_image() -> None:
    image = Image.open(io.BytesIO(WEB.response("h00.fake0.test", "/img/chart.png").body))
    image.load()
    assert (image.format, image.size) == ("PNG", (32, 32))


def test_traps_go_on_for_ever() -> None:
    for way_in in TRAPS:
        url, known = WEB.url(0, way_in), set[str]()
        for _ in range(30):
            known.add(url)
            url = min(links(url, ask(WEB, url).body) - known)
        assert len(known) == 30


def test_traps_and_faults_are_linked_only_when_asked_for() -> None:
    assert b"/trap/" not in ask(WEB, WEB.seeds[0]).body
    loud = FakeWeb(seed=3, with_traps=True, with_faults=True)
    home = ask(loud, loud.seeds[0]).body
    assert b'href="/trap/maze/"' in home
    assert b'href="/fault/reset"' in home


@pytest.mark.parametrize(
    "path", ["/nope", "/heron/view?item=999999", "/-1.html", "/trap/x", "/fault/x"]
)
def test_what_does_not_exist_is_a_404(path: str) -> None:
    assert WEB.response("h00.fake0.test", path).status == 404
    assert WEB.response("nobody.test", "/").status == 404
