"""Families written from how real software lays its sites out, without a look at any rule.

Honest: projects in a web view of git, a repository of theses, digitised newspapers, a school's
courses. Traps: the changes of a wiki since any moment, a folder that contains itself, pages of
addresses, playlists that are put together for whoever looks.
"""

from collections.abc import Callable
from datetime import date, timedelta
from functools import partial
from urllib.parse import quote_plus

from laboratory.families.endless import Place
from laboratory.families.family import Family, scaled, spot
from laboratory.families.page import (
    RARE,
    Frame,
    Link,
    around,
    inline,
    listed,
    number_of,
    para,
    phrase,
    query_of,
    rng_of,
    slug,
)

_Pages = dict[str, Callable[[], str]]


def _family(name: str, door: str, frame: Frame, pages: _Pages) -> Family:
    """Return a family of pages that are known by target, and those that the frame has."""
    made_by = {spot("", target).target: make for target, make in pages.items()}

    def answer(_host: str, target: str) -> str | None:
        made = made_by.get(spot("", target).target)
        return frame.notice(target) if made is None else made()

    return Family(name, (door,), answer, len(pages) + len(frame.notices))


def git_view(scale: float) -> Family:
    """Return projects with a log, and for each commit its diff, its tree and each of its files.

    Few files change in a commit: a file at a commit is mostly the one before, under a new address.
    """
    projects, commits, per_log = 3, scaled(80, scale, 6), 25
    files = ("README", "Makefile", "main.c", "parse.c", "parse.h", "util.c", "test.c", "doc.txt")
    frame = Frame("Source browser", (Link("/", "index"),), ("about",))
    pages: _Pages = {}

    def sha(project: int, number: int) -> str:
        return f"{number_of('sha', project, number):016x}{number_of('sha2', project, number):016x}"

    def version(project: int, number: int, file: int) -> int:
        changed = (n for n in range(number, 0, -1) if not number_of(project, n, file) % 3)
        return next(changed, 0)

    def add(project: int) -> None:
        base = f"/{slug(1, 'project', project)}{project}.git/"
        shas = [sha(project, number) for number in range(commits)]
        tabs = [Link(base + tab, tab.rstrip("/")) for tab in ("refs/", "log/", "tree/")]

        def page(title: str, *blocks: str, at: int | None = None) -> str:
            names = ("commit/", "tree/", "diff/")
            here = [] if at is None else [Link(f"{base}{t}?id={shas[at]}", t) for t in names]
            return frame.page(title, inline([Link(base, "summary"), *tabs, *here]), *blocks)

        def commit(number: int) -> Link:
            return Link(f"{base}commit/?id={shas[number]}", phrase(5, "subject", project, number))

        def log(start: int) -> str:
            newest = range(commits - 1 - start, max(-1, commits - 1 - start - per_log), -1)
            starts = range(0, commits, per_log)
            ways = [Link(f"{base}log/?ofs={n}" if n else f"{base}log/", f"[{n}]") for n in starts]
            return page("Log", listed(map(commit, newest)), inline(ways))

        def tree(number: int | None) -> str:
            query = "" if number is None else f"?id={shas[number]}"
            return page("Tree", listed(Link(f"{base}tree/{f}{query}", f) for f in files), at=number)

        def file(number: int | None, index: int) -> str:
            edition = version(project, commits - 1 if number is None else number, index)
            seeds = ("blob", project, index, edition)
            return page(f"{files[index]} (blob {number_of(*seeds):x})", para(90, *seeds), at=number)

        def shown(number: int, *, is_diff: bool) -> str:
            before = [commit(number - 1)] if number else []
            changed = [n for n in range(len(files)) if version(project, number, n) == number]
            parts = [para(25, "hunk", project, number, n) for n in changed]
            said = para(12 if is_diff else 30, "message", project, number)
            return page(commit(number).text, inline(before), said, *parts, at=number)

        pages[base] = lambda: page(
            "Summary", listed(map(commit, range(commits - 1, max(-1, commits - 11), -1)))
        )
        tags = range(0, commits, 10)
        pages[base + "refs/"] = lambda: page("Refs", listed(map(commit, tags)))
        for start in range(0, commits, per_log):
            query = f"?ofs={start}" if start else ""
            pages[f"{base}log/{query}"] = partial(log, start)
        for number in (None, *range(commits)):
            query = "" if number is None else f"?id={shas[number]}"
            pages[f"{base}tree/{query}"] = partial(tree, number)
            for index, name in enumerate(files):
                pages[f"{base}tree/{name}{query}"] = partial(file, number, index)
            if number is not None:
                pages[f"{base}commit/{query}"] = partial(shown, number, is_diff=False)
                pages[f"{base}diff/{query}"] = partial(shown, number, is_diff=True)

    for project in range(projects):
        add(project)
    bases = sorted({f"/{target.split('/')[1]}/" for target in pages})
    pages["/"] = lambda: frame.page("Projects", listed(Link(base, base) for base in bases))
    return _family("git_view", "//git.harrowgate.test/", frame, pages)


