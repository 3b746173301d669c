"""IS IT WITHOUT END? Mazes, calendars, session ids, made-up hosts: throttled, tried, closed.

Neighbours: `crawl` tells of every finished task and asks before each request; the chain of filters
refuses links into what is closed. Not for: single URLs with a bad shape (`filter.shape`).
"""

from gossamer.filter.traps.rows import TRAPS, read_units
from gossamer.filter.traps.traps import Return, Stay, Traps
from gossamer.filter.traps.unit import Unit

__all__ = ["TRAPS", "Return", "Stay", "Traps", "Unit", "read_units"]
