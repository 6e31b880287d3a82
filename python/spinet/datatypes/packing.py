# SPDX-License-Identifier: Apache-2.0
"""Pack and unpack with NumPy, as MPI_Pack and MPI_Unpack do. This is the reference for the handlers."""

from __future__ import annotations

from typing import Any

import numpy as np

from spinet._core import UsageError
from spinet.datatypes.types import Array, Datatype, typed

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


def pack(datatype: Datatype, buffer: Any, count: int = 1, *, origin: int = 0) -> Bytes:
    """The message of `count` elements in a buffer: their data in packed order.

    Parameters
    ----------
    buffer
        Bytes, or an array of any type.
    origin
        Offset of the type's address 0 in the buffer, in bytes.

    Returns
    -------
    numpy.ndarray
        Bytes of shape ``(count * size,)``.

    Raises
    ------
    UsageError
        If the type reaches beyond the buffer.

    Examples
    --------
    >>> from spinet import datatypes
    >>> column = datatypes.vector(3, 1, 4, datatypes.BYTE)
    >>> bytes(pack(column, b"abcdefghijkl", origin=1))
    b'bfj'
    """
    memory = _bytes(buffer)
    return memory[_places(datatype, count, origin, len(memory))]


def unpack(datatype: Datatype, message: Any, buffer: Any, count: int = 1, *, origin: int = 0) -> None:
    """Unpack a message, which is in packed order, into a writable buffer.

    If a type names a byte twice, the later part of the message overwrites the earlier one.

    Examples
    --------
    >>> from spinet import datatypes
    >>> buffer = bytearray(b"............")
    >>> unpack(datatypes.vector(3, 1, 4, datatypes.BYTE), b"bfj", buffer, origin=1)
    >>> bytes(buffer)
    b'.b...f...j..'
    """
    data, memory = _bytes(message), _bytes(buffer)
    if not memory.flags.writeable:
        raise UsageError("the buffer cannot be written")
    places = _places(datatype, count, origin, len(memory))
    if len(data) != len(places):
        raise UsageError(f"the message has {len(data)} bytes, {count} of {datatype.name} have {len(places)}")
    memory[places] = data


def _bytes(given: Any) -> Bytes:
    if isinstance(given, np.ndarray):
        if not given.flags.c_contiguous:
            raise UsageError("the buffer has gaps between its elements, must be contiguous")
        return given.reshape(-1).view(np.uint8)
    try:
        return np.frombuffer(given, np.uint8)
    except TypeError:
        raise UsageError(f"the buffer is {type(given).__name__}, must be an array or bytes") from None


def _places(datatype: Datatype, count: int, origin: int, room: int) -> Array:
    """The place of each byte of the message in the buffer."""
    offsets, lengths = typed(datatype, "the type").pieces(count)
    if len(offsets) == 0:
        return np.zeros(0, np.int64)
    low, high = int(offsets.min()) + origin, int((offsets + lengths).max()) + origin
    if low < 0 or high > room:
        raise UsageError(f"{count} of {datatype.name} reach from byte {low} to {high}, the buffer has {room} bytes")
    within = np.arange(int(lengths.sum()), dtype=np.int64) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return np.repeat(offsets + origin, lengths) + within
