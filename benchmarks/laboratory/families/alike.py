"""Families of many pages that are much alike, as old and plain software lays them out.

Honest: pictures without a word, folios of manuscripts in a row, records of a museum, a forum that
sorts its lists, a handbook in thirty versions, a phone book, a council's days of which few have a
meeting. Traps: a shop's filters as folders, articles linked one below the other by mistake, a
session in the path. They were written from such sites, before any rule that they meet was read.
"""

from collections.abc import Callable
from datetime import date, timedelta
from functools import partial

from laboratory.families.endless import Place
from laboratory.families.family import Answer, Family, Moved, scaled, spot
from laboratory.families.page import (
    Frame,
    Link,
    around,
    inline,
    listed,
    number_of,
    para,
    phrase,
    rng_of,
    slug,
)

PageMakers = dict[str, Callable[[], str]]


def family_of(
    name: str,
    door: str,
    frame: Frame,
    pages: PageMakers,
    redirects: dict[str, str] | None = None,
    empty: frozenset[str] = frozenset(),
) -> Family:
    """Return a family of pages that are known by target, and those that the frame has."""
    made_by = {spot("", target).target: make for target, make in pages.items()}
    moved = redirects or {}

    def answer(_host: str, target: str) -> Answer | None:
        if target in moved:
            return Moved(moved[target])
        made = made_by.get(spot("", target).target)
        return frame.notice(target) if made is None else made()

    count = len(pages) + len(frame.notices) - len(empty)
    return Family(name, (door,), answer, count, empty=empty)


def _icon(href: str, name: str) -> Link:
    """Return a link that is a little picture."""
    return Link(href, f'<img src="/res/{name}.gif" alt="">')


