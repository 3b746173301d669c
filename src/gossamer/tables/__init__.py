"""THE CRAWL AS TABLES: pages, urls, links, hosts, changes and images, as files others can read.

Made from the archive, like graph and index: `schema` says what the columns are, `table_stream`
gives their rows in batches. A table that is made of something else is an entry of
`streams.SOURCES`, a column whose values change one of `joins.JOINS`, a format of rows one of
`writers.ROW_FORMATS`, one of whole pages one of `whole_pages.ARCHIVE_FORMATS`.

Neighbours: `store` gives it the archive, `report` what is known now. Not for: reading pages again
that nobody asked for, or deciding anything about a crawl.
"""

from typing import TYPE_CHECKING

from gossamer.lazy import late

if TYPE_CHECKING:
    from gossamer.tables.export import (
        export_tables,
        follow_export,
        known_formats,
        read_arrow,
    )
    from gossamer.tables.filters import RowFilters
    from gossamer.tables.items import ItemStream, ItemTotals
    from gossamer.tables.joins import JOINS, MakeJoin
    from gossamer.tables.listing import SHOWN, ListRequest, write_list
    from gossamer.tables.options import (
        ArchiveFormat,
        Exported,
        ExportOptions,
        ExportRequest,
        TextForm,
    )
    from gossamer.tables.parts import (
        TablesFacts,
        build_tables,
        check_tables,
        follow_tables,
        has_tables,
    )
    from gossamer.tables.places import STDOUT, ExportPlace, is_store
    from gossamer.tables.replay import replayed
    from gossamer.tables.rows import Batch, Reading, Row, batches_of
    from gossamer.tables.schema import (
        CHANGES,
        HOSTS,
        IMAGES,
        LINKS,
        PAGES,
        SCHEMA_VERSION,
        STRUCTURED,
        TABLES,
        TEXT,
        URLS,
        Column,
        ColumnType,
        TableName,
        TableSchema,
    )
    from gossamer.tables.sql import SqlAnswer, ask_sql
    from gossamer.tables.streams import SOURCES, Source, known_tables, table_stream
    from gossamer.tables.whole_pages import ARCHIVE_FORMATS
    from gossamer.tables.writers import plain_cell, plain_json
else:
    __getattr__ = late(
        __name__,
        {
            "export": "export_tables follow_export known_formats read_arrow",
            "filters": "RowFilters",
            "items": "ItemStream ItemTotals",
            "joins": "JOINS MakeJoin",
            "listing": "SHOWN ListRequest write_list",
            "options": "ArchiveFormat Exported ExportOptions ExportRequest TextForm",
            "parts": "TablesFacts build_tables check_tables follow_tables has_tables",
            "places": "STDOUT ExportPlace is_store",
            "replay": "replayed",
            "rows": "Batch Reading Row batches_of",
            "schema": (
                "CHANGES HOSTS IMAGES LINKS PAGES SCHEMA_VERSION STRUCTURED TABLES TEXT URLS "
                "Column ColumnType TableName TableSchema"
            ),
            "sql": "SqlAnswer ask_sql",
            "streams": "SOURCES Source known_tables table_stream",
            "whole_pages": "ARCHIVE_FORMATS",
            "writers": "plain_cell plain_json",
        },
    )
