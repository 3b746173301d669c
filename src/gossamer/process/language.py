"""Which language is this text in?"""

import pycld2

_SAMPLE_CHARS = 1_500
_MIN_CHARS = 20
_UNKNOWN = "un"


def language_of(text: str, hint: str = "") -> str:
    """Return a language code such as "en" or "zh-Hant"; the page's own claim when in doubt."""
    claimed = hint.strip().lower().partition("-")[0][:8]
    sample = text[:_SAMPLE_CHARS]
    if len(sample) < _MIN_CHARS:
        return claimed
    try:
        is_reliable, _, found = pycld2.detect(sample, isPlainText=True)
    except (pycld2.error, UnicodeError):
        return claimed
    code = str(found[0][1])
    return claimed if code == _UNKNOWN or (claimed and not is_reliable) else code
