"""`gossamer set`: KEY=VALUE words as settings, and what became of them."""

import re
from collections.abc import Sequence
from typing import Annotated

import msgspec

from gossamer.cli.flags import FLAGS, quantity
from gossamer.cli.options import Json, SteeredFolder
from gossamer.cli.parameters import argument, option
from gossamer.cli.screen import as_json, harmless, out, print_json
from gossamer.cli.updating import crawl_folder
from gossamer.config import Config
from gossamer.errors import ConfigError, unknown_setting
from gossamer.settings import describe_knobs

_WORD = re.compile(r"(?P<name>[a-z_]+(?:\.[a-z_]+)*)(?P<how>\+=|-=|=)(?P<value>.*)", re.DOTALL)
_LIST = "list of strings"


def set_settings(
    folder: SteeredFolder,
    setting: Annotated[
        list[str],
        argument(
            metavar="KEY=VALUE...",
            help="A setting and its value, such as filter.max_depth=3 or politeness.delay_s=2. Of "
            "a list, give KEY= for each value; KEY+=VALUE adds one and KEY-=VALUE removes one. An "
            "empty value is the default.",
        ),
    ],
    *,
    host: Annotated[
        str,
        option(
            "--host",
            metavar="H",
            help="Settings of this host alone: delay_s, scope, insecure.",
            show_default=False,
        ),
    ] = "",
    json: Json = False,
) -> None:
    """Change settings of a crawl that runs or not; filters hold for what is queued, too.

    They are kept in crawl.toml. A running crawl obeys those at once that docs/OPERATING.md marks
    as live, and the others from its next start on.
    """
    from gossamer import OpenCrawl

    crawl = OpenCrawl(crawl_folder(folder))
    wanted = settings_of_host(setting) if host else settings_of(setting, crawl.config())
    facts = crawl.set(wanted, host=host)
    if json:
        print_json(as_json(facts))
        return
    for line in facts.changes:
        out().print(harmless(line), markup=False)
    if not facts.changes:
        out().print("nothing has changed")
    elif facts.running:
        if set(wanted) - set(facts.at_next_start):
            out().print("The running crawl obeys from now on; URLs in its queue are judged again.")
        if facts.at_next_start:
            out().print(f"From its next start on: {', '.join(facts.at_next_start)}.")
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
        if said is None:
            raise ConfigError(
                f"expected KEY=VALUE such as filter.block=*.example.org, found {word!r}"
            )
        if knob is None:
            raise ConfigError(unknown_setting(said["name"], list(knobs)))
        name, how, value = knob.path, said["how"], said["value"]
        if knob.kind == _LIST:
            before = now[knob.section][knob.name] if knob.section else None
            values = lists.get(name)
            if values is None:
                is_new = how == "="
                values = [] if is_new or not isinstance(before, list | tuple) else [*before]
            lists[name] = _changed_list(word, values, how, value)
            found[name] = lists[name] if how != "=" or value else msgspec.to_builtins(knob.default)
        elif how != "=":
            raise ConfigError(f"{name}: {how} is for lists, and this is one {knob.kind}")
        else:
            found[name] = _quantity(name, value) if value else knob.default
    return found


def settings_of_host(words: Sequence[str]) -> dict[str, object]:
    """Return the settings of one host that words such as delay_s=5 give."""
    found: dict[str, object] = {}
    for word in words:
        said = _WORD.fullmatch(word)
        if said is None or said["how"] != "=":
            raise ConfigError(f"--host: expected KEY=VALUE such as delay_s=5, found {word!r}")
        found[said["name"]] = _quantity(said["name"], said["value"]) if said["value"] else None
    return found


def _changed_list(word: str, values: list[str], how: str, value: str) -> list[str]:
    """Return a list of strings after one word about it."""
    if how == "-=":
        if value not in values:
            raise ConfigError(f"{word!r}: {value!r} is not in that list")
        return [one for one in values if one != value]
    return [*values, value] if value and value not in values else values


def _quantity(name: str, text: str) -> object:
    """Return a value with the units that flags take: 10k, 2GiB, 90s."""
    shapes: dict[str, str] = {flag.knob: flag.shape for flag in FLAGS}
    shape = "time" if name.endswith("_s") else "size" if name.endswith("_bytes") else ""
    shape = shapes.get(name, shape)
    plain = _value(text)
    if isinstance(plain, str) and shape in {"count", "size", "time"}:
        return quantity(name, shape, text)
    return plain


def _value(text: str) -> object:
    """Return a number for what looks like one, true and false for these words, else the text."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
