# SPDX-License-Identifier: Apache-2.0
"""SC 2019 and talk, full application: a 2-D FFT whose transpose is an all-to-all of datatypes, strong scaling.

Node p of P has N / P rows. It transforms them, sends N / P columns of each to every other node, and transforms the
columns that it gets. The receiver's type transposes: 16 bytes, one complex number, go to each row of its own matrix. In
all methods the data really move, and the result is compared with `numpy.fft.fft2`.

*Host unpacks*: the hosts pack, send messages through plain NICs, and unpack each one with the core that transforms.
*Card unpacks*: the hosts pack, and handlers unpack while packets arrive; the host polls completions each 500 ns.
*Card packs, too*: handlers also gather the parts. The host orders them through the switch, which takes about as long as
a doorbell over PCIe.

The network is a switch with links of 400 Gbit/s. Hosts are models, `python/spinet/datatypes/host.py`: one core packs,
unpacks, and transforms 8 floating-point operations a nanosecond (assumed: FFTW on one core of that processor, in
cache), 5 N log2 N for a row. The published speed-up was not available, so only
the shape is drawn, and only the bytes are judged.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import spinet
from experiments.spin import ddt
from spinet import datatypes as dt
from spinet import plots
from spinet.host_program import RunningHost
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "2-D FFT: transposed by cards or by hosts"
SOURCE = f"{ddt.PAPER}; {ddt.TALK}, full application (FFT2D), shape only"

METHODS = ("host unpacks", "card unpacks", "card packs, too")
SIZES = (256, 512)
NODES = (4, 8, 16)
NUMBER = 16  # bytes of a complex number
LINK = {"rate": "400G", "delay": "33400 ps"}  # source: sPIN, SC 2017: 10 m of cable; from memory
SWITCH = {"forwarding": "cut_through", "latency": "50 ns", "buffer_bytes": 64 << 20}  # source: the same
FLOP_NS = 8.0  # assumed: see above
POLL = "500 ns"  # assumed: a core looks at its completions between other work
PCIE = "250 ns"  # source: talk: PCIe takes about 250 ns, one way
START_NS = 50_000  # the cards have booted
RECEIVED_AT, ROWS_AT = 0x1000_0000_0000_0000, 0x1000_0000_4000_0000  # host memory of the contexts
Steps = Generator[Any, Any, None]


@dataclass(frozen=True, kw_only=True)
class Transform:
    """A 2-D FFT of `n` x `n` numbers on `nodes` nodes.

    Attributes
    ----------
    method
        One of `METHODS`.
    seed
        Seed of the matrix.
    """

    n: int
    nodes: int
    method: str
    seed: int = 1

    def __post_init__(self) -> None:
        """Refuse rows that cannot be divided among the nodes."""
        if self.nodes < 2 or self.n % self.nodes:
            raise spinet.InputError(f"nodes is {self.nodes}, must be 2 or more and a divisor of n, which is {self.n}")

    @cached_property
    def matrix(self) -> np.ndarray[Any, np.dtype[np.complex128]]:
        """The input matrix."""
        rng = np.random.default_rng(self.seed)
        return rng.standard_normal((self.n, self.n)) + 1j * rng.standard_normal((self.n, self.n))

    @property
    def rows(self) -> int:
        """Number of rows on a node."""
        return self.n // self.nodes

    @cached_property
    def sent(self) -> dt.Datatype:
        """A part of a node's rows for another node: `rows` numbers of each row."""
        return dt.vector(self.rows, self.rows, self.n, dt.DOUBLE_COMPLEX)

    @cached_property
    def received(self) -> dt.Datatype:
        """The same part at the receiver: each row becomes a column."""
        column = dt.resized(dt.vector(self.rows, 1, self.n, dt.DOUBLE_COMPLEX), 0, NUMBER)
        return dt.contiguous(self.rows, column)

    @cached_property
    def receiver(self) -> dt.Compiled:
        """Slot p is where the part of node p begins."""
        return dt.compile(self.received, slots=self.nodes, slot_bytes=self.rows * NUMBER)

    @cached_property
    def sender(self) -> dt.Compiled:
        """Slot p is the part for node p."""
        return dt.compile(self.sent, slots=self.nodes, slot_bytes=self.rows * NUMBER, send=True)

    @property
    def transform_ns(self) -> float:
        """Time of a host to transform its rows."""
        return self.rows * 5 * self.n * math.log2(self.n) / FLOP_NS

    def network(self) -> dict[str, Any]:
        """The network, without programs of hosts."""
        entry: dict[str, Any] = {"name": "n*"}
        if self.method == METHODS[0]:
            messages = {"mtu": ddt.PAYLOAD, "post_latency": PCIE, "deliver_latency": PCIE}
        else:
            messages = {}
            entry.update(self._card())
        return {
            "topology": {"name": "star", "nodes": self.nodes},
            "link": LINK,
            "switch": SWITCH,
            "messages": messages,
            "nodes": [entry],
        }

    def _card(self) -> dict[str, Any]:
        wanted = dt.experiment_of(self.receiver, message=dt.PLACED)
        (context,) = wanted["context"]
        size = context["host_memory"]["size"]
        contexts = [{**context, "handler": self.receiver.strategy, "host_memory": {"addr": RECEIVED_AT, "size": size}}]
        programs = [wanted["program"]]
        if self.method == METHODS[2]:
            gathered = dt.sending(self.sender)
            (context,) = gathered["context"]
            size = context["host_memory"]["size"]
            handler = f"send_{self.sender.strategy}"
            contexts.append({**context, "handler": handler, "host_memory": {"addr": ROWS_AT, "size": size}})
            programs.append(gathered["program"])
        return {"program": programs, "context": contexts}

    def run(self, *, threads: int = 1) -> tuple[float, np.ndarray[Any, np.dtype[np.complex128]]]:
        """Time in ns from the start until the last node has its result, and the result."""
        net = spinet.Network(self.network(), limit="1 s")
        results: dict[int, bytes] = {}
        ends: dict[int, int] = {}

        def program(host: RunningHost) -> Steps:
            yield host.sleep(f"{START_NS} ns")
            rows = self.matrix[host.number * self.rows :][: self.rows]
            yield host.compute(_ps(self.transform_ns))
            whole = np.ascontiguousarray(np.fft.fft(rows, axis=1))
            columns = yield from self._transposed(host, whole)
            yield host.compute(_ps(self.transform_ns))
            results[host.number] = np.fft.fft(columns, axis=1).tobytes()
            ends[host.number] = host.now_ps

        for node in net.nodes:
            node.host.program = program
        result = net.run(threads=threads)
        assert result.ended == "complete" and not result.summary["packets"]["dropped"], result.summary["ended"]
        found = b"".join(results[node] for node in range(self.nodes))
        transposed = np.frombuffer(found, np.complex128).reshape(self.n, self.n)
        return max(ends.values()) / 1000 - START_NS, transposed.T

    def _transposed(self, host: RunningHost, rows: np.ndarray[Any, Any]) -> Generator[Any, Any, np.ndarray[Any, Any]]:
        """Exchange parts with all other nodes; returns this node's columns as rows."""
        if self.method == METHODS[0]:
            return (yield from self._by_host(host, rows))
        return (yield from self._by_card(host, rows))

    def _part(self, rows: np.ndarray[Any, Any], to: int) -> bytes:
        return dt.pack(self.sent, rows, origin=to * self.rows * NUMBER).tobytes()

    def _others(self, host: RunningHost) -> list[int]:
        """All other nodes, each node in another order, so that they send to different receivers."""
        return [(host.number + step) % self.nodes for step in range(1, self.nodes)]

    def _by_host(self, host: RunningHost, rows: np.ndarray[Any, Any]) -> Generator[Any, Any, np.ndarray[Any, Any]]:
        columns = np.zeros((self.rows, self.n), np.complex128)
        waits = [host.receive(sender) for sender in reversed(self._others(host))]
        for to in self._others(host):
            yield host.compute(_ps(ddt.HOST.pack_ns(self.sent)))
            host.put(to, self._part(rows, to))
        arrived = {host.number: self._part(rows, host.number)}
        for wait in (None, *waits):
            if wait is not None:
                message = yield wait
                arrived = {int(message.sender.removeprefix("n")): message.data}
            yield host.compute(_ps(ddt.HOST.unpack_ns(self.received)))
            for sender, data in arrived.items():
                dt.unpack(self.received, data, columns, origin=sender * self.rows * NUMBER)
        return columns

    def _by_card(self, host: RunningHost, rows: np.ndarray[Any, Any]) -> Generator[Any, Any, np.ndarray[Any, Any]]:
        own = _ip(host.number)
        if self.method == METHODS[2]:
            host.write(ROWS_AT, rows.tobytes())
        for to in self._others(host):
            if self.method == METHODS[2]:
                frames = dt.orders(self.sender, sender=own, receiver=_ip(to), slot=to, to_slot=host.number)
            else:
                yield host.compute(_ps(ddt.HOST.pack_ns(self.sent)))
                frames = dt.packets(
                    self.receiver, [self._part(rows, to)], first_slot=host.number, sender=own, receiver=_ip(to)
                )
            for frame in frames:
                host.send_frame(frame)
        yield host.compute(_ps(ddt.HOST.unpack_ns(self.received)))  # the node's own part
        while True:
            records = yield host.read(RECEIVED_AT + self.receiver.completions, 16 * self.nodes)
            done = [status for _, _, status, _ in struct.iter_unpack("<4I", records)]
            if sum(done) == self.nodes - 1:
                break
            yield host.sleep(POLL)
        data = yield host.read(RECEIVED_AT, self.rows * self.n * NUMBER)
        columns = np.frombuffer(bytearray(data), np.complex128).reshape(self.rows, self.n)
        dt.unpack(self.received, self._part(rows, host.number), columns, origin=host.number * self.rows * NUMBER)
        return columns


