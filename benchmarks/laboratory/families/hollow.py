"""Families most of whose pages say that there is nothing, beside some that have much to say.

Honest: a shop's pages of reviews, a league's matches without a report, members of a forum who never
wrote, squares of an atlas without a find. What is to be read is found through the empty pages; the
empty ones nobody misses. A trap: a calendar of events that are made up, in four views, without end.
"""

from datetime import date, timedelta
from functools import partial

from laboratory.families.alike import PageMakers, family_of
from laboratory.families.endless import Place
from laboratory.families.family import Family, scaled
from laboratory.families.page import (
    Frame,
    Link,
    around,
    inline,
    listed,
    number_of,
    para,
    phrase,
    query_of,
    slug,
)


def reviews(scale: float) -> Family:
    """Return a shop's items, each with a page of reviews: nine of ten ask for the first one."""
    items, per_list, writers = scaled(800, scale, 20), 24, scaled(120, scale, 4)
    frame = Frame("Lamp & Shade", (Link("/lamps", "Lamps"),), ("delivery", "returns"))
    pages: PageMakers = {}
    lists = -(-items // per_list)

    def item(number: int) -> Link:
        return Link(f"/{slug(2, 'lamp', number)}-{number}.html", phrase(2, "lamp", number).title())

    def said_of(number: int) -> str:
        return f"/review/product/list/id/{number + 900}/"

    def writer(number: int) -> Link:
        return Link(f"/review/customer/{number + 1}/", phrase(1, "customer", number).title())

    def writers_of(number: int) -> list[int]:
        has = number_of("reviewed", number) % 10 == 0
        return sorted({number_of("by", number, n) % writers for n in range(4)}) if has else []

    def review_page(number: int) -> str:
        who = writers_of(number)
        said = [inline([writer(n)]) + para(35, "review", number, n) for n in who]
        back = inline([item(number)])
        return frame.page("Reviews", back, *(said or ["<p>Be the first to review this.</p>"]))

    def page_of_list(at: int) -> Link:
        return Link(f"/lamps?p={at + 1}" if at else "/lamps", str(at + 1))

    reviewed: dict[int, list[int]] = {}
    for number in range(items):
        pages[item(number).href] = partial(
            frame.page,
            item(number).text,
            para(30, "lamp", number),
            inline([Link(said_of(number), "Reviews")]),
        )
        pages[said_of(number)] = partial(review_page, number)
        for who in writers_of(number):
            reviewed.setdefault(who, []).append(number)
    for who, numbers in reviewed.items():
        about = para(20, "customer", who)
        pages[writer(who).href] = partial(
            frame.page, writer(who).text, about, listed(map(item, numbers))
        )
    for at in range(lists):
        shown = listed(item(n) for n in range(at * per_list, min(items, (at + 1) * per_list)))
        ways = inline(page_of_list(n) for n in around(at, lists))
        pages[page_of_list(at).href] = partial(frame.page, f"Lamps, {at + 1}", shown, ways)
    empty = frozenset(said_of(number) for number in range(items) if not writers_of(number))
    return family_of("reviews", "//www.lampandshade.test/lamps", frame, pages, empty=empty)


def fixtures(scale: float) -> Family:
    """Return a league: seasons, rounds, and a page for each match, of which few have a report."""
    seasons, rounds, matches = scaled(9, scale**0.5), scaled(26, scale**0.5, 4), 7
    frame = Frame("Vale League", (Link("/seasons", "Seasons"),), ("rules",))
    pages: PageMakers = {}
    quiet = []

    def club(number: int) -> str:
        return phrase(1, "club", number % 14).title()

    def round_link(season: int, at: int) -> Link:
        return Link(f"/{2010 + season}/round/{at + 1}", f"Round {at + 1}")

    def match(season: int, at: int, game: int) -> Link:
        number = (season * rounds + at) * matches + game
        return Link(f"/match/{30_000 + number}", f"{club(game)} - {club(game + at + 1)}")

    def match_page(season: int, at: int, game: int, *, is_told: bool) -> str:
        up = inline([round_link(season, at)])
        told = [para(150, "match", season, at, game)] if is_told else ["No report is available."]
        near = inline(match(season, at, n) for n in around(game, matches))
        return frame.page("Match", up, *told, near)

    for season in range(seasons):
        rows = [round_link(season, at) for at in range(rounds)]
        pages[f"/{2010 + season}/"] = partial(frame.page, f"Season {2010 + season}", listed(rows))
        for at in range(rounds):
            games = [match(season, at, game) for game in range(matches)]
            title = f"{2010 + season}, round {at + 1}"
            ways = inline(round_link(season, n) for n in around(at, rounds))
            pages[round_link(season, at).href] = partial(frame.page, title, listed(games), ways)
            for game in range(matches):
                is_told = number_of("told", season, at, game) % 8 == 0
                target = match(season, at, game).href
                pages[target] = partial(match_page, season, at, game, is_told=is_told)
                if not is_told:
                    quiet.append(target)
    pages["/seasons"] = lambda: frame.page(
        "Seasons", listed(Link(f"/{2010 + n}/", str(2010 + n)) for n in range(seasons))
    )
    door = "//www.valeleague.test/seasons"
    return family_of("fixtures", door, frame, pages, empty=frozenset(quiet))


def members(scale: float) -> Family:
    """Return a club's members: most joined and never wrote; what the others wrote is below them."""
    people, per_list = scaled(1600, scale, 40), 50
    frame = Frame("Beekeepers", (Link("/members", "Members"),), ("rules", "privacy"))
    pages: PageMakers = {}
    lists = -(-people // per_list)

    def member(number: int) -> Link:
        return Link(f"/members/{phrase(1, 'bee', number)}.{number + 11}/", phrase(1, "bee", number))

    def post(number: int, at: int) -> Link:
        return Link(f"/posts/{number * 40 + at + 5000}", phrase(4, "post", number, at))

    def posts_of(number: int) -> range:
        writes = number_of("writes", number) % 7 == 0
        return range(1 + number_of("posts", number) % 9 if writes else 0)

    def profile(number: int) -> str:
        posts = [post(number, at) for at in posts_of(number)]
        return frame.page("Member", listed(posts) if posts else "<p>Nothing was written yet.</p>")

    def page_of_list(at: int) -> Link:
        return Link(f"/members?page={at + 1}" if at else "/members", str(at + 1))

    for at in range(lists):
        shown = range(at * per_list, min(people, (at + 1) * per_list))
        ways = inline(page_of_list(n) for n in around(at, lists))
        title = f"Members, page {at + 1}"
        pages[page_of_list(at).href] = partial(frame.page, title, listed(map(member, shown)), ways)
    for number in range(people):
        pages[member(number).href] = partial(profile, number)
        for at in posts_of(number):
            text = para(70, "bees", number, at)
            link = post(number, at)
            pages[link.href] = partial(frame.page, link.text, text, inline([member(number)]))
    empty = frozenset(member(number).href for number in range(people) if not posts_of(number))
    return family_of("members", "//www.valebees.test/members", frame, pages, empty=empty)


def squares(scale: float) -> Family:
    """Return an atlas of moths: squares that link those around them, and kinds found in some."""
    side, kinds = scaled(44, scale**0.5, 8), scaled(150, scale, 6)
    frame = Frame("Atlas of moths", (Link(f"/square/{side // 2}-{side // 2}", "Map"),), ("help",))
    pages: PageMakers = {}
    all_squares = [(x, y) for x in range(side) for y in range(side)]

    def square(x: int, y: int) -> Link:
        return Link(f"/square/{x}-{y}", f"{x}-{y}")

    def moth(number: int) -> Link:
        return Link(f"/moth/{number + 1}", phrase(2, "moth", number).capitalize())

    def moths_of(x: int, y: int) -> list[int]:
        is_found = number_of("found", x, y) % 8 == 0
        return sorted({number_of("moth", x, y, n) % kinds for n in range(5)}) if is_found else []

    def square_page(x: int, y: int) -> str:
        near = [square(n, y) for n in around(x, side)] + [square(x, n) for n in around(y, side)]
        found = listed(map(moth, moths_of(x, y))) if moths_of(x, y) else "<p>No finds here.</p>"
        return frame.page("Square", found, inline(near))

    where: dict[int, list[tuple[int, int]]] = {}
    for x, y in all_squares:
        pages[square(x, y).href] = partial(square_page, x, y)
        for number in moths_of(x, y):
            where.setdefault(number, []).append((x, y))
    for number, found in where.items():
        text = para(80, "moth", number)
        pages[moth(number).href] = partial(
            frame.page, moth(number).text, text, inline(square(*place) for place in found)
        )
    empty = frozenset(square(x, y).href for x, y in all_squares if not moths_of(x, y))
    door = f"//mothatlas.test/square/{side // 2}-{side // 2}"
    return family_of("squares", door, frame, pages, empty=empty)


def event_views(place: Place) -> Family:
    """Return a calendar by day, week, list and map; some days have an event, made up for them."""
    frame = Frame("What's on", (Link(place.folder, "Events"),), ())
    views = ("day", "week", "list", "map")
    begin = date(2026, 11, 1)

    def link(view: str, number: int, text: str) -> Link:
        day = begin + timedelta(days=max(-700_000, min(2_000_000, number)))
        return Link(f"{place.folder}{view}/?date={day}", text)

    def answer(tail: str) -> str:
        if tail.startswith("event/"):
            return frame.page(tail[6:], para(60, "event", tail))
        asked = query_of(tail)[1].get("date", "")
        try:
            number = (date.fromisoformat(asked) - begin).days
        except ValueError:
            number = 0
        view = tail.partition("/")[0]
        view = view if view in views else "list"
        step = {"day": 1, "week": 7, "list": 14, "map": 30}[view]
        days = [n for n in range(number, number + step) if number_of("on", n) % 12 == 0]
        events = [Link(f"{place.folder}event/{slug(3, 'on', n)}-{n}", f"{n}") for n in days]
        ways = [link(view, number - step, "Earlier"), link(view, number + step, "Later")]
        ways += [link(other, number, other) for other in views if other != view]
        shown = listed(events) if events else "<p>There are no events to show.</p>"
        return frame.page(f"Events, {view}", inline(ways), shown)

    return place.trap("event_views", "", answer)
