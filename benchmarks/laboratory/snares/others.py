"""Snares of other shapes and with other words: written after the rules, to try them."""

from datetime import date, timedelta

from gossamer.testing.words import SeededRandom
from laboratory.snares.sheet import WORDS, Sheet, babble

_SYLLABLES = [
    "ka",
    "lo",
    "mi",
    "ter",
    "ban",
    "sho",
    "vel",
    "dra",
    "quin",
    "os",
    "pel",
    "ur",
    "ith",
    "zan",
    "mok",
    "fre",
    "gul",
    "wen",
    "tas",
    "eb",
]
_WEEKS = 52
_VIEWS = {"day": 1, "week": 7, "month": 30}
_SIGNS = "abcdefghijkmnpqrstuvwxyz23456789"
_ROOMS = ("home", "prices", "contact", "news", "terms")
_FEATURES = ("sort", "dir", "brand", "size", "colour", "least", "most")
_DEEP = 5


def _word(rng: SeededRandom) -> str:
    return "".join(rng.pick(_SYLLABLES) for _ in range(2 + rng.below(3)))


def tarpit(tail: str) -> Sheet:
    """Answer any path with files beside it, below it and elsewhere."""
    rng = SeededRandom("tarpit", tail)
    folder = tail.rpartition("/")[0]
    links = []
    for _ in range(3 + rng.below(5)):
        below = f"{folder}/{_word(rng)}" if folder.count("/") < _DEEP else _word(rng)
        chosen = rng.pick((folder, below, f"{_word(rng)}/{_word(rng)}"))
        links.append(f"{chosen}/{_word(rng)}.html".lstrip("/"))
    text = " ".join(_word(rng) for _ in range(150))
    return Sheet(f"{_word(rng)} {_word(rng)}", text, links)


def laboratory(tail: str) -> Sheet:
    """Answer any node with four new ones, in two parameters."""
    rng = SeededRandom("laboratory", tail)
    nodes = [f"?node={rng.number():x}&from={rng.below(10**6)}" for _ in range(4)]
    return Sheet("Experiment", babble("laboratory", tail, words=60), nodes)


def events(tail: str) -> Sheet | None:
    """Answer any day, week or month that a query names with its neighbours; nothing is on."""
    asked = dict(pair.partition("=")[::2] for pair in tail.removeprefix("?").split("&"))
    try:
        day = date.fromisoformat(asked.get("date") or "2026-11-15")
    except ValueError:
        return None
    view = asked.get("view") or "day"
    step = timedelta(days=_VIEWS.get(view, 1))
    beside = [f"?view={view}&date={day - step}", f"?view={view}&date={day + step}"]
    others = [f"?view={other}&date={day}" for other in _VIEWS]
    text = f"No events are scheduled for {day:%A}, {day.day} {day:%B} {day.year}. Add an event."
    return Sheet("Events", text, [*beside, *others])


def agenda(tail: str) -> Sheet | None:
    """Answer any week of any year with the weeks beside it."""
    year, _, week = (tail or "2026-W46").partition("-W")
    if not (year.isdigit() and week.isdigit()):
        return None
    number = int(year) * _WEEKS + int(week) - 1
    beside = [f"{n // _WEEKS}-W{n % _WEEKS + 1:02d}" for n in (number - 1, number + 1)]
    return Sheet(f"Agenda of week {week}", f"Week {week} of {year}: free", beside)


def portal(tail: str) -> Sheet:
    """Answer any session with the same five pages, under new sessions; it says which it is."""
    session, _, room = tail.partition("/")
    rng = SeededRandom("portal", tail)
    new = ["".join(rng.pick(_SIGNS) for _ in range(8)) for _ in _ROOMS]
    links = [f"~{name}/{other}" for name, other in zip(new, _ROOMS, strict=True)]
    text = f"Welcome, your visit is {session}. {babble('portal', room, words=50)}"
    return Sheet(f"Portal {room}", text, links)


def listing(tail: str) -> Sheet:
    """Answer any folder with the same listing: links that lead round in circles."""
    inside = tail.rstrip("/")
    links = [f"{inside}/{name}/".lstrip("/") for name in ("current", "src", "lib")]
    return Sheet("Index of files", "Parent Directory current src lib", links)


def results(tail: str) -> Sheet:
    """Answer any page of results with the next, though there are none."""
    asked = tail.partition("page=")[2]
    number = int(asked) if asked.isdigit() else 1
    return Sheet("Results", "Nothing was found. Next page.", [f"?page={number + 1}"])


def replies(tail: str) -> Sheet:
    """Answer any reply to a post with the post."""
    rng = SeededRandom("replies", tail)
    links = [f"?replytocom={rng.below(10**7)}" for _ in range(10)]
    return Sheet("A post", babble("replies"), links)


def goods(tail: str) -> Sheet:
    """Answer any choice with other choices of one feature each; what is shown depends on all."""
    chosen = [pair for pair in tail.removeprefix("?").split("&") if pair]
    rng = SeededRandom("goods", tail)
    links = []
    for name in _FEATURES:
        kept = [pair for pair in chosen if not pair.startswith(f"{name}=")]
        links.append("?" + "&".join(sorted([*kept, f"{name}={rng.pick(WORDS)}"])))
    return Sheet("Goods", babble("goods", tail, words=25), links)
