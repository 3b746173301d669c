"""The text of a page, laid out, from the rows of `outline_kernels`. For `native`.

`layout` writes what turbohtml's `to_text` writes: blocks with empty lines between them, lists under
their marks, tables as grids. Characters are copied as UTF-8; references are decoded on the way.
"""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

from gossamer.process.onepass.character_kernels import (
    characters,
    is_blank,
)
from gossamer.process.onepass.numbers import (
    BLOCK,
    BLOCKS,
    CELL,
    CELLED,
    CELLS,
    CLOSE,
    CONTENT,
    F_COLUMN,
    F_COLUMNS,
    F_EVENT,
    F_FIRST,
    F_INDENT,
    F_LEVELS,
    F_NUMBER,
    F_ORDERED,
    F_PREFIX,
    F_ROW,
    F_RUN,
    F_SAVED,
    F_SPAN,
    F_START,
    F_TIGHT,
    F_WALK,
    FOREIGN,
    FRAME,
    HELD,
    INLINE,
    LENGTH_BITS,
    LEVELS,
    LIST,
    LOOSE,
    MARK_BIT,
    MOST_COLUMNS,
    MOST_INDENTS,
    OTHERS,
    PREFIX,
    ROW,
    ROWS,
    SIZE,
    SKIPPED,
    SPACE,
    STARTED,
    SUPPRESS,
    T_BLOCKQUOTE,
    T_BR,
    T_IMG,
    T_LI,
    T_MENU,
    T_OL,
    T_PRE,
    T_SCRIPT,
    T_STYLE,
    T_TABLE,
    T_TBODY,
    T_TD,
    T_TFOOT,
    T_TH,
    T_THEAD,
    T_TR,
    T_UL,
    T_WBR,
    TEXT,
    TIGHT,
    VERBATIM,
)
from gossamer.process.onepass.scanning_kernels import (
    is_space,
)
from gossamer.process.onepass.writing_kernels import (
    block_line,
    new_line,
    prefix,
    put_child_text,
    put_mark,
    put_words,
)

Bytes: TypeAlias = Sequence[int]
Buffer: TypeAlias = MutableSequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False


def layout_flags(tag: int, props: Numbers) -> int:
    """Return how an element is laid out."""
    if 0 < tag < OTHERS:
        return props[tag]
    if tag == FOREIGN + T_SCRIPT or tag == FOREIGN + T_STYLE:
        return SKIPPED
    return 0


def leads_inline(
    src: Bytes,
    events: Numbers,
    e: int,
    props: Numbers,
    refs: Numbers,
    names: Bytes,
    scratch: Buffer,
) -> int:
    """Return 1 if what an item begins with is text, 0 if it is a block or nothing."""
    if events[e * ROW + 5] >> MARK_BIT:
        return 1
    p = e + 1
    end = events[e * ROW + 3]
    while p < end:
        b = p * ROW
        tag = events[b]
        if tag > 0:
            flags = layout_flags(tag, props)
            if flags & SKIPPED == 0:
                return 0 if flags & BLOCK else 1
            p = events[b + 3] + 1
            continue
        if tag == TEXT:
            if not is_blank(src, events[b + 1], events[b + 2], refs, names, scratch):
                return 1
        p += 1
    return 0


def indent(state: Places, frames: Places, f: int, columns: int, levels: int) -> None:
    """Let what follows begin further right, until the frame ends."""
    frames[f + F_PREFIX] = state[PREFIX]
    frames[f + F_LEVELS] = state[LEVELS]
    state[LEVELS] += levels
    if state[LEVELS] <= MOST_INDENTS:
        state[PREFIX] += columns


