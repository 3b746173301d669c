"""Arrow: batches as pyarrow has them, and Parquet files. Needs `gossamer[tables]`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from gossamer.errors import CannotGoOn
from gossamer.tables.rows import Batch, Value
from gossamer.tables.schema import SCHEMA_VERSION, Column, TableSchema

if TYPE_CHECKING:
    import pyarrow as pa

_MILLISECONDS = 1000
_EACH_OWN = frozenset({"text", "url", "digest", "warc_offset", "fetched_at", "phash"})
"""Columns of which hardly two values are alike: a dictionary of them only costs."""
_MISSING = "pip install 'gossamer[tables]'"


def pyarrow() -> ModuleType:
    """Return the library, or say how to install it."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise CannotGoOn(f"Parquet needs pyarrow: {_MISSING}") from error
    return pa  # type: ignore[no-any-return]  # it has no types


def duckdb() -> ModuleType:
    """Return the library, or say how to install it."""
    try:
        import duckdb as library  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise CannotGoOn(f"SQL needs duckdb: {_MISSING}") from error
    return library


def arrow_type(column: Column) -> "pa.DataType":
    """Return the type of a column."""
    pa = pyarrow()
    match column.type:
        case "string" | "json":
            return pa.string()
        case "integer":
            return pa.int64()
        case "double":
            return pa.float64()
        case "timestamp":
            return pa.timestamp("ms", tz="UTC")
        case "strings":
            return pa.list_(pa.string())


def arrow_schema(columns: Sequence[Column], table: TableSchema) -> "pa.Schema":
    """Return the schema of some columns of a table, with its version."""
    pa = pyarrow()
    fields = [pa.field(column.name, arrow_type(column)) for column in columns]
    told = {"gossamer.table": table.name, "gossamer.schema_version": str(SCHEMA_VERSION)}
    return pa.schema(fields, metadata=told)


def arrow_batch(batch: Batch, columns: Sequence[Column], schema: "pa.Schema") -> "pa.RecordBatch":
    """Return a batch as pyarrow has it."""
    arrays = [_array(column, batch.columns[column.name]) for column in columns]
    return pyarrow().RecordBatch.from_arrays(arrays, schema=schema)


def batch_of(found: "pa.RecordBatch", columns: Sequence[Column]) -> Batch:
    """Return a batch of pyarrow's as ours."""
    return Batch({column.name: _read(column, found.column(column.name)) for column in columns})


def _array(column: Column, values: Sequence[Value]) -> "pa.Array":
    """Return values as an array, as `pyarrow.array` does: that would first import pandas."""
    kind, count, known = arrow_type(column), len(values), _known(values)
    match column.type:
        case "string" | "json":
            return _strings(values)
        case "strings":
            lists = [one or () for one in values]
            ends = np.cumsum([0, *map(len, lists)], dtype=np.int32)
            inner = _strings([text for one in lists for text in one])
            buffers = [known, pyarrow().py_buffer(ends)]
            return pyarrow().Array.from_buffers(kind, count, buffers, children=[inner])
        case "timestamp":
            milliseconds = [0 if one is None else round(one * _MILLISECONDS) for one in values]
            numbers = pyarrow().py_buffer(np.array(milliseconds, np.int64))
            return pyarrow().Array.from_buffers(kind, count, [known, numbers])
        case "integer" | "double":
            width = np.int64 if column.type == "integer" else np.float64
            plain = np.array([0 if one is None else one for one in values], width)
            buffers = [known, pyarrow().py_buffer(plain)]
            return pyarrow().Array.from_buffers(kind, count, buffers)


def _known(values: Sequence[Value]) -> "pa.Buffer | None":
    """Return which values are there, a bit each; None if all are."""
    if None not in values:
        return None
    bits = np.packbits([one is not None for one in values], bitorder="little")
    return pyarrow().py_buffer(bits)


def _strings(texts: Sequence[str | None]) -> "pa.Array":
    builder = pyarrow().lib.StringBuilder()
    builder.append_values(texts)
    return builder.finish()


def _read(column: Column, found: "pa.Array") -> Sequence[Value]:
    if column.type == "timestamp":
        whole: list[Any] = found.cast(pyarrow().int64()).to_pylist()
        return [None if one is None else one / _MILLISECONDS for one in whole]
    values: list[Value] = found.to_pylist()
    return values


class ParquetRows:
    """A Parquet file; each batch is a row group."""

    def __init__(
        self, place: Path | BinaryIO, table: TableSchema, columns: Sequence[Column]
    ) -> None:
        self._columns = columns
        self._schema = arrow_schema(columns, table)
        to = str(place) if isinstance(place, Path) else place
        alike = [one for one in columns if one.type != "strings" and one.name not in _EACH_OWN]
        self._file = pyarrow().parquet.ParquetWriter(
            to, self._schema, compression="zstd", use_dictionary=[one.name for one in alike]
        )

    def write(self, batch: Batch) -> None:
        """Write some rows."""
        if len(batch):
            self._file.write_batch(arrow_batch(batch, self._columns, self._schema))

    def close(self) -> None:
        """Write the end of the file."""
        self._file.close()


def as_arrow(batches: Iterable[Batch], columns: Sequence[Column], table: TableSchema) -> "pa.Table":
    """Return batches as one table of pyarrow's."""
    schema = arrow_schema(columns, table)
    found = [arrow_batch(batch, columns, schema) for batch in batches]
    return pyarrow().Table.from_batches(found, schema=schema)
