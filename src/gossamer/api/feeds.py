"""An Atom feed of changes (RFC 4287): written, and added to, file by file."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_URL, uuid5
from xml.etree import ElementTree as ET

from gossamer.durable import replace_file
from gossamer.errors import CannotGoOn, ConfigError

if TYPE_CHECKING:
    from gossamer.report import PageChange

ATOM = "http://www.w3.org/2005/Atom"
MOST_ENTRIES = 200
MOST_LINES = 200
MOST_CHARS = 500
"""Of an entry: lines that differ, and characters of each; of the title."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_feed(
    path: Path | str,
    changes: "Iterable[PageChange]",
    *,
    title: str,
    now: float,
    most: int = MOST_ENTRIES,
) -> int:
    """Add changes to an Atom feed, newest first; it is made if there is none.

    The newest `most` entries are kept. A change has the same id whenever it is written, so one
    that is in the feed already is not added again. Return how many entries it has.
    """
    place = Path(path)
    old = _read(place)
    entries = {_text(one, "id"): one for one in old.findall(f"{{{ATOM}}}entry")}
    entries |= {_text(one, "id"): one for one in map(_entry, changes)}
    newest = sorted(entries.values(), key=lambda one: (_text(one, "updated"), _text(one, "id")))
    newest = newest[::-1][:most]
    feed = ET.Element(f"{{{ATOM}}}feed")
    _add(feed, "id", _text(old, "id") or uuid5(NAMESPACE_URL, str(place.absolute())).urn)
    _add(feed, "title", title)
    _add(feed, "updated", _text(newest[0], "updated") if newest else _date(now))
    _add(_add(feed, "author", ""), "name", "Gossamer")
    _add(feed, "generator", "Gossamer")
    feed.extend(newest)
    ET.indent(feed)
    content = ET.tostring(feed, encoding="utf-8", xml_declaration=True) + b"\n"
    if not (place.exists() and place.read_bytes() == content):
        try:
            replace_file(place, content)
        except OSError as error:
            raise CannotGoOn(f"cannot write {place}: {error.strerror}") from error
    return len(newest)


def _read(path: Path) -> ET.Element:
    """Return a feed; an empty one if there is none. Nothing else is overwritten."""
    ET.register_namespace("", ATOM)
    try:
        found = ET.fromstring(path.read_bytes())  # noqa: S314 - written by us; expat limits entities
    except FileNotFoundError:
        return ET.Element(f"{{{ATOM}}}feed")
    except ET.ParseError as error:
        raise ConfigError(f"{path} is not an Atom feed, and is left as it is: {error}") from None
    except OSError as error:
        raise CannotGoOn(f"cannot read {path}: {error.strerror}") from error
    if found.tag != f"{{{ATOM}}}feed":
        raise ConfigError(f"{path} is not an Atom feed, and is left as it is: give another name")
    return found


def _entry(change: "PageChange") -> ET.Element:
    entry = ET.Element(f"{{{ATOM}}}entry")
    _add(entry, "id", uuid5(NAMESPACE_URL, f"{change.kind} {change.at!r} {change.url}").urn)
    _add(entry, "title", f"{change.kind}: {change.title or change.url}"[:MOST_CHARS])
    _add(entry, "updated", _date(change.at))
    _add(entry, "link", "").set("href", _clean(change.url))
    _add(entry, "category", "").set("term", change.kind)
    _add(entry, "content", "".join(_content(change))).set("type", "html")
    return entry


def _content(change: "PageChange") -> Iterator[str]:
    """Give the parts of an entry as HTML: everything from the web is escaped."""
    url = escape(change.url)
    yield f'<p><a href="{url}">{url}</a></p>'
    if change.detail:
        yield f"<p>{escape(change.detail)}</p>"
    if change.lines:
        shown = [escape(line[:MOST_CHARS]) for line in change.lines[:MOST_LINES]]
        if left := len(change.lines) - len(shown):
            shown.append(f"({left:,} more)")
        yield "<pre>" + "\n".join(shown) + "</pre>"


def _add(parent: ET.Element, name: str, text: str) -> ET.Element:
    found = ET.SubElement(parent, f"{{{ATOM}}}{name}")
    found.text = _clean(text) or None
    return found


def _text(parent: ET.Element, name: str) -> str:
    return (parent.findtext(f"{{{ATOM}}}{name}") or "").strip()


def _clean(text: str) -> str:
    return _NOT_XML.sub("�", text)


def _date(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
