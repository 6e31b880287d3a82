# SPDX-License-Identifier: Apache-2.0
"""The six handlers of the paper (IV-C) and their workloads, scaled to a packet size.

If the paper's workload has fewer than 2,048 packets of a size, packets are added until the rate is steady.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import spinet
from experiments.pspin.common import EXAMPLES, NIC
from spinet import native, workloads

HEADERS = 44  # bytes of a packet before its data, sdk/include/spin_data.h
LEAST, MOST = 2048, 4096  # packets to measure a rate


@dataclass(frozen=True, kw_only=True)
class Handler:
    """One of the six.

    Attributes
    ----------
    per_word
        It works on every word of a packet: the paper's compute-intensive ones, which gain by PULP's instructions.
    run
        From a packet size to the arguments of `spinet.run`.
    """

    per_word: bool
    run: Callable[[int], dict[str, Any]] = field(repr=False)


def words(size: int) -> int:
    """Integers of 32 bits in a packet."""
    return (size - HEADERS) // 4


def _packets(wanted: int) -> int:
    return max(LEAST, min(MOST, wanted))


def _reduce(size: int) -> dict[str, Any]:
    """512 packets of 512 integers if these fit; otherwise the same number of integers in smaller packets."""
    count = _packets(512 * 512 // words(size))
    return {"traffic": f"udp:size={size},count={count},payload=ints", "message": "all last"}


def _aggregate(size: int) -> dict[str, Any]:
    """A message of 1 MiB."""
    count = _packets((1 << 20) // 4 // words(size))
    return {"traffic": f"udp:size={size},count={count},payload=ints", "message": "all last"}


def histogram(size: int, *, completion: bool = False) -> dict[str, Any]:
    """512 messages of 512 integers in [0, 1024): payload handlers count packets, or completion handlers messages."""
    each = max(1, round(512 / words(size)))
    messages = _packets(512 * each) // each
    return {
        "traffic": f"udp:size={size},count={messages * each},payload=ints:1024",
        "message": f"all count {each}",
        "defines": {"MESSAGES": messages} if completion else {"PACKETS": messages * each},
    }


def _filtering(size: int) -> dict[str, Any]:
    """512 senders, all of them in the table of 65,536 entries; the other entries are for other senders."""
    known = workloads.senders("10.0.0.1", 512)
    others = workloads.senders("11.0.0.1", 16_384)
    return {
        "traffic": f"udp:size={size},count=2048,flows=512,senders=512",
        "match": "udp && ipv4.header_words == 5",
        "handler_memory": workloads.rules(dict.fromkeys([*known, *others], 53)),
    }


def _kvstore(size: int) -> dict[str, Any]:
    """1,000 YCSB requests, half of them reads, theta 1.1."""
    return {
        "traffic": f"udp:size={size},count=1000,payload=ycsb:a:1.1",
        "match": "udp && ipv4.header_words == 5",
    }


def _strided_ddt(size: int) -> dict[str, Any]:
    """A message of 1 MiB, laid out in blocks of 256 bytes with a stride of 512."""
    count = _packets((1 << 20) // (size - HEADERS - 4))
    return {
        "traffic": f"udp:size={size},count={count},payload=segment",
        "message": "all last",
        "handler_memory": workloads.layout(256, 512),
    }


HANDLERS = {
    "aggregate": Handler(per_word=True, run=_aggregate),
    "reduce": Handler(per_word=True, run=_reduce),
    "histogram": Handler(per_word=True, run=histogram),
    "filtering": Handler(per_word=False, run=_filtering),
    "kvstore": Handler(per_word=False, run=_kvstore),
    "strided_ddt": Handler(per_word=False, run=_strided_ddt),
}


def run(
    handler: str, *, size: int, how: str = "plain", workload: dict[str, Any] | None = None, **more: Any
) -> spinet.Result:
    """Run one of the six as fast as the card takes packets.

    Parameters
    ----------
    handler, size
        Which, and bytes of a packet.
    how
        ``plain``, or ``extensions`` for PULP's instructions.
    workload
        What to run it on; the paper's if not given.
    more
        Arguments of `spinet.run`.
    """
    arguments = workload or HANDLERS[handler].run(size)
    defines = {**arguments.pop("defines", {}), **({"SPIN_XPULP": 1} if how == "extensions" else {})}
    arguments |= {"nic": NIC, **more}
    result = spinet.run(program=EXAMPLES / f"{handler}.c", defines=defines, pacing="asap", **arguments)
    assert result.complete and not result.summary["traps"], handler
    return result


def run_here(handler: str, *, size: int, threads: int) -> native.NativeResult:
    """The same on the processor of this machine, whose compiler unrolls and uses vectors as it sees fit."""
    return native.run(program=EXAMPLES / f"{handler}.c", threads=threads, **HANDLERS[handler].run(size))
