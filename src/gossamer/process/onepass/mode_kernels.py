"""What tags mean in each insertion mode of the HTML standard. For `native`."""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

from gossamer.process.onepass.body_kernels import in_body_end, in_body_start
from gossamer.process.onepass.nesting_kernels import (
    add,
    clear_formats,
    clear_to,
    close,
    close_cell,
    flags_of,
    imply_ends,
    in_scope,
    in_table_scope,
    mark_formats,
    mode_now,
    pop,
    pop_until,
    push,
    reconstruct,
    top,
)
from gossamer.process.onepass.numbers import (
    AFTER_ALL,
    AFTER_BODY,
    AFTER_HEAD,
    BEFORE_HEAD,
    BEFORE_HTML,
    FOREIGN,
    FORM,
    IN_BODY,
    IN_CAPTION,
    IN_CELL,
    IN_COLUMNS,
    IN_HEAD,
    IN_NOSCRIPT,
    IN_ROW,
    IN_ROWS,
    IN_TABLE,
    INITIAL,
    MODE,
    QUIRKS,
    T_BASE,
    T_BASEFONT,
    T_BGSOUND,
    T_BODY,
    T_BR,
    T_CAPTION,
    T_COL,
    T_COLGROUP,
    T_FORM,
    T_HEAD,
    T_HTML,
    T_INPUT,
    T_LINK,
    T_MATH,
    T_META,
    T_NOFRAMES,
    T_NOSCRIPT,
    T_P,
    T_SCRIPT,
    T_SELECT,
    T_STYLE,
    T_SVG,
    T_TABLE,
    T_TBODY,
    T_TD,
    T_TFOOT,
    T_TH,
    T_THEAD,
    T_TITLE,
    T_TR,
    TABLE_PART,
)

Bytes: TypeAlias = Sequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False


IGNORED = 2
"""A tag that means nothing where it stands."""


