"""Words: sentences, titles and names that read like somebody wrote them, made from a seed.

English is put together from topics, so that sites differ in what they speak of and a search finds
them; other languages are put together from three columns of phrases.
"""

from collections.abc import Sequence
from typing import TypeVar

import xxhash

_T = TypeVar("_T")
_STEP = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def _words(text: str, between: str = " ") -> tuple[str, ...]:
    return tuple(text.split(between))


TOPICS: dict[str, tuple[str, ...]] = {
    "harbours": _words(
        "harbour lighthouse ferry tide anchor sailor quay lantern rope gull mast fog-bell"
    ),
    "gardens": _words(
        "orchard rosebed greenhouse hedge pond seedling beehive trellis compost arbour fig"
    ),
    "railways": _words(
        "viaduct locomotive timetable signal-box platform tunnel guard sleeper-car depot"
    ),
    "kitchens": _words(
        "bakery oven sourdough ladle larder broth spice-jar cellar kettle recipe chestnut"
    ),
    "stars": _words(
        "observatory comet eclipse telescope constellation meteor orrery almanac nebula"
    ),
    "maps": _words(
        "atlas surveyor compass meridian contour pathway cairn border-stone legend footbridge"
    ),
    "music": _words(
        "violin choir organ melody rehearsal drummer manuscript accordion ballad bellows"
    ),
    "rivers": _words(
        "ford waterwheel heron current reed-bed barge weir ferryman delta millpond otter"
    ),
    "printing": _words(
        "letterpress typeface bookbinder margin inkstone pamphlet woodcut proof-reader folio"
    ),
    "clocks": _words(
        "pendulum escapement sundial watchmaker chime hourglass spring dial mainshaft bell"
    ),
}
_ADJECTIVES = _words(
    "quiet old crooked patient northern silver forgotten narrow early borrowed stubborn painted "
    "curious distant mossy careful hollow bright tireless modest winding second salted humming"
)
_VERBS = _words(
    "remembers guards repairs measures outlives borrows describes follows awaits surprises "
    "replaces survives welcomes inspects ignores admires carries shelters records answers"
)
_TIMES = _words(
    "every spring|before dawn|after the first frost|on market days|once a year|without a word|"
    "in heavy rain|by candlelight|for seven winters|when nobody looks|at low tide|to this day",
    "|",
)
_FORMS = (
    "The {a} {n} near {p} {v} the {m} {t}.",
    "In {p}, one {a} {n} is worth more than any {b} {m}.",
    "Nobody in {p} knows why the {n} {v} a {b} {m} {t}.",
    "{p} is known for its {a} {n}, and the {m} {v} it {t}.",
    "Ask about the {n} of {p} and you will hear of a {b} {m}, which {v} the {a} one {t}.",
    "A visitor wrote that the {a} {n} {v} {p} {t}, while the {m} stays {b}.",
    "Between the {n} and the {b} {m} of {p} lies a {a} path that is walked {t}.",
    "It took {d} years to build the {n}; the {a} {m} of {p} {v} it {t}.",
    "The town of {p} keeps {d} records of the {a} {n} and one of the {b} {m}.",
)
_TITLES = (
    "The {a} {n} of {p}",
    "How the {n} {v} the {m}",
    "A {a} {n} and a {b} {m}",
    "Notes on the {n} of {p}",
    "{p}: the {a} {n}",
    "Why the {a} {n} {v} {p}",
)
_SITES = ("The {p} Gazette", "{p} Almanac", "Friends of {p}", "The {a} {n}", "Letters from {p}")
_SYLLABLES = _words(
    "vel mar os tra lin hav den bro kel sun ar tis wick ford nor ell mo ra pen dal gri sto"
)
_COLUMNS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "de": (
        (
            "Der alte Leuchtturm",
            "Die stille Gasse",
            "Das kleine Museum",
            "Der müde Fährmann",
            "Die große Brücke",
            "Ein früher Zug",
            "Die Bäckerin",
        ),
        ("erzählt gern", "wartet seit Jahren", "träumt heimlich", "schweigt lieber", "spricht oft"),
        (
            "von der blauen Küste",
            "auf den ersten Schnee",
            "vom süßen Brot der Nachbarn",
            "über längst verlorene Schlüssel",
            "von grünen Hügeln",
            "über das Läuten der Glocken",
        ),
    ),
    "fr": (
        (
            "Le vieux phare",
            "La ruelle étroite",
            "Le petit musée",
            "La boulangère",
            "Le pont de pierre",
            "Un train très tôt",
            "La rivière",
        ),
        ("raconte souvent", "attend toujours", "protège encore", "oublie parfois", "cherche déjà"),
        (
            "les marées d'été",
            "la première neige",
            "le goût du pain chaud",
            "une clé perdue depuis longtemps",
            "les forêts près de la côte",
            "le chant des cloches",
        ),
    ),
    "es": (
        (
            "El viejo faro",
            "La calle estrecha",
            "El pequeño museo",
            "La panadera",
            "El puente de piedra",
            "Un tren temprano",
            "El río",
        ),
        ("recuerda siempre", "espera cada mañana", "guarda en secreto", "olvida a veces", "busca"),
        (
            "las mareas del verano",
            "la primera nieve del año",
            "el sabor del pan caliente",
            "una llave perdida hace tiempo",
            "los bosques de la montaña",
            "el canto de las campanas",
        ),
    ),
    "ja": (
        ("古い灯台は", "静かな路地は", "小さな博物館は", "石の橋は", "朝の列車は", "川の水車は"),
        ("いつも", "毎年の春に", "夜明け前に", "雨の日に", "だれも知らないうちに"),
        (
            "海の話をしてくれる",
            "初雪を待っている",
            "失くした鍵を探している",
            "町の人々を見守っている",
            "鐘の音を聞いている",
        ),
    ),
}


