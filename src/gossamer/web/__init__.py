"""LOOK AT IT: a small server with the answers of the engines, for programs and for people.

Neighbours: asks `graph` and `report`; `cli` starts it. Not for: changing anything.
"""