def start_tag(
    state: Places,
    stack: Places,
    formats: Places,
    events: Places,
    props: Numbers,
    tag: int,
    start: int,
    i: int,
    has_attributes: int,
    is_hidden: int,
    self_closing: int,
) -> int:
    """Open what a start tag opens in the present mode: 0, IGNORED, or negative for the tree."""
    flags = flags_of(tag, props)
    mode = state[MODE]
    ignored = False
    while True:
        if mode > BEFORE_HTML and (tag == T_HTML or (tag == T_BODY and mode > AFTER_HEAD)):
            if has_attributes:
                return -30  # its attributes would be merged
            if mode >= AFTER_BODY:
                mode = IN_BODY
            ignored = True
            break
        if mode <= BEFORE_HTML:
            if mode == INITIAL:
                state[QUIRKS] = 1
            if tag == T_HTML:
                push(state, stack, T_HTML, add(state, stack, events, T_HTML, start, i))
                mode = BEFORE_HEAD
                break
            push(state, stack, T_HTML, add(state, stack, events, T_HTML, -1, start))
            mode = BEFORE_HEAD
            continue
        if mode == BEFORE_HEAD:
            mode = IN_HEAD
            if tag == T_HEAD:
                push(state, stack, T_HEAD, add(state, stack, events, T_HEAD, start, i))
                break
            push(state, stack, T_HEAD, add(state, stack, events, T_HEAD, -1, start))
            continue
        if mode == IN_HEAD or mode == IN_NOSCRIPT or mode == AFTER_HEAD:
            if tag == T_HEAD and mode != AFTER_HEAD:
                ignored = True
                break
            if mode == IN_NOSCRIPT and tag == T_NOSCRIPT:
                ignored = True
                break
            is_void = tag == T_META or tag == T_LINK or tag == T_BASEFONT or tag == T_BGSOUND
            if is_void or (tag == T_BASE and mode != IN_NOSCRIPT):
                close(state, events, add(state, stack, events, tag, start, i), i)
                break
            if tag == T_STYLE or tag == T_NOFRAMES:
                push(state, stack, tag, add(state, stack, events, tag, start, i))
                break
            if (tag == T_TITLE or tag == T_SCRIPT) and mode != IN_NOSCRIPT:
                push(state, stack, tag, add(state, stack, events, tag, start, i))
                break
            if mode == IN_NOSCRIPT:
                pop(state, stack, events, start)
                mode = IN_HEAD
                continue
            if mode == IN_HEAD:
                if tag == T_NOSCRIPT:
                    push(state, stack, tag, add(state, stack, events, tag, start, i))
                    mode = IN_NOSCRIPT
                    break
                pop(state, stack, events, start)
                mode = AFTER_HEAD
                continue
            mode = IN_BODY
            if tag == T_BODY:
                push(state, stack, tag, add(state, stack, events, tag, start, i))
                break
            push(state, stack, T_BODY, add(state, stack, events, T_BODY, -1, start))
            continue
        if mode >= AFTER_BODY:
            mode = IN_BODY
            continue
        if mode != IN_BODY and (flags & TABLE_PART or tag == T_TABLE):
            if in_scope(state, stack, props, T_SELECT, 0, 0):
                return -27
        if mode == IN_CELL:
            if flags & TABLE_PART:
                close_cell(state, stack, formats, events, props, start)
                mode = IN_ROW
                continue
        elif mode == IN_CAPTION:
            if flags & TABLE_PART:
                imply_ends(state, stack, events, props, 0, start)
                pop_until(state, stack, events, T_CAPTION, start)
                clear_formats(state, formats)
                mode = IN_TABLE
                continue
        elif mode == IN_ROW:
            if tag == T_TD or tag == T_TH:
                clear_to(state, stack, events, start, T_TR, T_TR, T_TR)
                push(state, stack, tag, add(state, stack, events, tag, start, i))
                if mark_formats(state, formats) < 0:
                    return -22
                mode = IN_CELL
                break
            if flags & TABLE_PART:
                clear_to(state, stack, events, start, T_TR, T_TR, T_TR)
                pop(state, stack, events, start)
                mode = IN_ROWS
                continue
        elif mode == IN_ROWS:
            if tag == T_TR or tag == T_TD or tag == T_TH:
                clear_to(state, stack, events, start, T_TBODY, T_TFOOT, T_THEAD)
                mode = IN_ROW
                if tag == T_TR:
                    push(state, stack, tag, add(state, stack, events, tag, start, i))
                    break
                push(state, stack, T_TR, add(state, stack, events, T_TR, -1, start))
                continue
            if flags & TABLE_PART:
                clear_to(state, stack, events, start, T_TBODY, T_TFOOT, T_THEAD)
                pop(state, stack, events, start)
                mode = IN_TABLE
                continue
        elif mode == IN_COLUMNS:
            if tag == T_COL:
                close(state, events, add(state, stack, events, tag, start, i), i)
                break
            pop(state, stack, events, start)
            mode = IN_TABLE
            continue
        if mode == IN_TABLE or mode == IN_ROW or mode == IN_ROWS:
            if flags & TABLE_PART:
                clear_to(state, stack, events, start, T_TABLE, T_TABLE, T_TABLE)
                if tag == T_CAPTION:
                    if mark_formats(state, formats) < 0:
                        return -22
                    push(state, stack, tag, add(state, stack, events, tag, start, i))
                    mode = IN_CAPTION
                    break
                if tag == T_COLGROUP:
                    push(state, stack, tag, add(state, stack, events, tag, start, i))
                    mode = IN_COLUMNS
                    break
                if tag == T_COL:
                    e = add(state, stack, events, T_COLGROUP, -1, start)
                    push(state, stack, T_COLGROUP, e)
                    mode = IN_COLUMNS
                    continue
                mode = IN_ROWS
                if tag == T_TBODY or tag == T_THEAD or tag == T_TFOOT:
                    push(state, stack, tag, add(state, stack, events, tag, start, i))
                    break
                push(state, stack, T_TBODY, add(state, stack, events, T_TBODY, -1, start))
                continue
            t = top(state, stack)
            if t != T_TABLE and t != T_TBODY and t != T_THEAD and t != T_TFOOT and t != T_TR:
                return -28
            if tag == T_STYLE or tag == T_SCRIPT:
                push(state, stack, tag, add(state, stack, events, tag, start, i))
                break
            if tag == T_INPUT and is_hidden:
                close(state, events, add(state, stack, events, tag, start, i), i)
                break
            if tag == T_FORM:
                if state[FORM] == 0:
                    e = add(state, stack, events, tag, start, i)
                    close(state, events, e, i)
                    state[FORM] = e + 1
                    break
                ignored = True
                break
            return -29
        if tag == T_MATH:
            return -16
        if tag == T_SVG:
            if reconstruct(state, stack, formats, events, start) < 0:
                return -21
            e = add(state, stack, events, FOREIGN + tag, start, i)
            if self_closing:
                close(state, events, e, i)
            else:
                push(state, stack, FOREIGN + tag, e)
            break
        begun_as = in_body_start(state, stack, formats, events, props, tag, start, i, state[QUIRKS])
        if begun_as < 0:
            return begun_as
        if begun_as == 1:
            mode = IN_TABLE
        ignored = begun_as == 2
        break
    state[MODE] = mode
    return IGNORED if ignored else 0


