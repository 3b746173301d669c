"""Works of reference: a dictionary, a wiki, documentation, patents, laws, places, families."""

from laboratory.families.family import Family, scaled
from laboratory.families.page import (
    Frame,
    Link,
    anchor,
    around,
    count_in,
    distinct_words,
    inline,
    listed,
    number_of,
    para,
    phrase,
    pick,
    prose,
    query_of,
    rng_of,
)


def dictionary(scale: float) -> Family:
    """Return words that link other words and those beside them; there is no index."""
    count = scaled(4000, scale, 20)
    words = distinct_words("dictionary", count)
    numbers = {word: number for number, word in enumerate(words)}
    frame = Frame("Plainwords", (Link("/", "Plainwords"),))

    def entry(number: int) -> Link:
        return Link(f"/word/{words[number]}", words[number])

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            popular = [entry(number_of("popular", n) % count) for n in range(12)]
            return frame.page("A dictionary", para(40, "dictionary"), listed(popular))
        number = numbers.get(target.removeprefix("/word/"))
        if number is None or not target.startswith("/word/"):
            return frame.notice(target)
        drawn = range(3 + number % 5)
        alike = [entry(number_of("alike", number, n) % count) for n in drawn]
        nearby = [entry(other) for other in around(number, count)]
        senses = "".join(f"<li>{prose(14, 'sense', number, n)}</li>" for n in range(1 + number % 3))
        return frame.page(
            words[number],
            f"<i>{pick(('noun', 'verb', 'adjective'), words[number])}</i><ol>{senses}</ol>",
            f"Synonyms: {inline(alike, ', ')}",
            f"Words nearby: {inline(nearby, ', ')}",
        )

    return Family("dictionary", ("//www.plainwords.test/",), answer, 1 + count + 3)


def wiki(scale: float) -> Family:
    """Return articles with a history each: old revisions, of which few words differ."""
    articles = scaled(400, scale, 12)
    titles = [
        f"{phrase(2, 'article', n).replace(' ', '_').capitalize()}_{n}" for n in range(articles)
    ]
    numbers = {title: n for n, title in enumerate(titles)}
    menu = (Link("/wiki/Main_Page", "Main page"), Link("/wiki/Special:Random_list", "Random"))
    frame = Frame("Tarnwiki", menu, ("privacy", "disclaimer"))

    def article(number: int) -> Link:
        return Link(f"/wiki/{titles[number]}", titles[number].replace("_", " "))

    def revisions(number: int) -> range:
        return range(1 + number_of("revisions", number) % 6)

    def script(number: int, *pairs: str) -> str:
        return "/index.php?" + "&".join([f"title={titles[number]}", *pairs])

    def text(number: int, revision: int) -> str:
        words = prose(120, "wiki", number).split()
        for edit in range(revision + 1):
            at = number_of("edit", number, edit) % len(words)
            words[at] = phrase(1, "edit", number, edit)
        return "<p>" + " ".join(words) + "</p>"

    def linked(number: int) -> list[Link]:
        drawn = (number_of("wikilink", number, n) % articles for n in range(4))
        below = (n for n in (2 * number + 1, 2 * number + 2) if n < articles)
        return [article(n) for n in (*drawn, *below)]

    def article_page(number: int) -> str:
        tabs = [article(number), Link(script(number, "action=history"), "View history")]
        return frame.page(
            article(number).text,
            inline(tabs),
            text(number, revisions(number)[-1]),
            listed(linked(number)),
        )

    def history_page(number: int) -> str:
        rows = []
        for n in revisions(number):
            day = f"{1 + number_of('day', number, n) % 28} May {2010 + n}"
            rows += [Link(script(number, f"oldid={_old(number, n)}"), day)]
            if n:
                pair = (f"diff={_old(number, n)}", f"oldid={_old(number, n - 1)}")
                rows += [Link(script(number, *pair), "difference")]
        return frame.page(f"{article(number).text}: history", listed(rows))

    def script_page(asked: dict[str, str]) -> str | None:
        number = numbers.get(asked.get("title", ""))
        if number is None:
            return None
        if asked.get("action") == "history":
            return history_page(number)
        known = {str(_old(number, n)): n for n in revisions(number)}
        old, new = asked.get("oldid", ""), asked.get("diff", "")
        if old not in known or (new and known.get(new) != known[old] + 1):
            return None
        if new:
            lines = (
                f"<del>{text(number, known[old])}</del>",
                f"<ins>{text(number, known[new])}</ins>",
            )
            return frame.page(f"{article(number).text}: difference", *lines)
        note = f"<p>This is revision {old}. {anchor(article(number))}</p>"
        return frame.page(article(number).text, note, text(number, known[old]))

    def answer(_host: str, target: str) -> str | None:
        if target == "/wiki/Main_Page":
            return frame.page("Main page", para(90, "main page"), listed(map(article, range(3))))
        if target == "/wiki/Special:Random_list":
            drawn = (number_of("random", n) % articles for n in range(20))
            return frame.page("Random list", listed(map(article, drawn)))
        if target.startswith("/index.php?"):
            return script_page(query_of(target)[1])
        number = numbers.get(target.removeprefix("/wiki/"))
        return frame.notice(target) if number is None else article_page(number)

    # Of each article: itself, its history, n revisions and n - 1 differences.
    pages = 2 + sum(1 + 2 * len(revisions(n)) for n in range(articles)) + 2
    return Family("wiki", ("//tarnwiki.test/wiki/Main_Page",), answer, pages)


