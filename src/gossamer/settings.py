"""crawl.toml: reading, checking, writing and documenting it.

What we write begins with its format and ends with a closing line, so that a file that lost its end
is not taken for one with fewer settings. The settings of the last start are also kept in
`state/crawl.toml`: what has changed since then, by whoever's hand, is told, and a damaged file can
be put back. Secrets are in neither: they are in `secrets.toml` (see `secrets.py`).

The settings themselves, their types, ranges and descriptions are in `config.py`.
"""

import ast
import inspect
import ipaddress
import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec
from msgspec import Struct, structs
from msgspec import inspect as types

from gossamer import config as knobs_module
from gossamer.config import Config, HostConfig, ScheduleConfig
from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, ConfigError, unknown_setting
from gossamer.schedule import read_schedule
from gossamer.secrets import (
    FILE,
    MODE,
    Secrets,
    check_secrets,
    read_secrets,
    separate,
    toml_value,
    with_secrets,
    write_secrets,
)

SECRET_KNOBS = frozenset({"fetch.auth", "fetch.headers", "fetch.proxy"})
"""Knobs whose values are never printed, and which close crawl.toml to other users."""
_HOST = "host"
_SECRET_OF_HOST = frozenset({"auth", "cookies", "headers"})
_SECRETS = "# checksums of secrets: "
_USER_INFO = re.compile(r"(?<=://)[^/?#\s]*@")
_UNKNOWN = re.compile(r"unknown field `(.*)`")
_COMMENT_COLUMN = 34
_WIDTH = 100
FORMAT = 2
"""Of the files that we write. Those without a number are older, and have no closing line."""
CLOSING = "# end of crawl.toml"
_CLOSED = re.compile(rf"^\s*{re.escape(CLOSING)}", re.MULTILINE)
_TOP = f"""\
format = {FORMAT}
# The settings of this crawl. A line that starts with "#" shows a default: remove the "#" to
# change it. Options given to `gossamer crawl` are saved here, and the change is reported.
"""


class Knob(Struct, frozen=True):
    """One knob: its table, name, default and description."""

    section: str
    """The table in crawl.toml; "" for the top."""
    name: str
    default: object
    doc: str

    @property
    def kind(self) -> str:
        """Return its type in words, such as "integer ≥ 1"."""
        return _kinds({**_sections(), _HOST: HostConfig}[self.section])[self.name]

    @property
    def path(self) -> str:
        """Return the knob's full name, such as "fetch.insecure"."""
        return f"{self.section}.{self.name}" if self.section else self.name


def describe_knobs() -> list[Knob]:
    """Return every knob, in the order of `config.py`, described by what is written there."""
    docs = _docs_by_class()
    return [
        Knob(section, name, default, docs[struct.__name__].get(name, ""))
        for section, struct in _sections().items()
        for name, default in _fields(struct)
    ]


def describe_host_knobs() -> list[Knob]:
    """Return every knob of a [host] table."""
    words = _docs_by_class()[HostConfig.__name__]
    return [Knob(_HOST, *about, words[about[0]]) for about in _fields(HostConfig)]


def describe_sections() -> dict[str, str]:
    """Return what each table of crawl.toml is about, by its name."""
    return {name: inspect.cleandoc(s.__doc__ or "") for name, s in _sections().items() if name}


def load_config(path: Path) -> Config:
    """Return what a file of settings says, or raise `ConfigError` with file, knob and bound."""
    return _read(path).config


def load_crawl_config(folder: Path, default: Config | None = None) -> Config:
    """Return the settings of the crawl in a folder; `default` if there is no crawl yet.

    Where something was crawled, a crawl.toml that is missing, was cut or has no seeds is refused:
    others would silently take the place of its settings.
    """
    path = folder / "crawl.toml"
    has_begun = _has_begun(folder)
    if not path.exists() and has_begun:
        raise _lost(folder, "is missing", "Put it back, or give --config FILE")
    if not path.exists() and default is not None:
        return default
    if has_begun and _was_cut(path):
        remedy = f"Put it back or, if nothing else is missing, add the line {CLOSING!r}"
        raise _lost(folder, "was cut: its closing line is missing", remedy)
    found = _read(path)
    if has_begun and not found.config.seeds and not _had_no_seeds(folder):
        raise _lost(folder, "has no seeds", "Put it back, or add its seeds to it")
    return found.config


