"""What may be changed from a browser, and by whom: the same that the command line changes.

A change is a POST of a form of ours: from the same origin, with a secret that only our pages have.
It is allowed on loopback, or to who has logged in with the server's token.
"""

import hmac
import secrets
from collections.abc import Callable, Mapping
from hashlib import sha256
from urllib.parse import parse_qs, urlsplit

from starlette.requests import Request

from gossamer import OpenCrawl, Seed
from gossamer.errors import ConfigError
from gossamer.log import counted
from gossamer.web.frame import text

PATH, LOGIN_PATH = "/crawl/do", "/crawl/login"
COOKIE = "gossamer-console"
MOST_BODY_BYTES = 60 * 1024
MOST_TOLD = 100


class NotAllowed(Exception):
    """A change that is refused; the words say why."""


class Actions:
    """Who may change a crawl, and what was done."""

    def __init__(self, *, is_local: bool, token: str = "", store: str = "") -> None:
        """Allow changes on loopback, unless there is a token; then to who knows it.

        What was brought from a store is nobody's to change: the crawl is elsewhere.
        """
        self.store = store
        self._is_local = is_local
        self._token = token
        self._secret = secrets.token_bytes(32)
        self._told: dict[str, str] = {}

    @property
    def has_login(self) -> bool:
        """Return True if one can log in."""
        return bool(self._token) and not self.store

    def may_write(self, request: Request) -> bool:
        """Return True if who asks may change the crawl."""
        if self.store:
            return False
        if not self._token:
            return self._is_local
        return hmac.compare_digest(request.cookies.get(COOKIE, ""), self._sign("session"))

    def cookie_for(self, token: str) -> str:
        """Return the cookie of somebody who has the token; raise for another token."""
        given, known = (sha256(one.encode()).digest() for one in (token, self._token))
        if not self._token or not hmac.compare_digest(given, known):
            raise NotAllowed("that is not the token of this server")
        return self._sign("session")

    def why_not(self) -> str:
        """Return why nothing can be changed from here, and what to do."""
        if self.store:
            return (
                f"This is the crawl in {self.store} as it was last shipped: it can be looked at "
                f"from here, not changed. `gossamer crawl --into DIR --store {self.store}` goes on "
                "with it in a folder; `gossamer pause`, `set`, `drop` and others take the URL of a "
                "crawl that a cluster runs."
            )
        return "This crawl can be looked at from here, not changed."

    @property
    def form_secret(self) -> str:
        """What a form of ours carries."""
        return self._sign("form")

    def _sign(self, purpose: str) -> str:
        return hmac.new(self._secret, purpose.encode(), sha256).hexdigest()

    def check(self, request: Request, form: "PostedForm") -> None:
        """Raise unless a form was sent from a page of ours."""
        origin = request.headers.get("origin", "")
        own = request.headers.get("host", "")
        if not own or urlsplit(origin).netloc.lower() != own.lower():
            raise NotAllowed("changes are made from pages of this server only")
        if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
            raise NotAllowed("changes are made from pages of this server only")
        if not hmac.compare_digest(form.one("secret"), self.form_secret):
            raise NotAllowed("this page is older than the server: go back and load it again")

    def note(self, words: str) -> str:
        """Keep what was done for the page that follows; return its number."""
        number = secrets.token_hex(8)
        self._told[number] = words
        while len(self._told) > MOST_TOLD:
            del self._told[next(iter(self._told))]
        return number

    def told(self, number: str) -> str:
        """Return what was done; "" if that is not known (any more)."""
        return self._told.get(number, "")

    def button(self, action: str, label: str, back: str, **fields: str) -> str:
        """Return a form of one button."""
        return f"{self.opening(action, back, **fields)}<button>{text(label)}</button></form>"

    def opening(self, action: str, back: str, **fields: str) -> str:
        """Return the beginning of a form."""
        given = {"secret": self.form_secret, "action": action, "back": back, **fields}
        hidden = "".join(
            f'<input type="hidden" name="{name}" value="{text(value)}">'
            for name, value in given.items()
        )
        return f'<form class="action" method="post" action="{PATH}">{hidden}'


class PostedForm:
    """The fields of a form."""

    def __init__(self, body: bytes) -> None:
        self._fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=100)

    def one(self, name: str) -> str:
        """Return a field; "" if it is not there."""
        return self._fields.get(name, [""])[0].strip()

    @property
    def back(self) -> str:
        """Where the browser is sent: a page of ours."""
        back = self.one("back")
        is_ours = back.startswith(("/crawl", "/page?"))
        return back if is_ours and back.isprintable() and "\\" not in back else "/crawl"


