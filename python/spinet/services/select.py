# SPDX-License-Identifier: Apache-2.0
"""Conditional reads of a table in host memory: `sdk/services/select.c`."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spinet import _programs
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import client, wire
from spinet.services.client import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NUMBERS = wire.numbers("select.c")
PORT = _NUMBERS["SELECT_PORT"]
READ = _NUMBERS["SELECT_READ"]
PARTS = _NUMBERS["SELECT_PARTS"]
STATUS = {_NUMBERS[f"SELECT_{name.upper()}"]: name for name in ("ok", "malformed")} | wire.DENIED
MAX_TERMS = _NUMBERS["SELECT_TERMS"]
TIMEOUT_NS = 100_000  # assumed: longer than 16 requests of 16 KiB take together
LONGEST_TIMEOUT_NS = 32 * TIMEOUT_NS  # assumed: longer than the requests of 100 clients take together

_REQUEST = struct.Struct("<III")
_TERM = struct.Struct("<HHii")
_LEAST, _MOST = -(1 << 31), (1 << 31) - 1
_TERM_TEXT = re.compile(r"\s*column\[(\d+)\]\s*(<=|>=|==|!=|<|>)\s*(-?\d+)\s*")


@dataclass(frozen=True, kw_only=True)
class Term:
    """A condition on a column: its value is within a range, or outside of it.

    Attributes
    ----------
    column
        Number of the column, from 0.
    low, high
        The range, with both ends.
    is_outside
        True if the value must not be in the range.
    """

    column: int
    low: int = _LEAST
    high: int = _MOST
    is_outside: bool = False

    def pack(self) -> bytes:
        """The term as `select_term_t`."""
        return _TERM.pack(self.column, self.is_outside, self.low, self.high)

    def holds(self, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        """For each row, true if the term holds."""
        values = rows[:, self.column]
        inside: NDArray[np.bool_] = (values >= self.low) & (values <= self.high)
        return ~inside if self.is_outside else inside


def terms(text: str) -> tuple[Term, ...]:
    """Parse a predicate: comparisons of columns with numbers, joined by ``and``; an empty text accepts all rows.

    Examples
    --------
    >>> [(term.column, term.low, term.high) for term in terms("column[0] >= 3 and column[2] == -5")]
    [(0, 3, 2147483647), (2, -5, -5)]

    Raises
    ------
    UsageError
        If the text cannot be parsed.
    """
    if not isinstance(text, str):
        raise UsageError(f"predicate is {text!r}, must be a text such as 'column[0] < 5'")
    found = []
    for part in text.split(" and ") if text.strip() else []:
        matched = _TERM_TEXT.fullmatch(part)
        if matched is None:
            raise UsageError(
                f"predicate `{text}`: `{part.strip()}` is not a term", hint="write for example column[0] < 5"
            )
        column, sign, value = int(matched[1]), matched[2], int(matched[3])
        if not _LEAST <= value <= _MOST:
            raise UsageError(f"predicate `{text}`: {value} is out of range, must be {_LEAST} to {_MOST}")
        low = {">": value + 1, ">=": value, "==": value, "!=": value}.get(sign, _LEAST)
        high = {"<": value - 1, "<=": value, "==": value, "!=": value}.get(sign, _MOST)
        if low > _MOST or high < _LEAST:  # nothing is greater than the greatest number
            low, high, sign = _LEAST, _MOST, "!="
        found.append(Term(column=column, low=low, high=high, is_outside=sign == "!="))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Table:
    """A table in the host memory of a network's node, which clients read with predicates.

    Attributes
    ----------
    rows
        The table: a row for each row, a column for each column.
    access_key
        Key of 32 bits that requests need, as an rkey of RDMA; 0: none. Those without it get the status ``denied``.

    Examples
    --------
    >>> import numpy as np
    >>> table = Table(np.arange(12, dtype="<i4").reshape(4, 3))
    >>> table.select("column[0] > 3 and column[2] != 8").tolist()
    [[9, 10, 11]]
    """

    rows: NDArray[np.int32]
    access_key: int = 0

    def __post_init__(self) -> None:
        """Refuse tables that the handler does not support."""
        wire.check_access_key(self.access_key)
        if not isinstance(self.rows, np.ndarray):
            raise UsageError(f"rows is {type(self.rows).__name__}, must be an array of two dimensions of int32")
        if self.rows.ndim != 2 or self.rows.dtype != np.dtype("<i4"):
            raise UsageError(f"rows have {self.rows.ndim} dimensions of {self.rows.dtype}, must have 2 of int32")
        most = _NUMBERS["SELECT_ROWS_BYTES"] // 4
        if not self.rows.size or self.rows.shape[1] > most:
            raise UsageError(f"rows have the shape {self.rows.shape}, must have 1 row or more, and 1 to {most} columns")

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""
        return 4 * int(self.rows.shape[1])

    @property
    def max_rows(self) -> int:
        """Most rows that one request may cover."""
        return PARTS * (_NUMBERS["SELECT_ROWS_BYTES"] // self.row_bytes)

    @property
    def defines(self) -> dict[str, str | int]:
        """Macros for the handler."""
        made: dict[str, str | int] = {"ROW_BYTES": self.row_bytes, "TABLE_ROWS": len(self.rows)}
        return wire.with_access_key(made, self.access_key)

    def node(self) -> dict[str, Any]:
        """Keys of the server's node."""
        content = self.rows.tobytes()
        context = {
            "name": "select",
            "match": f"ipv4.header_words == 5 && udp.dst_port == {PORT}",
            "handler_memory": {"size": 64},
            "host_memory": {"size": len(content), "data": str(_programs.kept(content))},
            "scratchpad_bytes": _NUMBERS["SELECT_SCRATCHPAD_BYTES"],
        }
        return {"program": wire.program("select.c", self.defines), "context": [context]}

    def connect(
        self, host: RunningHost, *, number: int, server: int = 0, access_key: int | None = None, **settings: int
    ) -> TableClient:
        """A client, for the program of a host whose node has the keys of ``client.node(parts=select.PARTS)``."""
        key = wire.key_of_client(access_key, self.access_key)
        times = {"timeout_ns": TIMEOUT_NS, "longest_timeout_ns": LONGEST_TIMEOUT_NS, "poll_ns": 500}
        used = {**times, "access_key": key, **settings}
        return TableClient(host, number=number, server=server, port=PORT, parts=PARTS, table=self, **used)

    def select(self, predicate: str) -> NDArray[np.int32]:
        """The rows that satisfy a predicate, computed here."""
        keep = np.ones(len(self.rows), bool)
        for term in self._checked(predicate):
            keep &= term.holds(self.rows)
        return self.rows[keep]

    def requests(self, predicate: str, *, rows: int | None = None) -> list[tuple[int, bytes]]:
        """Kind and data of the requests of a query.

        Parameters
        ----------
        rows
            Rows that each request covers. Default: some 16 KiB.
        """
        found = self._checked(predicate)
        each = max(1, min(self.max_rows, (16 << 10) // self.row_bytes)) if rows is None else rows
        if not 1 <= each <= self.max_rows:
            raise UsageError(f"rows of a request: {each}, must be 1 to {self.max_rows}")
        total = len(self.rows)
        return [(READ, request(at, min(each, total - at), found)) for at in range(0, total, each)]

    def _checked(self, predicate: str) -> tuple[Term, ...]:
        found = terms(predicate)
        if len(found) > MAX_TERMS:
            raise UsageError(f"predicate `{predicate}` has {len(found)} terms, must have at most {MAX_TERMS}")
        for term in found:
            if term.column >= self.rows.shape[1]:
                raise UsageError(
                    f"predicate `{predicate}`: there is no column {term.column}, must be below {self.rows.shape[1]}"
                )
        return found


def request(first: int, rows: int, conditions: Sequence[Term]) -> bytes:
    """Data of a request: `select_request_t`."""
    return _REQUEST.pack(first, rows, len(conditions)) + b"".join(term.pack() for term in conditions)


class TableClient(client.Client):
    """A client of a table."""

    def __init__(self, host: RunningHost, *, table: Table, **settings: int) -> None:
        super().__init__(host, **settings)
        self._table = table

    def select(self, predicate: str, *, rows: int | None = None) -> Steps:
        """Read the rows that satisfy a predicate: a generator for ``yield from`` that returns an array.

        Parameters
        ----------
        rows
            As for `Table.requests`.

        Raises
        ------
        UsageError
            If a reply did not come.
        """
        answers = yield from self.perform(self._table.requests(predicate, rows=rows))
        for answer in answers:
            if not answer.packets or STATUS[answer.packets[0].status] != "ok":
                raise UsageError(f"query `{predicate}`: a request failed: {answer}")
        content = b"".join(packet.data for answer in answers for packet in answer.packets)
        return np.frombuffer(content, "<i4").reshape(-1, self._table.rows.shape[1])


def network(table: Table, clients: int, *, faults: str = "") -> dict[str, Any]:
    """Keys of a star: node 0 is the server, the others are clients. `faults` are those of all links."""
    return client.network(table.node(), clients, parts=PARTS, faults=faults)