def pictures(scale: float) -> Family:
    """Return albums as a program writes them: thumbnails, twelve to a page, and slides.

    A slide is a picture between four arrows. Nowhere is there a word of its own, titles included.
    """
    albums, per_page = scaled(24, scale), 12
    frame = Frame("Album", (), ())
    pages: PageMakers = {}

    def album(number: int, at: int = 0) -> str:
        return f"/{number_of('roll', number) % 900_000}/index{at + 1 if at else ''}.html"

    def pictures_of(number: int) -> list[str]:
        folder = album(number).rpartition("/")[0]
        first = number_of("first", number) % 5000
        count = 9 + number_of("count", number) % 80
        return [f"{folder}/slides/DSC_{first + n:04}.html" for n in range(count)]

    def thumbnails(number: int, at: int) -> str:
        slides = pictures_of(number)
        shown = slides[at * per_page : (at + 1) * per_page]
        small = [Link(s, f'<img src="{s.replace("slides", "thumbs")}.jpg">') for s in shown]
        ways = [
            _icon(album(number, n), "previous" if n < at else "next")
            for n in around(at, -(-len(slides) // per_page))
        ]
        return frame.page("", inline(small, " "), inline([_icon("/", "up"), *ways], " "))

    def slide(number: int, at: int) -> str:
        slides = pictures_of(number)
        ways = [_icon(slides[n], "previous" if n < at else "next") for n in around(at, len(slides))]
        ways.append(_icon(album(number, at // per_page), "up"))
        return frame.page("", inline(ways, " "), f'<img src="{slides[at]}.jpg">')

    for number in range(albums):
        slides = pictures_of(number)
        for at in range(-(-len(slides) // per_page)):
            pages[album(number, at)] = partial(thumbnails, number, at)
        for at, target in enumerate(slides):
            pages[target] = partial(slide, number, at)
    pages["/"] = lambda: frame.page(
        "", inline((_icon(album(number), f"cover{number}") for number in range(albums)), " ")
    )
    return family_of("pictures", "//photos.oldharbour.test/", frame, pages)


def folios(scale: float) -> Family:
    """Return manuscripts leaf by leaf; a leaf is a picture, and links those beside it."""
    books, leaves = scaled(6, scale**0.3), scaled(110, scale**0.7, 8)
    frame = Frame("Manuscripts", (Link("/", "Collection"),), ("terms",))
    pages: PageMakers = {}

    def leaf(book: int, at: int) -> str:
        return f"/ms/{book + 1:03}/{at // 2 + 1:03}{'rv'[at % 2]}"

    def shown(book: int, at: int) -> str:
        last = 2 * leaves - 1
        steps = {"|&lt;": 0, "&lt;": max(0, at - 1), "&gt;": min(last, at + 1), "&gt;|": last}
        ways = [Link(leaf(book, n), sign) for sign, n in steps.items() if n != at]
        image = f'<img src="/iiif/{number_of("scan", book, at):x}.jpg" alt="">'
        return frame.page("", inline(ways, " "), image)

    for book in range(books):
        for at in range(2 * leaves):
            pages[leaf(book, at)] = partial(shown, book, at)
        pages[f"/ms/{book + 1:03}/"] = partial(
            frame.page,
            f"MS {book + 1}",
            para(90, "manuscript", book),
            inline([Link(leaf(book, 0), "Read")]),
        )
    pages["/"] = lambda: frame.page(
        "Collection", listed(Link(f"/ms/{book + 1:03}/", f"MS {book + 1}") for book in range(books))
    )
    return family_of("folios", "//mss.abbeylibrary.test/", frame, pages)


def records(scale: float) -> Family:
    """Return a museum's records of sherds and flints, which differ in a number and a measure."""
    count, per_list, trays = scaled(2600, scale, 30), 40, scaled(60, scale, 3)
    frame = Frame(
        "Collections online", (Link("/", "Search"), Link("/objects", "Browse")), ("copyright",)
    )
    kinds = ("Sherd", "Sherd", "Sherd", "Flake", "Flake", "Bead", "Tile", "Nail")
    lists = -(-count // per_list)
    pages: PageMakers = {}

    def thing(number: int) -> Link:
        return Link(f"/objects/{41_000 + number}", f"{kinds[number_of(number) % len(kinds)]}")

    def page_of_list(at: int) -> Link:
        return Link(f"/objects?page={at + 1}" if at else "/objects", str(at + 1))

    def record(number: int) -> str:
        rng = rng_of("record", number)
        rows = {
            "Object name": thing(number).text,
            "Material": rng.choice(("Fired clay", "Flint", "Glass", "Iron")),
            "Place": "Britain, Southern Field, Trench " + str(number % 9),
            "Period": rng.choice(("Roman", "Iron Age", "Medieval")),
            "Measurement": f"{rng.randrange(8, 90)} mm",
            "Accession number": f"1936.{number % 70}.{number}",
            "Given by": "The Field Committee",
            "On display": "No",
        }
        table = "".join(f"<tr><th>{key}</th><td>{value}</td></tr>" for key, value in rows.items())
        beside = [
            Link(thing(n).href, "next" if n > number else "back") for n in around(number, count)
        ]
        tray = Link(f"/trays/{number % trays + 1}", "Same tray")
        return frame.page(thing(number).text, f"<table>{table}</table>", inline([*beside, tray]))

    def shown_list(at: int) -> str:
        shown = range(at * per_list, min(count, (at + 1) * per_list))
        near = [page_of_list(n) for n in range(max(0, at - 3), min(lists, at + 4))]
        ends = [page_of_list(0), page_of_list(lists - 1)]
        return frame.page(f"{count} objects", listed(map(thing, shown)), inline([*near, *ends]))

    for number in range(count):
        pages[thing(number).href] = partial(record, number)
    for at in range(lists):
        pages[page_of_list(at).href] = partial(shown_list, at)
    for tray in range(trays):
        pages[f"/trays/{tray + 1}"] = partial(
            frame.page, f"Tray {tray + 1}", listed(thing(n) for n in range(tray, count, trays))
        )
    pages["/"] = lambda: frame.page("Collections online", para(50, "collections"))
    return family_of("records", "//collections.fieldmuseum.test/", frame, pages)


def board(scale: float) -> Family:
    """Return a forum whose lists can be sorted by each column, up and down, on every page.

    A topic leads to the ones before and after it by redirects.
    """
    boards, topics, per_list, per_topic = scaled(7, scale**0.5), scaled(900, scale, 16), 20, 15
    columns = ("subject", "starter", "replies", "views", "last_post")
    frame = Frame("Ferret Keepers", (Link("/index.php", "Home"),), ("help",))
    pages: PageMakers = {}
    redirects: dict[str, str] = {}

    def topics_of(number: int) -> list[int]:
        return list(range(number, topics, boards))

    def sorted_by(number: int, order: str) -> list[int]:
        found = topics_of(number)
        if order:
            found.sort(key=lambda n: number_of(order.split(";")[1], n))
        return found[::-1] if order.endswith(";desc") else found

    def of_board(number: int, at: int = 0, order: str = "") -> Link:
        return Link(f"/index.php?board={number + 1}.{at * per_list}{order}", f"{at + 1}")

    def topic(number: int, at: int = 0) -> Link:
        return Link(
            f"/index.php?topic={number + 50}.{at * per_topic}", phrase(4, "ferrets", number)
        )

    def topic_pages(number: int) -> int:
        return 1 + (number_of("pages", number) % 40 == 0) * 9 + (number % 5 == 0)

    orders = [""] + [f";sort={column}{down}" for column in columns for down in ("", ";desc")]

    def board_page(number: int, at: int, order: str) -> str:
        shown = sorted_by(number, order)[at * per_list : (at + 1) * per_list]
        lists = range(-(-len(topics_of(number)) // per_list))
        heads = [Link(of_board(number, 0, other).href, other[6:]) for other in orders[1:]]
        ways = inline(of_board(number, n, order) for n in lists)
        name = phrase(2, "board", number).title()
        return frame.page(name, inline(heads), listed(map(topic, shown)), ways)

    def topic_page(number: int, at: int) -> str:
        count = topic_pages(number)
        said = [para(30, "said", number, at, n) for n in range(3 + number_of("n", number, at) % 6)]
        steps = [Link(f"{topic(number).href};prev_next={way}", way) for way in ("prev", "next")]
        ways = [Link(topic(number, n).href, str(n + 1)) for n in range(count)]
        up = of_board(number % boards)
        return frame.page(topic(number).text, inline(steps), *said, inline([*ways, up]))

    for number in range(boards):
        lists = range(-(-len(topics_of(number)) // per_list))
        pages |= {
            of_board(number, at, order).href: partial(board_page, number, at, order)
            for at in lists
            for order in orders
        }
    for number in range(topics):
        pages |= {
            topic(number, at).href: partial(topic_page, number, at)
            for at in range(topic_pages(number))
        }
        for way, step in (("prev", -boards), ("next", boards)):
            other = number + step if 0 <= number + step < topics else number
            redirects[f"{topic(number).href};prev_next={way}"] = topic(other).href
    pages["/index.php"] = lambda: frame.page("Boards", listed(map(of_board, range(boards))))
    door = "//www.ferretkeepers.test/index.php"
    return family_of("board", door, frame, pages, redirects=redirects)


def handbook(scale: float) -> Family:
    """Return a handbook in versions 1.0 to 3.9; nine pages of ten never change a word.

    A page links its own version, the first page of the others, and its source.
    """
    topics = scaled(30, scale**0.5, 3)
    versions = [f"{major}.{minor}" for major in (1, 2, 3) for minor in range(10)]
    versions = versions[:: 1 if scale > 0.2 else 6]
    frame = Frame("Anvil handbook", (), ("legal",))
    names = ["index", *(f"{phrase(1, 'anvil', n)}-{n}" for n in range(topics))]
    pages: PageMakers = {}

    def page(version: str, at: int) -> str:
        edited = [v for v in versions if v <= version and not number_of("edit", at, v) % 10]
        text = para(110, "anvil", at, edited[-1] if edited else "")
        here = f"/{version}/"
        toc = listed(Link(f"{here}{name}.html", name) for name in names)
        others = inline(Link(f"/{other}/index.html", f"v{other}") for other in versions)
        source = Link(f"{here}_sources/{names[at]}.txt", "Show source")
        title = f"{names[at].capitalize()} - v{version}"
        return frame.page(title, toc, text, inline([source]), others)

    def source(version: str, at: int) -> str:
        edited = [v for v in versions if v <= version and not number_of("edit", at, v) % 10]
        words = para(110, "anvil", at, edited[-1] if edited else "")
        return f"<html><body><pre>.. {version} {names[at]}\n{words}</pre></body></html>"

    for version in versions:
        for at, name in enumerate(names):
            pages[f"/{version}/{name}.html"] = partial(page, version, at)
            pages[f"/{version}/_sources/{name}.txt"] = partial(source, version, at)
    pages["/"] = lambda: frame.page(
        "Anvil", inline(Link(f"/{version}/index.html", version) for version in versions)
    )
    return family_of("handbook", "//handbook.anvil.test/", frame, pages)


def phone_book(scale: float) -> Family:
    """Return who has which number: letters, family names, and a page of two lines per person."""
    people, names, per_list = scaled(2400, scale, 30), scaled(220, scale, 5), 25
    frame = Frame("White pages", (Link("/", "A to Z"),), ("about", "remove-me"))
    families = sorted({f"{phrase(1, 'surname', n)}{'aeiou'[n % 5]}" for n in range(names)})
    streets = 40
    pages: PageMakers = {}

    def name_of(number: int) -> str:
        return families[number_of("of", number) % len(families)]

    def person(number: int) -> Link:
        first = chr(65 + number % 26)
        return Link(f"/p/{name_of(number)}-{number + 7000}", f"{name_of(number).title()} {first}.")

    held: dict[str, list[int]] = {}
    for number in range(people):
        held.setdefault(name_of(number), []).append(number)

    def entry(number: int) -> str:
        street = phrase(1, "street", number % streets).title()
        digits = number_of("digits", number) % 900_000 + 100_000
        lines = f"<p>{number % 140 + 1} {street} Street</p><p>Tel. 01632 {digits}</p>"
        back = Link(f"/n/{name_of(number)}", name_of(number).title())
        return frame.page(person(number).text, lines, inline([back]))

    def name_page(name: str, at: int) -> str:
        shown = held[name][at * per_list : (at + 1) * per_list]
        ways = [
            Link(f"/n/{name}" + (f"?p={n + 1}" if n else ""), str(n + 1))
            for n in range(-(-len(held[name]) // per_list))
        ]
        return frame.page(f"{name.title()}, {at + 1}", listed(map(person, shown)), inline(ways))

    for number in range(people):
        pages[person(number).href] = partial(entry, number)
    for name, bearers in held.items():
        for at in range(-(-len(bearers) // per_list)):
            pages[f"/n/{name}" + (f"?p={at + 1}" if at else "")] = partial(name_page, name, at)
    letters = sorted({name[0] for name in held})
    for letter in letters:
        links = [Link(f"/n/{name}", name.title()) for name in sorted(held) if name[0] == letter]
        pages[f"/{letter}"] = partial(frame.page, letter.upper(), listed(links))
    pages["/"] = lambda: frame.page(
        "A to Z", inline(Link(f"/{letter}", letter.upper()) for letter in letters)
    )
    return family_of("phone_book", "//www.whitepages-vale.test/", frame, pages)


def agenda(scale: float) -> Family:
    """Return a council's calendar of eight years: each day is linked, few have a meeting.

    Months link those beside them and there are no lists of meetings: what is to be read is found
    through the days. An empty day says that nothing is on.
    """
    months, per_month = scaled(96, scale, 3), 2
    frame = Frame("Town Council", (Link("/calendar", "Calendar"),), ("councillors", "contact"))
    first = date(2017, 5, 1)
    starts = [date(first.year + (4 + n) // 12, (4 + n) % 12 + 1, 1) for n in range(months + 1)]
    pages: PageMakers = {}

    def days_of(month: int) -> list[date]:
        count = (starts[month + 1] - starts[month]).days
        return [starts[month] + timedelta(days=n) for n in range(count)]

    def meetings_of(month: int) -> list[date]:
        days = days_of(month)
        return sorted({days[number_of("meets", month, n) % 28] for n in range(per_month)})

    def month_link(month: int) -> Link:
        return Link(f"/calendar/{starts[month]:%Y/%m}", f"{starts[month]:%B %Y}")

    def day_link(day: date) -> Link:
        return Link(f"/calendar/{day:%Y/%m/%d}", str(day.day))

    def paper(day: date, at: int) -> Link:
        return Link(f"/papers/{day:%Y%m%d}-{at + 1}", phrase(5, "paper", day.isoformat(), at))

    def month_page(month: int) -> str:
        ways = inline(month_link(n) for n in around(month, months))
        return frame.page(month_link(month).text, ways, inline(map(day_link, days_of(month))))

    def day_page(month: int, day: date) -> str:
        back = inline([month_link(month)])
        if day not in meetings_of(month):
            return frame.page(f"{day:%d %B %Y}", back, "<p>No meetings on this day.</p>")
        said = para(50, "meeting", day.isoformat())
        papers = listed(paper(day, at) for at in range(2 + day.day % 5))
        return frame.page(f"{day:%d %B %Y}", back, said, papers)

    quiet = []
    for month in range(months):
        pages[month_link(month).href] = partial(month_page, month)
        held = meetings_of(month)
        quiet += [day_link(day).href for day in days_of(month) if day not in held]
        for day in days_of(month):
            pages[day_link(day).href] = partial(day_page, month, day)
        for day in held:
            for at in range(2 + day.day % 5):
                link = paper(day, at)
                text = para(130, "paper", day.isoformat(), at)
                pages[link.href] = partial(frame.page, link.text, text, inline([day_link(day)]))
    pages["/calendar"] = lambda: frame.page("Calendar", inline([month_link(months - 1)]))
    door = "//www.thornbridge-council.test/calendar"
    return family_of("agenda", door, frame, pages, empty=frozenset(quiet))


def filtered_shop(place: Place) -> Family:
    """Return a shop whose filters are folders: any set of values of seven of them, sorted, paged.

    Each set shows those of 400 boots that have it, and how many there are of each value.
    """
    frame = Frame("Bootroom", (Link(place.folder, "All boots"),), ())
    facets = {
        "brand": 14,
        "colour": 9,
        "size": 16,
        "width": 4,
        "sole": 6,
        "price": 8,
        "season": 4,
    }
    sorts = ("popular", "new", "price-up", "price-down")
    stock = 400

    def value(facet: str, number: int) -> str:
        return f"{facet}_{slug(1, facet, number)}{number}"

    def has(boot: int, chosen: str) -> bool:
        facet = chosen.partition("_")[0]
        number = int("0" + "".join(filter(str.isdigit, chosen)))
        return facet in facets and number_of(facet, boot) % facets[facet] == number

    def boot_link(boot: int) -> Link:
        return Link(f"{place.folder}{slug(2, 'boot', boot)}-{boot}.html", phrase(2, "boot", boot))

    def answer(tail: str) -> str:
        if tail.endswith(".html"):
            return frame.page(tail[:-5].replace("-", " "), para(60, "boots", tail))
        parts = [part for part in tail.strip("/").split("/") if part]
        chosen = [part for part in parts if "_" in part]
        order = next((part for part in parts if part in sorts), "")
        boots = [n for n in range(stock) if all(has(n, part) for part in chosen)]

        def to(values: list[str], order: str) -> str:
            unique = sorted(
                set(values), key=lambda part: (list(facets).index(part.partition("_")[0]), part)
            )
            return place.folder + "".join(f"{part}/" for part in [*unique, order] if part)

        links = [
            Link(
                to([*chosen, value(facet, n)], order), f"{value(facet, n)} ({len(boots) % (n + 2)})"
            )
            for facet, count in facets.items()
            for n in range(count)
            if value(facet, n) not in chosen
        ]
        links += [
            Link(to([p for p in chosen if p != part], order), f"not {part}") for part in chosen
        ]
        links += [Link(to(chosen, other), other) for other in sorts if other != order]
        shown = listed(map(boot_link, boots[:12])) if boots else "<p>No boots match.</p>"
        title = " ".join(chosen) or "All boots"
        return frame.page(f"{title}: {len(boots)}", inline(links), shown)

    return place.trap("filtered_shop", "", answer)


def nested_articles(place: Place) -> Family:
    """Return sixty articles whose links lack their first slash; any path ends at an article."""
    frame = Frame("Village news", (Link(place.folder, "Front page"),), ())
    articles = [f"{slug(2, 'village', n)}-{n}" for n in range(60)]

    def answer(tail: str) -> str:
        parts = [part for part in tail.split("/") if part]
        last = parts[-1] if parts else ""
        number = articles.index(last) if last in articles else 0
        here = place.folder + "".join(f"{part}/" for part in parts)
        beside = [articles[(number * 7 + n * 11) % 60] for n in range(1, 5)]
        crumbs = "<p>" + " &raquo; ".join(parts[-4:]) + "</p>"
        links = [Link(f"{here}{name}/", name.replace("-", " ")) for name in beside]
        return frame.page(last or "Front page", crumbs, para(140, "village", number), listed(links))

    return place.trap("nested_articles", "", answer)


def path_sessions(place: Place) -> Family:
    """Return 25 pages below a session in the path; forms and languages begin a new session."""
    frame = Frame("Parish portal", (Link(place.folder, "Portal"),), ())
    names = [f"{slug(1, 'portal', n)}{n}.aspx" for n in range(25)]
    renewing = ("login.aspx", "language.aspx", "basket.aspx")

    def token(*seeds: str) -> str:
        return f"(S({number_of('token', *seeds):016x}))"

    def answer(tail: str) -> Answer | None:
        if not tail:
            return Moved(f"{place.folder}{token('first')}/{names[0]}")
        session, _, name = tail.partition("/")
        name = name or names[0]
        if name in renewing:
            return Moved(f"{place.folder}{token(session, name)}/{names[0]}")
        links = [Link(f"{place.folder}{session}/{other}", other) for other in (*names, *renewing)]
        text = para(90, "portal", name)
        return frame.page(name, inline(links), text, f"<p>Session {session[3:9]}</p>")

    return place.trap("path_sessions", "", answer)
