"""Change settings of a crawl, running or not: `gossamer set`.

crawl.toml has them before anything obeys them, so a kill does not forget them. Some of them a
running crawl obeys at once (`config.LIVE`): by the rules of [filter] what is queued is judged at
its turn. Others hold from the next start.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct, convert, field, to_builtins

from gossamer.config import LIVE, Config
from gossamer.crawl.assembly import Shard
from gossamer.crawl.peers import NoPeers
from gossamer.errors import ConfigError
from gossamer.fetch import by_host
from gossamer.filter import check_patterns, named_filter
from gossamer.report import ChangedSettings
from gossamer.settings import changed, load_crawl_config, save_crawl_config, to_config

OF_A_START = frozenset(
    {
        *("fetch.auth", "fetch.headers", "fetch.proxy", "fetch.secrets"),
        *("frontier.ranks", "frontier.score", "frontier.scores"),
    }
)
"""Settings that a start checks, or parts with its secrets: they are given to `gossamer crawl`."""
OF_HOSTS = ("delay_s", "scope", "insecure")
"""Settings of a [host] table that can be set; the others are secret."""


class SettingsRequest(Struct, frozen=True, kw_only=True):
    """Settings that are to be changed, by name."""

    settings: dict[str, object] = field(default_factory=dict)
    """By their full names; of a host, by the name in its table. None is the default."""
    host: str = ""
    """Whose they are; "": of the whole crawl."""

    @property
    def live(self) -> "SettingsRequest":
        """Those that a running crawl obeys at once."""
        return SettingsRequest(
            settings={k: v for k, v in self.settings.items() if self._full(k) in LIVE},
            host=self.host,
        )

    @property
    def of_next_start(self) -> list[str]:
        """The names of the others."""
        return [name for name in self.settings if self._full(name) not in LIVE]

    def without(self, section: str) -> "SettingsRequest":
        """Return the request without the settings of a section."""
        left = {k: v for k, v in self.settings.items() if not k.startswith(f"{section}.")}
        return SettingsRequest(settings=left, host=self.host)

    def _full(self, name: str) -> str:
        return f"host.{name}" if self.host else name


def settings_in(question: Mapping[str, object]) -> SettingsRequest:
    """Return the settings that a question wants to be changed."""
    given = {name: question.get(name) for name in ("settings", "host") if question.get(name)}
    return convert(given, SettingsRequest)


def with_settings(config: Config, request: SettingsRequest) -> Config:
    """Return a configuration with other values of some settings.

    Refuse one that only a start can take, and a value that cannot be meant.
    """
    data: dict[str, object] = to_builtins(config)
    for name, value in request.settings.items():
        if request.host:
            _set_of_host(data, request.host, name, value)
        else:
            _set(data, name, value)
    new = to_config(data)
    check_patterns(new.filter, new.traps.trust)
    for own in new.filter.user_filters:
        named_filter(own)
    by_host(new, lambda table: table.delay_s)
    by_host(new, lambda table: table.scope)
    return new


def _set(data: dict[str, object], name: str, value: object) -> None:
    section, _, knob = name.rpartition(".")
    table = data.get(section) if section else data
    if name == "filter.drop":
        raise ConfigError(
            "filter.drop: `gossamer drop DIR PATTERN` adds a pattern, and `gossamer drop DIR "
            "--undo PATTERN` takes one back"
        )
    if name in OF_A_START or (not section and knob not in {"concurrency", "shards"}):
        raise ConfigError(
            f"{name}: `set` cannot change it; give its flag to the next `gossamer crawl`, or edit "
            "crawl.toml before it (seeds: `gossamer add`; a host: `set --host`)"
        )
    if not isinstance(table, dict):
        raise ConfigError(f"{name}: there is no such setting")
    if section == "limits" and value == 0:
        raise ConfigError(
            f"{name}: expected more than 0, found {value!r}; `gossamer pause DIR` stops the "
            f"requests, and `gossamer set DIR {name}=` removes the limit"
        )
    table[knob] = value


def _set_of_host(data: dict[str, object], host: str, name: str, value: object) -> None:
    tables = data["host"]
    if name not in OF_HOSTS or not isinstance(tables, dict):
        raise ConfigError(
            f"{name}: expected one of {', '.join(OF_HOSTS)} for --host; headers, cookies and "
            "passwords belong into secrets.toml"
        )
    tables.setdefault(host, {})[name] = value


def save_settings(folder: Path, request: SettingsRequest) -> list[str]:
    """Let the crawl.toml of a folder say other values; return what has changed, in words."""
    old = load_crawl_config(folder)
    new = with_settings(old, request)
    save_crawl_config(folder, new)
    return changed(old, new)


def set_running(shard: Shard, request: SettingsRequest) -> None:
    """Let a running shard obey other settings from now on, what is queued included."""
    live = request.live
    config = with_settings(shard.engine.config, live)
    shard.core.change_filters(config)
    shard.core.frontier.delays.adopt(config.politeness, by_host(config, lambda one: one.delay_s))
    shard.engine.reconfigure(config)
    if isinstance(shard.peers, NoPeers):
        shard.peers.limit_pages(config.limits.max_pages)
    if shard.engine.revisits is not None:
        shard.engine.revisits.set_rate(config.watch.rate_per_s)
    shard.engine.look_at_pause()


def changed_answer(
    changes: Iterable[str], request: SettingsRequest, *, is_running: bool
) -> ChangedSettings:
    """Return the answer to `set`."""
    later = request.of_next_start if is_running else []
    return ChangedSettings(changes=list(changes), running=is_running, at_next_start=later)


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
