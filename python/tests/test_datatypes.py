# SPDX-License-Identifier: Apache-2.0
"""Datatypes: packing is compared with a list of all bytes, and messages pass through the card."""

from __future__ import annotations

import dataclasses
import random
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spinet
from spinet import InputError, _packets, native, toolchain
from spinet import datatypes as dt
from spinet.datatypes import Datatype, interval

ROOT = Path(__file__).resolve().parent.parent.parent
LEAVES = (dt.BYTE, dt.SHORT, dt.INT, dt.DOUBLE, dt.DOUBLE_COMPLEX)


# the reference: MPI's definition of a type as a list of basic types with displacements (MPI 4.0, 5.1)


def typemap(datatype: Datatype) -> list[tuple[int, int]]:
    """Displacement and size of each basic type, in order; written from the definition, without shortcuts."""
    if datatype.blocks is None:
        return [(0, datatype.size)]
    blocks, entries = datatype.blocks, []
    for number, (place, length) in enumerate(zip(blocks.displacements, blocks.lengths, strict=True)):
        child = blocks.child(number)
        inner = typemap(child)
        for element in range(length):
            entries += [(int(place) + element * child.extent + at, size) for at, size in inner]
    return entries


def scattered(datatype: Datatype, message: bytes, count: int, origin: int, room: int) -> bytes:
    """Host memory after a receive, filled one basic type at a time."""
    memory, taken = bytearray(room), 0
    entries = typemap(datatype)
    for element in range(count):
        for at, size in entries:
            first = origin + element * datatype.extent + at
            memory[first : first + size] = message[taken : taken + size]
            taken += size
    assert taken == len(message)
    return bytes(memory)


