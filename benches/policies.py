# SPDX-License-Identifier: Apache-2.0
"""Cost of a policy in Python, relative to the card's own rule: a limit of the rate."""

from __future__ import annotations

import time
from typing import Any

import spinet

_BEST_OF = 5
_PACKETS = 20_000
_BYTES_PER_1000_CYCLES = 5000  # 10 Gbit/s at 250 MHz
_WORK = {"name": "work", "engine": "delay", "set": {"cycles": 20}}


class Bucket:
    """The rate of `leaky-bucket`: a packet may go when the bytes before it have left at this rate."""

    def __init__(self) -> None:
        self._free_at = 0

    def rank(self, packet: Any) -> int:
        rank = max(self._free_at, packet.now)
        self._free_at = rank + packet.bytes * 1000 // _BYTES_PER_1000_CYCLES
        return int(rank)

    def dropped(self, packet: Any, rank: int) -> None:  # noqa: ARG002
        self._free_at -= packet.bytes * 1000 // _BYTES_PER_1000_CYCLES

    def served(self, rank: int) -> None:
        """Do nothing: only the cost of the call is measured."""

    def eligible(self, rank: int) -> int:
        return rank


def _seconds(policy: Any) -> float:
    """Processor time of a run. Twice the limit is offered, so all packets wait, and the card drops the rest."""
    bucket = {"bytes_per_1000_cycles": _BYTES_PER_1000_CYCLES, "burst_bytes": 0}
    rule = {"policy": {"kind": "leaky-bucket", "buckets": [bucket]}}
    begin = time.process_time()
    result = spinet.run(
        services=[{**_WORK, "policy": rule} if policy is None else _WORK],
        chains=["all: work"],
        traffic=[f"udp:size=256,count={_PACKETS},rate=20G"],
        policies={} if policy is None else {"work": policy},
    )
    seconds = time.process_time() - begin
    assert result.complete and 0.5 < result.summary["packets"]["out"] / _PACKETS < 0.6, result.summary["packets"]
    return seconds


def ratio() -> float:
    """Processor time of the run with the policy in Python over that with the rule."""
    rule = min(_seconds(None) for _ in range(_BEST_OF))
    return min(_seconds(Bucket()) for _ in range(_BEST_OF)) / rule


if __name__ == "__main__":
    print(f"{ratio():.2f}")
