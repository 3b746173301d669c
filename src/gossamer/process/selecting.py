"""The text inside the elements of a stored HTML page that a CSS selector names."""

from gossamer.errors import ConfigError
from gossamer.process.rendering import HTML_TYPES, MAX_TREE_BYTES


def check_selector(selector: str) -> None:
    """Refuse what is no CSS selector."""
    from turbohtml import SelectorSyntaxError, parse  # noqa: PLC0415 - only when it is needed

    try:
        parse("<p>").select(selector)
    except SelectorSyntaxError as error:
        wrong = f"expected a CSS selector such as '#price' or 'main .news': {error}"
        raise ConfigError(wrong) from None


def selected_lines(body: bytes, media_type: str, charset: str, selector: str) -> list[str] | None:
    """Return the lines of text inside all elements that match; None if none does.

    A page that is not HTML has none. Of a very large page only the beginning is looked at.
    """
    if media_type not in HTML_TYPES:
        return None
    from gossamer.process.html import parsed  # noqa: PLC0415 - the parser, only when it is needed

    found = parsed(body[:MAX_TREE_BYTES], charset).select(selector)
    if not found:
        return None
    lines = (line.strip() for element in found for line in element.to_text().splitlines())
    return [line for line in lines if line]