def drawn(rng: random.Random, depth: int) -> Datatype:
    """A type whose elements do not overlap, nested up to `depth` times."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(LEAVES)
    child = drawn(rng, depth - 1)
    n = rng.randint(1, 4)
    kinds: dict[str, Callable[[], Datatype]] = {
        "hvector": lambda: dt.hvector(n, 1, child.true_extent + rng.randint(0, 9), child),
        "members": lambda: members(rng, n, child, None),
        "struct": lambda: members(rng, n, child, depth - 1),
        "resized": lambda: dt.resized(child, child.lb - rng.randint(0, 8), child.extent + rng.randint(8, 20)),
    }
    if child.extent >= child.true_extent > 0:  # elements can follow each other
        blocks = [rng.randint(1, 3) for _ in range(n)]
        places = np.cumsum([rng.randint(0, 3) + (blocks[at - 1] if at else 0) for at in range(n)]).tolist()
        backwards = [place for place in places if rng.random() < 0.5] or places
        kinds |= {
            "contiguous": lambda: dt.contiguous(n, child),
            "vector": lambda: dt.vector(n, blocks[0], blocks[0] + rng.randint(0, 3), child),
            "indexed": lambda: dt.indexed(blocks, places, child),
            "indexed_block": lambda: dt.indexed_block(1, backwards[::-1], child),
            "subarray": lambda: dt.subarray([3, 4], [2, rng.randint(1, 3)], [1, 1], child, order=rng.choice("CF")),
        }
    return kinds[rng.choice(sorted(kinds))]()


def members(rng: random.Random, n: int, child: Datatype, depth: int | None) -> Datatype:
    """Blocks in any order, of one type or of several."""
    rows, at = [], rng.randint(-20, 20)
    for _ in range(n):
        one = child if depth is None else drawn(rng, depth)
        length = rng.randint(0, 3) if one.extent >= one.true_extent else rng.randint(0, 1)
        rows.append((length, at - one.true_lb, one))
        at += max(0, one.extent) * max(0, length - 1) + one.true_extent + rng.randint(0, 12)
    rng.shuffle(rows)
    lengths, places, types = zip(*rows, strict=True)
    return dt.hindexed(lengths, places, child) if depth is None else dt.struct(lengths, places, types)


def some(seed: int, *, most: int = 20_000) -> tuple[Datatype, int]:
    """A drawn type with data, and a count."""
    rng = random.Random(seed)
    while True:
        datatype = drawn(rng, rng.randint(1, 6))
        repeats = datatype.extent >= datatype.true_extent > 0
        count = max(1, min(30, 3000 // max(1, datatype.size))) if repeats else 1
        if 0 < datatype.size * count <= most and datatype.true_extent * count < 1 << 20:
            return datatype, count


# types


def test_types_that_cannot_be_are_refused() -> None:
    refused = {
        "count is -1, must be an integer from 0": lambda: dt.contiguous(-1, dt.INT),
        "count is 1.5, must be an integer": lambda: dt.contiguous(1.5, dt.INT),  # type: ignore[arg-type]
        "stride is '4', must be an integer": lambda: dt.vector(1, 1, "4", dt.INT),  # type: ignore[arg-type]
        "the element type is 'int', must be a datatype": lambda: dt.contiguous(1, "int"),  # type: ignore[arg-type]
        "lengths has 1 numbers, displacements 2": lambda: dt.indexed([1], [0, 4], dt.INT),
        r"lengths\[1\] is -2, must be at least 0": lambda: dt.indexed([1, -2], [0, 4], dt.INT),
        "children has 1 types, displacements 2": lambda: dt.struct([1, 1], [0, 4], [dt.INT]),
        "dimension 1: 3 from 2 of 4": lambda: dt.subarray([4, 4], [1, 3], [0, 2], dt.INT),
        "order is 'A', must be 'C' or 'F'": lambda: dt.subarray([4], [1], [0], dt.INT, order="A"),
        "ub is 2400000000, must be": lambda: dt.contiguous(600_000_000, dt.INT),
        r"position 4: vec needs 3 numbers, has 2 \(found '1 2\)\[int\]'\)": lambda: dt.parse("vec(1 2)[int]"),
        "position 7: expected ctg, vec, hvec, hidx or one of byte": lambda: dt.parse("ctg(2)[long]"),
        r"position 11: expected the end \(found '\]'\)": lambda: dt.parse("ctg(2)[int]]"),
        "types are nested deeper than 100": lambda: dt.parse("ctg(1)[" * 2000 + "int" + "]" * 2000),
        "the type is 3, must be a text such as": lambda: dt.parse(3),  # type: ignore[arg-type]
        r"sizes is \[\[\], 4\], must be a list of integers": lambda: dt.subarray(
            [[], 4],
            [1, 1],
            [0, 0],
            dt.INT,  # type: ignore[list-item]
        ),
    }
    for said, make in refused.items():
        with pytest.raises(InputError, match=said):
            make()


def test_texts_of_fpspin_are_types() -> None:
    nested = dt.parse("hvec(2 1 18432)[hvec(2 1 12288)[hvec(2 1 6144)[vec(32 6 8)[ctg(18)[float]]]]]")
    assert (nested.size, len(nested.pieces()[0]), nested.pieces()[1][0]) == (110_592, 256, 432)
    assert dt.parse("hidx(0,1 17952,1)[vec(34 1 34)[double]]").pieces()[0][[0, 34]].tolist() == [0, 17952]
    one, other = dt.parse("ctg(256)[double]").pieces(), dt.parse("ctg(16)[ctg(16)[double]]").pieces()
    assert one == other == (np.array([0]), np.array([2048]))


# packing


@pytest.mark.parametrize("seed", range(60))
def test_packing_follows_the_type_map(seed: int) -> None:
    datatype, count = some(seed)
    origin = max(0, -datatype.true_lb)
    room = origin + datatype.true_ub + (count - 1) * max(0, datatype.extent)
    message = np.random.default_rng(seed).integers(1, 256, datatype.size * count, np.uint8)
    expected = scattered(datatype, message.tobytes(), count, origin, room)
    memory = np.zeros(room, np.uint8)
    dt.unpack(datatype, message, memory, count, origin=origin)
    assert memory.tobytes() == expected, f"seed {seed}: {datatype.name}"
    assert (dt.pack(datatype, memory, count, origin=origin) == message).all(), f"seed {seed}: {datatype.name}"


def test_packing_by_hand() -> None:
    matrix = np.arange(12, dtype=np.int32).reshape(3, 4)
    column = dt.vector(3, 1, 4, dt.INT)
    assert dt.pack(column, matrix, origin=8).view(np.int32).tolist() == [2, 6, 10]
    transposed = np.zeros((4, 3), np.int32)
    dt.unpack(dt.resized(dt.vector(4, 1, 3, dt.INT), 0, 4), matrix, transposed, 3)
    assert (transposed == matrix.T).all()


def test_packing_stays_within_the_buffer() -> None:
    with pytest.raises(InputError, match="reach from byte 0 to 20, the buffer has 19 bytes"):
        dt.pack(dt.vector(2, 1, 4, dt.INT), bytes(19))
    with pytest.raises(InputError, match="reach from byte -8 to 4"):
        dt.pack(dt.vector(3, 1, -1, dt.INT), bytes(20))
    with pytest.raises(InputError, match="the message has 3 bytes, 1 of INT have 4"):
        dt.unpack(dt.INT, b"abc", bytearray(4))


# through the card


def taken_by(datatype: Datatype, count: int) -> list[str]:
    """The strategies that can receive a type."""
    able = []
    for strategy in dt.STRATEGIES:
        try:
            dt.compile(datatype, count, strategy=strategy, payload=333)
        except InputError as error:
            assert strategy in ("vector", "blockindexed", "struct") and "cannot receive" in str(error)
        else:
            able.append(strategy)
    return able


def check_on_card(seed: int) -> None:
    """Two messages of a random type, interleaved and out of order, with every strategy that supports the type."""
    datatype, count = some(seed)
    rng = random.Random(seed)
    for strategy in taken_by(datatype, count):
        payload = rng.choice([64, 100, 333, 1024])
        found = f"seed {seed}: {strategy}, payload {payload}, {count} of {datatype.name}"
        got = dt.receive(
            datatype, count, strategy=strategy, payload=payload, messages=2, under_way=2, window=5, seed=seed,
        )  # fmt: skip
        assert got.result.complete and not got.result.summary["traps"], found
        origin, room = got.compiled.origin, got.compiled.slot_bytes
        for slot, message in enumerate(got.messages):
            assert got.memory[slot].tobytes() == scattered(datatype, message, count, origin, room), found
            assert got.completions[slot].is_whole, found


@pytest.mark.parametrize("seed", range(100, 112))
def test_drawn_types_arrive_with_every_strategy(seed: int) -> None:
    check_on_card(seed)


def check_sending(seed: int) -> None:
    """Two messages of a random type, gathered by each strategy that can send, then received from the card's packets."""
    datatype, count = some(seed)
    rng = random.Random(seed)
    for strategy in [one for one in taken_by(datatype, count) if one in ("vector", "ro_cp")]:
        payload = rng.choice([64, 100, 333, 1024, 1996])
        found = f"seed {seed}: {strategy}, payload {payload}, {count} of {datatype.name}"
        got = dt.send(datatype, count, strategy=strategy, payload=payload, messages=2, seed=seed)
        assert got.result.complete and not got.result.summary["traps"], found
        memory = np.random.default_rng(seed).integers(1, 256, got.compiled.completions, np.uint8)  # as `send` draws it
        for slot, message in enumerate(got.messages):
            slot_at = slot * got.compiled.slot_bytes + got.compiled.origin
            assert message == gathered(datatype, memory.tobytes(), count, slot_at), found
            assert got.completions[slot].is_whole, found
        assert got.is_exact, found

        made = dt.compile(datatype, count, strategy=strategy, payload=payload, slots=2)
        landed = spinet.run(dt.experiment_of(made), traffic=[packet.data for packet in got.result.sent])
        host = int(landed.summary["contexts"][0]["host_memory"]["addr"], 16)
        for slot, message in enumerate(got.messages):
            arrived = landed.host_memory(host + slot * made.slot_bytes, made.slot_bytes)
            assert arrived == scattered(datatype, message, count, made.origin, made.slot_bytes), found


