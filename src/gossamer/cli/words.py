"""What every reason for not having a page means, and what one can do about it.

The keys are the values of `Reject`, `RefusalKind` and `FailureKind`; a test holds them together.
`docs/OPERATING.md` and the summary of a crawl are made from this table.
"""

import re

from msgspec import Struct

_STATUS = re.compile("http_[45][0-9][0-9]")
_THEIR_FAULT = 500
_NETWORK = re.compile(r"\(([0-9a-fA-F.:]+/[0-9]+)\)$")
"""The network at the end of the detail of a private address."""


class Gloss(Struct, frozen=True):
    """A reason in words."""

    meaning: str
    advice: str


LINK_REFUSALS: dict[str, Gloss] = {
    "scheme": Gloss(
        "its scheme is not in filter.schemes, nor a seed's",
        "check the link: file: only works as a seed, ftp: with --scheme ftp or as a seed, and "
        "mailto:, javascript: and the like lead to no page",
    ),
    "off_scope": Gloss("it leads outside the scope of the seeds", "--scope any, or more seeds"),
    "not_allowed": Gloss(
        "it matches none of the --allow patterns",
        "add an --allow pattern; * stands for any characters (https://h.example/docs/*), and "
        "there are no regular expressions",
    ),
    "blocked": Gloss(
        "it matches a --block pattern or a line of filter.blocklist",
        "remove that pattern; `gossamer why` names it",
    ),
    "dropped": Gloss(
        "it matches a pattern of `gossamer drop`",
        "`gossamer drop DIR --undo PATTERN`, then `gossamer retry DIR --reason dropped`; "
        "`gossamer why` names the pattern",
    ),
    "extension": Gloss(
        "its file extension is one that is not asked for", "shorten filter.block_extensions"
    ),
    "too_long": Gloss("the URL is longer than filter.max_url_chars", "raise filter.max_url_chars"),
    "too_deep": Gloss("it is more links away from a seed than --max-depth", "raise --max-depth"),
    "repeated_segments": Gloss(
        "a part of its path repeats, as in an endless maze", "raise filter.max_repeats"
    ),
    "host_budget": Gloss(
        "its host has used up filter.max_urls_per_host", "raise filter.max_urls_per_host"
    ),
    "bad_port": Gloss(
        "its port belongs to another service (mail, databases)",
        "another port: browsers refuse this one, too",
    ),
    "nofollow": Gloss("the page asked robots not to follow the link", "nothing: it is obeyed"),
    "not_followed": Gloss(
        "links of its kind, or of the page that holds it, are recorded and not followed",
        "--embeds or --requisites for images, scripts and styles; a sitemap may name its own host "
        "only, and an index of sitemaps may be in one other index, not deeper",
    ),
    "trap_endless": Gloss(
        "an older version closed its part of the site, which brought new URLs without an end",
        "the next start opens it again: its URLs wait on probation, they are not refused",
    ),
    "trap_same": Gloss(
        "its part of the site says the same under ever new URLs: a calendar, a session id",
        "if it is honest, `gossamer trust DIR PATTERN`",
    ),
    "trap_hosts": Gloss(
        "an older version closed its domain, which made up new hosts without an end",
        "the next start opens it again: its URLs wait on probation, they are not refused",
    ),
    "mirror_host": Gloss(
        "its host has shown nothing but the pages of another, as have several more",
        "if it is wanted all the same, `gossamer trust DIR PATTERN`",
    ),
    "user": Gloss("a filter of your own objected", "look at the filter; `why` quotes it"),
    "filter_failed": Gloss(
        "a filter of your own raised an exception; `why` and the summary name it",
        "mend the filter; `gossamer retry DIR --reason filter_failed` queues it again",
    ),
}
"""Refused as a link, before it was queued."""
_LASTING = (
    *("scheme", "off_scope", "not_allowed", "blocked", "dropped", "extension"),
    *("too_long", "too_deep"),
    *("repeated_segments", "not_followed", "user", "filter_failed"),
)
"""Of filters that are asked again at the turn of a URL that was queued under other rules."""

