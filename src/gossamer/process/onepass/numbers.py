"""Numbers that the kernels share: rows and their words, insertion modes, names. Data.

A row of an element: its number, where its start tag begins (-1 if it is implied) and ends, the row
that closes it, the row of the element around it, and the number of a list's item + 1. A row that
closes: 0, where, 0, the row of the element. A text: TEXT or RAW_TEXT, from, to.
"""

from gossamer.process.onepass import vocabulary as v

ROW = 6
CLOSE = 0
TEXT = -1
RAW_TEXT = -2
COMMENT = -3
FOREIGN = 1 << 60
"""Added to the number of an element of SVG or MathML."""
GONE = -9
"""Stands on the stack for an element that was taken off it while others were open in it."""
FROM_HASH = 0xFFFFFFFFFFFF
LONG_NAME = 9
"""Names of so many letters and more are found by a hash of their letters."""
WORD_FACTOR = 0x1E3779B97F4A7C15

MOST_DEPTH = 200
MOST_FORMATTING = 60
MOST_NAME = 64
ELEMENT = 6
"""Row of an element that is told: event, number, first attribute, how many, line, is in a cell."""
ATTRIBUTE = 4
"""Row of an attribute: number, offset, length, 1 if it has references or carriage returns."""
ANCHOR = 7
"""Row of a link: event, href and rel as offset and length, flags, line."""
HREF_ODD, REL_ODD, HAS_REL = 1, 2, 4

INITIAL, BEFORE_HTML, BEFORE_HEAD, IN_HEAD, IN_NOSCRIPT, AFTER_HEAD, IN_BODY = 0, 1, 2, 3, 4, 5, 6
IN_TABLE, IN_CAPTION, IN_COLUMNS, IN_ROWS, IN_ROW, IN_CELL = 7, 8, 9, 10, 11, 12
AFTER_BODY, AFTER_ALL = 13, 14

SPECIAL, SCOPE, FORMATTING, CLOSES_P = v.SPECIAL, v.SCOPE, v.FORMATTING, v.CLOSES_P
ENDS_BLOCK, VOID, HEADING, IMPLIED_END = v.ENDS_BLOCK, v.VOID, v.HEADING, v.IMPLIED_END
RAW, REFERENCES, NAMED = v.RAW, v.REFERENCES, v.NAMED
BREAKOUT, FOR_TREE, TABLE_PART = v.BREAKOUT, v.FOR_TREE, v.TABLE_PART
OTHERS = v.OTHERS
T_A, T_HTML, T_HEAD, T_BODY, T_P = (v.TAG_NUMBERS[n] for n in ("a", "html", "head", "body", "p"))
T_TABLE, T_CAPTION, T_COL, T_COLGROUP, T_TBODY, T_THEAD, T_TFOOT, T_TR, T_TD, T_TH = (
    v.TAG_NUMBERS[n]
    for n in ("table", "caption", "col", "colgroup", "tbody", "thead", "tfoot", "tr", "td", "th")
)
T_SCRIPT, T_STYLE, T_TITLE, T_TEXTAREA, T_NOSCRIPT, T_NOFRAMES, T_META, T_LINK, T_BASE = (
    v.TAG_NUMBERS[n]
    for n in (
        *("script", "style", "title", "textarea", "noscript", "noframes", "meta", "link", "base"),
    )
)
T_BASEFONT, T_BGSOUND, T_BR, T_LI, T_DD, T_DT, T_FORM, T_INPUT, T_BUTTON, T_SELECT, T_HR = (
    v.TAG_NUMBERS[n]
    for n in (
        *("basefont", "bgsound", "br", "li", "dd", "dt", "form", "input", "button", "select"),
        "hr",
    )
)
T_OPTION, T_OPTGROUP, T_RB, T_RT, T_RP, T_RTC, T_RUBY, T_SVG, T_MATH, T_IMAGE, T_IMG = (
    v.TAG_NUMBERS[n]
    for n in (
        *("option", "optgroup", "rb", "rt", "rp", "rtc", "ruby", "svg", "math", "image", "img"),
    )
)
T_PRE, T_LISTING, T_OL, T_UL, T_NOBR, T_XMP, T_ADDRESS, T_DIV, T_OBJECT, T_APPLET, T_MARQUEE = (
    v.TAG_NUMBERS[n]
    for n in (
        *("pre", "listing", "ol", "ul", "nobr", "xmp", "address", "div", "object", "applet"),
        "marquee",
    )
)
T_DESC, T_SECTION, T_ASIDE, T_INS, T_FRAME = (
    v.TAG_NUMBERS[n] for n in ("desc", "section", "aside", "ins", "frame")
)
A_HREF, A_REL, A_STYLE, A_CLASS, A_ID, A_TYPE, A_START, A_VALUE, A_XLINK = (
    v.ATTRIBUTE_NUMBERS[n]
    for n in ("href", "rel", "style", "class", "id", "type", "start", "value", "xlink:href")
)
FIRST_LETTERS = v.first_letters()
MOST_LETTERS = v.MOST_LETTERS

