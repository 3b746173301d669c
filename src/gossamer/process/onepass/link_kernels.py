"""References and texts of links, and texts of elements, from the rows of a page. For `native`."""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

from gossamer.process.onepass.character_kernels import (
    decoded,
    squeeze,
)
from gossamer.process.onepass.numbers import (
    ANCHOR,
    HAS_REL,
    HREF_ODD,
    IS_SCRIPT,
    KEPT,
    NO_ROOM,
    REFERENCE,
    REL_ODD,
    REL_WIDE,
    ROW,
    SEE_ALL,
    T_IMG,
    TEXT,
    TOO_ALIKE,
)

Bytes: TypeAlias = Sequence[int]
Buffer: TypeAlias = MutableSequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False


def link_texts(
    src: Bytes,
    events: Numbers,
    anchors: Numbers,
    count: int,
    is_small: int,
    keep_all: int,
    refs: Numbers,
    names: Bytes,
    table: Places,
    table_mask: int,
    hrefs: Buffer,
    hrefs_room: int,
    texts: Buffer,
    texts_room: int,
    rels: Buffer,
    scratch: Buffer,
    kept: Places,
    kind: int,
    rows: Places,
    out: Places,
) -> int:
    """Write references, texts and rels of links, each ended by a NUL, and where each is.

    Return how many. Of several links to a page only the first is told, or the first that may be
    followed, in the place of the first; unless all are wanted. Negative: SEE_ALL, NO_ROOM, or
    TOO_ALIKE. Letters of a rel are small, but for those beyond ASCII (REL_WIDE).
    """
    n = 0
    at = 0
    m = 0
    r = 0
    for k in range(table_mask + 1):
        table[k] = -1
    for a in range(count):
        b = a * ANCHOR
        if at + anchors[b + 2] + 16 > hrefs_room or m + 2048 > texts_room:
            return NO_ROOM
        if r + anchors[b + 4] + 16 > hrefs_room:
            return NO_ROOM
        flags = anchors[b + 5]
        start = at
        if flags & HREF_ODD:
            end = anchors[b + 1] + anchors[b + 2]
            at = decoded(src, anchors[b + 1], end, 1, hrefs, at, refs, names)
        else:
            for q in range(anchors[b + 1], anchors[b + 1] + anchors[b + 2]):
                hrefs[at] = src[q]
                at += 1
        page = start
        h = 0
        while page < at and hrefs[page] != 35:
            h = (h * 33 + hrefs[page]) & 0xFFFFFFFFFFFF
            page += 1
        place = -1
        slot = n
        if keep_all == 0:
            if page == start:
                at = start
                continue
            place = (h ^ (h >> 15) ^ (h >> 31)) & table_mask
            known = False
            tries = 0
            while table[place] >= 0:
                tries += 1
                if tries > 256:
                    return TOO_ALIKE
                o = kept[table[place] * KEPT + 3]
                size = kept[table[place] * KEPT + 1] - o
                if size == page - start:
                    known = True
                    for q in range(size):
                        if hrefs[o + q] != hrefs[start + q]:
                            known = False
                            break
                    if known:
                        slot = table[place]
                        break
                place = (place + 1) & table_mask
            if known and kept[slot * KEPT + 5] == 0:
                at = start
                continue
        look = 0
        rel = r
        is_refused = 0
        if flags & HAS_REL:
            end = anchors[b + 3] + anchors[b + 4]
            r = decoded(src, anchors[b + 3], end, 1 if flags & REL_ODD else 2, rels, r, refs, names)
            for q in range(rel, r):
                if 65 <= rels[q] <= 90:
                    rels[q] = (0 + rels[q]) | 32
                elif rels[q] >= 128:
                    look = REL_WIDE
            is_refused = 1 if names_nofollow(rels, rel, r) else 0
        if slot < n and is_refused:
            # two that ask not to be followed: the same again, or a matter of their fragments
            o = kept[slot * KEPT + 3]
            size = 0
            while size < at - start and hrefs[o + size] == hrefs[start + size]:
                size += 1
            if size < at - start or hrefs[o + size] != 0:
                return SEE_ALL
            at = start
            r = rel
            continue
        rels[r] = 0
        r += 1
        hrefs[at] = 0
        at += 1
        if (hrefs[start] | 32) == 106 and page - start >= 11 and hrefs[start + 10] == 58:
            look |= IS_SCRIPT
        # ---- the text
        text = m
        p = anchors[b] + 1
        end = events[anchors[b] * ROW + 3]
        if is_small == 0 and end - p > 40:
            look |= 1
            p = end
        size = 0
        has_image = False
        while p < end and size < 1700:  # 400 characters
            c = p * ROW
            what = events[c]
            if what == T_IMG:
                has_image = True
            elif what == TEXT or what == TEXT - 1:
                stop = min(events[c + 2], events[c + 1] + 16384)
                way = 0 if what == TEXT else 2
                size = decoded(src, events[c + 1], stop, way, scratch, size, refs, names)
            p += 1
        if has_image and (is_small == 0 or size == 0 or (size == 1 and scratch[0] == 32)):
            look |= 1
        if look & 1 == 0:
            m = squeeze(scratch, 0, size, texts, m, 400, 200)
        texts[m] = 0
        m += 1
        c = slot * REFERENCE
        rows[c] = start
        rows[c + 1] = page - start
        rows[c + 2] = kind
        rows[c + 3] = text
        rows[c + 4] = m - 1 - text
        rows[c + 5] = rel
        rows[c + 6] = r - 1 - rel
        rows[c + 7] = anchors[b + 6]
        rows[c + 8] = max(at - 2 - page, 0)
        c = slot * KEPT
        kept[c] = anchors[b]
        kept[c + 1] = page
        kept[c + 2] = look
        kept[c + 3] = start
        kept[c + 4] = anchors[b + 6]
        kept[c + 5] = is_refused
        if place >= 0:
            table[place] = slot
        n = max(n, slot + 1)
    out[0] = at
    out[1] = m
    out[2] = r
    return n


