# SPDX-License-Identifier: Apache-2.0
"""Functions on demand (serverless): cold and warm starts, and more functions than the card has slots.

`sdk/services/dispatch.c` passes requests to functions that are not in the card to the host, which loads them and
unloads the least recently used. A latency begins when the request arrives at the card, and ends when the reply leaves
it. The host's time is stated (`HostCosts` of `spinet.services`); the rest is simulated.

*Latency*: a request to a function that is in the card (*warm*), that comes into a free slot (*cold*), or into the slot
of another function (*cold, with eviction*), by the host's time to load a function. *Card* is the part of a cold start
that the host's stated time does not cover: the dispatcher, the copy to the host, waiting for its next poll, the writes
of code and memory, and the function with cold instruction caches.

*More functions than slots*: every request is to a drawn function; either all are equally likely (*uniform*), or the
n-th has a probability in proportion to 1/n (*skewed*). Evictions are counted with one request at a time. If requests
are independent and all functions equally likely, LRU keeps any of them with the same probability, so a request misses
with probability 1 - slots / functions. The throughput is that of replies if a request comes every 2 µs, whether the
earlier ones have replies or not. The card keeps 64 requests; it refuses others (*busy*).
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median
from typing import TYPE_CHECKING

import numpy as np
import spinet
from spinet import plots
from spinet.reproduce import Claim, Point, Results
from spinet.services.functions import EXAMPLES, STATUS, Functions, HostCosts
from spinet.services.wire import Packet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Functions on demand"
SOURCE = "named in the sPIN talk, OFA Workshop 2022, as serverless sPIN; no numbers are published"

LOADS_US = (1, 10, 100)
STARTS = ("warm", "cold", "cold, with eviction")
COUNTS = (2, 4, 6, 8, 12, 16)
MIXES = (("uniform", 4), ("uniform", 8), ("skewed", 4))
REQUESTS = 400
EVERY_US = 2
DATA = bytes(range(64))
_STARTS = 3  # cold starts of a point
_CALLS = 64  # warm ones; the first half fills the caches of all cores


def points() -> list[Point]:
    """Starts by the host's time, and mixes by number of functions."""
    latencies = [
        Point(
            name=f"{start}, load {load} µs",
            settings={"start": start, "load": load},
            quick=load == 10 and start != STARTS[2],
        )
        for start in STARTS
        for load in LOADS_US
    ]
    mixes = [
        Point(
            name=f"{mix}, {slots} slots, {count} functions",
            settings={"mix": mix, "slots": slots, "count": count},
        )
        for mix, slots in MIXES
        for count in COUNTS
    ]
    return latencies + mixes


def measure(*, start: str = "", load: int = 0, mix: str = "", slots: int = 0, count: int = 0) -> dict[str, float]:
    """Latency of a start in microseconds; or evictions, latency and throughput of a mix."""
    return _latency(start, load) if start else _mix(mix, slots, count)


def _dispatcher(slots: int, count: int, costs: HostCosts) -> tuple[spinet.Machine, Functions, list[bytes]]:
    """A card, with a request to each function."""
    machine = spinet.Machine()
    functions = Functions(machine, slots=slots, costs=costs)
    requests = [functions.deploy(f"f{n}", EXAMPLES / "sum.c").request(DATA) for n in range(count)]
    functions.finish()
    return machine, functions, requests


def _call(machine: spinet.Machine, functions: Functions, request: bytes) -> int:
    """Latency of one request in nanoseconds; checks the reply."""
    begin = machine.now_ns
    machine.send([request])
    functions.finish()
    (sent,) = machine.take_sent()
    _check(Packet.of_frame(sent.data))
    return sent.time_ns - begin


def _check(reply: Packet) -> bool:
    """True if the request was served, and then with the right bytes; False if the card was busy."""
    if STATUS[reply.status] == "busy":
        return False
    total = int(np.frombuffer(DATA, "<i4").sum(dtype=np.int64))
    assert reply.status == 0 and reply.data == total.to_bytes(8, "little", signed=True), reply
    return True


def _latency(start: str, load: int) -> dict[str, float]:
    costs = HostCosts(load_ns=1000 * load)
    slots, first = {"warm": (1, 0), "cold": (_STARTS + 1, 1), "cold, with eviction": (2, 2)}[start]
    machine, functions, requests = _dispatcher(slots, first + (1 if start == "warm" else _STARTS), costs)
    if start == "warm":
        latencies = [_call(machine, functions, requests[0]) for _ in range(_CALLS)]
        return {"latency": median(latencies) / 1000}
    for request in requests[:first]:
        _call(machine, functions, request)
    latencies = [_call(machine, functions, request) for request in requests[first:]]
    loads = functions.loads[first:]
    assert len(loads) == _STARTS
    assert all((one.evicted is not None) == (start == "cold, with eviction") for one in loads)
    latency = median(latencies) / 1000
    stated = costs.load_ns + costs.request_ns + (costs.unload_ns if loads[0].evicted else 0)
    return {
        "latency": latency,
        "card": latency - stated / 1000,
        "writing": median(one.installed_ns - one.written_ns for one in loads) / 1000,
    }