def stored_config(folder: Path) -> Config | None:
    """Return what the crawl.toml of a folder says; None if there is none.

    Raise for one that is damaged: settings that are given in its place lack its seeds.
    """
    with suppress(OSError):  # a folder that cannot be looked at is told when it is made ours
        if (folder / "crawl.toml").exists():
            return load_crawl_config(folder)
    return None


def readable_config(folder: Path) -> Config:
    """Return the settings of a crawl for a question that their damage must not leave unanswered.

    If crawl.toml is damaged, they are those of the last start; the defaults if these are, too.
    """
    try:
        return load_crawl_config(folder)
    except (ConfigError, CannotGoOn):
        last = _last_start(folder)
        return last.config if last is not None else Config()


def _was_cut(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    return f"format = {FORMAT}\n" in text and not _CLOSED.search(text)


class _Settings(NamedTuple):
    """A file of settings, read."""

    config: Config
    format: int | None
    """None in files of older versions."""


def _read(path: Path) -> _Settings:
    try:
        text = path.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; check the spelling") from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}; expected a TOML file"
        ) from error
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text; expected a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}; mend that line") from None
    number = data.pop("format", None)
    if number is not None and (type(number) is not int or number != FORMAT):
        raise ConfigError(
            f"{path} has format {number!r}, and this version of Gossamer reads format {FORMAT}; "
            "use the version that wrote it"
        )
    try:
        return _Settings(to_config(data), number)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def _has_begun(folder: Path) -> bool:
    """Return True if something was crawled into a folder: it has a state, or an archive."""
    found = (folder.glob("state/*/CURRENT"), folder.glob("archive/*.warc*.gz"))
    return any(True for _ in chain.from_iterable(found))


def _had_no_seeds(folder: Path) -> bool:
    last = _last_start(folder)
    return last is not None and not last.config.seeds


def _copy_of(folder: Path) -> Path:
    return folder / "state" / "crawl.toml"


def _lost(folder: Path, found: str, remedy: str) -> CannotGoOn:
    copy = _copy_of(folder)
    kept = f" ({copy} has all but secrets, as of the last start)" if copy.exists() else ""
    return CannotGoOn(f"{folder / 'crawl.toml'} {found}; nothing was changed. {remedy}{kept}")


def to_config(data: Mapping[str, object]) -> Config:
    """Return the checked configuration that plain values describe, or raise `ConfigError`."""
    try:
        config = msgspec.convert(data, Config)
    except msgspec.ValidationError as error:
        raise ConfigError(_explained(str(error), data)) from None
    check(config)
    return config


def check(config: Config) -> None:
    """Raise `ConfigError` for a value that has the right type but cannot be meant."""
    fetch = config.fetch
    for network in fetch.allow_net:
        if not _reads(_network, network):
            raise _wrong(
                "fetch.allow_net",
                "a network in CIDR notation, such as 10.0.0.0/8, or 127.0.0.0/8 for localhost",
                network,
            )
    for address in fetch.resolve.values():
        if not _reads(ipaddress.ip_address, address.strip("[]")):
            raise _wrong("fetch.resolve", "an IP address", address)
    for name, value in (("user_agent", fetch.user_agent), ("contact", fetch.contact)):
        if not value.isprintable():
            raise _wrong(f"fetch.{name}", "printable text on one line", value)
    has_credit = config.frontier.order in {"best", "opic"} and not config.frontier.score
    if config.frontier.ranks and not has_credit:
        raise ConfigError(
            "frontier.ranks needs frontier.order best or opic, without frontier.score: "
            "add --order best"
        )
    if config.frontier.scores and (config.frontier.order == "dfs" or config.frontier.score):
        raise ConfigError(
            "frontier.scores needs frontier.order bfs, best or opic, without frontier.score: "
            "add --order best"
        )
    if config.schedule != ScheduleConfig():
        read_schedule(config.schedule.hours, config.schedule.time_zone)
    check_secrets(config)


def _network(text: str) -> object:
    return ipaddress.ip_network(text, strict=False)


def _reads(reader: Callable[[str], object], text: str) -> bool:
    try:
        reader(text)
    except ValueError:
        return False
    return True


