# SPDX-License-Identifier: Apache-2.0
"""Types of applications: the layouts of DDTBench 1.2 (Schneider, Gerstenberger, Hoefler, EuroMPI 2012)."""

from __future__ import annotations

import numpy as np

from spinet._core import UsageError
from spinet.datatypes import types
from spinet.datatypes.types import DOUBLE, DOUBLE_COMPLEX, FLOAT, Datatype

# The benchmark's sizes, by pattern. In indexed patterns, `3of7` means that 3 of an array's 7 elements are sent; `+`
# separates arrays.
DDTBENCH: dict[str, tuple[str, ...]] = {
    "NAS_LU_x": ("12", "33", "64", "102", "162", "408", "1020"),
    "NAS_LU_y": ("12", "33", "64", "102", "162", "408", "1020"),
    "NAS_MG_x": ("34x18x18", "130x66x66", "258x130x130", "514x258x258"),
    "NAS_MG_y": ("34x18x18", "130x66x66", "258x130x130", "514x258x258"),
    "NAS_MG_z": ("34x18x18", "130x66x66", "258x130x130", "514x258x258"),
    "MILC_su3_zd": ("16x16x16x16", "8x16x16x16", "8x8x8x16", "8x8x8x8"),
    "SPECFEM3D_mt": ("7600", "6400", "5600", "6200"),
    "SPECFEM3D_oc": ("3225of88881", "1897of38585", "877of12857", "493of3697"),
    "SPECFEM3D_cm": (
        "11797of834917+3009of51153", "7125of396849+1729of22477", "3801of152001+801of7209", "1957of39929+245of1225",
    ),
    "LAMMPS_full": ("3062of3534", "2243of2597", "1662of1907"),
    "LAMMPS_atomic": ("243of4084", "145of2157", "114of1217"),
    "WRF_x": ("2x2", "4x4", "8x8"),
    "WRF_y": ("2x2", "3x3", "4x4", "5x5", "8x8"),
    "FFT2D": ("256x4", "512x4", "768x4", "1024x4", "1536x4"),
}  # fmt: skip

# WRF by number of processes: bytes of a row along x with its border, bytes of a row that an exchange along y sends,
# number of rows along y with their border. assumed: 3x3 and 5x5, for which no exchange along x is published, have as
# many rows as a row has elements.
_WRF = {"2x2": (128, 92, 44), "3x3": (108, 76, 27), "4x4": (96, 64, 26), "5x5": (88, 56, 22), "8x8": (76, 44, 16)}
_WRF_LEVELS, _WRF_DEPTH, _WRF_2D, _WRF_3D = 65, 3, 4, 3


def ddtbench(pattern: str, size: str, *, seed: int = 1) -> Datatype:
    """The type that a pattern of DDTBench receives.

    Parameters
    ----------
    pattern, size
        One of `DDTBENCH`; other sizes of the same form are possible, except for WRF. ``FFT2D`` takes ``"NxP"``: N x N
        points over P nodes; the type is the block that one node receives from another.
    seed
        Chooses the elements of the indexed patterns, which are random in the benchmark's input.

    Raises
    ------
    UsageError
        If there is no such pattern or size.

    Examples
    --------
    >>> ddtbench("NAS_MG_x", "34x18x18").size, ddtbench("WRF_y", "2x2").size, ddtbench("LAMMPS_full", "3062of3534").size
    (2048, 54924, 195968)
    """
    if pattern not in DDTBENCH:
        raise UsageError(f"no pattern {pattern!r} in DDTBench", hint=f"use one of {', '.join(DDTBENCH)}")
    if pattern.startswith("WRF"):
        return _wrf(pattern, size)
    example = DDTBENCH[pattern][0]
    arrays = [[int(n) if n.isdecimal() else 0 for n in part.replace("of", "x").split("x")] for part in size.split("+")]
    wanted = [len(part.replace("of", "x").split("x")) for part in example.split("+")]
    if [len(array) for array in arrays] != wanted or not all(0 < n < 1 << 24 for array in arrays for n in array):
        raise UsageError(f"{pattern} of {size!r}: must be numbers from 1 to {(1 << 24) - 1}, as in {example}")
    if "of" in example:
        return _indexed(pattern, size, arrays, np.random.default_rng(seed))
    return _strided(pattern, size, arrays[0])


