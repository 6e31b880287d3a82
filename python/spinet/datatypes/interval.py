# SPDX-License-Identifier: Apache-2.0
"""The distance between read-write checkpoints: the formula of the sPIN talk (OFA 2022) with its three conditions.

    T_C = T_pkt + ceil(interval / k) (P - 1) T_pkt + ceil(n / P) T_PH

T_pkt is the time from one packet to the next, k the payload of a packet, P the number of HPUs, n the number of packets,
and T_PH the time of a payload handler. The second term is the wait of the last HPU for its first packet. The chosen
interval is the largest for which (1) this term is a small share of T_C, (2) all checkpoints fit their memory, and (3)
packets that wait for their HPU fit the packet buffer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from spinet._core import UsageError


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Properties of a message and a card that the formula needs.

    Attributes
    ----------
    size
        Bytes of the message.
    payload
        Bytes of the message in a packet.
    packet_ns
        T_pkt.
    handler_ns
        T_PH.
    hpus
        P.
    checkpoint_bytes
        Memory of a checkpoint.
    memory_bytes
        Memory for checkpoints.
    buffer_packets
        Packets that can wait.
    share
        Maximum share of the second term in T_C.
    """

    size: int
    payload: int
    packet_ns: float
    handler_ns: float
    hpus: int = 32
    checkpoint_bytes: int = 64
    memory_bytes: int = 256 << 10
    buffer_packets: int = 1024
    share: float = 0.2  # source: the SC'19 paper as remembered; the talk says "small"

    @property
    def packets(self) -> int:
        """n, the number of packets of the message."""
        return -(-self.size // self.payload)


def message_ns(setting: Setting, interval: int) -> float:
    """T_C of the formula, in ns.

    Examples
    --------
    >>> of = Setting(size=4 << 20, payload=2048, packet_ns=81.92, handler_ns=1000, hpus=16)
    >>> message_ns(of, 20 * 2048) / 1000
    152.65792
    """
    each = -(-interval // setting.payload)
    wait = each * (setting.hpus - 1) * setting.packet_ns
    return setting.packet_ns + wait + math.ceil(setting.packets / setting.hpus) * setting.handler_ns


@dataclass(frozen=True, kw_only=True)
class Interval:
    """A chosen interval, and the bound of each condition.

    Attributes
    ----------
    bytes
        The interval, a multiple of the payload.
    most_for_share, least_for_memory, most_for_buffer
        Bounds by conditions 1 to 3, in packets.
    most_for_hpus
        Packets of a message divided by the number of HPUs: with longer intervals, some HPUs have no interval.
    decided_by
        The bound that decided: ``share``, ``memory``, ``buffer`` or ``hpus``.
    """

    bytes: int
    most_for_share: int
    least_for_memory: int
    most_for_buffer: int
    most_for_hpus: int
    decided_by: str


def choose(setting: Setting) -> Interval:
    """The largest interval within all upper bounds; if the memory needs a longer one, that one.

    Examples
    --------
    >>> chosen = choose(Setting(size=4 << 20, payload=2048, packet_ns=81.92, handler_ns=1000, hpus=16))
    >>> chosen.bytes // 2048, chosen.decided_by
    (26, 'share')
    """
    if setting.memory_bytes < setting.checkpoint_bytes:
        raise UsageError(
            f"memory for checkpoints has {setting.memory_bytes} bytes, one checkpoint needs {setting.checkpoint_bytes}"
        )
    k, hpus, n = setting.payload, setting.hpus, setting.packets
    work = setting.packet_ns + math.ceil(n / hpus) * setting.handler_ns
    # Condition 1: m (P - 1) T_pkt <= share T_C, solved for m.
    share = math.floor(setting.share / (1 - setting.share) * work / (max(1, hpus - 1) * setting.packet_ns))
    # Condition 2.
    memory = -(-n // (setting.memory_bytes // setting.checkpoint_bytes))
    # Condition 3. assumed: while the m packets of an interval arrive, in m T_pkt, an HPU processes m T_pkt / T_PH of
    # them. The others wait. The talk names the condition, but gives no formula.
    waiting = max(0.0, 1 - setting.packet_ns / setting.handler_ns) * hpus
    buffer = math.floor(setting.buffer_packets / waiting) if waiting else n
    # The third term of T_C assumes that all HPUs work, so there must be at least one interval for each.
    cores = -(-n // hpus)
    packets, by = min((max(1, share), "share"), (max(1, buffer), "buffer"), (cores, "hpus"))
    if packets < memory:
        packets, by = memory, "memory"
    return Interval(
        bytes=packets * k, most_for_share=share, least_for_memory=memory, most_for_buffer=buffer,
        most_for_hpus=cores, decided_by=by,
    )  # fmt: skip