def gathered(datatype: Datatype, memory: bytes, count: int, origin: int) -> bytes:
    """The bytes of a message, gathered from host memory one basic type at a time."""
    firsts = [origin + element * datatype.extent for element in range(count)]
    return b"".join(memory[at + first : at + first + size] for first in firsts for at, size in typemap(datatype))


@pytest.mark.parametrize("seed", range(200, 210))
def test_drawn_types_are_gathered_by_every_strategy_that_sends(seed: int) -> None:
    check_sending(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2000, 2200))
def test_many_drawn_types_are_gathered(seed: int) -> None:
    check_sending(seed)


def test_blocks_of_one_size_that_touch_become_pieces_of_several_sizes() -> None:
    """The table of `auto` has the pieces after merging, also those of later repetitions."""
    touching = dt.hindexed_block(1, [0, 1, 3, 6, 7], dt.BYTE)  # pieces of 2, 1 and 2 bytes
    far = dt.hindexed_block(2, [-40, 10, 80, 123, 200, 233, 296], dt.DOUBLE_COMPLEX)
    for one in (dt.indexed([1, 1], [0, 3], touching), dt.hvector(5, 2, 4096, far)):
        got = dt.receive(one, payload=64)
        assert got.is_exact and got.compiled.strategy == "indexed", one


