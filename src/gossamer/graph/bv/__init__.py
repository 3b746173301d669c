"""WebGraph's BVGraph files: about three bits per link, row by row or in order.

A row of links is told by how it differs from one of the rows before it, since neighbours in URL
order link to the same places (Boldi and Vigna, "The WebGraph Framework I", WWW 2004). `GraphWriter`
gives the bits that WebGraph gives; `BVGraph` reads its files and ours.
"""

from gossamer.graph.bv.coding import SMALLEST, UNBOUNDED, Coding, Properties
from gossamer.graph.bv.ef import write_ef
from gossamer.graph.bv.graph import SUFFIXES, BVGraph, beside
from gossamer.graph.bv.kinds import KindsFile, KindsWriter
from gossamer.graph.bv.staging import MADE, workshop
from gossamer.graph.bv.writer import GraphWriter
