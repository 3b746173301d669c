"""Honest sites that look like traps to a hasty eye: numbered pages, trees, chains."""

from gossamer.testing.words import SeededRandom
from laboratory.snares.sheet import Sheet, Snare, babble

PER_INDEX = 100


def indexed(pages: int, *, is_chained: bool) -> Snare:
    """Return an archive of numbered articles, a hundred to an index page.

    The index pages are all linked from the first page, or each from the one before.
    """

    def sheet(tail: str) -> Sheet | None:
        count = -(-pages // PER_INDEX)
        if not tail:
            first = (
                ["index-1.html"] if is_chained else [f"index-{n + 1}.html" for n in range(count)]
            )
            return Sheet("Archive", "All that was ever written.", first)
        kind, _, rest = tail.removesuffix(".html").partition("-")
        number = int(rest) if rest.isdigit() else 0
        if kind == "index" and 1 <= number <= count:
            start = (number - 1) * PER_INDEX + 1
            articles = [_article(n) for n in range(start, min(start + PER_INDEX, pages + 1))]
            beside = [f"index-{n}.html" for n in (number - 1, number + 1) if 1 <= n <= count]
            return Sheet(f"Index {number}", "Articles by number.", articles + beside)
        if kind == "page" and 1 <= number <= pages:
            beside = [_article(n) for n in (number - 1, number + 1) if 1 <= n <= pages]
            return Sheet(f"Article {number}", babble("article", number), [*beside, ""])
        return None

    return sheet


def _article(number: int) -> str:
    return f"page-{number:05d}.html"


def chained(pages: int) -> Snare:
    """Return an archive that is paged through: ?page=1, ?page=2 and so on."""

    def sheet(tail: str) -> Sheet | None:
        asked = tail.removeprefix("?page=") or "1"
        number = int(asked) if asked.isdigit() else 0
        if not 1 <= number <= pages:
            return None
        beside = [f"?page={n}" for n in (number - 1, number + 1) if 1 <= n <= pages]
        return Sheet(f"Page {number} of {pages}", babble("chained", number), beside)

    return sheet


def dated(posts: int) -> Snare:
    """Return a diary: /2019/03/post-12, from each post to the next and the one before."""

    def name(number: int) -> str:
        month = number // 12
        return f"{2000 + month // 12}/{month % 12 + 1:02d}/post-{number % 12 + 1}"

    names = {name(number): number for number in range(posts)}

    def sheet(tail: str) -> Sheet | None:
        number = names.get(tail or name(0))
        if number is None:
            return None
        beside = [name(n) for n in (number - 1, number + 1) if 0 <= n < posts]
        return Sheet(f"Entry {number}", babble("dated", number), beside)

    return sheet


def tree(pages: int, fan: int) -> Snare:
    """Return a site whose pages link the pages below them and nothing else."""

    def sheet(tail: str) -> Sheet | None:
        number = int(tail or 0) if not tail or tail.isdigit() else pages
        if number >= pages:
            return None
        below = range(number * fan + 1, min(number * fan + fan + 1, pages))
        return Sheet(f"Page {number}", babble("tree", number), [str(n) for n in below])

    return sheet


def woven(pages: int, links: int, words: tuple[str, ...] = ()) -> Snare:
    """Return a site whose pages link others at random; each is linked from some page before it."""

    def name(number: int) -> str:
        if not words:
            return f"p{number}.html" if number else ""
        rng = SeededRandom("name", number)
        return f"{rng.pick(words)}-{rng.pick(words)}-of-{number}" if number else ""

    names = {name(number): number for number in range(pages)}

    def sheet(tail: str) -> Sheet | None:
        number = names.get(tail)
        if number is None:
            return None
        rng = SeededRandom("woven", number)
        others = [rng.below(pages) for _ in range(links)]
        below = [n for n in (2 * number + 1, 2 * number + 2) if n < pages]
        return Sheet(
            f"Subject {number}", babble("woven", number), [name(n) for n in (*others, *below)]
        )

    return sheet
