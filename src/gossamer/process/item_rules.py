r"""Rules that make items of pages: fields by CSS or XPath, written in TOML.

[product]                        # one kind of item; its name is up to you
url = "shop.example/item/*"      # pages it is made of, or a list; without it: all
item = "div.product"             # an item for each of these (CSS); without it: one per page

[product.fields]
name = "h1"                      # CSS; the text of the first element
price = { css = ".price", regex = '([\d.,]+)', type = "float" }
image = { css = "img", attribute = "src", type = "url" }
tags = { xpath = ".//a[@rel='tag']", all = true }
seen = { css = "time", attribute = "datetime", type = "date" }
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from msgspec import Struct

from gossamer.errors import ConfigError
from gossamer.process.detect import clean
from gossamer.process.item_values import as_date, as_float, as_int
from gossamer.urls import Patterns, whatwg

if TYPE_CHECKING:
    from turbohtml import Document as Tree
    from turbohtml import Node

FieldType: TypeAlias = Literal["text", "html", "int", "float", "date", "url"]
ItemValue: TypeAlias = str | int | float | None
FieldValue: TypeAlias = ItemValue | list[str | int | float]
OWN_NAMES = ("rule", "url")
"""Fields that every item has."""
MAX_VALUE_CHARS = 100_000
MAX_VALUES = 5_000
"""Of a field on a page, and items of a page."""
_MOST_CHARS = 8_000_000
"""That are read for one field: of nested elements each has the text of all inside it."""
_MOST_TRIED = 100
"""Elements that are tried for a field of one value: the first may be empty, or not match."""
_ITEM_KEYS = ("url", "item", "fields")
_FIELD_KEYS = ("css", "xpath", "attribute", "regex", "type", "all")
_CONVERT: Mapping[str, Callable[[str], ItemValue]] = {
    "int": as_int,
    "float": as_float,
    "date": as_date,
}


class FieldRule(Struct, frozen=True, kw_only=True):
    """One field of an item: where it is on a page, and what it is."""

    name: str
    css: str = ""
    xpath: str = ""
    attribute: str = ""
    """Which attribute is the value; "": the text."""
    regex: re.Pattern[str] | None = None
    """The value is its first group, or all that it matches."""
    type: FieldType = "text"
    all: bool = False
    """All values, as a list; else the first."""

    def values(self, part: "Node", base: str) -> Iterator[ItemValue]:
        """Yield what a part of a page has for the field; None for what is not of its type."""
        found = part.select(self.css) if self.css else _path(part, self.xpath)
        room = _MOST_CHARS
        for one in found[: MAX_VALUES if self.all else _MOST_TRIED]:
            text = self._text(one)
            room -= len(text or "")
            if room < 0:
                return
            if text is not None and self.regex is not None:
                match = self.regex.search(text)
                text = (match[1] if match.re.groups else match[0]) if match else None
            if text:
                yield self._converted(text, base)

    def _text(self, found: "Node | str") -> str | None:
        text: str | None
        if isinstance(found, str):
            text = found
        elif self.attribute:
            text = getattr(found, "attr", lambda _: None)(self.attribute)
        else:
            text = found.html if self.type == "html" else found.text
        if text is None:
            return None
        if self.type == "html":
            return clean(text[:MAX_VALUE_CHARS])
        return clean(" ".join(text[: 4 * MAX_VALUE_CHARS].split())[:MAX_VALUE_CHARS])

    def _converted(self, text: str, base: str) -> ItemValue:
        if self.type == "url":
            return whatwg(text, base)
        convert = _CONVERT.get(self.type)
        return text if convert is None else convert(text)


class ItemRule(Struct, frozen=True, kw_only=True):
    """One kind of item: on which pages, and with which fields."""

    name: str
    url: tuple[str, ...] = ()
    """Patterns as those of `--allow`; (): all pages."""
    item: str = ""
    fields: tuple[FieldRule, ...]

    def items(self, tree: "Tree", url: str) -> "Iterator[FoundItem]":
        """Yield the items of a page; one of which no field matched anything is none."""
        base = tree.base_url(url)
        parts: list[Node] = list(tree.select(self.item)[:MAX_VALUES]) if self.item else [tree]
        for part in parts:
            found: dict[str, FieldValue] = {}
            unlike: list[str] = []
            for field in self.fields:
                kept, is_unlike = _kept(field, part, base)
                if is_unlike:
                    unlike.append(field.name)
                found[field.name] = kept
            if any(value not in (None, []) for value in found.values()):
                yield FoundItem(self.name, url, found, tuple(unlike))


def _kept(field: FieldRule, part: "Node", base: str) -> tuple[FieldValue, bool]:
    """Return the value of a field, and True if one that it needed was not of its type."""
    kept: list[str | int | float] = []
    is_unlike = False
    for value in field.values(part, base):
        if value is None:
            is_unlike = True
        elif not field.all:
            return value, False
        else:
            kept.append(value)
    return (kept if field.all else None), is_unlike


class FoundItem(Struct, frozen=True):
    """What a rule found on a page."""

    rule: str
    url: str
    fields: dict[str, FieldValue]
    """None, or an empty list, for a field that matched nothing."""
    unlike: tuple[str, ...] = ()
    """Fields of which a value was not of the type that the rule says."""


class ItemRules:
    """Rules, checked, that can be asked which of them hold for a URL."""

    def __init__(self, rules: tuple[ItemRule, ...]) -> None:
        self.rules = rules
        self._patterns = [Patterns(rule.url) if rule.url else None for rule in rules]

    def for_url(self, url: str, host: str) -> list[ItemRule]:
        """Return the rules for a page."""
        return [
            rule
            for rule, patterns in zip(self.rules, self._patterns, strict=True)
            if patterns is None or patterns.match_url(url) or patterns.match_host(host)
        ]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all fields, each once."""
        named = (field.name for rule in self.rules for field in rule.fields)
        return tuple(dict.fromkeys((*OWN_NAMES, *named)))


