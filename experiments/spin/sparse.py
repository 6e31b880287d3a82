# SPDX-License-Identifier: Apache-2.0
"""Allreduce of sparsified gradients of ResNet-50 in a switch: data on the links, and time.

The vector has 25,557,032 values of int32, one for each parameter of ResNet-50 in torchvision. Each host keeps one of
512 (0.195 %), by independent random choices. Packets hold places and values (`sparse.h`). 148 elements nearly fill a
packet, and a block has 65,416 values, the largest multiple of 148 that places of 16 bits can name. For each block, the
switch's card keeps a table of 256 entries and a stash of one packet (`sparse_switch.c`, hash storage), and forwards
elements that find no room. Data are counted without headers, relative to the 102 MB of a dense vector. Hosts are on one
switch, with links of 100 Gbit/s and 300 ns. All cards are the preset pspin.

The results on the hosts are the union of all hosts' elements, so they grow with the number of hosts. Where the table
was full, some elements come more than once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import spinet
from spinet import plots
from spinet.collectives import SparseFlare
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Allreduce of sparsified gradients"
SOURCE = "De Sensi et al., Flare, SC 2021: sparsified ResNet-50 gradients; the numbers of its figure were not available"

PARAMETERS = 25_557_032  # source: torchvision's documentation of resnet50, num_params
DENSITY = 1 / 512  # source: Flare: 0.2 %, 1 of 512
RATIO = 442  # 16 bits name 442 * 148 values
SHARES = (1, 32)  # part of the model: 1, or a 32nd for a quick look
HOSTS = (2, 4, 8, 16)
HEADERS = 56


def points() -> list[Point]:
    """Hosts, and parts of the model."""
    return [
        Point(name=_name(hosts, share), settings={"hosts": hosts, "share": share}, quick=share > 1 and hosts == 2)
        for share in SHARES
        for hosts in HOSTS
    ]


def _name(hosts: int, share: int) -> str:
    return f"{hosts} hosts" + (f", 1/{share} of the model" if share > 1 else "")


def measure(*, hosts: int, share: int) -> dict[str, float]:
    """Data a host sends and receives over the dense vector's, and time."""
    n = PARAMETERS // share
    random = np.random.default_rng(2021)
    vectors = []
    for _ in range(hosts):
        vector = np.zeros(n, "<i4")
        kept = random.random(n, dtype=np.float32) < DENSITY
        vector[kept] = random.integers(1, 1 << 20, int(kept.sum()))
        vectors.append(vector)
    flare = SparseFlare(hosts=hosts, elements=n, ratio=RATIO, storage="hash", packets=2, results=32)
    result = spinet.run(flare.network(vectors))
    assert result.complete and result.summary["packets"]["dropped"] == 0, result.summary["ended"]["text"]
    frames = result.table("frames")
    event, sender = frames["event"].to_numpy(zero_copy_only=False), frames["frame_node"].to_numpy()
    at, node, size = frames["at_ps"].to_numpy(), frames["node"].to_numpy(), frames["bytes"].to_numpy().astype(np.int64)
    sent, arrived = (event == "entered") & (sender < hosts), (event == "delivered") & (node < hosts) & (sender == hosts)
    tail = frames["tail_ps"].fill_null(-1).to_numpy()
    dense = 4 * n
    union = np.count_nonzero(np.any(vectors, axis=0))
    return {
        "sent": float((size[sent] - HEADERS).sum()) / hosts / dense,
        "received": float((size[arrived] - HEADERS).sum()) / hosts / dense,
        "union": 6 * union / dense,
        "time": float(tail[arrived].max() - at[sent].min()) / 1e6,
    }


def claims(results: Results) -> Iterator[Claim]:
    """Claims about sparse against dense vectors."""
    rows = [results.value(_name(hosts, 1), "sent") for hosts in HOSTS]
    yield Claim(
        text="A host sends 6 bytes for each element, 1.5 times a dense element's, and one of 512 of them",
        holds=all(abs(value * 512 / 1.5 - 1) < 0.02 for value in rows),
        found=f"{min(rows):.5f} to {max(rows):.5f} of a dense vector",
    )
    extra = [results.value(_name(hosts, 1), "received") / results.value(_name(hosts, 1), "union") for hosts in HOSTS]
    yield Claim(
        text="Results have all elements of the union at least once; full tables send some of them again",
        holds=all(value > 0.999 for value in extra),
        found=", ".join(f"{value:.2f}" for value in extra)
        + f" times the union, for {', '.join(map(str, HOSTS))} hosts",
    )


def plot(results: Results) -> Figure:
    """Data by hosts, and time."""
    panels = []
    hosts = list(HOSTS)

    def curve(name: str, label: str, look: int, factor: float = 1) -> plots.Curve:
        return plots.Curve(
            label=label, x=hosts, y=[factor * results.value(_name(n, 1), name) for n in hosts], look=look
        )

    data = [curve("sent", "sent by a host", 0, 100), curve("received", "received by a host", 1, 100)]
    union = [100 * results.value(_name(n, 1), "union") for n in hosts]
    data.append(plots.Curve(label="union, 6 bytes each", x=hosts, y=union, look=1, kind="formula"))
    panels.append(plots.Panel(title="data", x_label="hosts", y_label="% of a dense vector", curves=data, x_ticks=HOSTS))
    times = [curve("time", "spinet", 0)]
    panels.append(plots.Panel(title="time", x_label="hosts", y_label="time (µs)", curves=times, x_ticks=HOSTS))
    caption = "25,557,032 values, one of 512 of them not zero. spinet: preset pspin on all nodes and in the switch."
    return plots.curves(panels, columns=2, title=TITLE, caption=caption)