def put_grid(
    state: Places,
    frames: Places,
    f: int,
    cells: Places,
    count: int,
    text: Buffer,
    room: int,
    scratch: Buffer,
    widths: Places,
) -> int:
    """Write a table whose cells stand behind each other as a grid; negative if it is too large."""
    first = frames[f + F_FIRST]
    columns = frames[f + F_COLUMNS]
    rows = frames[f + F_ROW] + 1
    start = frames[f + F_START]
    if columns == 0:
        state[SIZE] = start
        return 0
    if columns > MOST_COLUMNS:
        return -40
    for k in range(start, state[SIZE]):
        scratch[k] = text[k]
    for k in range(columns):
        widths[k] = 0
    for k in range(first, count):
        c = k * CELL
        column = cells[c + 1]
        widths[column] = max(widths[column], cells[c + 4])
    state[SIZE] = start
    block_line(state, text, 1)
    k = first
    for row in range(rows):
        if row:
            new_line(state, text)
        m = state[SIZE]
        for column in range(columns):
            width = widths[column]
            if column:
                text[m] = 32
                text[m + 1] = 32
                m += 2
            written = 0
            if k < count and cells[k * CELL] == row and cells[k * CELL + 1] == column:
                c = k * CELL
                if m + cells[c + 3] - cells[c + 2] + 4096 > room:
                    return -41
                for q in range(cells[c + 2], cells[c + 3]):
                    text[m] = 32 if scratch[q] == 10 else scratch[q]
                    m += 1
                written = cells[c + 4]
                k += 1
            if column + 1 < columns:
                if m + width + 4096 > room:
                    return -41
                for _ in range(width - written):
                    text[m] = 32
                    m += 1
        state[SIZE] = m
        state[CONTENT] = 1
    return 0


