"""Sidebar: facets with counts and the days of fetch, beside the results; on phones a drawer.

The drawer is opened and closed by links to its own id and back: there is no script.
"""

from collections.abc import Iterator, Sequence

from gossamer import Facets, FacetValue
from gossamer.web.frame import address, text
from gossamer.web.search.narrowing import days_of, has_filters, has_kind, narrowed, widened

ID = "filters"
RESULTS_ID = "results"
FIRST_SHOWN = 5
"""Values of a kind; more are a click away."""
_NAMED = (
    "af Afrikaans, ar Arabic, bg Bulgarian, bn Bengali, ca Catalan, cs Czech, cy Welsh, da "
    "Danish, de German, el Greek, en English, eo Esperanto, es Spanish, et Estonian, eu Basque, "
    "fa Persian, fi Finnish, fr French, ga Irish, gl Galician, gu Gujarati, he Hebrew, hi "
    "Hindi, hr Croatian, hu Hungarian, hy Armenian, id Indonesian, is Icelandic, it Italian, ja "
    "Japanese, ka Georgian, kk Kazakh, ko Korean, la Latin, lt Lithuanian, lv Latvian, mk "
    "Macedonian, mr Marathi, ms Malay, nb Norwegian, nl Dutch, nn Norwegian Nynorsk, no "
    "Norwegian, pl Polish, pt Portuguese, ro Romanian, ru Russian, sk Slovak, sl Slovenian, sq "
    "Albanian, sr Serbian, sv Swedish, sw Swahili, ta Tamil, te Telugu, th Thai, tl Tagalog, tr "
    "Turkish, uk Ukrainian, ur Urdu, vi Vietnamese, zh Chinese"
)
LANGUAGES = dict(pair.split(" ", 1) for pair in _NAMED.split(", "))


def opener(query: str) -> str:
    """Return the link that opens the drawer, or leads to the sidebar."""
    some = sum(has_kind(query, kind) for kind in ("site", "lang", "type", "after"))
    return f'<a class="opener" href="#{ID}">Filters{f" ({some})" if some else ""}</a>'


def sidebar(query: str, facets: Facets | None, *, is_wordy: bool = False) -> Iterator[str]:
    """Give the sidebar of a query's results. `is_wordy`: some have not all of its words."""
    yield f'<aside class="facets" id="{ID}" tabindex="-1" aria-label="Filters">'
    yield f'<p class="drawer"><b>Filters</b><a class="closer" href="#{RESULTS_ID}">Close</a></p>'
    if facets is not None:
        sign = "" if facets.is_exact else "+"
        yield from _kind(query, "Site", "site", facets.sites, sign)
        yield from _kind(query, "Language", "lang", facets.languages, sign)
        yield from _kind(query, "Type", "type", facets.types, sign)
        yield from _kind(query, "Year of fetch", "after", facets.years, sign)
        if any((facets.sites, facets.languages)) and facets.has_all_words and is_wordy:
            yield '<p class="note">These count pages with all the words.</p>'
        if not facets.is_exact:
            yield '<p class="note">There are at least so many: not all were counted.</p>'
    yield _days(query)
    yield f'</aside><a class="shade" href="#{RESULTS_ID}" tabindex="-1" aria-hidden="true"></a>'


def _kind(
    query: str, title: str, kind: str, values: Sequence[FacetValue], sign: str
) -> Iterator[str]:
    """Give one kind of facets. A kind with one value narrows nothing, unless it is chosen."""
    is_chosen = has_kind(query, kind)
    if not values or (len(values) == 1 and not is_chosen):
        return
    yield f'<section><h2 id="facet-{kind}">{title}</h2><ul aria-labelledby="facet-{kind}">'
    yield from (_value(query, title, kind, one, sign) for one in values[:FIRST_SHOWN])
    yield "</ul>"
    if more := values[FIRST_SHOWN:]:
        is_open = " open" * any(has_filters(query, one.filter) for one in more)
        yield f"<details{is_open}><summary>{len(more)} more</summary><ul>"
        yield from (_value(query, title, kind, one, sign) for one in more)
        yield "</ul></details>"
    if is_chosen:
        wide = address("/search", q=widened(query, f"{kind}:"))
        yield f'<p><a href="{wide}">Any {title.lower()}</a></p>'
    yield "</section>"


def _value(query: str, title: str, kind: str, one: FacetValue, sign: str) -> str:
    name = LANGUAGES.get(one.value, one.value) if kind == "lang" else one.value
    pages = f"{one.count:,}{sign} {'page' if one.count == 1 else 'pages'}"
    if has_filters(query, one.filter):
        place = address("/search", q=widened(query, one.filter))
        about = f"{title} {name}, {pages}: chosen, take it off"
        state, mark = ' aria-current="true"', '<span class="count" aria-hidden="true">×</span>'
    else:
        place = address("/search", q=narrowed(query, one.filter))
        about = f"Only {title.lower()} {name}: {pages}"
        state, mark = "", f'<span class="count" aria-hidden="true">{one.count:,}{sign}</span>'
    return (
        f'<li><a class="facet" href="{place}" rel="nofollow" aria-label="{text(about)}"{state}>'
        f'<bdi class="value">{text(name)}</bdi>{mark}</a></li>'
    )


def _days(query: str) -> str:
    """Return the form for the first and the last day of fetch, both included."""
    first, last = days_of(query)
    fields = "".join(
        f'<label><span>{label}</span><input type="date" name="{name}" value="{text(day)}"></label>'
        for label, name, day in (("From", "from", first), ("To", "to", last))
    )
    return (
        f'<section><h2 id="facet-days">Fetched</h2><form class="days" action="/search" '
        f'aria-labelledby="facet-days"><input type="hidden" name="q" value="{text(query)}">'
        f"{fields}<button>Apply</button></form></section>"
    )
