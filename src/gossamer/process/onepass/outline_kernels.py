"""HTML without a tree: elements, texts and attributes of a page as rows, in one pass. For `native`.

The tokenizer and the tree construction of the HTML standard, with a stack of open elements and the
list of active formatting elements. What moves nodes about (content that a table pushes out, blocks
in misnested formatting, templates, frame sets) is left to the tree: a negative number says so. Each
byte is looked at a bounded number of times, since stack, list and names are of bounded length.
"""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

from gossamer.process.onepass.mode_kernels import IGNORED, end_tag, start_tag
from gossamer.process.onepass.nesting_kernels import (
    add,
    close,
    flags_of,
    pop,
    pop_above,
    push,
    put_text,
    reconstruct,
    top,
)
from gossamer.process.onepass.numbers import (
    A_HREF,
    A_REL,
    A_START,
    A_TYPE,
    A_VALUE,
    A_XLINK,
    AFTER_BODY,
    AFTER_HEAD,
    ANCHOR,
    ATTRIBUTE,
    BEFORE_HEAD,
    BEFORE_HTML,
    BREAKOUT,
    COMMENT,
    DEPTH,
    ELEMENT,
    EVENTS,
    FIRST_LETTERS,
    FOR_TREE,
    FOREIGN,
    FORM,
    FORMATS,
    FORMATTING,
    HAS_REL,
    HREF_ODD,
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
    MOST_DEPTH,
    MOST_LETTERS,
    NAMED,
    OTHERS,
    PARAGRAPHS,
    QUIRKS,
    RAW,
    RAW_TEXT,
    REFERENCES,
    REL_ODD,
    ROW,
    T_A,
    T_BODY,
    T_BR,
    T_DESC,
    T_HEAD,
    T_HTML,
    T_IMAGE,
    T_IMG,
    T_INPUT,
    T_LI,
    T_LISTING,
    T_MATH,
    T_OL,
    T_P,
    T_PRE,
    T_SCRIPT,
    T_STYLE,
    T_SVG,
    T_TABLE,
    T_TBODY,
    T_TD,
    T_TEXTAREA,
    T_TFOOT,
    T_THEAD,
    T_TITLE,
    T_TR,
    TEXT,
)
from gossamer.process.onepass.scanning_kernels import (
    blank_until,
    comment_end,
    end_of,
    first_in,
    has,
    is_doctype,
    is_letter,
    is_space,
    lines_between,
    matters,
    number_of,
    script_end,
    word,
)

Bytes: TypeAlias = Sequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False


