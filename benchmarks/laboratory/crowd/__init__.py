"""A CROWD: what happens with very many hosts, each with an address of its own?

`Crowd` is a web of small, equal sites (100,000 if wanted), and a `NameServer` knows them all.
`serve_crowd` runs both in a process of their own.

Neighbours: `testing.server`, which serves it. Not for: faults and traps; `FakeWeb` has those.
"""

from laboratory.crowd.names import NameServer
from laboratory.crowd.process import CrowdProcess, serve_crowd
from laboratory.crowd.web import Crowd

__all__ = ["Crowd", "CrowdProcess", "NameServer", "serve_crowd"]
