"""THE CRAWL AS TABLES: pages, urls, links, hosts, changes and images, as files others can read.

Made from the archive, like graph and index: `schema` says what the columns are.

Neighbours: `store` gives it the archive, `report` what is known now. Not for: reading pages again
that nobody asked for, or deciding anything about a crawl.
"""

from gossamer.tables.schema import (
    CHANGES,
    HOSTS,
    IMAGES,
    LINKS,
    PAGES,
    SCHEMA_VERSION,
    TABLES,
    TEXT,
    URLS,
    Column,
    ColumnType,
    TableName,
    TableSchema,
)
