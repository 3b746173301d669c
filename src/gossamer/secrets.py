"""secrets.toml: header values, cookies and passwords, apart from crawl.toml; and whose they are.

The file lies beside crawl.toml, has the shape of it, holds nothing but secrets and belongs to its
owner alone. crawl.toml names what it holds, so that a secret that got lost is noticed. Values that
are written into crawl.toml, or given as flags, are moved here.
"""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.config import Config, HostConfig
from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, ConfigError

FILE = "secrets.toml"
MODE = 0o600
ENVIRONMENT = "env:"
"""What begins so names a variable of the environment, and is no secret itself."""

HARMLESS = frozenset(
    {
        *("accept", "accept-charset", "accept-encoding", "accept-language", "cache-control"),
        *("dnt", "from", "if-modified-since", "if-none-match", "origin", "pragma", "priority"),
        *("range", "referer", "save-data", "sec-ch-ua", "sec-ch-ua-mobile", "sec-ch-ua-platform"),
        *("sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site", "sec-fetch-user", "sec-gpc"),
        *("upgrade-insecure-requests", "user-agent", "x-requested-with"),
    }
)
"""Headers that say nothing secret. Every other one may hold a secret, known to us or not."""

_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*")
_TOLD = 3
"""So many domains are named when there are too many."""
_TOP = """\
# Secrets of the crawl beside: never printed, archived or exported. Keep it to yourself (mode 0600).
# The tables are those of crawl.toml, which names what is in here.
"""


