"""What may stand behind the colon of a filter: hosts, languages, types, days. Pure."""

import re
from datetime import UTC, datetime

from gossamer.search.page import label_term
from gossamer.urls import whatwg

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z]{4})?(-[a-z0-9]{2,3})?")
_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]*(/[a-z0-9][a-z0-9.+-]*)?")
_DAY = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
_SHORT = {"htm": "html", "txt": "plain", "text": "plain", "md": "markdown", "jpg": "jpeg"}
_IMAGES = frozenset(
    {"avif", "bmp", "gif", "ico", "icon", "image", "jpeg", "png", "svg", "svg+xml", "tiff", "webp"}
)
_LONGEST_HOST = 253
_LONGEST_LABEL = 128


def site_of(text: str) -> str | None:
    """Return the host that a text names, as it stands in URLs; None if it names none."""
    name = text.partition("://")[2] or text
    name = name.partition("/")[0].lower().removeprefix("*.").strip(".")
    if not name or len(name) > _LONGEST_HOST or any(letter in name for letter in "@?#\\%"):
        return None
    href = whatwg(f"http://{name}/")
    if href is None:
        return None
    host = href.removeprefix("http://").rstrip("/")
    return host if host.endswith("]") else host.partition(":")[0] if host[0] != "[" else None


def language_of(text: str) -> str | None:
    """Return a language's code, without its region: de for de-AT."""
    code = text.lower().replace("_", "-")
    return code.partition("-")[0] if _LANGUAGE.fullmatch(code) else None


def type_of(text: str) -> str | None:
    """Return a media type, or the short name of one."""
    name = text.lower().removeprefix(".")
    return _SHORT.get(name, name) if _TYPE.fullmatch(name) else None


def is_image_type(name: str) -> bool:
    """Return True if a type as `type_of` returns it is one of images."""
    return name in _IMAGES or name.startswith("image/")


def label_of(text: str) -> str | None:
    """Return a label of seeds as it is looked for."""
    label = label_term(text)
    return label if label and len(label) <= _LONGEST_LABEL else None


def moment_of(text: str) -> int | None:
    """Return when a day, a month or a year begins, in seconds; not before 1970."""
    found = _DAY.fullmatch(text)
    if not found:
        return None
    year, month, day = (int(part or 1) for part in found.groups())
    try:
        return max(0, int(datetime(year, month, day, tzinfo=UTC).timestamp()))
    except ValueError:
        return None


def day_of(at: int) -> str:
    """Return the day of a moment, so that it can be read again."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
