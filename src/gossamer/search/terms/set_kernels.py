"""The inner loops between lists of pages: joined, common to both, and packed to be sent."""

from gossamer.search.terms.read_kernels import DAMAGED, Bytes, Floats, Ints, integer, number

WITHOUT = -1


def join(
    pages: Ints,
    scores: Floats,
    seen: Bytes,
    many: int,
    more: Ints,
    more_scores: Floats,
    more_many: int,
    least: int,
    out: Ints,
    out_scores: Floats,
    out_seen: Bytes,
) -> int:
    """Add up two lists of pages; keep those seen at least so often; return how many these are.

    A page of the second list has been seen once more. `WITHOUT`: keep what only the first one has.
    """
    one = other = kept = 0
    while one < many or other < more_many:
        is_one = one < many and (other >= more_many or pages[one] <= more[other])
        is_other = other < more_many and (one >= many or more[other] <= pages[one])
        page, score, often = 0, 0.0, 0
        if is_one:
            page, score, often = pages[one], scores[one], integer(seen[one])
            one += 1
        if is_other:
            page, score, often = more[other], score + more_scores[other], min(often + 1, 255)
            other += 1
        if (often >= least) if least >= 0 else not is_other:
            out[kept], out_scores[kept], out_seen[kept] = page, score, often
            kept += 1
    return kept


def common(one: Ints, many: int, other: Ints, other_many: int, out: Ints) -> int:
    """Write what two ascending lists have in common; return how much that is."""
    at = there = found = 0
    while at < many and there < other_many:
        if one[at] < other[there]:
            at += 1
        elif one[at] > other[there]:
            there += 1
        else:
            out[found] = one[at]
            found += 1
            at += 1
            there += 1
    return found


def pack(values: Ints, many: int, out: Bytes) -> int:
    """Write ascending numbers as their gaps, in at most ten bytes each; return the bytes."""
    at, before = 0, -1
    for place in range(many):
        gap = values[place] - before - 1
        before = values[place]
        while gap > 127:
            out[at] = gap & 127 | 128
            gap >>= 7
            at += 1
        out[at] = gap
        at += 1
    return at


def unpack(data: Bytes, size: int, limit: int, out: Ints) -> int:
    """Read numbers below a limit from their gaps; return how many, at most one per byte."""
    at = found = 0
    value = -1
    while at < size:
        gap, at = number(data, at, size)
        value += gap + 1
        if gap < 0 or value >= limit or value < 0:
            return DAMAGED
        out[found] = value
        found += 1
    return found
