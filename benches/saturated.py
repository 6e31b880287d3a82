# SPDX-License-Identifier: Apache-2.0
"""A card with a host, saturated both ways with frames of 1518 bytes.

`saturated.py NIC LIMIT` runs one to its limit and prints how many instructions its cores executed.
"""

from __future__ import annotations

import sys
from typing import Any

from spinet import card_run

_DEFINES: dict[str, dict[str, str | int]] = {"tigon2": {"SPLIT": ""}}


def firmware(nic: str) -> card_run.Firmware:
    """The firmware that keeps all cores of the card busy, built if need be."""
    return card_run.choose_firmware(nic, None, defines=_DEFINES.get(nic, {}))


def run(nic: str, chosen: card_run.Firmware, limit: str, *, clears: bool = True) -> list[dict[str, Any]]:
    """The cores' summaries at the limit; a Tigon-2 that does not clear its memory first is at work much sooner."""
    sets = [] if clears or nic != "tigon2" else ["host.clear_end=0"]
    experiment = {
        "nic": {"preset": nic, "set": sets},
        "traffic": "datagrams:",
        "send": "datagrams:",
        "limit": limit,
        "profile": False,
    }
    summary = card_run.drive(experiment, chosen, base_dir=".", on_progress=None)
    cores: list[dict[str, Any]] = summary["cores"]
    return cores


if __name__ == "__main__":
    cores = run(sys.argv[1], firmware(sys.argv[1]), sys.argv[2], clears=False)
    print(sum(core["instructions"] for core in cores), "instructions")
