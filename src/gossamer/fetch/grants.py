"""HostRules: what a request carries because of the origin that it goes to. Pure.

The one rule of all secrets (headers, cookies, credentials) is `reach`. It is applied once, when a
shard is assembled: the answer is a table by origin. Whatever leads to a request (a link, a
redirect, a robots.txt, a retry, a revisit) has an origin, and nothing else is asked.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.config import Config, FetchConfig, HostConfig, UrlConfig
from gossamer.errors import ConfigError
from gossamer.model import Url
from gossamer.secrets import ENVIRONMENT, HARMLESS, header_name, is_reference, toml_value
from gossamer.urls import parse, registrable_domain

_WEB = ("http", "https")
_FTP = "ftp"
_WWW = "www."
_ANY = "***"

T = TypeVar("T")


class HeaderLine(NamedTuple):
    """A header of the operator's own."""

    name: str
    value: str
    is_secret: bool
    """The archive does not get its value."""


class Login(NamedTuple):
    """Who asks, at a server that wants to know."""

    user: str
    password: str


class HostRules(Struct, frozen=True):
    """What differs between hosts in how requests are made."""

    everywhere: tuple[HeaderLine, ...] = ()
    """Headers for every host."""
    headers: dict[str, tuple[HeaderLine, ...]] = field(default_factory=dict)
    """By origin: every one that gets headers of its own is in here."""
    insecure: dict[str, bool] = field(default_factory=dict)
    """By host: whether its certificate need not be valid, where that is not as usual."""
    logins: dict[str, Login] = field(default_factory=dict)
    """By origin of ftp: who asks there, if not a guest."""


def reach(origin: str) -> tuple[str, ...]:
    """Return the origins to which a secret of one origin may be sent, itself first.

    Also those with or without "www." of the same registrable domain, and of http the same by https.
    Never down to http, and never to another port.
    """
    scheme, _, authority = origin.partition("://")
    if scheme not in _WEB:
        return ()
    names = (authority, *_twins(authority))
    schemes = _WEB[_WEB.index(scheme) :]
    return tuple(f"{one}://{name}" for one in schemes for name in names)


def _twins(authority: str) -> tuple[str, ...]:
    """Return the same host with or without "www.", unless that may be somebody else's."""
    twin = authority.removeprefix(_WWW) if authority.startswith(_WWW) else _WWW + authority
    hosts = (authority.partition(":")[0], twin.partition(":")[0])
    has_owner = "." in twin and not authority.startswith("[")  # an IPv6 address has no names
    same = has_owner and registrable_domain(hosts[0]) == registrable_domain(hosts[1])
    return (twin,) if same else ()


def origins_of(name: str, seeds: Iterable[Url]) -> list[str]:
    """Return the origins that the name of a [host] table means.

    A name with a scheme is one; a host, with or without a port, means those of its seeds. A host
    without a seed is spoken to by https only.
    """
    if "://" in name:
        return [_url(name, name).origin]
    url = _url(name, f"https://{name}")
    authority = url.origin.partition("://")[2]
    twins = {authority, *_twins(authority)}
    known = [seed.origin for seed in seeds if {seed.host, _authority(seed)} & twins]
    return list(dict.fromkeys(known)) or [url.origin]


def host_of(name: str) -> str:
    """Return the host that the name of a [host] table means."""
    return _url(name, name if "://" in name else f"https://{name}").host


def by_host(config: Config, knob: Callable[[HostConfig], T | None]) -> dict[str, T]:
    """Return what [host] tables say about something, by host; two must not contradict."""
    found: dict[str, T] = {}
    for name, table in config.host.items():
        value = knob(table)
        if value is not None and found.setdefault(host_of(name), value) != value:
            raise ConfigError(f"host.{toml_value(name)}: another table of this host says otherwise")
    return found


def _url(name: str, text: str) -> Url:
    url = parse(f"{text}/", UrlConfig())
    if url is None or url.scheme not in (*_WEB, _FTP) or url.target != "/":
        raise ConfigError(
            f"host.{toml_value(name)}: expected a host such as x.org, x.org:8080, "
            "https://x.org or ftp://x.org, without a path"
        )
    return url


def _authority(url: Url) -> str:
    return url.origin.partition("://")[2]


def host_rules(config: Config, seeds: Sequence[Url], environment: Mapping[str, str]) -> HostRules:
    """Return what is sent to which origin, and whose certificates need not be valid.

    `config` holds its secrets. Of two that would send a header of the same name, the origin's own
    holds, then a table with a scheme, then any table, then `fetch.headers`.
    """
    wanted: dict[str, dict[str, list[HeaderLine]]] = {}
    sources = list(_sources(config, seeds, environment))
    for is_own in (True, False):
        for origin, lines in sources:
            for place in reach(origin)[:1] if is_own else reach(origin)[1:]:
                _put(wanted.setdefault(place, {}), lines)
    insecure = by_host(config, lambda table: table.insecure)
    headers = {
        place: tuple(line for lines in by_name.values() for line in lines)
        for place, by_name in wanted.items()
    }
    usual = tuple(
        _lines("fetch.headers", config.fetch.headers, environment)
        if config.fetch.header_everywhere
        else ()
    )
    return HostRules(usual, headers, insecure, _logins(config, seeds, environment))


