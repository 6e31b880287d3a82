# SPDX-License-Identifier: Apache-2.0
"""The reduction operators of sdk/collectives against NumPy, on this machine and on the card.

NumPy computes float16 and float32 by IEEE 754. bfloat16 is computed in float64, whose 53 bits are more than twice
bfloat16's 8 and 2, so that the second rounding changes nothing (Figueroa, When is double rounding innocuous?, 1995).
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable

import numpy as np
import pytest
import spinet
from spinet import toolchain

SDK = toolchain.sdk_dir()
SEED = 20261124
OPS = ("SUM", "MIN", "MAX", "PROD")
TYPES = ("INT8", "INT16", "INT32", "FLOAT16", "BFLOAT16", "FLOAT32")
DTYPE = {"INT8": "i1", "INT16": "<i2", "INT32": "<i4", "FLOAT16": "<u2", "BFLOAT16": "<u2", "FLOAT32": "<u4"}
FRACTION = {"FLOAT16": 10, "BFLOAT16": 7, "FLOAT32": 23}
NAN = {"FLOAT16": 0x7E00, "BFLOAT16": 0x7FC0, "FLOAT32": 0x7FC00000}
INTEGER: dict[str, Callable[..., np.ndarray]] = {
    "SUM": np.add,
    "MIN": np.minimum,
    "MAX": np.maximum,
    "PROD": np.multiply,
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The operators, compiled for this machine."""
    target = tmp_path_factory.mktemp("reduce") / "reduce.so"
    flags = ("-O2", "-Wall", "-Wextra", "-Werror", f"-I{SDK}", "-fsanitize=undefined", "-fno-sanitize-recover")
    subprocess.run(("cc", "-shared", "-fPIC", *flags, SDK / "tests" / "native_reduce.c", "-o", target), check=True)
    return ctypes.CDLL(str(target))


def numbers(bits: np.ndarray, kind: str) -> np.ndarray:
    """The values that bits represent, as float64 for bfloat16."""
    if kind == "FLOAT16":
        return bits.view("<f2")
    if kind == "FLOAT32":
        return bits.view("<f4")
    with np.errstate(invalid="ignore"):  # signalling NaN
        return (bits.astype("<u4") << 16).view("<f4").astype("<f8")


def bits_of(values: np.ndarray, kind: str) -> np.ndarray:
    """The bits that represent values. All NaNs become the same NaN."""
    if kind == "BFLOAT16":
        nan, wide = np.isnan(values), values.view("<u8")
        # Round to the nearest multiple of the last bit's value, which is 2^(e - 7), and at least 2^-133.
        exponent = np.clip((wide >> 52 & 0x7FF).astype(int) - 1023, -126, 128)
        with np.errstate(all="ignore"):
            steps = np.round(np.ldexp(np.where(nan, 0, np.abs(values)), 7 - exponent))  # ties to even
            magnitude = np.ldexp(steps, exponent - 7).astype("<f4")  # exact, or infinity
        found = (magnitude.view("<u4") >> 16 | (wide >> 48 & 0x8000).astype("<u4")).astype("<u2")
        found[nan] = NAN[kind]
        return found
    found = values.view(DTYPE[kind]).copy()
    found[np.isnan(values)] = NAN[kind]
    return found


