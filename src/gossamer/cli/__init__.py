"""STEER IT: how does a person, or a script, tell Gossamer what to do and see what it did?

One file per noun: `crawl` starts and continues, `store` looks at what is there, `dev` shows it all
on a web of our own. `flags` turns arguments into a `Config`, `screen` turns facts into what a
person likes to read, `words` says what each reason means.

Neighbours: the Python API (`gossamer`, `gossamer.api`) does the work, `settings` knows crawl.toml.
Not for: decisions; whatever the command line can do, a Python program can do too.
"""

from gossamer.cli.main import run

__all__ = ["run"]
