"""`gossamer serve URL` of a crawl's store: its pages are there, and nothing can be changed."""

import re
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

import pytest

from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for
from tests.unit.web.served import serving


@pytest.mark.slow
def test_the_crawl_of_a_store_can_be_looked_at_and_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_CACHE", str(tmp_path / "cache"))
    store = f"file://{tmp_path}/store"
    with serve_in_thread(ScriptedWeb()) as web:
        site = web.web.host("a.test").page("/", links=["/1"], text="one").page("/1", text="two")
        flags = flags_for(web.resolve, "--delay", "0", "--shards", "1", "--store", store)
        Crawler(tmp_path / "crawl", (site.url(),), flags).run().expect(0)
    with serving(store, "--no-build") as server:
        page = server.get("/crawl").text
        assert f"the crawl in {store} as it was last shipped" in page
        assert not re.search("<button>(Pause|Stop|Resume)", page)
        told = re.search('<dd data-live="pages">(.*?)</dd>', page)
        assert told is not None
        assert told[1] == "2"
        asked = urllib.request.Request(
            f"{server.address}crawl/do",
            data=urlencode({"action": "pause", "secret": "x"}).encode(),
            headers={"Origin": server.address.rstrip("/")},
        )
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=60)
        with refused.value as answer:
            assert answer.code == 403
