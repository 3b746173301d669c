"""WHICH PAGES SAY THIS? The text archive as an index, asked in words.

Neighbours: `store` keeps the archive, `web` and `cli` ask. Not for: who links to whom (`graph`).
"""
