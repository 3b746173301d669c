"""A fetched page as the trap detector is told of it."""

from collections.abc import Iterable, Sequence

from gossamer.config import UrlConfig
from gossamer.model import Document, Extraction, Fetched, Link, LinkKind, Row, Task, Turn, Url
from gossamer.urls import parse
from tests.bodies import Bytes

RULES = UrlConfig()


def url(text: str) -> Url:
    found = parse(text, RULES)
    assert found is not None, text
    return found


def page_turn(
    text: str,
    *,
    body: str = "A text.",
    links: Sequence[str] = (),
    new: Sequence[str] = (),
    via: str = "",
    kind: LinkKind = LinkKind.ANCHOR,
    address: str = "",
) -> Turn:
    """Return the turn of a page with links of one kind, some of which are new."""
    task = Task(url=url(text), via=via)
    found = [Link(target=url(link), kind=kind) for link in links]
    return Turn(
        task=task,
        outcome=Fetched(document=document(task.url, address)),
        at=0.0,
        found=Extraction(text=body, links=found),
        new_tasks=[task.follow(link) for link in found if link.target.text in new],
    )


def write_rows(rows: dict[bytes, bytes], changed: Iterable[Row]) -> None:
    """Write rows as a commit does: None deletes."""
    for key, value in changed:
        if value is None:
            rows.pop(key, None)
        else:
            rows[key] = value


def document(place: Url, address: str = "") -> Document:
    return Document(
        url=place,
        status=200,
        head=b"",
        headers=(),
        body=Bytes(b""),
        request=b"",
        address=address,
        fetched_at=0.0,
        latency_s=0.0,
    )
