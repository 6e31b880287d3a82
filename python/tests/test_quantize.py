# SPDX-License-Identifier: Apache-2.0
"""Quantization on a card against NumPy: every int8 and every scale."""

from __future__ import annotations

import struct
from collections.abc import Generator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import spinet
from numpy.typing import NDArray
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import Quantizer, quantize
from spinet.services.wire import SOURCES, Packet

from rounds import Card

Steps = Generator[Any, Any, None]
SEED = 23


def drawn(n: int) -> NDArray[np.float32]:
    """Gradients of very different sizes."""
    print("seed", SEED)
    random = np.random.default_rng(SEED)
    return (random.standard_normal(n) * 10.0 ** random.integers(-4, 1, n)).astype("<f4")


def receiver(quantizer: Quantizer) -> Card:
    node = {**quantizer.node(), "program": str(SOURCES / "quantize.c"), "defines": quantizer.defines}
    return Card(node, host=bytes(quantizer.host_bytes))


def ask(card: Card, *requests: tuple[int, bytes]) -> list[str]:
    """The status of the reply to each request, in the order of replies."""
    frames = [
        Packet(request=number, client=0, kind=kind, data=data).frame(source=1, target=0, port=quantize.PORT)
        for number, (kind, data) in enumerate(requests, 1)
    ]
    replies = map(Packet.of_frame, card.process(frames))
    return [quantize.STATUS[reply.status] for reply in replies]


def on_card(quantizer: Quantizer, vector: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    card = receiver(quantizer)
    requests = quantizer.requests(vector)
    assert ask(card, *requests) == ["ok"] * len(requests)
    card.machine.step("5 us")  # writes may still be on their way
    return quantizer.result(card.host.read(size=quantizer.host_bytes))


def check(quantizer: Quantizer, vector: NDArray[np.float32]) -> None:
    values, scales = on_card(quantizer, vector)
    wanted, wanted_scales = quantizer.quantize(vector)
    assert np.array_equal(values, wanted)
    assert scales.tobytes() == wanted_scales.tobytes()


@pytest.mark.parametrize("block", [4, 32, 64, 352])
def test_cards_quantize_as_numpy_does(block: int) -> None:
    quantizer = Quantizer(elements=block * (1500 // block), block=block)
    check(quantizer, drawn(quantizer.elements))


def test_bits_of_any_kind_are_quantized_as_numpy_does() -> None:
    """Random bits: subnormal numbers, infinities and NaN among them."""
    bits = np.random.default_rng(SEED).integers(0, 1 << 32, 2048, dtype="<u4")
    bits[:512] &= 0x807F_FFFF  # subnormal
    bits[512:1024] = bits[512:1024] & 0x83FF_FFFF | 0x3E00_0000  # similar exponents
    bits[1024:1028] = [0, 0x8000_0000, 0, 0]
    bits[1028:1032] = [0x7F80_0000, 0x3F80_0000, 0, 0]
    with np.errstate(all="ignore"):
        check(Quantizer(elements=2048, block=4), bits.view("<f4"))


def test_ties_round_to_even() -> None:
    """With the scale 127, quotients equal the elements; with 254, they are half of them."""
    whole = np.array([127, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 126.5, 0.49999997, -125.5, 1e-9, 0], "<f4")
    values, scales = on_card(Quantizer(elements=12, block=12), whole)
    assert values.tolist() == [127, 0, 2, 2, 0, -2, -2, 126, 0, -126, 0, 0]
    assert scales.tolist() == [127]
    values, _ = on_card(Quantizer(elements=12, block=12), np.arange(243, 255, dtype="<f4"))
    assert values.tolist() == [122, 122, 122, 123, 124, 124, 124, 125, 126, 126, 126, 127]


def test_the_reference_is_the_exact_quotient() -> None:
    vector = drawn(256)
    values, scales = Quantizer(elements=256, block=64).quantize(vector)
    exact = [
        round(Fraction(127) * Fraction(float(element)) / Fraction(float(scale)))  # `round` takes ties to even, too
        for scale, part in zip(scales, vector.reshape(-1, 64), strict=True)
        for element in part
    ]
    assert values.tolist() == exact


def test_dequantized_values_are_near() -> None:
    quantizer = Quantizer(elements=640, block=64)
    vector = drawn(640)
    values, scales = quantizer.quantize(vector)
    error = np.abs(quantizer.dequantize(values, scales) - vector).reshape(-1, 64)
    assert (error <= scales[:, None] / 254 * 1.000001).all()


@pytest.mark.parametrize("faults", ["", "loss=0.05,duplicate=0.1,reorder=0.1:8"])
def test_vectors_of_clients_on_a_network_are_stored(faults: str) -> None:
    quantizer = Quantizer(elements=64 * 150, block=64)
    vector = drawn(quantizer.elements)
    net = spinet.Network(quantize.network(quantizer, faults=faults), limit="50 ms", seed=SEED)

    def program(host: RunningHost) -> Steps:
        yield host.sleep("20 us")
        yield from quantizer.connect(host, number=0).send(vector)

    net[1].host.program = program
    assert net.run().ended == "complete"
    values, scales = quantizer.result(net[0].host_memory(quantize.HOST_AT, quantizer.host_bytes))
    wanted, wanted_scales = quantizer.quantize(vector)
    assert np.array_equal(values, wanted) and np.array_equal(scales, wanted_scales)


def test_malformed_requests_are_counted_and_refused() -> None:
    quantizer = Quantizer(elements=640, block=64)
    card = receiver(quantizer)
    block = drawn(64).tobytes()
    wrong = [
        b"",
        bytes(4),
        bytes(4) + block[:-4],
        struct.pack("<I", 10) + block,
        struct.pack("<I", 9) + 2 * block,
        struct.pack("<I", 0xFFFF_FFFF) + 2 * block,
    ]
    for number, data in enumerate(wrong, 1):
        assert ask(card, (quantize.STORE, data)) == ["malformed"], number
        assert card.memory.read()[:4] == number.to_bytes(4, "little")
    assert ask(card, (9, bytes(4) + block)) == ["malformed"]
    card.machine.step("5 us")
    assert not any(card.host.read(size=quantizer.host_bytes))


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"elements": 100, "block": 64}, "elements is 100, must be a multiple of 64"),
        ({"elements": 6, "block": 6}, "block is 6, must be a multiple of 4 from 4 to 352"),
    ],
)
def test_impossible_vectors_are_refused(wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        Quantizer(**wrong)
    with pytest.raises(UsageError, match=r"the vector has \(3,\) of float32, must have \(64,\)"):
        Quantizer(elements=64).quantize(np.zeros(3, "<f4"))
