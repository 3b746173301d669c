"""A small web on loopback for the other examples, so that they run anywhere and bother nobody."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.config import Config, FetchConfig, FilterConfig, LimitsConfig, PolitenessConfig
from gossamer.testing import FakeWeb, serve_in_process


@contextmanager
def small_web(max_pages: int = 40) -> Iterator[tuple[str, Config, Path]]:
    """Serve a web; give its first URL, a configuration that reaches it, and an empty folder."""
    web = FakeWeb(seed=1, hosts=4, pages_per_host=20)
    with (
        tempfile.TemporaryDirectory() as place,
        serve_in_process(web, Path(place) / "log") as server,
    ):
        config = Config(
            politeness=PolitenessConfig(delay_s=0.0),
            fetch=FetchConfig(resolve=server.resolve, allow_net=("127.0.0.0/8",)),
            filter=FilterConfig(scope="any"),
            limits=LimitsConfig(max_pages=max_pages),
        )
        yield server.web.seeds[0], config, Path(place) / "mycrawl"