def names_nofollow(rels: Bytes, at: int, end: int) -> bool:
    """Return True if a rel in small letters says nofollow."""
    for i in range(at, end - 7):
        if (
            rels[i] == 110
            and rels[i + 1] == 111
            and rels[i + 2] == 102
            and rels[i + 3] == 111
            and rels[i + 4] == 108
            and rels[i + 5] == 108
            and rels[i + 6] == 111
            and rels[i + 7] == 119
        ):
            return True
    return False


def characters_of(
    src: Bytes, start: int, end: int, kind: int, refs: Numbers, names: Bytes, to: Buffer
) -> int:
    """Write a stretch of source as characters; return how many bytes."""
    return decoded(src, start, end, kind, to, 0, refs, names)


def element_texts(
    src: Bytes,
    events: Numbers,
    asked: Numbers,
    count: int,
    refs: Numbers,
    names: Bytes,
    to: Buffer,
    room: int,
    scratch: Buffer,
    scratch_room: int,
) -> int:
    """Write the texts of elements, each ended by a NUL; return how many bytes, or NO_ROOM.

    Asked are events, within how many characters, and how many of them are wanted.
    """
    m = 0
    for a in range(count):
        within = asked[3 * a + 1]
        most = asked[3 * a + 2]
        p = asked[3 * a] + 1
        end = events[asked[3 * a] * ROW + 3]
        size = 0
        while p < end and size < 4 * within:
            c = p * ROW
            kind = events[c]
            if kind == TEXT or kind == TEXT - 1:
                stop = min(events[c + 2], events[c + 1] + 33 * within)
                if size + 2 * (stop - events[c + 1]) + 64 > scratch_room:
                    return NO_ROOM
                way = 0 if kind == TEXT else 2
                size = decoded(src, events[c + 1], stop, way, scratch, size, refs, names)
            p += 1
        if m + 4 * most + 64 > room:
            return NO_ROOM
        m = squeeze(scratch, 0, size, to, m, within, most)
        to[m] = 0
        m += 1
    return m
