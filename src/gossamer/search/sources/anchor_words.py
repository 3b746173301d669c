"""What a link says of where it leads: most links say something, some say nothing."""

from functools import lru_cache

MOST_CHARS = 120
_NOT_VOUCHED = frozenset({"nofollow", "ugc", "sponsored"})
_SAYING = frozenset({"a", "area", "image"})
_GENERIC = frozenset(
    """
    here|click here|click|link|this|this page|this link|it|more|more...|more …|read more|learn more
    see more|view more|details|more info|more information|info|next|next page|previous
    previous page|prev|back|up|top|back to top|home|start|first|last|contents|index|toc|source
    view|view source|open|download|go|edit|permalink|¶|#|§|login|log in|sign in|register|comments
    hier|mehr|weiter|zurück|weiterlesen|mehr erfahren|startseite|nach oben|nächste|vorherige
    ici|cliquez ici|suite|lire la suite|plus|suivant|précédent|accueil|retour|haut
    aquí|haga clic aquí|más|leer más|siguiente|anterior|inicio|volver|arriba
    qui|clicca qui|altro|leggi tutto|avanti|indietro|successivo|precedente
    aqui|clique aqui|mais|leia mais|próximo|voltar|início
    hier klikken|meer|lees meer|volgende|vorige|terug
    здесь|тут|далее|подробнее|назад|вперёд|вперед|следующая|предыдущая|главная|наверх
    こちら|次へ|前へ|続きを読む|戻る|ホーム|上へ|点击这里|更多|下一页|上一页|返回|首页|目录
    """.replace("\n", "|")
    .replace("    ", "")
    .split("|")
)
"""Texts that say where to click and not what is there."""


def said(text: str, target: str) -> str:
    """Return what a link says, tidied; "" if it says nothing of where it leads.

    An address says nothing that the URL itself does not say.
    """
    tidy = _tidied(text)
    is_address = ("." in tidy or "/" in tidy) and target.endswith(tidy.lstrip("./"))
    return "" if is_address else tidy


@lru_cache(maxsize=1 << 14)
def _tidied(text: str) -> str:
    """Return what a link says on one line; "" if that is nothing, wherever it leads."""
    tidy = " ".join(text.split())[:MOST_CHARS].rstrip()
    if tidy.lower().strip("«»‹›<>→←↑↓[]().:… ") in _GENERIC or not any(map(str.isalpha, tidy)):
        return ""
    return tidy


@lru_cache(maxsize=4096)
def is_vouched(kind: str, rel: str) -> bool:
    """Return True if a link of this kind says something that its page stands for."""
    return kind in _SAYING and _NOT_VOUCHED.isdisjoint(rel.lower().split())