def expected(kind: str, op: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a op b by NumPy."""
    if kind.startswith("INT"):
        with np.errstate(over="ignore"):
            return INTEGER[op](a, b)
    x, y = numbers(a, kind), numbers(b, kind)
    with np.errstate(all="ignore"):
        if op == "SUM":
            return bits_of(x + y, kind)
        if op == "PROD":
            return bits_of(x * y, kind)
    # minimum and maximum of IEEE 754-2019: NaN wins, and -0 is less than +0.
    first = (x < y) | ((x == y) & (np.signbit(x) >= np.signbit(y)))
    found = np.where(first if op == "MIN" else ~first, a, b)
    found[np.isnan(x) | np.isnan(y)] = NAN[kind]
    return found


def corners(kind: str) -> np.ndarray:
    """Boundary values, with both signs."""
    if kind.startswith("INT"):
        info = np.iinfo(DTYPE[kind])
        near = [info.min, info.min + 1, info.min // 2, info.max // 2, info.max - 1, info.max]
        return np.array([*near, -2, -1, 0, 1, 2, 3, 100], DTYPE[kind])
    width = np.dtype(DTYPE[kind]).itemsize * 8
    m, infinity = FRACTION[kind], ((1 << (width - 1 - FRACTION[kind])) - 1) << FRACTION[kind]
    one = (infinity >> m) // 2 << m
    at = [0, 1, 2, 3, (1 << m) - 1, 1 << m, (1 << m) + 1, 2 << m, (m << m) + 5, one - 1, one, one + 1, one + 2]
    at += [one + (1 << (m - 1)), one + (2 << m), one + ((m + 1) << m), one + ((m + 2) << m) + 1, one - ((m + 1) << m)]
    at += [one - (m << m) - 1, infinity - (1 << m), infinity - 2, infinity - 1, infinity, infinity + 1, NAN[kind]]
    both = np.array([value | sign for value in at for sign in (0, 1 << (width - 1))], "<u4")
    return both.astype(DTYPE[kind])


def pairs(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of corner cases, random bits, and random values whose exponents are close."""
    corner = corners(kind)
    random = np.random.default_rng([SEED, TYPES.index(kind)])
    span = np.iinfo(DTYPE[kind])
    a = random.integers(span.min, span.max, n, DTYPE[kind], endpoint=True)
    b = random.integers(span.min, span.max, n, DTYPE[kind], endpoint=True)
    near = a.copy()
    if kind in FRACTION:
        m = FRACTION[kind]
        near = (a.astype("<i8") ^ (b.astype("<i8") & (1 << m) - 1)) + (random.integers(-m - 2, m + 3, n) << m)
        near = near.astype(DTYPE[kind])
    return (
        np.concatenate([np.repeat(corner, len(corner)), a, a, np.repeat(corner, 64)]),
        np.concatenate([np.tile(corner, len(corner)), b, near, np.tile(b[:64], len(corner))]),
    )


def differences(found: np.ndarray, wanted: np.ndarray, a: np.ndarray, b: np.ndarray) -> list[str]:
    """The first differences between found and wanted results, as text."""
    at = np.flatnonzero(found != wanted)[:5]
    return [f"{a[i]:#x}, {b[i]:#x}: found {found[i]:#x}, expected {wanted[i]:#x}" for i in at] + [f"seed {SEED}"] * any(
        at
    )


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", TYPES)
def test_operators_agree_with_numpy(kind: str, op: str, library: ctypes.CDLL) -> None:
    a, b = pairs(kind, 300_000)
    found = np.empty_like(a)
    library.reduce(TYPES.index(kind), OPS.index(op), found.ctypes, a.ctypes, b.ctypes, ctypes.c_uint32(a.nbytes))
    assert differences(found, expected(kind, op, a, b), a, b) == []


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", ["FLOAT16", "BFLOAT16"])
def test_all_values_of_16_bits_agree_with_numpy(kind: str, op: str, library: ctypes.CDLL) -> None:
    every, corner = np.arange(65536, dtype="<u2"), corners(kind)
    a, b = np.repeat(every, len(corner)), np.tile(corner, len(every))
    found = np.empty_like(a)
    library.reduce(TYPES.index(kind), OPS.index(op), found.ctypes, a.ctypes, b.ctypes, ctypes.c_uint32(a.nbytes))
    assert differences(found, expected(kind, op, a, b), a, b) == []


def test_conversions_round_to_the_nearest_even(library: ctypes.CDLL) -> None:
    every = np.arange(65536, dtype="<u4")
    with np.errstate(invalid="ignore"):
        wide = {kind: numbers(every.astype("<u2"), kind).astype("<f4") for kind in ("FLOAT16", "BFLOAT16")}
    drawn = np.random.default_rng(SEED).integers(0, 1 << 32, 300_000, "<u4")
    near = np.concatenate(
        [value.view("<u4") + offset for value in wide.values() for offset in (0, 1, 0xFFF, 0x1000, 0x8000)]
    )
    single = np.concatenate([drawn, near, corners("FLOAT32")]).astype("<u4")
    with np.errstate(all="ignore"):
        half, brain = single.view("<f4").astype("<f2"), bits_of(single.view("<f4").astype("<f8"), "BFLOAT16")
    steps = [
        (0, single, bits_of(half, "FLOAT16")),
        (1, every, bits_of(wide["FLOAT16"], "FLOAT32")),
        (2, single, brain),
        (3, every, bits_of(wide["BFLOAT16"], "FLOAT32")),
    ]
    for how, given, wanted in steps:
        found = np.empty_like(given)
        library.convert(how, found.ctypes, given.ctypes, len(given))
        assert differences(found, wanted, given, given) == [], how


def packets(a: np.ndarray, b: np.ndarray, each: int) -> list[bytes]:
    """Packets for combine.c with `each` elements of both vectors. A shorter rest at the end is omitted."""
    made = []
    for number, at in enumerate(range(0, len(a) - each + 1, each)):
        data = bytes(2) + a[at : at + each].tobytes() + b[at : at + each].tobytes()
        size = 28 + len(data)
        made.append(
            bytes.fromhex("020000000002 020000000001 0800 4500")
            + size.to_bytes(2, "big")
            + number.to_bytes(2, "big")
            + bytes.fromhex("0000 4011 0000 0a000001 0a000002 03e8 0007")
            + (size - 20).to_bytes(2, "big")
            + bytes(2)
            + data
        )
    return made


def on_card(kind: str, a: np.ndarray, b: np.ndarray, **defines: str) -> np.ndarray:
    """Vectors that the card returns."""
    each = 512 // a.itemsize  # such packets are below 2 KiB, the longest that the card sends
    result = spinet.run(
        program="sdk/collectives/combine.c",
        defines={"TYPE": f"SPIN_{kind}", **defines},
        traffic=packets(a, b, each),
        pacing="asap",
    )
    assert result.complete and not result.summary["traps"]
    sent = sorted((packet.data for packet in result.sent), key=lambda data: data[18:20])  # IPv4's identification
    assert len(sent) == len(a) // each
    return np.concatenate([np.frombuffer(data[44 : 44 + each * a.itemsize], a.dtype) for data in sent])


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", TYPES)
def test_operators_on_the_card_agree_with_numpy(kind: str, op: str) -> None:
    a, b = pairs(kind, 2000)
    found = on_card(kind, a, b, OP=f"SPIN_{op}")
    a, b = a[: len(found)], b[: len(found)]
    assert differences(found, expected(kind, op, a, b), a, b) == []


def test_custom_operators() -> None:
    random = np.random.default_rng(SEED)
    entries = random.integers(0, 4, (2, 256, 2), "<i4").view("<i8").reshape(2, 256)
    found = on_card("CUSTOM", entries[0], entries[1], SPIN_CUSTOM_OPERATOR='"operators/maxloc.h"')
    # The larger value wins; of equal values, that with the lower index. Values are the low words.
    rank = [(pair & 0xFFFFFFFF) * 8 - (pair >> 32) for pair in entries]
    assert found.tolist() == np.where(rank[0] >= rank[1], *entries)[: len(found)].tolist()
    halves = random.integers(-32768, 32768, (2, 1024), "<i2")
    found = on_card("CUSTOM", halves[0], halves[1], SPIN_CUSTOM_OPERATOR='"operators/saturate16.h"')
    assert found.tolist() == np.clip(halves.astype(int).sum(axis=0), -32768, 32767)[: len(found)].tolist()