class HostSecrets(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What secrets.toml holds for one host."""

    headers: tuple[str, ...] = ()
    cookies: str = ""
    auth: str = ""


class FetchSecrets(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What secrets.toml holds for all requests."""

    headers: tuple[str, ...] = ()
    auth: dict[str, str] = field(default_factory=dict)
    proxy: str = ""


class Secrets(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of secrets.toml."""

    fetch: FetchSecrets = field(default_factory=FetchSecrets)
    host: dict[str, HostSecrets] = field(default_factory=dict)


class Separated(NamedTuple):
    """Settings that anybody may read, and the secrets that were among them."""

    config: Config
    secrets: Secrets


def read_secrets(folder: Path) -> Secrets:
    """Return what the secrets.toml of a folder holds, nothing if there is none.

    One that others may read is refused, as ssh refuses such a key: whoever could read it may have
    done so.
    """
    path = folder / FILE
    if not os.path.isdir(folder):  # noqa: PTH112 - False for whatever is wrong with it: told later
        return Secrets()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            text = file.read()
    except FileNotFoundError:
        return Secrets()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    if mode & 0o077:
        raise ConfigError(
            f"{path} can be read by other users (its mode is {mode:04o}, expected 0600); run "
            f"`chmod 600 {path}`, and change the secrets if somebody may have seen them"
        )
    try:
        return msgspec.convert(tomllib.loads(text.decode()), Secrets)
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error} (values are secret and not shown)") from None


def write_secrets(folder: Path, secrets: Secrets) -> None:
    """Replace the secrets.toml of a folder: durable when this returns, and its owner's alone."""
    path = folder / FILE
    try:
        replace_file(path, secrets_toml(secrets).encode(), mode=MODE)
    except UnicodeEncodeError:
        raise ConfigError("a secret contains text that is not valid Unicode") from None
    except OSError as error:
        raise CannotGoOn(f"{path} cannot be written: {error.strerror}") from error


def secrets_toml(secrets: Secrets) -> str:
    """Return the text of a secrets.toml."""
    named = [(f"host.{toml_value(name)}", table) for name, table in secrets.host.items()]
    lines = [_TOP]
    for name, table in [("fetch", secrets.fetch), *named]:
        values = {key: getattr(table, key) for key in table.__struct_fields__}
        said = [f"{key} = {toml_value(value)}" for key, value in values.items() if value]
        lines += [f"[{name}]", *said, ""] if said else []
    return "\n".join(lines)


def toml_value(value: object) -> str:
    """Return a string, number, switch, list or table of these as TOML."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value:_}"
        case str():
            # TOML's basic strings are JSON's, but for the DEL character.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case tuple():
            return "[" + ", ".join(toml_value(item) for item in value) + "]"
        case dict():
            pairs = (f"{toml_value(name)} = {toml_value(item)}" for name, item in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            return repr(value)


# Together, and apart


def with_secrets(config: Config, secrets: Secrets) -> Config:
    """Return settings with the secrets that belong to them.

    What they say themselves holds, unless they name it as a secret, too.
    """
    fetch, kept = config.fetch, secrets.fetch
    is_its_proxy = bool(kept.proxy) and fetch.proxy in {"", without_password(kept.proxy)}
    names = fetch.secrets if not kept.proxy else _without(fetch.secrets, ["proxy"])
    headers = merged(fetch.headers, kept.headers, fetch.secrets)
    fetch = replace(
        fetch,
        headers=headers,
        auth={**kept.auth, **fetch.auth},
        proxy=kept.proxy if is_its_proxy else fetch.proxy,
        secrets=_without(names, map(header_name, headers)),
    )
    tables = dict(config.host)
    for name, own in secrets.host.items():
        table = tables.get(name) or HostConfig()
        table = replace(
            table,
            headers=merged(table.headers, own.headers, table.secrets),
            cookies=table.cookies or own.cookies,
            auth=table.auth or own.auth,
        )
        tables[name] = replace(table, secrets=_without(table.secrets, _names_in(table)))
    return replace(config, fetch=fetch, host=tables)


def separate(config: Config) -> Separated:
    """Take the secrets out of settings; their names stay."""
    fetch = config.fetch
    headers = tuple(line for line in fetch.headers if is_secret(line))
    has_password = without_password(fetch.proxy) != fetch.proxy
    auth = {name: words for name, words in fetch.auth.items() if not is_reference(words)}
    kept = FetchSecrets(headers=headers, auth=auth, proxy=fetch.proxy if has_password else "")
    named = [*map(header_name, headers), *(["proxy"] if has_password else [])]
    fetch = replace(
        fetch,
        headers=tuple(line for line in fetch.headers if not is_secret(line)),
        auth={name: words for name, words in fetch.auth.items() if is_reference(words)},
        proxy=without_password(fetch.proxy),
        secrets=_joined(fetch.secrets, named),
    )
    tables: dict[str, HostConfig] = {}
    secrets: dict[str, HostSecrets] = {}
    for name, table in config.host.items():
        tables[name], own = _separate_table(table)
        if own != HostSecrets():
            secrets[name] = own
    return Separated(
        replace(config, fetch=fetch, host=tables),
        Secrets(fetch=kept, host=dict(sorted(secrets.items()))),
    )


def _separate_table(table: HostConfig) -> tuple[HostConfig, HostSecrets]:
    own = HostSecrets(
        headers=tuple(line for line in table.headers if is_secret(line)),
        cookies=table.cookies if not is_reference(table.cookies) else "",
        auth=table.auth if not is_reference(table.auth) else "",
    )
    public = replace(
        table,
        headers=tuple(line for line in table.headers if not is_secret(line)),
        cookies=table.cookies if is_reference(table.cookies) else "",
        auth=table.auth if is_reference(table.auth) else "",
        secrets=_joined(table.secrets, _names_in(own)),
    )
    return public, own


def missing_secrets(config: Config) -> list[str]:
    """Return the names of secrets that settings name and do not have, each with its table."""
    tables = [("fetch", config.fetch.secrets)]
    tables += [(f"host.{toml_value(name)}", table.secrets) for name, table in config.host.items()]
    return [f"{name} of [{table}]" for table, names in tables for name in names]


def _names_in(table: HostConfig | HostSecrets) -> list[str]:
    """Return the names of what a table holds, as `secrets` spells them."""
    names = [header_name(line) for line in table.headers]
    names += ["cookies"] if table.cookies else []
    return names + (["auth"] if table.auth else [])


def _without(names: Iterable[str], others: Iterable[str]) -> tuple[str, ...]:
    gone = {name.lower() for name in others}
    return tuple(name for name in names if name.lower() not in gone)


def _joined(names: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    by_name = {name.lower(): name for name in (*names, *more)}
    return tuple(by_name.values())


# Header lines


def header_name(line: str) -> str:
    """Return the name of a header line."""
    return line.partition(":")[0].strip()


def is_reference(value: str) -> bool:
    """Return True if a value is the name of a variable of the environment."""
    return value.startswith(ENVIRONMENT)


def is_secret(line: str) -> bool:
    """Return True if the value in a header line may be a secret."""
    name, _, value = line.partition(":")
    return name.strip().lower() not in HARMLESS and not is_reference(value.strip())


def merged(
    lines: Sequence[str], others: Sequence[str], wanted: Iterable[str] = ()
) -> tuple[str, ...]:
    """Return header lines, and those of the others that have other names, or names wanted."""
    names = {name.lower() for name in _without(map(header_name, lines), wanted)}
    return (*lines, *(line for line in others if header_name(line).lower() not in names))


def without_password(url: str) -> str:
    """Return the URL of a proxy without user and password."""
    scheme, mark, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{mark}{authority.rpartition('@')[2]}{slash}{path}"


def check_secrets(config: Config) -> None:
    """Raise `ConfigError` for a secret that cannot be meant, without showing it."""
    _check_headers("fetch.headers", config.fetch.headers)
    for host, words in config.fetch.auth.items():
        if ":" not in words:
            raise ConfigError(
                f"fetch.auth: expected USER:PASS for {host} (the value is secret and not shown)"
            )
    for name, table in config.host.items():
        where = f"host.{toml_value(name)}"
        _check_headers(f"{where}.headers", table.headers)
        if table.auth and ":" not in table.auth:
            raise ConfigError(
                f"{where}.auth: expected USER:PASS or env:VARIABLE (the value is secret and not "
                "shown)"
            )
        if not table.cookies.isprintable():
            raise ConfigError(
                f"{where}.cookies: expected printable text on one line (the value is secret and "
                "not shown)"
            )
    proxy = config.fetch.proxy
    scheme, mark, rest = proxy.partition("://")
    has_host = rest.rpartition("@")[2][:1] not in {"", ":", "/"}
    if proxy and not is_reference(proxy) and not (scheme in _PROXY_SCHEMES and has_host):
        wanted = ", ".join(_PROXY_SCHEMES)
        found = f", found {scheme!r}" if mark else ""  # what follows may be a password
        raise ConfigError(
            "fetch.proxy: expected a URL such as http://localhost:3128, with a host and one of the "
            f"schemes {wanted}{found}"
        )


def _check_headers(where: str, lines: tuple[str, ...]) -> None:
    if not all(map(_HEADER.fullmatch, lines)):
        raise ConfigError(
            f'{where}: expected "Name: value" on one line (the value is secret and not shown)'
        )


# Whose headers


def bind_headers(config: Config, origins: Mapping[str, str]) -> Config:
    """Return settings with the headers of [fetch] in tables of origins, its credentials in theirs.

    `origins` are those of the seeds that the headers were given with, each with its registrable
    domain. What may be secret cannot be meant for more than one of these.
    """
    tables = dict(config.host)
    for name, words in config.fetch.auth.items():
        table = tables.get(name) or HostConfig()
        tables[name] = replace(table, auth=words, secrets=_without(table.secrets, ["auth"]))
    fetch = replace(config.fetch, auth={})
    headers = fetch.headers if origins and not fetch.header_everywhere else ()
    if headers:
        _expect_one_domain(headers, origins)
        fetch = replace(fetch, headers=())
    for origin in origins if headers else ():
        table = tables.get(origin) or HostConfig()
        rest = _without(table.secrets, map(header_name, headers))
        tables[origin] = replace(table, headers=merged(headers, table.headers), secrets=rest)
    return replace(config, fetch=fetch, host=tables)


def tables_with(config: Config) -> list[str]:
    """Return the names of the tables that hold a header of `fetch.headers` already."""
    names = {header_name(line).lower() for line in config.fetch.headers}
    return [
        name
        for name, table in config.host.items()
        if names & {one.lower() for one in (*table.secrets, *map(header_name, table.headers))}
    ]


def _expect_one_domain(headers: Sequence[str], origins: Mapping[str, str]) -> None:
    domains = sorted(set(origins.values()))
    private = [header_name(line) for line in headers if _is_private(line)]
    if private and len(domains) > 1:
        shown = ", ".join(domains[:_TOLD]) + (", ..." if len(domains) > _TOLD else "")
        names, table = ", ".join(dict.fromkeys(private)), f"[host.{toml_value(domains[0])}]"
        raise ConfigError(
            f"--header: {names} would be sent to {len(domains)} sites ({shown}); put it into the "
            f"table of each that may see it, such as {table} in crawl.toml, or add "
            "--header-everywhere"
        )


def _is_private(line: str) -> bool:
    return header_name(line).lower() not in HARMLESS
