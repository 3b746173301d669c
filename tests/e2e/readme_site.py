"""The small site that the README crawls: an observatory under example.org, served on loopback.

`python -m tests.e2e.readme_site` (as root) serves it at port 80 until Enter is pressed and prints
the flags that lead a crawl there, for whoever writes the README's outputs anew.
"""

import sys

from gossamer.testing import FakeServer, ScriptedWeb, ServerOptions, serve_in_thread

SITE = "example.org"
DOCS = "docs.example.org"

PAGES = {
    "/": ("Example Observatory", "A public observatory on a hill, open on every clear Friday."),
    "/visit.html": ("Plan your visit", "Opening hours, prices and the way up the hill."),
    "/telescopes.html": ("Telescopes", "Two refractors, one reflector and a small radio dish."),
    "/library.html": ("Library", "Sky surveys on paper and on disk, open to every reader."),
    "/about.html": ("About us", "The observatory is run by forty volunteers."),
    "/calendar.html": ("Calendar", "What can be seen tonight, this week and this month."),
}
NEWS = {
    "perseids": ("The Perseids", "The meteor shower reaches its maximum in the middle of August."),
    "eclipse": ("A partial eclipse", "The Moon covers a tenth of the Sun before noon."),
    "mirror": ("The mirror is back", "The reflector has a new coating and sees fainter stars."),
    "archive": ("Our web archive", "Every page of ours since 1999 is kept in a web archive."),
    "comet": ("A new comet", "The comet is best seen before dawn, low in the east."),
}
GUIDES = {
    "/": ("Guides", "How to use the instruments and the data of the observatory."),
    "/reflector.html": (
        "Using the reflector",
        "Open the dome, then wait until the mirror is cool.",
    ),
    "/refractor.html": ("Using the refractor", "The lens needs no cooling and no collimation."),
    "/radio.html": ("Using the radio dish", "The hydrogen line is found at 1420 MHz."),
    "/surveys.html": ("Sky surveys", "Plates and catalogues of the library, by region of the sky."),
    "/archive.html": ("The web archive", "How the web archive is made, and how to search it."),
}


LATER = {"/visit.html": "Opening hours, prices and the way up the hill. Closed in December."}
"""Texts that are others some days later."""


def example_site() -> ScriptedWeb:
    """Return the site: two hosts, some news, a broken link, and a part that robots may not see."""
    web = ScriptedWeb()
    site, docs = web.host(SITE), web.host(DOCS)
    guides = {docs.url(path): title for path, (title, _) in GUIDES.items()}
    for path in site_pages():
        site.on(path, site_page(web, path))
    site.redirect("/hours.html", to="/visit.html", status=301)
    site.robots("User-agent: *\nDisallow: /staff/\n")
    back = {site.url("/"): "Example Observatory", site.url("/hours.html"): "Opening hours"}
    for path, (title, text) in GUIDES.items():
        docs.on(path, page(title, text, guides | back))
    return web


def let_days_pass(web: ScriptedWeb) -> None:
    """Let a page say something else."""
    for path, text in LATER.items():
        web.host(SITE).on(path, site_page(web, path, text))


def site_pages() -> dict[str, tuple[str, str]]:
    """Return titles and texts of the site's own pages."""
    news = {f"/news/{name}.html": told for name, told in NEWS.items()}
    return {**PAGES, "/news/": ("News", "What is new on the hill."), **news}


def site_page(web: ScriptedWeb, path: str, text: str = "") -> str:
    """Return a page of the site with its menu; with another text, if one is given."""
    menu = {path: title for path, (title, _) in PAGES.items()} | {"/news/": "News"}
    more = {
        "/about.html": {"/staff/": "Staff only"},
        "/news/": {f"/news/{name}.html": title for name, (title, _) in NEWS.items()},
        "/news/mirror.html": {"/2019/press.html": "Press release"},
    }
    title, usual = site_pages()[path]
    links = menu | {web.host(DOCS).url("/"): "Guides"} | more.get(path, {})
    return page(title, text or usual, links)


def page(title: str, text: str, links: dict[str, str]) -> str:
    """Return a page of HTML with a menu of links, by their words."""
    items = "\n".join(f'<li><a href="{url}">{words}</a></li>' for url, words in links.items())
    return (
        f'<!doctype html>\n<html lang="en"><title>{title}</title>\n'
        f"<nav><ul>\n{items}\n</ul></nav>\n"
        f"<main><h1>{title}</h1>\n<p>{text}</p></main></html>\n"
    )


def flags(server: FakeServer[ScriptedWeb]) -> list[str]:
    """Return the flags that lead a crawl to the site and nowhere else."""
    found = ["--allow-net", "127.0.0.0/8", "--allow", "*example.org"]
    for host, address in server.resolve.items():
        found += ["--resolve", f"{host}:{address}"]
    return found


def main() -> None:
    """Serve until Enter is pressed."""
    with serve_in_thread(example_site(), ServerOptions(port=80)) as server:
        sys.stdout.write(" ".join(flags(server)) + "\n")
        sys.stdout.flush()
        sys.stdin.readline()


if __name__ == "__main__":
    main()
