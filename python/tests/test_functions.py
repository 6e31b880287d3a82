# SPDX-License-Identifier: Apache-2.0
"""Functions that come into the card on demand: against plain Python, and against an LRU list."""

from __future__ import annotations

import re
import struct
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import spinet
from spinet._core import UsageError
from spinet.services import wire
from spinet.services.functions import EXAMPLES, FIRST_PORT, STATUS, Functions, HostCosts
from spinet.services.wire import Packet

OWN = Path("python/tests/handlers/function.c")
RESULTS: dict[str, Callable[[bytes], bytes]] = {
    "upper": bytes.upper,
    "sum": lambda data: struct.pack("<q", sum(struct.unpack(f"<{len(data) // 4}i", data))),
    "crc32": lambda data: struct.pack("<I", zlib.crc32(data)),
}
QUICK = HostCosts(load_ns=2_000, unload_ns=300)


def dispatcher(names: Sequence[str], *, costs: HostCosts = QUICK, **settings: int) -> tuple[spinet.Machine, Functions]:
    machine = spinet.Machine()
    functions = Functions(machine, costs=costs, **settings)
    for name in names:
        functions.deploy(name, OWN if name.startswith("own") else EXAMPLES / f"{name}.c")
    functions.finish()
    return machine, functions


def call(machine: spinet.Machine, functions: Functions, name: str, data: bytes) -> tuple[Packet, int]:
    """The reply to one request, and its latency."""
    begin = machine.now_ns
    machine.send([functions[name].request(data)])
    functions.finish()
    (sent,) = machine.take_sent()
    return Packet.of_frame(sent.data), sent.time_ns - begin


def replies(machine: spinet.Machine) -> dict[int, Packet]:
    """Replies by number of the request; none may come twice."""
    packets = [Packet.of_frame(sent.data) for sent in machine.take_sent()]
    found = {packet.request: packet for packet in packets}
    assert len(found) == len(packets)
    return found


def test_replies_have_the_bytes_that_python_computes() -> None:
    machine, functions = dispatcher(["upper", "sum", "crc32"])
    random = np.random.default_rng(21)
    for size in (0, 4, 400, wire.MAX_DATA - wire.MAX_DATA % 4):
        for name, result in RESULTS.items():
            data = random.bytes(size)
            reply, _ = call(machine, functions, name, data)
            assert (reply.status, reply.data) == (0, result(data)), (name, size)
    reply, _ = call(machine, functions, "sum", b"abc")
    assert STATUS[reply.status] == "malformed" and not reply.data
    assert len(functions.loads) == 3 and not functions.faults


def test_a_cold_start_takes_the_stated_time_of_the_host_and_that_of_the_card() -> None:
    latency = {}
    for load_ns in (2_000, 9_000):
        costs = HostCosts(load_ns=load_ns, request_ns=700)
        machine, functions = dispatcher(["upper"], slots=2, costs=costs)
        _, cold = call(machine, functions, "upper", b"cold")
        warm = min(call(machine, functions, "upper", b"warm")[1] for _ in range(9))  # also in all clusters' caches
        (load,) = functions.loads
        assert load.free_ns == load.noticed_ns and load.written_ns - load.free_ns == load_ns
        # The code and 4 KiB of fresh memory pass the host's port, 64 bytes a cycle.
        assert 4096 / 64 < load.installed_ns - load.written_ns < 4096 / 64 + 200
        assert warm < 200
        assert load_ns + costs.request_ns + 4096 / 64 < cold - warm < load_ns + costs.request_ns + 2_000
        latency[load_ns] = cold
    assert abs(latency[9_000] - latency[2_000] - 7_000) <= QUICK.poll_ns


def test_the_function_that_is_unused_for_longest_leaves() -> None:
    machine, functions = dispatcher(["own a", "own b", "own c"], slots=2)
    for name, order in [
        ("own a", ("own a",)),
        ("own b", ("own a", "own b")),
        ("own a", ("own b", "own a")),
        ("own c", ("own a", "own c")),  # b leaves
        ("own a", ("own c", "own a")),
        ("own b", ("own a", "own b")),  # c leaves
    ]:
        call(machine, functions, name, bytes(8))
        assert functions.installed == order
    assert [(load.function, load.evicted) for load in functions.loads] == [
        ("own a", None),
        ("own b", None),
        ("own c", "own b"),
        ("own b", "own c"),
    ]


def test_drawn_requests_load_and_evict_as_an_lru_list_does() -> None:
    names = [f"own {n}" for n in range(5)]
    machine, functions = dispatcher(names, slots=3)
    model: OrderedDict[str, None] = OrderedDict()
    loads = []
    for number in np.random.default_rng(3).integers(0, len(names), 40):
        name = names[number]
        if name not in model:
            loads.append((name, model.popitem(last=False)[0] if len(model) == 3 else None))
        model[name] = None
        model.move_to_end(name)
        call(machine, functions, name, bytes(8))
        assert functions.installed == tuple(model)
    assert [(load.function, load.evicted) for load in functions.loads] == loads
    assert len(loads) > 10


