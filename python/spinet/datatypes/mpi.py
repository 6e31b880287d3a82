# SPDX-License-Identifier: Apache-2.0
"""Datatypes of mpi4py. spinet does not depend on mpi4py: a caller that has such a type has installed it."""

from __future__ import annotations

import dataclasses
from typing import Any

from spinet._core import UsageError
from spinet.datatypes import types
from spinet.datatypes.types import Datatype

# Bytes of the value in MPI's pairs of a value and an int, on common 64-bit machines. MPI does not report the contents
# of these pairs.
_PAIRS = {"FLOAT_INT": 4, "DOUBLE_INT": 8, "LONG_INT": 8, "SHORT_INT": 2, "LONG_DOUBLE_INT": 16}


def from_mpi4py(datatype: Any) -> Datatype:
    """Convert an `mpi4py.MPI.Datatype`, from its envelope and contents.

    Lower bounds and extents are those of the MPI library, which can align the members of a struct in its own way: Open
    MPI aligns a double complex to 16 bytes.

    Raises
    ------
    UsageError
        If it is not such a type, is MPI.DATATYPE_NULL, was made with a constructor that spinet does not support, or has
        bounds of more than 32 bits.

    Examples
    --------
    >>> from_mpi4py(3)
    Traceback (most recent call last):
    ...
    spinet._core.UsageError: from_mpi4py needs an mpi4py.MPI.Datatype, got 3
    """
    if not hasattr(datatype, "Get_envelope"):
        raise UsageError(f"from_mpi4py needs an mpi4py.MPI.Datatype, got {datatype!r}")
    from mpi4py import MPI  # type: ignore[import-not-found, unused-ignore]

    if not isinstance(datatype, MPI.Datatype):
        raise UsageError(f"from_mpi4py needs an mpi4py.MPI.Datatype, got {datatype!r}")
    if datatype == MPI.DATATYPE_NULL:
        raise UsageError("the type is MPI.DATATYPE_NULL: it was freed, or this MPI library does not have it")
    return _decode(MPI, datatype)


def _decode(mpi: Any, datatype: Any) -> Datatype:
    *_, combiner = datatype.Get_envelope()
    made = _named(datatype) if combiner == mpi.COMBINER_NAMED else _derived(mpi, datatype, combiner)
    lb, extent = datatype.Get_extent()
    return types.limited(dataclasses.replace(made, lb=int(lb), ub=int(lb + extent)))


def _derived(mpi: Any, datatype: Any, combiner: int) -> Datatype:
    *lists, inner = datatype.Get_contents()
    children = [_decode(mpi, child) for child in inner]
    for child in inner:
        if not child.is_predefined:
            child.Free()
    first = children[0] if children else types.BYTE
    # Integers, addresses and, since MPI 4, large counts. Each list has the order of the constructor's arguments.
    n = [int(number) for numbers in lists for number in numbers]
    rows = n[0] if n else 0
    if combiner == mpi.COMBINER_SUBARRAY:
        order = n.pop(1 if len(lists) > 2 and len(lists[2]) else -1)
        sizes, subsizes, starts = (n[1 + at * rows : 1 + (at + 1) * rows] for at in range(3))
        return types.subarray(sizes, subsizes, starts, first, order="C" if order == mpi.ORDER_C else "F")
    made = {
        mpi.COMBINER_DUP: lambda: first,
        mpi.COMBINER_CONTIGUOUS: lambda: types.contiguous(n[0], first),
        mpi.COMBINER_VECTOR: lambda: types.vector(n[0], n[1], n[2], first),
        mpi.COMBINER_HVECTOR: lambda: types.hvector(n[0], n[1], n[2], first),
        mpi.COMBINER_INDEXED: lambda: types.indexed(n[1 : rows + 1], n[rows + 1 :], first),
        mpi.COMBINER_HINDEXED: lambda: types.hindexed(n[1 : rows + 1], n[rows + 1 :], first),
        mpi.COMBINER_INDEXED_BLOCK: lambda: types.indexed_block(n[1], n[2:], first),
        mpi.COMBINER_HINDEXED_BLOCK: lambda: types.hindexed_block(n[1], n[2:], first),
        mpi.COMBINER_STRUCT: lambda: types.struct(n[1 : rows + 1], n[rows + 1 :], children),
        mpi.COMBINER_RESIZED: lambda: types.resized(first, n[0], n[1]),
    }.get(combiner)
    if made is None:
        names = [name for name in dir(mpi) if name.startswith("COMBINER_") and getattr(mpi, name) == combiner]
        raise UsageError(
            f"the type was made with {' or '.join(names)}, which is not supported",
            hint="use contiguous, (h)vector, (h)indexed, (h)indexed_block, struct, subarray, resized or dup",
        )
    return made()


def _named(datatype: Any) -> Datatype:
    """A basic type, or a pair such as MPI.DOUBLE_INT, which may have gaps."""
    size = datatype.Get_size()
    lb, extent = datatype.Get_extent()
    name = datatype.Get_name().removeprefix("MPI_")
    first = _PAIRS.get(name)
    if first is not None:
        value = types.basic(name.removesuffix("_INT"), first)
        return types.struct([1, 1], [0, max(first, 4)], [value, types.INT])
    if size == 0:
        raise UsageError(f"{name} has no data: this MPI library does not have it")
    if lb != 0 or extent != size:
        raise UsageError(f"{name} has {size} bytes in an extent of {extent} from {lb}; basic types have no gaps")
    halves = 2 if "COMPLEX" in name or name == "2INT" else 1
    return types.basic(name, size, alignment=size // halves)
