"""Is a watch as fresh as its budget allows? Over real sockets: `make bench-watch`.

HOSTS (30) hosts of PAGES (40) pages each on the built-in web; the pages change at random, or like
clocks, at log-normal rates around one change in MEDIAN_S (20) seconds; some have an ETag, some are
new in their markup at each serving, and some go. They are crawled once, then watched with RATE (90)
requests a second for SECONDS (70), killed with -9 half-way. Measured from the server's own log is
the weighted share of time for which our copies were current, after a fifth of the time, and held
against what the shipped watchlist comes to over the same rates and at the same moments without a
network.
"""

import json
import os
import platform
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from laboratory.changing import (
    BEGIN,
    ChangingProcess,
    ChangingWeb,
    Page,
    changes_between,
    foretold_freshness,
    serve_changing,
    true_freshness,
)
from realweb import save

from gossamer.frontier.revisit import Watchlist
from gossamer.testing import LoggedRequest, most_connections, short_gaps

HOSTS = int(os.environ.get("HOSTS") or 30)
PAGES = int(os.environ.get("PAGES") or 40)
MEDIAN_S = float(os.environ.get("MEDIAN_S") or 20)
RATE = float(os.environ.get("RATE") or 90)
SECONDS = float(os.environ.get("SECONDS") or 70)
GAP_S = 0.1
PRIOR_S = 100.0
WARM_SHARE = 0.2
GRACE_S = 120.0
CLOSE = 0.05
GOSSAMER = [sys.executable, "-m", "gossamer"]
KNOBS = f"""
[watch]
prior_s = {PRIOR_S}
replan_s = 1.0
confirm_s = 2.0
confirm_gone_s = 1.0
lost_s = 10.0
"""


def weight(page: Page) -> float:
    """Return what a page's freshness counts: homes are nearer to the seed."""
    if page.number:
        return 1 / 3 if page.host else 1 / 2
    return 1 / 2 if page.host else 1.0


def listed(pages: Sequence[Page]) -> Watchlist:
    """Return the shipped watchlist with all pages, fetched before the changes."""
    watchlist = Watchlist(1.0 / PRIOR_S)
    for key, page in enumerate(pages):
        watchlist.add(key, page.host, weight(page), None, 0.0)
    return watchlist


def crawl(served: ChangingProcess, base: Path) -> None:
    """Fetch every page once."""
    (base / "knobs.toml").write_text(KNOBS)
    pairs = served.web.addresses.items()
    resolve = [word for host, at in pairs for word in ("--resolve", f"{host}:{at}")]
    flags = ["--scope", "any", "--allow", "*.test", "--allow-net", "127.0.0.0/8", "--shards", "1"]
    words = ["crawl", *served.web.seeds, "--into", str(base / "crawl"), *flags, *resolve]
    words += ["--config", str(base / "knobs.toml"), "--delay", str(GAP_S), "--json"]
    done = subprocess.run([*GOSSAMER, *words], capture_output=True, text=True, check=True)
    stored = json.loads(done.stdout.splitlines()[-1])["pages"]
    assert stored == len(served.web.fates), stored


def watch(base: Path, seconds: float, *, is_killed: bool) -> dict[str, object]:
    """Watch for a while; return the last status, or nothing after a kill."""
    words = ["watch", str(base / "crawl"), "--rate", str(RATE), "--json"]
    if not is_killed:
        words += ["--max-time", str(seconds)]
    process = subprocess.Popen(
        [*GOSSAMER, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    if is_killed:
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
    out, _ = process.communicate(timeout=seconds + GRACE_S)
    return {} if is_killed else json.loads(out.splitlines()[-1])


def judged(served: ChangingProcess, status: dict[str, object], cpu_s: float) -> dict[str, object]:
    """Return the figures, from the server's log."""
    web, began_at = served.web, served.web.began_at or 0.0
    visits: list[LoggedRequest] = [v for v in served.requests() if v.target != BEGIN]
    moments = [v.at - began_at for v in visits if v.at > began_at]
    begin, end = WARM_SHARE * moments[-1], moments[-1]
    measured = true_freshness(web, visits, begin, end, weight)
    foretold = foretold_freshness(web, moments, begin, weight, listed)
    found = status["watch"]
    assert isinstance(found, dict)
    return {
        "pages": len(web.fates),
        "hosts": web.hosts,
        "changes": changes_between(web, 0.0, end),
        "looks": len(moments),
        "looks_per_s": round(len(moments) / (end - moments[0]), 1),
        "freshness": round(measured, 4),
        "foretold": round(foretold, 4),
        "of_foretold": round(measured / foretold, 4),
        "expected_by_the_watch": found["expected_freshness"],
        "gone": found["gone"],
        "to_go": sum(page.gone_at is not None for page in web.fates.values()),
        "short_gaps": short_gaps(visits, GAP_S),
        "most_connections_of_a_host": most_connections(visits),
        "not_modified_share": round(sum(v.status == 304 for v in visits) / len(moments), 3),
        "cpu_ms_per_look": round(1000 * cpu_s / len(moments), 2),
        "python": platform.python_version(),
    }


def main() -> None:
    """Measure, print a table, keep the result."""
    base = Path(tempfile.mkdtemp(prefix="gossamer-bench-"))
    web = ChangingWeb(
        seed=4,
        hosts=HOSTS,
        pages_per_host=PAGES,
        median_s=MEDIAN_S,
        horizon_s=3600.0,
        gone_every=29,
        gone_after_s=SECONDS / 8,
    )
    try:
        with serve_changing(web, base / "log.tsv") as served:
            crawl(served, base)
            served.begin()
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            watch(base, SECONDS / 2, is_killed=True)
            status = watch(base, SECONDS / 2, is_killed=False)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            result = judged(served, status, cpu_s)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    for name, value in result.items():
        print(f"{name:28} {value}")
    save("watch", result)
    if result["short_gaps"] or abs(float(str(result["of_foretold"])) - 1.0) > CLOSE:
        sys.exit(f"expected no short gap, and a freshness within {CLOSE:.0%} of what was foretold")


if __name__ == "__main__":
    main()
