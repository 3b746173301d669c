"""The stack of open elements and the list of active formatting ones. For `native`."""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

from gossamer.process.onepass.numbers import (
    CLOSE,
    DEPTH,
    EVENTS,
    FOREIGN,
    FORMATS,
    GONE,
    IMPLIED_END,
    IN_BODY,
    IN_CAPTION,
    IN_CELL,
    IN_COLUMNS,
    IN_ROW,
    IN_ROWS,
    IN_TABLE,
    MOST_DEPTH,
    MOST_FORMATTING,
    OTHERS,
    PARAGRAPHS,
    ROW,
    SCOPE,
    SPECIAL,
    T_A,
    T_BODY,
    T_BUTTON,
    T_CAPTION,
    T_COLGROUP,
    T_DESC,
    T_HTML,
    T_P,
    T_TABLE,
    T_TBODY,
    T_TD,
    T_TFOOT,
    T_TH,
    T_THEAD,
    T_TITLE,
    T_TR,
)

Bytes: TypeAlias = Sequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False


def add(state: Places, stack: Places, events: Places, tag: int, start: int, end: int) -> int:
    """Add an element to the rows; return its row."""
    e = state[EVENTS]
    b = e * ROW
    events[b] = tag
    events[b + 1] = start
    events[b + 2] = end
    events[b + 3] = -1
    events[b + 4] = stack[2 * state[DEPTH] - 1] if state[DEPTH] > 0 else -1
    events[b + 5] = 0
    state[EVENTS] = e + 1
    return e


def push(state: Places, stack: Places, tag: int, e: int) -> None:
    """Put an element on the stack."""
    k = state[DEPTH]
    stack[2 * k] = tag
    stack[2 * k + 1] = e
    state[DEPTH] = k + 1
    if tag == T_P:
        state[PARAGRAPHS] += 1


def close(state: Places, events: Places, e: int, at: int) -> None:
    """Add the row that closes an element."""
    c = state[EVENTS]
    b = c * ROW
    events[b] = CLOSE
    events[b + 1] = at
    events[b + 2] = 0
    events[b + 3] = e
    events[b + 4] = 0
    events[b + 5] = 0
    events[e * ROW + 3] = c
    state[EVENTS] = c + 1


def pop(state: Places, stack: Places, events: Places, at: int) -> None:
    """Take the last element off the stack, and those under it that are gone."""
    k = state[DEPTH] - 1
    if stack[2 * k] == T_P:
        state[PARAGRAPHS] -= 1
    close(state, events, stack[2 * k + 1], at)
    while k > 0 and stack[2 * k - 2] == GONE:
        k -= 1
        close(state, events, stack[2 * k + 1], at)
    state[DEPTH] = k


def top(state: Places, stack: Places) -> int:
    """Return the number of the last open element."""
    return stack[2 * state[DEPTH] - 2]


def put_text(state: Places, events: Places, kind: int, start: int, end: int) -> None:
    """Add a text or a comment to the rows."""
    c = state[EVENTS]
    b = c * ROW
    events[b] = kind
    events[b + 1] = start
    events[b + 2] = end
    events[b + 3] = 0
    events[b + 4] = 0
    events[b + 5] = 0
    state[EVENTS] = c + 1


def flags_of(tag: int, props: Numbers) -> int:
    """Return what holds for an element; an SVG title or desc bounds scopes, too."""
    if 0 < tag < OTHERS:
        return props[tag]
    if tag == FOREIGN + T_TITLE or tag == FOREIGN + T_DESC:
        return SPECIAL | SCOPE
    return 0


def in_scope(
    state: Places, stack: Places, props: Numbers, tag: int, also_1: int, also_2: int
) -> bool:
    """Return True if an element is open, and none that bounds scopes is open in it."""
    k = state[DEPTH] - 1
    while k >= 0:
        t = stack[2 * k]
        if t == tag:
            return True
        if t == also_1 or t == also_2 or flags_of(t, props) & SCOPE:
            return False
        k -= 1
    return False


def in_table_scope(state: Places, stack: Places, tag: int) -> bool:
    """Return True if an element is open within the innermost table."""
    k = state[DEPTH] - 1
    while k >= 0:
        t = stack[2 * k]
        if t == tag:
            return True
        if t == T_TABLE or t == T_HTML:
            return False
        k -= 1
    return False


def imply_ends(
    state: Places, stack: Places, events: Places, props: Numbers, but: int, at: int
) -> None:
    """Close elements whose end tags may be left out, but not one of a name."""
    while True:
        t = top(state, stack)
        if t == but or flags_of(t, props) & IMPLIED_END == 0:
            return
        pop(state, stack, events, at)


def pop_until(state: Places, stack: Places, events: Places, tag: int, at: int) -> None:
    """Close elements up to one of a name, and that."""
    while state[DEPTH] > 0:
        t = top(state, stack)
        pop(state, stack, events, at)
        if t == tag:
            return


def pop_above(state: Places, stack: Places, events: Places, height: int, at: int) -> None:
    """Close the elements above a height of the stack."""
    while state[DEPTH] > height:
        pop(state, stack, events, at)


def close_p(state: Places, stack: Places, events: Places, props: Numbers, at: int) -> None:
    """Close a paragraph that is open."""
    if state[PARAGRAPHS] and in_scope(state, stack, props, T_P, T_BUTTON, T_BUTTON):
        imply_ends(state, stack, events, props, T_P, at)
        pop_until(state, stack, events, T_P, at)


def place_of(state: Places, stack: Places, e: int) -> int:
    """Return where on the stack the element of a row is; -1 if nowhere."""
    k = state[DEPTH] - 1
    while k >= 0:
        if stack[2 * k + 1] == e and stack[2 * k] != GONE:
            return k
        k -= 1
    return -1


