"""Change settings of a crawl, running or not: `gossamer set`. The rules of [filter] are such.

crawl.toml has them before anything obeys them, so a kill does not forget them. What is queued is
judged by them at its turn.
"""

from collections.abc import Mapping
from pathlib import Path

from msgspec import convert, to_builtins

from gossamer.config import Config
from gossamer.crawl.assembly import Shard
from gossamer.errors import ConfigError
from gossamer.filter import check_patterns, named_filter
from gossamer.settings import changed, load_crawl_config, save_crawl_config, to_config

LIVE = ("filter",)
"""Tables of crawl.toml whose settings a running crawl obeys at once."""


def settings_in(question: Mapping[str, object]) -> dict[str, object]:
    """Return the settings, by their full names, that a question wants to be changed."""
    return convert(question.get("settings", {}), dict[str, object])


def with_settings(config: Config, settings: Mapping[str, object]) -> Config:
    """Return a configuration with other values of some settings, by their full names.

    Refuse one that a running crawl could not obey, and a value that cannot be meant.
    """
    data: dict[str, object] = to_builtins(config)
    for name, value in settings.items():
        section, _, knob = name.rpartition(".")
        table = data.get(section)
        if section not in LIVE or not isinstance(table, dict):
            raise ConfigError(
                f"{name}: `set` changes the settings of [filter], such as filter.block; give the "
                "flag of another to the next `gossamer crawl`, or edit crawl.toml before it"
            )
        table[knob] = value
    new = to_config(data)
    check_patterns(new.filter, new.traps.trust)
    for own in new.filter.user_filters:
        named_filter(own)
    return new


def save_settings(folder: Path, settings: Mapping[str, object]) -> list[str]:
    """Let the crawl.toml of a folder say other values; return what has changed, in words."""
    old = load_crawl_config(folder)
    new = with_settings(old, settings)
    save_crawl_config(folder, new)
    return changed(old, new)


def set_running(shard: Shard, settings: Mapping[str, object]) -> None:
    """Let a running shard obey other settings from now on, what is queued included."""
    config = with_settings(shard.engine.config, settings)
    shard.core.change_filters(config)
    shard.engine.reconfigure(config)
    shard.engine.run_state.wake()


def over_restored(restored: Config, given: Config) -> Config:
    """Return what a folder that was restored says, with what was given for one that was not there.

    What is given as the default was not given. Seeds, labels and trust are those of both.
    """
    defaults: dict[str, dict[str, object]] = to_builtins(Config())
    old, new = to_builtins(restored), to_builtins(given)
    merged = {
        name: {**old[name], **_differing(value, defaults[name])}
        if isinstance(value, dict)
        else (old[name] if value == defaults[name] else value)
        for name, value in new.items()
    }
    merged["seeds"] = tuple(dict.fromkeys((*restored.seeds, *given.seeds)))
    merged["seed_labels"] = {**restored.seed_labels, **given.seed_labels}
    merged["traps"]["trust"] = tuple(dict.fromkeys((*restored.traps.trust, *given.traps.trust)))
    return convert(merged, Config)


def _differing(given: dict[str, object], defaults: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in given.items() if value != defaults.get(name)}
