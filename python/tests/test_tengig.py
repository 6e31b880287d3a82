# SPDX-License-Identifier: Apache-2.0
"""The 10 Gigabit NIC and its firmware: frames whole and in order, whatever their sizes and however many cores."""

from __future__ import annotations

import random
import shutil
from typing import Any

import pytest
from spinet import InputError
from spinet.card_run import CardResult, run_card
from spinet.firmware import build

BUILDS = [
    pytest.param({}, id="optimised"),
    pytest.param({"BASE": ""}, id="base"),
    pytest.param({"HARDWARE_QUEUE": ""}, id="hardware-queue"),
]
LINE_RATE = 812_744  # frames a second of 1518 bytes; Willmann 2004, 4.1.1


def run(cores: int, **more: Any) -> CardResult:
    """Runs it, with an event queue in hardware for the firmware that needs one."""
    changes = [f"cores={cores}", *more.pop("set", [])]
    nic = "tengig-events" if "HARDWARE_QUEUE" in more.get("defines", {}) else "tengig"
    result = run_card(nic, set=changes, profile=False, **more)
    assert result.summary["counters"].get("event_queue.lost", 0) == 0
    return result


def check_intact(result: CardResult) -> None:
    assert result.is_intact, result.summary
    assert result.summary["faults"] == []
    assert result.counter("registers.dma_failures") == 0
    assert result.counter("registers.faults") == 0


def sizes(seed: int) -> str:
    """Sizes of datagrams at random, many of them the smallest and the largest."""
    draw = random.Random(seed)
    print(f"seed {seed}")
    return ":".join(str(draw.choice([18, 1472, draw.randrange(18, 1473)])) for _ in range(97))


@pytest.mark.parametrize("defines", BUILDS)
@pytest.mark.parametrize("cores", [1, 2, 6, 8])
def test_frames_are_whole_and_in_order_at_saturation(cores: int, defines: dict[str, str]) -> None:
    mix = f"datagrams:bytes={sizes(cores)}"
    result = run(cores, defines=defines, traffic=mix, send=mix, limit="2 ms")
    check_intact(result)
    assert result.summary["sent"]["frames"] > 30
    assert result.summary["received"]["frames"] > 30
    # What was lost is what the MAC had no room for, but for frames that are still in the card.
    assert result.summary["received"]["lost"] <= result.counter("registers.dropped_frames")


@pytest.mark.parametrize("defines", BUILDS)
@pytest.mark.parametrize("cores", [1, 2, 6, 8])
def test_nothing_is_lost_below_saturation(cores: int, defines: dict[str, str]) -> None:
    mix = f"datagrams:bytes={sizes(10 + cores)},count=300,rate=40000pps"
    result = run(cores, defines=defines, traffic=mix, send=mix, limit="20 ms")
    check_intact(result)
    assert result.ended == "complete"
    assert (result.summary["sent"]["good"], result.summary["received"]["good"]) == (300, 300)
    assert result.counter("registers.dropped_frames") == 0


@pytest.mark.parametrize(("cores", "clock"), [(6, "200 MHz"), (8, "200 MHz"), (1, "800 MHz")])
def test_line_rate_both_ways(cores: int, clock: str) -> None:
    full = "datagrams:bytes=1472"
    result = run(cores, set=[f"clocks.cpu='{clock}'"], traffic=full, send=full, limit="2 ms")
    check_intact(result)
    assert result.total.frames_per_s > 0.99 * 2 * LINE_RATE


def test_the_receive_area_and_the_rings_go_round() -> None:
    mix = f"datagrams:bytes={sizes(99)}"
    result = run(6, traffic=mix, send=mix, limit="3 ms")
    check_intact(result)
    assert result.summary["received"]["bytes"] > 2 << 20
    assert result.summary["sent"]["frames"] > 1024


@pytest.mark.parametrize("defines", BUILDS)
@pytest.mark.parametrize("cc", ["zig", "mips-linux-gnu-gcc"])
def test_the_firmware_fits_its_memories(cc: str, defines: dict[str, str]) -> None:
    if cc != "zig" and shutil.which(cc) is None:
        pytest.skip(f"{cc} is not installed")
    built = build("tengig", defines=defines, cc=cc)
    assert built.messages == ""
    assert built.sections[".text"] < 21 << 10  # Willmann 2004, 4.1: about 21 KB of code
    assert built.sections[".bss"] < 100 << 10  # and about 100 KB of control data


def test_firmware_of_another_card_is_refused() -> None:
    with pytest.raises(InputError, match=r"firmware begins at 0x4000, .* at 0x400000: it is for another card"):
        run_card("tengig", firmware="tigon2", limit="1 us")


def test_a_card_that_serves_no_ring_is_found_out() -> None:
    """Firmware that waits for an event queue which the card does not have."""
    result = run_card("tengig", defines={"HARDWARE_QUEUE": ""}, send="datagrams:", limit="60 ms")
    assert result.ended == "stalled"
    assert "the card has not moved its consumer on from 0" in result.summary["ended"]["text"]
