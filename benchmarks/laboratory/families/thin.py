"""Sites of many pages with few words of their own: comics, readings, verses, classes, positions."""

from datetime import date, timedelta

from laboratory.families.family import Answer, Family, Moved, scaled
from laboratory.families.page import (
    Frame,
    Link,
    around,
    distinct_words,
    inline,
    listed,
    number_of,
    para,
    phrase,
    prose,
    rng_of,
    slug,
)


def comic(scale: float) -> Family:
    """Return a comic: a drawing per day, and the same words beside all of them."""
    strips = scaled(1800, scale, 10)
    first = date(2016, 1, 4)
    frame = Frame("Salt & Ladder", (Link("/", "Latest"), Link("/about", "About")), ("about",))

    def strip(number: int, text: str) -> Link:
        return Link(f"/comic/{first + timedelta(days=number):%Y/%m/%d}", text)

    numbers = {strip(number, "").href: number for number in range(strips)}

    def answer(_host: str, target: str) -> Answer | None:
        if target == "/random":
            return Moved(strip(number_of("random") % strips, "").href)
        shown = strips - 1 if target == "/" else numbers.get(target)
        if shown is None:
            return frame.notice(target)
        beside = [strip(n, "Prev" if n < shown else "Next") for n in around(shown, strips)]
        drawing = f'<img src="/drawings/{slug(2, "strip", shown)}-{shown}.png" alt="">'
        ways = [strip(0, "First"), *beside, Link("/random", "Random"), Link("/", "Latest")]
        title = "Latest" if target == "/" else "Salt & Ladder"
        return frame.page(title, drawing, inline(ways), para(90, "comic"))

    return Family("comic", ("//saltandladder.test/",), answer, strips + 2)


def weather(scale: float) -> Family:
    """Return the readings of a weather station: a table of figures per day, for eleven years."""
    days = scaled(11 * 365, scale, 40)
    first = date(2011, 5, 1)
    frame = Frame("Hillcrest weather", (Link("/", "Now"), Link("/about", "Station")), ("about",))

    def day(number: int) -> Link:
        when = first + timedelta(days=number)
        return Link(f"/history/{when:%Y/%m/%d}", f"{when:%d %B %Y}")

    numbers = {day(number).href: number for number in range(days)}

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            yesterday = inline([day(days - 1)])
            return frame.page("Now", para(40, "weather"), yesterday)
        number = numbers.get(target)
        if number is None:
            return frame.notice(target)
        rng = rng_of("weather", number)
        rows = "".join(
            f"<tr><td>{hour:02}:00</td><td>{rng.randrange(-50, 330) / 10} &deg;C</td>"
            f"<td>{rng.randrange(40, 100)} %</td><td>{rng.randrange(980, 1035)} hPa</td></tr>"
            for hour in range(0, 24, 3)
        )
        head = "<tr><th>Time</th><th>Temperature</th><th>Humidity</th><th>Pressure</th></tr>"
        beside = inline(day(n) for n in around(number, days))
        return frame.page(f"Weather on {day(number).text}", f"<table>{head}{rows}</table>", beside)

    return Family("weather", ("//www.hillcrest-weather.test/",), answer, days + 2)


_VERSIONS = ("kept", "plain", "old", "children")


def verses(scale: float) -> Family:
    """Return an old book, a page per verse in four translations that differ in a few words."""
    books = scaled(10, scale)
    chapters, per_chapter = 6, 16
    names = distinct_words("book", books)
    frame = Frame("The Verses", (Link("/", "Books"),), ("about", "contact"))
    total = books * chapters * per_chapter

    def verse(number: int, version: str = "") -> Link:
        chapter, at = divmod(number, per_chapter)
        book, chapter = divmod(chapter, chapters)
        asked = f"?version={version}" if version else ""
        place = f"{names[book]}/{chapter + 1}/{at + 1}"
        return Link(f"/{place}{asked}", version or f"{names[book]} {chapter + 1}:{at + 1}")

    numbers = {verse(n, v).href: (n, v) for n in range(total) for v in ("", *_VERSIONS)}

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            return frame.page("Books", listed(Link(f"/{name}", name) for name in names))
        if target[1:] in names:
            at = names.index(target[1:]) * chapters * per_chapter
            starts = (verse(at + chapter * per_chapter) for chapter in range(chapters))
            return frame.page(target[1:].title(), listed(starts))
        if target not in numbers:
            return frame.notice(target)
        number, version = numbers[target]
        words = prose(22, "verse", number).split(" ")
        if version not in {"", _VERSIONS[0]}:
            for at in range(2):
                words[number_of("word", version, number, at) % len(words)] = version
        others = [verse(number, other) for other in _VERSIONS]
        beside = [verse(n, version) for n in around(number, total)]
        text = f"<blockquote>{' '.join(words)}</blockquote>"
        return frame.page(verse(number).text, text, inline(others), inline(beside))

    pages = 1 + books + total * (1 + len(_VERSIONS)) + 2
    return Family("verses", ("//www.theverses.test/",), answer, pages)


