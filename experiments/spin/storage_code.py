# SPDX-License-Identifier: Apache-2.0
"""SC 2022, Figures 12 and 13: handlers of the storage nodes, erasure coding, and the HPUs that line rate needs.

Durations of handlers on one card with warm caches and packets far apart, 1 KiB of data in each. A data node multiplies
each byte by one coefficient for each parity block, by look-up in a table in L1. A parity node adds (XOR). *Stripes*
are erasure-coded writes of 96 KiB on a network, one alone and eight at once: time until all nodes have replied, and
goodput.

The number of HPUs for 400 and 200 Gbit/s is the handler's time over the packet interval, as in the figure: 20.48 and
40.96 ns for packets of 1 KiB. The model check runs handlers of known length at these intervals and counts busy HPUs.
The published durations, 16.7 and 23 µs for RS(3,2) and RS(6,3), are quoted from memory and were for packets of 2 KiB;
they are shown and not judged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import spinet
from experiments.spin import storage
from spinet import plots
from spinet import storage as application
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Handlers of storage nodes, and HPUs for line rate"
SOURCE = f"{storage.PAPER}, Fig. 12 and 13"

PACKET_NS = {400: 20.48, 200: 40.96}  # source: talk, caption of Fig. 13: packets of 1 KiB at 400 and 200 Gbit/s
CODES = {"RS(3,2)": (3, 2), "RS(6,3)": (6, 3)}
WORK = (
    "write", "chain", "tree, two children", "RAID-5, data", "RAID-5, parity",
    "RS(3,2), data", "RS(6,3), data", "RS(3,2), parity", "RS(6,3), parity",
)  # fmt: skip
DRAWN = tuple(work for work in WORK if work not in ("RAID-5, parity", "RS(6,3), parity"))
LENGTHS = (100, 300, 600)  # instructions of handlers whose HPUs are counted
MODEL_PACKETS = 3000
UNITS = 12  # packets of the measured message
GAP_NS = 30_000  # longer than any handler
STRIPE = 96 << 10


def points() -> list[Point]:
    """Handlers, the model of HPUs, and stripes on a network."""
    handlers = [
        Point(name=work, settings={"what": work}, quick=work in ("write", "RS(3,2), data", "RS(3,2), parity"))
        for work in WORK
    ]
    model = [
        Point(
            name=f"{length} instructions at {gbps} Gbit/s",
            settings={"what": "model", "length": length, "gbps": gbps},
            quick=gbps == 200,
        )
        for length in LENGTHS
        for gbps in PACKET_NS
    ]
    stripes = [
        Point(name=f"stripes, {code}, {count}", settings={"what": "stripes", "code": code, "count": count})
        for code in CODES
        for count in (1, 8)
    ]
    return handlers + model + stripes


def measure(*, what: str, length: int = 0, gbps: int = 0, code: str = "", count: int = 1) -> dict[str, float]:
    """Cycles of handlers, HPUs, or a stripe's latency and goodput."""
    if what == "model":
        return _busy(length, gbps)
    if what == "stripes":
        k, m = CODES[code]
        nodes = storage.nodes(k + m)
        ns = storage.latency_ns(
            lambda client, at, n: client.encode(nodes[:k], nodes[k:], at, storage.data(n, at)),
            count * STRIPE,
            k + m,
            parts=count,
        )
        return {"latency": ns / 1000, "goodput": count * STRIPE * 8 / ns}
    return _durations(what)


def _busy(length: int, gbps: int) -> dict[str, float]:
    """Mean number of busy HPUs for a handler of `length` instructions, at the rate of the figure."""
    result = spinet.run(
        program=storage.EXAMPLES / "empty.c",
        defines={"INSTRUCTIONS": length},
        traffic=f"udp:size=1024,count={MODEL_PACKETS},rate={round(1e9 / PACKET_NS[gbps])}pps",
    )
    assert result.complete
    columns = result.columns
    starts, ends = columns["start_ps"], columns["end_ps"]
    first, last = np.percentile(starts, (40, 90))
    inside = np.clip(np.minimum(ends, last) - np.maximum(starts, first), 0, None).sum()
    busy, time = float(inside / (last - first)), float(np.mean(ends - starts)) / 1000
    return {"HPUs": busy, "time": time, "HPUs over time / interval": busy / (time / PACKET_NS[gbps])}


def _frames(work: str) -> list[list[bytes]]:
    """Messages to one node: first those that warm the caches, last the measured one."""
    client = application.Client(storage.CLIENT)
    first, *others = storage.nodes(9)
    size = UNITS * storage.UNIT
    code = next((CODES[name] for name in CODES if work.startswith(name)), (1, 1))
    messages = []
    for _ in range(6):
        if work == "write":
            request = client.write(first, 0, storage.data(size, 0))
        elif work == "chain":
            request = client.replicate([first, *others[:3]], 0, storage.data(size, 0))
        elif work.startswith("tree"):
            request = client.replicate([first, *others[:2]], 0, storage.data(size, 0), strategy="tree")
        elif work.startswith("RAID-5"):
            request = client.update(first, others[0], 0, storage.data(size, 0), block=0)
        else:
            k, m = code
            request = client.encode([first, *others[: k - 1]], others[k - 1 :][:m], 0, storage.data(k * size, 0))
            request.messages = request.messages[:1]
        if work.endswith("parity"):
            messages.append(_as_parity(client, request, code[0] if work.startswith("RS") else 1))
        else:
            messages.append(client.frames(request))
    return messages


