"""THE FRONT DOOR: one typed API for Python programs, and for `cli` and `web`, which use only it.

`crawls` opens a crawl's folder, starts and continues crawls; `linkgraph` asks who links to whom,
`fulltext` searches; `options` are the keyword arguments of a crawl. `gossamer` re-exports all that
is public, and imports each name when it is first asked for.

Neighbours: the engines and `report` do the work. Not for: deciding, computing or showing anything.
"""