def test_types_nest_to_any_depth() -> None:
    nested = dt.INT
    for turn in range(2000):
        nested = dt.resized(nested, 0, nested.extent + 1) if turn % 100 == 0 else dt.contiguous(1, nested)
    assert [part.tolist() for part in nested.pieces(2)] == [[0, nested.extent], [4, 4]]
    assert dt.receive(nested, 3).is_exact


def test_small_pieces_are_read_together_and_distant_ones_alone() -> None:
    near = dt.send(dt.vector(512, 2, 4, dt.DOUBLE), payload=1024)  # pieces of 16 B, 32 B apart
    far = dt.send(dt.vector(512, 2, 1024, dt.DOUBLE), payload=1024)
    assert near.is_exact and far.is_exact
    # 8 KiB of data are spread over 16 KiB: each packet has a window of 2 KiB, which can cross a page, and there are 256
    # beats in all.
    assert near.result.columns["host_dma_commands"].sum() <= 2 * 8
    assert far.result.columns["host_dma_commands"].sum() == 512


def test_orders_outside_their_message_send_nothing() -> None:
    made = dt.compile(dt.vector(8, 4, 8, dt.INT), payload=64, send=True)
    first, second = dt.orders(made)
    at = 44  # offset and slot
    wrong = [
        first[:at] + struct.pack("<II", offset, slot) + first[at + 8 :]
        for offset, slot in [(128, 0), (2**32 - 1, 0), (0, 1), (0, 2**32 - 1)]
    ]
    middle = [frame[:42] + b"\0" + frame[43:] for frame in wrong]
    got = spinet.run(dt.sending(made), traffic=[first, *middle, first[:43], second])
    assert len(got.sent) == 2 and not got.summary["traps"] and got.complete


def test_types_that_cannot_be_sent_are_refused() -> None:
    with pytest.raises(InputError, match="strategy is 'rw_cp', must be one of auto, general, vector, ro_cp to send"):
        dt.compile(dt.INT, strategy="rw_cp", send=True)
    with pytest.raises(InputError, match="payload is 2048, must be an integer from 1 to 1996"):
        dt.compile(dt.INT, payload=2048, send=True)
    with pytest.raises(InputError, match="messages is 3, but the type was compiled for 2 slots"):
        dt.send(dt.INT, messages=3, compiled=dt.compile(dt.INT, slots=2, send=True))
    with pytest.raises(InputError, match="slot is 1, must be"):
        dt.orders(dt.compile(dt.INT, send=True), slot=1)


@pytest.mark.parametrize("strategy", dt.STRATEGIES)
def test_faults_of_the_network_that_lose_nothing_change_no_byte(strategy: str) -> None:
    datatype = dt.vector(300, 24, 40, dt.FLOAT)
    got = dt.receive(
        datatype, strategy=strategy, payload=256, messages=3, under_way=3, faults="duplicate=0.1,reorder=0.3:9"
    )
    assert got.is_exact
    assert all(done.received >= done.size == 28_800 for done in got.completions)
    assert all(done.status == (1 if done.received == done.size else 3) for done in got.completions)
    assert sum(done.received for done in got.completions) > 3 * 28_800, "no packet came twice"


def test_a_lost_packet_shows_in_the_completion() -> None:
    got = dt.receive(dt.vector(300, 24, 40, dt.FLOAT), payload=256, faults="loss=0.05", seed=3)
    (done,) = got.completions
    assert done.size - done.received > 0 and (done.size - done.received) % 128 == 0
    assert done.status == 3 and not done.is_whole and not got.is_exact
    assert (got.memory[got.memory != got.expected] == 0).all(), "a byte that arrived is at a wrong place"