FETCH_REFUSALS: dict[str, Gloss] = {
    "robots_disallowed": Gloss(
        "robots.txt of its host forbids it",
        "if the host is yours, name it in robots.own_hosts; otherwise ask its owner",
    ),
    "robots_unreachable": Gloss(
        "robots.txt of its host could not be had, so nothing may be asked",
        "its host was given up because it was down: `gossamer retry` queues it again",
    ),
    "private_address": Gloss(
        "its host is at a private, loopback or link-local address",
        "--allow-net CIDR for a network of your own, or --allow-private",
    ),
    "bad_port": LINK_REFUSALS["bad_port"],
    "unsupported_scheme": Gloss(
        "there is no protocol module for its scheme, or it cannot go through a proxy",
        "install the package that has one (entry point gossamer.protocols); then `gossamer retry`",
    ),
    "trap_endless": LINK_REFUSALS["trap_endless"],
    "trap_same": LINK_REFUSALS["trap_same"],
    "trap_hosts": LINK_REFUSALS["trap_hosts"],
    "mirror_host": LINK_REFUSALS["mirror_host"],
    "content_type": Gloss("its media type is not wanted", "look at process.media_types"),
    "sitemap_limit": Gloss(
        "the sitemaps of its host name too few new pages for their number: an endless index",
        "if its pages are missing, add the sitemap that names them as a seed",
    ),
    "no_sitemap": Gloss(
        "/sitemap.xml of a seed's host was tried, and there is no sitemap", "nothing"
    ),
    **{name: LINK_REFUSALS[name] for name in _LASTING},
}
"""Refused when its turn came, before or instead of keeping it."""

FAILURES: dict[str, Gloss] = {
    "protocol_failed": Gloss(
        "the protocol module of its scheme raised, or returned what is no answer",
        "report it to the module's author: `gossamer why` has the detail",
    ),
    "dns_no_such_host": Gloss("there is no host of that name", "check the spelling"),
    "dns_unreachable": Gloss("the name servers did not answer", "check the network; it is retried"),
    "connect_failed": Gloss(
        "nothing listens there, or a network is down",
        "check host, port and network; its host is probed, and the same command asks it again",
    ),
    "connect_timeout": Gloss(
        "no connection within fetch.connect_s",
        "check host, port and network; its host is probed, and the same command asks it again",
    ),
    "tls_failed": Gloss(
        "the TLS handshake failed",
        "check the port: if no TLS is spoken there, use http://; `gossamer why` has the detail",
    ),
    "tls_certificate": Gloss(
        "the certificate is not valid: expired, self-signed, for another name, or of an unknown "
        "authority; `why` and the summary say which",
        "--insecure, if you accept that",
    ),
    "first_byte_timeout": Gloss("no answer within fetch.first_byte_s", "retried; raise the limit"),
    "total_timeout": Gloss("not complete within fetch.total_s", "raise the limit"),
    "stalled": Gloss("hardly a byte came for fetch.stall_s", "retried; raise the limit"),
    "disconnected": Gloss("the server hung up in the middle", "retried; then final"),
    "stale_connection": Gloss(
        "the server closed a kept connection before it answered", "retried over a new one"
    ),
    "bad_http": Gloss(
        "the answer is not HTTP",
        "check the port: if TLS is spoken there, use https://; otherwise it is no web server",
    ),
    "header_too_large": Gloss(
        "more header than fetch.max_header_bytes or max_header_lines", "raise the limit"
    ),
    "too_many_redirects": Gloss(
        "a redirect loop, or more hops than fetch.max_redirects",
        "sites that set a cookie first often do so: try --cookies",
    ),
    "bad_redirect": Gloss(
        "a redirect to nowhere, to itself, or to a scheme that is not followed",
        "check where it leads (`gossamer why`); if to itself, try --cookies",
    ),
    "proxy_failed": Gloss("the proxy did not do its work", "check --proxy"),
    "not_found": Gloss(
        "the server has no such page (404)",
        "check the spelling, or mend the link: `why` names the page that has it",
    ),
    "gone": Gloss(
        "the server says that the page is gone (410)",
        "give another URL, or mend the link: `why` names the page that has it",
    ),
    "unauthorized": Gloss("the server wants to know who asks (401)", "--auth or --header"),
    "http_4xx": Gloss(
        "another status from 400 to 499: counted one by one, as `http_403`",
        "see below; `--reason http_4xx` of `gossamer retry` means all of them",
    ),
    "throttled": Gloss("the server asked us to slow down (429, 503)", "the host was slowed down"),
    "http_5xx": Gloss(
        "the server failed (500 to 599): counted one by one, as `http_500`", "retried; then final"
    ),
    "unreadable_file": Gloss("a file: seed that cannot be read", "check its permissions"),
    "killed_us": Gloss(
        "the crawl died while its page was being read, then the helper process that read it alone",
        "please report it; `gossamer retry` queues it again",
    ),
    "internal_error": Gloss("our own code failed on it", "please report it with the detail"),
}
"""Asked for, and not had."""

