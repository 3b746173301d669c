"""Main text: content kept and boilerplate left out on 100 judged pages: `make bench-main-text`.

judged/main_text.txt has, for 72 pages of the packaged documentation and 28 written for this,
phrases that a reader came for and phrases that stand around them. A phrase counts as there if its
words stand in a row. Extractors from the package index take part when they can be imported.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from realweb import DATA, save

from gossamer.process import page_text
from gossamer.process.html import parsed
from gossamer.search.analysis.content import Arranger

JUDGED = Path(__file__).parent / "judged"
_WORD = re.compile(r"[^\W_]+")
_TARGET = re.compile(r"\]\([^)\s]*\)")


class JudgedPage(NamedTuple):
    """A page with phrases that are content, and phrases that are not."""

    name: str
    body: bytes
    plain: str
    keep: list[str]
    drop: list[str]


class Score(NamedTuple):
    """Shares of phrases, in percent, and the time of a page."""

    kept: float
    left_out: float
    cpu_us: int


Extractor = Callable[[JudgedPage], str]


def judged_pages() -> Iterator[JudgedPage]:
    """Yield the judged pages; those of the real web must have been unpacked."""
    phrases: dict[str, dict[str, list[str]]] = {}
    name = ""
    for line in (JUDGED / "main_text.txt").read_text().splitlines():
        if line.startswith(("+ ", "- ")):
            phrases[name][line[0]] = line[2:].split(" | ")
        elif line.startswith("written "):
            _, kind, *frames = line.split()
            for frame in frames:
                yield _written(kind, frame, phrases)
        elif not line.startswith("#"):
            name = line
            phrases[name] = {"+": [], "-": []}
    for path, found in phrases.items():
        if path.startswith("docs-"):
            yield _page(path, (DATA / "www" / path).read_bytes(), found["+"], found["-"])


def _written(kind: str, frame: str, phrases: dict[str, dict[str, list[str]]]) -> JudgedPage:
    inside, around = phrases[f"body {kind}"], phrases[f"frame {frame}"]
    html = (JUDGED / "written" / f"frame-{frame}.html").read_text()
    html = html.replace("BODY", (JUDGED / "written" / f"body-{kind}.html").read_text())
    html = html.replace("TITLE", f"{inside['+'][0]} | A site")
    return _page(f"{kind}-{frame}", html.encode(), inside["+"], inside["-"] + around["-"])


def _page(name: str, body: bytes, keep: list[str], drop: list[str]) -> JudgedPage:
    return JudgedPage(name, body, parsed(body, "").to_text(), keep, drop)


def score(pages: list[JudgedPage], extract: Extractor, *, is_told: bool) -> Score:
    """Return how an extractor did; tell its mistakes if asked for."""
    started = time.process_time()
    texts = [extract(page) for page in pages]
    spent = time.process_time() - started
    lost = left = 0
    for page, text in zip(pages, texts, strict=True):
        words = _words(text)
        missing = [phrase for phrase in page.keep if _words(phrase).rstrip() not in words]
        extra = [phrase for phrase in page.drop if _words(phrase) in words]
        lost, left = lost + len(missing), left + len(extra)
        if is_told:
            sys.stdout.writelines(f"  lost {page.name}: {phrase}\n" for phrase in missing)
            sys.stdout.writelines(f"  left {page.name}: {phrase}\n" for phrase in extra)
    kept = 100 - 100 * lost / sum(len(page.keep) for page in pages)
    left_out = 100 - 100 * left / sum(len(page.drop) for page in pages)
    return Score(round(kept, 1), round(left_out, 1), round(spent / len(pages) * 1e6))


def _words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def extractors() -> dict[str, Extractor]:
    """Return what is compared, by name."""
    arranger = Arranger()

    def kernel(page: JudgedPage) -> str:
        tree = parsed(page.body, "")
        links = [link.text for link in tree.select("a[href]")]
        heads = "\n".join(one.text for tag in ("h1", "h2", "h3") for one in tree.find_all(tag))
        text = tree.to_text().encode()
        found = arranger.arranged(b"", links, heads.encode(), text)
        return bytes(found.text[: found.middle]).decode("utf-8", "replace")

    def markdown(page: JudgedPage) -> str:
        found = page_text("markdown", page.body, plain=page.plain, url="http://a.test/b/")
        return _TARGET.sub("]", found).replace("\\", "")

    return {
        "gossamer main": lambda page: page_text("main", page.body, plain=page.plain),
        "gossamer markdown": markdown,
        "whole text": lambda page: parsed(page.body, "").to_text(),
        "index kernel": kernel,
        "turbohtml main_text": lambda page: parsed(page.body, "").main_text(),
        "turbohtml main_content": lambda page: _turbohtml(page.body),
        **_public(),
    }


def _turbohtml(body: bytes) -> str:
    tree = parsed(body, "")
    return (tree.main_content() or tree).to_text()


def _public() -> dict[str, Extractor]:
    """Return the extractors of other packages that are installed."""
    found: dict[str, Extractor] = {}
    if (trafilatura := _module("trafilatura")) is not None:
        found["trafilatura"] = lambda page: trafilatura.extract(page.body) or ""
        found["trafilatura, recall"] = lambda page: (
            trafilatura.extract(page.body, favor_recall=True) or ""
        )
    if (resiliparse := _module("resiliparse.extract.html2text")) is not None:
        tree_of = import_module("resiliparse.parse.html").HTMLTree.parse_from_bytes
        found["resiliparse main_content"] = lambda page: resiliparse.extract_plain_text(
            tree_of(page.body), main_content=True
        )
    if (readability := _module("readability")) is not None:
        found["readability-lxml"] = lambda page: parsed(
            readability.Document(page.body.decode("utf-8", "replace")).summary().encode(), ""
        ).to_text()
    if (justext := _module("justext")) is not None:
        stop = justext.get_stoplist("English")
        found["jusText"] = lambda page: "\n".join(
            one.text for one in justext.justext(page.body, stop) if not one.is_boilerplate
        )
    return found


def _module(name: str) -> Any:  # noqa: ANN401 -- a package that may be missing
    try:
        return import_module(name)
    except ImportError:
        return None


def main() -> None:
    """Compare all extractors and keep the figures."""
    pages = list(judged_pages())
    rows: dict[str, dict[str, float]] = {}
    for name, extract in extractors().items():
        score(pages[:5], extract, is_told=False)
        one = score(pages, extract, is_told="-v" in sys.argv and name.startswith("gossamer main"))
        rows[name] = one._asdict()
        print(f"{name:26} kept {one.kept:5.1f} %  left out {one.left_out:5.1f} %", end="")
        print(f"  {one.cpu_us:6} us a page", flush=True)
    ours = rows["gossamer main"]
    found = {"kept": ours["kept"], "left_out": ours["left_out"], "pages": len(pages)}
    save("main-text", {**found, "extractors": rows})


if __name__ == "__main__":
    main()
