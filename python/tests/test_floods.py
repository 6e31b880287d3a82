# SPDX-License-Identifier: Apache-2.0
"""A tenant whose handlers write all their memory is closed; the next tenant always finds the memory zeroed."""

from __future__ import annotations

import struct

import pytest
import spinet
from spinet.machine import Context

import frames

FLOODS = "python/tests/handlers/floods.c"
MEMORY, PAD = 65536, 32768
WORD = struct.pack("<I", 0x5EC12E75)


def packets(port: int, count: int) -> list[bytes]:
    return [frames.build(ip=4, protocol=frames.UDP, ports=(n // 2, port), payload=bytes(64)) for n in range(count)]


def destroy_at_once(machine: spinet.Machine, context: Context) -> int:
    """Closes it as soon as the driver allows it; returns the nanoseconds until then."""
    begun = machine.now_ns
    while True:
        try:
            context.destroy()
            return machine.now_ns - begun
        except spinet.InputError as refused:
            assert "packets in the card" in str(refused)
            machine.step("37 ns")


@pytest.mark.parametrize("late_ns", [700, 2900])
@pytest.mark.parametrize("flood", ["from_host", "to_host", "copies", "words"])
def test_what_a_flood_leaves_reaches_nobody(flood: str, late_ns: int) -> None:
    with spinet.Machine(set=["n_clusters=2", "cluster.n_cores=2"]) as machine:
        first = machine.tenant("first", scope="udp.dst_port == 1")
        memory, pad, host = first.allocate(MEMORY), first.allocate(PAD, kind="scratchpad"), first.register(MEMORY)
        host.write(WORD * (MEMORY // 4))
        memory.write(WORD * (MEMORY // 4))
        program = first.load(FLOODS)
        context = first.context(
            program=program, handler=flood, memory=memory, scratchpad=pad, host=host, watchdog_cycles=3000
        )
        rule = context.install(message="by udp.src_port count 3")
        machine.run(until="100 us")
        machine.send(packets(1, 12), every="150 ns")
        machine.step(f"{late_ns} ns")
        rule.remove(messages="kill")
        # Its four handlers run until their watchdogs end them, and their transfers complete.
        assert 0 < destroy_at_once(machine, context) < 200_000
        first.close()

        second = machine.tenant("second", scope="udp.dst_port == 2")
        again, pad_again, host = second.allocate(MEMORY), second.allocate(PAD, kind="scratchpad"), second.register(64)
        assert (again.addr, pad_again.addr) == (memory.addr, pad.addr)
        look = second.context(
            program=second.load(FLOODS), handler="look", memory=again, scratchpad=pad_again, host=host
        )
        look.install()
        machine.send(packets(2, 8), every="500 ns")
        assert again.read() == bytes(MEMORY)
        machine.finish()
        assert (host.read(size=8), again.read()) == (struct.pack("<2I", 1, 0), bytes(MEMORY))
        assert [event.what for event in second.take_events()] == ["message_done"] * 8
