"""Task: a URL that we have decided to fetch."""

from msgspec import Struct

from gossamer.model.link import Link, LinkKind
from gossamer.model.url import Url


class Task(Struct, frozen=True, gc=False):
    """A URL to fetch, how we came to it, and how often it was tried.

    `via` is the text of the URL that linked it first ("" for a seed). `grade` is its priority
    class, 1 (low) to F (high). `attempt` counts the tries that ended in a retryable failure,
    `hops` the redirects that led here one after another, `nesting` the sitemap indexes.
    """

    url: Url
    depth: int = 0
    via: str = ""
    kind: LinkKind = LinkKind.SEED
    grade: int = 1
    attempt: int = 0
    hops: int = 0
    nesting: int = 0

    def follow(self, link: Link) -> "Task":
        """Return the task for a link found on this task's page.

        A redirect is the same step of the walk, so it does not deepen it.
        """
        depth, hops, nesting = self.depth + 1, 0, 0
        if link.kind is LinkKind.REDIRECT:
            depth, hops, nesting = self.depth, self.hops + 1, self.nesting
        elif link.is_sitemap:
            nesting = self.nesting + 1
        return Task(
            url=link.target,
            depth=depth,
            via=self.url.text,
            kind=link.kind,
            hops=hops,
            nesting=nesting,
        )
