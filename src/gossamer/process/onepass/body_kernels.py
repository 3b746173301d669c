"""What tags do in the body of a page. For `native`."""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

from gossamer.process.onepass.nesting_kernels import (
    add,
    clear_formats,
    close,
    close_p,
    drop_format,
    end_formatting,
    end_other,
    flags_of,
    imply_ends,
    in_scope,
    mark_formats,
    place_of,
    pop,
    pop_above,
    pop_until,
    push,
    put_format,
    reconstruct,
    top,
)
from gossamer.process.onepass.numbers import (
    CLOSES_P,
    DEPTH,
    ENDS_BLOCK,
    FOREIGN,
    FORM,
    FORMATS,
    FORMATTING,
    GONE,
    HEADING,
    RAW,
    REFERENCES,
    SCOPE,
    SPECIAL,
    T_A,
    T_ADDRESS,
    T_APPLET,
    T_BASE,
    T_BASEFONT,
    T_BGSOUND,
    T_BR,
    T_BUTTON,
    T_DD,
    T_DIV,
    T_DT,
    T_FORM,
    T_FRAME,
    T_HEAD,
    T_HR,
    T_IMAGE,
    T_IMG,
    T_INPUT,
    T_LI,
    T_LINK,
    T_LISTING,
    T_MARQUEE,
    T_META,
    T_NOBR,
    T_OBJECT,
    T_OL,
    T_OPTGROUP,
    T_OPTION,
    T_P,
    T_PRE,
    T_RB,
    T_RP,
    T_RT,
    T_RTC,
    T_RUBY,
    T_SELECT,
    T_TABLE,
    T_UL,
    T_XMP,
    TABLE_PART,
    VOID,
)

Bytes: TypeAlias = Sequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False


def in_body_start(
    state: Places,
    stack: Places,
    formats: Places,
    events: Places,
    props: Numbers,
    tag: int,
    start: int,
    end: int,
    quirks: int,
) -> int:
    """Open an element in a body: 0, 1 if a table was opened, 2 if it was ignored; else negative."""
    flags = flags_of(tag, props)
    if tag == T_HEAD or tag == T_FRAME or flags & TABLE_PART:
        return 2
    if flags & HEADING:
        close_p(state, stack, events, props, start)
        if flags_of(top(state, stack), props) & HEADING:
            pop(state, stack, events, start)
    elif flags & CLOSES_P or tag == T_PRE or tag == T_LISTING or tag == T_HR:
        close_p(state, stack, events, props, start)
        if tag == T_HR and in_scope(state, stack, props, T_SELECT, T_SELECT, T_SELECT):
            imply_ends(state, stack, events, props, 0, start)
    elif tag == T_TABLE:
        if in_scope(state, stack, props, T_P, T_BUTTON, T_BUTTON):
            if quirks < 0:
                return -31
            if quirks == 0:
                imply_ends(state, stack, events, props, T_P, start)
                pop_until(state, stack, events, T_P, start)
        e = add(state, stack, events, tag, start, end)
        push(state, stack, tag, e)
        return 1
    elif tag == T_LI or tag == T_DD or tag == T_DT:
        k = state[DEPTH] - 1
        while k >= 0:
            t = stack[2 * k]
            if t == tag or (tag == T_DD and t == T_DT) or (tag == T_DT and t == T_DD):
                imply_ends(state, stack, events, props, t, start)
                pop_until(state, stack, events, t, start)
                break
            if t > FOREIGN and (t - FOREIGN == tag or t - FOREIGN == T_DD or t - FOREIGN == T_DT):
                return -32
            if flags_of(t, props) & SPECIAL and t != T_ADDRESS and t != T_DIV and t != T_P:
                break
            k -= 1
        close_p(state, stack, events, props, start)
    elif tag == T_BUTTON:
        if in_scope(state, stack, props, T_BUTTON, T_BUTTON, T_BUTTON):
            imply_ends(state, stack, events, props, 0, start)
            pop_until(state, stack, events, T_BUTTON, start)
        if reconstruct(state, stack, formats, events, start) < 0:
            return -21
    elif tag == T_SELECT:
        if in_scope(state, stack, props, T_SELECT, T_SELECT, T_SELECT):
            pop_until(state, stack, events, T_SELECT, start)
            return 2
        if reconstruct(state, stack, formats, events, start) < 0:
            return -21
    elif tag == T_OPTION or tag == T_OPTGROUP:
        if in_scope(state, stack, props, T_SELECT, 0, 0):
            imply_ends(state, stack, events, props, T_OPTGROUP if tag == T_OPTION else 0, start)
        elif top(state, stack) == T_OPTION:
            pop(state, stack, events, start)
        if reconstruct(state, stack, formats, events, start) < 0:
            return -21
    elif tag == T_RB or tag == T_RTC or tag == T_RP or tag == T_RT:
        if in_scope(state, stack, props, T_RUBY, 0, 0):
            but = T_RTC if tag == T_RP or tag == T_RT else 0
            imply_ends(state, stack, events, props, but, start)
    elif tag == T_META or tag == T_LINK or tag == T_BASE or tag == T_BASEFONT or tag == T_BGSOUND:
        pass
    elif tag == T_FORM:
        if state[FORM] != 0:
            return 2
        close_p(state, stack, events, props, start)
        e = add(state, stack, events, tag, start, end)
        push(state, stack, tag, e)
        state[FORM] = e + 1
        return 0
    elif flags & (RAW | REFERENCES):
        if tag == T_XMP:
            close_p(state, stack, events, props, start)
            if reconstruct(state, stack, formats, events, start) < 0:
                return -21
    else:
        if tag == T_INPUT and in_scope(state, stack, props, T_SELECT, 0, 0):
            pop_until(state, stack, events, T_SELECT, start)
        if tag == T_A:
            i = state[FORMATS] - 1
            while i >= 0 and formats[2 * i] != 0:
                if formats[2 * i] == T_A:
                    got = formats[2 * i + 1]
                    if end_formatting(state, stack, formats, events, props, T_A, start) < 0:
                        return -24
                    i = state[FORMATS] - 1
                    while i >= 0:
                        if formats[2 * i + 1] == got:
                            drop_format(state, formats, i)
                        i -= 1
                    if place_of(state, stack, got) >= 0:
                        return -25
                    break
                i -= 1
        if tag == T_NOBR and in_scope(state, stack, props, T_NOBR, 0, 0):
            return -26
        if reconstruct(state, stack, formats, events, start) < 0:
            return -21
    e = add(state, stack, events, T_IMG if tag == T_IMAGE else tag, start, end)
    if flags & VOID:
        close(state, events, e, end)
        return 0
    push(state, stack, tag, e)
    if flags & FORMATTING and put_format(state, formats, tag, e) < 0:
        return -22
    if (tag == T_OBJECT or tag == T_APPLET or tag == T_MARQUEE) and mark_formats(
        state, formats
    ) < 0:
        return -22
    return 0