def to_toml(config: Config) -> str:
    """Return a whole crawl.toml: every knob with its meaning; defaults are commented out."""
    values = _values(config)
    about = describe_sections()
    lines = [_TOP]
    section = ""
    for knob in describe_knobs():
        if knob.section != section:
            section = knob.section
            lines.extend(["", *_beside(f"[{section}]", about[section])])
        lines.extend(_knob_lines(knob, values[knob.path]))
    lines.extend(_host_lines(config))
    lines.extend(["", f"{CLOSING} (keep this line: without it the file counts as cut)"])
    return "\n".join(lines) + "\n"


def _host_lines(config: Config) -> list[str]:
    """Return the [host] tables, with what they set."""
    comment = """\
# A table such as [host."www.example.org"] sets delay_s, scope, insecure, headers, cookies and auth
# of one host. Secret values are moved to secrets.toml, and `secrets` names them."""
    lines = ["", *comment.splitlines()]
    for name, table in config.host.items():
        values = {knob: getattr(table, knob) for knob, _ in _fields(HostConfig)}
        said = {knob: value for knob, value in values.items() if value not in (None, "", ())}
        lines.extend(["", f"[{_HOST}.{toml_value(name)}]"])
        lines.extend(f"{knob} = {toml_value(value)}" for knob, value in said.items())
    return lines


def save_crawl_config(folder: Path, config: Config) -> Config:
    """Let the crawl.toml of a folder, and the copy of the last start, say these settings.

    Secrets among them go to its secrets.toml, which is on the disk before crawl.toml is replaced;
    return the settings without them. A file that says so already is left as it is, with what people
    wrote into it.
    """
    path, copy = folder / "crawl.toml", _copy_of(folder)
    kept = read_secrets(folder)
    public, secrets = separate(with_secrets(config, kept))
    if secrets != kept:
        write_secrets(folder, secrets)
    text = ""
    if not _says(path, public):
        _write(path, text := to_toml(public), mode=0o644)
    start = _LastStart(public, _digests(secrets))
    if _last_start(folder) != start:
        copy.parent.mkdir(exist_ok=True)
        text = f"{text or to_toml(public)}{_SECRETS}{json.dumps(start.secrets)}\n"
        _write(copy, text, mode=MODE)
    return public


def _says(path: Path, config: Config) -> bool:
    """Return True if a file holds these settings, in today's format."""
    with suppress(ConfigError):
        return _read(path) == _Settings(config, FORMAT) and not _was_cut(path)
    return False


def save_config(path: Path, config: Config) -> None:
    """Write crawl.toml so that it is whole at any moment; closed to others if it holds secrets."""
    _write(path, to_toml(config), mode=MODE if separate(config).secrets != Secrets() else 0o644)


def _write(path: Path, text: str, *, mode: int) -> None:
    try:
        replace_file(path, text.encode(), mode=mode)
    except UnicodeEncodeError:
        raise ConfigError("a setting contains text that is not valid Unicode") from None
    except OSError as error:
        raise CannotGoOn(f"{path} cannot be written: {error.strerror}") from error


def changed(old: Config, new: Config) -> list[str]:
    """Return one line for each knob that differs, such as "fetch.insecure: false -> true"."""
    before, after = _values(old), _values(new)
    return [
        _change(name, before.get(name), after.get(name))
        for name in dict.fromkeys((*before, *after))
        if before.get(name) != after.get(name)
    ]


def changed_since_last_start(folder: Path, old: Config, new: Config) -> list[str]:
    """Return one line for each knob that differs from those of the last start of a crawl.

    Where these are not known, which differ from `old`. Secrets in `old` are moved to secrets.toml.
    """
    moved = [name for name, value in _values(old).items() if value and _holds_secret(name, old)]
    told = [f"{name}: moved to {FILE}" for name in moved]
    last = _last_start(folder)
    kept = read_secrets(folder)
    public, secrets = separate(with_secrets(new, kept))
    if last is None:
        return told + changed(separate(with_secrets(old, kept)).config, public)
    digests = _digests(secrets)
    names = sorted(name for name in {*last.secrets, *digests} if name not in moved)
    names = [name for name in names if last.secrets.get(name) != digests.get(name)]
    lines = told + changed(last.config, public)
    return lines + [f"{name}: changed (not shown)" for name in names]


def _holds_secret(name: str, config: Config) -> bool:
    """Return True if a knob has a value that belongs into secrets.toml."""
    public = separate(config).config
    return _is_secret(name) and _values(public).get(name) != _values(config).get(name)


