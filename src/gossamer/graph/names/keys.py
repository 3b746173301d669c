"""Keys: URLs as bytes whose order puts the pages of a site, and the sites of a domain, together.

    https://www.example.org/a?b     org.example.www/a?b
    https://example.org:8443/       org.example:8443s/
    http://example.org/             org.example:80/
    http://127.0.0.1:8100/x         [127.0.0.1]:8100/x
    mailto:someone@example.org      ~mailto:someone@example.org

Each text has one key and each key one text, whatever the text; no key holds a zero byte. The keys
of an origin share a prefix that ends with its first slash.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

import numpy as np

from gossamer.graph.names import key_kernels
from gossamer.native import Native

Key = bytes

OTHER = b"~"
"""First byte of the keys of all that is no canonical web address: behind every host name."""
_TILDE = OTHER[0]
_MANY = 16
"""From so many URLs on a kernel is quicker."""
_ORIGINS_KEPT = 65_536
_PORT = r"(?::([1-9][0-9]{0,4}))?"
_ORIGIN = re.compile(rf"(https?)://([a-z0-9._-]*[a-z0-9_-]\.?|\[[0-9a-f.]*:[0-9a-f:.]*\]){_PORT}")
_HEAD = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4})(s?))?")
_ADDRESS = re.compile(r"[0-9]+(?:\.[0-9]+){3}")
_ESCAPES = ((b"\x01", b"\x01\x02"), (b"\x00", b"\x01\x01"))
"""A zero ends a key in files."""
_DEFAULT_PORTS = {"http": "80", "https": "443"}


def key_of(url: str) -> Key:
    """Return the key of a URL."""
    at = url.find("/", 8)
    head = _origin_key(url[:at]) if at > 0 and url.isascii() and "\0" not in url else b""
    return head + url[at:].encode() if head else _other_key(url)


def keys_of(urls: Sequence[str]) -> list[Key]:
    """Return the keys of many URLs."""
    packed = packed_keys(urls) if len(urls) >= _MANY else None
    return [key_of(url) for url in urls] if packed is None else packed.split(b"\0")[:-1]


def packed_keys(urls: Sequence[str]) -> bytes | None:
    """Return the keys of URLs, each followed by a zero; None if texts with a zero are among them.

    The same as `key_of`, by a kernel.
    """
    try:
        text = "\0".join((*urls, "")).encode()
    except UnicodeEncodeError:
        return None
    if text.count(0) != len(urls):
        return None
    out = np.empty(2 * len(text) + 5 * len(urls), np.uint8)
    size = _natives()["to_keys"](text, len(text), out.ctypes.data)
    return out[:size].tobytes()


@cache
def _natives() -> Native:
    return Native((key_kernels,), {"to_keys": "BnB"})


def url_of(key: Key) -> str:
    """Return the URL that has a key."""
    at = key.find(b"/")
    if at < 0 or key[0] == _TILDE:
        return _other_url(key)
    return origin_of(key[:at]) + key[at:].decode()


def urls_of(keys: Iterable[Key]) -> list[str]:
    """Return the URLs that have these keys; quicker if neighbours are of one origin."""
    urls = []
    before, origin = b"/", ""
    for key in keys:
        at = key.find(b"/")
        head = key[:at]
        if head == before:
            urls.append(origin + key[at:].decode())
        elif at < 0 or key[0] == _TILDE:
            urls.append(_other_url(key))
        else:
            before, origin = head, origin_of(head)
            urls.append(origin + key[at:].decode())
    return urls


@lru_cache(_ORIGINS_KEPT)
def origin_of(head: Key) -> str:
    """Return the origin whose keys begin so, up to their first slash."""
    found = _HEAD.fullmatch(head.decode())
    if not found:
        return _other_url(head)
    name, port, secure = found.groups()
    scheme = "https" if secure or not port else "http"
    shown = "" if not port or port == _DEFAULT_PORTS[scheme] else f":{port}"
    return f"{scheme}://{_reversed(name)}{shown}"


@lru_cache(_ORIGINS_KEPT)
def _origin_key(origin: str) -> Key:
    """Return how the keys of a canonical origin begin; nothing if it is not one."""
    found = _ORIGIN.fullmatch(origin)
    if not found:
        return b""
    scheme, host, port = found.groups()
    if port == _DEFAULT_PORTS[scheme]:
        return b""
    name = f"[{host}]" if _ADDRESS.fullmatch(host) else _reversed(host)
    if scheme == "http":
        name += f":{port or 80}"
    elif port:
        name += f":{port}s"
    return name.encode()


def _reversed(name: str) -> str:
    """Return a host with its labels in reversed order, an address in brackets without them."""
    if name[0] != "[":
        return ".".join(name.split(".")[::-1])
    return name[1:-1] if _ADDRESS.fullmatch(name[1:-1]) else name


def _other_key(url: str) -> Key:
    text = url.encode("utf-8", "surrogatepass")
    for plain, escaped in _ESCAPES:
        text = text.replace(plain, escaped)
    return OTHER + text


def _other_url(key: Key) -> str:
    text = key.removeprefix(OTHER)
    for plain, escaped in reversed(_ESCAPES):
        text = text.replace(escaped, plain)
    return text.decode("utf-8", "surrogatepass")
