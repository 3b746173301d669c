"""What links cost once a page is parsed: finding them, joining them, telling the new ones.

On pages from all over the local real web, in microseconds of CPU per page, the best of some rounds
that take turns. `anchors` are the <a href> with their texts, `other_places` everything else where
a link may stand, `joined` makes canonical URLs with keys of both, `turn` asks of each whether it is
new and wanted (seen set and filters), `first` being the round in which most of them are.
Run it with `make bench-micro ONLY=links`; the last line is one JSON object.
"""

import json
import tempfile
import time
from pathlib import Path

import turbohtml
from realweb import bring_up, sample_pages

from gossamer.config import FilterConfig, ProcessConfig, SeenConfig, UrlConfig
from gossamer.crawl.pipeline import next_tasks
from gossamer.crawl.ports import Stations
from gossamer.dedupe import ContentSeen
from gossamer.filter import build_chain
from gossamer.model import Link, Task
from gossamer.process import Tools
from gossamer.process.html import anchors, others
from gossamer.seen import UrlSeen
from gossamer.urls import join, parse

PAGES = 300
ROUNDS = 5
RULES = UrlConfig()
STAGES = ("anchors", "other_places", "joined", "turn")


def stations(folder: Path) -> Stations:
    """Return a crawl's stations that have seen nothing yet."""
    only = FilterConfig(scope="any", allow=("*.test",))
    return Stations(
        content_seen=ContentSeen(lambda _key: None),
        url_seen=UrlSeen.open(folder, SeenConfig(), []),
        filters=build_chain(only, [], lambda _host: 0, follow_embeds=False),
        urls=RULES,
        process=ProcessConfig(),
        max_redirects=5,
        retry_at=lambda _failed, _attempt, _now: None,
        join=join,
    )


def one_page(
    page: tuple[str, bytes], tools: Tools, at: Stations, spent: dict[str, float]
) -> tuple[list[Link], int]:
    """Read one page, add what each stage took, and return its links and how many were new."""
    url = parse(page[0], RULES)
    assert url is not None
    tree = turbohtml.parse(page[1], positions=False)
    tree.find_all("html")  # the first question builds the tree's index
    moments = [time.process_time()]
    named = anchors(tree, is_small=True)
    moments.append(time.process_time())
    rest = others(tree)
    moments.append(time.process_time())
    links = tools.links(url, named + rest)
    moments.append(time.process_time())
    tasks, _ = next_tasks(Task(url=url), links, at)
    moments.append(time.process_time())
    for stage, began, ended in zip(STAGES, moments, moments[1:], strict=False):
        spent[stage] += ended - began
    return links, len(tasks)


def main() -> None:
    """Measure, print a table, end with JSON."""
    bring_up()
    pages = sample_pages(PAGES)
    tools = Tools(urls=RULES, process=ProcessConfig(), robots_agent="gossamer")
    best = dict.fromkeys((*STAGES, "first_turn"), float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        at = stations(Path(folder))
        first: tuple[int, int] = (0, 0)
        for number in range(ROUNDS):
            spent = dict.fromkeys(STAGES, 0.0)
            read = [one_page(page, tools, at, spent) for page in pages]
            counts = sum(len(links) for links, _ in read), sum(new for _, new in read)
            if number == 0:
                first, best["first_turn"] = counts, spent.pop("turn")
            assert counts == (first[0], first[1] if number == 0 else 0), (counts, first)
            best |= {stage: min(best[stage], cpu_s) for stage, cpu_s in spent.items()}
    assert first[0] > first[1] > 0, first
    figures = {stage: 1e6 * cpu_s / len(pages) for stage, cpu_s in best.items()}
    for stage, us in figures.items():
        print(f"{stage:12} {us:8.1f} us/page")
    result = {f"{stage}_us_per_page": round(us, 1) for stage, us in figures.items()}
    result["links_per_page"] = round(first[0] / len(pages), 1)
    result["new_per_page"] = round(first[1] / len(pages), 1)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
