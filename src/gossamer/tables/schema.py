"""Schema: the tables of a crawl, with the name, type and meaning of each column.

docs/TABLES.md is made of this. A column that is added at the end of a table keeps `SCHEMA_VERSION`;
one that is renamed, dropped or means something else raises it, and old parts are built anew.
"""

from typing import Literal, TypeAlias

from msgspec import Struct

SCHEMA_VERSION = 2

ColumnType: TypeAlias = Literal["string", "integer", "double", "timestamp", "strings", "json"]
"""A `timestamp` is in seconds since 1970 until it is written; `json` is text.

Parquet: string, int64, double, timestamp[ms, UTC], list<string>, string.
"""

TableName: TypeAlias = Literal["pages", "urls", "links", "hosts", "changes", "images"]


class Column(Struct, frozen=True):
    """A column of a table."""

    name: str
    type: ColumnType
    doc: str
    is_joined: bool = False
    """Its values change after the row was written: they are added when the table is read."""


class TableSchema(Struct, frozen=True):
    """A table: what one row is, and its columns in order."""

    name: TableName
    doc: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def stored(self) -> tuple[Column, ...]:
        """Return the columns that do not change once they are written."""
        return tuple(column for column in self.columns if not column.is_joined)


PAGES = TableSchema(
    "pages",
    "A stored page, as of its last visit. Sitemaps, robots.txt and answers that are no pages "
    "(redirects, errors) are not in it.",
    (
        Column("url", "string", "Address, in canonical form. No two rows have the same."),
        Column("host", "string", "Host of the URL without its port, as in `hosts`."),
        Column("domain", "string", "Registrable domain of the host (`example.co.uk`)."),
        Column("fetched_at", "timestamp", "When the page was fetched."),
        Column("status", "integer", "HTTP status; empty for schemes that have none."),
        Column("media_type", "string", "Media type as found, or as the server said."),
        Column(
            "charset",
            "string",
            "Charset that the page was read as: by its byte order mark, header or `meta` element, "
            "or as guessed. Of what older versions fetched, and of files that are no text, what "
            "the server declared.",
        ),
        Column("language", "string", "Language of the text, as ISO 639 code."),
        Column("title", "string", "Title."),
        Column("description", "string", "Description from its `meta` elements."),
        Column("headings", "strings", "Headings in order."),
        Column("canonical", "string", "URL that the page names as its canonical one."),
        Column("depth", "integer", "Links from a seed to the page, as it was found."),
        Column("via", "string", "Page that it was found on; empty for a seed."),
        Column("seed", "string", "Seed from which the page was reached.", is_joined=True),
        Column("seed_label", "string", "Labels of the seeds that led here, separated by commas."),
        Column(
            "label",
            "string",
            "`soft_not_found`, `challenge` (asks whether a human reads it), `needs_javascript`; "
            "empty for an ordinary page.",
        ),
        Column(
            "copy_of",
            "string",
            "Page of which it is a copy or near-duplicate; similar pages are none.",
            is_joined=True,
        ),
        Column("words", "integer", "Words of its text."),
        Column("bytes", "integer", "Bytes of the body as sent."),
        Column("digest", "string", "Digest of the body as sent (`sha1:...`)."),
        Column(
            "rank",
            "double",
            "PageRank; 1.0 is the mean. Empty until `gossamer rank`, `search` or `serve` has "
            "computed it.",
            is_joined=True,
        ),
        Column("warc_file", "string", "File in `archive/` that holds the page."),
        Column("warc_offset", "integer", "Offset of its record in that file, in bytes."),
        Column("notes", "json", "What processors noted, as JSON."),
    ),
)

URLS = TableSchema(
    "urls",
    "A URL that was judged, whatever became of it.",
    (
        Column("url", "string", "Address, in canonical form. No two rows have the same."),
        Column(
            "state",
            "string",
            "`archived`, `failed`, `refused`, `redirected`, `gone` (was archived, and is no longer "
            "there), `queued` (also while it is asked for, or waits for another try), `parked` "
            "(queued, and its host is down) or `held` (waits because of a suspected trap).",
        ),
        Column(
            "reason",
            "string",
            "Why it failed or was refused, as `gossamer why` names it; of a queued URL its last "
            "failure, of a parked one what is wrong with its host.",
        ),
        Column(
            "detail",
            "string",
            "What decided: a robots line, an error, a redirect's target, the trap that holds it.",
        ),
        Column("status", "integer", "HTTP status of the last answer; empty without one."),
        Column(
            "priority",
            "integer",
            "Class in the queue, from 1 (low) to 16; empty if not queued, or if next in line.",
        ),
        Column("available_at", "timestamp", "When it may be asked for; empty if not queued."),
        Column("via", "string", "Page that it was found on; empty for a seed."),
        Column("anchor", "string", "Text of the link that it was found by."),
        Column("depth", "integer", "Links from a seed."),
        Column("attempts", "integer", "Requests that were made for it."),
        Column("first_at", "timestamp", "When it had its first turn; empty if it had none."),
        Column("last_at", "timestamp", "When it had its last turn."),
    ),
)

