# SPDX-License-Identifier: Apache-2.0
"""Paths: each packet's time is split into steps without gaps, and each wait has a named cause."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest
import spinet
from spinet import InputError, cli
from spinet.paths import Paths

REDUCE = "sdk/examples/reduce.c"
THREE = """\
#include <handler.h>

__handler__ void three_hh(handler_args_t *args) {}

__handler__ void three_ph(handler_args_t *args)
{
    volatile uint32_t *words = args->task->pkt_mem;
    for (uint32_t i = 0; i < args->task->pkt_mem_size / 4; i++) {
        (void)words[i];
    }
}

__handler__ void three_th(handler_args_t *args) {}
"""
# One message: the other packets wait for its header handler, and its completion handler for all of them. The last one
# is short, so its handler ends before that of a longer one.
TRAFFIC = "udp:size=list:1400:64,count=60,rate=400G"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("explain")
    (place / "three.c").write_text(THREE)
    out = place / "out"
    arguments = ["run", str(place / "three.c"), "--traffic", TRAFFIC, "--message", "all", "--paths", "-o", str(out)]
    assert cli.main(arguments) == 0
    return out


@pytest.fixture(scope="module")
def paths(folder: Path) -> Paths:
    return Paths.load(folder)


def test_steps_have_no_gaps_and_add_up_to_the_time_of_each_packet(paths: Paths) -> None:
    assert len(paths) == 60
    for row in paths.packets.to_pylist():
        path = paths.path(row["packet"])
        assert path.steps[0].begin_ps == row["arrival_ps"]
        for before, after in zip(path.steps, path.steps[1:], strict=False):
            assert before.end_ps == after.begin_ps
        assert path.steps[-1].end_ps == row["done_ps"]
        assert path.takes_ps == sum(path.by_cause().values()) == row["done_ps"] - row["arrival_ps"]
    assert sum(paths.by_cause().values()) == pc.sum(paths.table["takes_ps"]).as_py()


def test_a_packet_waits_for_the_header_handler_of_its_message_and_the_last_one_for_all_others(paths: Paths) -> None:
    first, second, last = (paths.path(packet) for packet in (0, 1, 59))
    assert {step.stage for step in first.steps} == {"packet", "header", "payload"}
    (wait,) = [step for step in second.steps if step.cause == "header_handler"]
    header_done = max(step.end_ps for step in first.steps if step.stage == "header")
    assert (wait.blocker, wait.end_ps, wait.place) == (0, header_done, "message queues")
    (wait,) = [step for step in last.steps if step.cause == "other_packets"]
    assert wait.blocker is not None
    blocker = paths.path(wait.blocker)
    assert wait.end_ps == max(step.end_ps for step in blocker.steps if step.stage == "payload")


def test_cycles_of_a_handler_are_its_instructions_and_the_causes_of_lost_ones(paths: Paths) -> None:
    for row in paths.packets.to_pylist():
        steps = [step for step in paths.path(row["packet"]).steps if step.stage == "payload"]
        executed = sum(step.takes_ps for step in steps if step.cause == "executed")
        assert executed == 1000 * row["instructions"]
        within = [step for step in steps if row["start_ps"] <= step.begin_ps < row["end_ps"]]
        assert sum(step.takes_ps for step in within) == 1000 * row["cycles"]
        assert {step.place for step in within} == {f"hpu {row['cluster']}.{row['hpu']}"}


def test_a_packet_that_waits_for_an_hpu_names_the_packet_before_and_the_full_part() -> None:
    result = spinet.run(program=REDUCE, traffic="udp:size=1000,count=300,rate=400G", message="all", paths=True)
    rows = {row["packet"]: row for row in result.packets.to_pylist()}
    waits = [
        (packet, step)
        for packet in rows
        for step in result.paths.path(packet).steps
        if step.cause == "hpus_busy" and step.stage == "payload"
    ]
    assert len(waits) > 100
    for packet, step in waits:
        assert step.blocker is not None
        before, row = rows[step.blocker], rows[packet]
        assert (before["cluster"], before["hpu"]) == (row["cluster"], row["hpu"])
        assert before["end_ps"] <= row["assigned_ps"]
        assert step.resource is not None
        assert step.resource.name == f"nic.cluster[{row['cluster']}].hpus"


def test_paths_of_chains_name_the_unit() -> None:
    result = spinet.run(nic="panic", chains="all: aes -> sha", traffic="udp:size=256,count=80,rate=90G", paths=True)
    left = [row for row in result.packets.to_pylist() if row["left_ps"] is not None]
    for row in left:
        path = result.paths.path(row["packet"])
        assert path.takes_ps == row["left_ps"] - row["arrival_ps"]
        assert path.by_cause()["service"] == row["service_ps"]
        assert path.by_cause().get("queueing", 0) == row["queueing_ps"]
        places = [step.place for step in path.steps if step.cause == "service"]
        assert [place.split("[")[0] for place in places] == ["aes", "sha"]
    step = next(step for step in result.paths.path(left[0]["packet"]).steps if step.cause == "service")
    assert step.resource is not None
    assert step.resource.name.startswith(f"{step.place}.")


# Cards of chains: traffic to and from the host, packets that a full unit refuses, and packets that are dropped.
CHAINS: dict[str, dict[str, Any]] = {
    "panic": {"chains": ["all: a -> b"], "traffic": "udp:size=256,count=200,rate=90G"},
    "panic, to the host": {"chains": ["all: a => host"], "traffic": "udp:size=list:64:1500,count=200,rate=60G"},
    "panic, from the host": {
        "chains": ["seal queues=1: a => network:0"],
        "send": ["1=udp:size=200,count=100,rate=5G", "0=udp:size=list:64:1500,count=100,rate=5G"],
    },
    "panic-asic": {"chains": ["all repeat: b -> a -> b"], "traffic": "udp:size=list:64:1500,count=300,rate=100G"},
    "pipeline": {"chains": ["all: a -> b"], "traffic": "udp:size=list:64:1500,count=300,rate=100G"},
    "manycore": {"chains": ["all: a -> b"], "traffic": "udp:size=256,count=200,rate=20G"},
    "rmt": {"chains": ["all: a -> b"], "traffic": "udp:size=256,count=100,rate=90G"},
}


@pytest.mark.parametrize("load", CHAINS)
def test_steps_of_packets_of_chains_add_up_to_their_time(load: str) -> None:
    services = ["a: delay, cycles=20, units=2, credits=2", "b: delay, cycles=30, units=2, credits=2"]
    result = spinet.run(nic=load.split(",")[0], services=services, paths=True, **CHAINS[load])
    left = 0
    for row in result.packets.to_pylist():
        path = result.paths.path(row["packet"])
        for before, after in itertools.pairwise(path.steps):
            assert before.end_ps == after.begin_ps
        assert path.takes_ps == sum(path.by_cause().values())
        if row["left_ps"] is not None:
            assert path.steps[-1].end_ps == row["left_ps"]
            assert path.takes_ps == row["latency_ps"] + row["left_ps"] - row["leaving_ps"]
            left += 1
    assert left >= 50


def test_a_packet_of_a_chain_names_the_packet_before_it_in_the_unit() -> None:
    # One unit with one credit: packets go through it one after the other.
    result = spinet.run(
        nic="panic",
        services="work: delay, cycles=400, units=1, credits=1",
        chains="all: work",
        traffic="udp:size=256,count=20,rate=90G",
        paths=True,
    )
    waits = 0
    for packet in range(1, 20):
        for step in result.paths.path(packet).steps:
            if step.cause == "queueing" and step.takes_ps > 100_000:
                assert (step.place, step.blocker) == ("scheduler, for work", packet - 1)
                assert step.resource is not None and step.resource.name.startswith("work[0].")
                waits += 1
    assert waits >= 15


def test_a_result_without_paths_says_how_to_get_them() -> None:
    result = spinet.run(program=REDUCE, traffic="udp:count=2")
    with pytest.raises(AttributeError, match="paths=True records them"):
        _ = result.paths


LOADS = {
    "tigon2": {
        "traffic": "udp:payload=numbered,size=list:60:1514:300,count=250,rate=100kpps",
        "send": "udp:payload=numbered,size=list:60:1400,count=250",
    },
    "tigon2-cached": {"traffic": "udp:payload=numbered,size=60,count=200,rate=max", "limit": "20 ms"},
    "tengig": {
        "traffic": "udp:payload=numbered,size=1514,count=400,rate=9G",
        "send": "udp:payload=numbered,size=1514,count=400",
    },
    "tengig-events": {"traffic": "udp:payload=numbered,size=60,count=1500,rate=max"},
    "small.toml of a user": {
        "traffic": "udp:payload=numbered,size=300,count=200,rate=500M",
        "send": "udp:payload=numbered,size=900,count=100",
    },
    # Idle time is skipped between the frames.
    "tigon2 with gaps": {"traffic": "udp:payload=numbered,size=700,count=6,rate=600k", "limit": "100 ms"},
    "tigon2 with faults": {
        "traffic": "udp:payload=numbered,size=200,count=200,rate=300M",
        "faults": "loss=0.1,duplicate=0.1,reorder=0.1:4",
    },
}


@pytest.mark.parametrize("load", LOADS)
def test_steps_of_frames_on_wired_cards_add_up_to_their_time(load: str, tmp_path: Path) -> None:
    nic, keywords = load.split()[0], LOADS[load]
    if nic.endswith(".toml"):  # a card of the guide
        guide = Path("docs/guides/build-a-nic.md").read_text()
        cards = dict(reversed(card) for card in re.findall(r"```toml\n(# (\S+\.toml)\n.*?)```", guide, flags=re.DOTALL))
        (tmp_path / nic).write_text(cards[nic])
        nic = str(tmp_path / nic)
    result = spinet.run(nic=nic, paths=True, **keywords)
    without = spinet.run(nic=nic, **keywords)
    assert result.frames.equals(without.frames)
    assert (result.summary["digest"], result.summary["counters"]) == (
        without.summary["digest"],
        without.summary["counters"],
    )
    came_out = 0
    steps: dict[int, list[dict[str, Any]]] = {}
    for step in result.paths.table.to_pylist():
        steps.setdefault(step["packet"], []).append(step)
    for row in result.frames.to_pylist():
        if row["given_ps"] is None:
            continue
        assert row["packet"] in steps, row
        at = row["given_ps"]
        for step in steps[row["packet"]]:
            assert step["from_ps"] == at
            assert step["takes_ps"] > 0
            at += step["takes_ps"]
        if row["out_ps"] is not None:
            came_out += 1
            assert at == row["out_ps"]
            assert at - row["given_ps"] == row["latency_ps"]
            last = [step["place"] for step in steps[row["packet"]]][-1]
            assert last == ("network" if row["way"] == "sent" else "driver")
            assert "unrecorded" not in {step["cause"] for step in steps[row["packet"]]}
    assert came_out > 5, result.summary["ended"]


def test_a_frame_of_a_wired_card_passes_each_of_its_assists_and_names_what_is_full() -> None:
    traffic = "udp:payload=numbered,size=1514,count=120,rate=400M"
    result = spinet.run(nic="tigon2", traffic=traffic, send=traffic.replace("rate=400M", "rate=300M"), paths=True)
    rows = {(row["way"], row["frame"]): row for row in result.frames.to_pylist()}
    received = result.paths.path(rows["received", 60]["packet"])
    assert list(dict.fromkeys(step.stage for step in received.steps)) == ["receive", "to_host", "return"]
    (line,) = [step for step in received.steps if step.cause == "line"]
    assert line.place == "mac_receive.wire"
    assert 0 <= line.takes_ps - 8 * 1518 * 1000 < 10_000  # 1 Gbit/s, with check sequence, to the next edge of 100 MHz
    (write,) = [step for step in received.steps if step.cause == "host_write" and step.stage == "to_host"]
    assert write.resource is not None
    assert (write.place, write.resource.name) == ("dma_write.host", "pci.busy_cycles")
    sent = result.paths.path(rows["sent", 60]["packet"])
    assert list(dict.fromkeys(step.stage for step in sent.steps)) == ["announce", "from_host", "send"]
    reads = {step.resource.name for step in sent.steps if step.cause == "memory_read" and step.resource is not None}
    assert reads == {"sram.busy_cycles"}
    for path in map(result.paths.path, (row["packet"] for row in rows.values())):
        for step in path.steps:
            if step.cause == "firmware_busy":
                assert step.blocker is not None
                assert step.blocker != path.packet


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    said = capfd.readouterr()
    return code, said.out, said.err


def test_the_folder_of_a_network_is_refused_with_those_of_its_nodes(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for node in ("n10", "n2"):
        (tmp_path / "nodes" / node).mkdir(parents=True)
    for command in ("explain", "profile"):
        assert cli.main([command, str(tmp_path)]) == 2
        said = capfd.readouterr().err
        assert f"{tmp_path} has the results of a network, must be those of a card: {tmp_path}/nodes/NAME" in said
        assert f"spinet {command} {tmp_path}/nodes/n2; nodes with results: n2, n10" in said


def test_the_command_shows_a_packet_and_all_packets(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capfd, "explain", folder, 1)
    assert code == 0
    assert out.startswith("Packet 1: 64 bytes, consumed, frame 1 of its source; ")
    assert "header_handler (packet 0)" in out
    code, out, _ = run(capfd, "explain", folder, 1, "--json")
    found = json.loads(out)
    assert (code, found["packet"]) == (0, 1)
    assert found["takes_ps"] == sum(step["takes_ps"] for step in found["steps"])
    code, out, _ = run(capfd, "explain", folder, "--top", 2)
    assert code == 0
    assert out.startswith("60 packets, ")
    code, out, _ = run(capfd, "explain", folder, "--json")
    slowest = json.loads(out)["slowest"]
    assert [one["takes_ps"] for one in slowest] == sorted((one["takes_ps"] for one in slowest), reverse=True)


def test_what_is_not_there_is_an_error_that_says_what_is(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(capfd, "explain", folder, 60)[::2] == (
        2,
        "error: packet 60: the card had no such packet (allowed: 0 to 59)\n",
    )
    code, _, err = run(capfd, "explain", tmp_path)
    assert (code, err.splitlines()[1]) == (2, "hint: spinet run --paths -o DIR writes it")
    for name in ("summary.json", "packets.parquet", "paths.parquet"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "paths.parquet").write_bytes(b"PAR1 is damaged")
    with pytest.raises(InputError, match=r"paths\.parquet: this file of a run is damaged"):
        Paths.load(tmp_path)
    (tmp_path / "paths.parquet").write_bytes((folder / "packets.parquet").read_bytes())
    with pytest.raises(InputError, match="damaged \\(no column blocker\\)"):
        Paths.load(tmp_path)
    code, _, err = run(capfd, "run", REDUCE, "--traffic", "udp:count=1", "--paths")
    assert (code, "--paths goes with -o" in err) == (2, True)
