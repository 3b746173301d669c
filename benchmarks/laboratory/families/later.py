"""Families written for ADR 89, after the rules: four kinds of honest sites, four kinds of traps."""

from datetime import date, timedelta

from laboratory.families.endless import Place
from laboratory.families.family import Family, scaled
from laboratory.families.page import (
    RARE,
    Frame,
    Link,
    around,
    count_in,
    inline,
    listed,
    number_of,
    para,
    phrase,
    query_of,
    rng_of,
    slug,
)


def podcast(scale: float) -> Family:
    """Return a podcast: lists of twenty episodes, transcripts, and a page for each guest."""
    episodes, guests, per_list = scaled(900, scale, 25), scaled(220, scale, 6), 20
    lists = -(-episodes // per_list)
    frame = Frame("Slow Harbour", (Link("/", "Latest"), Link("/episodes/", "All episodes")))

    def episode(number: int) -> Link:
        return Link(f"/episodes/{number + 1}-{slug(3, 'episode', number)}", f"No. {number + 1}")

    def guest(number: int) -> Link:
        return Link(f"/guests/{slug(2, 'guest', number)}-{number}", phrase(2, "guest", number))

    def guests_of(number: int) -> list[int]:
        return sorted({number % guests, number_of("with", number) % guests})

    numbers = {episode(n).href: n for n in range(episodes)}
    people = {guest(n).href: n for n in range(guests)}

    def page_of_list(number: int) -> str:
        first = episodes - number * per_list
        shown = [episode(n) for n in range(max(0, first - per_list), first)][::-1]
        pages = [
            Link(f"/episodes/?page={n + 1}" if n else "/episodes/", f"page {n + 1}")
            for n in around(number, lists)
        ]
        return frame.page(f"Episodes, page {number + 1}", listed(shown), inline(pages))

    def answer(_host: str, target: str) -> str | None:
        path, asked = query_of(target)
        if target == "/":
            shown = [episode(n) for n in range(max(0, episodes - 6), episodes)]
            return frame.page("Slow Harbour", para(60, "harbour"), listed(shown))
        if path == "/episodes/":
            number = count_in(asked.get("page", "1"), below=lists + 1, start=1)
            is_odd = number is None or set(asked) - {"page"} or target == "/episodes/?page=1"
            return None if is_odd or number is None else page_of_list(number - 1)
        if target in numbers:
            number = numbers[target]
            beside = [episode(n) for n in around(number, episodes)]
            heard = listed(map(guest, guests_of(number)))
            return frame.page(
                episode(number).text, heard, para(260, "said", number), inline(beside)
            )
        if target in people:
            known = [n for n in range(episodes) if people[target] in guests_of(n)]
            return frame.page(
                phrase(2, "guest", people[target]), para(40, target), listed(map(episode, known))
            )
        return frame.notice(target)

    return Family("podcast", ("//slowharbour.test/",), answer, 4 + lists + episodes + guests)


def taxa(scale: float) -> Family:
    """Return a catalogue of species: a tree of ranks by number, with parents and sisters."""
    count, fan = scaled(2400, scale, 30), 7
    frame = Frame("Catalogue of Mosses", (Link("/taxon/1", "All mosses"),))

    def taxon(number: int) -> Link:
        return Link(f"/taxon/{number + 1}", phrase(2, "taxon", number).capitalize())

    def answer(_host: str, target: str) -> str | None:
        number = count_in(target.removeprefix("/taxon/"), below=count + 1, start=1)
        if number is None or not target.startswith("/taxon/"):
            return frame.notice(target)
        number -= 1
        below = range(number * fan + 1, min(number * fan + fan + 1, count))
        parent = (number - 1) // fan
        sisters = range(parent * fan + 1, min(parent * fan + fan + 1, count)) if number else []
        named = para(30 + number % 50, "described", number)
        return frame.page(
            taxon(number).text,
            named,
            inline([taxon(parent)] if number else []),
            listed(map(taxon, below)),
            listed(taxon(other) for other in sisters if other != number),
        )

    return Family("taxa", ("//www.mosscatalogue.test/taxon/1",), answer, count + 3)


def timetable(scale: float) -> Family:
    """Return buses: lines link their stops, stops their lines and what is near."""
    lines, stops, per_line = scaled(60, scale, 4), scaled(1400, scale, 24), 28
    frame = Frame("Vale Buses", (Link("/", "Lines"), Link("/fares", "Fares")), ("fares", "contact"))

    def stop(number: int) -> Link:
        return Link(f"/stop?id={40_000 + number}", phrase(2, "stop", number).capitalize())

    def stops_of(line: int) -> list[int]:
        first = line * stops // lines
        own = [(first + n) % stops for n in range(-(-stops // lines))]
        return own + [number_of("calls", line, n) % stops for n in range(per_line // 4)]

    lines_of: dict[int, list[int]] = {}
    for line in range(lines):
        for number in dict.fromkeys(stops_of(line)):
            lines_of.setdefault(number, []).append(line)

    def line_link(line: int) -> Link:
        return Link(f"/line/{line + 1}", f"Line {line + 1}")

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            return frame.page("Lines", listed(map(line_link, range(lines))))
        line = count_in(target.removeprefix("/line/"), below=lines + 1, start=1)
        if line is not None and target.startswith("/line/"):
            times = para(20, "line", line)
            return frame.page(f"Line {line}", times, listed(map(stop, stops_of(line - 1))))
        number = count_in(target.removeprefix("/stop?id="), below=40_000 + stops, start=40_000)
        if number is None or not target.startswith("/stop?id="):
            return frame.notice(target)
        number -= 40_000
        rng = rng_of("departures", number)
        rows = "".join(
            f"<tr><td>{hour}:{rng.randrange(60):02}</td><td>{phrase(1, number, hour)}</td></tr>"
            for hour in range(6, 23)
        )
        near = [stop(n) for n in around(number, stops)]
        served = listed(map(line_link, lines_of[number]))
        return frame.page(stop(number).text, f"<table>{rows}</table>", served, inline(near))

    return Family("timetable", ("//www.valebuses.test/",), answer, 3 + lines + stops)


def council(scale: float) -> Family:
    """Return a register of a council: years, meetings on dates, agenda items with numbers."""
    meetings, per_meeting = scaled(260, scale, 8), 7
    first = date(2009, 1, 13)
    frame = Frame("Council register", (Link("/meetings/", "Meetings"),), ("accessibility",))
    dates = [first + timedelta(days=23 * n) for n in range(meetings)]
    years = sorted({day.year for day in dates})

    def meeting(number: int) -> Link:
        day = dates[number]
        return Link(f"/meetings/{day.year}/{day}/", f"{day:%d %B %Y}")

    def item(number: int) -> Link:
        return Link(f"/documents/{10_000 + 3 * number}", phrase(5, "item", number).capitalize())

    numbers = {meeting(n).href: n for n in range(meetings)}
    items = {item(n).href: n for n in range(meetings * per_meeting)}

    def answer(_host: str, target: str) -> str | None:
        if target == "/meetings/":
            return frame.page("Meetings", listed(Link(f"/meetings/{y}/", str(y)) for y in years))
        if target in numbers:
            number = numbers[target]
            agenda = [item(number * per_meeting + n) for n in range(per_meeting)]
            beside = [meeting(n) for n in around(number, meetings)]
            return frame.page(meeting(number).text, listed(agenda), inline(beside))
        if target in items:
            number = items[target]
            earlier = [item(number_of("see", number) % number)] if number % 3 == 2 else []
            at = inline([meeting(number // per_meeting), *earlier])
            return frame.page(item(number).text, para(120, "resolved", number), at)
        year = target.removeprefix("/meetings/").removesuffix("/")
        held = [n for n, day in enumerate(dates) if str(day.year) == year]
        if held and target == f"/meetings/{year}/":
            return frame.page(f"Meetings in {year}", listed(map(meeting, held)))
        return frame.notice(target)

    pages = 2 + len(years) + len(numbers) + len(items)
    return Family("council", ("//register.thornwick.test/meetings/",), answer, pages)


def weekly_slots(place: Place) -> Family:
    """Return a surgery's free hours: a page for every week and doctor, for ever."""
    frame = Frame("Surgery", (Link(place.folder, "This week"),), ())
    doctors = ("ames", "birch", "cole", "dunn", "eames")
    begin = date(2026, 11, 16)

    def answer(tail: str) -> str | None:
        week, _, doctor = tail.partition("/")
        number = int(week[1:]) if week[:1] == "w" and week[1:].isdigit() else 0
        monday = begin + timedelta(days=7 * (number % 100_000))
        rng = rng_of("slots", number, doctor)
        rows = "".join(
            f"<tr><td>{monday + timedelta(days=n)}</td><td>{rng.randrange(8, 18)}:30</td></tr>"
            for n in range(5)
        )
        others = [Link(f"{place.folder}w{number}/{name}", f"Dr {name}") for name in doctors]
        later = Link(f"{place.folder}w{number + 1}/{doctor or doctors[0]}", "Next week")
        return frame.page(f"Week of {monday}", f"<table>{rows}</table>", inline([*others, later]))

    return place.trap("weekly_slots", "", answer)


def comparisons(place: Place) -> Family:
    """Return comparisons of any things with any others: each page offers further ones."""
    frame = Frame("Which is better?", (Link(place.folder, "Compare"),), ())

    def answer(tail: str) -> str:
        chosen = [name for name in tail.split("-vs-") if name][:3] or ["kettle"]
        rng = rng_of("compare", tail)
        others = ["-vs-".join([*chosen[-2:], rng.choice(RARE)]) for _ in range(4)]
        others += [f"{rng.choice(RARE)}-vs-{name}" for name in chosen]
        links = [Link(f"{place.folder}{other}", other.replace("-", " ")) for other in others]
        marks = "".join(f"<p>{name}: {para(25, 'mark', name, tail)}</p>" for name in chosen)
        return frame.page(" or ".join(chosen), marks, listed(links))

    return place.trap("comparisons", "kettle", answer)


def directions(place: Place) -> Family:
    """Return ways from one place to another; the places near either are made up as they come."""
    frame = Frame("Find the way", (Link(place.folder, "Plan"),), ())

    def answer(tail: str) -> str:
        start, _, end = (tail or "mill-to-quay").partition("-to-")
        near = [
            phrase(1, "near", name, n) + str(number_of(name, n) % 90)
            for n in range(2)
            for name in (start, end)
        ]
        links = [Link(f"{place.folder}{start}-to-{name}", f"{start} to {name}") for name in near]
        links.append(Link(f"{place.folder}{end}-to-{start}", "The way back"))
        km = number_of("km", tail) % 400
        text = f"<p>{km} km, {km // 50} h {km % 60} min. {para(50, 'way', tail)}</p>"
        return frame.page(f"From {start} to {end}", text, listed(links))

    return place.trap("directions", "mill-to-quay", answer)


def made_up_wiki(place: Place) -> Family:
    """Return a wiki of articles that are written when they are asked for; some links are known."""
    frame = Frame("Everything explained", (Link(place.folder, "Start"),), ())

    def answer(tail: str) -> str:
        rng = rng_of("made up", tail)
        known = [slug(1, "pillar", rng.randrange(60)) for _ in range(4)]
        new = [f"{rng.choice(RARE)}_{rng.choice(RARE)}_{rng.choice(RARE)}" for _ in range(3)]
        links = [Link(f"{place.folder}{name}", name.replace("_", " ")) for name in (*known, *new)]
        return frame.page(tail or "Start", para(180, "wiki", tail), listed(links))

    return place.trap("made_up_wiki", "", answer)
