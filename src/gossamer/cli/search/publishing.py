"""`--publish`: an index that was built is brought into an object store."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.graph.options import Option
from gossamer.cli.screen import harmless, out

PUBLISH: Option = (
    "publish",
    Annotated[
        str | None,
        typer.Option(
            "--publish",
            metavar="URL",
            help="Then bring the index there: s3://BUCKET/PREFIX, file:///FOLDER; search it there.",
        ),
    ],
    None,
)


def published(folder: Path, url: str | None) -> None:
    """Bring the index of a folder to a URL, if there is one, and say what was sent."""
    if url is None:
        return
    from gossamer.search import index_folder, publish  # noqa: PLC0415 - keeps --help fast

    sent = publish(index_folder(folder), url)
    out(is_aside=True).print(
        f"Published at {harmless(url)}: {sent.files:,} files, {sent.sent:,} of them new "
        f"({sent.sent_bytes / 1e6:,.1f} MB).",
        markup=False,
    )
