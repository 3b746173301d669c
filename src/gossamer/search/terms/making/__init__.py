"""PAGES IN, LISTS OUT: the writer of a term-partitioned index; memory is bounded.

Neighbours: `kept` says how files look. A set is built in full; what is new needs a new build.
"""

from gossamer.search.terms.making.writer import TermsWriter
