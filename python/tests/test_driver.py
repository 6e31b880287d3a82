# SPDX-License-Identifier: Apache-2.0
"""The driver from Python: packets that meet full buffers, and faults of the network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
import spinet
from spinet.machine import Context, Tenant

import frames

ECHO = "sdk/examples/ping_pong.c"
PACKET = frames.build(ip=4, protocol=frames.UDP, ports=(1, 7), payload=bytes(60))
LONG = "50 us"  # a packet of this handler takes tenths of one


@pytest.fixture
def machine() -> Iterator[spinet.Machine]:
    """A card that has booted."""
    with spinet.Machine() as machine:
        yield machine


def echo(tenant: Tenant, delivery: Mapping[str, str | int] | None = None, *, program: str = ECHO) -> Context:
    return tenant.context(program=tenant.load(program), delivery=delivery)


def port(number: int) -> bytes:
    return frames.build(ip=4, protocol=frames.UDP, ports=(number, 7), payload=bytes(60))


def test_a_message_that_stops_arriving_is_given_up_and_its_flow_begins_anew(machine: spinet.Machine) -> None:
    tenant = machine.tenant("a")
    echo(tenant, {"timeout_cycles": 2000}).install(message="by udp.src_port count 2")
    heard = []
    for ports in ([1, 1, 2], [3], [2, 2]):
        machine.send([port(number) for number in ports])
        machine.step(LONG)
        heard.append(sorted(event.what for event in tenant.take_events()))
    assert heard == [["message_done", "message_timeout"], ["message_timeout"], ["message_done"]]
    assert machine.is_idle and len(machine.take_sent()) == 6


def test_without_a_timeout_a_message_may_wait_for_ever(machine: spinet.Machine) -> None:
    tenant = machine.tenant("a")
    echo(tenant, {"timeout_cycles": 0}).install(message="by udp.src_port count 2")
    machine.send([PACKET])
    machine.step("1 ms")
    assert tenant.take_events() == ()
    machine.send([PACKET])
    machine.step(LONG)
    assert [event.what for event in tenant.take_events()] == ["message_done"]


@pytest.mark.parametrize(
    ("when_full", "message", "event"),
    [("stall", "each", None), ("drop", "each", None), ("kill_message", "by udp.src_port count 64", "message_killed")],
)
def test_what_a_full_packet_memory_means_is_the_contexts_choice(
    when_full: str, message: str, event: str | None
) -> None:
    """Packet memory has room for some eight packets, and 64 come faster than they are sent back."""
    long = frames.build(ip=4, protocol=frames.UDP, ports=(1, 7), payload=bytes(450))
    with spinet.Machine(set=["l2.packet_bytes=4096"]) as machine:
        tenant = machine.tenant("a")
        echo(tenant, {"when_full": when_full}).install(message=message)
        machine.finish()
        machine.send([long] * 64)
        machine.finish()
        fates = Counter(machine.take_packets()["fate"].to_pylist())
        heard = {event.what for event in tenant.take_events()}
    if when_full == "stall":
        assert fates == {"sent": 64}
    else:
        # A killed message also loses its waiting packets.
        assert fates["sent"] + fates["dropped"] == 64 and (fates["sent"] > 0) == (when_full == "drop"), fates
    assert event is None or event in heard, heard


@pytest.mark.parametrize(
    ("delivery", "says"),
    [
        ({"when_ful": "drop"}, "did you mean `when_full`?"),
        ({"when_full": "burn"}, "expected one of `stall`, `drop`, `mark_ecn`, `kill_message`"),
        ({"early_packets": 0}, "delivery.early_packets is 0, must be 1 to 65536"),
        ({"ecn_threshold_percent": 101}, "must be 0 to 100"),
        ({"timeout_cycles": "soon"}, "must be a whole number"),
    ],
)
def test_a_delivery_that_cannot_be_is_refused(
    machine: spinet.Machine, delivery: Mapping[str, str | int], says: str
) -> None:
    tenant = machine.tenant("a")
    program = tenant.load(ECHO)
    with pytest.raises(spinet.InputError, match="delivery") as caught:
        tenant.context(program=program, delivery=delivery)
    assert says in str(caught.value)
    program.unload()  # no context uses the program


def test_a_network_loses_doubles_and_reorders_what_comes_after_it(machine: spinet.Machine) -> None:
    tenant = machine.tenant("a")
    echo(tenant).install()
    packets = [port(number) for number in range(1, 101)]

    def passes(faults: str, *, seed: int = 1) -> tuple[int, list[int], bool, bool]:
        machine.network(faults, seed=seed)
        machine.send(packets, every="500 ns")  # slow, so that none overtakes another in the card
        machine.finish()
        seen = [int.from_bytes(packet.data[36:38], "big") for packet in machine.take_sent()]  # ports are swapped
        return len(seen), seen, machine.capabilities.reliable, machine.capabilities.in_order

    assert passes("") == (100, list(range(1, 101)), True, True)
    assert passes("duplicate=1")[0::2] == (200, False)
    n, kept, reliable, in_order = passes("loss=0.5")
    assert 30 < n < 70 and kept == sorted(kept) and not reliable and in_order
    assert passes("loss=0.5", seed=2)[1] != kept
    n, order, reliable, in_order = passes("reorder=0.5:8")
    assert n == 100 and order != sorted(order) == list(range(1, 101)) and reliable and not in_order
    assert passes("")[2:] == (True, True)


@pytest.mark.parametrize("faults", ["loss", "loss=2", "los=0.1", "reorder=0.1", "loss=0.1,loss=0.1"])
def test_a_network_that_cannot_be_is_refused(machine: spinet.Machine, faults: str) -> None:
    with pytest.raises(
        spinet.InputError, match="must be `loss=CHANCE`, `duplicate=CHANCE` or `reorder=CHANCE:DISTANCE`"
    ):
        machine.network(faults)
    assert machine.capabilities.reliable


def test_a_card_is_idle_when_all_packets_have_come_and_gone(machine: spinet.Machine) -> None:
    echo(machine.tenant("a")).install()
    machine.finish()
    assert machine.is_idle
    machine.send([PACKET] * 3, every="10 us")
    with pytest.raises(spinet.InputError, match="not idle 15 us later"):
        machine.finish(within="15 us")
    assert len(machine.take_sent()) == 2
    machine.finish()
    assert len(machine.take_sent()) == 1 and machine.is_idle
    before = machine.now_ns
    machine.finish()
    assert machine.now_ns == before


def test_a_number_that_no_card_can_have_is_refused_by_name(machine: spinet.Machine) -> None:
    tenant = machine.tenant("a")
    memory, host, program = tenant.allocate(64), tenant.register(64), tenant.load(ECHO)
    context = tenant.context(program=program)
    for ask, complaint in (
        (lambda: tenant.allocate(-1), "size is -1, must be 0 to 4294967295"),
        (lambda: tenant.register(1 << 40), "size is 1099511627776, must be 0 to 4294967295"),
        (lambda: memory.write(b"x", offset=-1), "offset is -1, must be 0 to 4294967295"),
        (lambda: memory.read(offset=1 << 32), "offset is 4294967296, must be 0 to 4294967295"),
        (lambda: memory.read(size=-4), "size is -4, must be 0 to 4294967295"),
        (lambda: memory.read(offset=65), "memory 1 has 64 bytes, 0 at 65 reach beyond it"),
        (lambda: host.read(offset=65), "host memory 1 has 64 bytes, 0 at 65 reach beyond it"),
        (lambda: host.write(b"x", offset=-64), "offset is -64, must be 0 to 4294967295"),
        (lambda: tenant.context(program=program, watchdog_cycles=1 << 32), "watchdog_cycles is 4294967296, must be"),
        (lambda: tenant.context(program=program, copy_bytes=-1), "copy_bytes is -1, must be 0 to 4294967295"),
        (lambda: context.install(priority=1 << 31), "priority is 2147483648, must be -2147483648 to 2147483647"),
        (lambda: machine.network("loss=0.1", seed=-1), "seed is -1, must be 0 to 18446744073709551615"),
        (lambda: machine.traffic("udp:count=1", count=-1), "count is -1, must be 0 to 18446744073709551615"),
        (lambda: spinet.Machine(seed=1 << 64), "seed is 18446744073709551616, must be 0 to"),
    ):
        with pytest.raises(spinet.InputError) as refused:
            ask()
        assert str(refused.value).startswith(complaint)


def test_a_card_that_was_closed_is_the_callers_mistake(machine: spinet.Machine) -> None:
    tenant = machine.tenant("a")
    machine.close()
    machine.close()
    for ask in (lambda: machine.now_ns, lambda: machine.run(until="1 us"), lambda: tenant.allocate(64)):
        with pytest.raises(spinet.InputError, match="it was closed before, and cannot be used any more"):
            ask()


def test_a_program_without_data_takes_no_handler_memory(machine: spinet.Machine) -> None:
    """The headers of its ELF file take none either, although linkers may put them before the data."""
    tenant = machine.tenant("own")
    tenant.allocate(320)
    free = machine.capabilities.handler_memory.free
    tenant.load(ECHO)
    assert machine.capabilities.handler_memory.free == free
