"""The compiled inner loops, in groups, so that who wants one answer waits for one compilation."""

from functools import cache

from gossamer.graph.answers.kernels import ball_kernels, component_kernels, rank_kernels
from gossamer.native import Native

_PICKING = {"pick": "IUBnnIU"}
_RANKING = {"tally": "IUnnBD", "sweep": "IUnnDDDdD", "finish": "IUnnDDDdD"}
_HITS = {"pull": "IUnnDD", "push": "IUnnDD"}
_BALLS = {
    "grow": "IUnnnBBBB",
    "weigh": "nnBBDDDDd",
    "reach_all": "IUnUUD",
}
_COMPONENTS = {
    "strong": "IUnUUUUIUUI",
    "reach_down": "IUnUUB",
    "reach_up": "IUnUUB",
    "unite": "IUnnU",
    "flatten": "nU",
}
_HOSTS = {"gather": "IUnnUIUI"}


@cache
def picking() -> Native:
    """Return the kernel that leaves out links of other kinds."""
    return Native((rank_kernels,), _PICKING)


@cache
def ranking() -> Native:
    """Return the kernels of PageRank."""
    return Native((rank_kernels,), _RANKING)


@cache
def hubs() -> Native:
    """Return the kernels of HITS."""
    return Native((rank_kernels,), _HITS)


@cache
def balls() -> Native:
    """Return the kernels of harmonic centrality."""
    return Native((ball_kernels,), _BALLS)


@cache
def components() -> Native:
    """Return the kernels of strongly and weakly connected components."""
    return Native((component_kernels,), _COMPONENTS)


@cache
def groups() -> Native:
    """Return the kernel that counts links between groups of nodes."""
    return Native((component_kernels,), _HOSTS)
