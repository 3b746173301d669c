"""crawl.toml: reading, checking, writing and documenting it.

The settings themselves, their types, ranges and descriptions are in `config.py`.
"""

import ast
import difflib
import inspect
import ipaddress
import json
import re
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct, structs
from msgspec import inspect as types

from gossamer import config as knobs_module
from gossamer.config import Config
from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, ConfigError

SECRET_KNOBS = frozenset({"fetch.auth", "fetch.headers", "fetch.proxy"})
"""Knobs whose values are never printed, and which close crawl.toml to other users."""

_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*")
_USER_INFO = re.compile(r"(?<=://)[^/?#\s]*@")
_COMMENT_COLUMN = 34
_WIDTH = 100
_TOP = """\
# The settings of this crawl. A line that starts with "#" shows a default: remove the "#" to
# change it. Options given to `gossamer crawl` are saved here, and the change is reported.
"""


class Knob(Struct, frozen=True):
    """One knob: its table, name, type, default and description."""

    section: str
    """The table in crawl.toml; "" for the top."""
    name: str
    kind: str
    """The type in words, such as "integer ≥ 1"."""
    default: object
    doc: str

    @property
    def path(self) -> str:
        """Return the knob's full name, such as "fetch.insecure"."""
        return f"{self.section}.{self.name}" if self.section else self.name


def describe_knobs() -> list[Knob]:
    """Return every knob, in the order of `config.py`, described by what is written there."""
    docs = _docs_by_class()
    found: list[Knob] = []
    for section, struct in _sections().items():
        words = docs[struct.__name__]
        found.extend(
            Knob(section, name, kind, default, words.get(name, ""))
            for name, kind, default in _fields(struct)
        )
    return found


def describe_sections() -> dict[str, str]:
    """Return what each table of crawl.toml is about, by its name."""
    return {name: inspect.cleandoc(s.__doc__ or "") for name, s in _sections().items() if name}


def load_config(path: Path) -> Config:
    """Return what a crawl.toml says, or raise `ConfigError` with file, knob and bound."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    try:
        return to_config(data)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


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
                "fetch.allow_net", "a network in CIDR notation, such as 10.0.0.0/8", network
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
    _check_secrets(config)


def _check_secrets(config: Config) -> None:
    """Check the knobs whose values may not be shown."""
    for line in config.fetch.headers:
        if not _HEADER.fullmatch(line):
            raise ConfigError(
                'fetch.headers: expected "Name: value" on one line '
                "(the value is secret and not shown)"
            )
    for host, words in config.fetch.auth.items():
        if ":" not in words:
            raise ConfigError(
                f"fetch.auth: expected USER:PASS for {host} (the value is secret and not shown)"
            )
    proxy = config.fetch.proxy
    if proxy and proxy.partition("://")[0] not in _PROXY_SCHEMES:
        wanted = ", ".join(_PROXY_SCHEMES)
        raise ConfigError(f"fetch.proxy: expected a URL with one of the schemes {wanted}")


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
    return "\n".join(lines) + "\n"


def save_config(path: Path, config: Config) -> None:
    """Write crawl.toml so that it is whole at any moment; closed to others if it holds secrets."""
    values = _values(config)
    mode = 0o600 if any(values[name] for name in SECRET_KNOBS) else 0o644
    try:
        replace_file(path, to_toml(config).encode(), mode=mode)
    except UnicodeEncodeError:
        raise ConfigError("a setting contains text that is not valid Unicode") from None
    except OSError as error:
        raise CannotGoOn(f"{path} cannot be written: {error.strerror}") from error


def changed(old: Config, new: Config) -> list[str]:
    """Return one line for each knob that differs, such as "fetch.insecure: false -> true"."""
    before, after = _values(old), _values(new)
    return [
        _change(name, before[name], after[name]) for name in before if before[name] != after[name]
    ]


def _change(name: str, before: object, after: object) -> str:
    if name in SECRET_KNOBS:
        return f"{name}: changed (not shown)"
    return f"{name}: {_shown(before)} -> {_shown(after)}"


def _shown(value: object) -> str:
    return "not set" if value is None else _toml(value)


# What config.py says


def _sections() -> dict[str, type[Struct]]:
    """Return the struct of each table of crawl.toml, the top ("") first."""
    found: dict[str, type[Struct]] = {"": Config}
    for field in structs.fields(Config):
        if isinstance(field.type, type) and issubclass(field.type, Struct):
            found[field.name] = field.type
    return found


def _fields(struct: type[Struct]) -> Iterator[tuple[str, str, object]]:
    """Yield name, type in words and default of a struct's knobs; nested structs are left out."""
    info = types.type_info(struct)
    defaults = struct()
    if isinstance(info, types.StructType):
        for field in info.fields:
            if not isinstance(field.type, types.StructType):
                yield field.name, _words(field.type), getattr(defaults, field.name)


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


def _docs_by_class() -> dict[str, dict[str, str]]:
    """Return the text below each field of each class in config.py."""
    tree = ast.parse(inspect.getsource(knobs_module))
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
    unknown = re.search(r"unknown field `(.*)`", complaint)
    kinds = {knob.path: knob.kind for knob in describe_knobs()}
    if unknown:
        name = f"{path}.{unknown[1]}" if path else unknown[1]
        near = difflib.get_close_matches(name, [*kinds, *_sections()], n=1)
        return f"{name}: unknown setting" + (f"; did you mean {near[0]}?" if near else "")
    if path in SECRET_KNOBS:
        wanted = _with_article(kinds[path])
        return f"{path}: expected {wanted} (the value found is secret and not shown)"
    value: object = data
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return str(_wrong(path, _with_article(kinds.get(path, "table")), value))


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
        for name, _, _ in _fields(struct):
            found[f"{section}.{name}" if section else name] = getattr(holder, name)
    if config.seeds:
        found["seeds"] = tuple(_USER_INFO.sub("", seed) for seed in config.seeds)
    return found


def _knob_lines(knob: Knob, value: object) -> list[str]:
    """Return a knob's lines: the value, commented out if it is the default, and its meaning."""
    mark = "#" if value == knob.default else ""
    if value is None:
        return _beside(f"{mark}{knob.name} =", f"(not set) {knob.doc}")
    left = f"{mark}{knob.name} = {_toml(value)}"
    if len(left) < _COMMENT_COLUMN:
        return _beside(left, knob.doc)
    comment = [f"# {line}" for line in textwrap.wrap(knob.doc, _WIDTH - 2)]
    if isinstance(value, tuple) and len(left) > _WIDTH:
        words = " ".join(_toml(item).replace(" ", "\0") + "," for item in value)
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


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value:_}"
        case str():
            # TOML's basic strings are JSON's, but for the DEL character.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case tuple():
            return "[" + ", ".join(_toml(item) for item in value) + "]"
        case dict():
            pairs = (f"{_toml(name)} = {_toml(item)}" for name, item in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            return repr(value)