def test_every_request_is_answered_once_while_functions_come_and_go() -> None:
    names = list(RESULTS)
    machine, functions = dispatcher(names, slots=2)
    random = np.random.default_rng(8)
    asked = [(names[random.integers(3)], random.bytes(4 * int(random.integers(1, 100)))) for _ in range(60)]
    frames = [functions[name].request(data, number=1 + at) for at, (name, data) in enumerate(asked)]
    machine.send(frames, every="900 ns")  # faster than the host loads
    functions.finish()
    found = replies(machine)
    assert [found[1 + at].data for at in range(len(asked))] == [RESULTS[name](data) for name, data in asked]
    assert len(functions.loads) - sum(load.evicted is not None for load in functions.loads) == 2
    assert 10 < len(functions.loads) < 60
    assert functions.events() == {"unknown": 0, "busy": 0, "malformed": 0, "denied": 0}


def test_a_function_starts_afresh_each_time_that_it_is_loaded() -> None:
    machine, functions = dispatcher(["own a", "upper"], slots=1)
    runs = [struct.unpack("<2i", call(machine, functions, "own a", b"c")[0].data) for _ in range(2)]
    call(machine, functions, "upper", b"x")
    runs += [struct.unpack("<2i", call(machine, functions, "own a", b"c")[0].data)]
    assert runs == [(100, 0), (101, 1), (100, 0)]


def test_faults_of_a_function_do_not_disturb_another() -> None:
    def latencies(fault: bytes | None) -> tuple[list[int], Functions]:
        machine, functions = dispatcher(["upper", "own a"], slots=2, watchdog_cycles=3_000)
        for name in ("upper", "own a"):
            call(machine, functions, name, b"count")
        begin = machine.now_ns
        machine.send([functions["upper"].request(b"good", number=1 + n) for n in range(20)], every="500 ns")
        if fault is not None:
            machine.send([functions["own a"].request(fault)] * 8, every="1 us")
        functions.finish()
        sent = machine.take_sent()
        assert [Packet.of_frame(one.data).data for one in sent] == [b"GOOD"] * 20
        if fault is not None:  # the function itself still works
            assert struct.unpack("<2i", call(machine, functions, "own a", b"count")[0].data) == (101, 1)
        return [one.time_ns - begin - 500 * n for n, one in enumerate(sent)], functions

    alone, functions = latencies(None)
    assert not functions.faults
    warm = min(alone)
    assert alone[6:] == [warm] * 14  # the first ones fill the caches of the clusters
    for fault in (b"wild", b"endless"):
        disturbed, functions = latencies(fault)
        assert functions.faults == {"own a": 8}
        # A core whose last task was of another function is cleared, about 90 cycles.
        assert max(disturbed) < max(alone) + 100 and max(disturbed[6:]) < warm + 100


def test_unknown_functions_a_full_ring_and_malformed_requests_are_answered() -> None:
    machine, functions = dispatcher(["upper"], kept=2)
    stranger = Packet(request=7, client=3, kind=0, data=b"?").frame(source=1, target=0, port=FIRST_PORT + 9)
    cut = functions["upper"].request(b"a" * 60, number=8)[:-20]  # IPv4 and UDP say more
    machine.send([stranger, cut], every="1 us")
    functions.finish()
    assert {n: STATUS[reply.status] for n, reply in replies(machine).items()} == {7: "unknown", 8: "malformed"}
    # The host takes the first request, and loads the function for 2 us; two are kept, and two find no place.
    machine.send([functions["upper"].request(b"x", number=n) for n in range(1, 6)], every="400 ns")
    functions.finish()
    statuses = [STATUS[reply.status] for _, reply in sorted(replies(machine).items())]
    assert statuses == ["ok", "ok", "ok", "busy", "busy"]
    assert functions.events() == {"unknown": 1, "busy": 2, "malformed": 1, "denied": 0}
    functions.withdraw("upper")
    assert functions.installed == ()
    port = FIRST_PORT
    machine.send([Packet(request=9, client=1, kind=0).frame(source=1, target=0, port=port)])
    functions.finish()
    assert [STATUS[reply.status] for reply in replies(machine).values()] == ["unknown"]


def test_functions_that_cannot_be_are_refused(tmp_path: Path) -> None:
    machine, functions = dispatcher(["upper"], slots=2)
    large = tmp_path / "large.c"
    code = "".join(f'__asm__ volatile(".zero {4096}");' for _ in range(5))
    large.write_text(f"#include <services/function.h>\n__handler__ void large_ph(handler_args_t *args) {{ {code} }}\n")
    for ask, text in [
        (lambda: functions.deploy("upper", EXAMPLES / "sum.c"), "function `upper` is deployed already"),
        (lambda: functions.deploy("a", EXAMPLES / "sum.c", port=80), "port is 80, must be 9700 to 9955"),
        (lambda: functions.deploy("a", EXAMPLES / "sum.c", port=9700), "port 9700 is that of function `upper`"),
        (lambda: functions.deploy("a", large), r"large.c does not fit: \d+ bytes of program memory and 16384 of"),
        (lambda: functions.withdraw("a"), "function `a` is not deployed; deployed are: upper"),
        (lambda: Functions(machine, kept=3), "kept is 3, must be a power of 2"),
        (lambda: Functions(machine, slots=0), "slots is 0, must be 1 or more"),
        (lambda: HostCosts(poll_ns=0), "poll_ns must be 1 or more"),
    ]:
        with pytest.raises((UsageError, spinet.toolchain.BuildError), match=text):
            ask()


def test_the_guide_runs() -> None:
    guide = Path("docs/guides/services.md").read_text().partition("## Functions on demand")[2]
    (code, *_) = re.findall(r"^```python\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    exec(compile(code, "docs/guides/services.md", "exec"), {})