_LINK_KINDS = (
    "Where it was found. What `gossamer links --kind` calls `link` (or `nofollow`): `a`, `area`, "
    "`frame` (`<iframe>`, too), `refresh` (`<meta>`), `header` (HTTP `Link`), `next` (`prev`, "
    "`up`, too), `alternate`, `data` (other attributes, JSON-LD), `pdf` (in a PDF), `text` (a URL "
    "in the text, not followed). `redirect`: `redirect`. `canonical`: `canonical`. `embed`: "
    "`image`, `script`, `style`, `media`, `css` (named by a style sheet). `form`: `form`. `list`: "
    "`sitemap`, `feed` (entries of such files)."
)

LINKS = TableSchema(
    "links",
    "A link of a stored page, a redirect or a sitemap, as of its last visit.",
    (
        Column("source", "string", "Page that holds the link."),
        Column("target", "string", "URL that it points to, absolute and in canonical form."),
        Column("kind", "string", _LINK_KINDS),
        Column("anchor", "string", "Text of the link."),
        Column(
            "rel",
            "string",
            "Its `rel` attribute; `nofollow`, too, if the page says so of all links.",
        ),
        Column("line", "integer", "Line of the page's source."),
        Column("fragment", "string", "What follows `#` in the link as written."),
        Column(
            "target_state",
            "string",
            "State of the target, as in `urls`; empty if links of this kind are not followed.",
            is_joined=True,
        ),
        Column("target_status", "integer", "HTTP status of the target.", is_joined=True),
    ),
)

HOSTS = TableSchema(
    "hosts",
    "A host of which URLs were queued. One whose links were all refused is in `urls` only.",
    (
        Column("host", "string", "Host without a port: politeness is for all ports together."),
        Column("pages", "integer", "Stored pages; sitemaps are none."),
        Column(
            "bytes",
            "integer",
            "What its answers take in the archive, compressed, those that are no pages included. "
            "The bodies of its pages: `sum(bytes)` of `pages` by `host`.",
        ),
        Column("failed", "integer", "URLs that were given up."),
        Column(
            "refused",
            "integer",
            "URLs that were refused when their turn came, such as by robots.txt. Links that "
            "filters refused before are in `urls` only.",
        ),
        Column("queued", "integer", "URLs that wait, parked ones included, held ones not."),
        Column(
            "robots",
            "string",
            "`rules`, `none` (missing, or without a rule for us), `unreachable`, `ignored` "
            "(`robots.own_hosts`), empty if it was not read.",
        ),
        Column("gap_s", "double", "Last gap between two requests, in seconds."),
        Column(
            "median_ms",
            "double",
            "Median time of an answer in milliseconds, estimated as answers come: mostly within a "
            "tenth. Empty for what older versions fetched.",
        ),
        Column("first_at", "timestamp", "When it was first asked for a page."),
        Column("last_at", "timestamp", "When it was last asked for a page."),
    ),
)

CHANGES = TableSchema(
    "changes",
    "A page that is new, has changed, is gone or is back; each change is listed once. What it is "
    "compared with is what was stored at the visit before.",
    (
        Column("url", "string", "Address of the page."),
        Column("at", "timestamp", 'When it was noticed. In SQL: `"at"`, in quotes.'),
        Column(
            "kind",
            "string",
            "`new`: stored for the first time; `changed`: its words or links, or it redirects now; "
            "`gone`: its server said so twice; `back`: it was gone.",
        ),
        Column(
            "similarity",
            "double",
            "Share of the words that both texts have: 1.0 is the same. Empty for `new` and `gone`.",
        ),
        Column("added", "integer", "Lines of text that were added. Empty for `new` and `gone`."),
        Column(
            "removed", "integer", "Lines of text that were removed. Empty for `new` and `gone`."
        ),
    ),
)

IMAGES = TableSchema(
    "images",
    "An image that a stored page shows. Files are stored with `--embeds` or `--requisites`.",
    (
        Column("url", "string", "Address of the image."),
        Column("page", "string", "Page that shows it."),
        Column("alt", "string", "Its alternative text."),
        Column(
            "width",
            "integer",
            "Width in pixels; empty if the image is not stored, or no PNG, JPEG, GIF or WebP.",
        ),
        Column("height", "integer", "Height in pixels; as `width`."),
        Column("bytes", "integer", "Bytes of the file as sent; empty if the image is not stored."),
        Column(
            "phash",
            "string",
            "Difference hash of 64 bits in hexadecimal: few bits of similar images "
            "differ. Empty as `width`, and for images of more than 16 million pixels.",
        ),
    ),
)

TEXT = Column("text", "string", "Text of the page, in the form that `--text` names.")
"""A column of `pages` if a text was asked for."""
STRUCTURED = Column(
    "structured",
    "json",
    "With `--structured`: JSON-LD, microdata and OpenGraph of the page, as JSON with `json_ld`, "
    "`microdata` and `opengraph`; empty if it has none.",
)
"""The last column of `pages` if it was asked for."""

TABLES: dict[TableName, TableSchema] = {
    table.name: table for table in (PAGES, URLS, LINKS, HOSTS, CHANGES, IMAGES)
}