def theses(scale: float) -> Family:
    """Return a repository of theses: items in short and in full, and lists by whatever is known."""
    items, writers, subjects = scaled(700, scale, 12), scaled(260, scale, 5), scaled(60, scale, 3)
    collections, per_list = scaled(24, scale, 2), 20
    root = "/handle/10900/"
    menu = (
        Link("/community-list", "Communities"),
        Link("/browse?type=dateissued", "By date"),
        Link("/browse?type=title", "By title"),
    )
    frame = Frame("Theses online", menu, ("contact", "feedback"))
    pages: _Pages = {}

    def item(number: int) -> Link:
        return Link(f"{root}{1000 + 7 * number}", phrase(6, "thesis", number).capitalize())

    def writer(number: int) -> str:
        return f"{phrase(1, 'family', number).capitalize()}{number}, {phrase(1, 'given', number)}"

    def subject(number: int) -> str:
        return f"{phrase(2, 'subject', number)} {number}"

    def value_link(kind: str, value: str) -> Link:
        return Link(f"/browse?type={kind}&value={quote_plus(value)}", value)

    written: dict[str, list[int]] = {}
    about: dict[str, list[int]] = {}
    within: dict[int, list[int]] = {}
    for number in range(items):
        for at in dict.fromkeys((number % writers, number_of("with", number) % writers)):
            written.setdefault(writer(at), []).append(number)
        for at in dict.fromkeys((number % subjects, number_of("on", number) % subjects)):
            about.setdefault(subject(at), []).append(number)
        within.setdefault(number % collections, []).append(number)

    def add_list(title: str, target: str, numbers: list[int]) -> None:
        """Add a list, with as many pages as it takes."""
        starts = range(0, len(numbers), per_list)
        glue = "&" if "?" in target else "?"
        targets = [f"{target}{glue}offset={start}" if start else target for start in starts]
        for at, start in enumerate(starts):
            shown = [item(n) for n in numbers[start : start + per_list]]
            ways = inline(Link(targets[n], str(n + 1)) for n in around(at, len(starts)))
            pages[targets[at]] = partial(
                frame.page, f"{title}, from {start + 1}", listed(shown), ways
            )

    def shown_item(number: int, *, is_full: bool) -> str:
        people = [value_link("author", name) for name in written if number in written[name]]
        topics = [value_link("subject", name) for name in about if number in about[name]]
        here = item(number).href
        other = Link(here, "Short") if is_full else Link(f"{here}?show=full", "Full record")
        table = f"<table><tr><td>dc.date</td><td>{1970 + number % 50}</td></tr></table>"
        return frame.page(
            item(number).text,
            inline(people),
            inline(topics),
            table if is_full else "",
            para(110, "abstract", number),
            inline([other, Link(f"{root}c{number % collections}", "Collection")]),
        )

    for number in range(items):
        here = item(number).href
        pages[here] = partial(shown_item, number, is_full=False)
        pages[f"{here}?show=full"] = partial(shown_item, number, is_full=True)
    add_list("By date", "/browse?type=dateissued", sorted(range(items), key=lambda n: n % 50))
    add_list("By title", "/browse?type=title", sorted(range(items), key=lambda n: item(n).text))
    for name, numbers in written.items():
        add_list(f"By {name}", value_link("author", name).href, numbers)
    for name, numbers in about.items():
        add_list(f"On {name}", value_link("subject", name).href, numbers)
    for place, numbers in within.items():
        add_list(f"Collection {place}", f"{root}c{place}/browse?type=title", numbers)
        pages[f"{root}c{place}"] = partial(
            frame.page,
            f"Collection {place}",
            para(40, "collection", place),
            inline([Link(f"{root}c{place}/browse?type=title", "All titles")]),
            listed(item(n) for n in numbers[-5:]),
        )
    pages["/community-list"] = lambda: frame.page(
        "Communities", listed(Link(f"{root}c{place}", f"Collection {place}") for place in within)
    )
    return _family("theses", "//theses.wexmere.test/community-list", frame, pages)


