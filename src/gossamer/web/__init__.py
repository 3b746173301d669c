"""SEARCH PAGE, LINK EXPLORER, JSON API: a small server, for programs and for people.

`api` is JSON, `pages` is a link explorer that needs no script, `frame` is what all pages share,
`guard` is what every answer is held to, `engine` holds the newest graph and index.

`start` lists the crawls below a folder, and starts one: the page of a server without a crawl.

`console` shows how the crawl does, and steers it: for who asks on loopback, or has the token.

Neighbours: asks `gossamer.open(DIR)` and nothing else; `cli` starts it. Not for: deciding anything.
"""

from gossamer.web.app import make_app
from gossamer.web.server import serve, serve_crawls