def reconstruct(state: Places, stack: Places, formats: Places, events: Places, at: int) -> int:
    """Open formatting elements anew that were closed with what was around them."""
    n = state[FORMATS]
    if n == 0 or formats[2 * n - 2] == 0 or place_of(state, stack, formats[2 * n - 1]) >= 0:
        return 0
    i = n - 1
    while i > 0:
        i -= 1
        if formats[2 * i] == 0 or place_of(state, stack, formats[2 * i + 1]) >= 0:
            i += 1
            break
    while i < n:
        if state[DEPTH] >= MOST_DEPTH:
            return -20
        tag = formats[2 * i]
        if tag == T_A or events[formats[2 * i + 1] * ROW + 5] != 0:
            return -21  # a second element with the same attributes
        e = add(state, stack, events, tag, -1, at)
        push(state, stack, tag, e)
        formats[2 * i + 1] = e
        i += 1
    return 0


def put_format(state: Places, formats: Places, tag: int, e: int) -> int:
    """Add to the list of active formatting elements; a fourth of a kind is left to the tree."""
    n = state[FORMATS]
    same = 0
    i = n - 1
    while i >= 0 and formats[2 * i] != 0:
        if formats[2 * i] == tag:
            same += 1
        i -= 1
    if same >= 3 or n >= MOST_FORMATTING:
        return -22
    formats[2 * n] = tag
    formats[2 * n + 1] = e
    state[FORMATS] = n + 1
    return 0


def drop_format(state: Places, formats: Places, i: int) -> None:
    """Drop an entry of the list of active formatting elements."""
    n = state[FORMATS] - 1
    while i < n:
        formats[2 * i] = formats[2 * i + 2]
        formats[2 * i + 1] = formats[2 * i + 3]
        i += 1
    state[FORMATS] = n


def clear_formats(state: Places, formats: Places) -> None:
    """Drop formatting elements up to the last marker, and that."""
    n = state[FORMATS]
    while n > 0:
        n -= 1
        if formats[2 * n] == 0:
            break
    state[FORMATS] = n


def mark_formats(state: Places, formats: Places) -> int:
    """Put a marker on the list of active formatting elements."""
    n = state[FORMATS]
    if n >= MOST_FORMATTING:
        return -22
    formats[2 * n] = 0
    formats[2 * n + 1] = -1
    state[FORMATS] = n + 1
    return 0


def end_formatting(
    state: Places, stack: Places, formats: Places, events: Places, props: Numbers, tag: int, at: int
) -> int:
    """End a formatting element: 1 if done, 0 if it is as any other, negative for the tree."""
    n = state[FORMATS]
    k = state[DEPTH] - 1
    if n > 0 and stack[2 * k] == tag and formats[2 * n - 1] == stack[2 * k + 1]:
        pop(state, stack, events, at)
        state[FORMATS] = n - 1
        return 1
    if stack[2 * k] == tag:
        listed = False
        for i in range(n):
            if formats[2 * i + 1] == stack[2 * k + 1]:
                listed = True
        if not listed:
            pop(state, stack, events, at)
            return 1
    i = n - 1
    while i >= 0 and formats[2 * i] != 0 and formats[2 * i] != tag:
        i -= 1
    if i < 0 or formats[2 * i] == 0:
        return 0
    place = place_of(state, stack, formats[2 * i + 1])
    if place < 0:
        drop_format(state, formats, i)
        return 1
    k = state[DEPTH] - 1
    while k > place:
        if flags_of(stack[2 * k], props) & SCOPE:
            return 1
        k -= 1
    k = place + 1
    while k < state[DEPTH]:
        if flags_of(stack[2 * k], props) & SPECIAL:
            return -23
        k += 1
    pop_above(state, stack, events, place, at)
    drop_format(state, formats, i)
    return 1


def end_other(
    state: Places, stack: Places, events: Places, props: Numbers, tag: int, at: int
) -> None:
    """End an element that no rule is about."""
    k = state[DEPTH] - 1
    while k >= 0:
        t = stack[2 * k]
        if t == tag:
            imply_ends(state, stack, events, props, tag, at)
            pop_above(state, stack, events, k, at)
            return
        if t == GONE:
            pass
        elif flags_of(t, props) & SPECIAL:
            return
        k -= 1


def mode_now(state: Places, stack: Places) -> int:
    """Return the insertion mode that the open elements imply."""
    k = state[DEPTH] - 1
    while k > 0:
        t = stack[2 * k]
        if t == T_TD or t == T_TH:
            return IN_CELL
        if t == T_TR:
            return IN_ROW
        if t == T_TBODY or t == T_THEAD or t == T_TFOOT:
            return IN_ROWS
        if t == T_CAPTION:
            return IN_CAPTION
        if t == T_COLGROUP:
            return IN_COLUMNS
        if t == T_TABLE:
            return IN_TABLE
        if t == T_BODY:
            return IN_BODY
        k -= 1
    return -1


def clear_to(
    state: Places, stack: Places, events: Places, at: int, tag_1: int, tag_2: int, tag_3: int
) -> None:
    """Close elements up to one that a table is made of."""
    while True:
        t = top(state, stack)
        if t == tag_1 or t == tag_2 or t == tag_3 or t == T_HTML:
            return
        pop(state, stack, events, at)


def close_cell(
    state: Places, stack: Places, formats: Places, events: Places, props: Numbers, at: int
) -> None:
    """Close the open cell of a table."""
    tag = T_TD if in_table_scope(state, stack, T_TD) else T_TH
    imply_ends(state, stack, events, props, 0, at)
    pop_until(state, stack, events, tag, at)
    clear_formats(state, formats)