def _old(number: int, revision: int) -> int:
    return 10_000 + number * 8 + revision


def docs(scale: float) -> Family:
    """Return a manual in many versions; a page says nearly the same in each of them."""
    chapters, sections = scaled(12, scale**0.5), scaled(12, scale**0.5)
    versions = ("1.0", "1.1", "1.2", "2.0", "2.1", "3.0", "stable", "latest")
    frame = Frame("Lathe manual", (Link("/", "Lathe"),), ("imprint",))
    paths = ["index.html", "genindex.html"] + [
        f"{phrase(1, 'chapter', c)}{c}/{phrase(1, 'section', c, s)}{s}.html"
        for c in range(chapters)
        for s in range(sections)
    ]
    numbers = {path: n for n, path in enumerate(paths)}

    def page(version: str, number: int) -> str:
        words = prose(140, "manual", number).split()
        for change in range(versions.index(version)):
            words[number_of("change", number, change) % len(words)] = phrase(
                1, "new", change, number
            )
        here = f"/en/{version}/"
        beside = [
            Link(here + paths[n], "next" if n > number else "previous")
            for n in around(number, len(paths))
        ]
        if number < 2:
            beside += [Link(here + path, path) for path in paths]
        others = [Link(f"/en/{other}/{paths[number]}", other) for other in versions]
        title = f"{phrase(3, 'heading', number).capitalize()} - Lathe {version}"
        return frame.page(title, f"<p>{' '.join(words)}</p>", inline(others), listed(beside))

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            entries = [Link(f"/en/{version}/index.html", version) for version in versions]
            return frame.page("Documentation", para(40, "manuals"), listed(entries))
        _, _, rest = target.partition("/en/")
        version, _, path = rest.partition("/")
        if version in versions and path in numbers:
            return page(version, numbers[path])
        return frame.notice(target)

    pages = 1 + len(versions) * len(paths) + 1
    return Family("docs", ("//docs.lathe-project.test/",), answer, pages)


def patents(scale: float) -> Family:
    """Return patents that cite earlier ones; what is newest is on the front page."""
    count, newest = scaled(1500, scale, 30), 20
    frame = Frame("Patent reader", (Link("/", "Newest"),))

    def patent(number: int) -> Link:
        return Link(
            f"/patent/US{7_000_000 + number * 17}B2", phrase(4, "patent", number).capitalize()
        )

    def citer(number: int) -> int:
        return number + 1 + number_of("cited", number) % 8

    def cited(number: int) -> list[int]:
        forced = [n for n in range(max(0, number - 8), number) if citer(n) == number]
        drawn = [number_of("cites", number, n) % number for n in range(3 + number % 5) if number]
        return [*forced, *drawn]

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            shown = map(patent, range(count - newest, count))
            return frame.page("Newest patents", para(30, "patents"), listed(shown))
        asked = target.removeprefix("/patent/US").removesuffix("B2")
        value = count_in(asked, below=7_000_000 + count * 17, start=7_000_000)
        number = (
            None if value is None or value % 17 != 7_000_000 % 17 else (value - 7_000_000) // 17
        )
        if number is None or target != patent(number).href:
            return frame.notice(target)
        facts = f"<p>Filed {1 + number % 28}.{1 + number % 12}.{1990 + number * 30 // count}</p>"
        claims = para(130, "claims", number)
        return frame.page(
            patent(number).text, facts, claims, "Citations", listed(map(patent, cited(number)))
        )

    return Family("patents", ("//patents.clerkhall.test/",), answer, 1 + count + 3)