def _as_parity(client: application.Client, request: application.Request, k: int) -> list[bytes]:
    """The messages of all data nodes to a parity node, with any data."""
    policy = "code parity" if k > 1 else "raid parity"
    node, ask, data, _ = request.messages[0]
    request.messages = tuple((node, storage.replace(ask, policy=policy, rank=rank), data, rank) for rank in range(k))
    return client.frames(request)


def _durations(work: str) -> dict[str, float]:
    frames: list[tuple[int, bytes]] = []
    messages = _frames(work)
    for message in messages:
        start = frames[-1][0] + 10 * GAP_NS if frames else 0
        frames += [(start + GAP_NS * place, frame) for place, frame in enumerate(message)]
    result = spinet.run(application.node(), traffic=frames)
    assert result.complete and not result.summary["traps"], work
    columns: dict[str, Any] = result.columns
    last = columns["frame"] >= len(frames) - len(messages[-1])
    size = columns["bytes"][last]
    cycles = columns["cycles"][last][size == storage.wire.constant("DATA_AT") + storage.UNIT]
    payload = _payload(cycles)
    return {
        "header": float(np.median(_given(columns["header_cycles"][last]))),
        "payload": payload,
        "completion": float(np.median(_given(columns["completion_cycles"][last]))),
        "HPUs at 400 Gbit/s": math.ceil(payload / PACKET_NS[400]),
        "HPUs at 200 Gbit/s": math.ceil(payload / PACKET_NS[200]),
        "line rate": 32 * storage.UNIT * 8 / payload,
    }


def _payload(cycles: np.ndarray[Any, Any]) -> float:
    """Mean of the runs that work: for the last packet of a message, only the completion handler works."""
    return float(np.mean(cycles[cycles > 60]))


def _given(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Values above 0; a handler that did not run has 0."""
    return values[values > 0]


def claims(results: Results) -> Iterator[Claim]:
    """Line rate, and the code's loop."""
    rows = {work: results.value(work, "payload") for work in WORK}
    sustained = [work for work, cycles in rows.items() if cycles <= 32 * PACKET_NS[400]]
    yield Claim(
        text="32 HPUs sustain 400 Gbit/s with handlers of up to 655 ns: writes and forwarding, but not multiplication",
        holds=set(sustained) >= {"write", "chain", "tree, two children"}
        and not any("data" in work for work in sustained),
        found=", ".join(f"{work}: {cycles:.0f} ns" for work, cycles in rows.items()),
    )
    yield Claim(
        text="Multiplication for m parity blocks takes 1 + 3 m cycles a byte, plus the loop",
        holds=None,
        found=", ".join(
            f"m = {m}: {rows[f'RS({k},{m}), data'] / storage.UNIT:.1f} cycles a byte" for k, m in CODES.values()
        ),
    )
    lines = {code: results.value(f"{code}, data", "line rate") * k for code, (k, _) in CODES.items()}
    rates = {code: results.value(f"stripes, {code}, 8", "goodput") for code in CODES}
    yield Claim(
        text="Several stripes at once are encoded at most as fast as the HPUs of all data nodes multiply",
        holds=all(rates[code] <= lines[code] for code in CODES),
        found=", ".join(f"{code}: {rates[code]:.0f} of {lines[code]:.0f} Gbit/s" for code in CODES),
    )
    yield Claim(
        text="RS(3,2) and RS(6,3) took about 16.7 and 23 µs, with packets of 2 KiB (from memory, unsure)",
        holds=None,
        found=" and ".join(f"{rows[f'{code}, data'] * 2 / 1000:.1f}" for code in CODES) + " µs for 2 KiB, by scaling",
    )


def plot(results: Results) -> Figure:
    """HPUs by duration. Handlers with almost the duration of another one are not drawn."""
    times = np.geomspace(50, 20_000, 40)
    curves: Sequence[plots.Curve] = [
        *(
            plots.Curve(label=f"{gbps} Gbit/s", x=list(times), y=list(times / interval), kind="formula")
            for gbps, interval in PACKET_NS.items()
        ),
        *(
            plots.Curve(
                label=work, look=look,
                x=[results.value(work, "payload")] * 2,
                y=[results.value(work, f"HPUs at {gbps} Gbit/s") for gbps in PACKET_NS],
            )
            for look, work in enumerate(DRAWN)
        ),
    ]  # fmt: skip
    panel = plots.Panel(
        title="HPUs for line rate", x_label="payload handler (ns)", y_label="HPUs", curves=curves, x_base=10, y_base=10,
        levels=[(32, "32 HPUs")],
    )  # fmt: skip
    return plots.curves(
        [panel], title=TITLE, panel_inches=(7.5, 4.5),
        caption=f"Upper point of each pair: 400 Gbit/s, lower point: 200 Gbit/s. {storage.MEASURED}",
    )  # fmt: skip
