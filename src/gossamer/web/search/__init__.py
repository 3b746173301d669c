"""FULL-TEXT SEARCH in a browser and for programs.

`results` draws an answer, `narrowing` knows the filters of a query, `routes` are the addresses.

Neighbours: `engine` answers; `app` puts it among the others. Not for: ranking.
"""

from gossamer.web.search.routes import Around, search_routes
