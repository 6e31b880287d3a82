# SPDX-License-Identifier: Apache-2.0
"""The Tigon-2's own firmware on the simulated card: every build moves every frame, in order and unchanged."""

from __future__ import annotations

import shutil

import pytest
from spinet.card_run import CardResult, run_card

BUILDS = {"one": {}, "timer": {"TIMER_ON_B": ""}, "split": {"SPLIT": ""}}


def told(result: CardResult) -> str:
    """What came of a run, in a line."""
    ways = (f"{way} {result.summary[way]['good']}/{result.summary[way]['offered']}" for way in ("sent", "received"))
    return f"{result.ended}: {', '.join(ways)}{''.join(f'; {fault}' for fault in result.summary['faults'])}"


@pytest.mark.parametrize("build", BUILDS)
def test_each_build_moves_frames_both_ways(build: str) -> None:
    # 61 bytes make frames whose pieces end on odd addresses.
    for size, count in ((18, 30), (61, 30), (1472, 60)):
        spec = f"datagrams:bytes={size},count={count}"
        result = run_card("tigon2", firmware="tigon2", defines=BUILDS[build], send=spec, traffic=spec, limit="60 ms")
        assert told(result) == f"complete: sent {count}/{count}, received {count}/{count}"


def test_gccs_code_does_the_same() -> None:
    if shutil.which("mips-linux-gnu-gcc") is None:
        pytest.skip("mips-linux-gnu-gcc is not installed")
    spec = "datagrams:bytes=700,count=30"
    result = run_card("tigon2", firmware="tigon2", cc="mips-linux-gnu-gcc", send=spec, traffic=spec, limit="60 ms")
    assert told(result) == "complete: sent 30/30, received 30/30"


def test_buffers_go_round() -> None:
    """More bytes than transmit and receive buffers hold, on the smallest board."""
    spec = "datagrams:bytes=1400,count=400"
    board = ["sram.bytes=0x80000", "host.clear_end=0x80000"]
    result = run_card("tigon2", firmware="tigon2", send=spec, traffic=spec + ",rate=20000pps", set=board, limit="60 ms")
    assert told(result) == "complete: sent 400/400, received 400/400"


def test_each_receive_ring_has_its_frames() -> None:
    """Mini, standard and jumbo; and a send ring in the card's memory."""
    spec = "datagrams:bytes=8000:18:1472,count=60"
    card = ["host.receive.mini_buffers=64", "host.receive.jumbo_buffers=32", "host.mtu=9018", "host.send.ring=card"]
    result = run_card("tigon2", send=spec, traffic=spec, set=card, limit="60 ms")
    assert told(result) == "complete: sent 60/60, received 60/60"


def test_small_frames_at_full_rate_keep_sending_alive() -> None:
    """A network that brings more than one CPU can receive does not stop it from sending."""
    result = run_card(
        "tigon2", send="datagrams:bytes=18,count=400", traffic="datagrams:bytes=18,count=20000", limit="45 ms"
    )
    assert (result.summary["sent"]["good"], result.is_intact) == (400, True)
