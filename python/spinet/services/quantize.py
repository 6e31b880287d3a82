# SPDX-License-Identifier: Apache-2.0
"""Quantization of gradients on the card: `sdk/services/quantize.c`."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from spinet import _core
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import client, wire
from spinet.services.client import Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NUMBERS = wire.numbers("quantize.c")
PORT = _NUMBERS["QUANTIZE_PORT"]
STORE = _NUMBERS["QUANTIZE_STORE"]
MAX_ELEMENTS = _NUMBERS["QUANTIZE_MAX_ELEMENTS"]
STATUS = {_NUMBERS[f"QUANTIZE_{name.upper()}"]: name for name in ("ok", "malformed")} | wire.DENIED
HOST_AT = 0x2000_0000  # address of the results in host memory
_MOST = 127


@dataclass(frozen=True, kw_only=True)
class Quantizer:
    """A vector of gradients that a card receives as float32 and stores as int8.

    Attributes
    ----------
    elements
        Length of the vector, a multiple of `block`.
    block
        Number of elements that share a scale, a multiple of 4.
    access_key
        Key of 32 bits that requests need, as an rkey of RDMA; 0: none. Those without it get the status ``denied``.

    Examples
    --------
    >>> import numpy as np
    >>> values, scales = Quantizer(elements=4, block=4).quantize(np.array([0.5, -1, 0.25, 0], "<f4"))
    >>> values.tolist(), scales.tolist()
    ([64, -127, 32, 0], [1.0])
    """

    elements: int
    block: int = 64
    access_key: int = 0

    def __post_init__(self) -> None:
        """Refuse vectors that the handler does not support."""
        wire.check_access_key(self.access_key)
        for name in ("elements", "block"):
            _core.whole(name, getattr(self, name))
        if self.block % 4 or not 4 <= self.block <= MAX_ELEMENTS:
            raise UsageError(f"block is {self.block}, must be a multiple of 4 from 4 to {MAX_ELEMENTS}")
        if self.elements < 1 or self.elements % self.block:
            raise UsageError(f"elements is {self.elements}, must be a multiple of {self.block}, the block")

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return self.elements // self.block

    @property
    def scales_at(self) -> int:
        """Offset of the scales in host memory."""
        return -(-self.elements // 64) * 64

    @property
    def host_bytes(self) -> int:
        """Bytes of host memory."""
        return self.scales_at + 4 * self.blocks

    @property
    def defines(self) -> dict[str, str | int]:
        """Macros for the handler."""
        return wire.with_access_key({"BLOCK": self.block, "VECTOR_BLOCKS": self.blocks}, self.access_key)

    def node(self) -> dict[str, Any]:
        """Keys of the receiver's node."""
        context = {
            "name": "quantize",
            "match": f"ipv4.header_words == 5 && udp.dst_port == {PORT}",
            "handler_memory": {"size": 64},
            "host_memory": {"addr": HOST_AT, "size": self.host_bytes},
            "scratchpad_bytes": _NUMBERS["QUANTIZE_SCRATCHPAD_BYTES"],
        }
        return {"program": wire.program("quantize.c", self.defines), "context": [context]}

    def quantize(self, vector: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """The int8 and the scales of a vector, computed here.

        A quotient in double precision is never so near to a tie that its rounding could change the result.
        """
        parts = self._checked(vector).reshape(-1, self.block)
        scales = np.abs(parts).max(axis=1)
        is_finite = np.isfinite(scales)
        divisor = np.where(is_finite & (scales > 0), scales, 1).astype("<f8")
        values = np.rint(_MOST * np.where(is_finite[:, None], parts, 0).astype("<f8") / divisor[:, None])
        return values.astype("i1").reshape(-1), np.where(is_finite, scales, np.float32("nan")).astype("<f4")

    def dequantize(self, values: NDArray[np.int8], scales: NDArray[np.float32]) -> NDArray[np.float32]:
        """The float32 values that int8 and scales represent."""
        parts = values.reshape(-1, self.block) * (scales.astype("<f8") / _MOST)[:, None]
        return parts.astype("<f4").reshape(-1)

    def requests(self, vector: NDArray[np.float32]) -> list[tuple[int, bytes]]:
        """Kind and data of the requests that carry a vector."""
        content = self._checked(vector)
        each = MAX_ELEMENTS // self.block  # blocks
        return [
            (STORE, struct.pack("<I", at) + content[at * self.block : (at + each) * self.block].tobytes())
            for at in range(0, self.blocks, each)
        ]

    def result(self, memory: bytes) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
        """The int8 and the scales in the receiver's host memory, which starts at `HOST_AT`."""
        scales = memory[self.scales_at : self.host_bytes]
        return np.frombuffer(memory[: self.elements], "i1"), np.frombuffer(scales, "<f4")

    def connect(
        self, host: RunningHost, *, number: int, server: int = 0, access_key: int | None = None, **settings: int
    ) -> QuantizerClient:
        """A client, for the program of a host whose node has the keys of `spinet.services.client.node`."""
        settings["access_key"] = wire.key_of_client(access_key, self.access_key)
        return QuantizerClient(host, number=number, server=server, port=PORT, quantizer=self, **settings)

    def _checked(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        vector = np.asarray(vector)
        if vector.dtype != np.dtype("<f4") or vector.shape != (self.elements,):
            raise UsageError(
                f"the vector has {vector.shape} of {vector.dtype}, must have ({self.elements},) of float32"
            )
        return vector


class QuantizerClient(client.Client):
    """A client that sends vectors."""

    def __init__(self, host: RunningHost, *, quantizer: Quantizer, **settings: int) -> None:
        super().__init__(host, **settings)
        self._quantizer = quantizer

    def send(self, vector: NDArray[np.float32]) -> Steps:
        """Send a vector, and wait until its int8 are in the receiver's host memory: a generator for ``yield from``.

        Raises
        ------
        UsageError
            If a reply did not come.
        """
        answers = yield from self.perform(self._quantizer.requests(vector))
        for answer in answers:
            if not answer.packets or STATUS[answer.packets[0].status] != "ok":
                raise UsageError(f"the vector was not stored: {answer}")


def network(quantizer: Quantizer, clients: int = 1, *, faults: str = "") -> dict[str, Any]:
    """Keys of a star: node 0 is the receiver, the others are clients. `faults` are those of all links."""
    return client.network(quantizer.node(), clients, faults=faults)
