# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E731 -- a lambda with a name is one of a table of meanings
"""PULP's arithmetic at extreme values, on the plain machine, against what its manual says, computed in plain Python.

Words are composed field by field, as RI5CY's decoder splits them (PsPIN RTL a49fec8, `riscv_decoder.sv`), so neither
encodings nor meanings come from the simulator's table. Each word runs in a loop over all operands and stores its
results in the signature.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from spinet import cli
from spinet._compiler import find_compiler

LINK = Path(__file__).parent / "exec" / "link.ld"
RD, RS1, RS2 = 7, 5, 6  # t2, t0, t1

EXTREMES = (
    0,
    1,
    0x7FFF_FFFF,
    0x8000_0000,
    0xFFFF_FFFF,
    0x8000_8000,
    0x7FFF_7FFF,
    0x8080_8080,
    0x7F7F_7F7F,
    0x0123_FEDC,
)
OPERANDS = [(a, b, EXTREMES[(i + 3 * j) % 10]) for i, a in enumerate(EXTREMES) for j, b in enumerate(EXTREMES)]
CONSTANTS = (0, 1, 2, 14, 31, 32, 33, 63)
FIELDS = ((0, 0), (0, 31), (31, 0), (7, 8), (15, 24), (30, 1))
SHIFTS = (0, 1, 15, 31)

# Result of a word from rs1, rs2, the old rd, and its immediate, modulo 2^32.
Meaning = Callable[..., int]


class Case(NamedTuple):
    name: str
    word: int
    meaning: Meaning
    fixed: tuple[object, ...] = ()


def sign(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def lanes(value: int, bits: int) -> list[int]:
    return [value >> at & ((1 << bits) - 1) for at in range(0, 32, bits)]


def word(values: list[int], bits: int) -> int:
    return sum((value & ((1 << bits) - 1)) << (bits * i) for i, value in enumerate(values))


def encode(opcode: int, funct3: int, upper: int, rs2: int = RS2) -> int:
    """`upper` is bits 31 to 25."""
    return upper << 25 | rs2 << 20 | RS1 << 15 | funct3 << 12 | RD << 7 | opcode


# Bits of a lane, the bit of a word that selects this width, and its suffix in names.
WIDTHS = ((16, 0, "h"), (8, 1, "b"))

# Packed operations of two vectors: bits 31 to 26, whether their constant is unsigned, and a lane of the result from
# lanes as they are (x, y) and as signed numbers (p, q) of their width.
Lane = Callable[[int, int, int, int, int], int]
LANES: dict[str, tuple[int, bool, Lane]] = {
    "add": (0x00, False, lambda x, y, p, q, n: x + y),
    "sub": (0x02, False, lambda x, y, p, q, n: x - y),
    "avg": (0x04, False, lambda x, y, p, q, n: sign(x + y, n) >> 1),
    "avgu": (0x06, True, lambda x, y, p, q, n: (x + y) % (1 << n) >> 1),
    "min": (0x08, False, lambda x, y, p, q, n: min(p, q)),
    "minu": (0x0A, True, lambda x, y, p, q, n: min(x, y)),
    "max": (0x0C, False, lambda x, y, p, q, n: max(p, q)),
    "maxu": (0x0E, True, lambda x, y, p, q, n: max(x, y)),
    "srl": (0x10, False, lambda x, y, p, q, n: x >> y % n),
    "sra": (0x12, False, lambda x, y, p, q, n: p >> y % n),
    "sll": (0x14, False, lambda x, y, p, q, n: x << y % n),
    "or": (0x16, False, lambda x, y, p, q, n: x | y),
    "xor": (0x18, False, lambda x, y, p, q, n: x ^ y),
    "and": (0x1A, False, lambda x, y, p, q, n: x & y),
    "cmpeq": (0x01, False, lambda x, y, p, q, n: -(x == y)),
    "cmpne": (0x03, False, lambda x, y, p, q, n: -(x != y)),
    "cmpgt": (0x05, False, lambda x, y, p, q, n: -(p > q)),
    "cmpge": (0x07, False, lambda x, y, p, q, n: -(p >= q)),
    "cmplt": (0x09, False, lambda x, y, p, q, n: -(p < q)),
    "cmple": (0x0B, False, lambda x, y, p, q, n: -(p <= q)),
    "cmpgtu": (0x0D, True, lambda x, y, p, q, n: -(x > y)),
    "cmpgeu": (0x0F, True, lambda x, y, p, q, n: -(x >= y)),
    "cmpltu": (0x11, True, lambda x, y, p, q, n: -(x < y)),
    "cmpleu": (0x13, True, lambda x, y, p, q, n: -(x <= y)),
}
# Dot products: bits 31 to 26, whether the constant is unsigned, whether rd is added, and a product.
DOTS: dict[str, tuple[int, bool, bool, Lane]] = {
    "dotup": (0x20, True, False, lambda x, y, p, q, n: x * y),
    "dotusp": (0x22, False, False, lambda x, y, p, q, n: x * q),
    "dotsp": (0x26, False, False, lambda x, y, p, q, n: p * q),
    "sdotup": (0x28, True, True, lambda x, y, p, q, n: x * y),
    "sdotusp": (0x2A, False, True, lambda x, y, p, q, n: x * q),
    "sdotsp": (0x2E, False, True, lambda x, y, p, q, n: p * q),
}


def pairs(a: int, b: list[int], bits: int) -> Iterator[tuple[int, int, int, int, int]]:
    for x, y in zip(lanes(a, bits), b, strict=True):
        yield x, y, sign(x, bits), sign(y, bits), bits


def forms(name: str, number: int, unsigned: bool, of: Meaning) -> Iterator[Case]:
    """The six forms of an operation `of` rs1, the lanes of the operand, rd and the width of a lane."""
    for bits, is_byte, suffix in WIDTHS:
        n_lanes = 32 // bits
        whole: Meaning = lambda a, b, d, w: of(a, lanes(b, w), d, w)
        repeated: Meaning = lambda a, b, d, w: of(a, [b % (1 << w)] * (32 // w), d, w)
        same: Meaning = lambda a, b, d, w, values: of(a, values, d, w)
        yield Case(f"pv.{name}.{suffix}", encode(0x57, is_byte, number << 1), whole, (bits,))
        yield Case(f"pv.{name}.sc.{suffix}", encode(0x57, 4 | is_byte, number << 1), repeated, (bits,))
        for constant in CONSTANTS:
            value = (constant if unsigned else sign(constant, 6)) % (1 << bits)
            encoded = encode(0x57, 6 | is_byte, number << 1 | constant & 1, constant >> 1)
            yield Case(f"pv.{name}.sci.{suffix} {constant}", encoded, same, (bits, [value] * n_lanes))


def lane_by_lane(lane: Lane) -> Meaning:
    return lambda a, b, d, w: word([lane(*xy) for xy in pairs(a, b, w)], w)


def dot(product: Lane, adds: bool) -> Meaning:
    return lambda a, b, d, w: d * adds + sum(product(*xy) for xy in pairs(a, b, w))


def packed() -> Iterator[Case]:
    """All of opcode 0x57."""
    for name, (number, unsigned, lane) in LANES.items():
        yield from forms(name, number, unsigned, lane_by_lane(lane))
    for name, (number, unsigned, adds, product) in DOTS.items():
        yield from forms(name, number, unsigned, dot(product, adds))
    for bits, is_byte, suffix in WIDTHS:
        yield from places(bits, is_byte, suffix)
    halves: Meaning = lambda a, b, d, c: word([lanes(a, 16)[c & 1], lanes(a, 16)[c >> 1]], 16)
    quarters: Meaning = lambda a, b, d, c, h: word([lanes(a, 8)[i] for i in (c & 3, c >> 2 & 3, c >> 4, h)], 8)
    for c in range(4):
        yield Case(f"pv.shuffle.sci.h {c}", encode(0x57, 6, 0x30 << 1 | c & 1, c >> 1), halves, (c,))
    for highest, number in enumerate((0x30, 0x3A, 0x3C, 0x3E)):
        for c in range(0, 64, 5):
            encoded = encode(0x57, 7, number << 1 | c & 1, c >> 1)
            yield Case(f"pv.shuffleI{highest}.sci.b {c}", encoded, quarters, (c, highest))
    yield Case("pv.pack", encode(0x57, 0, 0x34 << 1), lambda a, b, d: word([b, a], 16))
    yield Case("pv.pack.h", encode(0x57, 0, 0x34 << 1 | 1), lambda a, b, d: word([b >> 16, a >> 16], 16))
    yield Case("pv.packhi.b", encode(0x57, 1, 0x36 << 1), lambda a, b, d: d % (1 << 16) | word([0, 0, b, a], 8))
    yield Case("pv.packlo.b", encode(0x57, 1, 0x38 << 1), lambda a, b, d: d >> 16 << 16 | word([b, a], 8))
    yield from complex_numbers()


def places(bits: int, is_byte: int, suffix: str) -> Iterator[Case]:
    """Operations that choose or replace lanes of this width, and the one of a single vector."""

    def insert(a: int, b: int, d: int, at: int) -> int:
        into = lanes(d, bits)
        into[at] = a
        return word(into, bits)

    n = 32 // bits
    absolute: Meaning = lambda a, b, d: word([abs(sign(x, bits)) for x in lanes(a, bits)], bits)
    chosen: Meaning = lambda a, b, d: word([lanes(a, bits)[y % n] for y in lanes(b, bits)], bits)
    of_both: Meaning = lambda a, b, d: word(
        [(lanes(d, bits) + lanes(a, bits))[y % (2 * n)] for y in lanes(b, bits)], bits
    )
    signed: Meaning = lambda a, b, d, at: sign(lanes(a, bits)[at], bits)
    plain: Meaning = lambda a, b, d, at: lanes(a, bits)[at]
    yield Case(f"pv.abs.{suffix}", encode(0x57, is_byte, 0x1C << 1, 0), absolute)
    yield Case(f"pv.shuffle.{suffix}", encode(0x57, is_byte, 0x30 << 1), chosen)
    yield Case(f"pv.shuffle2.{suffix}", encode(0x57, is_byte, 0x32 << 1), of_both)
    for name, number, of in (("extract", 0x1E, signed), ("extractu", 0x24, plain), ("insert", 0x2C, insert)):
        for at in range(n):
            yield Case(f"pv.{name}.{suffix} {at}", encode(0x57, 6 | is_byte, number << 1 | at & 1, at >> 1), of, (at,))


def complex_numbers() -> Iterator[Case]:
    """The real part is in the low half; products are of Q15, as wide as a register before the shift."""

    def parts(value: int) -> tuple[int, int]:
        return sign(value, 16), sign(value >> 16, 16)

    def real(a: int, b: int, d: int, n: int) -> int:
        (ar, ai), (br, bi) = parts(a), parts(b)
        return word([sign(ar * br - ai * bi, 32) >> (15 + n), d >> 16], 16)

    def imaginary(a: int, b: int, d: int, n: int) -> int:
        (ar, ai), (br, bi) = parts(a), parts(b)
        return word([d, sign(ar * bi + ai * br, 32) >> (15 + n)], 16)

    def total(a: int, b: int, d: int, n: int) -> int:
        return word([sign(x + y, 16) >> n for x, y in zip(parts(a), parts(b), strict=True)], 16)

    def difference(a: int, b: int, d: int, n: int) -> int:
        return word([sign(x - y, 16) >> n for x, y in zip(parts(a), parts(b), strict=True)], 16)

    def turned(a: int, b: int, d: int, n: int) -> int:
        (ar, ai), (br, bi) = parts(a), parts(b)
        return word([sign(ai - bi, 16) >> n, sign(br - ar, 16) >> n], 16)

    for n in range(4):
        # Bits 31 to 25.
        rows = [("cplxmul.h.r", 0x2A, real), ("cplxmul.h.i", 0x2B, imaginary), ("subrotmj.h", 0x36, turned)]
        if n:
            rows += [("add.h", 0x3A, total), ("sub.h", 0x32, difference)]
        for name, upper, of in rows:
            yield Case(f"pv.{name} div{2**n}", encode(0x57, 2 * n, upper), of, (n,))
    yield Case("pv.cplxconj.h", encode(0x57, 0, 0x2E, 0), lambda a, b, d: word([parts(a)[0], -parts(a)[1]], 16))


def scalar() -> Iterator[Case]:
    """Bit manipulation and arithmetic of opcode 0x33."""

    def field(value: int, size: int, at: int) -> int:
        return value >> at & ((2 << size) - 1)

    def mask(size: int, at: int) -> int:
        return ((2 << size) - 1) << at

    by_place: dict[str, tuple[int, Meaning]] = {
        "extract": (0, lambda a, b, d, size, at: sign(field(sign(a, 32), size, at), size + 1)),
        "extractu": (1, lambda a, b, d, size, at: field(a, size, at)),
        "insert": (2, lambda a, b, d, size, at: d & ~mask(size, at) | a << at & mask(size, at)),
        "bclr": (3, lambda a, b, d, size, at: a & ~mask(size, at)),
        "bset": (4, lambda a, b, d, size, at: a | mask(size, at)),
    }
    by_register: Meaning = lambda a, b, d, of: of(a, b, d, b >> 5 & 31, b & 31)
    for name, (funct3, of) in by_place.items():
        for size, at in FIELDS:
            yield Case(f"p.{name} {size}, {at}", encode(0x33, funct3, 0x60 | size, at), of, (size, at))
        yield Case(f"p.{name}r", encode(0x33, funct3, 0x40), by_register, (of,))

    def s(value: int) -> int:
        return sign(value, 32)

    def lead(a: int) -> int:
        bits = f"{a:032b}"
        return len(bits) - len(bits.lstrip(bits[0])) - 1 if a else 0

    def clip(a: int, low: int, high: int) -> int:
        return low if s(a) <= low else high if s(a) >= high else s(a)

    # Bits 31 to 25, funct3, and rs2, which is x0 where there is one operand.
    rows: dict[str, tuple[int, int, int, Meaning]] = {
        "slet": (0x02, 2, RS2, lambda a, b, d: s(a) <= s(b)),
        "sletu": (0x02, 3, RS2, lambda a, b, d: a <= b),
        "min": (0x02, 4, RS2, lambda a, b, d: min(s(a), s(b))),
        "minu": (0x02, 5, RS2, lambda a, b, d: min(a, b)),
        "max": (0x02, 6, RS2, lambda a, b, d: max(s(a), s(b))),
        "maxu": (0x02, 7, RS2, lambda a, b, d: max(a, b)),
        "ror": (0x04, 5, RS2, lambda a, b, d: (a << 32 | a) >> b % 32),
        "clipr": (0x0A, 5, RS2, lambda a, b, d: clip(a, s(-s(b) - 1), s(b))),
        "clipur": (0x0A, 6, RS2, lambda a, b, d: clip(a, 0, s(b))),
        "mac": (0x21, 0, RS2, lambda a, b, d: d + a * b),
        "msu": (0x21, 1, RS2, lambda a, b, d: d - a * b),
        "abs": (0x02, 0, 0, lambda a, b, d: abs(s(a))),
        "ff1": (0x08, 0, 0, lambda a, b, d: (a & -a).bit_length() - 1 if a else 32),
        "fl1": (0x08, 1, 0, lambda a, b, d: a.bit_length() - 1 if a else 32),
        "clb": (0x08, 2, 0, lambda a, b, d: lead(a)),
        "cnt": (0x08, 3, 0, lambda a, b, d: a.bit_count()),
        "exths": (0x08, 4, 0, lambda a, b, d: sign(a, 16)),
        "exthz": (0x08, 5, 0, lambda a, b, d: a % (1 << 16)),
        "extbs": (0x08, 6, 0, lambda a, b, d: sign(a, 8)),
        "extbz": (0x08, 7, 0, lambda a, b, d: a % (1 << 8)),
    }
    for name, (upper, funct3, rs2, of) in rows.items():
        yield Case(f"p.{name}", encode(0x33, funct3, upper, rs2), of)
    for n in SHIFTS:
        high = 2 ** (n - 1) - 1 if n else 0
        yield Case(f"p.clip {n}", encode(0x33, 1, 0x0A, n), lambda a, b, d, h: clip(a, -h - 1, h), (high,))
        yield Case(f"p.clipu {n}", encode(0x33, 2, 0x0A, n), lambda a, b, d, h: clip(a, 0, h), (high,))


def normalised() -> Iterator[Case]:
    """Products, sums and differences with a shift: opcode 0x5b."""

    def shifted(value: int, n: int, rounds: int, signed: int) -> int:
        value += (1 << n) >> 1 if rounds else 0
        return (sign(value, 32) if signed else value % (1 << 32)) >> n

    def product(a: int, b: int, high: int, signed: int) -> int:
        a, b = a >> 16 * high & 0xFFFF, b >> 16 * high & 0xFFFF
        return sign(a, 16) * sign(b, 16) if signed else a * b

    mul: Meaning = lambda a, b, d, n, r, s, high: shifted(product(a, b, high, s), n, r, s)
    mac: Meaning = lambda a, b, d, n, r, s, high: shifted(d + product(a, b, high, s), n, r, s)
    add: Meaning = lambda a, b, d, n, r, s: shifted(a + b, n, r, s)
    sub: Meaning = lambda a, b, d, n, r, s: shifted(a - b, n, r, s)
    add_by_register: Meaning = lambda a, b, d, r, s: shifted(d + a, b % 32, r, s)
    sub_by_register: Meaning = lambda a, b, d, r, s: shifted(d - a, b % 32, r, s)
    for rounds in (0, 1):
        for bit31 in (0, 1):
            # Bit 31 makes products signed; in sums and differences, it shifts in zeros.
            funct3, arithmetic = 4 * rounds, 1 - bit31
            for n in SHIFTS:
                for high in (0, 1):
                    upper, fixed = bit31 << 6 | high << 5 | n, (n, rounds, bit31, high)
                    yield Case(f"mul {fixed}", encode(0x5B, funct3, upper), mul, fixed)
                    yield Case(f"mac {fixed}", encode(0x5B, funct3 | 1, upper), mac, fixed)
                of_sum = (n, rounds, arithmetic)
                yield Case(f"add {of_sum}", encode(0x5B, funct3 | 2, bit31 << 6 | n), add, of_sum)
                yield Case(f"sub {of_sum}", encode(0x5B, funct3 | 3, bit31 << 6 | n), sub, of_sum)
            upper, by_register = bit31 << 6 | 0x20, (rounds, arithmetic)
            yield Case(f"add {by_register}", encode(0x5B, funct3 | 2, upper), add_by_register, by_register)
            yield Case(f"sub {by_register}", encode(0x5B, funct3 | 3, upper), sub_by_register, by_register)


def program(cases: list[Case]) -> str:
    """Each word in a loop over all operands."""
    lines = [".option norvc", ".globl _start, tohost, begin_signature, end_signature", '.section .text.start, "ax"']
    lines += ["_start: la s0, begin_signature", "la s1, operands", f"li s2, {len(OPERANDS)}"]
    for case in cases:
        lines += ["mv a1, s1", "mv a3, s2", "1: lw t0, 0(a1)", "lw t1, 4(a1)", "lw t2, 8(a1)", f".word {case.word:#x}"]
        lines += ["sw t2, 0(s0)", "addi s0, s0, 4", "addi a1, a1, 12", "addi a3, a3, -1", "bnez a3, 1b"]
    lines += ["li a0, 1", "la a1, tohost", "sw a0, 0(a1)", "1: j 1b", '.section .tohost, "aw"', ".balign 64"]
    lines += ["tohost: .quad 0", ".section .data", ".balign 16", "operands:"]
    lines += [f".word {a:#x}, {b:#x}, {d:#x}" for a, b, d in OPERANDS]
    lines += ["begin_signature:", f".zero {4 * len(OPERANDS) * len(cases)}", "end_signature:"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("group", [packed, scalar, normalised])
def test_words_do_what_the_manual_says(group: Callable[[], Iterator[Case]], tmp_path: Path) -> None:
    cases = list(group())
    assert len({case.word for case in cases}) == len(cases), "two cases are one word"
    source, elf, signature = tmp_path / "x.S", tmp_path / "x.elf", tmp_path / "x.signature"
    source.write_text(program(cases))
    compiler = find_compiler(cc=None, cache=tmp_path / "cache")
    flags = (*compiler.compile_flags, *compiler.link_flags, "-nostdlib", "-Wl,--no-gc-sections", "-g0")
    subprocess.run((*compiler.command, *flags, f"-Wl,-T,{LINK}", str(source), "-o", str(elf)), check=True)
    isa = "rv32imac_zicsr_zifencei_sm_xpulpv2"
    assert cli.main(["exec", "--isa", isa, str(elf), "--signature", str(signature)]) == 0
    found = [int(line, 16) for line in signature.read_text().split()]
    assert len(found) >= len(cases) * len(OPERANDS)
    wrong = []
    for i, (name, encoded, meaning, fixed) in enumerate(cases):
        for j, (a, b, d) in enumerate(OPERANDS):
            want, got = meaning(a, b, d, *fixed) % (1 << 32), found[i * len(OPERANDS) + j]
            if want != got:
                wrong.append(f"{name} ({encoded:08x}) of {a:08x}, {b:08x}, {d:08x}: {got:08x}, must be {want:08x}")
    assert wrong == [], f"{len(wrong)} differ"
