"""Robots: every kind of robots.txt, each with what it forbids to the agent "gossamer".

What is forbidden is written down here by hand, so that tests do not trust a parser's opinion.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from gossamer.testing.answer import Answer, html_answer, not_found, redirect

_GIANT_LEAD_BYTES = 490 * 1024
_GIANT_TAIL_BYTES = 210 * 1024


@dataclass(frozen=True, slots=True)
class RobotsKind:
    """A kind of robots.txt: the answer to `/robots.txt`, and the targets it forbids to us."""

    answer: Callable[[str], Answer]
    """Makes the answer; the argument is the `Sitemap:` line, or ""."""
    forbids: Callable[[str], bool]


def _text(rules: str, forbids: Callable[[str], bool]) -> RobotsKind:
    return RobotsKind(lambda sitemap: plain(rules + sitemap), forbids)


def plain(text: str) -> Answer:
    """Return a robots.txt with this text."""
    return Answer(headers=(("Content-Type", "text/plain"),), body=text.encode())


def _nothing(_target: str) -> bool:
    return False


def _everything(_target: str) -> bool:
    return True


def _private(target: str) -> bool:
    return target.startswith("/private/")


def _private_but_open(target: str) -> bool:
    return target.startswith("/private/") and not target.startswith("/private/open/")


def _sorted_or_print(target: str) -> bool:
    return "?sort=" in target or target.endswith(".print")


def _private_or_print(target: str) -> bool:
    return _private(target) or target == "/archive/first.print"


@cache
def _giant_text() -> str:
    filler = "# a comment that goes on for longer than anybody cares to read\n"
    lead = filler * (_GIANT_LEAD_BYTES // len(filler))
    tail = filler * (_GIANT_TAIL_BYTES // len(filler))
    return f"User-agent: *\n{lead}Disallow: /private/\n{tail}"


def _giant(sitemap: str) -> Answer:
    return plain(sitemap + _giant_text())


KINDS: dict[str, RobotsKind] = {
    "open": _text("User-agent: *\nDisallow:\n", _nothing),
    "missing": RobotsKind(lambda _: not_found(), _nothing),
    "empty": _text("", _nothing),
    "disallow": _text("User-agent: *\nDisallow: /private/\n", _private),
    "delay": _text("User-agent: *\nCrawl-delay: 1\nDisallow: /private/\n", _private),
    "closed": _text("User-agent: *\nDisallow: /\n", _everything),
    "unreachable": RobotsKind(lambda _: html_answer("<h1>Back soon</h1>", status=503), _everything),
    "redirected": RobotsKind(lambda _: redirect("/robots-moved.txt", 301), _private),
    "wildcards": _text(
        "User-agent: *\nDisallow: /*.print$\nDisallow: /*?sort=\n", _sorted_or_print
    ),
    "override": _text(
        "\ufeffuser-agent:*\r\ndisallow: /private/ # not yours\r\nallow: /private/open/\r\n",
        _private_but_open,
    ),
    "groups": _text(
        "User-agent: otherbot\nUser-agent: gossamer\nDisallow: /private/\n\n"
        "User-agent: *\nDisallow: /\n\n"
        "User-agent: Gossamer/2.0\nDisallow: /archive/first.print$\n\n",
        _private_or_print,
    ),
    "giant": RobotsKind(_giant, _private),
    "html": RobotsKind(
        lambda _: html_answer("<html><h1>Welcome</h1><p>Disallow nothing, dear guest.</html>"),
        _nothing,
    ),
    "own_group": _text(
        "User-agent: *\nDisallow: /\n\nUser-agent: gossamer\nDisallow: /private/\n", _private
    ),
}
