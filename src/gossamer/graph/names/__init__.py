"""WHICH NUMBER HAS THIS URL? URLs as sortable keys, their external sort, and a map of both ways.

Neighbours: `build` sorts and numbers with it; all who answer questions turn numbers into URLs here.
Not for: what the URLs link to.
"""

from gossamer.graph.names.keys import key_of, keys_of, origin_of, url_of, urls_of
from gossamer.graph.names.reader import UrlMap
from gossamer.graph.names.sorter import NameSorter
from gossamer.graph.names.writer import UrlMapWriter
