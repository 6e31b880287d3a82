# SPDX-License-Identifier: Apache-2.0
"""Files of tables: the same rows give the same file, in whatever chunks they come."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from spinet import _core, packet_table

COLUMNS = _core.table_columns()["network"]["frames"]
ROWS = 200_000


@pytest.mark.parametrize("sizes", [[ROWS], [1, 65_535, 65_536], [70_000], [0, 30_000], [131_072, 5]])
def test_the_file_does_not_depend_on_chunks(sizes: list[int], tmp_path: Path) -> None:
    draw = np.random.default_rng(7)
    rows = {
        name: draw.integers(0 if words else -1, len(words) or 100, ROWS).astype(dtype)
        for name, dtype, _meaning, words in COLUMNS
    }
    files = [packet_table.ParquetFile(tmp_path / name, COLUMNS) for name in ("whole", "chunks")]
    files[0].append({name: column.tobytes() for name, column in rows.items()})
    start, number = 0, 0
    while start < ROWS:
        end = start + sizes[number % len(sizes)]
        files[1].append({name: column[start:end].tobytes() for name, column in rows.items()})
        start, number = end, number + 1
    for file in files:
        file.close()
    whole, chunks = ((tmp_path / name).read_bytes() for name in ("whole", "chunks"))
    assert whole == chunks
    groups = pq.ParquetFile(tmp_path / "chunks").metadata
    assert [groups.row_group(i).num_rows for i in range(4)] == [65_536, 65_536, 65_536, 3392]
    found = pq.read_table(tmp_path / "chunks")
    assert found["hop"].to_pylist() == rows["hop"].tolist()
    assert found["link"].to_pylist()[-9:] == [None if link < 0 else link for link in rows["link"].tolist()[-9:]]
