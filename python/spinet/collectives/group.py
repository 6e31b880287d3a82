# SPDX-License-Identifier: Apache-2.0
"""Collective operations on NICs: the programs of `OPERATIONS` in `sdk/collectives`."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spinet import _arguments, _core, _files, _portable, _programs, toolchain
from spinet._core import UsageError
from spinet.collectives import hosts, switches, tree
from spinet.collectives.flare import START_LINK, TYPES, check_count
from spinet.collectives.peers import SOURCES, Peer, constants, operator
from spinet.network import Network
from spinet.output import OutputFolder

VERSIONS = ("hosts", "cards", "switch")
"""Where an operation can be done: by `Group.on_hosts`, `Group.network`, `Group.in_switch`."""
OPERATIONS = ("broadcast", "ring", "doubling", "alltoall", "barrier", "accumulate")
"""Names of operations; the program of each is `sdk/collectives/NAME.c`."""
_COMBINES = ("ring", "doubling", "accumulate")
"""Operations on elements; the others move bytes."""

_WIRE = constants("group.h")
DATA, GO = _WIRE["GROUP_DATA"], _WIRE["GROUP_GO"]
"""UDP ports of the operation's packets and of start packets."""
BLOCK_BYTES = _WIRE["GROUP_BLOCK_BYTES"]
SMALL_SIZE, MAX_SIZE = _WIRE["GROUP_MAX_SIZE"], 1023  # a star has up to 1,024 nodes, one of which starts the ranks
MAX_BLOCK_BYTES = 1984  # with 56 bytes of headers within the 2,048 bytes that PsPIN sends (outbound.max_packet_bytes)
_CORES = 8
_CARD_AT, _CARD_BYTES = 0x1C10_0000, 3 << 20  # handler memory of a context: the last three quarters of L2
_STEPS = constants("doubling.c")["STEPS"]