def law(scale: float) -> Family:
    """Return a code of law: titles, chapters, sections; every section leads to the next."""
    titles, chapters = scaled(10, scale**0.5), scaled(12, scale**0.5)
    per_chapter = 10
    sections = titles * chapters * per_chapter
    frame = Frame("The Code", (Link("/code", "Contents"),), ("imprint", "help"))

    def section(number: int) -> Link:
        chapter, within = divmod(number, per_chapter)
        title, of_title = divmod(chapter, chapters)
        return Link(
            f"/code/title-{title + 1}/chapter-{of_title + 1}/section-{within + 1}",
            f"Section {number + 1}",
        )

    found = {section(number).href: number for number in range(sections)}

    def section_page(number: int) -> str:
        beside = [section(n) for n in around(number, sections)]
        named = [section(number_of("named", number, n) % sections) for n in range(number % 3)]
        text = para(45 + number % 60, "law", number)
        up = section(number).href.rpartition("/")[0]
        return frame.page(
            section(number).text, text, inline(beside), listed([Link(up, "chapter"), *named])
        )

    def answer(_host: str, target: str) -> str | None:
        if target in found:
            return section_page(found[target])
        inside = sorted({_below(href, target) for href in found if href.startswith(target + "/")})
        if not inside or not target.startswith("/code"):
            return frame.notice(target)
        name = target.rpartition("/")[2].replace("-", " ").capitalize()
        return frame.page(name, para(12, target), listed(Link(href, href[6:]) for href in inside))

    pages = 1 + titles + titles * chapters + sections + 2
    return Family("law", ("//code.statutes-online.test/code",), answer, pages)


def _below(href: str, folder: str) -> str:
    return folder + "/" + href[len(folder) + 1 :].partition("/")[0]


def gazetteer(scale: float) -> Family:
    """Return places within places; a place links what is inside of it, and neighbours."""
    count, fan = scaled(1500, scale, 20), 8
    frame = Frame("Gazetteer", (Link("/", "The world"),))

    def path(number: int) -> str:
        parts = []
        while number:
            parts.append(f"{phrase(1, 'place', number)}-{number}")
            number = (number - 1) // fan
        return "/" + "/".join(reversed(parts))

    def place(number: int) -> Link:
        return Link(path(number), phrase(1, "place", number).capitalize())

    def answer(_host: str, target: str) -> str | None:
        number = 0 if target == "/" else count_in(target.rpartition("-")[2], below=count, start=1)
        if number is None or path(number) != target:
            return frame.notice(target)
        inside = range(number * fan + 1, min(number * fan + fan + 1, count))
        near = [n for n in (number - 1, number + 1) if 0 < n < count]
        people = number_of("people", number) % 90_000
        facts = (
            f"<p>{people:,} inhabitants; {number_of('height', number) % 900} m above the sea.</p>"
        )
        text = para(40 + number % 30, "place", number)
        return frame.page(
            place(number).text or "World",
            facts,
            text,
            listed(map(place, inside)),
            inline(map(place, near)),
        )

    return Family("gazetteer", ("//www.gazetteer-of-towns.test/",), answer, count + 3)


def genealogy(scale: float) -> Family:
    """Return persons who link their parents and children, and nothing else."""
    count = scaled(1500, scale, 20)
    frame = Frame("Our families", (Link("/", "Start"),), ("contact",))

    def person(number: int) -> Link:
        return Link(f"/person/I{number:05d}", phrase(2, "person", number).title())

    def father(number: int) -> int:
        return (number - 1) // 2 - number_of("generation", number) % 2 if number > 2 else 0

    def mother(number: int) -> int:
        return number_of("mother", number) % max(1, number)

    def children(number: int) -> list[int]:
        born = range(2 * number + 1, min(2 * number + 5, count))
        return [n for n in born if max(0, father(n)) == number]

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            return frame.page("Two families", para(50, "families"), listed(map(person, range(2))))
        digits = target.removeprefix("/person/I")
        number = int(digits) if len(digits) == 5 and digits.isdigit() else count
        if number >= count or target != person(number).href:
            return frame.notice(target)
        rng = rng_of("person", number)
        born = 1950 - rng.randrange(300)
        town = phrase(1, "town", born % 40).title()
        life = f"<p>Born {born} in {town}, died {born + rng.randrange(90)}.</p>"
        parents = [person(max(0, father(number))), person(mother(number))]
        notes = para(15 + number % 35, "life", number)
        return frame.page(
            person(number).text, life, notes, inline(parents), listed(map(person, children(number)))
        )

    return Family("genealogy", ("//our-families.test/",), answer, 1 + count + 1)
