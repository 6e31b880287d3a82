# SPDX-License-Identifier: Apache-2.0
"""Handlers of random instructions, some of which access a neighbour: whatever they do, the neighbour loses nothing.

A handler loads addresses into registers, of its own memory and, by chance, of other memory, and then does 45 random
actions with them: accesses of all kinds, with post-increment and register offsets too, hardware loops, transfers,
commands, control registers, branches, jumps, words that may be anything. All 24 of a program run as header, payload and
completion handlers on the HPUs that the victim of `test_tenants` has too.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
import spinet
from spinet.machine import HostMemory, Memory

import frames
from test_tenants import SCRATCHPADS, Seen, assert_nothing_lost, look, settle_in, victim_packets

HANDLERS, STEPS = 24, 45
WATCHDOG = 2_000
DRIVER, DMA = 0x1B20_5000, 0x1B20_4400
# Memory that no handler may access: the runtime's code, stacks, packets of others, peripherals.
ELSEWHERE = (
    *(0, 0x1000_0000, 0x1000_0400, 0x1000_0800, 0x1000_4400, 0x1000_8400, 0x1020_1800, 0x1A10_3000, 0x1A10_4000),
    *(0x1B00_0400, 0x1B20_0000, 0x1B20_1400, 0x1B20_4000, 0x1B20_4800, 0x1C40_0000, 0x1D00_0080, 0x1D00_0140),
)
CSRS = (
    0,
    4,
    5,
    0x14,
    0x41,
    0x42,
    0x300,
    0x304,
    0x305,
    0x340,
    0x341,
    0x342,
    0x3A0,
    0x3B0,
    0x7C0,
    0x7C2,
    0x7C6,
    0xB00,
    0xF14,
)
SYSTEM = (0x0000_0073, 0x0010_0073, 0x3020_0073, 0x0020_0073, 0x1050_0073, 0x0000_100F, 0x0000_000F, 0x7B20_0073)
# Registers: values, addresses of memory, other addresses; the last two are for sequences. sp, gp and tp may be spoilt.
VALUES, MEMORY, PLACES, T5, T6 = (
    (5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17, 28, 29),
    (8, 9, 18, 19),
    (20, 21, 22, 23, 24),
    30,
    31,
)


def i_type(opcode: int, funct3: int, rd: int, rs1: int, imm: int) -> int:
    return (imm & 0xFFF) << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def s_type(opcode: int, funct3: int, rs1: int, rs2: int, imm: int) -> int:
    return (imm >> 5 & 0x7F) << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | (imm & 0x1F) << 7 | opcode


def r_type(opcode: int, funct3: int, funct7: int, rd: int, rs1: int, rs2: int) -> int:
    return funct7 << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | rd << 7 | opcode


def branch(funct3: int, rs1: int, rs2: int, to: int) -> int:
    upper, lower = (to >> 12 & 1) << 6 | to >> 5 & 0x3F, (to >> 1 & 0xF) << 1 | to >> 11 & 1
    return upper << 25 | rs2 << 20 | rs1 << 15 | funct3 << 12 | lower << 7 | 0x63


def set_to(rd: int, value: int) -> list[int]:
    upper = (value + 0x800) & 0xFFFF_F000
    return [upper | rd << 7 | 0x37, i_type(0x13, 0, rd, rd, value - upper)]


@dataclass(frozen=True)
class Writer:
    """Writes handlers. `evil` is the share of addresses that are not the handler's own."""

    rng: random.Random
    evil: float
    own: tuple[int, ...]
    foreign: tuple[int, ...]
    host: int

    def place(self, own: Iterable[int]) -> int:
        pick, near = self.rng.choice, (0, 0, 0, 4, 8, 64, 252)
        if self.rng.random() < self.evil:
            return pick(self.foreign) + pick((*near, -4, -1, 1, 2, 3, -64))
        return pick(tuple(own)) + pick(near)

    def handler(self) -> list[int]:
        words = [word for rd in MEMORY for word in set_to(rd, self.place(self.own))]
        words += [word for rd in PLACES for word in set_to(rd, self.place((*self.own, DRIVER, DRIVER + 0x80, DMA)))]
        for rd in VALUES[:6]:
            words += set_to(
                rd, self.rng.choice((0, 1, 4, 64, 4096, 0xFFFF_FFFF, self.rng.getrandbits(32), *self.foreign))
            )
        steps: list[Callable[[], list[int]]] = [
            self.load,
            self.store,
            self.step,
            self.transfer,
            self.command,
            self.loop,
        ]
        steps += [self.compute, self.load, self.store, self.command]
        if self.evil > 0:
            steps += [self.indexed, self.atomic, self.control, self.jump, self.spoil]
        return words + [word for _ in range(STEPS) for word in self.rng.choice(steps)()]

    def address(self) -> int:
        return self.rng.choice(MEMORY + PLACES)

    def value(self) -> int:
        return self.rng.choice(VALUES + MEMORY + PLACES)

    def result(self) -> int:
        return self.rng.choice(VALUES)

    def offset(self) -> int:
        doorbell = (0x50, 0x54, 0x80, 0x84, -4, -1) if self.rng.random() < 0.1 else ()
        return self.rng.choice((0, 0, 4, 1, 2, 3, 8, 0x18, 0x8C, 0x90, 0x98, 0xA0, *doorbell))

    def load(self) -> list[int]:
        return [i_type(0x03, self.rng.choice((0, 1, 2, 4, 5, 6)), self.result(), self.address(), self.offset())]

    def store(self) -> list[int]:
        return [s_type(0x23, self.rng.choice((0, 1, 2)), self.address(), self.value(), self.offset())]

    def step(self) -> list[int]:
        by = self.rng.choice((4, 64, 1, 2, 8, -4, 2047, -2048) if self.evil > 0 else (4, 64, 8))
        if self.rng.random() < 0.5:
            return [i_type(0x0B, self.rng.choice((0, 1, 2, 4, 5)), self.result(), self.address(), by)]
        return [s_type(0x2B, self.rng.choice((0, 1, 2)), self.address(), self.value(), by)]

    def indexed(self) -> list[int]:
        load = r_type(0x0B, 7, self.rng.choice((0, 8, 0x10, 0x20, 0x28)), self.result(), self.address(), self.value())
        store = r_type(
            self.rng.choice((0x2B, 0x23)), self.rng.choice((4, 5, 6)), 0, self.result(), self.address(), self.value()
        )
        return [self.rng.choice((load, store))]

    def atomic(self) -> list[int]:
        kind = self.rng.choice((0, 1, 2, 3, 4, 8, 0xC, 0x10, 0x14, 0x18, 0x1C))
        return [r_type(0x2F, 2, kind << 2, self.result(), self.address(), self.rng.choice((self.value(), 0)))]

    def transfer(self) -> list[int]:
        size = self.rng.choice((1, 4, 64, 128, 512, 4096, 65536) if self.evil > 0 else (4, 64, 512))
        source, target = self.rng.choice(MEMORY), self.rng.choice(MEMORY)
        words = [*set_to(T5, DMA), s_type(35, 2, T5, source, 0), s_type(35, 2, T5, target, 8)]
        return words + set_to(T6, size) + [s_type(0x23, 2, T5, T6, 16), i_type(0x03, 2, 29, T5, 24)]

    def command(self) -> list[int]:
        pick = self.rng.choice
        host = (
            self.host + pick((0, 8, 4093))
            if self.rng.random() > self.evil
            else pick(self.foreign) << 32 | pick(self.foreign)
        )
        sizes = (8, 64, 256, 2048) if self.evil == 0 else (1, 4, 8, 64, 2048, 4096, self.rng.getrandbits(32))
        numbers = {
            0x90: host,
            0x94: host >> 32,
            0x9C: pick(sizes),
            0xA0: pick((0, 1, 64, 256, 2048)),
            0x8C: pick(range(8)),
        }
        words = [*set_to(T5, DRIVER), s_type(0x23, 2, T5, pick(MEMORY), 0x98)]
        for register, number in numbers.items():
            words += [*set_to(T6, number & 0xFFFF_FFFF), s_type(0x23, 2, T5, T6, register)]
        wait = [s_type(0x23, 2, T5, 29, 0x84)] if self.rng.random() < 0.5 else []
        return [*words, i_type(0x03, 2, 29, T5, 0x80), *wait]

    def loop(self) -> list[int]:
        ends = (2, 4, 6, 8, 12, 20, 0, 1, 0x7FF, 0xFFF) if self.evil > 0 else (4, 6, 8)
        count = self.rng.choice((2, 4, 8, self.value()))
        return [i_type(0x7B, self.rng.choice(range(6)), self.rng.choice((0, 1)), count, self.rng.choice(ends))]

    def compute(self) -> list[int]:
        return [
            r_type(0x33, self.rng.choice(range(8)), self.rng.choice((0, 1)), self.result(), self.value(), self.value())
        ]

    def control(self) -> list[int]:
        csr = i_type(0x73, self.rng.choice((1, 2, 3, 5, 6, 7)), self.result(), self.value(), self.rng.choice(CSRS))
        return [self.rng.choice((csr, csr, csr, self.rng.choice(SYSTEM), self.rng.getrandbits(32)))]

    def jump(self) -> list[int]:
        to = 4 * self.rng.choice((-8, -3, 2, 3, 5, 10)) + self.rng.choice((0, 0, 0, 2))
        over = branch(self.rng.choice(range(8)), self.value(), self.value(), to & 0x1FFF)
        away = i_type(0x67, 0, self.rng.choice((0, 1)), self.address(), self.offset())
        return [self.rng.choice((over, over, over, away))]

    def spoil(self) -> list[int]:
        return [i_type(0x13, 0, self.rng.choice((1, 2, 2, 3, 4)), self.address(), self.rng.choice((0, 16, -1024)))]


