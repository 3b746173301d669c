"""Task: a URL that we have decided to fetch."""

from msgspec import Struct

from gossamer.model.link import Link, LinkKind
from gossamer.model.url import Url

_REDIRECT = LinkKind.REDIRECT


class Task(Struct, frozen=True, gc=False):
    """A URL to fetch, how we came to it, and how often it was tried.

    `via` is the text of the URL that linked it first ("" for a seed). `grade` is its priority
    class, 1 (low) to F (high), 0 if nobody has graded it yet. `attempt` counts the tries that ended
    in a retryable failure, `hops` the redirects that led here one after another, `nesting` the
    sitemap indexes. `credit` is what the linking page gives it on its way to the frontier, in
    orders that know credit.
    """

    url: Url
    depth: int = 0
    via: str = ""
    kind: LinkKind = LinkKind.SEED
    grade: int = 0
    attempt: int = 0
    hops: int = 0
    nesting: int = 0
    credit: float = 0.0

    def follow(self, link: Link, grade: int = 0, credit: float = 0.0) -> "Task":
        """Return the task for a link found on this task's page.

        A redirect is the same step of the walk, so it does not deepen it.
        """
        url, via, kind = link.target, self.url.text, link.kind
        if kind is _REDIRECT:
            hops, nesting = self.hops + 1, self.nesting
            return Task(url, self.depth, via, kind, grade, 0, hops, nesting, credit)
        nesting = self.nesting + 1 if link.is_sitemap else 0
        return Task(url, self.depth + 1, via, kind, grade, 0, 0, nesting, credit)
