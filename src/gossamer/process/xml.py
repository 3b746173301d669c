"""XML as a stream of tags and texts, read leniently and without any of its dangers.

The reader is an HTML tokenizer: it knows no document types, defines no entities, opens no files,
accepts what is not well-formed, and is linear. Names come in lower case, without their prefix if
`local` is asked for.
"""

from collections.abc import Iterator
from typing import NamedTuple

from turbohtml import TokenType, escape, tokenize


class XmlToken(NamedTuple):
    """One start tag, end tag or text."""

    kind: TokenType
    name: str
    """Tag name in lower case, with its prefix; "" for a text."""
    text: str
    attributes: dict[str, str]


def xml_tokens(text: str) -> Iterator[XmlToken]:
    """Return the tags and texts of an XML document, in order."""
    for token in tokenize(_without_cdata(text)):
        match token.type:
            case TokenType.TEXT | TokenType.CHARACTER_REFERENCE:
                yield XmlToken(TokenType.TEXT, "", token.data or "", {})
            case TokenType.START_TAG:
                name = token.tag or ""
                yield XmlToken(TokenType.START_TAG, name, "", dict(token.attrs or ()))
                if token.self_closing:
                    yield XmlToken(TokenType.END_TAG, name, "", {})
            case TokenType.END_TAG:
                yield XmlToken(TokenType.END_TAG, token.tag or "", "", {})
            case _:
                pass


def local(name: str) -> str:
    """Return a tag name without its prefix."""
    return name.rpartition(":")[2]


def _without_cdata(text: str) -> str:
    """Return a text whose CDATA sections are escaped instead: the tokenizer does not know them."""
    if "<![CDATA[" not in text:
        return text
    first, *rest = text.split("<![CDATA[")
    parts = [first]
    for section in rest:
        inside, _, after = section.partition("]]>")
        parts += (escape(inside), after)
    return "".join(parts)
