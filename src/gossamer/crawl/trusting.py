"""Trust what patterns name: `gossamer trust`. What was held goes to the queue, for good.

crawl.toml has the patterns before anything is let go, so a kill does not forget them: a start lets
go what they name, too.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import convert
from msgspec.structs import replace

from gossamer.config import Config
from gossamer.crawl.assembly import Shard
from gossamer.report import Trusted, trusted_answer
from gossamer.settings import load_crawl_config, save_crawl_config
from gossamer.traps import count_trusted
from gossamer.urls import Patterns


def patterns_in(question: Mapping[str, object]) -> tuple[str, ...]:
    """Return the patterns that a question wants to be trusted; refuse what is none."""
    patterns = convert(question.get("patterns", []), tuple[str, ...])
    Patterns(patterns)
    return patterns


def trust_running(shard: Shard, patterns: Sequence[str]) -> Trusted:
    """Let go what a running shard holds and patterns name; more of it is never held."""
    shard.ledger.commit()  # what was held a moment ago is counted, too
    units = count_trusted(shard.core.state.scan, patterns)
    shard.engine.reconfigure(with_trust(shard.engine.config, patterns))
    shard.core.traps.trust(shard.engine.config.traps.trust)
    shard.core.release_held()
    shard.engine.run_state.wake()
    return trusted_answer(patterns, [units], is_running=True)


def save_trust(folder: Path, patterns: Sequence[str]) -> tuple[str, ...]:
    """Let the crawl.toml of a folder trust what patterns name, too; return all that it trusts."""
    config = with_trust(load_crawl_config(folder), patterns)
    save_crawl_config(folder, config)
    return config.traps.trust


def with_trust(config: Config, patterns: Sequence[str]) -> Config:
    """Return the configuration with further patterns in `[traps] trust`, each once."""
    trust = tuple(dict.fromkeys((*config.traps.trust, *patterns)))
    return replace(config, traps=replace(config.traps, trust=trust))