class SeededRandom:
    """Draws that depend on a seed alone: the same in every Python and on every machine."""

    __slots__ = ("_state",)

    def __init__(self, *seeds: int | str) -> None:
        self._state = xxhash.xxh3_64_intdigest("|".join(map(str, seeds)).encode())

    def number(self) -> int:
        """Return 64 bits (splitmix64)."""
        self._state = (self._state + _STEP) & _MASK
        bits = self._state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & _MASK
        return bits ^ (bits >> 31)

    def below(self, limit: int) -> int:
        """Return a number from 0 up to, but not including, limit."""
        return self.number() % limit

    def pick(self, choices: Sequence[_T]) -> _T:
        """Return one of the choices."""
        return choices[self.number() % len(choices)]


def place(rng: SeededRandom) -> str:
    """Return the name of a town that never was."""
    return "".join(rng.pick(_SYLLABLES) for _ in range(2 + rng.below(2))).capitalize()


def _fill(form: str, topic: str, rng: SeededRandom) -> str:
    nouns = TOPICS[topic]
    return form.format(
        a=rng.pick(_ADJECTIVES),
        b=rng.pick(_ADJECTIVES),
        n=rng.pick(nouns),
        m=rng.pick(nouns),
        v=rng.pick(_VERBS),
        t=rng.pick(_TIMES),
        p=place(rng),
        d=2 + rng.below(90),
    )


def sentence(topic: str, language: str, rng: SeededRandom) -> str:
    """Return one sentence, its stop included."""
    if language == "en":
        return _fill(rng.pick(_FORMS), topic, rng)
    first, second, third = _COLUMNS[language]
    if language == "ja":
        return f"{rng.pick(first)}{rng.pick(second)}{rng.pick(third)}。"
    return f"{rng.pick(first)} {rng.pick(second)} {rng.pick(third)} ({place(rng)})."


def title(topic: str, rng: SeededRandom) -> str:
    """Return the headline of a page."""
    made = _fill(rng.pick(_TITLES), topic, rng)
    return made[0].upper() + made[1:]


def site_title(topic: str, rng: SeededRandom) -> str:
    """Return the name of a site."""
    return _fill(rng.pick(_SITES), topic, rng).title()


def slug(headline: str) -> str:
    """Return a headline as a part of a path."""
    words = headline.lower().replace(":", "").split()
    return "-".join(word for word in words if word not in {"the", "a", "of", "on", "and"})