def _mix(mix: str, slots: int, count: int) -> dict[str, float]:
    weights = np.ones(count) if mix == "uniform" else 1 / np.arange(1, count + 1)
    drawn = np.random.default_rng([slots, count]).choice(count, 2 * REQUESTS, p=weights / weights.sum())
    machine, functions, requests = _dispatcher(slots, count, HostCosts())
    for request in requests:  # all slots are full, or all functions are in the card
        _call(machine, functions, request)
    before = len(functions.loads)
    latencies = [_call(machine, functions, requests[number]) for number in drawn[:REQUESTS]]
    evictions = len(functions.loads) - before
    assert all(load.evicted is not None for load in functions.loads[before:])
    assert len(functions.loads) - sum(load.evicted is not None for load in functions.loads) == min(slots, count)
    begin = machine.now_ns
    machine.send([requests[number] for number in drawn[REQUESTS:]], every=f"{EVERY_US} us")
    functions.finish(within="100 ms")
    sent = machine.take_sent()
    assert len(sent) == REQUESTS, "a request has no reply, or two"
    served = [one.time_ns for one in sent if _check(Packet.of_frame(one.data))]
    return {
        "evictions": float(evictions),
        "latency": mean(latencies) / 1000,
        "throughput": 1e6 * len(served) / (max(served) - begin),
        "busy": float(REQUESTS - len(served)),
    }


def claims(results: Results) -> Iterator[Claim]:
    """Where the time goes, and what LRU keeps."""
    starts = [results.value(f"{start}, load {load} µs", "card") for start in STARTS[1:] for load in LOADS_US]
    yield Claim(
        text="The card's part of a cold start does not depend on the host's time or on evictions",
        holds=max(starts) - min(starts) < 0.1,
        found=f"{min(starts):.2f} to {max(starts):.2f} µs; a warm request takes "
        f"{results.value('warm, load 10 µs', 'latency'):.2f} µs",
    )
    fitting = [
        results.value(f"{mix}, {slots} slots, {count} functions", "evictions")
        for mix, slots in MIXES
        for count in COUNTS
        if count <= slots
    ]
    yield Claim(
        text="If all functions fit, none is evicted", holds=not any(fitting), found=f"{sum(fitting):.0f} evictions"
    )
    skewed, uniform = (
        [results.value(f"{mix}, 4 slots, {count} functions", "evictions") for count in COUNTS if count > 4]
        for mix in ("skewed", "uniform")
    )
    yield Claim(
        text="Skewed requests cause fewer evictions than uniform ones, since LRU keeps popular functions",
        holds=all(few < many for few, many in zip(skewed, uniform, strict=True)),
        found=", ".join(f"{few:.0f} and {many:.0f}" for few, many in zip(skewed, uniform, strict=True)),
    )


def plot(results: Results) -> Figure:
    """Latencies by the host's time; evictions and throughput by the number of functions."""
    latencies = []
    for look, start in enumerate(STARTS):
        x, y = results.series("load", "latency", start=start)
        latencies.append(plots.Curve(label=start, x=x, y=y, look=look))
    panels = [
        plots.Panel(
            title="one request",
            x_label="host's time to load a function (µs)",
            y_label="latency (µs)",
            curves=latencies,
            x_base=10,
            y_base=10,
        )
    ]
    evictions: list[plots.Curve] = []
    throughputs: list[plots.Curve] = []
    for look, (mix, slots) in enumerate(MIXES):
        label = f"{mix}, {slots} slots"
        for curves, quantity in ((evictions, "evictions"), (throughputs, "throughput")):
            x, y = results.series("count", quantity, mix=mix, slots=slots)
            curves.append(plots.Curve(label=label, x=x, y=y, look=look))
    for slots in (4, 8):
        x = [float(count) for count in range(slots, COUNTS[-1] + 1)]
        y = [REQUESTS * (1 - slots / count) for count in x]
        evictions.append(
            plots.Curve(label=f"{REQUESTS} (1 - slots / functions)" if slots == 4 else "", x=x, y=y, kind="formula")
        )
    for y_label, curves in (
        (f"evictions in {REQUESTS} requests", evictions),
        ("replies a ms", throughputs),
    ):
        panels.append(
            plots.Panel(
                title="one request at a time" if curves is evictions else f"a request every {EVERY_US} µs",
                x_label="functions",
                y_label=y_label,
                curves=curves,
            )
        )
    caption = (
        "spinet: preset pspin, 64 B of data; stated times of the host: 450 ns a request, 1 µs to unload, 10 µs to load."
    )
    return plots.curves(panels, columns=3, title=TITLE, caption=caption)
