"""What is on a fake site: its plan, words, pages, files, robots.txt and traps. Pure.

Neighbours: `testing.fakeweb`, which answers with it. Not for: sockets or time.
"""

from gossamer.testing.site.atlas import Atlas
from gossamer.testing.site.extras import HTML_EXTRAS, OTHER_EXTRAS, extra_answer, has_copy, served
from gossamer.testing.site.plan import Plan, Site
from gossamer.testing.site.robots import KINDS as ROBOTS
from gossamer.testing.site.traps import TRAPS, trap