def outline(
    src: Bytes,
    n: int,
    quirks: int,
    tag_slots: Numbers,
    tag_names: Bytes,
    props: Numbers,
    attr_slots: Numbers,
    attr_names: Bytes,
    wanted: Numbers,
    stack: Places,
    formats: Places,
    events: Places,
    most_events: int,
    elements: Places,
    attributes: Places,
    anchors: Places,
    most_rows: int,
    out: Places,
) -> int:
    """Read a page; return the number of rows, negative if the page is one for the tree.

    `quirks` is 1 if the page's doctype is an old one, -1 if that is not known. To `out` go how many
    elements, attributes and links are told. A byte follows `src`.
    """
    state = out
    state[DEPTH] = 0
    state[FORMATS] = 0
    state[EVENTS] = 0
    state[FORM] = 0
    state[PARAGRAPHS] = 0
    element_count = 0
    attr_count = 0
    anchor_count = 0
    state[MODE] = INITIAL
    state[QUIRKS] = quirks
    i = 0
    line = 1
    line_at = 0
    drop_newline = False
    cells = 0
    while i < n:
        if state[EVENTS] + 3 * MOST_DEPTH > most_events:
            return -2
        # ---- text
        c = src[i]
        k = i
        while True:
            while k + 8 < n:
                found = has(word(src, k), 60)
                if found:
                    k += first_in(found)
                    break
                k += 8
            while k < n and src[k] != 60:
                k += 1
            if k >= n:
                break
            if k + 1 < n:
                c = src[k + 1]
                if is_letter(c) or c == 33 or c == 47 or c == 63:
                    if c != 47 or k + 2 < n:
                        break
            k += 1
        if k > i:
            end = k
            start = i
            i = k
            if drop_newline:
                drop_newline = False
                if src[start] == 13:
                    start += 1
                    if start < end and src[start] == 10:
                        start += 1
                elif src[start] == 10:
                    start += 1
            t = top(state, stack) if state[DEPTH] > 0 else 0
            if t > FOREIGN:
                put_text(state, events, TEXT, start, end)
                continue
            if state[MODE] == IN_BODY or state[MODE] == IN_CELL or state[MODE] == IN_CAPTION:
                if reconstruct(state, stack, formats, events, start) < 0:
                    return -21
                put_text(state, events, TEXT, start, end)
                continue
            first = blank_until(src, start, end)
            if first < end and src[first] == 38 and (src[first + 1] < 97 or src[first + 1] == 110):
                return -3  # perhaps a blank
            if first == end:
                if state[MODE] >= AFTER_BODY:
                    if reconstruct(state, stack, formats, events, start) < 0:
                        return -21
                    put_text(state, events, TEXT, start, end)
                elif state[MODE] == IN_TABLE or state[MODE] == IN_ROWS or state[MODE] == IN_ROW:
                    if (
                        t != T_TABLE
                        and t != T_TBODY
                        and t != T_TFOOT
                        and t != T_THEAD
                        and t != T_TR
                    ):
                        return -4
                    put_text(state, events, TEXT, start, end)
                continue
            if state[MODE] == IN_TABLE or state[MODE] == IN_ROWS or state[MODE] == IN_ROW:
                return -5
            if state[MODE] == IN_COLUMNS:
                return -6
            if state[MODE] < AFTER_BODY:
                start = first
                if state[MODE] <= BEFORE_HTML:
                    if state[MODE] == INITIAL:
                        state[QUIRKS] = 1
                    push(state, stack, T_HTML, add(state, stack, events, T_HTML, -1, start))
                    state[MODE] = BEFORE_HEAD
                if state[MODE] == BEFORE_HEAD:
                    push(state, stack, T_HEAD, add(state, stack, events, T_HEAD, -1, start))
                    state[MODE] = IN_HEAD
                if state[MODE] == IN_NOSCRIPT:
                    pop(state, stack, events, start)
                    state[MODE] = IN_HEAD
                if state[MODE] == IN_HEAD:
                    pop(state, stack, events, start)
                    state[MODE] = AFTER_HEAD
                push(state, stack, T_BODY, add(state, stack, events, T_BODY, -1, start))
            state[MODE] = IN_BODY
            if reconstruct(state, stack, formats, events, start) < 0:
                return -21
            put_text(state, events, TEXT, start, end)
            continue
        drop_newline = False
        # ---- a comment, a doctype
        start = i
        c = src[i + 1]
        if c == 33 or c == 63 or (c == 47 and not is_letter(src[i + 2])):
            if c == 47 and src[i + 2] == 62:
                i += 3
                continue
            if c == 33 and i + 3 < n and src[i + 2] == 45 and src[i + 3] == 45:
                i = comment_end(src, i + 4, n)
            else:
                if (
                    c == 33
                    and src[i + 2] == 91
                    and state[DEPTH] > 0
                    and top(state, stack) > FOREIGN
                ):
                    return -7  # CDATA
                k = i + 2
                while k < n and src[k] != 62:
                    k += 1
                if c == 33 and is_doctype(src, i + 2, k):
                    i = k + 1
                    if state[MODE] == INITIAL:
                        state[MODE] = BEFORE_HTML
                    continue
                i = k + 1
            if state[DEPTH] > 0 and state[MODE] < AFTER_BODY:
                put_text(state, events, COMMENT, start, i)
            continue
        closing = c == 47
        k = i + 2 if closing else i + 1
        name = k
        while k < n:
            c = src[k]
            if c == 62 or c == 47 or is_space(c):
                break
            k += 1
        name_end = k
        tag = number_of(src, name, name_end, n, tag_slots, tag_names)
        if tag < 0:
            return -9
        flags = flags_of(tag, props)
        told = wanted[tag] if tag < OTHERS else wanted[0]
        letters = MOST_LETTERS if told == wanted[0] else 0
        # ---- attributes
        first_attr = attr_count
        mask = 0
        self_closing = False
        ended = False
        href_at = -1
        href_size = 0
        rel_at = 0
        rel_size = 0
        link_flags = 0
        is_hidden = False
        ordinal = 0
        while k < n:
            c = src[k]
            if c == 62:
                k += 1
                ended = True
                break
            if is_space(c):
                k += 1
                continue
            if c == 47:
                self_closing = k + 1 < n and src[k + 1] == 62
                k += 1
                continue
            at = k
            k += 1
            while k < n:
                c = src[k]
                if c == 61 or c == 62 or c == 47 or is_space(c):
                    break
                k += 1
            at_end = k
            k = blank_until(src, k, n)
            value = k
            length = 0
            odd = 0
            if k < n and src[k] == 61:
                k = blank_until(src, k + 1, n)
                if k >= n:
                    break
                c = src[k]
                if c == 34 or c == 39:
                    quote = 0 + c
                    k += 1
                    value = k
                    while k < n:
                        while k + 8 < n:
                            w = word(src, k)
                            found = has(w, quote) | has(w, 38) | has(w, 13)
                            if found:
                                k += first_in(found)
                                break
                            k += 8
                        c = src[k]
                        if c == quote:
                            break
                        if c == 38 or c == 13:
                            odd = 1
                        k += 1
                    length = k - value
                    if k >= n:
                        break
                    k += 1
                else:
                    value = k
                    while k < n and src[k] != 62 and not is_space(src[k]):
                        if src[k] == 38:
                            odd = 1
                        k += 1
                    length = k - value
            size = at_end - at
            if closing or size < 2 or size > 16:
                continue
            first = (0 + src[at]) | 32
            if (
                first < 97
                or first > 122
                or (FIRST_LETTERS[letters + size] >> (first - 97)) & 1 == 0
            ):
                continue
            attr = number_of(src, at, at_end, n, attr_slots, attr_names)
            if attr >= OTHERS or (told >> attr) & 1 == 0 or (mask >> attr) & 1:
                continue
            mask |= 1 << attr
            if tag == T_A:
                if attr == A_HREF:
                    href_at = value
                    href_size = length
                    link_flags |= HREF_ODD if odd else 0
                    continue
                if attr == A_REL:
                    rel_at = value
                    rel_size = length
                    link_flags |= HAS_REL | (REL_ODD if odd else 0)
                    continue
            if (tag == T_OL and attr == A_START) or (tag == T_LI and attr == A_VALUE):
                if odd or length > 15:
                    return -10
                q = value
                while q < value + length and 48 <= src[q] <= 57:
                    ordinal = ordinal * 10 + (src[q] - 48)
                    q += 1
                ordinal = ordinal + 1 if q > value else 0
                continue
            if tag == T_INPUT and attr == A_TYPE and length == 6 and (src[value] | 32) == 104:
                is_hidden = (src[value + 1] | 32) == 105 and (src[value + 5] | 32) == 110
            if not matters(src, attr, tag, value, length):
                continue
            if attr_count >= most_rows:
                return -2
            b = attr_count * ATTRIBUTE
            attributes[b] = attr
            attributes[b + 1] = value
            attributes[b + 2] = length
            attributes[b + 3] = odd
            attr_count += 1
        if not ended:
            attr_count = first_attr
            break
        i = k
        if flags & FOR_TREE:
            return -11
        if tag == T_A and (mask >> A_XLINK) & 1:
            return -16
        if state[DEPTH] >= MOST_DEPTH - 4:
            return -12
        # ---- what it means
        before = state[EVENTS]
        if state[DEPTH] > 0 and top(state, stack) > FOREIGN:
            t = top(state, stack)
            if t == FOREIGN + T_TITLE or t == FOREIGN + T_DESC:
                if not closing:
                    return -13  # HTML inside of SVG
            if closing:
                if tag == T_P or tag == T_BR:
                    return -14
                q = state[DEPTH] - 1
                done = False
                while q >= 0 and stack[2 * q] > FOREIGN:
                    if stack[2 * q] == FOREIGN + tag:
                        pop_above(state, stack, events, q, start)
                        done = True
                        break
                    q -= 1
                if not done:
                    return -15
                continue
            if (
                flags & BREAKOUT
                or tag == T_SVG
                or tag == T_MATH
                or tag == T_SCRIPT
                or tag == T_STYLE
            ):
                return -16
            e = add(state, stack, events, FOREIGN + tag, start, i)
            if self_closing:
                close(state, events, e, i)
            else:
                push(state, stack, FOREIGN + tag, e)
        elif closing:
            failed = end_tag(state, stack, formats, events, props, tag, start, i)
            if failed < 0:
                return failed
            continue
        else:
            has_attributes = 1 if attr_count > first_attr else 0
            result = start_tag(
                state,
                stack,
                formats,
                events,
                props,
                tag,
                start,
                i,
                has_attributes,
                1 if is_hidden else 0,
                1 if self_closing else 0,
            )
            if result < 0:
                return result
            if result == IGNORED:
                attr_count = first_attr
                continue
        # ---- an element was added: the last that was opened
        e = state[EVENTS] - 1
        while events[e * ROW] <= 0:
            e -= 1
        if tag == T_LI or tag == T_OL:
            events[e * ROW + 5] = ordinal
        elif flags & FORMATTING and attr_count > first_attr:
            events[e * ROW + 5] = 1
        cells = 0
        if tag == T_PRE:
            drop_newline = True
            for q in range(state[DEPTH]):
                if stack[2 * q] == T_TD:
                    cells = 1
        elif tag == T_LISTING or tag == T_TEXTAREA:
            drop_newline = True
        is_told = attr_count > first_attr or flags & NAMED != 0 or cells != 0
        if is_told or (tag == T_A and href_at >= 0):
            line += lines_between(src, line_at, start)
            line_at = start
        if is_told:
            if element_count >= most_rows:
                return -2
            b = element_count * ELEMENT
            elements[b] = e
            elements[b + 1] = T_IMG if tag == T_IMAGE and events[e * ROW] == T_IMG else tag
            elements[b + 2] = first_attr
            elements[b + 3] = attr_count - first_attr
            elements[b + 4] = line
            elements[b + 5] = cells
            element_count += 1
        if tag == T_A and href_at >= 0:
            if anchor_count >= most_rows:
                return -2
            b = anchor_count * ANCHOR
            anchors[b] = e
            anchors[b + 1] = href_at
            anchors[b + 2] = href_size
            anchors[b + 3] = rel_at
            anchors[b + 4] = rel_size
            anchors[b + 5] = link_flags
            anchors[b + 6] = line
            anchor_count += 1
        # ---- content that is no markup
        if flags & (RAW | REFERENCES) and events[e * ROW] < FOREIGN:
            if tag == T_SCRIPT:
                end = script_end(src, i, n)
            else:
                end = end_of(src, i, n, name, name_end - name)
            at = i
            if drop_newline:
                drop_newline = False
                if at < end and src[at] == 13:
                    at += 1
                if at < end and src[at] == 10:
                    at += 1
            if end > at:
                put_text(state, events, TEXT if flags & REFERENCES else RAW_TEXT, at, end)
            pop(state, stack, events, end)
            i = end
            if end < n:
                i = blank_until(src, end + 2 + name_end - name, n)
                if i >= n or src[i] != 62:
                    return -34
                i += 1
        if before == state[EVENTS]:
            return -33
    # ---- the end: what a document always has, and what is still open
    if state[MODE] <= BEFORE_HTML:
        push(state, stack, T_HTML, add(state, stack, events, T_HTML, -1, n))
        state[MODE] = BEFORE_HEAD
    if state[MODE] == BEFORE_HEAD:
        push(state, stack, T_HEAD, add(state, stack, events, T_HEAD, -1, n))
        state[MODE] = IN_HEAD
    if state[MODE] == IN_NOSCRIPT:
        pop(state, stack, events, n)
        state[MODE] = IN_HEAD
    if state[MODE] == IN_HEAD:
        pop(state, stack, events, n)
        state[MODE] = AFTER_HEAD
    if state[MODE] == AFTER_HEAD:
        push(state, stack, T_BODY, add(state, stack, events, T_BODY, -1, n))
    pop_above(state, stack, events, 0, n)
    count = state[EVENTS]
    out[0] = element_count
    out[1] = attr_count
    out[2] = anchor_count
    return count
