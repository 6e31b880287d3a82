# SPDX-License-Identifier: Apache-2.0
"""Code that the experiments with services share: latencies and rates of a server whose client is a plain NIC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from experiments.spin import storage

_BOOTED_NS = 50_000  # the card has booted
_APART_NS = 10_000  # time between requests whose latency is measured
SERVER, CLIENT = 1, 0  # nodes
MEASURED = (
    f"spinet: preset pspin, links of {storage.LINK_GBPS} Gbit/s with {storage.WIRE_NS} ns, a switch with "
    f"{storage.SWITCH_NS} ns; warm caches."
)


def latencies_ns(node: Mapping[str, Any], first: Sequence[bytes], measured: Sequence[bytes]) -> list[float]:
    """Times from the first bit of each request to the last bit of its reply, at the client, for one packet each.

    Parameters
    ----------
    node
        Keys of the server.
    first
        Requests before, such as those that fill the store and the caches.
    measured
        Requests of which each has one reply.
    """
    frames = [(_BOOTED_NS + _APART_NS * i, frame) for i, frame in enumerate([*first, *measured])]
    since = frames[len(first)][0]
    replies = storage.run({CLIENT: frames}, 2, node=node).at(CLIENT, since=since)
    assert len(replies) == len(measured), (len(replies), len(measured))
    return [float(end) - begin for (begin, _), end in zip(frames[len(first) :], replies, strict=True)]


def rate_mhz(node: Mapping[str, Any], first: Sequence[bytes], measured: Sequence[bytes]) -> float:
    """Replies a microsecond, if the requests come at the line rate; the first tenth does not count."""
    begin = _BOOTED_NS + _APART_NS * (len(first) + 1)
    frames = [(_BOOTED_NS + _APART_NS * i, frame) for i, frame in enumerate(first)]
    frames += [(begin, frame) for frame in measured]  # they wait for the line
    times = np.sort(storage.run({CLIENT: frames}, 2, node=node).at(CLIENT, since=begin))
    assert len(times) == len(measured), (len(times), len(measured))
    counted = times[len(times) // 10 :]
    return float((len(counted) - 1) / (counted[-1] - counted[0]) * 1000)


def line_rate_mhz(n_bytes: int) -> float:
    """Frames of this length, without FCS, that the line carries in a microsecond."""
    return storage.LINK_GBPS * 1000 / 8 / (max(n_bytes, 60) + 24)  # FCS, preamble and gap