@pytest.mark.parametrize(("lost", "twice"), [([2], [5]), ([3], [2]), ([1, 4], [2, 3]), ([1, 4, 6, 7], [2, 3, 5, 8])])
def test_a_part_that_comes_twice_does_not_replace_a_lost_one(lost: list[int], twice: list[int]) -> None:
    """As many bytes arrive as the message has. Sums of two or more offsets are equal, those of four squares, too."""
    datatype = dt.vector(160, 8, 16, dt.INT)
    here, away = dt.compile(datatype, payload=512), dt.compile(datatype, payload=512, send=True)
    for made, experiment, frames in (
        (here, dt.experiment_of(here), dt.packets(here, [bytes(here.size)])),
        (away, dt.sending(away), dt.orders(away)),
    ):
        mixed = [frame for at, frame in enumerate(frames) if at not in lost for _ in range(1 + (at in twice))]
        for traffic, status in ((frames, 1), (mixed, 3)):
            got = spinet.run(experiment, traffic=traffic)
            host = int(got.summary["contexts"][0]["host_memory"]["addr"], 16)
            record = struct.unpack("<4I", got.host_memory(host + made.completions, 16))
            assert record == (made.size, made.size, status, 0)


def test_packets_outside_their_message_write_nothing() -> None:
    made = dt.compile(dt.vector(8, 4, 8, dt.INT), payload=64)
    (first, second) = dt.packets(made, [bytes(range(1, 129))])
    at = 44  # of the header in the frame: offset, slot
    wrong = [
        first[:at] + struct.pack("<II", offset, slot) + first[at + 8 :]
        for offset, slot in [(65, 0), (128, 0), (129, 0), (2**32 - 32, 0), (0, 1), (0, 2**32 - 1)]
    ]
    got = spinet.run(dt.experiment_of(made), traffic=[first, *wrong, first[:43], second])
    host = int(got.summary["contexts"][0]["host_memory"]["addr"], 16)
    expected = bytearray(made.slot_bytes)
    dt.unpack(dt.vector(8, 4, 8, dt.INT), bytes(range(1, 129)), expected)
    assert got.host_memory(host, made.slot_bytes) == bytes(expected)
    assert struct.unpack("<4I", got.host_memory(host + made.slot_bytes, 16)) == (128, 128, 1, 0)
    assert not got.summary["traps"] and got.complete


def test_a_description_that_does_not_fit_is_refused_by_the_handlers() -> None:
    made = dt.compile(dt.vector(8, 1024, 2048, dt.INT), payload=1024)
    frames = dt.packets(made, [bytes(made.size)])
    got = spinet.run(dt.experiment_of(made, host_bytes=4096), traffic=frames)
    host = int(got.summary["contexts"][0]["host_memory"]["addr"], 16)
    assert struct.unpack("<4I", got.host_memory(host, 16)) == (0, 0, 2, 0)
    assert not any(got.host_memory(host + 16, 1 << 16)) and got.complete


def test_patterns_of_ddtbench_arrive_with_every_strategy() -> None:
    for pattern, sizes in dt.DDTBENCH.items():
        datatype = min((dt.ddtbench(pattern, size) for size in sizes), key=lambda one: one.size)
        for strategy in taken_by(datatype, 1):
            got = dt.receive(datatype, strategy=strategy)
            assert got.is_exact and got.completions[0].is_whole, f"{pattern}: {strategy}"


@pytest.mark.long
@pytest.mark.parametrize("pattern", sorted(dt.DDTBENCH))
def test_all_sizes_of_ddtbench_arrive_with_every_strategy(pattern: str) -> None:
    for size in dt.DDTBENCH[pattern]:
        datatype = dt.ddtbench(pattern, size)
        for strategy in taken_by(datatype, 1):
            got = dt.receive(datatype, strategy=strategy, window=7)
            assert got.is_exact and got.completions[0].is_whole, f"{pattern} {size}: {strategy}"


