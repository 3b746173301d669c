"""IS IT WITHOUT END? Mazes, calendars, session ids, made-up hosts: throttled, tried, closed.

Neighbours: `crawl` tells of every finished task and asks before each request; the chain of filters
refuses links into what is closed. Not for: single URLs with a bad shape (`filter.shape`).
"""

from gossamer.filter.traps.look import count_new, notes_in, who_holds
from gossamer.filter.traps.traps import Return, Stay, Traps

__all__ = ["Return", "Stay", "Traps", "count_new", "notes_in", "who_holds"]