@dataclass(frozen=True, kw_only=True)
class Group:
    """A collective operation among nodes of a network.

    Attributes
    ----------
    operation
        One of `OPERATIONS`.
    size
        Number of ranks, 2 to 1,023 (``doubling``: to 64). Rank *r* is node *r* of the network.
    n_bytes
        Bytes of the vector. For ``alltoall``: bytes of the part for one rank. A ``barrier`` has none.
    dtype, op
        As for `Flare`; used by ``ring``, ``doubling`` and ``accumulate``.
    block_bytes
        Most bytes of data in a packet: a multiple of 64, up to 1,984.
    window
        Number of blocks that each rank begins with.
    root
        The rank that broadcasts.
    redundant
        Broadcast over several paths, so that all living ranks receive the data even if others are dead.
    custom
        Path of a header with an operator that replaces `dtype` and `op`, as for `Flare`.

    Examples
    --------
    >>> Group(operation="ring", size=5, n_bytes=10_000).blocks
    10
    """

    operation: str
    size: int
    n_bytes: int = 0
    dtype: str = "int32"
    op: str = "sum"
    block_bytes: int = BLOCK_BYTES
    window: int = 8
    root: int = 0
    redundant: bool = False
    custom: str | Path | None = None

    def __post_init__(self) -> None:
        """Refuse values that the handlers do not support."""
        if self.operation not in OPERATIONS:
            raise UsageError(f"operation is {self.operation!r}, must be one of {', '.join(OPERATIONS)}")
        most = SMALL_SIZE if self.operation == "doubling" else MAX_SIZE
        if not 2 <= _core.whole("size", self.size) <= most:
            raise UsageError(f"size is {self.size}, must be 2 to {most}")
        if self.dtype not in TYPES:
            raise UsageError(f"dtype is {self.dtype!r}, must be one of {', '.join(TYPES)}")
        if self.op not in ("sum", "min", "max", "prod"):
            raise UsageError(f"op is {self.op!r}, must be one of sum, min, max, prod")
        if not _core.whole("root", self.root) < self.size:
            raise UsageError(f"root is {self.root}, must be a rank: 0 to {self.size - 1}")
        if _core.whole("n_bytes", self.n_bytes) < 1 and self.operation != "barrier":
            raise UsageError(f"n_bytes is {self.n_bytes}, must be 1 or more")
        if self.operation == "barrier" and self.n_bytes:
            raise UsageError(f"n_bytes is {self.n_bytes}, but a barrier has no data")
        if self.operation != "broadcast" and (self.root or self.redundant):
            raise UsageError(f"root and redundant are for broadcasts; the operation is {self.operation}")
        if self.operation in _COMBINES and self.n_bytes % (TYPES[self.dtype] if self.custom is None else 1):
            raise UsageError(
                f"n_bytes is {self.n_bytes}, must be a multiple of {TYPES[self.dtype]}, the size of {self.dtype}"
            )
        if self.custom is not None:
            object.__setattr__(self, "custom", operator(self.custom))
        if not 64 <= _core.whole("block_bytes", self.block_bytes) <= MAX_BLOCK_BYTES or self.block_bytes % 64:
            raise UsageError(f"block_bytes is {self.block_bytes}, must be a multiple of 64, up to {MAX_BLOCK_BYTES}")
        if not 1 <= _core.whole("window", self.window) <= 64:
            raise UsageError(f"window is {self.window}, must be 1 to 64")
        most = (_CARD_BYTES - self.configuration_bytes) // self._doubling_bytes
        if self.operation == "doubling" and self.window > most:
            raise UsageError(
                f"window is {self.window}, must be 1 to {most} for doubling with blocks of {self.block_bytes} bytes",
                hint="each block in flight has buffers for all steps in the card's memory",
            )

    @property
    def blocks(self) -> int:
        """Number of blocks in the vector. For ``alltoall``: in one part."""
        return -(-self.n_bytes // self.block_bytes)

    @property
    def result_at(self) -> int:
        """Offset of the result in host memory. With ``accumulate``, the result replaces the vector."""
        if self.operation == "accumulate":
            return 0
        return -(-self.vector_bytes // 64) * 64

    @property
    def configuration_bytes(self) -> int:
        """Size of a configuration, with room for all peers."""
        ranks = SMALL_SIZE if self.size <= SMALL_SIZE else MAX_SIZE
        return _WIRE["GROUP_FIXED_BYTES"] + _WIRE["GROUP_PEER_BYTES"] * ranks

    @property
    def _doubling_bytes(self) -> int:
        """Handler memory of ``doubling`` for each block of `window`."""
        return 2 * (64 + 2 * _STEPS * self.block_bytes)

    @property
    def vector_bytes(self) -> int:
        """Bytes of a rank's input."""
        return self.n_bytes * (self.size if self.operation == "alltoall" else 1)

    @property
    def peers(self) -> list[Peer]:
        """Addresses of all nodes: the ranks, then the node that starts them."""
        return [Peer(number=i) for i in range(self.size + 1)]

    @property
    def starts(self) -> list[int]:
        """Destination rank of each start packet."""
        if self.operation == "broadcast":
            return [self.root] * self.blocks
        if self.operation == "barrier":
            return list(range(self.size))
        if self.operation == "accumulate":
            return []
        most = self.blocks * (self.size - 1 if self.operation == "alltoall" else 1)
        return list(range(self.size)) * min(self.window, most)

    @property
    def defines(self) -> dict[str, str | int]:
        """Macros for the handler."""
        made: dict[str, str | int] = {"TYPE": f"SPIN_{self.dtype.upper()}", "OP": f"SPIN_{self.op.upper()}"}
        if self.custom is not None:
            made = {"TYPE": "SPIN_CUSTOM", "OP": 0, "SPIN_CUSTOM_OPERATOR": f'"{self.custom}"'}
        if self.block_bytes != BLOCK_BYTES:
            made["GROUP_BLOCK_BYTES"] = self.block_bytes
        if self.size > SMALL_SIZE:
            made["GROUP_MAX_SIZE"] = MAX_SIZE
        return made | ({"REDUNDANT": 1} if self.redundant else {})

    def node(self, rank: int, peers: Sequence[Peer] | None = None) -> dict[str, Any]:
        """Keys of the node of a rank. `peers` are the addresses of the ranks. Default: those of the network's nodes."""
        expected = self.blocks * (self.size - 1 if self.operation == "alltoall" else 1)
        content = self.configuration(rank, expected, self.peers[: self.size] if peers is None else peers)
        more = {
            "broadcast": -(-self.blocks // 32) * 4,
            "doubling": self.window * self._doubling_bytes,
            "barrier": 64,
            "accumulate": 1024,
        }
        ports = f"{DATA}, {GO}"
        frame_bytes = _WIRE["GROUP_HEADERS_BYTES"] + self.block_bytes
        frames = _CORES * frame_bytes * (2 if self.operation == "doubling" else 1)
        context = {
            "match": f"ipv4.header_words == 5 && udp.dst_port in {{{ports}}}",
            "handler_memory": {
                "addr": _CARD_AT,
                "size": self.configuration_bytes + more.get(self.operation, 0),
                "data": str(_programs.kept(content)),
            },
            "scratchpad_bytes": self.configuration_bytes + frames,
        }
        program = str(SOURCES / f"{self.operation}.c")
        return {"program": program, "context": [context], "defines": self.defines}

    def configuration(self, rank: int, expected: int, peers: Sequence[Peer]) -> bytes:
        """The `group_t` at the start of a card's handler memory."""
        numbers = (self.n_bytes, self.blocks, self.window, self.result_at, self.vector_bytes, expected)
        content = struct.pack("<8I", rank, self.size, *numbers) + bytes(4 * _WIRE["GROUP_COUNTERS"])
        return content + b"".join(peer.packed for peer in peers)

    def host_memory(self, vector: bytes = b"") -> bytes:
        """Initial contents of a rank's host memory. A vector that is too short is continued with zeros."""
        vector = _core.buffer("the vector", vector)
        if len(vector) > self.vector_bytes:
            raise UsageError(f"the vector has {len(vector)} bytes, must have at most {self.vector_bytes}")
        size = max(self.result_at + self.vector_bytes + 8, self.vector_bytes, 64)
        return vector + bytes(size - len(vector))

    def result(self, memory: bytes) -> bytes | None:
        """The result in a rank's host memory; None if the operation has not finished there."""
        end = self.result_at + self.vector_bytes
        if self.operation != "accumulate" and memory[end : end + 8] != (1).to_bytes(8, "little"):
            return None
        return memory[self.result_at : end]

    def network(
        self,
        vectors: Sequence[bytes] | None = None,
        *,
        leaves: int = 1,
        link: Mapping[str, Any] | None = None,
        nic: Mapping[str, Any] | str = "pspin",
    ) -> dict[str, Any]:
        """A network for `spinet.run`: the ranks around a switch or on several, and a node that starts them.

        Parameters
        ----------
        vectors
            The vector of each rank. Default: zeros.
        leaves
            Number of leaf switches, each with an equal number of ranks, below a root switch. 1: a single switch.
        link
            Properties of all links.
        nic
            Card of the ranks.
        """
        check_count(vectors, self.size, "ranks")
        elf = str(toolchain.build([SOURCES / f"{self.operation}.c"], defines=self.defines).elf)
        nodes: list[dict[str, Any]] = []
        for rank in range(self.size):
            node = self.node(rank)
            content = self.host_memory(vectors[rank] if vectors is not None else b"")
            node["context"][0]["host_memory"] = {"size": len(content), "data": str(_programs.kept(content))}
            nodes.append({"name": f"n{rank}", "nic": nic, "program": elf, "context": node["context"]})
        go = f"udp:size=64,dst_port={GO},rate=100G"
        counts = {rank: self.starts.count(rank) for rank in range(self.size)}
        send = [{"source": f"{go},count={count}", "to": f"n{rank}"} for rank, count in counts.items() if count]
        nodes.append({"name": f"n{self.size}", "send": send})
        _arguments.check({"link": link})
        shared = dict(link or {"rate": "100G", "delay": "300 ns"})
        return tree.around(nodes, self.size, leaves, shared, shared | START_LINK)

    def in_switch(
        self,
        vectors: Sequence[bytes] | None = None,
        *,
        leaves: int = 1,
        link: Mapping[str, Any] | None = None,
        card_link: Mapping[str, Any] | None = None,
        nic: Mapping[str, Any] | str = "pspin",
    ) -> dict[str, Any]:
        """The same operation by switches that compute, for `spinet.run` and `spinet.compare_networks`.

        The root of a broadcast sends each block once, and the switch's card sends it to all ranks. In a barrier, the
        card counts the ranks. For ``ring`` and ``doubling``, the card does the allreduce (`Flare`, with a buffer for
        each node of a tree). Node *r* is rank *r*, with the same host memory as in `network`.

        With `leaves`, each switch has a card. The card of a leaf passes one packet up for all of its ranks, and sends
        what comes down to all of them.

        Parameters
        ----------
        vectors
            The vector of each rank. Default: zeros.
        leaves
            Number of leaf switches, each with an equal number of ranks, below a root switch. 1: a single switch.
        link
            Properties of the links of ranks and between switches.
        card_link
            Properties of the links between a switch and its card.
        nic
            Card of the ranks and of the switches.

        Raises
        ------
        UsageError
            If a switch cannot do the operation: ``alltoall``, ``accumulate``, a redundant broadcast.
        """
        return switches.network(self, vectors, leaves=leaves, link=link, card_link=card_link, nic=nic)

    def on_hosts(
        self,
        *,
        leaves: int = 1,
        link: Mapping[str, Any] | None = None,
        o_ns: int = 100,
        pcie: str = "250 ns",
        chunk_bytes: int = 0,
        combine_ns: int = 0,
    ) -> dict[str, Any]:
        """The same operation by hosts with plain NICs, for `spinet.run` and `spinet.compare_networks`.

        Hosts broadcast over the same tree, send all parts of an all-to-all to their ranks, enter a barrier by
        dissemination, and pass parts of an allreduce round the ring. To accumulate, the ranks from 1 on send their
        operands to rank 0. With ``o_ns=0``, NICs do it without processors, as with triggered operations of Portals 4.

        Parameters
        ----------
        leaves
            Number of leaf switches, each with an equal number of ranks, below a root switch. 1: a single switch.
        link
            Properties of all links.
        o_ns
            Processor time to send a message, and to receive one. Default: eRPC (NSDI 2019) handles up to 10 million
            small requests a second on a core.
        pcie
            Time from a post to the first packet, and from the last bit to the host. Default: the talk on sPIN at the
            OFA Workshop 2022 says that PCIe takes about 250 ns.
        chunk_bytes
            A broadcast divides the vector into messages of this size, and forwards each when it is complete. 0: one
            message.
        combine_ns
            Processor time to combine the operands of one rank (``accumulate``), or two vectors (``ring``).

        Raises
        ------
        UsageError
            If hosts have no schedule for the operation: ``doubling``.
        """
        return hosts.network(
            self, leaves=leaves, link=link, o_ns=o_ns, pcie=pcie, chunk_bytes=chunk_bytes, combine_ns=combine_ns
        )

    def versions(self, *, leaves: int = 1, link: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
        """The operation in all places that can do it, for `spinet.compare_networks`: keys are names in `VERSIONS`.

        Parameters
        ----------
        leaves
            Number of leaf switches, each with an equal number of ranks, below a root switch. 1: a single switch.
        link
            Properties of all links.

        Examples
        --------
        >>> list(Group(operation="alltoall", size=4, n_bytes=64).versions())
        ['hosts', 'cards']

        Raises
        ------
        UsageError
            If the operation has no start packets: ``accumulate``.
        """
        if self.operation == "accumulate":
            raise UsageError("accumulate has no start packets, so its network of cards does nothing by itself")
        made = {}
        if self.operation in hosts.OPERATIONS and not self.redundant:
            made["hosts"] = self.on_hosts(leaves=leaves, link=link)
        made["cards"] = self.network(leaves=leaves, link=link)
        if self.operation in switches.OPERATIONS and not self.redundant:
            made["switch"] = self.in_switch(leaves=leaves, link=link)
        return made

    def save(self, folder: str | Path, *, leaves: int = 1, link: Mapping[str, Any] | None = None) -> list[Path]:
        """Write a file for each of `versions`, as ``hosts.toml``, with the programs and data that they name.

        Returns the paths of these files. The folder must not exist; it can be moved to other machines.
        """
        _arguments.check({"path": folder})
        folder = Path(folder)
        made = self.versions(leaves=leaves, link=link)
        with OutputFolder(folder) as output:
            for name, network in made.items():
                moved = Network(_portable.copied(network, output.path, "files"), base_dir=output.path)
                _files.write(output.path / f"{name}.toml", moved.to_toml())
            output.commit()
        return [folder / f"{name}.toml" for name in made]