def _logins(
    config: Config, seeds: Sequence[Url], environment: Mapping[str, str]
) -> dict[str, Login]:
    """Return who asks at origins of ftp; nobody else is told.

    A table without a scheme means them only if it means nothing else: who has a password for a
    site may not want it to be sent by ftp, too.
    """
    found: dict[str, Login] = {}
    for name, table in _tables(config):
        words = _credentials(name, table, environment)
        origins = origins_of(name, seeds) if words else []
        if all(origin.startswith(f"{_FTP}:") for origin in origins):
            user, _, password = words.partition(":")
            found = {**dict.fromkeys(origins, Login(user, password)), **found}
    return found


def _tables(config: Config) -> list[tuple[str, HostConfig]]:
    """Return the tables of hosts with their credentials, the most particular first."""
    tables = dict(config.host)
    for name, words in config.fetch.auth.items():
        tables[name] = replace(tables.get(name) or HostConfig(), auth=words)
    return sorted(tables.items(), key=lambda item: "://" not in item[0])


def _credentials(name: str, table: HostConfig, environment: Mapping[str, str]) -> str:
    """Return USER:PASS of a table; "" if it has none."""
    if not table.auth:
        return ""
    where = f"host.{toml_value(name)}.auth"
    words = _value(where, table.auth, environment)
    if ":" not in words:
        raise ConfigError(f"{where}: expected USER:PASS (the value is not shown)")
    return words


def _put(by_name: dict[str, list[HeaderLine]], lines: Sequence[HeaderLine]) -> None:
    """Add headers of one source, but for names that an earlier source has given."""
    taken = set(by_name)
    for line in lines:
        if line.name.lower() not in taken:
            by_name.setdefault(line.name.lower(), []).append(line)


def _sources(
    config: Config, seeds: Sequence[Url], environment: Mapping[str, str]
) -> Iterator[tuple[str, list[HeaderLine]]]:
    """Give origins with the headers that were meant for them, the most particular first."""
    for name, table in _tables(config):
        where = f"host.{toml_value(name)}"
        lines = _lines(f"{where}.headers", table.headers, environment)
        if table.cookies:
            cookies = _value(f"{where}.cookies", table.cookies, environment)
            lines.append(HeaderLine("Cookie", cookies, is_secret=True))
        if table.auth and not any(line.name.lower() == "authorization" for line in lines):
            words = _credentials(name, table, environment)
            basic = f"Basic {b64encode(words.encode()).decode()}"
            lines.append(HeaderLine("Authorization", basic, is_secret=True))
        for origin in origins_of(name, seeds) if lines else ():
            yield origin, lines
    if not config.fetch.header_everywhere:
        lines = _lines("fetch.headers", config.fetch.headers, environment)
        for seed in seeds:
            yield seed.origin, lines


def header_names(config: Config, seeds: Sequence[Url]) -> HostRules:
    """Return the same without looking at any secret: the names are right, the values are not."""
    fetch = config.fetch
    masked = replace(
        fetch,
        headers=_masked(fetch.headers, [name for name in fetch.secrets if name != "proxy"]),
        auth=dict.fromkeys(fetch.auth, f":{_ANY}"),
    )
    tables = {
        name: replace(
            table,
            headers=_masked(table.headers, set(table.secrets) - {"auth", "cookies"}),
            auth=f":{_ANY}" if table.auth or "auth" in table.secrets else "",
            cookies=_ANY if table.cookies or "cookies" in table.secrets else "",
        )
        for name, table in config.host.items()
    }
    return host_rules(replace(config, fetch=masked, host=tables), seeds, {})


def _masked(lines: Iterable[str], names: Iterable[str]) -> tuple[str, ...]:
    named = dict.fromkeys([*map(header_name, lines), *sorted(names)])
    return tuple(f"{name}: {_ANY}" for name in named)


def with_proxy(config: FetchConfig, environment: Mapping[str, str]) -> FetchConfig:
    """Return the settings of requests with their proxy, wherever its URL is written."""
    return replace(config, proxy=_value("fetch.proxy", config.proxy, environment))


def _lines(where: str, lines: Iterable[str], environment: Mapping[str, str]) -> list[HeaderLine]:
    """Return header lines of the operator's, their values looked up if they are elsewhere."""
    parts = (line.partition(":") for line in lines)
    return [
        HeaderLine(
            name.strip(),
            _value(where, value.strip(), environment),
            is_secret=name.strip().lower() not in HARMLESS or is_reference(value.strip()),
        )
        for name, _, value in parts
    ]


def _value(where: str, value: str, environment: Mapping[str, str]) -> str:
    """Return a value, from the environment if it names a variable."""
    if not is_reference(value):
        return value
    name = value.removeprefix(ENVIRONMENT)
    found = environment.get(name, "")
    if not found or not found.isprintable():
        state = "is not set" if not found else "has control characters in it"
        raise ConfigError(
            f"{where}: the environment variable {name} {state}; set it and start again"
        )
    return found
