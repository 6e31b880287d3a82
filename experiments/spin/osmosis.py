# SPDX-License-Identifier: Apache-2.0
"""Code that the experiments on tenants share."""

from __future__ import annotations

import struct
from pathlib import Path

PAPER = "Khalilov et al., OSMOSIS, USENIX ATC 2024"
KERNELS = Path(__file__).resolve().parent / "handlers" / "osmosis.c"
HEADERS = 28  # bytes of IP and UDP of a packet of PsPIN's drivers
TENANT = "bytes[20:1]"  # the low byte of a packet's source port
MESSAGE = "bytes[12:1]"  # the low byte of its source address


def packet(size: int, *, tenant: int = 0, message: int = 0, payload: bytes = b"") -> bytes:
    """Packet in the format of PsPIN's drivers: IP from byte 0, numbers in the order of the cores.

    Parameters
    ----------
    size
        Bytes, headers included; at least 28 and the payload's.
    tenant, message
        0 to 255; match expressions find them at `TENANT` and `MESSAGE`.
    payload
        Begins behind the headers; zeros follow it.
    """
    ip = struct.pack("<BBHHHBBHII", 0x50, 0, size, 0, 0, 0, 17, 0, message, 2)
    udp = struct.pack("<HHHH", tenant, 4, size - 20, 0)
    return (ip + udp + payload).ljust(size, b"\0")
