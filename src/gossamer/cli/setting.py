"""`gossamer set`: KEY=VALUE words as settings, and what became of them."""

import re
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer

from gossamer.cli.options import Folder, Json
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.cli.updating import crawl_folder
from gossamer.config import Config
from gossamer.errors import ConfigError
from gossamer.settings import describe_knobs

_WORD = re.compile(r"(?P<name>[a-z_]+(?:\.[a-z_]+)*)(?P<how>\+=|-=|=)(?P<value>.*)", re.DOTALL)
_LIST = "list of strings"


def set_settings(
    folder: Folder,
    setting: Annotated[
        list[str],
        typer.Argument(
            metavar="KEY=VALUE...",
            help="A setting of [filter] and its value, such as filter.max_depth=3. Of a list, give "
            "KEY= for each value; KEY+=VALUE adds one and KEY-=VALUE removes one. An empty value "
            "is the default.",
        ),
    ],
    *,
    json: Json = False,
) -> None:
    """Change what is wanted, in a crawl that runs or not: block, allow, scope and other filters.

    They are kept in crawl.toml, and hold for what is queued, too.
    """
    from gossamer import OpenCrawl

    crawl = OpenCrawl(crawl_folder(folder))
    facts = crawl.set(settings_of(setting, crawl.config()))
    if json:
        print_json(as_json(facts))
        return
    for line in facts.changes:
        out().print(harmless(line), markup=False)
    if not facts.changes:
        out().print("nothing has changed")
    elif facts.running:
        out().print("The running crawl obeys from now on; URLs in its queue are judged again.")
    else:
        out().print("The next start obeys; URLs in the queue are judged again.")


def settings_of(words: Sequence[str], config: Config) -> dict[str, object]:
    """Return the settings that words such as filter.block+=*.pdf give, by name."""
    knobs = {knob.path: knob for knob in describe_knobs()}
    now: dict[str, dict[str, object]] = msgspec.to_builtins(config)
    found: dict[str, object] = {}
    lists: dict[str, list[str]] = {}
    for word in words:
        said = _WORD.fullmatch(word)
        knob = knobs.get(said["name"]) if said is not None else None
        if said is None or knob is None or not knob.section:
            raise ConfigError(
                f"expected KEY=VALUE such as filter.block=*.example.org, found {word!r}"
            )
        name, how, value = knob.path, said["how"], said["value"]
        if knob.kind == _LIST:
            before = now[knob.section][knob.name]
            values = lists.get(name)
            if values is None:
                is_new = how == "="
                values = [] if is_new or not isinstance(before, list | tuple) else [*before]
            lists[name] = _changed_list(word, values, how, value)
            found[name] = lists[name] if how != "=" or value else msgspec.to_builtins(knob.default)
        elif how != "=":
            raise ConfigError(f"{name}: {how} is for lists, and this is one {knob.kind}")
        else:
            found[name] = _value(value) if value else knob.default
    return found


def _changed_list(word: str, values: list[str], how: str, value: str) -> list[str]:
    """Return a list of strings after one word about it."""
    if how == "-=":
        if value not in values:
            raise ConfigError(f"{word!r}: {value!r} is not in that list")
        return [one for one in values if one != value]
    return [*values, value] if value and value not in values else values


def _value(text: str) -> object:
    """Return a number for what looks like one, true and false for these words, else the text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