def end_tag(
    state: Places,
    stack: Places,
    formats: Places,
    events: Places,
    props: Numbers,
    tag: int,
    start: int,
    i: int,
) -> int:
    """Close what an end tag closes in the present mode: 0, or negative for the tree."""
    flags = flags_of(tag, props)
    mode = state[MODE]
    while True:
        if mode <= AFTER_HEAD:
            if mode == IN_NOSCRIPT:
                if tag == T_NOSCRIPT:
                    pop(state, stack, events, start)
                    mode = IN_HEAD
                    break
                if tag != T_BR:
                    break
                pop(state, stack, events, start)
                mode = IN_HEAD
                continue
            if mode == INITIAL:
                state[QUIRKS] = 1
                mode = BEFORE_HTML
            if mode == IN_HEAD and tag == T_HEAD:
                pop(state, stack, events, start)
                mode = AFTER_HEAD
                break
            if tag != T_HEAD and tag != T_BODY and tag != T_HTML and tag != T_BR:
                break
            if tag == T_HEAD and mode == AFTER_HEAD:
                break
            if mode == BEFORE_HTML:
                push(state, stack, T_HTML, add(state, stack, events, T_HTML, -1, start))
                mode = BEFORE_HEAD
            elif mode == BEFORE_HEAD:
                push(state, stack, T_HEAD, add(state, stack, events, T_HEAD, -1, start))
                mode = IN_HEAD
            elif mode == IN_HEAD:
                pop(state, stack, events, start)
                mode = AFTER_HEAD
            else:
                push(state, stack, T_BODY, add(state, stack, events, T_BODY, -1, start))
                mode = IN_BODY
            continue
        if mode == AFTER_BODY and tag == T_HTML:
            mode = AFTER_ALL
            break
        if mode >= AFTER_BODY:
            mode = IN_BODY
            continue
        if mode == IN_CELL:
            if tag == T_TD or tag == T_TH:
                if in_table_scope(state, stack, tag):
                    imply_ends(state, stack, events, props, 0, start)
                    pop_until(state, stack, events, tag, start)
                    clear_formats(state, formats)
                    mode = IN_ROW
                break
            if tag == T_TABLE or tag == T_TBODY or tag == T_TFOOT or tag == T_THEAD or tag == T_TR:
                if in_table_scope(state, stack, tag):
                    close_cell(state, stack, formats, events, props, start)
                    mode = IN_ROW
                    continue
                break
            if flags & TABLE_PART or tag == T_BODY or tag == T_HTML:
                break
        elif mode == IN_ROW:
            if tag == T_TR or tag == T_TABLE:
                if in_table_scope(state, stack, T_TR):
                    clear_to(state, stack, events, start, T_TR, T_TR, T_TR)
                    pop(state, stack, events, start)
                    mode = IN_ROWS
                    if tag == T_TABLE:
                        continue
                break
            if tag == T_TBODY or tag == T_THEAD or tag == T_TFOOT:
                if in_table_scope(state, stack, tag):
                    clear_to(state, stack, events, start, T_TR, T_TR, T_TR)
                    pop(state, stack, events, start)
                    mode = IN_ROWS
                    continue
                break
            if flags & TABLE_PART or tag == T_BODY or tag == T_HTML:
                break
            if tag == T_P or tag == T_BR:
                return -17
        elif mode == IN_ROWS:
            if tag == T_TBODY or tag == T_THEAD or tag == T_TFOOT or tag == T_TABLE:
                if tag == T_TABLE or in_table_scope(state, stack, tag):
                    clear_to(state, stack, events, start, T_TBODY, T_TFOOT, T_THEAD)
                    pop(state, stack, events, start)
                    mode = IN_TABLE
                    if tag == T_TABLE:
                        continue
                break
            if flags & TABLE_PART or tag == T_BODY or tag == T_HTML:
                break
            if tag == T_P or tag == T_BR:
                return -17
        elif mode == IN_COLUMNS:
            if tag == T_COL:
                return -18
            pop(state, stack, events, start)
            mode = IN_TABLE
            if tag == T_COLGROUP:
                break
            continue
        elif mode == IN_TABLE:
            if tag == T_TABLE:
                pop_until(state, stack, events, T_TABLE, start)
                mode = mode_now(state, stack)
                if mode < 0:
                    return -19
                break
            if flags & TABLE_PART or tag == T_BODY or tag == T_HTML:
                break
            if tag == T_P or tag == T_BR:
                return -17
        elif mode == IN_CAPTION:
            if tag == T_CAPTION or tag == T_TABLE:
                imply_ends(state, stack, events, props, 0, start)
                pop_until(state, stack, events, T_CAPTION, start)
                clear_formats(state, formats)
                mode = IN_TABLE
                if tag == T_TABLE:
                    continue
                break
            if flags & TABLE_PART:
                return -18
        if tag == T_BODY or tag == T_HTML:
            if in_scope(state, stack, props, T_BODY, 0, 0):
                mode = AFTER_ALL if tag == T_HTML else AFTER_BODY
            break
        ended_as = in_body_end(state, stack, formats, events, props, tag, start, i)
        if ended_as < 0:
            return ended_as
        break
    state[MODE] = mode
    return 0
