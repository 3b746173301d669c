"""Atlas: every host of a fake web by number, worked out once and kept."""

from dataclasses import dataclass, field

from gossamer.testing.answer import origin_of
from gossamer.testing.site.pages import Abroad, Press
from gossamer.testing.site.plan import Plan, Site
from gossamer.testing.site.words import TOPICS, Dice, sentence

_SENTENCES = 2000
_OWN_SENTENCES = 600
_PARAGRAPHS = 1511
"""A prime, so that a walk of any stride visits all."""
_PER_PARAGRAPH = 5
_PER_HEADING = 6


@dataclass(slots=True)
class Atlas:
    """Hosts, their URLs and what prints their pages."""

    plan: Plan
    scheme: str
    port: int
    lures: list[str]
    """What the first host's home links to besides: traps and faults, when asked for."""
    extras: list[str]
    """What every host's home links to besides pages."""
    _sites: dict[int, Site] = field(default_factory=dict)
    _presses: dict[int, Press] = field(default_factory=dict)
    _said: dict[str, list[str]] = field(default_factory=dict)
    _pools: dict[tuple[str, str], list[bytes]] = field(default_factory=dict)

    def url(self, index: int, target: str) -> str:
        """Return the URL of a target on a host."""
        return origin_of(self.scheme, self.plan.name(index), self.port) + target

    def token(self, index: int, name: int | str) -> str:
        """Return the word that only one page contains; `name` is its number or its path."""
        mark = name if isinstance(name, int) else "x" + "".join(filter(str.isalnum, name))
        return f"tok{self.plan.seed}h{index}p{mark}"

    def site(self, index: int) -> Site:
        """Return the plan of a host."""
        found = self._sites.get(index)
        if found is None:
            found = self._sites[index] = self.plan.site(index)
        return found

    def press(self, index: int) -> Press:
        """Return what prints the pages of a host; a mirror uses the press of its original."""
        source = self.site(index).source
        found = self._presses.get(source)
        if found is None:
            site = self.site(source)
            pool = self._pool(site.topic, site.language)
            found = self._presses[source] = Press(site, pool, self._abroad(), self._notices(site))
        return found

    def _abroad(self) -> Abroad:
        return Abroad(
            hosts=self.plan.hosts,
            url=self.page_url,
            pages=lambda index: self.site(index).pages,
            name=self.plan.name,
        )

    def page_url(self, index: int, number: int) -> str:
        """Return the URL of a numbered page."""
        return self.url(index, self.press(index).path(number) if number else "/")

    def _pool(self, topic: str, language: str) -> list[bytes]:
        """Return paragraphs that are partly about a topic; other topics' share the rest."""
        found = self._pools.get((topic, language))
        if found is None:
            dice = Dice(self.plan.seed, "pool", topic, language)
            own = [sentence(topic, language, dice) for _ in range(_OWN_SENTENCES)]
            found = _paragraphs(own + self._common(language), dice)
            self._pools[topic, language] = found
        return found

    def _common(self, language: str) -> list[str]:
        found = self._said.get(language)
        if found is None:
            dice = Dice(self.plan.seed, "common", language)
            topics = tuple(TOPICS)
            made = [sentence(dice.pick(topics), language, dice) for _ in range(_SENTENCES)]
            found = self._said[language] = made
        return found

    def _notices(self, site: Site) -> list[str]:
        extras = self.extras if site.has_extras else []
        return extras + (self.lures if site.index == 0 else [])


def _paragraphs(said: list[str], dice: Dice) -> list[bytes]:
    """Return paragraphs that lack only their closing tag; some begin with a heading."""
    made = []
    for k in range(_PARAGRAPHS):
        text = " ".join([dice.pick(said) for _ in range(_PER_PARAGRAPH)])
        heading = "" if k % _PER_HEADING else f"<h2>{dice.pick(said).rstrip('.')}</h2>\n"
        made.append(f'{heading}<p class="prose">{text} '.encode())
    return made
