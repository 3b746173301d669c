"""`gossamer crawl`: start a crawl, or go on with one."""

from collections.abc import Iterator, Mapping, Sequence
from inspect import Parameter, Signature
from pathlib import Path
from typing import Annotated, Any

import typer
from msgspec import Struct
from msgspec.structs import replace

from gossamer.cli.flags import FLAGS, Flag, with_flags
from gossamer.cli.screen import out, print_json, progress, summary
from gossamer.config import Config
from gossamer.errors import ConfigError
from gossamer.log import escape, redact, set_up
from gossamer.settings import Knob, changed, describe_knobs, load_config

_TYPES: dict[str, object] = {
    "number": float | None,
    "count": int | None,
    "text": str | None,
    "switch": bool | None,
    "list": list[str] | None,
    "table": list[str] | None,
}


class Wish(Struct, kw_only=True):
    """What `gossamer crawl` was asked besides the flags that turn knobs."""

    seed: list[str] | None = None
    into: Path
    seeds: Path | None = None
    config: Path | None = None
    json: bool = False
    verbose: bool = False


_OWN: tuple[tuple[str, object, object], ...] = (
    (
        "seed",
        Annotated[list[str] | None, typer.Argument(metavar="SEED...", help="URLs to start from.")],
        None,
    ),
    (
        "into",
        Annotated[
            Path, typer.Option("--into", metavar="DIR", help="The crawl's folder; it may exist.")
        ],
        Parameter.empty,
    ),
    (
        "seeds",
        Annotated[
            Path | None,
            typer.Option("--seeds", metavar="FILE", help="A URL and maybe a label per line."),
        ],
        None,
    ),
    (
        "config",
        Annotated[
            Path | None,
            typer.Option(
                "--config", metavar="FILE", help="Knobs in TOML, instead of DIR/crawl.toml."
            ),
        ],
        None,
    ),
    (
        "json",
        Annotated[bool, typer.Option("--json", help="End with the status as one line of JSON.")],
        False,
    ),
    (
        "verbose",
        Annotated[bool, typer.Option("--verbose", "-v", help="Tell every event.")],
        False,
    ),
)


def crawl(**given: Any) -> int:  # noqa: ANN401 - the parser hands over what `_signature` declares
    """Start a crawl in a folder, or go on with it. Ctrl-C stops cleanly; run again to resume.

    A flag that is not given keeps the value in DIR/crawl.toml; one that is given changes it there.
    """
    wish = Wish(**{name: given[name] for name, _, _ in _OWN})
    set_up(verbose=wish.verbose)
    old, new = settle(wish, given)
    is_new = not (wish.into / "crawl.toml").exists()
    return _run(wish, new, [] if is_new else changed(old, new))


def settle(wish: Wish, given: Mapping[str, object]) -> tuple[Config, Config]:
    """Return what the folder says now, and what it shall say: --config FILE, then the flags."""
    path = wish.into / "crawl.toml"
    old = load_config(path) if path.exists() else Config()
    if wish.config is None:
        return old, with_flags(old, given)
    base = load_config(wish.config)
    # What was planted stays a seed: the scope is measured from it.
    seeds = tuple(dict.fromkeys((*old.seeds, *base.seeds)))
    return old, with_flags(replace(base, seeds=seeds), given)


def _run(wish: Wish, config: Config, changes: Sequence[str]) -> int:
    if not (wish.seed or wish.seeds or config.seeds or (wish.into / "crawl.toml").exists()):
        raise ConfigError("nothing to start from: give a SEED, or --seeds FILE")
    from gossamer.crawl import Crawl, Seed, read_seeds  # noqa: PLC0415 - keeps --help fast

    seeds = [Seed(url=url) for url in wish.seed or ()]
    seeds += read_seeds(wish.seeds) if wish.seeds else []
    aside = out(is_aside=True)

    def tell_changes() -> None:
        for line in changes:
            aside.print(f"crawl.toml changed: {escape(redact(line))}", markup=False)

    with progress(aside, is_live=not wish.verbose) as tell:
        ending = Crawl(wish.into, seeds, config).run(tell, tell_changes)
    (aside if wish.json else out()).print(summary(ending.reason, ending.status, wish.into))
    if wish.json:
        print_json({**ending.status, "reason": ending.reason})
    return ending.exit_code


def _signature() -> Signature:
    """Return the parameters of `crawl`: its own, then one for each flag, worded by config.py."""
    own = [_parameter(name, kind, default) for name, kind, default in _OWN]
    return Signature([*own, *_flag_parameters()])


def _flag_parameters() -> Iterator[Parameter]:
    knobs = {knob.path: knob for knob in describe_knobs()}
    for flag in FLAGS:
        yield _parameter(flag.parameter, _flag_type(flag, knobs[flag.knob]), None)


def _parameter(name: str, kind: object, default: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)


def _flag_type(flag: Flag, knob: Knob) -> object:
    words = knob.doc if flag.shape not in {"list", "table"} else f"{knob.doc} Repeatable."
    option = typer.Option(
        flag.name,
        metavar=flag.metavar or None,
        help=words,
        rich_help_panel=flag.panel,
        show_default=False,
    )
    return Annotated[_TYPES[flag.shape], option]


# typer reads a command's parameters from its signature; ours are data, so it is made of data.
vars(crawl)["__signature__"] = _signature()