def layout(
    src: Bytes,
    events: Numbers,
    count: int,
    props: Numbers,
    refs: Numbers,
    names: Bytes,
    side: Bytes,
    frames: Places,
    cells: Places,
    most_cells: int,
    widths: Places,
    text: Buffer,
    room: int,
    scratch: Buffer,
    spans: Places,
    most_spans: int,
    out: Places,
) -> int:
    """Write the text of a page; return how many spans of code it has, negative for the tree.

    To `out`: where the text begins in `text`, and where it ends. Spans are given in characters.
    """
    state = out
    for k in range(11):
        state[k] = 0
    f = 0
    frames[F_EVENT] = -1
    frames[F_WALK] = BLOCKS
    frames[F_RUN] = 0
    frames[F_PREFIX] = -1
    cell_count = 0
    span_count = 0
    p = 0
    while p < count:
        if state[SIZE] + 8192 > room:
            return -42
        b = p * ROW
        tag = events[b]
        walk = frames[f + F_WALK]
        if tag == CLOSE:
            e = events[b + 3]
            marks = events[e * ROW + 5] >> MARK_BIT
            while marks:
                put_mark(state, frames, f, 0x93, text, scratch, refs, names)
                marks >>= 2
            p += 1
            if frames[f + F_EVENT] != e:
                continue  # an element in preformatted text
            if events[e * ROW] == T_PRE and walk == VERBATIM:
                state[HELD] = 0
                if state[CELLED] == 0:
                    start = frames[f + F_SPAN]
                    end = state[SIZE]
                    while start < end and is_space(text[start]):
                        start += 1
                    while end > start and is_space(text[end - 1]):
                        end -= 1
                    if start < end:
                        if span_count >= most_spans:
                            return -43
                        spans[2 * span_count] = start
                        spans[2 * span_count + 1] = end
                        span_count += 1
            elif walk == ROWS and events[e * ROW] == T_TABLE:
                first = frames[f + F_FIRST]
                if put_grid(state, frames, f, cells, cell_count, text, room, scratch, widths) < 0:
                    return -41
                cell_count = first
            elif frames[f + F_SAVED] >= 0:
                # a cell: its text stays where it is until the table is written
                state[CELLED] -= 1
                start = frames[f + F_START]
                g = f - FRAME
                while frames[g + F_WALK] != ROWS or events[frames[g + F_EVENT] * ROW] != T_TABLE:
                    g -= FRAME
                if cell_count >= most_cells:
                    return -44
                c = cell_count * CELL
                column = frames[g + F_COLUMN]
                cells[c] = frames[g + F_ROW]
                cells[c + 1] = column
                cells[c + 2] = start
                cells[c + 3] = state[SIZE]
                cells[c + 4] = characters(text, start, state[SIZE])
                cell_count += 1
                frames[g + F_COLUMN] = column + 1
                frames[g + F_COLUMNS] = max(frames[g + F_COLUMNS], column + 1)
                saved = frames[f + F_SAVED]
                state[CONTENT] = saved & 1
                state[SPACE] = (saved >> 1) & 1
                state[STARTED] = (saved >> 2) & 1
                state[PREFIX] = saved >> 3
            if frames[f + F_PREFIX] >= 0:
                state[PREFIX] = frames[f + F_PREFIX]
                state[TIGHT] = frames[f + F_TIGHT]
                state[LEVELS] = frames[f + F_LEVELS]
            f -= FRAME
            continue
        if tag < 0:
            if tag < TEXT - 1:
                p += 1
                continue
            if walk == BLOCKS and frames[f + F_RUN] == 0:
                # texts that nothing stands between are one
                q = p
                blank = True
                while blank and (events[q * ROW] == TEXT or events[q * ROW] == TEXT - 1):
                    c = q * ROW
                    blank = is_blank(src, events[c + 1], events[c + 2], refs, names, scratch)
                    q += 1
                if blank:
                    p = q
                    continue
            if 2 * (events[b + 2] - events[b + 1]) + state[SIZE] + 16384 > room:
                return -42
            kind = 0 if tag == TEXT else 1
            if walk == VERBATIM and state[PREFIX]:
                lines = 0
                for q in range(events[b + 1], events[b + 2]):
                    c = src[q]
                    lines += c == 10 or c == 13 or c == 38
                size = 2 * (events[b + 2] - events[b + 1])
                if state[SIZE] + lines * state[PREFIX] + size + 16384 > room:
                    return -42
            put_child_text(
                state,
                frames,
                f,
                src,
                events[b + 1],
                events[b + 2],
                kind,
                text,
                refs,
                names,
                scratch,
            )
            p += 1
            continue
        # ---- an element begins
        end = events[b + 3]
        own = events[b + 5]
        marks = own >> MARK_BIT
        own &= (1 << MARK_BIT) - 1
        flags = layout_flags(tag, props)
        if walk == VERBATIM:
            if tag == T_TABLE and own:
                start = own >> LENGTH_BITS
                size = (own & ((1 << LENGTH_BITS) - 1)) - 1
                put_child_text(
                    state, frames, f, side, start, start + size, 1, text, refs, names, scratch
                )
            while marks:
                put_mark(state, frames, f, 0x8F + (marks & 3), text, scratch, refs, names)
                marks >>= 2
            p += 1
            if tag == T_IMG and own:
                # an image is followed by its end; its words stand behind that
                while p <= end:
                    p += 1
                marks = events[b + 5] >> MARK_BIT
                while marks:
                    put_mark(state, frames, f, 0x93, text, scratch, refs, names)
                    marks >>= 2
                start = own >> LENGTH_BITS
                size = (own & ((1 << LENGTH_BITS) - 1)) - 1
                put_child_text(
                    state, frames, f, side, start, start + size, 1, text, refs, names, scratch
                )
            continue
        nested = 0
        if walk == LIST:
            if tag == T_UL or tag == T_OL or tag == T_MENU:
                nested = 1
            elif tag != T_LI:
                p = end + 1
                continue
        elif walk == ROWS:
            if tag == T_TR:
                g = f
                while events[frames[g + F_EVENT] * ROW] != T_TABLE:
                    g -= FRAME
                frames[g + F_ROW] += 1
                frames[g + F_COLUMN] = 0
            elif tag != T_TBODY and tag != T_THEAD and tag != T_TFOOT:
                p = end + 1
                continue
        elif walk == CELLS:
            if tag != T_TD and tag != T_TH:
                p = end + 1
                continue
        else:
            if flags & SKIPPED:
                p = end + 1
                continue
            if tag == T_TABLE and own:
                start = own >> LENGTH_BITS
                size = (own & ((1 << LENGTH_BITS) - 1)) - 1
                if state[SIZE] + size + 8192 > room:
                    return -42
                block_line(state, text, 0 if state[TIGHT] else 1)
                put_words(state, side, start, start + size, 1, text, refs, names)
            if flags & BLOCK:
                frames[f + F_RUN] = 0
            elif walk == BLOCKS and frames[f + F_RUN] == 0:
                block_line(state, text, 0 if state[TIGHT] else 1)
                frames[f + F_RUN] = 1
            if tag == T_BR:
                new_line(state, text)
            if tag == T_BR or tag == T_IMG or tag == T_WBR:
                p = end + 1
                if tag == T_IMG and own:
                    start = own >> LENGTH_BITS
                    size = (own & ((1 << LENGTH_BITS) - 1)) - 1
                    if state[SIZE] + size + 8192 > room:
                        return -42
                    put_child_text(
                        state, frames, f, side, start, start + size, 1, text, refs, names, scratch
                    )
                continue
        outer = f
        f += FRAME
        frames[f + F_EVENT] = p
        frames[f + F_WALK] = BLOCKS if flags & BLOCK else INLINE
        frames[f + F_RUN] = 0
        frames[f + F_PREFIX] = -1
        frames[f + F_SAVED] = -1
        if walk == LIST and nested == 0:
            block_line(state, text, 0)
            m = state[SIZE]
            width = 2
            if frames[outer + F_ORDERED]:
                number = own - 1 if own else frames[outer + F_NUMBER]
                frames[outer + F_NUMBER] = number + 1
                digits = 1
                power = 10
                while power <= number:
                    digits += 1
                    power *= 10
                rest = number
                for k in range(digits):
                    text[m + digits - 1 - k] = 48 + rest % 10
                    rest //= 10
                text[m + digits] = 46
                text[m + digits + 1] = 32
                width = digits + 2
            else:
                text[m] = 42
                text[m + 1] = 32
            state[SIZE] = m + width
            state[CONTENT] = 1
            frames[outer + F_INDENT] = width
            frames[f + F_TIGHT] = state[TIGHT]
            indent(state, frames, f, width, 2)
            state[TIGHT] = 1
            state[SUPPRESS] = leads_inline(src, events, p, props, refs, names, scratch)
        elif walk == ROWS:
            frames[f + F_WALK] = CELLS if tag == T_TR else ROWS
            if tag != T_TR:
                frames[f + F_START] = -1
        elif walk == CELLS:
            frames[f + F_WALK] = INLINE
            frames[f + F_START] = state[SIZE]
            frames[f + F_SAVED] = (
                state[CONTENT] | (state[SPACE] << 1) | (state[STARTED] << 2) | (state[PREFIX] << 3)
            )
            state[CONTENT] = 1
            state[SPACE] = 0
            state[PREFIX] = 0
            state[CELLED] += 1
        elif tag == T_UL or tag == T_OL or tag == T_MENU:
            if nested:
                frames[f + F_TIGHT] = state[TIGHT]
                indent(state, frames, f, frames[outer + F_INDENT], 2)
                state[TIGHT] = 1
            frames[f + F_WALK] = LIST
            frames[f + F_NUMBER] = 1
            frames[f + F_ORDERED] = 1 if tag == T_OL else 0
            if tag == T_OL and own:
                frames[f + F_NUMBER] = own - 1
            frames[f + F_INDENT] = 2
        elif tag == T_PRE:
            frames[f + F_WALK] = VERBATIM
            frames[f + F_SPAN] = state[SIZE]
            block_line(state, text, 1)
            state[HELD] = 0
        elif tag == T_TABLE:
            frames[f + F_WALK] = ROWS
            frames[f + F_FIRST] = cell_count
            frames[f + F_ROW] = -1
            frames[f + F_COLUMN] = 0
            frames[f + F_COLUMNS] = 0
            frames[f + F_START] = state[SIZE]
        elif tag == T_BLOCKQUOTE:
            tight = state[TIGHT]
            frames[f + F_TIGHT] = tight
            indent(state, frames, f, 4, 1)
            state[TIGHT] = 0
            if state[STARTED]:
                m = state[SIZE]
                text[m] = 10
                m += 1
                if tight == 0:
                    text[m] = 10
                    m += 1
                state[SIZE] = m
                prefix(state, text)
                state[CONTENT] = 0
                state[LOOSE] = 1
                state[SUPPRESS] = 1
        while marks:
            put_mark(state, frames, f, 0x8F + (marks & 3), text, scratch, refs, names)
            marks >>= 2
        p += 1
    end = state[SIZE]
    start = 0
    while start < end and text[start] == 10:
        start += 1
    while end > start and is_space(text[end - 1]):
        end -= 1
    at = start
    n = 0
    for k in range(2 * span_count):
        n += characters(text, at, spans[k])
        at = spans[k]
        spans[k] = n
    out[0] = start
    out[1] = end
    return span_count
