"""The inner loops of components: Tarjan's algorithm without recursion, union-find, and hosts."""

import numpy as np

from gossamer.graph.rows import Ids, Kinds, Places

VISITED, TOP, DONE, FOUND = 0, 1, 2, 3
"""Places of Tarjan's counters."""


def enter(
    node: int, offsets: Places, number: Ids, low: Ids, stack: Ids, places: Places, at: Places
) -> int:
    """Visit a node for the first time."""
    at[VISITED] += 1
    number[node] = low[node] = at[VISITED]
    stack[at[TOP]] = node
    at[TOP] += 1
    places[node] = offsets[node]
    return 0


def advance(
    node: int,
    offsets: Places,
    targets: Ids,
    number: Ids,
    low: Ids,
    component: Ids,
    places: Places,
) -> int:
    """Go on through a node's links; return the next one's end that is not yet visited, or -1."""
    j = places[node]
    while j < offsets[node + 1]:
        other = np.int64(targets[j])
        j += 1
        if number[other] == 0:
            places[node] = j
            return int(other)
        if component[other] == 0:
            low[node] = min(low[node], number[other])
    places[node] = j
    return -1


def complete(node: int, stack: Ids, component: Ids, order: Ids, at: Places) -> int:
    """Take a component off the stack: all that lies there down to its first node."""
    at[FOUND] += 1
    member = -1
    while member != node:
        at[TOP] -= 1
        member = int(np.int64(stack[at[TOP]]))
        component[member] = at[FOUND]
        order[at[DONE]] = member
        at[DONE] += 1
    return 0


def strong(
    offsets: Places,
    targets: Ids,
    nodes: int,
    number: Ids,
    low: Ids,
    stack: Ids,
    calls: Ids,
    places: Places,
    component: Ids,
    order: Ids,
    at: Places,
) -> int:
    """Write which strongly connected component each node is in; return how many there are.

    Components are numbered from 1 in the order in which they are complete: links lead to the same
    or to a lower number. `order` has all nodes by component. `number`, `component` and `at` (four
    counters) are zeros at first.
    """
    for start in range(nodes):
        if number[start]:
            continue
        enter(start, offsets, number, low, stack, places, at)
        calls[0] = start
        depth = 1
        while depth:
            node = int(np.int64(calls[depth - 1]))
            other = advance(node, offsets, targets, number, low, component, places)
            if other >= 0:
                enter(other, offsets, number, low, stack, places, at)
                calls[depth] = other
                depth += 1
                continue
            depth -= 1
            if depth:
                parent = int(np.int64(calls[depth - 1]))
                low[parent] = min(low[parent], low[node])
            if low[node] == number[node]:
                complete(node, stack, component, order, at)
    return int(at[FOUND])


def reach_down(
    offsets: Places, targets: Ids, nodes: int, component: Ids, order: Ids, flags: Kinds
) -> int:
    """Flag (bit 2) each component that a component with bit 1 or 2 links to, and so on."""
    for n in range(nodes - 1, -1, -1):
        node = np.int64(order[n])
        if flags[component[node]] & 3:
            for j in range(offsets[node], offsets[node + 1]):
                other = component[targets[j]]
                if other != component[node]:
                    flags[other] |= 2
    return 0


def reach_up(
    offsets: Places, targets: Ids, nodes: int, component: Ids, order: Ids, flags: Kinds
) -> int:
    """Flag (bit 4) each component that links to one with bit 1 or 4, and so on."""
    for n in range(nodes):
        node = np.int64(order[n])
        own = component[node]
        for j in range(offsets[node], offsets[node + 1]):
            other = component[targets[j]]
            if other != own and flags[other] & 5:
                flags[own] |= 4
    return 0


def root_of(parent: Ids, node: int) -> int:
    """Return the root of a node's tree, and make the way to it shorter."""
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = int(np.int64(parent[node]))
    return node


def unite(offsets: Places, targets: Ids, first: int, count: int, parent: Ids) -> int:
    """Unite each row's node with its targets; a root is the lowest node of its tree."""
    for i in range(count):
        if offsets[i] == offsets[i + 1]:
            continue
        a = root_of(parent, first + i)
        for j in range(offsets[i], offsets[i + 1]):
            b = root_of(parent, int(np.int64(targets[j])))
            if a < b:
                parent[b] = a
            elif b < a:
                parent[a] = b
                a = b
    return 0


def flatten(nodes: int, parent: Ids) -> int:
    """Let every node name its root; return how many roots there are."""
    roots = 0
    for node in range(nodes):
        parent[node] = parent[parent[node]]
        roots += parent[node] == node
    return roots


def gather(
    offsets: Places,
    targets: Ids,
    first: int,
    count: int,
    group: Ids,
    counts: Places,
    met: Ids,
    arcs: Places,
) -> int:
    """Write (group, group, links) for each two groups that rows of consecutive nodes connect.

    A group may be told several times: once for each run of its nodes. `counts` is zeros before
    and after. Returns how many triples were written; there are never more than links.
    """
    written, some = 0, 0
    for i in range(count):
        own = group[first + i]
        for j in range(offsets[i], offsets[i + 1]):
            other = group[targets[j]]
            if counts[other] == 0:
                met[some] = other
                some += 1
            counts[other] += 1
        if i + 1 == count or group[first + i + 1] != own:
            for m in range(some):
                other = met[m]
                arcs[3 * written] = own
                arcs[3 * written + 1] = other
                arcs[3 * written + 2] = counts[other]
                counts[other] = 0
                written += 1
            some = 0
    return written