class _LastStart(NamedTuple):
    """The settings of the last start, and a checksum of each secret among them."""

    config: Config
    secrets: dict[str, str]


def _last_start(folder: Path) -> _LastStart | None:
    """Return what was kept of the last start; None if nothing was, or it is damaged."""
    copy = _copy_of(folder)
    try:
        found = _read(copy)
        line = copy.read_text(encoding="utf-8").rpartition(_SECRETS)[2]
        return _LastStart(found.config, msgspec.json.decode(line, type=dict[str, str]))
    except (ConfigError, OSError, msgspec.DecodeError):
        return None


def _digests(secrets: Secrets) -> dict[str, str]:
    """Return a checksum of each secret: enough to notice that it has changed."""
    found: dict[str, object] = {}
    for name in secrets.fetch.__struct_fields__:
        found[f"fetch.{name}"] = getattr(secrets.fetch, name)
    for host, table in secrets.host.items():
        for name in table.__struct_fields__:
            found[f"{_HOST}.{toml_value(host)}.{name}"] = getattr(table, name)
    return {name: f"{crc32(msgspec.json.encode(one)):08x}" for name, one in found.items() if one}


def _is_secret(name: str) -> bool:
    """Return True if the value of a knob is never printed."""
    is_of_host = name.startswith(f"{_HOST}.") and name.rpartition(".")[2] in _SECRET_OF_HOST
    return name in SECRET_KNOBS or is_of_host


def _change(name: str, before: object, after: object) -> str:
    if _is_secret(name):
        return f"{name}: changed (not shown)"
    return f"{name}: {_shown(before)} -> {_shown(after)}"


def _shown(value: object) -> str:
    return "not set" if value is None else toml_value(value)


# What config.py says


def _sections() -> dict[str, type[Struct]]:
    """Return the struct of each table of crawl.toml, the top ("") first."""
    defaults = structs.asdict(Config())
    tables = {name: type(table) for name, table in defaults.items() if isinstance(table, Struct)}
    return {"": Config, **tables}


@cache
def _fields(struct: type[Struct]) -> tuple[tuple[str, object], ...]:
    """Return name and default of a struct's knobs; nested structs are left out."""
    every = structs.asdict(struct()).items()
    return tuple((n, it) for n, it in every if n != _HOST and not isinstance(it, Struct))


@cache
def _kinds(struct: type[Struct]) -> dict[str, str]:
    """Return the type of each knob of a struct in words: slow, and no crawl asks."""
    info = types.type_info(struct)
    knobs, fields = dict(_fields(struct)), info.fields if isinstance(info, types.StructType) else ()
    return {field.name: _words(field.type) for field in fields if field.name in knobs}


def _words(kind: types.Type) -> str:
    match kind:
        case types.BoolType():
            return "true or false"
        case types.IntType() | types.FloatType():
            return _range("integer" if isinstance(kind, types.IntType) else "number", kind)
        case types.StrType():
            return "string"
        case types.VarTupleType():
            return "list of strings"
        case types.DictType(value_type=value):
            return "table of strings" + (
                "" if value == types.StrType() else f", {_words(value)} each"
            )
        case types.LiteralType(values=values):
            return "one of " + ", ".join(json.dumps(value) for value in values)
        case types.UnionType(types=kinds):
            named = [_words(one) for one in kinds if not isinstance(one, types.NoneType)]
            return " or ".join(named) + ", or not set"
        case _:
            return type(kind).__name__


def _range(noun: str, kind: types.IntType | types.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f"{noun} from {kind.ge:g} to {kind.le:g}"
    return noun if kind.ge is None else f"{noun} ≥ {kind.ge:g}"


@cache
def _docs_by_class() -> dict[str, dict[str, str]]:
    """Return the text below each field of each class in config.py."""
    tree = ast.parse(Path(knobs_module.__file__).read_bytes())
    return {node.name: _field_docs(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _field_docs(node: ast.ClassDef) -> dict[str, str]:
    docs: dict[str, str] = {}
    for field, after in pairwise(node.body):
        match field, after:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(words))),
            ):
                docs[name] = " ".join(words.split())
            case _:
                continue
    return docs


# What is wrong with a value


