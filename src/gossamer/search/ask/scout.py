"""Scout: which pages may be an answer? All words first; any of them when few pages have all."""

from msgspec import Struct
from msgspec.structs import replace

from gossamer.search.ask.answer import SearchWish
from gossamer.search.ask.intent import Intent
from gossamer.search.ask.ranking import Taste
from gossamer.search.ask.tongues import pages_of
from gossamer.search.finder import Finder
from gossamer.search.messages import Ask, Candidate

BLOCK = 100
"""Candidates that are ranked against each other."""
MOST = 1_000
"""Candidates of a question. Whoever wants more should ask for less."""
MOST_UNASKED = 5_000
"""Candidates of a question without words."""


class Finding(Struct, frozen=True, kw_only=True):
    """Candidates in blocks, the better blocks first."""

    total: int = 0
    firm: int = 0
    """Pages with all the words that were said."""
    blocks: tuple[list[Candidate], ...] = ()
    is_all: bool = True
    """Whoever looks deeper finds no more."""
    is_partial: bool = False
    hints: tuple[str, ...] = ()


class Scout:
    """Asks an index for candidates."""

    def __init__(self, finder: Finder, taste: Taste) -> None:
        self._finder = finder
        self._taste = taste

    def find(self, intent: Intent, wish: SearchWish, *, is_deep: bool) -> Finding:
        """Return the pages with all the words; if there are few, then those with any."""
        ask = intent.ask(wish.switches, self._taste.weights)
        if not intent.groups:
            return self._unasked(ask, wish)
        known, hints = self._without_unknown(intent, ask)
        found = self._blocks(known, wish, is_deep=is_deep)
        if found.total < self._taste.few and known.needed > 1:
            # The best page for a long question often lacks half of its words. Scores grow with the
            # number and the rarity of the words, so pages with most of them come first anyway.
            any_word = replace(known, needed=1)
            found = _followed(found, self._blocks(any_word, wish, is_deep=is_deep))
        if is_deep and found.total > MOST:
            hints = (*hints, f"only the best {MOST:,} results can be turned to")
        firm = found.firm if known.needed == ask.needed else 0
        return replace(found, firm=firm, hints=(*hints, *found.hints))

    def _blocks(self, ask: Ask, wish: SearchWish, *, is_deep: bool) -> Finding:
        """Return candidates in blocks. The first is the same, however deep somebody looks.

        Of pages with the same score an index may choose others when it is asked for more.
        """
        found = self._finder.find(replace(ask, top=BLOCK), is_exact=wish.is_exact)
        blocks = [found.candidates]
        if is_deep and found.total > BLOCK:
            first = {one.key for one in found.candidates}
            more = self._finder.find(replace(ask, top=MOST), is_exact=wish.is_exact)
            rest = [one for one in more.candidates if one.key not in first]
            blocks += [rest[n : n + BLOCK] for n in range(0, len(rest), BLOCK)]
        return Finding(
            total=found.total,
            firm=found.total,
            blocks=tuple(blocks),
            is_all=is_deep or found.total <= len(found.candidates),
            is_partial=found.missing > 0,
        )

    def _unasked(self, ask: Ask, wish: SearchWish) -> Finding:
        """Return pages by filters alone, or by words that must stand in a row."""
        if ask == Ask(weights=ask.weights, without=ask.without):
            return Finding(hints=("there is nothing to look for",))
        found = self._finder.find(replace(ask, top=MOST_UNASKED), is_exact=wish.is_exact)
        hint = f"{found.total:,} pages fit; these are the best of some of them"
        return Finding(
            total=found.total,
            firm=found.total,
            blocks=(found.candidates,),
            is_partial=found.missing > 0,
            hints=(hint,) if found.total > len(found.candidates) else (),
        )

    def _without_unknown(self, intent: Intent, ask: Ask) -> tuple[Ask, tuple[str, ...]]:
        """Do without words that no page has, unless no page has any."""
        counts = self._finder.counts([term for group in ask.groups for term in group])
        known = {group for group in ask.groups if pages_of(group, counts)}
        if not known or len(known) == len(ask.groups):
            return ask, ()
        groups = tuple(group for group in ask.groups if group in known)
        pairs = zip(intent.names, ask.groups, strict=True)
        unknown = dict.fromkeys(name for name, group in pairs if group not in known)
        hint = f"no page has {', '.join(unknown)}"
        return replace(ask, groups=groups, needed=len(groups)), (hint,)


def _followed(found: Finding, more: Finding) -> Finding:
    """Return pages with all the words, and after them those with some."""
    first = {one.key for block in found.blocks for one in block}
    others = ([one for one in block if one.key not in first] for block in more.blocks)
    hint = "no page has all the words; these have some of them"
    if found.total:
        hint = "few pages have all the words; those with some of them follow"
    return replace(
        more,
        firm=found.firm,
        blocks=(*found.blocks, *others),
        hints=(hint,) if more.total > found.total else (),
    )