def read_item_rules(file: Path | str) -> ItemRules:
    """Return the rules in a TOML file; a `ConfigError` names file, table and key of a mistake."""
    path = Path(file)
    try:
        said = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        why = f"cannot read the rules in {path}: {error.strerror}"
        raise ConfigError(f"{why}; expected a TOML file with a table such as [product]") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    if not said:
        raise ConfigError(f"{path}: no rules: write a table such as [product] with fields")
    rules = tuple(_item_rule(_Place(path, (name,)), value) for name, value in said.items())
    return ItemRules(rules)


class _Place(Struct, frozen=True):
    """A table of the file, for messages."""

    path: Path
    names: tuple[str, ...]

    def wrong(self, what: str) -> ConfigError:
        return ConfigError(f"{self.path}: [{'.'.join(self.names)}] {what}")

    def inside(self, name: str) -> "_Place":
        return _Place(self.path, (*self.names, name))

    def check_keys(self, said: dict[str, Any], known: tuple[str, ...]) -> None:
        for key in said:
            if key not in known:
                raise self.wrong(f"{key}: there is no such key; known are {', '.join(known)}")

    def text(self, said: dict[str, Any], key: str) -> str:
        value = said.get(key, "")
        if not isinstance(value, str) or (key in said and not value.strip()):
            raise self.wrong(f"{key}: expected text, found {value!r}")
        return value


def _item_rule(place: _Place, said: object) -> ItemRule:
    if not isinstance(said, dict):
        raise place.wrong(f"expected a table with fields, found {said!r}")
    place.check_keys(said, _ITEM_KEYS)
    fields = said.get("fields")
    if not isinstance(fields, dict) or not fields:
        raise place.wrong("fields: expected a table of fields, such as fields.title = 'h1'")
    url = said.get("url", [])
    patterns = tuple(url) if isinstance(url, list) else (url,)
    if not all(isinstance(one, str) for one in patterns):
        raise place.wrong(f"url: expected a pattern or a list of patterns, found {url!r}")
    try:
        Patterns(patterns)
    except ConfigError as error:
        raise place.wrong(f"url: {error}") from None
    item = place.text(said, "item")
    _check_selector(place, "item", item)
    inside = place.inside("fields")
    return ItemRule(
        name=place.names[0],
        url=patterns,
        item=item,
        fields=tuple(_field_rule(inside, name, value) for name, value in fields.items()),
    )


def _field_rule(place: _Place, name: str, said: object) -> FieldRule:
    if name in OWN_NAMES:
        raise place.wrong(f"{name}: every item has that already; choose another name")
    if isinstance(said, str):
        said = {"css": said}
    if not isinstance(said, dict):
        raise place.wrong(f"{name}: expected a CSS selector or a table, found {said!r}")
    own = place.inside(name)
    own.check_keys(said, _FIELD_KEYS)
    if ("css" in said) == ("xpath" in said):
        raise own.wrong("expected either css or xpath")
    for key in ("css", "xpath"):
        _check_selector(own, key, own.text(said, key))
    kind = said.get("type", "text")
    if kind not in get_args(FieldType):
        raise own.wrong(f"type: expected one of {', '.join(get_args(FieldType))}, found {kind!r}")
    if not isinstance(said.get("all", False), bool):
        raise own.wrong(f"all: expected true or false, found {said['all']!r}")
    return FieldRule(
        name=name,
        css=own.text(said, "css"),
        xpath=own.text(said, "xpath"),
        attribute=own.text(said, "attribute"),
        regex=_regex(own, own.text(said, "regex")),
        type=kind,
        all=said.get("all", False),
    )


def _regex(place: _Place, text: str) -> re.Pattern[str] | None:
    try:
        return re.compile(text) if text else None
    except re.error as error:
        raise place.wrong(f"regex: {error}") from None


def _check_selector(place: _Place, key: str, selector: str) -> None:
    from turbohtml import parse  # noqa: PLC0415 - the parser, only when it is needed

    if not selector:
        return
    tree = parse("<p>")
    try:
        if key == "xpath":
            tree.xpath(selector)
        else:
            tree.select(selector)
    except (ValueError, TypeError) as error:
        raise place.wrong(f"{key}: {error}") from None


def _path(part: "Node", xpath: str) -> "list[Node | str]":
    """Return what an XPath expression gives as nodes and texts."""
    found: Any = part.xpath(xpath)
    if isinstance(found, list):
        return found
    return [_number_text(found) if isinstance(found, float) else str(found)]


def _number_text(number: float) -> str:
    return str(int(number)) if number.is_integer() else str(number)