def test_the_sizes_of_ddtbench_are_those_of_its_documentation() -> None:
    published = {
        ("NAS_LU_y", "1020"): 40_800, ("NAS_MG_x", "514x258x258"): 524_288, ("NAS_MG_y", "514x258x258"): 1_048_576,
        ("MILC_su3_zd", "8x8x8x8"): 12_288, ("SPECFEM3D_mt", "7600"): 91_200, ("SPECFEM3D_oc", "493of3697"): 1972,
        ("SPECFEM3D_cm", "11797of834917+3009of51153"): 177_672, ("LAMMPS_full", "1662of1907"): 64 * 1662,
        ("LAMMPS_atomic", "114of1217"): 48 * 114, ("WRF_x", "4x4"): 62_088, ("WRF_y", "8x8"): 26_268,
        ("FFT2D", "256x4"): 16 * 64 * 64,
    }  # fmt: skip
    assert {at: dt.ddtbench(*at).size for at in published} == published
    with pytest.raises(InputError, match="no pattern 'HPCG' in DDTBench"):
        dt.ddtbench("HPCG", "1")
    with pytest.raises(InputError, match="LAMMPS_full of '3062': must be numbers from 1"):
        dt.ddtbench("LAMMPS_full", "3062")
    with pytest.raises(InputError, match="WRF_x of '3x3': must be one of 2x2, 4x4, 8x8"):
        dt.ddtbench("WRF_x", "3x3")


def test_what_is_no_type_or_buffer_is_refused() -> None:
    wrong: Any
    for wrong in (None, 3, "vec(2 1 2)[float]"):
        for use in (dt.receive, dt.send, dt.compile, lambda one: dt.pack(one, b"")):
            with pytest.raises(InputError, match=r"^the type is .*, must be a datatype"):
                use(wrong)
    for wrong in (None, [1, 2], "abcd"):
        with pytest.raises(InputError, match=r"^the buffer is (NoneType|list|str), must be an array or bytes"):
            dt.pack(dt.INT, wrong)
    with pytest.raises(InputError, match=r"^the buffer cannot be written"):
        dt.unpack(dt.INT, b"abcd", b"....")
    with pytest.raises(InputError, match=r"^seed is -1, must be"):
        dt.receive(dt.INT, seed=-1)
    for messages in (1.5, "abcd", b"abcd"):
        with pytest.raises(InputError, match=r"^messages is .*, must be an integer from 1 to 256"):
            dt.receive(dt.INT, messages=messages)  # type: ignore[arg-type]
    many = dt.vector(4096, 1, 2, dt.INT)
    with pytest.raises(InputError, match=r"^interval is 'x', must be an integer"):
        dt.compile(many, strategy="ro_cp", interval="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^checkpoint_memory is 'x', must be an integer"):
        dt.compile(many, strategy="ro_cp", checkpoint_memory="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^rate is 0, must be a number of bit/s above 0"):
        dt.choose_interval(many, rate=0)
    with pytest.raises(InputError, match=r"^payload is 0, must be an integer from 1 to 8192"):
        dt.choose_interval(many, payload=0)


def test_types_that_cannot_be_received_are_refused() -> None:
    with pytest.raises(InputError, match="name byte 2 twice, not allowed in a receive"):
        dt.receive(dt.hindexed([1, 1], [0, 2], dt.INT))
    with pytest.raises(InputError, match=r"1 of contiguous\(0, INT\) have no data"):
        dt.compile(dt.contiguous(0, dt.INT))
    with pytest.raises(InputError, match="strategy is 'fast', must be one of auto, general, vector"):
        dt.compile(dt.INT, strategy="fast")
    with pytest.raises(InputError, match=r"vector handlers cannot receive 1 of indexed.*must be blocks of one size"):
        dt.compile(dt.indexed([1, 2, 1], [0, 4, 9], dt.INT), strategy="vector")
    with pytest.raises(InputError, match="has blocks of 4 to 8 bytes"):
        dt.compile(dt.indexed([1, 2, 1], [0, 4, 9], dt.INT), strategy="blockindexed")
    with pytest.raises(InputError, match="interval is 3000, must be a multiple of the payload of 2048 bytes"):
        dt.compile(dt.vector(4096, 1, 2, dt.INT), strategy="ro_cp", interval=3000)
    with pytest.raises(InputError, match="interval is 2048, but the vector handlers have no checkpoints"):
        dt.compile(dt.vector(4096, 1, 2, dt.INT), interval=2048)
    with pytest.raises(InputError, match=r"the type needs \d+ bytes in the scratchpad of each cluster, which has"):
        dt.compile(dt.indexed_block(1, np.arange(0, 900_000, 3), dt.INT), strategy="indexed")