def newspapers(scale: float) -> Family:
    """Return newspapers page by page, as pictures and as text; issues have dates."""
    titles, issues, per_issue = 2, scaled(150, scale, 4), 4
    first = date(1893, 1, 6)
    frame = Frame("Papers of the county", (Link("/newspapers/", "All papers"),), ("help", "about"))
    pages: _Pages = {}
    names = [f"/lccn/sn8306{4000 + 31 * title}/" for title in range(titles)]
    days = [first + timedelta(days=7 * n) for n in range(issues)]

    def issue(title: int, number: int) -> Link:
        return Link(f"{names[title]}{days[number]}/ed-1/", f"{days[number]:%B %d, %Y}")

    def sheet(title: int, number: int, at: int) -> Link:
        return Link(f"{issue(title, number).href}seq-{at + 1}/", f"Image {at + 1}")

    def year_page(title: int, year: int) -> str:
        held = [n for n in range(issues) if days[n].year == year]
        return frame.page(f"Issues of {year}", listed(issue(title, n) for n in held))

    def issue_page(title: int, number: int) -> str:
        beside = inline(issue(title, n) for n in around(number, issues))
        sheets = [sheet(title, number, at) for at in range(per_issue)]
        return frame.page(issue(title, number).text, listed(sheets), beside)

    def sheet_page(title: int, number: int, at: int, *, is_text: bool) -> str:
        beside = [sheet(title, number, n) for n in around(at, per_issue)]
        beside += [sheet(title, n, 0) for n in around(number, issues)]
        here = sheet(title, number, at).href
        scan = Link(here, "Image") if is_text else Link(f"{here}ocr/", "Text")
        read = para(200, "ocr", title, number, at) if is_text else "<img alt='A page'>"
        name = f"{issue(title, number).text}, {'text' if is_text else 'image'} {at + 1}"
        return frame.page(name, inline([*beside, scan, issue(title, number)]), read)

    years = sorted({day.year for day in days})
    for title, name in enumerate(names):
        year_links = [Link(f"{name}issues/{year}/", str(year)) for year in years]
        named = phrase(2, "paper", title).title()
        pages[name] = partial(frame.page, named, para(60, "paper", title), listed(year_links))
        for year in years:
            pages[f"{name}issues/{year}/"] = partial(year_page, title, year)
        for number in range(issues):
            pages[issue(title, number).href] = partial(issue_page, title, number)
            for at in range(per_issue):
                target = sheet(title, number, at).href
                pages[target] = partial(sheet_page, title, number, at, is_text=False)
                pages[f"{target}ocr/"] = partial(sheet_page, title, number, at, is_text=True)
    pages["/newspapers/"] = lambda: frame.page("All papers", listed(Link(n, n) for n in names))
    return _family("newspapers", "//www.countypapers.test/newspapers/", frame, pages)


