# SPDX-License-Identifier: Apache-2.0
"""The 2-D FFT on a network: parts of the transpose arrive where they belong, for any number of nodes and threads."""

from __future__ import annotations

import numpy as np
import pytest
from experiments.spin.fft2d import METHODS, Transform
from spinet import InputError
from spinet import datatypes as dt


def check(transform: Transform) -> float:
    ns, found = transform.run()
    expected = np.fft.fft2(transform.matrix)
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max(), transform
    return ns


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "nodes"), [(24, 2), (30, 5), (48, 6)])
def test_the_result_is_that_of_numpy(n: int, nodes: int, method: str) -> None:
    check(Transform(n=n, nodes=nodes, method=method, seed=n))


def test_rows_that_cannot_be_divided_are_refused() -> None:
    with pytest.raises(InputError, match="nodes is 3, must be 2 or more and a divisor of n, which is 10"):
        Transform(n=10, nodes=3, method=METHODS[0])


@pytest.mark.parametrize("method", METHODS)
def test_threads_change_no_time_and_no_number(method: str) -> None:
    transform = Transform(n=16, nodes=4, method=method)
    (one_ns, one), (two_ns, two) = transform.run(), transform.run(threads=2)
    assert one_ns == two_ns and (one == two).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_transform_that_loses_its_transpose_is_found(method: str) -> None:
    transform = Transform(n=16, nodes=2, method=method)
    _, found = transform.run()
    rows_only = np.fft.fft(np.fft.fft(transform.matrix, axis=1).T, axis=1)
    assert np.abs(found - rows_only).max() > 1e-3 * np.abs(found).max()


def test_the_types_of_sender_and_receiver_transpose_a_matrix() -> None:
    transform = Transform(n=6, nodes=3, method=METHODS[0])
    matrix = np.arange(36, dtype=np.complex128).reshape(6, 6)
    columns = np.zeros((2, 6), np.complex128)
    for node in range(3):  # node 1 gets columns 2 and 3
        part = dt.pack(transform.sent, matrix[2 * node : 2 * node + 2], origin=2 * 16)
        dt.unpack(transform.received, part, columns, origin=2 * node * 16)
    assert (columns == matrix[:, 2:4].T).all()


@pytest.mark.long
@pytest.mark.parametrize("method", METHODS)
def test_thirty_two_nodes(method: str) -> None:
    check(Transform(n=512, nodes=32, method=method))
