# SPDX-License-Identifier: Apache-2.0
"""The table with one row a packet: taken from the simulator in chunks, kept in memory or written as Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _core, output

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_ROWS_PER_GROUP = 1 << 16

Chunk = Mapping[str, bytes]
Columns = Sequence[tuple[str, str, str, list[str]]]  # name, NumPy type, meaning, names of values


def of_kind(kind: str, paths: bool, make: Callable[[str, Columns], Any]) -> dict[str, Any]:
    """All tables of a kind of card, by name; the table of paths only if paths are recorded."""
    tables = _core.table_columns()[kind]
    return {name: make(name, columns) for name, columns in tables.items() if paths or name != output.PATHS}


def schema(columns: Columns) -> pa.Schema:
    """Columns of a table; a field's metadata says what it means."""
    import numpy as np
    import pyarrow as pa

    fields = []
    for name, dtype, meaning, categories in columns:
        kind = pa.dictionary(pa.int8(), pa.string()) if categories else pa.from_numpy_dtype(np.dtype(dtype))
        fields.append(pa.field(name, kind, metadata={"meaning": meaning}))
    return pa.schema(fields, metadata={"spinet": _core.version()})


def to_arrow(chunk: Chunk, columns: Columns) -> pa.Table:
    """Rows as Arrow. Events that did not happen are null; choices are text."""
    import numpy as np
    import pyarrow as pa

    arrays: list[pa.Array] = []
    for name, dtype, _meaning, categories in columns:
        data = chunk.get(name, b"")
        values = np.frombuffer(data, dtype=dtype)
        if categories:
            numbers = pa.Array.from_buffers(pa.int8(), len(values), [None, pa.py_buffer(values.astype(np.int8))])
            arrays.append(pa.DictionaryArray.from_arrays(numbers, _words(categories)))
            continue
        is_valid = values >= 0
        n_null = len(values) - int(np.count_nonzero(is_valid))
        bitmap = pa.py_buffer(np.packbits(is_valid, bitorder="little")) if n_null else None
        # Shares the bytes of the chunk.
        kind = pa.from_numpy_dtype(values.dtype)
        arrays.append(pa.Array.from_buffers(kind, len(values), [bitmap, pa.py_buffer(data)], n_null))
    return pa.Table.from_arrays(arrays, schema=schema(columns))


def _words(words: Sequence[str]) -> pa.Array:
    """Texts as Arrow. `pa.array` would import pandas, where it is installed, to see whether they are a series of it."""
    import numpy as np
    import pyarrow as pa

    encoded = [word.encode() for word in words]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def read(file: Path) -> pa.Table:
    """A table from a Parquet file. Unlike `pyarrow.parquet.read_table`, this imports no pandas."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as parquet:
        return parquet.read()


def to_numpy(chunk: Chunk, columns: Columns) -> dict[str, np.ndarray[Any, Any]]:
    """Rows as NumPy columns of one length, -1 for what never happened, choices as numbers."""
    import numpy as np

    return {name: np.frombuffer(chunk.get(name, b""), dtype=dtype) for name, dtype, _meaning, _names in columns}


class Collected:
    """Rows in memory. `on_rows` gets them as they come; without `keep` they go nowhere else."""

    def __init__(
        self, columns: Columns, *, keep: bool = True, on_rows: Callable[[pa.Table], None] | None = None
    ) -> None:
        self._columns = columns
        self._chunks: list[Chunk] = []
        self._keeps = keep
        self._on_rows = on_rows

    def append(self, chunk: Chunk) -> None:
        """Take some rows; an empty mapping is none."""
        if not chunk:
            return
        if self._keeps:
            self._chunks.append(chunk)
        if self._on_rows is not None and any(chunk.values()):
            self._on_rows(to_arrow(chunk, self._columns))

    def all(self) -> Chunk:
        """All rows so far as one chunk."""
        if len(self._chunks) != 1:
            names = [name for name, *_ in self._columns]
            self._chunks = [{name: b"".join(chunk[name] for chunk in self._chunks) for name in names}]
        return self._chunks[0]


class ParquetFile:
    """Rows on their way into a file; holds one row group at a time.

    Row groups have equal numbers of rows, so the file does not depend on the chunks in which rows come.
    """

    def __init__(self, path: Path, columns: Columns) -> None:
        import pyarrow.parquet as pq

        self._columns = columns
        # Neighbouring numbers differ little: their differences are written faster than a dictionary, and are smaller.
        words = [name for name, _dtype, _meaning, categories in columns if categories]
        differences = {name: "DELTA_BINARY_PACKED" for name, _dtype, _meaning, categories in columns if not categories}
        self._writer = pq.ParquetWriter(
            path, schema(columns), compression="zstd", use_dictionary=words, column_encoding=differences
        )
        self._waiting = Collected(self._columns)
        self._bytes = 0
        self._failed = False
        # `_bytes` counts only the first column. Its width and the width of a row turn this into bytes of rows.
        self._first, dtype = self._columns[0][:2]
        self._width = int(dtype[-1])
        self._row = sum(int(dtype[-1]) for _, dtype, *_ in columns)

    def append(self, chunk: Chunk) -> None:
        """Take some rows."""
        self._waiting.append(chunk)
        self._bytes += len(chunk.get(self._first, b""))
        rows = self._bytes // self._width
        if rows >= _ROWS_PER_GROUP:
            self._write(rows - rows % _ROWS_PER_GROUP)

    @property
    def waiting(self) -> int:
        """Bytes of rows that are not in the file yet."""
        return self._bytes // self._width * self._row

    def flush(self) -> None:
        """Write all waiting rows, even if they are less than a row group."""
        if self._bytes:
            self._write(self._bytes // self._width)

    def _write(self, rows: int) -> None:
        """Write the first of the waiting rows."""
        waiting = self._waiting.all()
        try:
            self._writer.write_table(to_arrow(waiting, self._columns).slice(0, rows), row_group_size=_ROWS_PER_GROUP)
        except BaseException:
            self._failed = True
            raise
        self._waiting = Collected(self._columns)
        self._bytes -= rows * self._width
        if self._bytes:
            self._waiting.append({name: waiting[name][rows * int(dtype[-1]) :] for name, dtype, *_ in self._columns})

    def close(self) -> None:
        """Write the last rows and the file's index; after a failed write, only let go of the file."""
        try:
            if not self._failed:
                self.flush()
        finally:
            self._end()

    def _end(self) -> None:
        try:
            self._writer.close()
        except Exception:
            if not self._failed:
                raise  # else the first failure says what is wrong