def _explained(found: str, data: Mapping[str, object]) -> str:
    """Return msgspec's complaint with the knob's full name, what it takes, and what was found."""
    complaint, _, place = found.partition(" - at `$.")
    path = place.rstrip("`").partition("[")[0]
    tables = data.get(_HOST)
    if path == _HOST and isinstance(tables, Mapping):
        return _explained_table(complaint, place.rstrip("`").partition("].")[2], tables)
    kinds = {knob.path: knob.kind for knob in describe_knobs()}
    if unknown := _UNKNOWN.search(complaint):
        name = f"{path}.{unknown[1]}" if path else unknown[1]
        return unknown_setting(name, [*kinds, *_sections(), _HOST])
    value: object = data
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return _expected(path, kinds.get(path, "table"), value)


def _explained_table(complaint: str, name: str, tables: Mapping[object, object]) -> str:
    """Return the same for one of the [host] tables: the first that cannot be read."""
    kinds = {knob.name: knob.kind for knob in describe_host_knobs()}
    name = name.partition("[")[0]
    for host, table in tables.items():
        where = f"{_HOST}.{toml_value(str(host))}"
        try:
            msgspec.convert(table, HostConfig)
        except msgspec.ValidationError:
            if unknown := _UNKNOWN.search(complaint):
                return unknown_setting(
                    f"{where}.{unknown[1]}", [f"{where}.{knob}" for knob in kinds]
                )
            value = table.get(name) if isinstance(table, Mapping) else table
            return _expected(f"{where}.{name}" if name else where, kinds.get(name, "table"), value)
    return f"{_HOST}: {complaint}"


def _expected(path: str, kind: str, value: object) -> str:
    wanted = _with_article(kind)
    if _is_secret(path):
        return f"{path}: expected {wanted} (the value found is secret and not shown)"
    return str(_wrong(path, wanted, value))


def _with_article(kind: str) -> str:
    noun = kind.partition(" ")[0]
    if noun in {"true", "one"}:
        return kind
    return f"an {kind}" if noun == "integer" else f"a {kind}"


def _wrong(path: str, wanted: str, found: object) -> ConfigError:
    return ConfigError(f"{path}: expected {wanted}, found {found!r}")


# Writing TOML


def _values(config: Config) -> dict[str, object]:
    """Return every knob's value by its full name."""
    found: dict[str, object] = {}
    for section, struct in _sections().items():
        holder = getattr(config, section) if section else config
        for name, _ in _fields(struct):
            found[f"{section}.{name}" if section else name] = getattr(holder, name)
    if config.seeds:
        found["seeds"] = tuple(_USER_INFO.sub("", seed) for seed in config.seeds)
    plain = HostConfig()
    for host, table in config.host.items():
        for name, _ in _fields(HostConfig):
            if (value := getattr(table, name)) != getattr(plain, name):
                found[f"{_HOST}.{toml_value(host)}.{name}"] = value
    return found


def _knob_lines(knob: Knob, value: object) -> list[str]:
    """Return a knob's lines: the value, commented out if it is the default, and its meaning."""
    mark = "#" if value == knob.default else ""
    if value is None:
        return _beside(f"{mark}{knob.name} =", f"(not set) {knob.doc}")
    left = f"{mark}{knob.name} = {toml_value(value)}"
    if len(left) < _COMMENT_COLUMN:
        return _beside(left, knob.doc)
    comment = [f"# {line}" for line in textwrap.wrap(knob.doc, _WIDTH - 2)]
    if isinstance(value, tuple) and len(left) > _WIDTH:
        words = " ".join(toml_value(item).replace(" ", "\0") + "," for item in value)
        # A value is one word, however long: broken, it would not be TOML any more.
        items = textwrap.wrap(words, 92, break_long_words=False, break_on_hyphens=False)
        lines = [f"{mark}{knob.name} = [", *(f"{mark}    {line}" for line in items), f"{mark}]"]
        return comment + [line.replace("\0", " ") for line in lines]
    return [*comment, left]


def _beside(left: str, words: str) -> list[str]:
    """Return a short value with its meaning to the right of it."""
    meaning = textwrap.wrap(words, _WIDTH - _COMMENT_COLUMN - 2) or [""]
    lefts = [left, *[""] * (len(meaning) - 1)]
    return [
        f"{start:<{_COMMENT_COLUMN}}# {line}" for start, line in zip(lefts, meaning, strict=True)
    ]