def classes(scale: float) -> Family:
    """Return the reference of a library, made by a program; most of what it lists is not used."""
    packages, per_package = scaled(40, scale), 25
    frame = Frame("Quarrel 4.2 API", (Link("/", "Overview"), Link("/help-doc.html", "Help")), ())
    names = [f"org/quarrel/{word}" for word in distinct_words("java", packages)]

    def name_of(number: int) -> str:
        return phrase(2, "class", number).title().replace(" ", "") + str(number % 7)

    def class_at(number: int, folder: str = "") -> Link:
        package = names[number // per_package]
        return Link(f"/{package}{folder}/{name_of(number)}.html", name_of(number))

    total = packages * per_package
    found = {class_at(number).href: number for number in range(total)}
    uses = {class_at(number, "/class-use").href: number for number in range(total)}
    lists = {
        f"/{name}/package-{kind}.html" for name in names for kind in ("summary", "use", "tree")
    }

    def package_page(target: str) -> str:
        package, _, kind = target[1:].rpartition("/package-")
        at = names.index(package) * per_package
        title = f"{kind.removesuffix('.html').title()} {package.replace('/', '.')}"
        ways = [
            Link(f"/{package}/package-{other}.html", other) for other in ("summary", "use", "tree")
        ]
        if kind == "use.html":
            return frame.page(title, f"No usage of {package.replace('/', '.')}", inline(ways))
        return frame.page(title, listed(map(class_at, range(at, at + per_package))), inline(ways))

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            return frame.page(
                "Overview", listed(Link(f"/{name}/package-summary.html", name) for name in names)
            )
        if target == "/help-doc.html":
            return frame.page("How this is organised", para(120, "help"))
        if target in lists:
            return package_page(target)
        if target in uses:
            number = uses[target]
            text = f"<p>No usage of org.quarrel.{name_of(number)}</p>"
            return frame.page(f"Uses of class {name_of(number)}", text, inline([class_at(number)]))
        if target not in found:
            return None
        number = found[target]
        methods = [f"get{phrase(1, 'method', number, n).title()}()" for n in range(3 + number % 4)]
        beside = [class_at(n) for n in around(number, total)]
        ways = [class_at(number, "/class-use"), *beside]
        rows = "".join(f"<tr><td>{method}</td><td>int</td></tr>" for method in methods)
        return frame.page(f"Class {name_of(number)}", f"<table>{rows}</table>", inline(ways))

    pages = 2 + len(lists) + 2 * total
    return Family("classes", ("//api.quarrel.test/",), answer, pages)


_MOVES = ("e4", "d4", "c4", "nf3", "g3", "b3", "f4", "nc3", "e5", "d5", "c5", "nf6", "g6", "o-o")


def positions(scale: float) -> Family:
    """Return a tree of chess openings: a move is a folder below the one before it, and it ends."""
    openings = scaled(1500, scale, 30)
    frame = Frame("Gambit explorer", (Link("/", "Start"),), ("about",))
    children: dict[str, list[str]] = {"/": []}
    rng = rng_of("openings")
    leaves = ["/"]
    while len(children) < openings:
        at = leaves.pop(rng.randrange(len(leaves)))
        left = [move for move in _MOVES if move not in at.split("/")]
        for move in rng.sample(left, min(len(left), rng.randrange(2, 5))):
            path = f"/line{at}{move}/" if at == "/" else f"{at}{move}/"
            children[at].append(path)
            children[path] = []
            leaves.append(path)

    def answer(_host: str, target: str) -> str | None:
        if target not in children:
            return frame.notice(target)
        rng = rng_of("position", target)
        rows = "".join(
            f"<tr><td>{rng.randrange(1, 90_000)} games</td><td>{rng.randrange(30, 70)} %</td></tr>"
            for _ in children[target]
        )
        moves = listed(Link(path, path.split("/")[-2]) for path in children[target])
        parts = target.strip("/").split("/")[1:]
        above = [
            Link("/line/" + "/".join(parts[:n]) + "/", parts[n - 1]) for n in range(1, len(parts))
        ]
        title = " ".join(parts) or "Start"
        return frame.page(title, f"<table>{rows}</table>", moves, inline(above))

    return Family("positions", ("//gambit-explorer.test/",), answer, len(children) + 1)


_TONGUES = ("en", "de", "fr", "es", "ja", "pt-br")


def tongues(scale: float) -> Family:
    """Return a manual in six languages, of which most pages were never translated."""
    topics = scaled(250, scale, 10)
    frame = Frame("Tern manual", tuple(Link(f"/{tongue}/", tongue) for tongue in _TONGUES), ())

    def page(tongue: str, number: int) -> Link:
        return Link(f"/{tongue}/{slug(2, 'topic', number)}-{number}", phrase(2, "topic", number))

    found = {page(tongue, n).href: (tongue, n) for tongue in _TONGUES for n in range(topics)}

    def answer(_host: str, target: str) -> Answer | None:
        if target == "/":
            return Moved("/en/")
        tongue = target.strip("/")
        if tongue in _TONGUES and target == f"/{tongue}/":
            chapters = range(0, topics, 10)
            return frame.page("Contents", listed(page(tongue, n) for n in chapters))
        if target not in found:
            return None
        tongue, number = found[target]
        is_translated = tongue == "en" or not number_of("translated", tongue, number) % 8
        text = para(90, "tern", number, tongue if is_translated else "en")
        others = [page(other, number) for other in _TONGUES if other != tongue]
        beside = [page(tongue, n) for n in around(number, topics)]
        return frame.page(page(tongue, number).text, text, inline(beside), inline(others))

    return Family("tongues", ("//docs.tern.test/",), answer, len(_TONGUES) * (1 + topics))


def museum(scale: float) -> Family:
    """Return the objects of a museum, more than an allowance: by maker, by room, by number."""
    objects = scaled(14_000, scale, 40)
    makers = scaled(900, scale)
    frame = Frame("Museum of Trades", (Link("/", "Museum"), Link("/makers", "Makers")))

    def thing(number: int) -> Link:
        return Link(f"/object/{1850 + number % 170}.{number}", phrase(2, "object", number).title())

    def maker(number: int) -> Link:
        return Link(
            f"/maker/{slug(2, 'maker', number)}-{number}", phrase(2, "maker", number).title()
        )

    things = {thing(number).href: number for number in range(objects)}
    people = {maker(number).href: number for number in range(makers)}

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            return frame.page("Objects of the day", listed(map(thing, range(12))))
        if target == "/makers":
            return frame.page("Makers", listed(map(maker, range(min(40, makers)))))
        if target in people:
            number = people[target]
            made = [thing(n) for n in range(number, objects, makers)]
            beside = [maker(n) for n in around(number, makers)]
            return frame.page(maker(number).text, para(45, target), listed(made), inline(beside))
        if target not in things:
            return frame.notice(target)
        number = things[target]
        rng = rng_of("museum", number)
        alike = [thing(rng.randrange(objects)) for _ in range(3)]
        by = maker(number % makers)
        size = f"<p>{rng.randrange(10, 900)} x {rng.randrange(10, 900)} mm. Acc. no. {number}.</p>"
        text = para(18 + number % 30, "object", number)
        return frame.page(thing(number).text, inline([by]), size, text, "Similar", listed(alike))

    return Family("museum", ("//museum-of-trades.test/",), answer, objects + makers + 5)
