# SPDX-License-Identifier: Apache-2.0
"""The steady state of a run, and the search for the highest rate without loss."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import spinet
from spinet import cli, ndr
from spinet._core import UsageError

# Takes more cycles than 32 HPUs have for a packet of 1,500 bytes at 400 Gbit/s. It uses registers only, so that no
# # other part can be full.
SLOW = """\
#include <handler.h>

__handler__ void slow_ph(handler_args_t *args)
{
    for (uint32_t i = 0; i < 600; i++) {
        __asm__ volatile("nop");
    }
}
"""


def test_steady_state_leaves_out_what_packet_memory_soaks_up(tmp_path: Any) -> None:
    (tmp_path / "slow.c").write_text(SLOW)
    result = spinet.run(program=tmp_path / "slow.c", traffic="udp:size=1000,count=3000,rate=400G", keep_packets=False)
    steady, hpus = result.summary["steady"], result.summary["hpus"]
    # 1000 bytes, and 24 of FCS, preamble and gap: 48.8 M packets/s at 400 Gbit/s.
    assert steady["offered_packets_per_s"] == pytest.approx(400e9 / 8 / 1024, rel=0.01)
    assert steady["offered_line_gbps"] == pytest.approx(400, rel=0.01)
    assert steady["offered_gbps"] == pytest.approx(400 * 1000 / 1024, rel=0.01)
    # 3,000 packets fit into the 4 MiB of packet memory, so all of them are taken at the offered rate.
    assert result.summary["throughput"]["in_gbps"] == pytest.approx(steady["offered_gbps"], rel=0.01)
    # 32 HPUs work at once. Each needs `used_cycles` for a packet, and a few cycles between two handlers.
    assert hpus["budget_cycles"] == pytest.approx(32e9 / steady["offered_packets_per_s"])
    assert hpus["used_cycles"] > hpus["budget_cycles"]
    assert steady["held_packets_per_s"] == pytest.approx(32e9 / (hpus["used_cycles"] + 10), rel=0.05)
    assert result.summary["packets"]["in"] == 3000


def test_a_short_run_has_no_steady_state() -> None:
    result = spinet.run(program="sdk/examples/ping_pong.c", traffic="udp:count=50", keep_packets=False)
    assert result.summary["steady"] is None
    assert result.summary["hpus"]["budget_cycles"] is None


def card(capacity: float) -> Any:
    """A card that sustains this rate in Gbit/s, and records the given sources."""
    seen: list[str] = []

    def run(source: str, pacing: str | None) -> Mapping[str, Any]:
        seen.append(source)
        assert pacing is None
        gbps = int(source.partition("rate=")[2].removesuffix("bit/s")) / 1e9
        steady = {"offered_packets_per_s": gbps, "held_packets_per_s": min(gbps, capacity)}
        ended = {"is_unfinished": False}
        return {"packets": {"dropped": 0}, "ended": ended, "steady": steady, "bottleneck": None, "latency_ns": None}

    return run, seen


def test_bisection_ends_within_the_precision_below_the_capacity() -> None:
    run, seen = card(100)
    found = ndr.search(run, "udp:size=64,rate=1G", most=400, precision=0.01, tolerance=0)
    assert [trial.gbps for trial in found.trials] == [400, 200, 100, 150, 125, 112.5, 106.25, 103.125]
    assert [trial.lost is None for trial in found.trials].count(True) == 1
    assert (found.gbps, found.beyond is not None and found.beyond.gbps) == (100, 103.125)
    assert seen[0] == "udp:size=64,count=20000,rate=400000000000bit/s"
    lost = found.trials[0].lost
    assert lost == "done with 25.0 % of the packets that came"


def test_a_card_that_holds_all_needs_one_run_and_one_that_holds_nothing_ends() -> None:
    run, seen = card(1000)
    found = ndr.search(run, "udp:", most=400)
    assert (found.gbps, found.beyond, len(seen)) == (400, None, 1)
    run, seen = card(0)
    found = ndr.search(run, "udp:", most=400, precision=0.25)
    assert (found.gbps, found.best, len(seen)) == (0, None, 3)
    assert found.as_json()["gbps"] == 0


def test_the_command_finds_the_rate_of_a_handler(tmp_path: Any, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "slow.c").write_text(SLOW)
    arguments = ["ndr", str(tmp_path / "slow.c"), "--traffic", "udp:count=1500", "--precision", "5"]
    assert cli.main([*arguments, "--sizes", "500,1500", "--json"]) == 0
    small, large = json.loads(capfd.readouterr().out)
    # The handler does not look at the packet: it processes the same number of packets a second.
    assert small["packets_per_s"] == pytest.approx(large["packets_per_s"], rel=0.25)
    assert small["gbps"] < large["gbps"]
    assert small["bottleneck"].endswith(".hpus")
    for one in (small, large):
        held = [trial for trial in one["trials"] if trial["lost"] is None]
        assert max(trial["gbps"] for trial in held) == one["gbps"]
    assert cli.main([*arguments, "--max", "5G"]) == 0
    assert "the card holds the highest rate that was tried, 5 Gbit/s" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--traffic", "udp:", "--max", "fast"], "found the rate `fast`, must be a number and a unit"),
        (["--traffic", "udp:", "--sizes", "64,x"], "found the sizes `64,x`, must be numbers of bytes"),
        (["--traffic", "udp:", "--traffic", "udp:"], "name one source of packets"),
        (["--traffic", "captures/dns.pcap", "--sizes", "64"], "is a capture, whose packets have their own sizes"),
        (["--traffic", "udp:count=20"], "the runs are too short for a steady state"),
    ],
)
def test_wrong_options_are_errors(arguments: list[str], message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ndr", "sdk/examples/ping_pong.c", *arguments]) == 2
    assert message in capfd.readouterr().err


def test_a_rate_is_a_positive_number_with_a_unit() -> None:
    with pytest.raises(UsageError, match="found the rate `0G`"):
        ndr.rate("0G")
