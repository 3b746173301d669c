"""WHICH CRAWLS ARE HERE? The start page: the crawls below a folder, and a form that starts one.

`found` looks for them and says how they do, `starting` is what the form may ask for, and the
process that does it; `routes` are the pages.

Neighbours: `app` of a server without a crawl of its own. Not for: serving a crawl.
"""

from gossamer.web.start.routes import make_start_app
