"""Names of languages: three letters, as Common Crawl writes them, to two, as we do."""

_PAIRS = """
afr af ara ar aze az bel be ben bn bul bg bos bs cat ca ces cs dan da deu de ell el eng en epo eo
est et eus eu fas fa fin fi fra fr gle ga glg gl guj gu heb he hin hi hrv hr hun hu hye hy ind id
isl is ita it jpn ja kan kn kat ka kaz kk khm km kor ko lat la lav lv lit lt ltz lb mal ml mar mr
mkd mk mlt mt mon mn msa ms mya my nep ne nld nl nno nn nob nb nor no pan pa pol pl por pt ron ro
rus ru sin si slk sk slv sl spa es sqi sq srp sr swa sw swe sv tam ta tel te tgk tg tgl tl tha th
tur tr ukr uk urd ur uzb uz vie vi zho zh
"""
_names = _PAIRS.split()
_TWO_OF_THREE = dict(zip(_names[::2], _names[1::2], strict=True))
_TWO = 2


def two_letters(said: str) -> str:
    """Return the first language of a list as two letters; "" if it is not known."""
    first = said.partition(",")[0].strip().lower().partition("-")[0].partition("_")[0]
    if len(first) == _TWO and first.isascii() and first.isalpha():
        return first
    return _TWO_OF_THREE.get(first, "")