def _ip(node: int) -> str:
    return f"10.0.0.{1 + node}"


def _ps(ns: float) -> str:
    return f"{round(1000 * ns)} ps"


def points() -> list[Point]:
    """Methods, sizes and numbers of nodes."""
    return [
        Point(
            name=f"{method}, {n} x {n}, {nodes} nodes",
            settings={"method": method, "n": n, "nodes": nodes},
            quick=(n, nodes) == (256, 8),
        )
        for method in METHODS
        for n in SIZES
        for nodes in NODES
    ]


def measure(*, method: str, n: int, nodes: int) -> dict[str, float]:
    """Time of the whole transform, and of all but the computation."""
    transform = Transform(n=n, nodes=nodes, method=method)
    ns, found = transform.run()
    expected = np.fft.fft2(transform.matrix)
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    return {"time": ns / 1000, "transpose": (ns - 2 * transform.transform_ns) / 1000, "error": error}


def claims(results: Results) -> Iterator[Claim]:
    """Claims about correctness and the gain."""
    errors = [row.measured["error"] for row in results.rows if row.measured]
    yield Claim(
        text="Every result is that of numpy.fft.fft2, to 1e-12 of the largest value",
        holds=bool(errors) and max(errors) < 1e-12,
        found=f"{max(errors, default=1):.1e}",
    )
    of: Callable[[str, int, int], float] = lambda method, n, nodes: results.value(  # noqa: E731
        f"{method}, {n} x {n}, {nodes} nodes", "time"
    )
    for method in METHODS[1:]:
        yield Claim(
            text=f"Speed-up over hosts that unpack: {method}",
            holds=None,
            found=", ".join(
                f"{n} x {n} on {nodes}: {of(METHODS[0], n, nodes) / of(method, n, nodes):.2f}"
                for n in SIZES
                for nodes in NODES
            ),
        )


def plot(results: Results) -> Figure:
    """Time of the transform and of its transpose over the number of nodes."""
    panels = []
    axis: dict[str, Any] = {"x_label": "nodes", "x_base": 2, "x_ticks": NODES, "y_label": "time (µs)", "y_base": 10}
    for quantity, title in (("time", "transform"), ("transpose", "transpose")):
        for n in SIZES:
            curves = []
            for look, method in enumerate(METHODS):
                x, y = results.series("nodes", quantity, method=method, n=n)
                curves.append(plots.Curve(label=method, x=x, y=y, look=look))
            base = results.series("nodes", quantity, method=METHODS[0], n=n)[1]
            if len(base) == len(NODES):
                ideal = [base[0] * NODES[0] / nodes for nodes in NODES]
                curves.append(plots.Curve(label="ideal scaling of hosts", x=list(NODES), y=ideal, kind="formula"))
            panels.append(plots.Panel(title=f"{title}, {n} x {n}", curves=curves, **axis))
    return plots.curves(panels, columns=2, title=TITLE, caption=f"{SOURCE}. spinet: preset pspin, hosts by a model.")
