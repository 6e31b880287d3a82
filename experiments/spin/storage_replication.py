# SPDX-License-Identifier: Apache-2.0
"""SC 2022, Figures 10 and 11: replicated writes, by the number of replicas.

Left: latency of 512 KiB, until the client has the replies of all nodes. With sPIN each node forwards each packet to the
next node of a chain, or to two children of a tree, from the payload handler. *4 messages*: the client writes four parts
of 128 KiB at the same time, because the scheduler of PsPIN sends the packets of one message to one cluster as long as
that has room, and eight cores do not keep up with 400 Gbit/s.

*RDMA, chained* and *host* forward whole chunks, at the best of 4, 16 and 64 KiB. They are programs of hosts with plain
NICs on the same network, with stated costs (`experiments/spin/storage.py`): 500 ns to host memory and back, and for the
host 200 ns of a core. In every run all bytes of all nodes are compared.
*RDMA, flat*: the client writes k times. RDMA's NICs check nothing and acknowledge before the data are in memory, so
these curves are bounds. Right: goodput of 1 MiB in writes of 64 KiB that are in flight at the same time.

The published numbers were not available. The experiment judges bounds by arithmetic: bits on the line, and passages of
the network. A node with two children sends each packet twice, and a client that writes k copies sends it k times.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spin import storage
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Replicated writes"
SOURCE = f"{storage.PAPER}, Fig. 10 and 11"

SIZE = 512 << 10
KS = (1, 2, 3, 4, 6, 8)
SPIN = {"sPIN, chain": ("chain", 1), "sPIN, chain, 4 messages": ("chain", 4), "sPIN, tree": ("tree", 1)}
SPIN["sPIN, tree, 4 messages"] = ("tree", 4)
OTHERS = ("RDMA, chained", "RDMA, tree", "RDMA, flat", "host, chain", "host, tree")
MANY, EACH = 16, 64 << 10  # writes of the measured goodput


def points() -> list[Point]:
    """Methods and numbers of replicas."""
    methods = (*SPIN, *OTHERS)
    latencies = [
        Point(name=f"{method}, k = {k}", settings={"method": method, "k": k}, quick=k == 2 and method in SPIN)
        for method in methods
        for k in KS
    ]
    goodputs = [
        Point(name=f"goodput, {strategy}, k = {k}", settings={"method": f"goodput, {strategy}", "k": k})
        for strategy in ("chain", "tree")
        for k in (1, 2, 3, 4, 8)
    ]
    return latencies + goodputs


def _build(k: int, strategy: str) -> storage.Build:
    targets = storage.nodes(k)
    return lambda client, at, n: client.replicate(targets, at, storage.data(n, at), strategy=strategy)


def measure(*, method: str, k: int) -> dict[str, float]:
    """Latency in microseconds, or goodput in Gbit/s."""
    if method.startswith("goodput"):
        strategy = method.rpartition(" ")[2]
        return {"goodput": MANY * EACH * 8 / storage.latency_ns(_build(k, strategy), MANY * EACH, k, parts=MANY)}
    if method in SPIN:
        strategy, parts = SPIN[method]
        return {"latency": storage.latency_ns(_build(k, strategy), SIZE, k, parts=parts) / 1000}
    if method == "RDMA, flat":
        return {"latency": storage.flat_ns(k, SIZE) / 1000}
    ns = storage.best_relayed_ns(k, SIZE, tree=method.endswith("tree"), is_host=method.startswith("host"))
    return {"latency": ns / 1000}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about which method is faster, and by which factor."""

    def us(method: str, k: int) -> float:
        return results.value(f"{method}, k = {k}", "latency")

    replicated = [k for k in KS if k > 1]
    yield Claim(
        text="Forwarding by the cards takes less time than forwarding by hosts, chain and tree, k > 1 (ordering)",
        holds=all(
            us(f"sPIN, {shape}, 4 messages", k) < us(f"host, {shape}", k)
            for shape in ("chain", "tree")
            for k in replicated
        ),
        found=", ".join(
            f"k = {k}: {us('host, chain', k) / us('sPIN, chain, 4 messages', k):.2f} times" for k in replicated
        ),
    )
    hops = [
        (us(method, 8) - us(method, 1)) / 7 * 1000
        for method in ("sPIN, chain, 4 messages", "RDMA, chained", "host, chain")
    ]
    yield Claim(
        text="A further replica in a chain costs less with sPIN than with chained RDMA, and most with hosts (ordering)",
        holds=hops[0] < hops[1] < hops[2],
        found=" ns, ".join(f"{hop:.0f}" for hop in hops) + " ns",
    )
    yield Claim(
        text="Latency is up to 4 times lower with 4 replicas (talk); the baseline is not stated in what could be read",
        holds=None,
        found=f"{us('RDMA, flat', 4) / us('sPIN, chain, 4 messages', 4):.1f} times lower than flat RDMA, "
        f"{us('host, chain', 4) / us('sPIN, chain, 4 messages', 4):.2f} times lower than a chain of hosts",
    )
    yield Claim(
        text="A chain is faster than a tree for 512 KiB, because its nodes send the data once",
        holds=all(us("sPIN, chain, 4 messages", k) < us("sPIN, tree, 4 messages", k) for k in replicated if k > 2),
        found=f"k = 8: {us('sPIN, chain, 4 messages', 8):.1f} and {us('sPIN, tree, 4 messages', 8):.1f} µs",
    )


def plot(results: Results) -> Figure:
    """Draws latency of chains and trees, and goodput."""
    panels = []
    for title, methods in (
        ("chain, 512 KiB", ("sPIN, chain, 4 messages", "sPIN, chain", "RDMA, chained", "host, chain", "RDMA, flat")),
        ("tree, 512 KiB", ("sPIN, tree, 4 messages", "sPIN, tree", "RDMA, tree", "host, tree", "RDMA, flat")),
    ):
        curves = []
        for look, method in enumerate(methods):
            x, y = results.series("k", "latency", method=method)
            curves.append(plots.Curve(label=method, x=x, y=y, look=look))
        line = SIZE * storage.NS_PER_BYTE / 1000
        once = [line + (k - 1) * storage.HOP_NS / 1000 for k in KS]
        bound = once if "chain" in title else [max(line * min(k - 1, 2), line) for k in KS]
        curves.append(plots.Curve(label="bound of the network", x=list(KS), y=bound, kind="formula"))
        panels.append(
            plots.Panel(title=title, x_label="replicas", y_label="latency (µs)", curves=curves, x_ticks=KS, y_base=2)
        )
    curves = []
    for look, strategy in enumerate(("chain", "tree")):
        x, y = results.series("k", "goodput", method=f"goodput, {strategy}")
        curves.append(plots.Curve(label=strategy, x=x, y=y, look=look))
    panels.append(
        plots.Panel(
            title="goodput of sPIN, writes of 64 KiB", x_label="replicas", y_label="goodput (Gbit/s)", curves=curves,
            x_ticks=(1, 2, 3, 4, 8), levels=[(400, "line"), (200, "two children")], y_max=440,
        )
    )  # fmt: skip
    return plots.curves(
        panels,
        columns=2,
        title=TITLE,
        caption=f"{storage.MEASURED} RDMA and hosts: programs with stated costs, lower bounds.",
    )
