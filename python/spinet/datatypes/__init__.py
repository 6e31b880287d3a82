# SPDX-License-Identifier: Apache-2.0
"""MPI derived datatypes, processed on the card: types, their compilation for handlers, and messages through PsPIN.

`vector`, `indexed`, `struct` and the others make types as MPI does; `from_mpi4py` converts a type of mpi4py. `pack` and
`unpack` are the reference on the host. `compile` makes the description that the handlers of `sdk/datatypes` read, and
`receive` sends messages through a simulated card. The guide is docs/guides/datatypes.md.
"""

from __future__ import annotations

from spinet.datatypes.compiled import STRATEGIES, Compiled, choose_interval, compile
from spinet.datatypes.ddtbench import DDTBENCH, ddtbench
from spinet.datatypes.host import Host
from spinet.datatypes.interval import Interval, Setting, message_ns
from spinet.datatypes.mpi import from_mpi4py
from spinet.datatypes.packing import pack, unpack
from spinet.datatypes.receiving import PLACED, Completion, Received, experiment_of, line_rate_cycles, packets, receive
from spinet.datatypes.sending import Sent, orders, send, sending
from spinet.datatypes.types import (
    BYTE,
    CHAR,
    DOUBLE,
    DOUBLE_COMPLEX,
    FLOAT,
    INT,
    LONG,
    SHORT,
    Datatype,
    basic,
    contiguous,
    hindexed,
    hindexed_block,
    hvector,
    indexed,
    indexed_block,
    parse,
    resized,
    struct,
    subarray,
    vector,
)

__all__ = [
    "BYTE",
    "CHAR",
    "DDTBENCH",
    "DOUBLE",
    "DOUBLE_COMPLEX",
    "FLOAT",
    "INT",
    "LONG",
    "PLACED",
    "SHORT",
    "STRATEGIES",
    "Compiled",
    "Completion",
    "Datatype",
    "Host",
    "Interval",
    "Received",
    "Sent",
    "Setting",
    "basic",
    "choose_interval",
    "compile",
    "contiguous",
    "ddtbench",
    "experiment_of",
    "from_mpi4py",
    "hindexed",
    "hindexed_block",
    "hvector",
    "indexed",
    "indexed_block",
    "line_rate_cycles",
    "message_ns",
    "orders",
    "pack",
    "packets",
    "parse",
    "receive",
    "resized",
    "send",
    "sending",
    "struct",
    "subarray",
    "unpack",
    "vector",
]