def courses(scale: float) -> Family:
    """Return a school's courses: all that there is has a number, and a script that shows it."""
    count, categories, people = scaled(45, scale, 3), scaled(7, scale, 2), scaled(130, scale, 5)
    kinds = ("page", "resource", "quiz", "assign", "folder", "url", "forum", "book")
    frame = Frame("Fellside School", (Link("/", "Courses"),), ("policy", "help"))
    pages: _Pages = {}

    def course(number: int) -> Link:
        return Link(f"/course/view.php?id={number + 2}", phrase(3, "course", number).title())

    def module(number: int, at: int) -> Link:
        kind = kinds[at % len(kinds)]
        shown = phrase(3, "module", number, at).capitalize()
        return Link(f"/mod/{kind}/view.php?id={5000 + 13 * number + at}", shown)

    def talk(number: int, at: int) -> Link:
        href = f"/mod/forum/discuss.php?d={300 + 11 * number + at}"
        return Link(href, phrase(5, "talk", number, at).capitalize())

    def person(number: int, who: int) -> Link:
        href = f"/user/view.php?id={20 + who}&course={number + 2}"
        return Link(href, phrase(2, "person", who).title())

    def talks_of(number: int) -> range:
        return range(3 + number % 7)

    def modules_of(number: int) -> range:
        return range(8 + number % 5)

    def writers_of(number: int, at: int) -> list[int]:
        return sorted({number_of("says", number, at, n) % people for n in range(2 + at % 3)})

    def category_link(at: int) -> Link:
        return Link(f"/course/index.php?categoryid={at + 1}", phrase(2, "category", at).title())

    def course_page(number: int) -> str:
        modules = [module(number, at) for at in modules_of(number)]
        path = inline([category_link(number % categories)])
        return frame.page(course(number).text, path, para(50, "course", number), listed(modules))

    def module_page(number: int, at: int) -> str:
        is_forum = kinds[at % len(kinds)] == "forum"
        inside = listed(talk(number, n) for n in talks_of(number)) if is_forum else ""
        beside = [module(number, n) for n in around(at, len(modules_of(number)))]
        text = para(30 + 17 * (at % 6), "module", number, at)
        return frame.page(
            module(number, at).text, inline([course(number)]), text, inside, inline(beside)
        )

    def talk_page(number: int, at: int) -> str:
        posts = [
            inline([person(number, who)]) + para(45, "post", number, at, who)
            for who in writers_of(number, at)
        ]
        beside = [talk(number, n) for n in around(at, len(talks_of(number)))]
        return frame.page(
            talk(number, at).text, *posts, inline([*beside, module(number, kinds.index("forum"))])
        )

    for number in range(count):
        pages[course(number).href] = partial(course_page, number)
        for at in modules_of(number):
            pages[module(number, at).href] = partial(module_page, number, at)
        for at in talks_of(number):
            pages[talk(number, at).href] = partial(talk_page, number, at)
            for who in writers_of(number, at):
                link = person(number, who)
                about = para(15, "profile", number, who)
                pages[link.href] = partial(frame.page, link.text, about, inline([course(number)]))
    for place in range(categories):
        held = [course(n) for n in range(place, count, categories)]
        link = category_link(place)
        pages[link.href] = partial(frame.page, link.text, listed(held))
    pages["/"] = lambda: frame.page(
        "All courses", listed(map(category_link, range(categories))), para(60, "school")
    )
    return _family("courses", "//learn.fellside.test/", frame, pages)


