"""Traps that need hosts of their own: sitemaps, pairs of hosts, made-up hosts and domains."""

from laboratory.families.family import Answer, Family, scaled, sitemap_of
from laboratory.families.page import (
    RARE,
    Frame,
    Link,
    inline,
    listed,
    number_of,
    para,
    phrase,
    rng_of,
    slug,
)


def endless_sitemaps(host: str) -> Family:
    """Return sitemap indexes that name further indexes, and pages with their own text."""
    frame = Frame("Stock photos", (Link("/", "Stock photos"),), ())

    def answer(_host: str, target: str) -> Answer | None:
        rng = rng_of("sitemap", target)
        if target == "/sitemap.xml" or target.startswith("/sitemaps/index-"):
            indexes = [f"//{host}/sitemaps/index-{rng.getrandbits(40):x}.xml" for _ in range(12)]
            files = [f"//{host}/sitemaps/urls-{rng.getrandbits(40):x}.xml" for _ in range(3)]
            return sitemap_of("sitemapindex", "sitemap", indexes + files)
        if target.startswith("/sitemaps/"):
            return sitemap_of(
                "urlset",
                "url",
                [f"//{host}/photo/{slug(3, rng.getrandbits(64))}" for _ in range(30)],
            )
        text = para(90, "photo", target)
        return frame.page(phrase(3, "photo", target), text, inline([Link("/", "Start")]))

    robots = f"User-agent: *\nAllow: /\nSitemap: //{host}/sitemap.xml\n"
    return Family("endless_sitemaps", (f"//{host}/",), answer, robots=robots)


def crossed_hosts(name: str) -> Family:
    """Return two domains; the pages of each link new pages of the other."""
    hosts = (f"www.{name}-left.test", f"www.{name}-right.test")

    def answer(host: str, target: str) -> str:
        rng = rng_of("crossed", host, target)
        frame = Frame(host[4:-5].title(), (Link("/", "Start"),), ())
        over = hosts[host == hosts[0]]
        links = [
            Link(f"//{over}/{rng.choice(RARE)}/{rng.getrandbits(32):x}", rng.choice(RARE))
            for _ in range(5)
        ]
        links.append(Link(f"/{rng.choice(RARE)}/{rng.getrandbits(32):x}", rng.choice(RARE)))
        return frame.page(phrase(3, host, target), para(110, host, target), listed(links))

    return Family("crossed_hosts", tuple(f"//{host}/" for host in hosts), answer)


def wildcard(domain: str) -> Family:
    """Return any subdomain is a site of a few pages, which links other subdomains."""

    def answer(host: str, target: str) -> str:
        frame = Frame(phrase(2, host).title(), (Link("/", "Home"), Link("/offers", "Offers")), ())
        rng = rng_of("wildcard", host, target)
        names = [f"{rng.choice(RARE)}-{rng.choice(RARE)}.{domain}" for _ in range(6)]
        links = [Link(f"//{name}/", name) for name in names]
        return frame.page(f"Welcome to {host}", para(90, host, target), listed(links))

    return Family("wildcard", (f"//www.{domain}/",), answer, hosts=rf"[a-z0-9-]+\.{domain}")


def many_domains(name: str) -> Family:
    """Return any number of domains on one address: five pages each, and links to other domains."""
    pages = 5

    def answer(host: str, target: str) -> str | None:
        at = target.removeprefix("/page-")
        if target != "/" and at not in {str(n) for n in range(1, pages)}:
            return None
        frame = Frame(host, tuple(Link(f"/page-{n}", f"Page {n}") for n in range(1, pages)), ())
        rng = rng_of("domains", host, target)
        others = [f"{rng.choice(RARE)}{rng.randrange(10**5)}-{name}.test" for _ in range(4)]
        links = [Link(f"//{other}/", other) for other in others]
        text = para(100, number_of(host), target)
        return frame.page(phrase(3, host, target), text, listed(links))

    pattern = rf"[a-z0-9]+-{name}\.test"
    return Family("many_domains", (f"//first0-{name}.test/",), answer, hosts=pattern)


def agency(scale: float) -> Family:
    """Return the domains of a small agency's customers, on one address; each credits the others.

    Honest: two dozen pages per customer, and every footer names the agency and a few others.
    """
    customers = scaled(50, scale, 4)
    pages = 20

    def host(number: int) -> str:
        return f"{slug(1, 'customer', number)}{slug(1, 'trade', number)}{number}-co.test"

    numbers = {host(number): number for number in range(customers)}

    def answer(asked: str, target: str) -> str | None:
        number = numbers.get(asked)
        if number is None:
            return None
        parts = [
            Link(f"/{slug(2, 'page', number, n)}", phrase(2, "page", number, n))
            for n in range(pages)
        ]
        menu = (Link("/", "Home"), *parts[:5])
        frame = Frame(phrase(2, "customer", number).title(), menu, ("contact", "imprint"))
        others = [(number + n) % customers for n in (1, 2, 7)]
        credit = listed(Link(f"//{host(n)}/", phrase(2, "customer", n).title()) for n in others)
        if target == "/":
            text = para(80, "agency", number)
            return frame.page("Welcome", text, listed(parts), "<p>Made by Inkwell.</p>", credit)
        for link in parts:
            if link.href == target:
                text = para(100, "agency", number, target)
                return frame.page(link.text, text, "<p>Made by Inkwell.</p>", credit)
        return frame.notice(target)

    return Family(
        "agency", (f"//{host(0)}/",), answer, customers * (pages + 3), hosts=r"[a-z]+\d+-co\.test"
    )
