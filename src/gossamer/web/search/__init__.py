"""WHICH PAGES SAY THIS, in a browser and for programs.

`desk` holds the newest index, `results` draws what it answers, `narrowing` knows the filters of a
question, `routes` are the places where one asks.

Neighbours: asks `gossamer.search`; `app` puts it among the others. Not for: ranking.
"""

from gossamer.web.search.desk import Desk, NoIndex
from gossamer.web.search.routes import Around, search_routes

__all__ = ["Around", "Desk", "NoIndex", "search_routes"]
