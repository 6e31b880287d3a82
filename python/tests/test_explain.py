# SPDX-License-Identifier: Apache-2.0
"""Paths: each packet's time is split into steps without gaps, and what it waited for is named."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.compute as pc
import pytest
import spinet
from spinet import InputError, cli
from spinet._core import UsageError
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


def test_a_result_without_paths_says_how_to_get_them() -> None:
    result = spinet.run(program=REDUCE, traffic="udp:count=2")
    with pytest.raises(AttributeError, match="paths=True records them"):
        _ = result.paths
    with pytest.raises(UsageError, match="paths is for cards that"):
        spinet.run(nic="tigon2", send="udp:size=60,count=1", paths=True)


def run(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    said = capfd.readouterr()
    return code, said.out, said.err


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