def test_the_interval_follows_its_three_conditions() -> None:
    of = dt.Setting(size=4 << 20, payload=2048, packet_ns=81.92, handler_ns=1000, hpus=16)
    assert dt.message_ns(of, 2048 * 20) == pytest.approx(81.92 + 20 * 15 * 81.92 + 128 * 1000)
    chosen = interval.choose(of)
    assert (chosen.bytes, chosen.decided_by) == (26 * 2048, "share")
    share = 26 * 15 * 81.92 / dt.message_ns(of, chosen.bytes)
    assert share <= 0.2 < 27 * 15 * 81.92 / dt.message_ns(of, 27 * 2048)
    few = interval.choose(dataclasses.replace(of, memory_bytes=16 * 64))  # 16 checkpoints for 2048 packets
    assert (few.bytes, few.decided_by) == (128 * 2048, "memory")
    tight = interval.choose(dataclasses.replace(of, buffer_packets=44))
    assert (tight.bytes, tight.decided_by) == (2 * 2048, "buffer")
    short = interval.choose(dataclasses.replace(of, size=40 * 2048, handler_ns=100_000))
    assert (short.bytes, short.decided_by) == (3 * 2048, "hpus")


def test_owners_of_checkpoints_take_over_waiting_packets() -> None:
    # 16 packets share an interval and come faster than a core processes them.
    got = dt.receive(dt.vector(1 << 14, 4, 8, dt.FLOAT), strategy="rw_cp", interval=16 * 2048)
    assert got.is_exact and got.completions[0].is_whole
    commands = np.sort(got.result.columns["host_dma_commands"])
    assert commands[0] == 0 and commands[-1] > 2 * 128, "no handler left its packet to another one"


def test_packets_larger_than_the_buffers_of_owners_are_received() -> None:
    datatype = dt.vector(1 << 14, 2, 4, dt.BYTE)
    made = dt.compile(datatype, strategy="rw_cp", payload=256, interval=4096)  # buffers have 256 bytes
    message = np.random.default_rng(3).integers(1, 256, made.size, np.uint8).tobytes()
    frames = dt.packets(dt.compile(datatype, strategy="rw_cp", payload=1400), [message])
    experiment = {**dt.experiment_of(made), "program": str(made.program)}
    result = spinet.run(experiment, traffic=frames, pacing="line:400G")
    assert result.complete and not result.summary["traps"]
    expected = np.zeros(made.slot_bytes, np.uint8)
    dt.unpack(datatype, message, expected)
    host = result.summary["contexts"][0]["host_memory"]["addr"]
    assert result.host_memory(host, made.slot_bytes) == expected.tobytes()


def test_handlers_here_do_what_handlers_on_the_card_do() -> None:
    datatype = dt.ddtbench("LAMMPS_atomic", "114of1217")
    for strategy in ("indexed", "ro_cp"):
        made = dt.compile(datatype, strategy=strategy)
        message = np.random.default_rng(1).integers(1, 256, made.size, np.uint8).tobytes()
        traffic = _packets.capture("traffic", dt.packets(made, [message]))
        here = native.run(experiment={**dt.experiment_of(made), "traffic": str(traffic)}, threads=4)
        expected = np.zeros(made.slot_bytes, np.uint8)
        dt.unpack(datatype, message, expected)
        assert here.host_memory(0x1000_0000_0000_0000, made.slot_bytes) == expected.tobytes()


@pytest.mark.parametrize("strategy", (*dt.STRATEGIES, "send_vector", "send_ro_cp"))
def test_handlers_build_without_a_word(strategy: str) -> None:
    built = toolchain.build([toolchain.sdk_dir() / "datatypes" / f"{strategy}.c"])
    assert (built.messages, built.entry().name) == ("", strategy)


def test_the_guide_runs() -> None:
    guide = (ROOT / "docs" / "guides" / "datatypes.md").read_text()
    names: dict[str, object] = {}
    for code in re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL):
        exec(compile(code, "datatypes.md", "exec"), names)
    (shown,) = re.findall(r"```c\n(.*?)```", guide, flags=re.DOTALL)
    source = (ROOT / "sdk" / "datatypes" / "ro_cp.c").read_text()
    assert "__handler__" + shown.partition("__handler__")[2] in source


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_many_drawn_types_arrive_with_every_strategy(seed: int) -> None:
    check_on_card(seed)