def program(writers: Iterable[Writer], path: Path) -> Path:
    """A program whose handlers run the part that the packet names, each with an address of 12 bytes in a table."""
    parts = [writer.handler() for writer in writers]
    table = "".join(f".balign 4\\nla t0, part{n}\\njr t0\\n" for n in range(len(parts)))
    text = "".join(f"part{n}: .4byte {','.join(map(hex, words))}\\nret\\n" for n, words in enumerate(parts))
    clobbers = ", ".join(
        f'"{name}{n}"' for name, last in (("t", 6), ("a", 7), ("s", 11)) for n in range(last + 1) if name != "s" or n
    )
    path.write_text(
        "#include <handler.h>\nvoid table(void);\n"
        '__asm__(".text\\n.option push\\n.option norvc\\n.option norelax\\n.balign 16\\n"\n'
        f'"table:\\n{table}{text}.option pop");\n'
        "static void run(handler_args_t *args) {\n"
        "    uint32_t part = (uint32_t)table + 12 * ((const uint8_t *)args->task->pkt_mem)[42];\n"
        f'    __asm__ volatile("jalr %0" ::"r"(part) : "ra", {clobbers}, "memory");\n}}\n'
        + "".join(
            f"__handler__ void any_{stage}(handler_args_t *args) {{ run(args); }}\n" for stage in ("hh", "ph", "th")
        )
    )
    return path