async def form_of(request: Request) -> PostedForm:
    """Return the form that was sent."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BODY_BYTES:
            raise NotAllowed(f"expected a form of at most {MOST_BODY_BYTES} bytes")
    return PostedForm(body)


def _pause(crawl: OpenCrawl, _: PostedForm) -> str:
    running = crawl.pause().running
    return "Paused." if running else "Paused; no crawl is running, and the next start is paused."


def _resume(crawl: OpenCrawl, _: PostedForm) -> str:
    running = crawl.resume().running
    start = f"no crawl is running: `gossamer crawl --into {crawl.folder.name}` goes on with it"
    return "The crawl goes on." if running else f"The pause is over; {start}."


def _stop(crawl: OpenCrawl, _: PostedForm) -> str:
    found = crawl.stop(wait_s=5.0)
    if not found.was_running:
        return "No crawl is running."
    return "Stopped." if found.has_ended else "The crawl is stopping."


def _retry(crawl: OpenCrawl, form: PostedForm) -> str:
    named = {name: form.one(name) for name in ("reason", "host", "url")}
    if not any(named.values()):
        raise ConfigError("nothing to retry: expected a reason, a host or a URL")
    given = {f"{name}s": [value] if value else [] for name, value in named.items()}
    queued = crawl.retry(reasons=given["reasons"], hosts=given["hosts"], urls=given["urls"]).queued
    return f"Queued again: {counted(queued, 'URL')}."


def _trust(crawl: OpenCrawl, form: PostedForm) -> str:
    found = crawl.trust([form.one("pattern")])
    return f"Let go: {counted(found.released, 'URL')}. {', '.join(found.patterns)} is trusted."


def _block(crawl: OpenCrawl, form: PostedForm) -> str:
    pattern = form.one("pattern")
    if not pattern:
        raise ConfigError("nothing to block: expected a host or a URL pattern")
    block = [*crawl.config().filter.block]
    crawl.set({"filter.block": [*dict.fromkeys((*block, pattern))]})
    return f"{pattern} is blocked: no more of it is fetched."


def _drop(crawl: OpenCrawl, form: PostedForm) -> str:
    patterns = form.one("pattern").split()
    if not patterns:
        raise ConfigError("nothing to drop: expected a host or a URL pattern")
    found = crawl.drop(patterns)
    stored = counted(found.urls.get("archived", 0), "stored page")
    return (
        f"Dropped: {' '.join(patterns)}. {counted(found.unqueued, 'URL')} left the queue; {stored} "
        "will be left out of index, graph and tables when they are next built."
    )


def _undrop(crawl: OpenCrawl, form: PostedForm) -> str:
    pattern = form.one("pattern")
    crawl.drop(undo=[pattern])
    return f"{pattern} is dropped no longer."


def _set(crawl: OpenCrawl, form: PostedForm) -> str:
    name = form.one("name")
    found = crawl.set({name: crawl.console.read_setting(name, form.one("value"))})
    return f"Set: {'; '.join(found.changes)}." if found.changes else "Nothing has changed."


def _delay(crawl: OpenCrawl, form: PostedForm) -> str:
    host, delay = form.one("host"), form.one("delay_s")
    try:
        crawl.set({"delay_s": float(delay) if delay else None}, host=host)
    except ValueError as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(f"delay: expected seconds, found {delay!r}") from error
    return f"{host}: {f'{delay} s between two requests' if delay else 'the usual delay'}."


def _add(crawl: OpenCrawl, form: PostedForm) -> str:
    seeds = [Seed(url=word, label=form.one("label")) for word in form.one("seeds").split()]
    if not seeds:
        raise ConfigError("nothing to add: expected one or several URLs")
    scope = form.one("scope")
    for host in dict.fromkeys(urlsplit(seed.url).netloc for seed in seeds) if scope else ():
        crawl.set({"scope": scope}, host=host)
    found = crawl.add(seeds)
    words = [f"Added: {counted(found.added, 'seed')}."]
    words += [f"Refused: {url} ({reason})." for url, reason in found.refused.items()]
    words += [f"Already stored: {url}." for url in found.already_stored]
    words += [f"Already queued: {url}." for url in found.already_queued]
    return " ".join(words)


ACTIONS: Mapping[str, Callable[[OpenCrawl, PostedForm], str]] = {
    "pause": _pause,
    "resume": _resume,
    "stop": _stop,
    "retry": _retry,
    "trust": _trust,
    "block": _block,
    "delay": _delay,
    "drop": _drop,
    "undrop": _undrop,
    "set": _set,
    "add": _add,
}
