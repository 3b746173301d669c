"""STEER IT: how does a person, or a script, tell Gossamer what to do and see what it did?

`crawl` and `start` crawl and watch; `store` has status, why, show, copies, add; `searching`,
`linkgraph` and `graphfiles` ask index and graph; `building` and `indexing` make them, `updating`
does so before a question, `beside` beside a crawl; `serving` starts the server, `dev` is the demo.
`flags` turns arguments into a `Config`, `options` are what several commands share, `screen` and
`graphviews` turn answers into what a person likes to read, `words` says what each reason means.

Neighbours: the Python API (`gossamer`, `gossamer.api`) does the work, `settings` knows crawl.toml.
Not for: decisions; whatever the command line can do, a Python program can do too.
"""

from gossamer.cli.main import run
