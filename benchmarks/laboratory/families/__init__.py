"""FAMILIES: kinds of honest sites that look like traps, and kinds of traps, as they are on the web.

They were written from how such sites look, without regard to the rules that detect traps. Half of
each, drawn at random, is `HELD_OUT`: no rule may be tuned on it, and `make bench-traps` reports on
it. All pages are functions of host and target. `FamilyWeb` puts families together, with or without
a hub that links them; `serve_snares` serves it, and `tally` judges a crawl by the server's log.

Neighbours: `laboratory.snares` (older, smaller snares). Not for: single faults (`testing.faults`).
"""

from laboratory.families.family import (
    Family,
    Moved,
    Sitemap,
    Spot,
    domain_of,
    host_of,
    links_of,
    reachable,
    spot,
)
from laboratory.families.judge import CrawlTally, tally
from laboratory.families.web import (
    FOLDER_TRAPS,
    HELD_OUT,
    HONEST_FAMILIES,
    TRAP_FAMILIES,
    FamilyWeb,
)

__all__ = [
    "FOLDER_TRAPS",
    "HELD_OUT",
    "HONEST_FAMILIES",
    "TRAP_FAMILIES",
    "CrawlTally",
    "Family",
    "FamilyWeb",
    "Moved",
    "Sitemap",
    "Spot",
    "domain_of",
    "host_of",
    "links_of",
    "reachable",
    "spot",
    "tally",
]
