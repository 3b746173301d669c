"""Who plays which part, and what is mended before the play begins.

`core` plugs together the stations that live on rows, for a crawl and for a rebuild of its state;
`recovery` puts what a death left behind where it belongs. `wiring` adds the rest.
"""

from gossamer.crawl.setup.core import Core, wire_core
from gossamer.crawl.setup.recovery import DEATHS, Desk, recover

__all__ = ["DEATHS", "Core", "Desk", "recover", "wire_core"]