def own_and_foreign(
    own: Memory, pad: Memory, victim: Memory, host: HostMemory, code: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    scratchpads = 0x1000_0000 + SCRATCHPADS
    mine = (own.addr, own.addr, own.addr + 4096, scratchpads + pad.addr)
    ends = (own.addr + own.size, scratchpads + pad.addr + pad.size, victim.addr, victim.addr + victim.size, code)
    return mine, (*ends, *ELSEWHERE, DRIVER + 0x50, DMA + 0x18, host.addr & 0xFFFF_FFFF, host.addr >> 32)


def scene(seed: int | None, clusters: int, cores: int, folder: Path, sets: tuple[str, ...] = ()) -> Seen:
    """The victim beside these handlers; without a seed, alone."""
    with spinet.Machine(set=[f"n_clusters={clusters}", f"cluster.n_cores={cores}", *sets]) as machine:
        victim, memory, host, context, _ = settle_in(machine)
        attacker = machine.tenant("attacker", scope="udp.dst_port == 666")
        own, pad, loot = attacker.allocate(8192), attacker.allocate(8192, kind="scratchpad"), attacker.register(8192)
        code = machine.capabilities.program_memory.at
        if seed is not None:
            rng = random.Random(seed)
            mine, foreign = own_and_foreign(own, pad, memory, host, code)
            writers = [
                Writer(rng, rng.choice((0, 0, 0.03, 0.1, 0.3)), mine, foreign, loot.addr) for _ in range(HANDLERS)
            ]
            elf = attacker.load(program(writers, folder / f"random_{seed}.c"))
            hostile = attacker.context(program=elf, memory=own, scratchpad=pad, host=loot, watchdog_cycles=WATCHDOG)
            hostile.install(message="by udp.src_port count 2")
        machine.run(until="200 us")
        machine.send(victim_packets(), every="400 ns")
        ports = [(2000 + n, 666) for n in range(HANDLERS) for _ in range(2)]
        machine.send(
            [
                frames.build(ip=4, protocol=frames.UDP, ports=pair, payload=struct.pack("B63x", pair[0] - 2000))
                for pair in ports
            ],
            every="210 ns",
        )
        machine.finish(within="5 ms")
        return look(machine, victim, memory, host, context, attacker, loot)


def check(seeds: Iterable[int], clusters: int, cores: int, folder: Path) -> None:
    alone = scene(None, clusters, cores, folder)
    for seed in seeds:
        seen = scene(seed, clusters, cores, folder)
        try:
            assert_nothing_lost(seen, alone)
        except AssertionError as error:
            raise AssertionError(f"seed {seed} on {clusters} x {cores}") from error
        heard = [event.what for event in seen.attacks]
        assert heard.count("message_done") == HANDLERS, f"seed {seed}: {heard}"
        assert "handler_error" in heard, f"seed {seed} is harmless"


@pytest.mark.parametrize(("clusters", "cores"), [(1, 1), (2, 2)])
def test_random_handlers_harm_nobody(clusters: int, cores: int, tmp_path: Path) -> None:
    check(range(3), clusters, cores, tmp_path)


def test_where_nobody_is_kept_apart_they_do(tmp_path: Path) -> None:
    """This shows that the scenes above would detect an attack."""
    sets = ('isolation.regions="coarse"', "isolation.check_transfers=false")
    alone = scene(None, 1, 1, tmp_path, sets)
    with pytest.raises((AssertionError, spinet.InputError)):
        assert_nothing_lost(scene(1, 1, 1, tmp_path, sets), alone)


@pytest.mark.long
@pytest.mark.parametrize(("clusters", "cores"), [(1, 1), (1, 3), (2, 2), (5, 2)])
def test_many_random_handlers_harm_nobody(clusters: int, cores: int, tmp_path: Path) -> None:
    check(range(100, 200), clusters, cores, tmp_path)