def _strided(pattern: str, size: str, n: list[int]) -> Datatype:
    if pattern == "NAS_LU_x":  # a face with 5 doubles per point, in one piece
        return types.contiguous(5 * n[0], DOUBLE)
    if pattern == "NAS_LU_y":  # the same face across rows, which have two more points
        return types.vector(n[0], 5, 5 * (n[0] + 2), DOUBLE)
    if pattern == "SPECFEM3D_mt":  # three floats of every six
        return types.vector(n[0], 3, 6, FLOAT)
    if pattern == "MILC_su3_zd":  # for each t, su3 vectors of half a plane; even and odd sites are separate
        x, y, z, t = n
        face = 24 * x * y // 2
        return types.hvector(2, 1, face * z * t, types.hvector(t, 1, face * z, types.contiguous(face // 4, FLOAT)))
    if pattern == "FFT2D":  # rows become columns: each column of the block is one of the sender's rows
        part = n[0] // n[1]
        if part == 0 or n[0] % n[1]:
            raise UsageError(f"FFT2D of {size!r}: the points must be a multiple of the nodes")
        column = types.vector(part, 1, n[0], DOUBLE_COMPLEX)
        return types.contiguous(part, types.resized(column, 0, 16))
    # Doubles in a box with a border of one point, which is not sent.
    x, y, z = n
    if min(n) < 3:
        raise UsageError(f"{pattern} of {size!r}: a box with a border has at least 3 points in each dimension")
    if pattern == "NAS_MG_x":
        return types.hvector(z - 2, 1, 8 * x * y, types.vector(y - 2, 1, x, DOUBLE))
    if pattern == "NAS_MG_y":
        return types.vector(z - 2, x - 2, x * y, DOUBLE)
    return types.vector(y - 2, x - 2, x, DOUBLE)


def _indexed(pattern: str, size: str, arrays: list[list[int]], rng: np.random.Generator) -> Datatype:
    for some, of in arrays:
        if some > of:
            raise UsageError(f"{pattern} of {size!r}: an array of {of} elements does not have {some}")
    chosen = [np.sort(rng.choice(of, some, replace=False)).astype(np.int64) for some, of in arrays]
    if pattern == "SPECFEM3D_oc":
        return types.indexed_block(1, chosen[0].tolist(), FLOAT)
    if pattern == "SPECFEM3D_cm":  # three floats per point
        widths: tuple[int, ...] = (12, 12)
        order: tuple[int, ...] = (0, 1)
    else:  # particle properties: one array with three doubles per particle, others with one; the same particles of each
        widths = (24, *(8,) * (5 if pattern == "LAMMPS_full" else 3))
        order = (0,) * len(widths)
    members, places, at = [], [], 0
    for width, which in zip(widths, order, strict=True):
        element = types.contiguous(width // 4, FLOAT) if width == 12 else types.contiguous(width // 8, DOUBLE)
        members.append(types.indexed_block(1, chosen[which].tolist(), element))
        places.append(at)
        at += width * arrays[which][1]
    return types.struct([1] * len(members), places, members)


def _wrf(pattern: str, size: str) -> Datatype:
    """Borders of two- and three-dimensional arrays of floats, ordered x, level, y."""
    if size not in DDTBENCH[pattern]:
        raise UsageError(f"{pattern} of {size!r}: must be one of {', '.join(DDTBENCH[pattern])}")
    row, along_y, rows = _WRF[size]
    block, n = (4 * _WRF_DEPTH, rows) if pattern == "WRF_x" else (along_y, _WRF_DEPTH)
    piece = types.contiguous(block // 4, FLOAT)
    plane = types.hvector(n, 1, row, piece)
    box = types.hvector(n, 1, row * _WRF_LEVELS, types.hvector(_WRF_LEVELS, 1, row, piece))
    sizes = [row * rows] * _WRF_2D + [row * rows * _WRF_LEVELS] * _WRF_3D
    places = [sum(sizes[:at]) for at in range(len(sizes))]
    return types.struct([1] * len(sizes), places, [plane] * _WRF_2D + [box] * _WRF_3D)
