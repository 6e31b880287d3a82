# SPDX-License-Identifier: Apache-2.0
"""A card with a host, saturated both ways with frames of 1518 bytes.

`saturated.py NIC LIMIT` runs one to its limit and prints how many instructions its cores executed.
"""

from __future__ import annotations

import sys
from typing import Any

import spinet

_DEFINES: dict[str, dict[str, str | int]] = {"tigon2": {"SPLIT": ""}}


def run(nic: str, limit: str, *, clears: bool = True) -> list[dict[str, Any]]:
    """The cores' summaries at the limit. A Tigon-2 that does not clear its memory first starts much sooner.

    The firmware keeps all cores of the card busy.
    """
    result = spinet.run(
        nic=nic,
        defines=_DEFINES.get(nic, {}),
        traffic="udp:payload=numbered",
        send="udp:payload=numbered",
        set=() if clears or nic != "tigon2" else ("host.clear_end=0",),
        limit=limit,
        profile=False,
        keep_packets=False,
    )
    cores: list[dict[str, Any]] = result.summary["cores"]
    return cores


if __name__ == "__main__":
    cores = run(sys.argv[1], sys.argv[2], clears=False)
    print(sum(core["instructions"] for core in cores), "instructions")
