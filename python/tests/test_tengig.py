# SPDX-License-Identifier: Apache-2.0
"""The 10 Gigabit NIC and its firmware: frames whole and in order, whatever their sizes and however many cores."""

from __future__ import annotations

import random
import shutil
from typing import Any

import pytest
import spinet
from spinet import InputError, Result
from spinet.firmware import build
from spinet.toolchain import CompileError

BUILDS = [
    pytest.param({}, id="optimised"),
    pytest.param({"BASE": ""}, id="base"),
    pytest.param({"HARDWARE_QUEUE": ""}, id="hardware-queue"),
    pytest.param({"THESIS": ""}, id="thesis"),
    pytest.param({"THESIS": "", "BASE": ""}, id="thesis-base"),
]
THESIS = BUILDS[3:]
JUMBO = ["host.longest_frame=9014", "buffer_bytes=20480"]
LINE_RATE = 812_744  # frames a second of 1518 bytes; Willmann 2004, 4.1.1


def run(cores: int, **more: Any) -> Result:
    """Runs it, with an event queue in hardware for the firmware that needs one."""
    changes = [f"cores={cores}", *more.pop("set", [])]
    nic = "tengig-events" if "HARDWARE_QUEUE" in more.get("defines", {}) else "tengig"
    result = spinet.run(nic=nic, set=changes, profile=False, **more)
    assert result.summary["counters"].get("event_queue.lost", 0) == 0
    return result


def check_intact(result: Result) -> None:
    assert result.is_intact, result.summary
    assert result.summary["faults"] == []
    assert result.counter("registers.dma_failures") == 0
    assert result.counter("registers.faults") == 0
    assert result.counter("host.faults") == 0


def sizes(seed: int) -> str:
    """Sizes of packets at random, many of them the smallest and the largest."""
    draw = random.Random(seed)
    print(f"seed {seed}")
    return ":".join(str(draw.choice([60, 1514, draw.randrange(60, 1515)])) for _ in range(97))


@pytest.mark.parametrize("defines", BUILDS)
@pytest.mark.parametrize("cores", [1, 2, 6, 8])
def test_frames_are_whole_and_in_order_at_saturation(cores: int, defines: dict[str, str]) -> None:
    mix = f"udp:size=list:{sizes(cores)},payload=numbered"
    result = run(cores, defines=defines, traffic=mix, send=mix, limit="2 ms")
    check_intact(result)
    assert result.summary["sent"]["frames"] > 30
    assert result.summary["received"]["frames"] > 30
    # Lost frames are those that the MAC had no room for, except frames that are still in the card.
    assert result.summary["received"]["lost"] <= result.counter("registers.dropped_frames")


@pytest.mark.parametrize("defines", BUILDS)
@pytest.mark.parametrize("cores", [1, 2, 6, 8])
def test_nothing_is_lost_below_saturation(cores: int, defines: dict[str, str]) -> None:
    mix = f"udp:size=list:{sizes(10 + cores)},payload=numbered,count=300,rate=40000pps"
    result = run(cores, defines=defines, traffic=mix, send=mix, limit="20 ms")
    check_intact(result)
    assert result.ended == "complete"
    assert (result.summary["sent"]["good"], result.summary["received"]["good"]) == (300, 300)
    assert result.counter("registers.dropped_frames") == 0


@pytest.mark.parametrize(("cores", "clock"), [(6, "200 MHz"), (8, "200 MHz"), (1, "800 MHz")])
def test_line_rate_both_ways(cores: int, clock: str) -> None:
    full = "udp:size=1514,payload=numbered"
    result = run(cores, set=[f"clocks.cpu='{clock}'"], traffic=full, send=full, limit="2 ms")
    check_intact(result)
    assert result.rates["total"].frames_per_s > 0.99 * 2 * LINE_RATE


def test_the_receive_area_and_the_rings_go_round() -> None:
    mix = f"udp:size=list:{sizes(99)},payload=numbered"
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
    # And about 100 KB of control data; rings and buffers of the Tigon-2's three kinds take more.
    assert built.sections[".bss"] < (140 << 10 if "THESIS" in defines else 100 << 10)


def test_firmware_of_another_card_is_refused() -> None:
    with pytest.raises(
        InputError,
        match=r"firmware starts at 0x4000, must be 0x400000, where .* starts; the firmware is for another card",
    ):
        spinet.run(nic="tengig", firmware="tigon2", limit="1 us")


