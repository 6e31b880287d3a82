# SPDX-License-Identifier: Apache-2.0
"""Equal inputs give equal results, independent of observation, slices and output; another seed gives other results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet import _programs, api, cli

RANDOM = "udp:size=imix,count=400,flows=20,payload=random,arrivals=poisson,rate=100G"
CASES = [
    ("ping_pong", "captures/memcached.pcap", "each", "times"),
    ("copy_to_host", "captures/http.pcap", "each", "asap"),
    ("count", "captures/iperf3-tcp.pcap", "by 5-tuple last", "line:400G"),
    ("ping_pong", RANDOM, "each", "times"),
    ("count", RANDOM, "by 5-tuple count 7", "times"),
]


def without_host_time(summary: Any) -> dict[str, Any]:
    """A summary without the costs of the simulating machine."""
    return {name: value for name, value in summary.items() if name != "wall"}


def run(handler: str, traffic: str, message: str, pacing: str, **more: Any) -> spinet.Result:
    return spinet.run(program=f"sdk/examples/{handler}.c", traffic=traffic, message=message, pacing=pacing, **more)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1][:16]}")
def test_the_same_run_twice_is_the_same_to_the_last_bit(case: tuple[str, str, str, str]) -> None:
    first, second = run(*case), run(*case)
    assert first.digest == second.digest
    assert first.sent == second.sent
    assert first.packets.equals(second.packets)
    assert without_host_time(first.summary) == without_host_time(second.summary)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1][:16]}")
def test_watching_changes_nothing(
    case: tuple[str, str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    handler, traffic, message, pacing = case
    # The library keeps the table and the sent packets. The command keeps neither, but writes both with -o.
    summaries = [without_host_time(run(*case).summary)]
    command = ["run", f"sdk/examples/{handler}.c", "--traffic", traffic, "--message", message, "--pace", pacing]
    for more in ([], ["-o", str(tmp_path / "out")]):
        assert cli.main([*command, "--json", *more]) == 0
        summaries.append(without_host_time(json.loads(capsys.readouterr().out)))
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["digest"] == summaries[0]["digest"]
    assert summaries[0]["digest"] == summaries[1]["digest"] == summaries[2]["digest"]
    assert summaries[0] == summaries[1] == summaries[2]


def test_slices_of_any_length_give_the_same_run() -> None:
    digests = set()
    for slice_ms in (1, 1000):
        given = {"program": ["sdk/examples/ping_pong.c"], "traffic": [RANDOM]}
        ready = _programs.built(api.prepare(None, given), given, cc=None, defines=None)
        native = api.start(ready, tables=slice_ms == 1)
        while not native.advance(slice_ms)["done"]:
            native.take_tables()
        digests.add(json.loads(native.summary())["digest"])
    assert len(digests) == 1


def test_another_seed_is_other_traffic() -> None:
    digests = {run("ping_pong", RANDOM, "each", "times", seed=seed).digest for seed in (1, 2, 3)}
    assert len(digests) == 3


def test_a_seed_changes_nothing_where_nothing_is_random() -> None:
    case = CASES[0]
    assert len({run(*case, seed=seed).digest for seed in (1, 2)}) == 1


def test_the_written_experiment_gives_the_same_run(tmp_path: Path) -> None:
    first = run("count", RANDOM, "by 5-tuple count 7", "times", seed=9, count=250)
    first.save(tmp_path / "out")
    again = spinet.run(experiment=tmp_path / "out" / "experiment.json")
    assert again.digest == first.digest
