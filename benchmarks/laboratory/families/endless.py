"""Traps that live in a folder: of a host of their own, or of an honest one."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import quote
from uuid import UUID

from laboratory.families.family import Answer, Family, Moved
from laboratory.families.page import (
    RARE,
    Frame,
    Link,
    inline,
    listed,
    number_of,
    para,
    phrase,
    pick,
    prose,
    query_of,
    rng_of,
    slug,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a trap lives, and honest pages elsewhere that it may link."""

    host: str
    folder: str = "/"
    outside: tuple[str, ...] = ()

    def trap(self, name: str, door: str, answer: Callable[[str], Answer | None]) -> Family:
        """Return a trap whose pages are answered by what follows the folder."""

        def of_host(_host: str, target: str) -> Answer | None:
            return answer(target.removeprefix(self.folder))

        return Family(name, (f"//{self.host}{self.folder}{door}",), of_host)


def _count(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 15 else default


def paged_text(place: Place) -> Family:
    """Return a list that never ends: every page has its own text, and a next page."""
    frame = Frame("Daily thoughts", (Link(place.folder, "Start"),), ())

    def answer(tail: str) -> str:
        number = _count(query_of(tail)[1].get("page", ""), 1)
        near = [
            Link(f"{place.folder}?page={n}", str(n)) for n in range(max(1, number - 2), number + 6)
        ]
        text = [para(50, place.host, "paged", number, n) for n in range(3)]
        return frame.page(f"Thoughts, page {number}", *text, inline(near))

    return place.trap("paged_text", "", answer)


def paged_items(place: Place) -> Family:
    """Return a list that never ends, of items that have pages of their own."""
    frame = Frame("Second-hand ads", (Link(place.folder, "All ads"),), ())

    def ad(number: int) -> Link:
        title = phrase(3, "ad", number)
        return Link(f"{place.folder}ad/{number}-{title.replace(' ', '-')}.html", title)

    def answer(tail: str) -> str:
        if tail.startswith("ad/"):
            number = _count(tail[3:].partition("-")[0], 0)
            beside = [ad(number + step) for step in (-1, 1)]
            return frame.page(ad(number).text, para(70, "ad", tail), inline(beside))
        number = _count(tail.removeprefix("page/"), 1)
        shown = listed(ad(number * 12 + n) for n in range(12))
        beside = [Link(f"{place.folder}page/{n}", str(n)) for n in (max(1, number - 1), number + 1)]
        return frame.page(f"Ads, page {number}", shown, inline(beside))

    return place.trap("paged_items", "", answer)


def false_last(place: Place) -> Family:
    """Return a list that says how many pages it has, and has more when one is there."""
    frame = Frame("Minutes", (Link(place.folder, "Minutes"),), ())

    def answer(tail: str) -> str:
        number = _count(tail.removeprefix("minutes-").removesuffix(".html"), 1)
        last = (number // 40 + 1) * 40
        near = {max(1, number - 1), number + 1, last}
        pages = [Link(f"{place.folder}minutes-{n}.html", str(n)) for n in sorted(near)]
        text = para(130, "minutes", number)
        return frame.page(f"Minutes {number} of {last}", text, inline(pages))

    return place.trap("false_last", "", answer)


def word_maze(place: Place) -> Family:
    """Return pages named by words that link new ones; some lead nowhere or are not there."""
    frame = Frame("Reading room", (Link(place.folder, "Reading room"),), ())

    def answer(tail: str) -> str | None:
        fate = number_of("fate", tail) % 10
        if tail and fate == 0:
            return None
        rng = rng_of("maze", place.host, tail)
        doors = (
            []
            if tail and fate < 3
            else [
                Link(
                    f"{place.folder}{rng.choice(RARE)}-{rng.choice(RARE)}/{rng.choice(RARE)}",
                    rng.choice(RARE),
                )
                for _ in range(7)
            ]
        )
        return frame.page(prose(5, "maze", tail), para(140, "maze", tail), listed(doors))

    return place.trap("word_maze", "", answer)


def borrowing_maze(place: Place) -> Family:
    """Return a maze half of whose links lead to honest pages that everybody links."""
    frame = Frame("Commonplace book", (Link(place.folder, "Commonplace book"),), ())

    def answer(tail: str) -> str:
        rng = rng_of("borrowing", tail)
        doors = [
            Link(f"{place.folder}{slug(3, rng.getrandbits(64))}", rng.choice(RARE))
            for _ in range(6)
        ]
        known = [Link(rng.choice(place.outside), "source") for _ in range(6) if place.outside]
        return frame.page(
            phrase(4, "borrowing", tail), para(120, "borrowing", tail), listed(doors), listed(known)
        )

    return place.trap("borrowing_maze", "", answer)


def uuid_items(place: Place) -> Family:
    """Return items with random names and their own text, each with related items."""
    frame = Frame("Curio exchange", (Link(place.folder, "Curios"),), ())

    def answer(tail: str) -> str:
        rng = rng_of("uuid", tail)
        items = [
            Link(
                f"{place.folder}item/{UUID(int=rng.getrandbits(128))}",
                phrase(2, rng.getrandbits(64)),
            )
            for _ in range(6)
        ]
        price = f"<p>{rng.randrange(5, 900)} crowns, in {rng.choice(RARE)}</p>"
        return frame.page(phrase(3, "uuid", tail), price, para(80, "uuid", tail), listed(items))

    return place.trap("uuid_items", "", answer)


_CHOICES = {
    "brand": ("arden", "bolt", "crane", "dover", "elm", "frost"),
    "colour": ("red", "green", "blue", "grey", "pink", "black"),
    "size": ("xs", "s", "m", "l", "xl"),
    "fit": ("slim", "loose", "classic"),
    "season": ("spring", "summer", "autumn", "winter"),
}


def facet_explosion(place: Place) -> Family:
    """Return filters of which any set of values can be chosen, in the order in which they were."""
    frame = Frame("Wardrobe", (Link(place.folder, "Everything"),), ())

    def url(chosen: list[str]) -> str:
        return place.folder + ("?f=" + ",".join(chosen) if chosen else "")

    def answer(tail: str) -> str:
        chosen = [value for value in query_of(tail)[1].get("f", "").split(",") if value]
        rows = []
        for name, values in _CHOICES.items():
            toggled = [
                Link(
                    url([v for v in chosen if v != value] if value in chosen else [*chosen, value]),
                    value,
                )
                for value in values
            ]
            rows.append(f"<b>{name}</b>{inline(toggled)}")
        shown = "".join(f"<li>{phrase(4, 'garment', *sorted(chosen), n)}</li>" for n in range(12))
        return frame.page("Wardrobe: " + ", ".join(chosen), *rows, f"<ul>{shown}</ul>")

    return place.trap("facet_explosion", "", answer)


def empty_calendar(place: Place) -> Family:
    """Return months and days from the beginning of time to its end; nothing is on."""
    frame = Frame("Parish calendar", (Link(place.folder, "Today"),), ())

    def answer(tail: str) -> str | None:
        try:
            day = date.fromisoformat(tail) if tail else date(2026, 11, 16)
        except ValueError:
            return None
        steps = [timedelta(days=n) for n in (-30, -7, -1, 1, 7, 30)]
        beside = [Link(f"{place.folder}{day + step}", str(day + step)) for step in steps]
        said = "<p>There are no events on this day. Subscribe to the calendar.</p>"
        return frame.page(f"{day:%A}, {day}", said, inline(beside))

    return place.trap("empty_calendar", "", answer)


def bookings(place: Place) -> Family:
    """Return a calendar of rooms: for every day a table of hours that are free."""
    frame = Frame("Room bookings", (Link(place.folder, "Rooms"),), ())

    def answer(tail: str) -> str | None:
        asked = query_of(tail)[1]
        try:
            day = date.fromisoformat(asked.get("day", "2026-11-16"))
        except ValueError:
            return None
        room = _count(asked.get("room", ""), 1) % 8
        rng = rng_of("bookings", day.isoformat(), room)
        rows = "".join(
            f"<tr><td>{hour}</td><td>{rng.choice(('free', 'taken'))}, {rng.choice(RARE)}</td></tr>"
            for hour in range(8, 20)
        )
        days = [day + timedelta(days=n) for n in (-7, -1, 1, 7)]
        links = [Link(f"{place.folder}?room={room}&day={other}", str(other)) for other in days]
        links += [Link(f"{place.folder}?room={n}&day={day}", f"room {n}") for n in range(8)]
        return frame.page(f"Room {room} on {day}", f"<table>{rows}</table>", inline(links))

    return place.trap("bookings", "", answer)


def session_ids(place: Place) -> Family:
    """Return thirty pages, whose links carry a new session each time they are shown."""
    frame = Frame("Old stationer", (Link(place.folder, "Start"),), ())

    def answer(tail: str) -> str:
        _, _, rest = tail.removeprefix("s/").partition("/")
        number = _count(rest.removeprefix("page").removesuffix(".do"), 0) % 30
        rng = rng_of("session", tail)
        links = [
            Link(
                f"{place.folder}s/{rng.getrandbits(64):016x}/page{(number * 3 + n) % 30}.do",
                f"page {n}",
            )
            for n in range(8)
        ]
        return frame.page(f"Stationer {number}", para(90, "stationer", number), listed(links))

    return place.trap("session_ids", "", answer)


def redirecting_maze(place: Place) -> Family:
    """Return a maze whose links are redirects to pages with other names."""
    frame = Frame("Click counter", (Link(place.folder, "Start"),), ())

    def answer(tail: str) -> Answer:
        if tail.startswith("go/"):
            token = number_of("go", tail)
            return Moved(f"{place.folder}story/{token:x}/{slug(3, token)}")
        rng = rng_of("redirecting", tail)
        links = [
            Link(f"{place.folder}go/{rng.getrandbits(48):x}", rng.choice(RARE)) for _ in range(6)
        ]
        return frame.page(phrase(4, "story", tail), para(110, "story", tail), listed(links))

    return place.trap("redirecting_maze", "", answer)


def searches(place: Place) -> Family:
    """Return a search page that suggests other searches; the results are made of the words."""
    frame = Frame("Find it", (Link(place.folder, "Search"),), ())

    def answer(tail: str) -> str:
        words = query_of(tail)[1].get("q", "lamp").split()[:6]
        rng = rng_of("search", *words)
        others = [[*words[-3:], rng.choice(RARE)] for _ in range(5)] + [
            [rng.choice(RARE), *words[:2]]
        ]
        links = [Link(f"{place.folder}?q={'+'.join(other)}", " ".join(other)) for other in others]
        hits = "".join(f"<li>{' '.join(words)} {prose(14, *words, n)}</li>" for n in range(8))
        return frame.page(
            f"Results for {' '.join(words)}", f"<ol>{hits}</ol>", "Related", listed(links)
        )

    return place.trap("searches", "?q=lamp", answer)


def false_people(place: Place) -> Family:
    """Return a network of people who do not exist: profiles and pages of followers."""
    frame = Frame("Nearby people", (Link(place.folder, "People"),), ())

    def answer(tail: str) -> str:
        path, _ = query_of(tail)
        name, _, part = path.partition("/")
        rng = rng_of("people", tail)
        if part == "followers":
            names = [
                f"{rng.choice(RARE)}.{rng.choice(RARE)}{rng.randrange(1000)}" for _ in range(15)
            ]
            people = [Link(f"{place.folder}{other}", other) for other in names]
            more = Link(f"{place.folder}{name}/followers?cursor={rng.getrandbits(40):x}", "more")
            return frame.page(f"Followers of {name}", listed(people), inline([more]))
        bio = para(20, "bio", name) + "".join(para(25, "post", name, n) for n in range(4))
        return frame.page(
            name or "People",
            bio,
            inline([Link(f"{place.folder}{name or 'ann'}/followers", "followers")]),
        )

    return place.trap("false_people", "", answer)


def deepening(place: Place) -> Family:
    """Return relative links on a page that is sent for every path: a/b/a/b without an end."""
    frame = Frame("Brochure", (Link(place.folder, "Brochure"),), ())

    def answer(tail: str) -> str:
        inside = tail if not tail or tail.endswith("/") else tail + "/"
        links = [
            Link(f"{place.folder}{inside}{name}/", name) for name in ("products", "service", "news")
        ]
        return frame.page("Our brochure", para(100, "brochure"), inline(links))

    return place.trap("deepening", "", answer)


def slow_maze(place: Place) -> Family:
    """Return a maze that links mostly what is known, and one or two new pages every time."""
    frame = Frame("Old letters", (Link(place.folder, "Letters"),), ())

    def answer(tail: str) -> str:
        name = tail.removesuffix(".html")
        rng = rng_of("slow", name)
        known = [f"hall-{rng.randrange(40)}" for _ in range(10)]
        new = [f"{rng.choice(RARE)}-{rng.getrandbits(32)}" for _ in range(1 + rng.randrange(2))]
        links = [Link(f"{place.folder}{other}.html", other) for other in (*known, *new)]
        return frame.page(phrase(4, "letter", name), para(100, "letter", name), listed(links))

    return place.trap("slow_maze", "", answer)


def reply_forms(place: Place) -> Family:
    """Return twelve posts under ever new parameters: reply to, share, sort, print."""
    frame = Frame("Weekly column", (Link(place.folder, "Columns"),), ())

    def answer(tail: str) -> str:
        path, asked = query_of(tail)
        number = _count(path.removeprefix("column-"), 0) % 12
        rng = rng_of("reply", tail)
        pairs = {
            **asked,
            pick(("replyto", "share", "sort", "print"), tail): str(rng.randrange(10**6)),
        }
        query = "&".join(f"{name}={value}" for name, value in pairs.items())
        links = [
            Link(f"{place.folder}column-{n}?{query}", f"column {n}")
            for n in range(number, number + 3)
        ]
        links += [
            Link(f"{place.folder}column-{number}?replyto={rng.randrange(10**6)}", "reply")
            for _ in range(4)
        ]
        return frame.page(f"Column {number}", para(120, "column", number), listed(links))

    return place.trap("reply_forms", "", answer)


def returning_logins(place: Place) -> Family:
    """Return a login form that links itself with where to go afterwards: its own address."""
    frame = Frame("Members", (Link(f"{place.folder}start", "Start"),), ())

    def answer(tail: str) -> str:
        path, _ = query_of(tail)
        here = quote(place.folder + tail, safe="")
        ways = [
            Link(f"{place.folder}login?return={here}", "Log in"),
            Link(f"{place.folder}register?return={here}", "Register"),
        ]
        if path in {"login", "register"}:
            form = "<form method=post>Name <input name=n> Password <input name=p></form>"
            return frame.page(f"{path.title()} to go on", form, inline(ways))
        shown = [Link(f"{place.folder}topic-{n}", f"Topic {n}") for n in range(12)]
        return frame.page(phrase(3, "login", path), para(60, path), listed(shown), inline(ways))

    return place.trap("returning_logins", "start", answer)


def older_news(place: Place) -> Family:
    """Return a news portal that makes its articles up, with days before the first without end."""
    frame = Frame("The Daily Lantern", (Link(f"{place.folder}", "Today"),), ())
    today = date(2024, 2, 29)

    def story(when: date, number: int) -> Link:
        href = f"{place.folder}{when:%Y/%m/%d}/{slug(4, 'story', when.isoformat(), number)}"
        return Link(href, phrase(5, "story", when.isoformat(), number))

    def answer(tail: str) -> str:
        parts = tail.strip("/").split("/")
        try:
            when = date(*map(int, parts[:3]))
        except (TypeError, ValueError):
            when = today
        if len(parts) > 3:
            related = [
                story(when - timedelta(days=number_of(tail, n) % 40), n % 4) for n in range(3)
            ]
            return frame.page(
                parts[3].replace("-", " "), para(160, tail), para(90, tail, 2), listed(related)
            )
        before = when - timedelta(days=1)
        older = Link(f"{place.folder}{before:%Y/%m/%d}/", "The day before")
        return frame.page(
            f"{when:%d %B %Y}", listed(story(when, n) for n in range(4)), inline([older])
        )

    return place.trap("older_news", "", answer)


_UNITS = ("usd", "eur", "gbp", "jpy", "chf", "sek", "nok", "pln", "czk", "huf")


def conversions(place: Place) -> Family:
    """Return a currency converter with a page for every amount; each names some other amounts."""
    frame = Frame("Rates", (Link(f"{place.folder}1-usd-in-eur", "Rates"),), ())

    def answer(tail: str) -> str:
        rng = rng_of("convert", tail)
        amount, _, pair = tail.partition("-")
        value = _count(amount, 1)
        one, _, other = pair.partition("-in-")
        near = [value + 1, value * 2, value * 10, value + rng.randrange(2, 400)]
        links = [Link(f"{place.folder}{n}-{one}-in-{other}", f"{n} {one} in {other}") for n in near]
        links += [
            Link(f"{place.folder}{value}-{rng.choice(_UNITS)}-in-{rng.choice(_UNITS)}", "More")
            for _ in range(3)
        ]
        text = (
            f"<p>{value} {one} is {value * 1.07:.2f} {other}. The rate has changed by "
            f"{rng.randrange(1, 90) / 100} since yesterday. Rates are updated every hour.</p>"
        )
        return frame.page(f"{value} {one} in {other}", text, listed(links))

    return place.trap("conversions", "1-usd-in-eur", answer)


_TAGS = ("sea", "wood", "night", "city", "snow", "birds", "iron", "bread", "maps", "wind", "rail")


def tag_sets(place: Place) -> Family:
    """Return forty photographs under any list of tags in any order, each list with its own page."""
    frame = Frame("Photo stream", (Link(f"{place.folder}", "Stream"),), ())

    def answer(tail: str) -> str:
        chosen = [tag for tag in tail.partition("/")[2].split("+") if tag]
        if tail.startswith("photo/"):
            tags = [Link(f"{place.folder}tag/{tag}", tag) for tag in rng_of(tail).sample(_TAGS, 3)]
            return frame.page(phrase(3, tail), para(40, tail), listed(tags))
        shown = rng_of("tags", *sorted(chosen)).sample(range(40), 8)
        photos = [Link(f"{place.folder}photo/{n}", phrase(3, f"photo/{n}")) for n in shown]
        more = [Link(f"{place.folder}tag/{'+'.join([*chosen, tag])}", f"+{tag}") for tag in _TAGS]
        return frame.page(f"Photos: {', '.join(chosen)}", listed(photos), inline(more))

    return place.trap("tag_sets", "", answer)
