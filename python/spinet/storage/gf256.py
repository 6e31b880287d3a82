# SPDX-License-Identifier: Apache-2.0
"""Reed-Solomon codes over GF(256), in the form that storage systems use: k data blocks, m parity blocks.

The field has the polynomial x^8 + x^4 + x^3 + x^2 + 1 and the generator 2. Byte i of all blocks is a codeword of the
systematic Reed-Solomon code of length k + m whose generator polynomial has the roots 2^0 to 2^(m-1).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
from numpy.typing import NDArray

from spinet._core import UsageError

POLYNOMIAL = 0x11D

Bytes = NDArray[np.uint8]


@cache
def products() -> Bytes:
    """The table of all products, shape ``(256, 256)``."""
    doubled = [1]
    for _ in range(254):
        value = doubled[-1] << 1
        doubled.append(value ^ POLYNOMIAL if value > 255 else value)
    exponents = np.array(doubled * 2, dtype=np.uint8)
    logarithms = np.zeros(256, dtype=np.int64)
    logarithms[doubled] = np.arange(255)
    table = np.zeros((256, 256), dtype=np.uint8)
    table[1:, 1:] = exponents[logarithms[1:, None] + logarithms[None, 1:]]
    return table


def _inverse(value: int) -> int:
    return int(np.flatnonzero(products()[value] == 1)[0])


@cache
def coefficients(k: int, m: int) -> tuple[bytes, ...]:
    """The coefficients of each data block, one for each parity block.

    Raises
    ------
    UsageError
        If there is no such code.

    Examples
    --------
    >>> [block.hex() for block in coefficients(3, 2)]
    ['0f0e', '0706', '0302']
    """
    if k < 1 or m < 1 or k + m > 255:
        raise UsageError(f"RS({k},{m}) is not a code: k and m must be 1 or more, and at most 255 together")
    table = products()
    generator = [1]  # highest power first
    for root in range(m):
        value = 1
        for _ in range(root):
            value = int(table[2, value])
        longer = [*generator, 0]
        for at, coefficient in enumerate(generator):
            longer[at + 1] ^= int(table[value, coefficient])
        generator = longer
    # Remainders of x^(m+e) divided by the generator, for e from 0. Data block i is the coefficient of x^(m+k-1-i).
    remainder = generator[1:]
    rows = []
    for _ in range(k):
        rows.append(bytes(remainder))
        first, rest = remainder[0], [*remainder[1:], 0]
        remainder = [value ^ int(table[first, factor]) for value, factor in zip(rest, generator[1:], strict=True)]
    return tuple(reversed(rows))


def encode(blocks: Bytes, m: int) -> Bytes:
    """Parity of data blocks.

    Parameters
    ----------
    blocks
        Shape ``(k, n_bytes)``.
    m
        Number of parity blocks.

    Returns
    -------
    numpy.ndarray
        Shape ``(m, n_bytes)``.
    """
    table = products()
    parity = np.zeros((m, blocks.shape[1]), dtype=np.uint8)
    for block, factors in zip(blocks, coefficients(len(blocks), m), strict=True):
        for row, factor in enumerate(factors):
            parity[row] ^= table[factor, block]
    return parity


def decode(known: Mapping[int, Bytes], k: int, m: int) -> Bytes:
    """The data blocks, from any k blocks.

    Parameters
    ----------
    known
        Blocks by number: data blocks from 0, parity blocks from k.

    Returns
    -------
    numpy.ndarray
        Shape ``(k, n_bytes)``.

    Raises
    ------
    UsageError
        If there are fewer than k blocks.
    """
    if len(known) < k:
        raise UsageError(f"{len(known)} blocks of RS({k},{m}) are known, {k} are needed")
    table, numbers = products(), sorted(known)[:k]
    code = np.array([list(block) for block in coefficients(k, m)], dtype=np.uint8).T
    whole = np.concatenate([np.eye(k, dtype=np.uint8), code])
    left, right = whole[numbers], np.stack([known[number] for number in numbers])
    for column in range(k):  # Gauss-Jordan
        pivot = column + int(np.flatnonzero(left[column:, column])[0])
        left[[column, pivot]], right[[column, pivot]] = left[[pivot, column]], right[[pivot, column]]
        factor = _inverse(int(left[column, column]))
        left[column], right[column] = table[factor, left[column]], table[factor, right[column]]
        for row in range(k):
            if row != column and (factor := int(left[row, column])):
                left[row] ^= table[factor, left[column]]
                right[row] ^= table[factor, right[column]]
    return right
