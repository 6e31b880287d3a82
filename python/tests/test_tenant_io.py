# SPDX-License-Identifier: Apache-2.0
"""Transfers of tenants: how they are cut, their priorities and limits."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import spinet
from experiments.spin.osmosis import KERNELS, TENANT, packet
from spinet.cli import main

LONG = {"to_host": 4096, "from_host": 4096, "send": 2048, "l2_read": 4096}  # bytes of the congestor's transfers
IDEAL = {"pcie.model": "ideal", "iommu.enabled": False}  # a host that is never the bottleneck


def run(
    kernel: str,
    *,
    victims: int = 1,
    congestors: int = 31,
    victim: Mapping[str, Any] | None = None,
    congestor: Mapping[str, Any] | None = None,
    **sharing: Any,
) -> spinet.Result:
    """Congestors with 16 transfers each, and victims behind them with one transfer of 64 bytes each. Each transfer is
    awaited."""
    in_flight = sharing.pop("in_flight", 7)

    def context(name: str, number: int) -> dict[str, Any]:
        host = {"host_memory": {"size": 8192}}
        return {"name": name, "match": f"{TENANT} == {number}", "message": "all last", "handler": kernel, **host}

    size = LONG[kernel]
    long = packet(size, tenant=1, payload=struct.pack("<II", 16, size))
    short = packet(64, payload=struct.pack("<II", 1, 64))
    return spinet.run(
        {
            "program": str(KERNELS),
            "io": dict(victim or {}),
            "context": [context("victim", 0), context("congestor", 1) | {"tenant": "congestor"}],
            "tenant": [{"name": "congestor", "program": str(KERNELS), "io": dict(congestor or {})}],
        },
        traffic=[long] * congestors + [short] * victims,
        pacing="asap",
        set=IDEAL
        | {f"sharing.{key}": value for key, value in sharing.items()}
        | {"commands.in_flight_per_unit": in_flight},
    )


def cycles(result: spinet.Result, context: str = "victim") -> float:
    (mean,) = (row["cycles"]["mean"] for row in result.summary["handlers"] if row["context"] == context)
    return float(mean)


@pytest.mark.parametrize("kernel", ["to_host", "from_host", "l2_read"])
def test_a_short_transfer_waits_less_if_long_ones_are_cut(kernel: str) -> None:
    waits = [cycles(run(kernel, victims=16, congestors=16, fragment_bytes=size)) for size in (4096, 512, 64)]
    # 8 pages of 64 beats, or 8 fragments of 8 beats, are before it.
    assert waits[0] > 1.9 * waits[1] and waits[1] > 0.9 * waits[2], waits


def test_cut_transfers_move_the_same_bytes() -> None:
    sent = packet(4001, payload=bytes(range(256)) * 15)

    def copied(size: int, schedule: str) -> bytes:
        result = spinet.run(
            {
                "program": str(KERNELS),
                "context": [{"message": "all last", "handler": "copy_to_host", "host_memory": {"size": 8192}}],
            },
            traffic=[sent],
            pacing="asap",
            set={"sharing.fragment_bytes": size, "sharing.io_schedule": schedule},
        )
        assert result.summary["tenants"][0]["host_bytes"] == len(sent)
        return result.host_memory(result.summary["contexts"][0]["host_memory"]["addr"], len(sent))

    for size in (64, 512, 4096):
        for schedule in ("in_order", "round_robin", "weighted_fair"):
            assert copied(size, schedule) == sent, (size, schedule)


@pytest.mark.parametrize("kernel", ["to_host", "from_host", "send"])
def test_a_transfer_of_high_priority_waits_for_one_part(kernel: str) -> None:
    keys = {"io_schedule": "round_robin", "fragment_bytes": 512, "in_flight": 1}
    alone = run(kernel, congestors=1, **keys)
    loaded = run(kernel, victim={"priority": 1}, **keys)
    (victim, congestor) = loaded.summary["tenants"]
    # A part is in the unit: 8 beats of a fragment, 32 of a packet, and less than 20 cycles for each command.
    assert victim["command_wait_ns"]["max"] <= (32 if kernel == "send" else 8) + 20
    assert congestor["command_wait_ns"]["mean"] > 300  # 31 others are before it
    assert cycles(loaded) < cycles(alone) + 60
    assert (victim["host_bytes"] + victim["egress_bytes"]) == 64
    assert (congestor["host_bytes"] + congestor["egress_bytes"]) == 31 * 16 * LONG[kernel]


def test_cores_of_high_priority_launch_cluster_transfers_first() -> None:
    keys = {"io_schedule": "round_robin", "fragment_bytes": 512, "victims": 8, "congestors": 64}
    low, high = (cycles(run("l2_read", victim={"priority": priority}, **keys)) for priority in (0, 1))
    assert high < low


@pytest.mark.parametrize(
    ("kernel", "key"), [("to_host", "host_rate"), ("from_host", "host_rate"), ("send", "egress_rate")]
)
@pytest.mark.parametrize("gbps", [40, 100])
def test_a_limit_holds_to_within_a_part(kernel: str, key: str, gbps: int) -> None:
    result = run(kernel, congestors=16, congestor={key: f"{gbps}G"}, io_schedule="weighted_fair", fragment_bytes=512)
    assert result.complete
    n_bytes = 16 * 16 * LONG[kernel]
    part = LONG[kernel] if kernel == "send" else 512
    ns = result.summary["time"]["simulated_ns"]
    assert n_bytes - part <= ns * gbps / 8, "no faster"
    assert ns < n_bytes * 8 / gbps + 5000, "and no slower, but for the start and the end"
    assert result.summary["tenants"][0]["command_wait_ns"]["max"] < 100, "others are not limited"


def limited_copies(gbps: int, n: int, **keys: Any) -> spinet.Result:
    """Handlers with `n` transfers of 4 KiB from L2, in parts of 512 bytes, of a limited tenant in one cluster."""
    packets = [packet(4096, tenant=1, payload=struct.pack("<II", n, 4096))] * keys.pop("handlers", 1)
    return spinet.run(
        {
            "program": str(KERNELS),
            "context": [{"message": "all last", "handler": "l2_read", "tenant": "limited"}],
            "tenant": [{"name": "limited", "program": str(KERNELS), "io": {"cluster_rate": f"{gbps}G"}, **keys}],
        },
        traffic=packets,
        pacing="asap",
        set={"sharing.io_schedule": "round_robin", "sharing.fragment_bytes": 512, "n_clusters": 1},
    )


@pytest.mark.parametrize("gbps", [4, 8, 32])
def test_a_limit_of_cluster_transfers_is_the_sum_of_the_parts_before(gbps: int) -> None:
    """A part of 512 bytes waits for 512 * 8 / gbps cycles at 1 GHz. The first one does not wait."""
    one, four = (limited_copies(gbps, n) for n in (1, 4))
    cycles = [result.summary["handlers"][0]["cycles"]["max"] for result in (one, four)]
    # 8 and 32 parts: 24 more. The handler looks for the end of a transfer every 6 cycles.
    assert abs(cycles[1] - cycles[0] - 24 * 512 * 8 / gbps) <= 6
    assert 0 < cycles[0] - 7 * 512 * 8 / gbps < 250
    assert [result.summary["tenants"][1]["cluster_bytes"] for result in (one, four)] == [4096, 4 * 4096]


def test_all_cores_of_a_cluster_share_a_limit_of_cluster_transfers() -> None:
    """Eight handlers with 8 parts each: 63 parts of 512 bytes wait for 512 cycles each at 8 Gbit/s."""
    ns = limited_copies(8, 1, handlers=8).summary["tenants"][1]["latency_ns"]["max"]
    assert 63 * 512 < ns < 63 * 512 + 400


def test_a_limit_of_cluster_transfers_leaves_others_alone() -> None:
    keys = {"io_schedule": "round_robin", "fragment_bytes": 512, "victims": 8, "congestors": 32}
    free, limited = (run("l2_read", congestor=io, **keys) for io in ({}, {"cluster_rate": "10G"}))
    assert cycles(limited) < cycles(free)
    assert cycles(limited, "congestor") > 2 * cycles(free, "congestor")
    for result in (free, limited):
        assert [tenant["cluster_bytes"] for tenant in result.summary["tenants"]] == [8 * 64, 32 * 16 * 4096]
    # 16 KiB of each of the 32 handlers, in four clusters.
    ns = limited.summary["time"]["simulated_ns"]
    assert ns > (32 / 4 * 16 * 4096 - 512) * 8 / 10


def test_a_watchdog_ends_a_handler_that_waits_for_its_limit() -> None:
    """At 1 Mbit/s a part of 512 bytes takes 4 ms, more than the watchdog of 1 ms allows."""
    result = spinet.run(
        {
            "program": str(KERNELS),
            "context": [{"message": "each", "handler": "l2_read", "tenant": "slow", "watchdog_cycles": 10_000}],
            "tenant": [{"name": "slow", "program": str(KERNELS), "io": {"cluster_rate": "1M"}}],
        },
        traffic=[packet(1024, payload=struct.pack("<II", 1, 1024))] * 3,
        pacing="asap",
        set={"sharing.io_schedule": "round_robin", "sharing.fragment_bytes": 512, "n_clusters": 1},
    )
    assert result.complete and result.summary["traps"]
    assert result.summary["tenants"][1]["cluster_bytes"] == 512  # one part, and no more until 4 ms later
    assert result.summary["time"]["simulated_ns"] < 20_000


def test_weights_share_bytes() -> None:
    def share(weight: int) -> float:
        """The end of the first of two equal tenants, over that of the second one."""
        context = {"message": "all last", "handler": "to_host", "host_memory": {"size": 8192}}
        names = [("first", 0, {}), ("second", 1, {"tenant": "second"})]
        result = spinet.run(
            {
                "program": str(KERNELS),
                "weight": weight,
                "context": [{"name": n, "match": f"{TENANT} == {k}"} | context | more for n, k, more in names],
                "tenant": [{"name": "second", "program": str(KERNELS)}],
            },
            traffic=[packet(4096, tenant=k % 2, payload=struct.pack("<II", 8, 4096)) for k in range(32)],
            pacing="asap",
            set=IDEAL | {"sharing.io_schedule": "weighted_fair", "sharing.fragment_bytes": 512},
        )
        ends = [tenant["latency_ns"]["max"] for tenant in result.summary["tenants"]]
        return float(ends[0] / ends[1])

    assert share(1) == pytest.approx(1, abs=0.08)
    # With three of four parts, n bytes take 4/3 n; the other tenant then gets everything, and ends at 2 n.
    assert share(3) == pytest.approx(2 / 3, abs=0.08)


def test_a_short_packet_leaves_earlier_if_reads_are_cut() -> None:
    whole, cut = (cycles(run("send", congestors=16, egress_fragment_bytes=size)) for size in (4096, 256))
    assert cut < whole


def test_the_driver_takes_the_same_rights() -> None:
    machine = spinet.Machine(set={"sharing.io_schedule": "round_robin"})
    rates = {"host_rate": "10G", "egress_rate": "2.5 Gbit/s", "cluster_rate": "100G"}
    machine.tenant("fast", io=spinet.TenantIo(priority=7, **rates))
    with pytest.raises(spinet.InputError, match=r"^io is .*, must be a spinet.TenantIo"):
        machine.tenant("dict", io={"priority": 1})  # type: ignore[arg-type]
    with pytest.raises(spinet.InputError, match="priority is 8, must be 0 to 7"):
        machine.tenant("high", io=spinet.TenantIo(priority=8))
    with pytest.raises(spinet.InputError, match="host_rate is `10`, must be bits a second from 1M to 10T"):
        machine.tenant("bare", io=spinet.TenantIo(host_rate="10"))
    with pytest.raises(spinet.InputError, match="cluster_rate is `0G`, must be bits a second from 1M to 10T"):
        machine.tenant("none", io=spinet.TenantIo(cluster_rate="0G"))
    with pytest.raises(
        spinet.InputError, match=r"egress_rate has no effect while the card's sharing\.io_schedule is in_order"
    ):
        spinet.Machine().tenant("plain", io=spinet.TenantIo(egress_rate="10G"))


@pytest.mark.parametrize(
    ("keys", "card", "texts"),
    [
        (
            "io = { priority = 9 }",
            "round_robin",
            ["io = { priority = 9 }", "found the number 9, must be a whole number from 0 to 7"],
        ),
        ("io = { host_rate = 'fast' }", "round_robin", ["tenant[0].io.host_rate", "is `fast`", "such as `10G`"]),
        ("io = { egress_rate = '10' }", "round_robin", ["tenant[0].io.egress_rate", "is `10`", "1M to 10T"]),
        ("io = { cluster_rate = '11T' }", "round_robin", ["tenant[0].io.cluster_rate", "is `11T`", "1M to 10T"]),
        (
            "io = { cluster_rate = '1G' }",
            "in_order",
            ["tenant[0].io.cluster_rate", "sharing.io_schedule and sharing.cluster_dma_schedule are in_order"],
        ),
        ("io = { host_rat = '10G' }", "round_robin", ["host_rat", "did you mean `host_rate`?"]),
        (
            "io = { priority = 1 }",
            "in_order",
            ["tenant[0].io.priority", "sharing.io_schedule and sharing.cluster_dma_schedule are", "round_robin"],
        ),
        ("", "weighted", ["io_schedule", "weighted_fair"]),
        ("", "in_order\nsharing.egress_fragment_bytes=100", ["egress_fragment_bytes", "100", "power of two"]),
    ],
)
def test_mistakes_are_reported(
    keys: str, card: str, texts: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "io.toml"
    file.write_text(
        f"program = '{KERNELS}'\ntraffic = 'udp:count=1,rate=1G'\n"
        f"[[tenant]]\nname = 'one'\nprogram = '{KERNELS}'\n{keys}\n"
        "[[context]]\nhandler = 'send'\n"
    )
    sets = [f"--set=sharing.io_schedule={card.splitlines()[0]}", *(f"--set={more}" for more in card.splitlines()[1:])]
    assert main(["run", str(file), *sets]) == 2
    shown = capsys.readouterr().err
    assert all(text in shown for text in texts), shown