def test_a_card_that_serves_no_ring_is_found_out() -> None:
    """Firmware that waits for an event queue which the card does not have."""
    result = spinet.run(nic="tengig", defines={"HARDWARE_QUEUE": ""}, send="udp:payload=numbered", limit="60 ms")
    assert result.ended == "stalled"
    assert "the card has not moved its consumer on from 0" in result.summary["ended"]["text"]


@pytest.mark.parametrize("defines", THESIS)
@pytest.mark.parametrize("cores", [1, 6])
def test_all_three_rings_serve_frames_of_their_sizes(cores: int, defines: dict[str, str]) -> None:
    draw = random.Random(cores)
    mix = ":".join(str(draw.choice([60, 128, 129, 1514, 1515, 4042, 9014])) for _ in range(97))
    mix = f"udp:size=list:{mix},payload=numbered,count=300,rate=30000pps"
    result = run(cores, defines=defines, set=JUMBO, traffic=mix, send=mix, limit="30 ms")
    check_intact(result)
    assert result.ended == "complete"
    assert (result.summary["sent"]["good"], result.summary["received"]["good"]) == (300, 300)


@pytest.mark.parametrize("defines", THESIS)
def test_jumbo_frames_at_saturation(defines: dict[str, str]) -> None:
    """The receive area of 1 MiB goes round twice: frames that need two transfers have two sums."""
    jumbo = "udp:size=list:9014:60:9013,payload=numbered"
    result = run(6, defines=defines, set=JUMBO, traffic=jumbo, send=jumbo, limit="3 ms")
    check_intact(result)
    assert result.summary["received"]["bytes"] > 2 << 20
    assert result.summary["sent"]["bytes"] > 1 << 20


@pytest.mark.parametrize("defines", THESIS)
def test_mini_frames_take_standard_buffers_where_there_are_no_mini_ones(defines: dict[str, str]) -> None:
    mix = "udp:size=60,payload=numbered,count=2000,rate=200000pps"
    for mini in (0, 128):
        result = run(4, defines=defines, set=[f"host.mini_bytes={mini}"], traffic=mix, limit="20 ms")
        check_intact(result)
        assert result.summary["received"]["good"] == 2000


@pytest.mark.parametrize("defines", THESIS)
def test_statistics_are_what_went_through(defines: dict[str, str]) -> None:
    """Frames are a millisecond apart and statistics are refreshed in between: all but the last are in them."""
    frames = "udp:size=142,payload=numbered,count=20,rate=1000pps"
    result = run(6, defines=defines, set=["host.statistics_us=100"], traffic=frames, send=frames, limit="40 ms")
    check_intact(result)
    assert result.ended == "complete"
    for way in ("in", "out"):
        seen = result.counter(f"host.card.{way}_frames")
        assert seen in (19, 20)
        assert result.counter(f"host.card.{way}_octets") == seen * (100 + 42)
    assert result.counter("host.card.in_errors") == result.counter("host.card.in_dropped") == 0


@pytest.mark.parametrize("defines", THESIS)
def test_the_card_counts_what_it_drops(defines: dict[str, str]) -> None:
    small = "udp:size=60,payload=numbered"
    result = run(1, defines=defines, set=["host.statistics_us=50"], traffic=small, send=small, limit="3 ms")
    check_intact(result)
    dropped = result.counter("registers.dropped_frames")
    assert dropped > 1000
    # The MAC's counters in memory have only frames without a place in memory, not those without room in its buffer.
    assert 0 < result.counter("host.card.in_dropped") <= dropped


@pytest.mark.parametrize("defines", THESIS)
@pytest.mark.parametrize("cores", [1, 6])
def test_the_card_inserts_checksums(cores: int, defines: dict[str, str]) -> None:
    mix = f"udp:size=list:{sizes(cores)},payload=numbered"
    result = run(cores, defines=defines, set=["host.send_sums=true"], traffic=mix, send=mix, limit="2 ms")
    check_intact(result)
    assert result.summary["sent"]["frames"] > 30


def test_jumbo_frames_need_firmware_that_has_jumbo_buffers() -> None:
    result = spinet.run(nic="tengig", set=JUMBO, send="udp:size=9014,payload=numbered,count=10", limit="2 ms")
    assert any("the firmware has one ring of buffers" in fault for fault in result.summary["faults"])


def test_an_event_queue_in_hardware_is_refused() -> None:
    with pytest.raises(CompileError) as refused:
        build("tengig", defines={"THESIS": "", "HARDWARE_QUEUE": ""})
    assert "THESIS has its event queue in software" in refused.value.stderr