def changes_since(place: Place) -> Family:
    """Return the last changes of a wiki: how many, of how many days, since the moment shown."""
    frame = Frame("Recent changes", (Link(place.folder, "Recent changes"),), ())
    choices = {"days": ("1", "3", "7", "14", "30"), "limit": ("50", "100", "250", "500")}
    switches = ("hidebots", "hideminor", "hidemyself", "hideliu")

    def answer(tail: str) -> str:
        asked = query_of(tail)[1]
        now = f"20240229{number_of('now', tail) % 240_000:06}"

        def to(**changed: str) -> str:
            pairs = {**asked, **changed}
            return f"{place.folder}?{'&'.join(f'{key}={pairs[key]}' for key in sorted(pairs))}"

        links = [Link(to(**{name: v}), v) for name, values in choices.items() for v in values]
        for name in switches:
            other = "0" if asked.get(name, "0") == "1" else "1"
            links.append(Link(to(**{name: other}), f"{name} {other}"))
        links.append(Link(to(**{"from": now}), f"Show new changes starting from {now}"))
        shown = range(int(asked.get("limit", "50")) // 10 if len(tail) < 200 else 5)
        lines = "".join(
            f"<li>{phrase(3, 'edited', n)} by {phrase(1, 'who', n)}</li>" for n in shown
        )
        return frame.page(f"Changes until {now}", inline(links), f"<ul>{lines}</ul>")

    return place.trap("changes_since", "", answer)


def looped_folders(place: Place) -> Family:
    """Return a server's lists of files: two of the folders are links to the one they lie in."""
    frame = Frame("Index", (Link(place.folder, "Index of /"),), ())
    files = ("README.txt", "setup.html", "release.html", "checksums.html", "faq.html")
    folders = ("latest", "stable", "mirror")

    def answer(tail: str) -> str:
        path = tail.partition("?")[0]
        if path and not path.endswith("/"):
            name = path.rpartition("/")[2]
            return frame.page(name, para(120, "file", name))
        sorts = [Link(f"{place.folder}{path}?C={c};O={o}", c + o) for c in "NMSD" for o in "AD"]
        inside = [Link(f"{place.folder}{path}{name}/", name) for name in folders]
        inside += [Link(f"{place.folder}{path}{name}", name) for name in files]
        up = path.rstrip("/").rpartition("/")[0]
        parent = Link(f"{place.folder}{up}/" if up else place.folder, "Parent folder")
        rows = listed([parent, *inside[:: -1 if tail.endswith("D") else 1]])
        return frame.page(f"Index of /{path}", inline(sorts), rows)

    return place.trap("looped_folders", "", answer)


def address_pages(place: Place) -> Family:
    """Return what is known of an internet address, for each that there is, with others like it."""
    frame = Frame("Who has this address?", (Link(f"{place.folder}8.8.4.4", "Look up"),), ())

    def answer(tail: str) -> str:
        parts = [int(part) % 256 for part in tail.split(".") if part.isdigit()][:4]
        a, b, c, d = [*parts, 8, 8, 4, 4][:4]
        rng = rng_of("address", a, b, c, d)
        near = [(a, b, c, (d + step) % 256) for step in (-1, 1, 2)]
        near += [(a, b, (c + 1) % 256, 0), (a, (b + 1) % 256, 0, 0)]
        near += [tuple(rng.randrange(1, 255) for _ in range(4)) for _ in range(2)]
        links = [Link(place.folder + ".".join(map(str, n)), ".".join(map(str, n))) for n in near]
        owner = phrase(2, "network", a, b).title()
        text = (
            f"<p>{a}.{b}.{c}.{d} belongs to {owner}, number {number_of(a, b) % 65_000}, in "
            f"{rng.choice(RARE).title()}. No abuse of it was told in the last 90 days. Its name is "
            f"host-{d}-{c}.{phrase(1, 'network', a, b)}.test.</p>"
        )
        return frame.page(f"{a}.{b}.{c}.{d}", text, "Others", inline(links))

    return place.trap("address_pages", "8.8.4.4", answer)


def mixed_lists(place: Place) -> Family:
    """Return ninety films, each under any number of lists that were put together for the visit."""
    frame = Frame("Moving pictures", (Link(place.folder, "Start"),), ())

    def answer(tail: str) -> str:
        asked = query_of(tail)[1]
        film = int(asked.get("v", "0")) % 90 if asked.get("v", "0").isdigit() else 0
        rng = rng_of("mixed", tail)
        mix = f"RD{rng.getrandbits(40):010x}"
        shown = [rng.randrange(90) for _ in range(7)]
        links = [
            Link(f"{place.folder}watch?v={n}&list={mix}&index={at + 1}", phrase(3, "film", n))
            for at, n in enumerate(shown)
        ]
        links += [Link(f"{place.folder}watch?v={(film + 1) % 90}", "Next")]
        return frame.page(phrase(3, "film", film), para(70, "film", film), listed(links))

    return place.trap("mixed_lists", "", answer)
