"""Sites that list things one can have: a shop, a catalogue with filters, jobs, packages."""

from itertools import product
from uuid import UUID

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
    query_of,
    rng_of,
    slug,
)

_PER_LIST = 20
_LISTS_PER_CATEGORY = 25
_RELATED = 6


def shop(scale: float) -> Family:
    """Return items under /p/, lists of twenty by category, and related items on every item."""
    lists = scaled(250, scale)
    items = lists * _PER_LIST
    categories = -(-lists // _LISTS_PER_CATEGORY)
    names = [slug(1, "category", number) for number in range(categories)]
    menu = tuple(Link(f"/c/{name}", name.capitalize()) for name in names)
    frame = Frame("Marrow & Finch", menu, ("about", "delivery", "returns", "imprint"))

    def item(number: int) -> Link:
        return Link(f"/p/{slug(2, 'item', number)}-{number}", phrase(2, "item", number).title())

    def list_page(target: str) -> str | None:
        path, asked = query_of(target)
        name = path.removeprefix("/c/")
        if name not in names:
            return None
        first = names.index(name) * _LISTS_PER_CATEGORY
        count = min(_LISTS_PER_CATEGORY, lists - first)
        page = count_in(asked.get("page", "1"), below=count + 1, start=1)
        if page is None or ("page" in asked) != (page > 1):
            return None
        at = (first + page - 1) * _PER_LIST
        beside = [
            Link(f"/c/{name}" + (f"?page={other}" if other > 1 else ""), f"page {other}")
            for other in around(page, count, start=1)
        ]
        shown = listed(item(number) for number in range(at, at + _PER_LIST))
        return frame.page(f"{name.capitalize()} ({page} of {count})", shown, inline(beside))

    def item_page(target: str) -> str | None:
        number = count_in(target.rpartition("-")[2], below=items)
        if number is None or target != item(number).href:
            return None
        at = number // _PER_LIST // _LISTS_PER_CATEGORY * _LISTS_PER_CATEGORY * _PER_LIST
        span = min(_LISTS_PER_CATEGORY * _PER_LIST, items - at)
        others = [item(at + number_of("related", number, n) % span) for n in range(_RELATED)]
        price = (
            f"<p>Article {40000 + number}. &euro; {number_of('price', number) % 900 / 10:.2f}</p>"
        )
        text = para(60 + number % 40, "shop", number)
        return frame.page(
            item(number).text, price, text, "<h2>Others also bought</h2>", listed(others)
        )

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            return frame.page("Welcome", para(60, "shop"), listed(menu))
        if target.startswith("/c/"):
            return list_page(target)
        if target.startswith("/p/"):
            return item_page(target)
        return frame.notice(target)

    return Family("shop", ("//www.marrowfinch.test/",), answer, 1 + lists + items + 4)


_FILTERS = {
    "material": ("oak", "steel", "glass", "wool"),
    "colour": ("red", "green", "blue", "black", "white"),
    "room": ("kitchen", "hall", "attic", "garden"),
    "sort": ("price", "newest"),
}


def catalogue(scale: float) -> Family:
    """Return a list that can be filtered and sorted in every combination; there is an end."""
    items = scaled(500, scale, 20)
    kept = scaled(3, scale**0.5, 1)
    filters = {name: values[: kept + 1] for name, values in _FILTERS.items()}
    frame = Frame("Ostrava Furniture", (Link("/", "Home"), Link("/catalogue", "Catalogue")))

    traits = [
        {name: pick(values, "has", number, name) for name, values in filters.items()}
        for number in range(items)
    ]

    def url(chosen: dict[str, str]) -> str:
        pairs = [f"{name}={chosen[name]}" for name in filters if name in chosen]
        return "/catalogue" + ("?" + "&".join(pairs) if pairs else "")

    def piece(number: int) -> Link:
        return Link(f"/piece/{number}", phrase(3, "piece", number))

    def fitting(chosen: dict[str, str]) -> list[int]:
        wanted = [(name, value) for name, value in chosen.items() if name != "sort"]
        return [n for n in range(items) if all(traits[n][name] == value for name, value in wanted)]

    def list_page(chosen: dict[str, str]) -> str:
        found = fitting(chosen)
        if sort := chosen.get("sort"):
            found.sort(key=lambda number: number_of(sort, number))
        rows = []
        for name, values in filters.items():
            without = {key: value for key, value in chosen.items() if key != name}
            rows.append(
                f"<b>{name}</b>"
                + inline(
                    [Link(url(without), "any")]
                    + [Link(url({**without, name: value}), value) for value in values]
                )
            )
        words = ", ".join(chosen.values()) or "everything"
        return frame.page(f"Catalogue: {words}", *rows, listed(map(piece, found[:24])))

    def answer(_host: str, target: str) -> str | None:
        path, asked = query_of(target)
        if target == "/":
            newest = [piece(number) for number in range(items)]
            return frame.page("Furniture", para(50, "furniture"), listed(newest))
        if path == "/catalogue" and all(
            value in filters.get(name, ()) for name, value in asked.items()
        ):
            return list_page(asked)
        number = count_in(target.removeprefix("/piece/"), below=items)
        if number is not None and target.startswith("/piece/"):
            facts = listed(Link(url({name: traits[number][name]}), name) for name in filters)
            return frame.page(piece(number).text, para(70, "piece", number), facts)
        return frame.notice(target)

    lists = len(list(product(*[(None, *values) for values in filters.values()])))
    return Family("catalogue", ("//ostrava-furniture.test/",), answer, 1 + lists + items + 3)


def jobs(scale: float) -> Family:
    """Return vacancies whose addresses are UUIDs, in lists of fifteen that are paged through."""
    vacancies = scaled(1200, scale, 30)
    per_list = 15
    lists = -(-vacancies // per_list)
    companies = scaled(120, scale)
    frame = Frame("Northgate Jobs", (Link("/", "Start"), Link("/jobs", "All jobs")))
    names = [
        str(UUID(int=number_of("job", n) << 64 | number_of("job", n, 2))) for n in range(vacancies)
    ]
    numbers = {name: number for number, name in enumerate(names)}

    def job(number: int) -> Link:
        return Link(f"/job/{names[number]}", phrase(3, "job", number).capitalize())

    def company(number: int) -> Link:
        return Link(f"/company/{number + 1}", phrase(2, "company", number).title())

    def job_page(number: int) -> str:
        similar = [job(number_of("similar", number, n) % vacancies) for n in range(4)]
        by = company(number % companies)
        return frame.page(
            job(number).text, anchor(by), para(110, "job", number), "Similar", listed(similar)
        )

    def list_page(target: str) -> str | None:
        _, asked = query_of(target)
        page = count_in(asked.get("p", "1"), below=lists + 1, start=1)
        if page is None or ("p" in asked) != (page > 1):
            return None
        shown = range((page - 1) * per_list, min(page * per_list, vacancies))
        beside = [
            Link("/jobs" + (f"?p={n}" if n > 1 else ""), str(n)) for n in around(page, lists, 1)
        ]
        return frame.page(f"Jobs, page {page}", listed(map(job, shown)), inline(beside))

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            return frame.page("Find work", para(60, "jobs"), listed(map(job, range(10))))
        kind, _, rest = target[1:].partition("/")
        if kind == "job" and rest in numbers:
            return job_page(numbers[rest])
        number = count_in(rest, below=companies + 1, start=1)
        if kind == "company" and number is not None:
            offers = [job(n) for n in range(number - 1, vacancies, companies)]
            text = para(80, "company", number)
            return frame.page(company(number - 1).text, text, listed(offers))
        return list_page(target) if target.startswith("/jobs") else frame.notice(target)

    pages = 1 + vacancies + lists + companies + 3
    return Family("jobs", ("//www.northgatejobs.test/",), answer, pages)


def registry(scale: float) -> Family:
    """Return packages that name what they depend on, each with a page per version."""
    packages = scaled(600, scale, 12)
    names = distinct_words("package", packages)
    numbers = {name: n for n, name in enumerate(names)}
    frame = Frame("Cellar", (Link("/", "Cellar"), Link("/new", "New"), Link("/popular", "Popular")))

    def versions(number: int) -> list[str]:
        rng = rng_of("versions", number)
        return [
            f"{major}.{rng.randrange(9)}.{rng.randrange(20)}" for major in range(1 + number % 5)
        ]

    def package(number: int) -> Link:
        return Link(f"/package/{names[number]}", names[number])

    def needs(number: int, version: str) -> list[int]:
        if not number:
            return []
        drawn = {number_of("needs", number, version, n) % number for n in range(number % 6)}
        return sorted({number - 1, *drawn})

    def package_page(number: int) -> str:
        all_ = versions(number)
        released = [Link(f"{package(number).href}/{version}", version) for version in all_]
        needed = [package(other) for other in needs(number, all_[-1])]
        text = para(70, "package", number)
        return frame.page(
            names[number], text, "Versions", listed(released), "Dependencies", listed(needed)
        )

    def version_page(number: int, version: str) -> str:
        needed = [package(other) for other in needs(number, version)]
        changes = para(25, "changes", number, version)
        return frame.page(
            f"{names[number]} {version}", anchor(package(number)), changes, listed(needed)
        )

    def answer(_host: str, target: str) -> str | None:
        if target in {"/", "/new", "/popular"}:
            newest = range(max(0, packages - 10), packages)
            drawn = (number_of(target, n) % packages for n in range(10))
            return frame.page("Packages", para(30, target), listed(map(package, [*newest, *drawn])))
        parts = target.split("/")
        if parts[1] != "package" or len(parts) < 3 or parts[2] not in numbers:
            return frame.notice(target)
        number = numbers[parts[2]]
        if len(parts) == 3:
            return package_page(number)
        return (
            version_page(number, parts[3]) if parts[3:] and parts[3] in versions(number) else None
        )

    pages = 3 + packages + sum(len(versions(n)) for n in range(packages)) + 3
    return Family("registry", ("//cellar-packages.test/",), answer, pages)
