"""Sites of pictures, news and events, and companies with many branches."""

from datetime import date, timedelta

from laboratory.families.family import Answer, Family, scaled, sitemap_of
from laboratory.families.page import (
    Frame,
    Link,
    anchor,
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


def franchises(scale: float) -> Family:
    """Return twenty domains with one front page and one imprint, and pages of their own."""
    count = scaled(20, scale, 4)
    towns = [slug(1, "town", number) + str(number) for number in range(count)]
    hosts = [f"www.bakehouse-{town}.test" for town in towns]
    menu = (Link("/", "Bakehouse"), Link("/imprint", "Imprint"), Link("/hours", "Hours"))
    shared = Frame("The Bakehouse", menu, ("imprint",))
    common = ("hours", "team", "bread", "cakes", "directions", "jobs", "history", "offers")
    more = ("catering", "courses")

    def own(number: int) -> tuple[str, ...]:
        return common + more[: number % 3]

    def answer(host: str, target: str) -> str | None:
        if target == "/":
            entries = listed(Link(f"/{name}", name.capitalize()) for name in common)
            branches = listed(
                Link(f"//{other}/", town) for other, town in zip(hosts, towns, strict=True)
            )
            return shared.page("Fresh every day", para(120, "bakehouse"), entries, branches)
        if target == "/imprint":
            return shared.notice(target)
        number = hosts.index(host)
        name = target.removeprefix("/")
        if name not in own(number):
            return None
        beside = [Link(f"/{other}", other) for other in own(number) if other in more]
        town = towns[number].capitalize()
        text = para(70, "branch", number, name)
        return shared.page(f"{name.capitalize()} in {town}", text, inline(beside))

    pages = sum(2 + len(own(number)) for number in range(count))
    pattern = r"www\.bakehouse-[a-z]+[0-9]+\.test"
    doors = tuple(f"//{host}/" for host in hosts)
    return Family("franchises", doors, answer, pages, hosts=pattern)


def gallery(scale: float) -> Family:
    """Return albums of photographs: a page per photograph, with few words, and a larger view."""
    albums, photos = scaled(40, scale), scaled(25, scale**0.25, 4)
    frame = Frame("Light & Slate", (Link("/", "Albums"),), ("about",))

    def album(number: int) -> Link:
        return Link(f"/album/{number + 1}/", phrase(2, "album", number).title())

    def photo(number: int, at: int) -> Link:
        name = f"IMG_{1000 + number_of('img', number) % 4000 + at * 3}"
        return Link(f"{album(number).href}{name}.html", name)

    def photo_page(number: int, at: int, size: str) -> str:
        rng = rng_of("photo", number, at)
        aperture, speed = rng.choice((2.8, 4, 5.6, 8)), rng.randrange(20, 900)
        facts = f"f/{aperture}, 1/{speed} s, ISO {rng.randrange(1, 32) * 100}"
        words = phrase(3 + rng.randrange(5), "caption", number, at)
        beside = [photo(number, n) for n in around(at, photos)]
        link = photo(number, at)
        view = Link(link.href, "smaller") if size else Link(f"{link.href}?size=large", "larger")
        here = f"{photos} x {at + 1}: {link.text}" + (f" ({size})" if size else "")
        up = [album(number), view, *beside]
        return frame.page(here, f"<figure>{words}</figure>", f"<p>{facts}</p>", inline(up))

    def answer(_host: str, target: str) -> str | None:
        if target == "/":
            return frame.page("Albums", listed(album(n) for n in range(albums)))
        path, asked = query_of(target)
        parts = path.split("/")
        value = count_in(parts[2], below=albums + 1, start=1) if len(parts) == 4 else None
        if value is None or parts[1] != "album":
            return frame.notice(target)
        number = value - 1
        if not parts[3]:
            text = para(15, "album", number)
            return frame.page(
                album(number).text, text, listed(photo(number, at) for at in range(photos))
            )
        names = [photo(number, at).href for at in range(photos)]
        size = asked.get("size", "")
        if path not in names or size not in {"", "large"}:
            return None
        return photo_page(number, names.index(path), size)

    return Family(
        "gallery", ("//photos.lightandslate.test/",), answer, 1 + albums + 2 * albums * photos + 1
    )


def news(scale: float) -> Family:
    """Return a newspaper's archive: months, days, articles; days without news are not linked."""
    days = scaled(800, scale, 40)
    first = date(2019, 3, 1)
    frame = Frame("The Weir Herald", (Link("/", "Today"), Link("/archive", "Archive")))

    def articles(day: date) -> int:
        return number_of("articles", day.isoformat()) % 4

    all_days = [day for n in range(days) if articles(day := first + timedelta(days=n))]
    all_months = sorted({day.replace(day=1) for day in all_days})
    positions = {day: number for number, day in enumerate(all_days)}

    def place(day: date) -> str:
        return f"/{day:%Y/%m/%d}"

    def article(day: date, at: int) -> Link:
        seeds = ("article", day.isoformat(), at)
        return Link(f"{place(day)}/{slug(5, *seeds)}.html", phrase(5, *seeds).capitalize())

    def day_page(day: date) -> str:
        beside = [all_days[n] for n in around(positions[day], len(all_days))]
        shown = listed(article(day, at) for at in range(articles(day)))
        return frame.page(
            f"{day:%A}, {day}", shown, inline(Link(place(d) + "/", str(d)) for d in beside)
        )

    def article_page(day: date, target: str) -> str | None:
        for at in range(articles(day)):
            link = article(day, at)
            if link.href == target:
                up = [Link(place(day) + "/", f"{day}"), Link(f"/{day:%Y/%m}/", f"{day:%B %Y}")]
                return frame.page(link.text, para(160, "news", target), inline(up))
        return None

    def answer(_host: str, target: str) -> str | None:
        if target in {"/", "/archive"}:
            recent = [Link(place(day) + "/", str(day)) for day in all_days[-5:]]
            months = [Link(f"/{month:%Y/%m}/", f"{month:%B %Y}") for month in all_months]
            return frame.page(
                target[1:].capitalize() or "Today", listed(recent if target == "/" else months)
            )
        for month in all_months:
            if target == f"/{month:%Y/%m}/":
                inside = [day for day in all_days if day.replace(day=1) == month]
                return frame.page(
                    f"{month:%B %Y}", listed(Link(place(d) + "/", str(d)) for d in inside)
                )
        try:
            day = date.fromisoformat(target[1:11].replace("/", "-"))
        except ValueError:
            return frame.notice(target)
        if day not in positions:
            return None
        return day_page(day) if target == place(day) + "/" else article_page(day, target)

    pages = 2 + len(all_months) + len(all_days) + sum(map(articles, all_days)) + 3
    return Family("news", ("//www.weirherald.test/",), answer, pages)


def programme(scale: float) -> Family:
    """Return a theatre's calendar: months with events, from the first season to the next one."""
    months = scaled(72, scale, 6)
    frame = Frame("Old Granary Theatre", (Link("/programme", "Programme"),), ("visit", "imprint"))

    def month(number: int) -> Link:
        year, of_year = divmod(number + 8, 12)
        return Link(
            f"/programme?year={2021 + year}&month={of_year + 1}", f"{of_year + 1}/{2021 + year}"
        )

    known = {(2021 + (n + 8) // 12, (n + 8) % 12 + 1): n for n in range(months)}

    def events(number: int) -> list[Link]:
        return [
            Link(f"/event/{number * 40 + n + 1}", phrase(3, "event", number, n).capitalize())
            for n in range(4 + number_of("events", number) % 12)
        ]

    def month_page(number: int) -> str:
        rows = [
            f"<p>{1 + number_of('day', link.href) % 28}: {anchor(link)}</p>"
            for link in events(number)
        ]
        return frame.page(month(number).text, *rows, inline(map(month, around(number, months))))

    def event_page(value: int) -> str | None:
        number, at = divmod(value - 1, 40)
        shown = events(number)
        if at >= len(shown):
            return None
        text = para(80, "event", value)
        return frame.page(
            shown[at].text, text, inline([month(number)]), f"<p>Tickets: {5 + value % 30}</p>"
        )

    def answer(_host: str, target: str) -> str | None:
        path, asked = query_of(target)
        if target == "/programme":
            now = [month(n) for n in range(months // 2, months // 2 + 2)]
            return frame.page("Programme", para(40, "theatre"), listed(now))
        year = count_in(asked.get("year", ""), below=3000)
        of_year = count_in(asked.get("month", ""), below=13)
        if path == "/programme" and year and of_year and (year, of_year) in known:
            return month_page(known[year, of_year])
        value = count_in(target.removeprefix("/event/"), below=months * 40 + 1, start=1)
        return frame.notice(target) if value is None else event_page(value)

    pages = 1 + months + sum(len(events(n)) for n in range(months)) + 2
    return Family("programme", ("//www.oldgranary.test/programme",), answer, pages)


def listings(scale: float) -> Family:
    """Return notices that only sitemaps name: the site itself has but a search form."""
    files, per_file = scaled(30, scale), 40
    host = "www.parish-notices.test"
    count = files * per_file
    frame = Frame("Parish notices", (Link("/", "Search"),))

    def notice(number: int) -> str:
        return f"/notice/{number_of('notice', number) % 10**9:09d}-{number}"

    def sitemap(target: str) -> Answer | None:
        if target == "/sitemap.xml":
            inside = [f"//{host}/sitemaps/{n + 1}.xml" for n in range(files)]
            return sitemap_of("sitemapindex", "sitemap", inside)
        asked = target.removeprefix("/sitemaps/").removesuffix(".xml")
        number = count_in(asked, below=files + 1, start=1)
        if number is None:
            return None
        named = range((number - 1) * per_file, number * per_file)
        return sitemap_of("urlset", "url", [f"//{host}{notice(n)}" for n in named])

    def answer(_host: str, target: str) -> Answer | None:
        if target == "/":
            form = "<form action=/find method=post><input name=words></form>"
            return frame.page("Find a notice", para(30, "notices"), form)
        if target.endswith(".xml"):
            return sitemap(target)
        number = count_in(target.rpartition("-")[2], below=count)
        if number is None or target != notice(number):
            return frame.notice(target)
        return frame.page(phrase(4, "notice", number).capitalize(), para(70, "notice", number))

    robots = f"User-agent: *\nDisallow: /find\nSitemap: //{host}/sitemap.xml\n"
    return Family("listings", (f"//{host}/",), answer, 1 + count + 3, robots=robots)


def stations(scale: float) -> Family:
    """Return timetables: lines, stops, and a table of times for every stop of every line."""
    lines, stops = scaled(40, scale, 3), scaled(300, scale, 12)
    per_line = 20
    frame = Frame("Valley buses", (Link("/lines", "Lines"),), ("fares", "imprint"))

    def stops_of(line: int) -> list[int]:
        along = (line * 13 + n * (1 + line % 3) for n in range(min(per_line, stops // 3)))
        return sorted({stop % stops for stop in along})

    def stop_link(stop: int) -> Link:
        return Link(f"/stop/{stop + 1000}", phrase(2, "stop", stop).title())

    def line_link(line: int) -> Link:
        return Link(f"/line/{line + 1}", f"Line {line + 1}")

    def times_link(line: int, stop: int) -> Link:
        return Link(f"/times?line={line + 1}&stop={stop + 1000}", "Departures")

    served = {stop: [n for n in range(lines) if stop in stops_of(n)] for stop in range(stops)}

    def times_page(line: int, stop: int) -> str:
        rng = rng_of("times", line, stop)
        past = rng.randrange(60)
        rows = "".join(
            f"<tr><td>{hour}</td><td>{past:02d} {(past + 20 + hour) % 60:02d}</td></tr>"
            for hour in range(5, 23)
        )
        title = f"{line_link(line).text} at {stop_link(stop).text}"
        return frame.page(
            title, f"<table>{rows}</table>", inline([line_link(line), stop_link(stop)])
        )

    def answer(_host: str, target: str) -> str | None:
        path, asked = query_of(target)
        if target == "/lines":
            return frame.page("Lines", listed(line_link(n) for n in range(lines)))
        kind, _, rest = path[1:].partition("/")
        line = count_in(asked.get("line", rest), below=lines + 1, start=1)
        stop = count_in(asked.get("stop", rest), below=1000 + stops, start=1000)
        if kind == "line" and line is not None:
            along = stops_of(line - 1)
            rows = [f"{anchor(stop_link(n))} {anchor(times_link(line - 1, n))}" for n in along]
            return frame.page(line_link(line - 1).text, "<br>".join(rows))
        if kind == "stop" and stop is not None and served[stop - 1000]:
            links = [times_link(n, stop - 1000) for n in served[stop - 1000]]
            return frame.page(stop_link(stop - 1000).text, para(8, "stop", stop), listed(links))
        if path == "/times" and line and stop and line - 1 in served[stop - 1000]:
            return times_page(line - 1, stop - 1000)
        return frame.notice(target)

    used = [stop for stop in range(stops) if served[stop]]
    pages = 1 + lines + len(used) + sum(len(stops_of(n)) for n in range(lines)) + 2
    return Family("stations", ("//timetable.valleybuses.test/lines",), answer, pages)
