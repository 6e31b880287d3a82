# SPDX-License-Identifier: Apache-2.0
"""Bounds of datatypes: those of MPI's definition, and those of an MPI library."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from spinet import InputError
from spinet import datatypes as dt
from spinet.datatypes import Datatype


def test_bounds_of_the_constructors() -> None:
    def bounds(datatype: Datatype) -> tuple[int, int, int]:
        return datatype.size, datatype.lb, datatype.ub

    assert bounds(dt.contiguous(3, dt.INT)) == (12, 0, 12)
    assert bounds(dt.vector(3, 2, 4, dt.DOUBLE)) == (48, 0, 80)  # 2 strides of 32 bytes, then 2 doubles
    assert bounds(dt.vector(3, 1, -2, dt.INT)) == (12, -16, 4)
    assert bounds(dt.hvector(2, 1, 5, dt.INT)) == (8, 0, 9)
    assert bounds(dt.indexed([1, 0, 2], [5, 100, 1], dt.INT)) == (12, 4, 24)  # the empty block does not count
    assert bounds(dt.hindexed_block(2, [3, 20], dt.SHORT)) == (8, 3, 24)
    assert bounds(dt.struct([1, 1], [0, 8], [dt.DOUBLE, dt.CHAR])) == (9, 0, 16)  # rounded up to 8
    assert bounds(dt.subarray([4, 5], [2, 2], [1, 1], dt.INT)) == (16, 0, 80)
    assert bounds(dt.contiguous(0, dt.INT)) == (0, 0, 0)


def test_bounds_that_resized_sets_persist() -> None:
    wide = dt.resized(dt.INT, -4, 16)
    assert (wide.lb, wide.ub, wide.true_lb, wide.true_ub) == (-4, 12, 0, 4)
    assert dt.contiguous(2, wide).pieces()[0].tolist() == [0, 16]
    # The double reaches further, but where bounds were set, only those count.
    mixed = dt.struct([1, 1], [0, 32], [wide, dt.DOUBLE])
    assert (mixed.lb, mixed.ub, mixed.true_ub) == (-4, 12, 40)


Map = list[tuple[str, int, int]]
"""A type map with markers of bounds: kind (`data`, `lb` or `ub`), displacement, size."""


def member(rng: random.Random) -> tuple[Datatype, Map, int, int]:
    """A type with its type map, its extent, and the alignment that it requires. It may have no data."""
    leaf, n = rng.choice([dt.BYTE, dt.SHORT, dt.INT, dt.DOUBLE]), rng.choice([0, 0, 1, 2])
    made, entries = dt.contiguous(n, leaf), [("data", turn * leaf.size, leaf.size) for turn in range(n)]
    alignment = leaf.size if n else 1
    if rng.random() < 0.7:
        return made, entries, n * leaf.size, alignment
    lb, extent = rng.randint(-9, 9), rng.randint(0, 60)
    return dt.resized(made, lb, extent), [*entries, ("lb", lb, 0), ("ub", lb + extent, 0)], extent, alignment


@pytest.mark.parametrize("kind", ["hindexed", "struct"])
def test_bounds_are_those_of_the_type_map(kind: str) -> None:
    """By the definition of MPI 4.0, 5.1.6 and 5.1.7; members and blocks without data add no entries."""
    rng = random.Random(5)
    for _ in range(500):
        n = rng.randint(1, 4)
        members = [member(rng) for _ in range(n)]
        if kind == "hindexed":
            members = members[:1] * n
        lengths, places = [rng.choice([0, 1, 1, 2]) for _ in range(n)], [rng.randint(-40, 40) for _ in range(n)]
        children = [child for child, _, _, _ in members]
        made = dt.struct(lengths, places, children) if kind == "struct" else dt.hindexed(lengths, places, children[0])
        entries, alignment = [], 1
        for length, place, (_, inner, extent, aligned) in zip(lengths, places, members, strict=True):
            for turn in range(length):
                entries += [(mark, place + turn * extent + at, size) for mark, at, size in inner]
                alignment = max(alignment, aligned)
        lower = [at for mark, at, _ in entries if mark == "lb"] or [at for _, at, _ in entries]
        upper = [at for mark, at, _ in entries if mark == "ub"]
        lb = min(lower, default=0)
        ub = max(upper or [at + size for _, at, size in entries], default=0)
        if kind == "struct" and not upper:
            ub += -(ub - lb) % alignment
        assert (made.lb, made.ub, made.size) == (lb, ub, sum(size for _, _, size in entries)), (made, lengths, places)


def test_members_without_data_pad_nothing() -> None:
    none = dt.contiguous(0, dt.DOUBLE)
    for one in (dt.struct([1, 0], [0, 64], [dt.CHAR, dt.DOUBLE]), dt.struct([1, 1], [0, 64], [dt.CHAR, none])):
        assert (one.lb, one.ub, one.alignment) == (0, 1, 1)
    wide = dt.resized(none, -4, 100)  # its bounds count
    assert dt.struct([1, 1], [0, 64], [dt.CHAR, wide]).lb == 60


@pytest.mark.parametrize("seed", range(40))
def test_types_of_mpi4py_are_decoded_and_mpi_packs_the_same(seed: int) -> None:
    mpi = pytest.importorskip("mpi4py.MPI")
    rng = random.Random(seed)
    made, count = of_mpi(mpi, rng, rng.randint(1, 4)), rng.randint(1, 3)
    datatype = dt.from_mpi4py(made)
    made.Commit()
    lb, extent = made.Get_extent()
    true_lb, true_extent = made.Get_true_extent()
    assert (datatype.size, datatype.lb, datatype.extent) == (made.Get_size(), lb, extent), f"seed {seed}"
    assert (datatype.true_lb, datatype.true_extent) == (true_lb, true_extent), f"seed {seed}"
    buffer = np.random.default_rng(seed).integers(0, 256, true_lb + true_extent + count * extent, np.uint8)
    packed = np.zeros(made.Pack_size(count, mpi.COMM_SELF), np.uint8)
    end = made.Pack(buffer[: count * extent], packed, 0, mpi.COMM_SELF)  # counts elements by their extent
    assert dt.pack(datatype, buffer, count).tobytes() == packed[:end].tobytes(), f"seed {seed}"


def of_mpi(mpi, rng: random.Random, depth: int):
    """A type of mpi4py with lower bounds of at least 0, so that its buffer can begin at address 0."""
    if depth == 0:
        return rng.choice([mpi.BYTE, mpi.SHORT, mpi.INT, mpi.DOUBLE])
    child = of_mpi(mpi, rng, depth - 1)
    n, block = rng.randint(1, 3), rng.randint(1, 3)
    places = np.cumsum([rng.randint(block, block + 3) for _ in range(n)]).tolist()
    extent = child.Get_extent()[1]
    other = rng.choice([mpi.SHORT, mpi.SHORT_INT, mpi.DOUBLE_COMPLEX])
    kinds = [
        lambda: child.Create_contiguous(n),
        lambda: child.Create_vector(n, block, block + 1),
        lambda: child.Create_hvector(n, block, 8 * (extent * block // 8 + 2)),
        lambda: child.Create_indexed([block] * n, places),
        lambda: child.Create_hindexed([block] * n, [8 * extent * place for place in places]),
        lambda: child.Create_indexed_block(block, places),
        lambda: child.Create_hindexed_block(block, [8 * extent * place for place in places]),
        lambda: mpi.Datatype.Create_struct([1, block], [0, 8 * extent], [other, child]),
        lambda: child.Create_resized(0, 8 * (extent // 8 + 2)),
        lambda: child.Create_subarray([3, 4], [2, 3], [1, 0], rng.choice([mpi.ORDER_C, mpi.ORDER_F])),
        lambda: child.Dup(),
    ]
    return rng.choice(kinds)()


def test_extents_of_mpi4py_are_those_of_the_library() -> None:
    mpi = pytest.importorskip("mpi4py.MPI")
    pair = mpi.Datatype.Create_struct([1, 1], [0, 80], [mpi.SHORT_INT, mpi.SHORT])
    wide = mpi.Datatype.Create_struct([1, 10], [0, 80], [mpi.DOUBLE_COMPLEX, mpi.CHAR])
    none = mpi.Datatype.Create_struct([1, 1], [0, 64], [mpi.CHAR, mpi.DOUBLE.Create_contiguous(0)])
    for one in (pair, wide, none, wide.Create_vector(2, 1, 3)):
        made = dt.from_mpi4py(one)
        assert (made.lb, made.extent) == one.Get_extent(), made
    assert dt.from_mpi4py(wide.Create_contiguous(2)).pieces()[0].tolist()[:2] == [0, 80]


def test_handles_of_mpi4py_that_name_no_type_are_refused() -> None:
    mpi = pytest.importorskip("mpi4py.MPI")
    freed = mpi.INT.Create_contiguous(2)
    freed.Free()
    far = mpi.INT.Create_hvector(2, 1, 1 << 32)
    grid = mpi.INT.Create_darray(1, 0, [4], [mpi.DISTRIBUTE_BLOCK], [mpi.DISTRIBUTE_DFLT_DARG], [1])
    refused: list[tuple[object, str]] = [
        (mpi.DATATYPE_NULL, "the type is MPI.DATATYPE_NULL: it was freed"),
        (freed, "the type is MPI.DATATYPE_NULL: it was freed"),
        (mpi.Datatype, "from_mpi4py needs an mpi4py.MPI.Datatype, got <class"),
        (mpi.COMM_SELF, "from_mpi4py needs an mpi4py.MPI.Datatype, got"),
        (grid, "the type was made with COMBINER_DARRAY, which is not supported"),
        (far, "stride is 4294967296, must be an integer from -2147483648"),
    ]
    for handle, said in refused:
        with pytest.raises(InputError, match=said):
            dt.from_mpi4py(handle)


def test_numbers_beyond_32_bits_are_refused() -> None:
    most, far = (1 << 31) - 1, [0, 1 << 40]
    wide, sparse = dt.resized(dt.BYTE, 0, most), dt.resized(dt.BYTE, 0, 2)
    dense = dt.resized(dt.contiguous(1 << 14, dt.contiguous(1 << 14, dt.INT)), 0, 0)
    gap = dt.hvector(2, 1, 1 << 30, dt.INT)
    refused: list[tuple[str, Callable[[], object]]] = [
        ("count is 2147483648, must be an integer from 0", lambda: dt.contiguous(1 << 31, dt.INT)),
        (r"displacements\[1\] is 1099511627776, must be -2147483648 to", lambda: dt.indexed([1, 1], far, dt.INT)),
        (r"displacements\[0\] is 9223372036854775808, must be", lambda: dt.hindexed([1], [1 << 63], dt.INT)),
        (r"lengths\[0\] is 4294967297, must be", lambda: dt.indexed([(1 << 32) + 1], [0], dt.INT)),
        ("displacements must be a list of integers, has object", lambda: dt.hindexed([1], [1 << 70], dt.INT)),
        # These would wrap around 64 bits.
        ("bytes far; offsets and sizes must be -2147483648", lambda: dt.vector(4, 1, most, wide)),
        ("bytes far; offsets and sizes must be", lambda: dt.contiguous(most, wide)),
        ("bytes far; offsets and sizes must be", lambda: dt.indexed([1], [most], wide)),
        ("bytes far; offsets and sizes must be", lambda: dt.indexed([most] * 8, [0] * 8, dense)),
        ("ub is 2147483651, must be", lambda: dt.resized(dt.INT, 4, most)),
        ("has 536870912 blocks, at most 134217728", lambda: dt.vector(1 << 29, 1, 2, dt.BYTE)),
        ("has 536870912 elements, at most 134217728", lambda: sparse.pieces(1 << 29)),
        ("has 536870912 elements, at most 134217728", lambda: dt.compile(sparse, 1 << 29)),
        ("in 8 slots: the slots need 8589935232 bytes, allowed 4292870144", lambda: dt.compile(gap, slots=8)),
        ("in 1 slots: a message has 4294967296 bytes, allowed 4294967295", lambda: dt.compile(dense, 4, send=True)),
    ]
    for said, make in refused:
        with pytest.raises(InputError, match=said):
            make()
