"""SNARES: sites without an end, and honest ones that look like them.

Neighbours: `testing.server`, which serves a `SnareWeb`. Not for: single faults (`testing.faults`).
"""
