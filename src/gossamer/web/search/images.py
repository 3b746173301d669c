"""Images among the results: a grid, with thumbnails from the archive alone.

Nothing is loaded from the web: that would tell its servers who searches here, and for what. What is
shown is what was stored, with a policy under which nothing in it can act.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeAlias

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gossamer import Hit, HitImage
from gossamer.web.asked import Asked
from gossamer.web.engine import Engine
from gossamer.web.frame import address, link_to, prose, text, web_link

Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]
THUMBNAIL_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
MOST_THUMBNAIL_BYTES = 4 << 20
"""Of an image that is sent to a browser to be shown small."""
SHOWN = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/svg+xml"}
)
"""Types that browsers show as images. (A drawing runs no scripts there.)"""


def thumbnail_route(engine: Engine) -> Route:
    """Return the route of stored images."""

    def in_thread(url: str) -> Response:
        page = engine.image(url)
        kind = page.media_type.partition(";")[0].strip().lower() if page is not None else ""
        if page is None or kind not in SHOWN:
            raise HTTPException(404, f"no image is stored of {url}")
        body = page.body()
        if len(body) > MOST_THUMBNAIL_BYTES:
            raise HTTPException(404, f"the image is larger than {MOST_THUMBNAIL_BYTES >> 20} MiB")
        headers = {"content-security-policy": THUMBNAIL_POLICY, "cache-control": "private"}
        return Response(body, 200, headers, kind)

    async def answer(request: Request) -> Response:
        return await run_in_threadpool(in_thread, Asked(request.query_params).url("url"))

    return Route("/thumbnail", answer)


def are_images(hits: Sequence[Hit]) -> bool:
    """Return True if all results are images."""
    return bool(hits) and all(hit.image is not None for hit in hits)


def grid(hits: Sequence[Hit]) -> Iterator[str]:
    """Give images as tiles: what they look like, if they are stored, and what is said of them."""
    yield '<ol class="images">'
    for hit in hits:
        if hit.image is not None:
            yield from _tile(hit, hit.image)
    yield "</ol>"


def _tile(hit: Hit, image: HitImage) -> Iterator[str]:
    said = image.alt or image.caption or image.file_name
    kind = hit.type.partition(";")[0]
    yield '<li class="image"><figure>'
    if image.is_stored and kind in SHOWN:
        source = address("/thumbnail", url=hit.url)
        shown = f'<img src="{source}" alt="{text(said)}" loading="lazy" decoding="async">'
    else:
        shown = f'<span class="unstored">{text(image.file_name[:60] or "image")}</span>'
    yield f'<div class="tile">{web_link(hit.url, shown)}</div>'
    yield f'<figcaption dir="auto">{web_link(hit.url, prose(said))}'
    if image.caption and image.caption != said:
        yield f"<p>{prose(image.caption)}</p>"
    yield f'<p class="facts">{"".join(_facts(hit, image))}</p></figcaption></figure></li>'


def _facts(hit: Hit, image: HitImage) -> Iterator[str]:
    if image.width and image.height:
        yield f"<span>{image.width:,} × {image.height:,}</span>"
    if image.bytes:
        yield f"<span>{_size(image.bytes)}</span>"
    if not image.is_stored:
        yield "<span>not stored</span>"
    if hit.is_near_copy:
        yield "<span>near-copy</span>"
    if image.page:
        yield f"<span>on {web_link(image.page, prose(image.page_title) or 'its page')}</span>"
    if image.hash:
        yield link_to("/search", "similar", like=hit.url)


def _size(size: int) -> str:
    return f"{size / 1024:,.0f} KiB" if size >= 1024 else f"{size} bytes"  # noqa: PLR2004 - a KiB
