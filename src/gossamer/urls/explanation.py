"""explain: how a text became its canonical form, for `gossamer why`."""

from gossamer.config import UrlConfig
from gossamer.log import escape, redact
from gossamer.urls.canonical import drop_credentials, steps_for
from gossamer.urls.parsing import MAX_CHARS, whatwg


def explain(text: str, rules: UrlConfig) -> list[str]:
    """Return the steps that changed something, in order and in words; [] for a canonical URL.

    Credentials are never shown, and control characters are shown as escapes.
    """
    if len(text) > MAX_CHARS:
        return [f"not a URL: longer than {MAX_CHARS} characters"]
    href = whatwg(text)
    if href is None:
        return [f"not a URL by the WHATWG standard: {_shown(text)}"]
    told = [] if href == text else [f"read as a browser reads it: {_shown(href)}"]
    for step in steps_for(href):
        changed = step.apply(href, rules)
        if changed != href:
            told.append(f"{step.words}: {_shown(changed)}")
        href = changed
    return told


def without_credentials(text: str) -> str:
    """Return a text as it is, unless it names a user or a password: then without them."""
    if "@" not in text:
        return text
    href = whatwg(text)
    if href is None:
        return redact(text)
    bare = drop_credentials(href, UrlConfig())
    return text if bare == href else bare


def _shown(text: str) -> str:
    return escape(redact(text))