_BLOCKED = "it is refused to us: perhaps to any crawler, or without --auth, --header or --cookies"
_REFUSED = "check the URL in a browser; the owner of the site knows why"
_BUSY = "retried; then final: try again later"
STATUSES: dict[int, Gloss] = {
    400: Gloss("Bad Request", "check the URL for odd characters"),
    403: Gloss("Forbidden", _BLOCKED),
    405: Gloss("Method Not Allowed", "nothing: it is no page to be read"),
    406: Gloss("Not Acceptable", "--header 'Accept: ...' may help"),
    407: Gloss("Proxy Authentication Required", "--proxy http://USER:PASS@HOST:PORT"),
    408: Gloss("Request Timeout", "try again later"),
    451: Gloss(
        "Unavailable For Legal Reasons",
        "its owner may not show it here; elsewhere perhaps (--proxy)",
    ),
    500: Gloss("Internal Server Error", _BUSY),
    501: Gloss("Not Implemented", _BUSY),
    502: Gloss("Bad Gateway", _BUSY),
    503: Gloss("Service Unavailable", _BUSY),
    504: Gloss("Gateway Timeout", _BUSY),
}
"""HTTP statuses that are counted as `http_NNN` and often met."""

CERTIFICATES: dict[str, str] = {
    "expired": "the certificate has expired",
    "not_yet_valid": "the certificate is not valid yet",
    "self_signed": "the certificate is self-signed",
    "other_name": "the certificate is for another name",
    "untrusted": "the certificate is signed by an unknown authority",
    "invalid": "the certificate is not valid; `gossamer why` says more",
}
"""What may be wrong with a certificate: the rows of `tls_certificate`."""

ENDINGS: dict[str, str] = {
    "finished": "Finished: nothing is left to fetch.",
    "revisited": "Every page that was due was revisited; run it again for what is due then.",
    "watched": "Watched until --max-time; run it again to go on.",
    "max_pages": "Stopped at --max-pages; there is more to fetch, and a larger one goes on.",
    "max_time": "Stopped at --max-time; there is more to fetch.",
    "max_bytes": "Stopped at --max-bytes; there is more to fetch, and a larger one goes on.",
    "parked": "Hosts that are down were waited for; the same command goes on with them.",
    "stopped": "Stopped on request; nothing is lost.",
    "requested": "Stopped on request; nothing is lost.",
    "no_seed": "No seed could be fetched.",
    "no_seed_yet": "No seed could be fetched within --max-time; the same command tries again.",
}

HELD_FOR: dict[str, str] = {
    "share": "it waits behind what is not suspect",
    "allowance": "its allowance is spent",
}
"""What held URLs wait for, in words."""

EXIT_CODES: dict[int, str] = {
    0: "done: finished, or a limit (--max-pages, --max-time, --max-bytes) was reached, or only "
    "hosts that are down are left",
    1: "no seed could be fetched (or, all of them failing, not within --max-time); for `show`, "
    "`receipt`, `links`, `graph`: this URL or host is not known there (`why` says so and ends with "
    "0); for `index`: something could not be read, the rest is indexed",
    2: "wrong usage or configuration; one line says what",
    3: "stopped early on request (Ctrl-C, SIGTERM); run again to go on",
    4: "could not go on (disk, lock, state, or the crawl runs elsewhere); the line says what to do",
    5: "another machine has taken the crawl over (--store); it goes on there",
}


def gloss_of(reason: str) -> Gloss | None:
    """Return a reason in words; None if it is not in the tables."""
    for table in (LINK_REFUSALS, FETCH_REFUSALS, FAILURES):
        if reason in table:
            return table[reason]
    status = int(reason[5:]) if _STATUS.fullmatch(reason) else 0
    if not status:
        return None
    known = STATUSES.get(status, Gloss("", _BUSY if status >= _THEIR_FAULT else _REFUSED))
    return Gloss(f"the server answered {status} {known.meaning}".rstrip(), known.advice)


def meaning_of(reason: str) -> str:
    """Return what a reason means, or "" for one that is not in the tables."""
    gloss = gloss_of(reason)
    return gloss.meaning if gloss is not None else ""


def advice_on(reason: str, detail: str) -> str:
    """Return what to do about a URL that was not had, or ""."""
    gloss = gloss_of(reason)
    if reason == "private_address" and (found := _NETWORK.search(detail)):
        return f"--allow-net {found[1]} allows it, if that network is yours"
    if gloss is None or gloss.advice.startswith("nothing"):
        return ""
    return gloss.advice
