"""Words and preformatted text, line by line: what is owed to a text is paid here. For `native`."""

from collections.abc import MutableSequence, Sequence
from typing import TypeAlias

from gossamer.process.onepass.character_kernels import (
    put_word,
    reference,
)
from gossamer.process.onepass.numbers import (
    BLOCKS,
    CELLS,
    CONTENT,
    F_RUN,
    F_WALK,
    HELD,
    HIGH,
    LIST,
    LOOSE,
    ONES,
    PREFIX,
    ROWS,
    SIZE,
    SPACE,
    STARTED,
    SUPPRESS,
    TIGHT,
    VERBATIM,
)
from gossamer.process.onepass.scanning_kernels import (
    has,
    is_space,
    word,
)

Bytes: TypeAlias = Sequence[int]
Buffer: TypeAlias = MutableSequence[int]
Numbers: TypeAlias = Sequence[int]
Places: TypeAlias = MutableSequence[int]

INLINED = False


def prefix(state: Places, text: Buffer) -> None:
    """Begin a line with its indent."""
    m = state[SIZE]
    for _ in range(state[PREFIX]):
        text[m] = 32
        m += 1
    state[SIZE] = m


def new_line(state: Places, text: Buffer) -> None:
    """Begin another line of the same block."""
    text[state[SIZE]] = 10
    state[SIZE] += 1
    prefix(state, text)
    state[CONTENT] = 0
    state[SPACE] = 0


def block_line(state: Places, text: Buffer, loose: int) -> None:
    """Begin a line for the next block; an empty one before it if either side is loose."""
    if state[STARTED] == 0:
        state[STARTED] = 1
        prefix(state, text)
    elif state[SUPPRESS]:
        state[SUPPRESS] = 0
    else:
        m = state[SIZE]
        text[m] = 10
        m += 1
        if (state[LOOSE] or loose) and state[TIGHT] == 0:
            text[m] = 10
            m += 1
        state[SIZE] = m
        prefix(state, text)
        state[CONTENT] = 0
    state[LOOSE] = loose
    state[SPACE] = 0


def put_words(
    state: Places,
    src: Bytes,
    start: int,
    end: int,
    kind: int,
    text: Buffer,
    refs: Numbers,
    names: Bytes,
) -> None:
    """Write text in the flow: blanks in a row as one, none where a line begins."""
    m = state[SIZE]
    content = state[CONTENT]
    space = state[SPACE]
    i = start
    while i < end:
        c = src[i]
        if is_space(c):
            space = 1
            i += 1
            continue
        if c == 38 and kind == 0:
            gap = 1 if space and content else 0
            got = reference(src, i, end, 0, text, m + gap, refs, names)
            if got != 0:
                i += got >> 4
                if got & 15 == 1 and is_space(text[m + gap]):
                    space = 1
                    continue
                if gap:
                    text[m] = 32
                m += gap + (got & 15)
                space = 0
                content = 1
                continue
        if space and content:
            text[m] = 32
            m += 1
        space = 0
        content = 1
        text[m] = c
        m += 1
        i += 1
        # words with single blanks between them are copied as they are
        while i + 9 < end:
            w = word(src, i)
            blanks = has(w, 32)
            if ((w - 32 * ONES) & ~w & HIGH) | has(w, 38) | (blanks & (blanks >> 8)):
                break
            put_word(text, m, w)
            if src[i + 7] == 32:
                m += 7
                i += 7
                break
            m += 8
            i += 8
        while i < end:
            c = src[i]
            if c <= 38 and (is_space(c) or c == 38):
                break
            text[m] = c
            m += 1
            i += 1
    state[SIZE] = m
    state[CONTENT] = content
    state[SPACE] = space


def put_verbatim(
    state: Places,
    src: Bytes,
    start: int,
    end: int,
    kind: int,
    text: Buffer,
    refs: Numbers,
    names: Bytes,
    scratch: Buffer,
) -> None:
    """Write preformatted text; its last line end is held back, since it may be dropped."""
    i = start
    while i < end:
        c = 0 + src[i]
        size = 1
        scratch[0] = c
        if c == 38 and kind == 0:
            got = reference(src, i, end, 0, scratch, 0, refs, names)
            if got != 0:
                size = got & 15
                i += (got >> 4) - 1
        elif c == 13:
            if i + 1 < end and src[i + 1] == 10:
                i += 1
            scratch[0] = 10
        i += 1
        for k in range(size):
            if state[HELD]:
                state[HELD] = 0
                new_line(state, text)
            if scratch[k] == 10:
                state[HELD] = 1
            else:
                text[state[SIZE]] = scratch[k]
                state[SIZE] += 1
                state[CONTENT] = 1


def put_mark(
    state: Places,
    frames: Places,
    f: int,
    last: int,
    text: Buffer,
    scratch: Buffer,
    refs: Numbers,
    names: Bytes,
) -> None:
    """Write a noncharacter that says where a part begins or ends."""
    at = 64
    scratch[at] = 0xEF
    scratch[at + 1] = 0xB7
    scratch[at + 2] = last
    put_child_text(state, frames, f, scratch, at, at + 3, 1, text, refs, names, scratch)


def put_child_text(
    state: Places,
    frames: Places,
    f: int,
    src: Bytes,
    start: int,
    end: int,
    kind: int,
    text: Buffer,
    refs: Numbers,
    names: Bytes,
    scratch: Buffer,
) -> None:
    """Write a text that is not blank, as a child of the frame's element."""
    walk = frames[f + F_WALK]
    if walk == VERBATIM:
        put_verbatim(state, src, start, end, kind, text, refs, names, scratch)
        return
    if walk == LIST or walk == ROWS or walk == CELLS:
        return
    if walk == BLOCKS and frames[f + F_RUN] == 0:
        block_line(state, text, 0 if state[TIGHT] else 1)
        frames[f + F_RUN] = 1
    put_words(state, src, start, end, kind, text, refs, names)
