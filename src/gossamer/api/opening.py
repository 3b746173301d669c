"""`gossamer.open`: which crawl is meant by a folder, or by the URL of a store."""

from pathlib import Path

from gossamer.api.crawls import OpenCrawl
from gossamer.api.mirrors import is_store_url
from gossamer.errors import ConfigError


def open_crawl(folder: Path | str) -> OpenCrawl:
    """Return the crawl in a folder, or an index that `index_files` made there.

    Or a crawl by the URL of the object store where it is kept (`gossamer crawl --store URL`):
    s3://BUCKET/PREFIX, gs://, az://, file:///FOLDER. Its newest checkpoint is read, from a cache
    in $GOSSAMER_CACHE (~/.cache/gossamer) for all but `status` and `brief_page`; nothing of it
    can be changed.
    """
    if is_store_url(folder):
        return OpenCrawl(folder)
    place = Path(folder)
    if not any((place / name).exists() for name in ("crawl.toml", "archive", "state", "index")):
        raise ConfigError(f"{folder} is not a crawl folder: it has no crawl.toml")
    return OpenCrawl(place)