DEPTH, FORMATS, EVENTS, FORM, PARAGRAPHS, MODE, QUIRKS = 0, 1, 2, 3, 4, 5, 6
"""Places in `state`: height of the stack, length of the list, rows, the open form's row + 1, how
many paragraphs are open, the insertion mode, and whether the doctype is an old one."""

ONES = 0x0101010101010101
HIGH = 0x8080808080808080 - (1 << 64)
LOW_BITS = 0x7F7F7F7F7F7F7F7F

SEE_ALL = -51
"""Links to one page ask not to be followed: which of them counts is not for a kernel to say."""
NO_ROOM, TOO_ALIKE = -50, -52
"""A buffer is too small; more links than can be by chance fall into one place of a table."""
IS_SCRIPT, REL_WIDE = 2, 4
KEPT = 6
"""Row of a link that is told: event, where its reference ends without the fragment, 1 if its text
needs a closer look, IS_SCRIPT and REL_WIDE, where its reference begins, line, 1 if it asks not to
be followed."""
REFERENCE = 9
"""Row of a reference: offset and length without the fragment, kind, offset and length of the text
and of rel, line, length of the fragment (behind a #)."""
TARGET, TARGET_JOINED = 5, 1
"""As `urls.joining_kernels` has them: COLUMN, JOINED."""
BLOCK, SKIPPED = v.BLOCK, v.SKIPPED
T_SCRIPT, T_STYLE, T_IMG, T_BR, T_WBR, T_LI, T_OL, T_UL, T_MENU, T_PRE, T_TABLE, T_BLOCKQUOTE = (
    v.TAG_NUMBERS[n]
    for n in (
        *("script", "style", "img", "br", "wbr", "li", "ol", "ul", "menu", "pre", "table"),
        "blockquote",
    )
)
T_TR, T_TD, T_TH, T_TBODY, T_THEAD, T_TFOOT = (
    v.TAG_NUMBERS[n] for n in ("tr", "td", "th", "tbody", "thead", "tfoot")
)

MARK_BIT = 52
"""From here on, the fifth word of an element's row says how it is marked; two bits for a mark."""
LENGTH_BITS = 24
"""The words that belong to an image or a table: where they are, in bits above their length + 1."""
MOST_INDENTS = 17
MOST_COLUMNS = 1000

INLINE, BLOCKS, LIST, ROWS, CELLS, VERBATIM = 0, 1, 2, 3, 4, 5
FRAME = 16
F_EVENT, F_WALK, F_RUN, F_PREFIX, F_TIGHT, F_LEVELS, F_NUMBER, F_INDENT = range(8)
F_ORDERED, F_FIRST, F_ROW, F_COLUMN, F_COLUMNS, F_START, F_SAVED, F_SPAN = range(8, 16)
CELL = 5
"""Row of a cell: row, column, from, to, characters."""

(STARTED, CONTENT, SPACE, LOOSE, SUPPRESS, TIGHT, PREFIX, LEVELS, SIZE, HELD, CELLED) = range(11)
"""Places in `state`: what has been written, and what is owed to it."""
