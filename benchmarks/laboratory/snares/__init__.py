"""SNARES: sites without an end, and honest ones that look like them.

Neighbours: `testing.server`, which serves a `SnareWeb`. Not for: single faults (`testing.faults`).
"""

from laboratory.snares.serve import ServedSnares, serve_snares
from laboratory.snares.web import HONEST, OTHERS, SNARES, SnareWeb, honest_site

__all__ = ["HONEST", "OTHERS", "SNARES", "ServedSnares", "SnareWeb", "honest_site", "serve_snares"]
