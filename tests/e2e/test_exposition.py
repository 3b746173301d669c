"""Metrics are what Prometheus reads, by its own client's strict parser and by promtool."""

import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as strictly
from prometheus_client.parser import text_string_to_metric_families as loosely

import gossamer
from gossamer.testing import ScriptedWeb, serve_in_thread
from tests.e2e.crawler import Crawler, flags_for
from tests.unit.web.served import serving

WORDS = ("wombat", 'a "quoted" word', "two\\slashes")


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return what a crawl and its server tell, some failures and searches in it."""
    folder: Path = tmp_path_factory.mktemp("exposition") / "crawl"
    with serve_in_thread(ScriptedWeb()) as web:
        site = web.web.host("a.test").page("/", links=["/1", "/gone"], text="wombat")
        site.page("/1", text="another")
        flags = flags_for(web.resolve, "--delay", "0", "--no-sitemaps", "--shards", "1")
        Crawler(folder, (site.url(),), flags).run().expect(0)
    with serving(folder, "--no-build") as server:
        for word in WORDS:
            server.ask("/search", q=word)
        with urllib.request.urlopen(f"{server.address}metrics", timeout=60) as answer:
            served: str = answer.read().decode()
    return [gossamer.open(folder).console.metrics(), served]


def as_openmetrics(text: str) -> str:
    """Return the text as OpenMetrics has it, which names the family of a counter without _total."""
    lines = []
    for line in text.splitlines():
        words = line.split(" ", 3)
        is_counter = f"# TYPE {words[2]} counter" in text if line.startswith("# ") else False
        if is_counter:
            words[2] = words[2].removesuffix("_total")
        lines.append(" ".join(words) if is_counter else line)
    return "\n".join([*lines, "# EOF", ""])


@pytest.mark.slow
def test_metrics_are_read_by_the_strict_parser_of_the_prometheus_client(texts: list[str]) -> None:
    for text in texts:
        families = {one.name: one for one in strictly(as_openmetrics(text))}
        assert families.keys() == {one.name for one in loosely(text)}
        for one in families.values():
            assert one.documentation.endswith("."), one.name
            assert one.type in {"counter", "gauge", "histogram", "summary"}, one.name
            assert one.name.startswith("gossamer_"), one.name
        assert families["gossamer_crawl_pages"].samples[0].value == 2


@pytest.mark.slow
def test_promtool_finds_nothing(texts: list[str]) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed here: `apt-get install prometheus` brings it")
    for text in texts:
        done = subprocess.run(
            [promtool, "check", "metrics"], input=text, text=True, capture_output=True, check=False
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    rules = Path(__file__).parents[2] / "deploy" / "alerts.yml"
    subprocess.run([promtool, "check", "rules", str(rules)], check=True, capture_output=True)
