"""What reading HTML costs: the parser alone, with hrefs, with text, and the whole HTML processor.

On pages from all over the local real web, CPU time, the best of some rounds that take turns. The
first row also tells how quick the machine is: compare it before comparing anything else.
Run it with `make bench-micro ONLY=parse`; the last line is one JSON object.
"""

import json
import time
from collections.abc import Callable

import turbohtml
from documents import RULES, document
from realweb import bring_up, sample_pages

from gossamer.config import ProcessConfig
from gossamer.process import Registry, Tools

PAGES = 300
ROUNDS = 5


def whole_processor() -> Callable[[str, bytes], int]:
    """Return a function that reads a page as a crawl does and returns how many links it has."""
    registry = Registry.load(Tools(urls=RULES, process=ProcessConfig(), robots_agent="gossamer"))

    def read(url: str, body: bytes) -> int:
        found = registry.read(document(url, body), "text/html")
        assert not found.errors, (url, found.errors)
        return len(found.links)

    return read


def parse_only(_url: str, body: bytes) -> int:
    """Build the tree."""
    return len(turbohtml.parse(body, positions=False).find_all("html"))


def parse_and_hrefs(_url: str, body: bytes) -> int:
    """Build the tree and return how many hrefs it has."""
    tree = turbohtml.parse(body, positions=False)
    return len([element.attr("href") for element in tree.find_all("a")])


def parse_and_text(_url: str, body: bytes) -> int:
    """Build the tree and return how long its text is."""
    return len(turbohtml.parse(body, positions=False).to_text())


def main() -> None:
    """Measure, print a table, end with JSON."""
    bring_up()
    pages = sample_pages(PAGES)
    kb = sum(len(body) for _, body in pages) / 1000
    arms: dict[str, Callable[[str, bytes], int]] = {
        "parse": parse_only,
        "parse_hrefs": parse_and_hrefs,
        "parse_text": parse_and_text,
        "processor": whole_processor(),
    }
    counts = {name: sum(arm(*page) for page in pages) for name, arm in arms.items()}
    assert all(counts.values()), counts
    best = dict.fromkeys(arms, float("inf"))
    for _ in range(ROUNDS):
        for name, arm in arms.items():
            began = time.process_time()
            total = sum(arm(*page) for page in pages)
            best[name] = min(best[name], time.process_time() - began)
            assert total == counts[name]
    result: dict[str, float] = {}
    for name, cpu_s in best.items():
        result[f"{name}_us_per_kb"] = round(1e6 * cpu_s / kb, 2)
        result[f"{name}_us_per_page"] = round(1e6 * cpu_s / len(pages), 1)
        print(f"{name:12} {1e6 * cpu_s / len(pages):8.1f} us/page {1e6 * cpu_s / kb:8.2f} us/kB")
    result["kb_per_page"] = round(kb / len(pages), 1)
    result["links_per_page"] = round(counts["processor"] / len(pages), 1)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