def in_body_end(
    state: Places,
    stack: Places,
    formats: Places,
    events: Places,
    props: Numbers,
    tag: int,
    start: int,
    end: int,
) -> int:
    """Close an element in a body: 0, or negative for the tree."""
    flags = flags_of(tag, props)
    if tag == T_P:
        if not in_scope(state, stack, props, T_P, T_BUTTON, T_BUTTON):
            close(state, events, add(state, stack, events, T_P, -1, end), end)
        else:
            imply_ends(state, stack, events, props, T_P, start)
            pop_until(state, stack, events, T_P, start)
        return 0
    if flags & HEADING:
        k = state[DEPTH] - 1
        while k >= 0:
            t = flags_of(stack[2 * k], props)
            if t & HEADING:
                imply_ends(state, stack, events, props, 0, start)
                pop_above(state, stack, events, k, start)
                return 0
            if t & SCOPE:
                return 0
            k -= 1
        return 0
    if tag == T_LI or tag == T_DD or tag == T_DT:
        ol = T_OL if tag == T_LI else 0
        ul = T_UL if tag == T_LI else 0
        if in_scope(state, stack, props, tag, ol, ul):
            imply_ends(state, stack, events, props, tag, start)
            pop_until(state, stack, events, tag, start)
        return 0
    if tag == T_FORM:
        e = state[FORM] - 1
        state[FORM] = 0
        if e < 0:
            return 0
        place = place_of(state, stack, e)
        if place < 0:
            return 0
        k = state[DEPTH] - 1
        while k > place:
            if flags_of(stack[2 * k], props) & SCOPE:
                return 0
            k -= 1
        imply_ends(state, stack, events, props, 0, start)
        if place == state[DEPTH] - 1:
            pop(state, stack, events, start)
        else:
            stack[2 * place] = GONE
        return 0
    if flags & ENDS_BLOCK:
        if in_scope(state, stack, props, tag, 0, 0):
            imply_ends(state, stack, events, props, 0, start)
            pop_until(state, stack, events, tag, start)
        return 0
    if flags & FORMATTING:
        done = end_formatting(state, stack, formats, events, props, tag, start)
        if done != 0:
            return min(done, 0)
    if tag == T_OBJECT or tag == T_APPLET or tag == T_MARQUEE:
        if in_scope(state, stack, props, tag, 0, 0):
            imply_ends(state, stack, events, props, 0, start)
            pop_until(state, stack, events, tag, start)
            clear_formats(state, formats)
        return 0
    if tag == T_BR:
        if reconstruct(state, stack, formats, events, start) < 0:
            return -21
        close(state, events, add(state, stack, events, T_BR, -1, end), end)
        return 0
    end_other(state, stack, events, props, tag, start)
    return 0
