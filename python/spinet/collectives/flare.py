# SPDX-License-Identifier: Apache-2.0
"""Allreduce by switches that compute: `sdk/collectives/flare_switch.c` and `flare_host.c` on a star or a fat tree."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from spinet import _core, _programs, toolchain
from spinet._core import UsageError
from spinet.collectives import tree
from spinet.collectives.peers import SOURCES, Peer, constants, operator

TYPES = {"int8": 1, "int16": 2, "int32": 4, "float16": 2, "bfloat16": 2, "float32": 4}
"""Sizes of element types in bytes."""

_WIRE = constants("flare.h")
BLOCK_BYTES = _WIRE["FLARE_BLOCK_BYTES"]
_USUAL_CHILDREN, MAX_CHILDREN = _WIRE["FLARE_MAX_CHILDREN"], 256  # a packet gives the number of a child in a byte
_SWITCH = constants("flare_switch.c")
_HOST = constants("flare_host.c")
_FRAME_BYTES = (_WIRE["FLARE_DATA_AT"] + BLOCK_BYTES + 63) // 64 * 64
_CORES = 8
# assumed: a PsPIN receives at 400 Gbit/s; the card is in the switch, so there is no cable
CARD_LINK = {"rate": "400G", "delay": "20 ns"}
# assumed: start packets take the place of doorbells, so those of one host shall not wait for those of others
START_LINK = {"rate": "400G"}
# Handler memory of a switch's context: the last three quarters of L2. The first quarter has the program's own data.
_SWITCH_AT, _SWITCH_L2 = 0x1C10_0000, 3 << 20


@dataclass(frozen=True, kw_only=True)
class Flare:
    """An allreduce of a vector among hosts, in one switch or in a tree of two levels.

    Attributes
    ----------
    hosts
        Number of hosts.
    leaves
        Number of leaf switches, each with an equal number of hosts, below one root switch. 1: a single switch.
    elements
        Number of elements in the vector.
    dtype
        Type of elements: ``int8``, ``int16``, ``int32``, ``float16``, ``bfloat16`` or ``float32``.
    op
        Operator: ``sum``, ``min``, ``max`` or ``prod``.
    buffers
        Buffers per block in a switch: 1 to 7, or ``"tree"`` for results that do not depend on the order of arrival.
    window
        Number of blocks in flight.
    stagger
        Host *r* begins with block ``r * stagger``, so that the packets of a block arrive at different times.
    custom
        Path of a header with an operator that replaces `dtype` and `op`. Its elements have `element_bytes` bytes. A
        relative path is relative to the current folder, or, if it has no such file, to the SDK's `collectives`.

    Examples
    --------
    >>> flare = Flare(hosts=4, elements=1000)
    >>> flare.blocks, len(flare.network()["nodes"])
    (4, 6)
    """

    hosts: int
    elements: int
    leaves: int = 1
    dtype: str = "int32"
    op: str = "sum"
    buffers: int | str = 1
    window: int = 64
    stagger: int = 1
    custom: str | Path | None = None
    element_bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse values that the handlers do not support."""
        if self.custom is None and self.dtype not in TYPES:
            raise UsageError(f"dtype is {self.dtype!r}, must be one of {', '.join(TYPES)}")
        if self.op not in ("sum", "min", "max", "prod"):
            raise UsageError(f"op is {self.op!r}, must be one of sum, min, max, prod")
        if self.custom is None and self.element_bytes is not None:
            raise UsageError(f"element_bytes is {self.element_bytes!r}, but dtype gives the size without custom")
        if self.custom is not None and self.element_bytes not in (1, 2, 4, 8):
            raise UsageError(
                f"element_bytes is {self.element_bytes!r}, must be 1, 2, 4 or 8 with custom",
                hint="SPIN_CUSTOM_BYTES of the operator's header",
            )
        if self.buffers != "tree" and self.buffers not in range(1, 8):
            raise UsageError(f"buffers is {self.buffers!r}, must be 1 to 7, or 'tree'")
        if self.custom is not None:
            object.__setattr__(self, "custom", operator(self.custom))
        self._check_tree()
        for name in ("elements", "window", "stagger"):
            _core.whole(name, getattr(self, name))
        if self.elements < 1 or not 1 <= self.window <= 256:
            raise UsageError("elements must be 1 or more, and window 1 to 256")
        if self._switch_bytes > _SWITCH_L2:
            raise UsageError(
                f"{self.window} blocks need {self._switch_bytes} bytes in a switch's card, which has {_SWITCH_L2}",
                hint="use a smaller window or fewer buffers",
            )

    def _check_tree(self) -> None:
        for name in ("hosts", "leaves"):
            _core.whole(name, getattr(self, name))
        if self.leaves < 1 or self.hosts % self.leaves:
            raise UsageError(f"leaves is {self.leaves}, must be a divisor of the {self.hosts} hosts")
        if self.hosts // self.leaves < 2 or self._children > MAX_CHILDREN:
            raise UsageError(
                f"{self.hosts} hosts on {self.leaves} switches: a switch must have 2 to {MAX_CHILDREN} children",
                hint="leaves divides the hosts among several switches below a root switch",
            )

    @property
    def n_bytes(self) -> int:
        """Bytes of the vector."""
        return self.elements * self.item_bytes

    @property
    def item_bytes(self) -> int:
        """Bytes of an element."""
        return self.element_bytes or TYPES[self.dtype]

    @property
    def _zeros(self) -> str:
        return f"V{self.item_bytes}"

    @property
    def blocks(self) -> int:
        """Number of blocks. Each host sends one packet per block."""
        return -(-self.n_bytes // BLOCK_BYTES)

    @property
    def result_at(self) -> int:
        """Offset of the result in host memory. The 8 bytes behind the result become 1 when it is complete."""
        return -(-self.n_bytes // 64) * 64

    @property
    def _children(self) -> int:
        """The largest number of children of a switch."""
        return max(self.hosts // self.leaves, self.leaves)

    @property
    def _configuration_bytes(self) -> int:
        return configuration_bytes(self._children)

    @property
    def _switch_scratchpad(self) -> int:
        return self._configuration_bytes + _CORES * BLOCK_BYTES

    @property
    def _switch_bytes(self) -> int:
        buffers = 2 * (self._children - 1) if self.buffers == "tree" else int(self.buffers)
        return self._configuration_bytes + self.window * (_SWITCH["RECORD_BYTES"] + buffers * BLOCK_BYTES)

    @staticmethod
    def most_blocks(children: int) -> int:
        """The greatest `window` for a switch with this number of children and with ``buffers="tree"``."""
        return (_SWITCH_L2 - configuration_bytes(children)) // (
            _SWITCH["RECORD_BYTES"] + 2 * (children - 1) * BLOCK_BYTES
        )

    @property
    def programs(self) -> tuple[str, str]:
        """Programs of the hosts' cards and of the switches' cards."""
        return "flare_host.c", "flare_switch.c"

    @property
    def _host_defines(self) -> dict[str, str | int]:
        return {}

    @property
    def defines(self) -> dict[str, str | int]:
        """Macros for the switch's handler."""
        made: dict[str, str | int] = {"TYPE": f"SPIN_{self.dtype.upper()}", "OP": f"SPIN_{self.op.upper()}"}
        if self.custom is not None:
            made = {"TYPE": "SPIN_CUSTOM", "OP": 0, "SPIN_CUSTOM_OPERATOR": f'"{self.custom}"'}
            made["SPIN_ELEMENT_BYTES"] = self.item_bytes
        made["FLARE_MAX_CHILDREN"] = room(self._children)
        return made | ({"TREE": 1} if self.buffers == "tree" else {"BUFFERS": self.buffers})

    @property
    def peers(self) -> list[Peer]:
        """Addresses of all nodes: hosts, cards of leaf switches, the root's card, and the node that starts hosts."""
        return [Peer(number=i) for i in range(self.hosts + self.leaves + (self.leaves > 1) + 1)]

    @property
    def starter(self) -> Peer:
        """The node whose packets start the hosts."""
        return self.peers[-1]

    @property
    def root(self) -> Peer:
        """The card of the root switch."""
        return self.peers[-2]

    def host(self, rank: int) -> dict[str, Any]:
        """Keys of the node of a host."""
        in_flight, below = min(self.window, self.blocks), self.hosts // self.leaves
        content = struct.pack(
            "<7I12s12s2i",
            self.blocks,
            self.n_bytes,
            self.result_at,
            self.window,
            rank * self.stagger % in_flight,
            rank % below,
            self.item_bytes,
            self.peers[rank].packed,
            self.root.packed,
            0,
            0,
        )
        ports = f"{_WIRE['FLARE_DOWN']}, {_WIRE['FLARE_GO']}"
        content = content.ljust(_HOST["STORED_AT"], b"\0") + bytes(-(-self.blocks // 32) * 4)
        return _node("flare_host.c", ports, content, _HOST["FRAMES_AT"] + _CORES * _FRAME_BYTES, {})

    def switch(self, number: int) -> dict[str, Any]:
        """Keys of the node of a leaf switch's card, or of the root's card if `number` is the number of leaves."""
        below = self.hosts // self.leaves
        is_root = self.leaves == 1 or number == self.leaves
        if self.leaves > 1 and is_root:
            children = self.peers[self.hosts : self.hosts + self.leaves]
        else:
            children = self.peers[number * below : (number + 1) * below]
        content = struct.pack("<4I", len(children), self.window, is_root, number)
        content += self.peers[self.hosts + number].packed + self.root.packed
        content += b"".join(child.packed for child in children)
        content = content.ljust(self._configuration_bytes, b"\0")
        ports = f"{_WIRE['FLARE_UP']}, {_WIRE['FLARE_DOWN']}"
        node = _node(self.programs[1], ports, content, self._switch_scratchpad, self.defines)
        node["context"][0]["handler_memory"] |= {"addr": _SWITCH_AT, "size": self._switch_bytes}
        return node

    def host_memory(self, vector: NDArray[Any]) -> bytes:
        """Initial contents of a host's memory."""
        data = np.asarray(vector).tobytes()
        if len(data) != self.n_bytes:
            raise UsageError(f"the vector has {len(data)} bytes, must have {self.n_bytes}")
        return data + bytes(self.result_at + self.n_bytes + 8 - len(data))

    def result(self, memory: bytes, dtype: DTypeLike) -> NDArray[Any] | None:
        """The result in a host's memory; None if the host has not finished."""
        end = self.result_at + self.n_bytes
        if memory[end : end + 8] != (1).to_bytes(8, "little"):
            return None
        return np.frombuffer(memory[self.result_at : end], dtype)

    def network(
        self,
        vectors: Sequence[NDArray[Any]] | None = None,
        *,
        link: Mapping[str, Any] | None = None,
        card_link: Mapping[str, Any] | None = None,
        nic: Mapping[str, Any] | str = "pspin",
        clusters: int = 4,
        switch: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """A network for `spinet.run`: hosts, switches with cards, and a node that starts the hosts.

        Parameters
        ----------
        vectors
            The vector of each host. Default: zeros.
        link
            Properties of the links of hosts and between switches.
        card_link
            Properties of the links between a switch and its card.
        nic
            Card of all nodes.
        clusters
            Clusters of the switches' cards.
        switch
            Parameters of the switches.
        """
        check_count(vectors, self.hosts, "hosts")
        shared = dict(link or {"rate": "100G", "delay": "300 ns"})
        inside = dict(card_link or CARD_LINK)
        shape: dict[str, str | int] = {"NB_CLUSTERS": clusters} if clusters != 4 else {}
        host_program, switch_program = (
            str(toolchain.build([SOURCES / source], defines=defines).elf)
            for source, defines in zip(self.programs, (self._host_defines, self.defines | shape), strict=True)
        )
        named: dict[str, Any] = {"preset": nic} if isinstance(nic, str) else dict(nic)
        card = named | {"set": {**named.get("set", {}), "n_clusters": clusters}} if shape else nic
        nodes: list[dict[str, Any]] = []
        links: list[dict[str, Any]] = []
        for rank in range(self.hosts):
            node = self.host(rank)
            content = self.host_memory(vectors[rank] if vectors is not None else np.zeros(self.elements, self._zeros))
            node["context"][0]["host_memory"] = {"size": len(content), "data": str(_programs.kept(content))}
            nodes.append({"name": f"host{rank}", "nic": nic} | node | {"program": host_program})
            links.append({"from": f"host{rank}", "to": tree.leaf(rank, self.hosts, self.leaves), "with": shared})
        names = tree.switches(self.leaves)
        for number, name in enumerate(names):
            program = {"program": switch_program}
            nodes.append({"name": f"{name}card", "nic": card} | self.switch(number) | program)
            links.append({"from": f"{name}card", "to": name, "with": inside})
        links += tree.uplinks(self.leaves, shared)
        go = f"udp:size=64,dst_port={_WIRE['FLARE_GO']},rate=100G,count={min(self.window, self.blocks)}"
        nodes.append({"name": "start", "send": [{"source": go, "to": f"host{rank}"} for rank in range(self.hosts)]})
        links.append({"from": "start", "to": names[-1], "with": shared | START_LINK})
        computes = {"match": f"udp.dst_port == {_WIRE['FLARE_UP']}"}
        switches = [{"name": name, "compute": computes | {"card": f"{name}card"}} for name in names]
        for node in nodes:
            node.pop("defines", None)
        made: dict[str, Any] = {"nodes": nodes, "links": links, "switches": switches}
        return made | ({"switch": dict(switch)} if switch else {})


def configuration_bytes(children: int) -> int:
    """Size of the configuration of a switch's card with this number of children."""
    return _WIRE["FLARE_FIXED_BYTES"] + _WIRE["FLARE_PEER_BYTES"] * room(children)


def room(children: int) -> int:
    """The number of children for which the card of a switch with this number of children has room."""
    return _USUAL_CHILDREN if children <= _USUAL_CHILDREN else MAX_CHILDREN


def check_count(vectors: Sequence[Any] | None, wanted: int, of: str) -> None:
    """Refuse another number of vectors than `wanted`, the number of hosts or ranks."""
    if vectors is not None and len(vectors) != wanted:
        raise UsageError(f"there are {len(vectors)} vectors for {wanted} {of}")


def _node(source: str, ports: str, content: bytes, scratchpad: int, defines: Mapping[str, str | int]) -> dict[str, Any]:
    context = {
        "match": f"ipv4.header_words == 5 && udp.dst_port in {{{ports}}}",
        "handler_memory": {"size": (len(content) + 63) // 64 * 64, "data": str(_programs.kept(content))},
        "scratchpad_bytes": scratchpad,
    }
    return {"program": str(SOURCES / source), "context": [context], "defines": dict(defines)}
