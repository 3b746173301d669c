"""Numbers and dates as people write them on pages."""

import re
from datetime import UTC, datetime

_NUMBER = re.compile("[-+\N{MINUS SIGN}]?\\d(?:[\\d.,'\N{RIGHT SINGLE QUOTATION MARK}\\s]*\\d)?")
_MAX_CHARS = 40
_GROUP = 3
_FORMATS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%b %d, %Y"),
    *("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%d.%m.%Y %H:%M", "%Y%m%d"),
)
"""No form with slashes begins with day or month: which of them comes first is not to be known."""


def as_float(text: str) -> float | None:
    """Return the first number in a text: 1,234.50 and 1.234,50 and 24.90 EUR; None if none is."""
    found = _digits(text)
    return float(found) if found is not None else None


def as_int(text: str) -> int | None:
    """Return the first number in a text if it is a whole one: 1,234 or 12 000 pages."""
    found = _digits(text)
    return int(float(found)) if found is not None and float(found).is_integer() else None


def _digits(text: str) -> str | None:
    match = _NUMBER.search(text)
    if match is None or len(match[0]) > _MAX_CHARS:
        return None
    number = match[0].replace("\N{MINUS SIGN}", "-")
    number = re.sub("[\\s'\N{RIGHT SINGLE QUOTATION MARK}]", "", number)
    comma, point = number.rfind(","), number.rfind(".")
    if comma >= 0 and point >= 0:
        thousands, decimal = (",", ".") if comma < point else (".", ",")
        number = number.replace(thousands, "").replace(decimal, ".")
    elif comma >= 0:
        is_group = number.count(",") > 1 or len(number) - comma - 1 == _GROUP
        number = number.replace(",", "" if is_group else ".")
    elif number.count(".") > 1:
        number = number.replace(".", "")
    return number if number.count(".") <= 1 else None


def as_date(text: str) -> str | None:
    """Return a date or a moment as ISO 8601 has it; None if a text is none.

    Understood are ISO 8601, the dates of mail and HTTP, and usual English and numeric forms.
    """
    said = text.strip()[:_MAX_CHARS]
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        return _other_date(said)
    return _iso(moment, has_time="T" in said or ":" in said)


def _other_date(said: str) -> str | None:
    for form in _FORMATS:
        try:
            moment = datetime.strptime(said, form)  # noqa: DTZ007 -- has no zone, and gets none
        except ValueError:
            continue
        return _iso(moment, has_time="%H" in form)
    from email.utils import parsedate_to_datetime  # noqa: PLC0415 - slow to load, seldom needed

    try:
        return _iso(parsedate_to_datetime(said), has_time=True)
    except (ValueError, TypeError, IndexError):
        return None


def _iso(moment: datetime, *, has_time: bool) -> str:
    if not has_time:
        return moment.date().isoformat()
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
