"""PAGES THAT OTHERS GATHERED: WET, WARC and JSONL files, plain or packed.

Whatever a file says, it is read in bounded memory, and what cannot be read is told with its place.
"""

from gossamer.search.gather.foreign.pages import ForeignPages, Found, LeftOut
from gossamer.store import Bad
