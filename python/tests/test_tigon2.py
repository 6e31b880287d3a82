# SPDX-License-Identifier: Apache-2.0
"""The Tigon-2's own firmware on the simulated card: every build moves every frame, in order and unchanged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from spinet import InputError, Result, cli, run

BUILDS = {"one": {}, "timer": {"TIMER_ON_B": ""}, "split": {"SPLIT": ""}}


def shown(result: Result) -> str:
    """Result of a run, in one line."""
    ways = (f"{way} {result.summary[way]['good']}/{result.summary[way]['offered']}" for way in ("sent", "received"))
    return f"{result.ended}: {', '.join(ways)}{''.join(f'; {fault}' for fault in result.summary['faults'])}"


@pytest.mark.parametrize("build", BUILDS)
def test_each_build_moves_frames_both_ways(build: str) -> None:
    # 103 bytes make frames whose pieces end on odd addresses.
    for size, count in ((60, 30), (103, 30), (1514, 60)):
        spec = f"udp:size={size},payload=numbered,count={count}"
        result = run(nic="tigon2", firmware="tigon2", defines=BUILDS[build], send=spec, traffic=spec, limit="60 ms")
        assert shown(result) == f"complete: sent {count}/{count}, received {count}/{count}"


def test_the_cached_card_moves_every_frame_because_its_cache_snoops(tmp_path: Path) -> None:
    """Without the tap, firmware reads old descriptors from the cache."""
    not_snooped = tmp_path / "not-snooped.toml"
    not_snooped.write_text(
        'name = "not-snooped"\nbase = "tigon2-cached"\nremove = ["tap"]\n'
        'connections = ["assists.memory -> sram.requesters[0]"]\n'
    )
    spec = "udp:size=742,payload=numbered,count=400"
    cached, stale = (
        run(nic=nic, firmware="tigon2", send=spec, traffic=spec, set=["host.clear_end=0"], limit="60 ms")
        for nic in ("tigon2-cached", str(not_snooped))
    )
    assert shown(cached) == "complete: sent 400/400, received 400/400"
    assert cached.counter("cache.read_hits") > cached.counter("cache.read_misses") > 0
    assert cached.counter("cache.lines_invalidated") > 0
    assert (stale.ended, stale.counter("cache.lines_invalidated")) == ("stalled", 0)


@pytest.mark.parametrize("build", BUILDS)
def test_each_build_runs_on_the_cached_card(build: str) -> None:
    spec = "udp:size=list:103:1514,payload=numbered,count=40"
    result = run(nic="tigon2-cached", defines=BUILDS[build], send=spec, traffic=spec, limit="60 ms")
    assert shown(result) == "complete: sent 40/40, received 40/40"


def test_gccs_code_does_the_same() -> None:
    if shutil.which("mips-linux-gnu-gcc") is None:
        pytest.skip("mips-linux-gnu-gcc is not installed")
    spec = "udp:size=742,payload=numbered,count=30"
    result = run(nic="tigon2", firmware="tigon2", cc="mips-linux-gnu-gcc", send=spec, traffic=spec, limit="60 ms")
    assert shown(result) == "complete: sent 30/30, received 30/30"


def test_buffers_go_round() -> None:
    """On the smallest board, more bytes than the transmit and receive buffers hold."""
    spec = "udp:size=1442,payload=numbered,count=400"
    board = ["sram.bytes=0x80000", "host.clear_end=0x80000"]
    result = run(nic="tigon2", firmware="tigon2", send=spec, traffic=spec + ",rate=20000pps", set=board, limit="60 ms")
    assert shown(result) == "complete: sent 400/400, received 400/400"


def test_each_receive_ring_has_its_frames() -> None:
    """Mini, standard and jumbo; and a send ring in the card's memory."""
    spec = "udp:size=list:8042:60:1514,payload=numbered,count=60"
    card = ["host.receive.mini_buffers=64", "host.receive.jumbo_buffers=32", "host.mtu=9018", "host.send.ring=card"]
    result = run(nic="tigon2", send=spec, traffic=spec, set=card, limit="60 ms")
    assert shown(result) == "complete: sent 60/60, received 60/60"


def test_small_frames_at_full_rate_keep_sending_alive() -> None:
    """If more frames arrive than one CPU can receive, it still sends."""
    result = run(
        nic="tigon2",
        send="udp:size=60,payload=numbered,count=400",
        traffic="udp:size=60,payload=numbered,count=20000",
        limit="45 ms",
    )
    assert (result.summary["sent"]["good"], result.is_intact) == (400, True)


def test_the_folder_has_every_frame(tmp_path: Path) -> None:
    spec, folder = "udp:size=list:60:1514,payload=numbered,count=6", tmp_path / "out"
    result = run(nic="tigon2", send=spec, traffic=spec, limit="60 ms", folder=folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "experiment.json",
        "frames.parquet",
        "received.pcapng",
        "sent.pcapng",
        "summary.json",
    ]
    assert json.loads((folder / "summary.json").read_text()) == result.summary
    rows = pq.read_table(folder / "frames.parquet").to_pylist()
    assert [(row["way"], row["frame"], row["bytes"]) for row in rows] == [
        (way, frame, (60, 1514)[frame % 2]) for way in ("sent", "received") for frame in range(6)
    ]
    assert all(row["latency_ps"] == row["out_ps"] - row["given_ps"] > 0 for row in rows)
    assert result.summary["sent"]["latency_ns"]["max"] == pytest.approx(
        max(row["latency_ps"] for row in rows[:6]) / 1000
    )
    with pytest.raises(InputError, match="out exists"):
        run(nic="tigon2", send=spec, folder=folder)


def test_a_run_that_cannot_be_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must be 60 to 1514"):
        run(nic="tigon2", send="udp:size=9042,payload=numbered", folder=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_report_fits_a_terminal(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    spec = "udp:size=1514,payload=numbered,count=40"
    command = ["run", "--nic", "tigon2", "-D", "SPLIT", "--traffic", spec, "--send", spec]
    assert cli.main(command) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[0].startswith("tigon2: all frames are through; ")
    assert max(map(len, lines[1:])) <= 80
    words = [line.split() for line in lines]
    assert ["given", "to", "the", "card", "40", "40"] in words
    assert ["as", "given", "and", "in", "order", "40", "40"] in words
    assert ["Core", "cpu_a.core", "cpu_b.core"] in words
    assert any(line[:1] == ["send_data"] for line in words)


def test_a_limit_before_the_end_is_reported(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "--nic", "tigon2", "--traffic", "udp:payload=numbered", "--limit", "1 ms"]) == 2
    error = capfd.readouterr().err
    assert error.startswith(
        "error: the run did not finish: the limit in simulated time is reached, before the card had started\n"
    )
    assert error.endswith("hint: give it more simulated time with --limit\n")


def test_an_experiment_file_says_what_options_say(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tigon2.toml"
    file.write_text(
        "firmware = 'tigon2'\nnic = { set = { 'host.clear_end' = 0x8000 } }\nseed = 3\n"
        "traffic = { source = 'udp:size=200,payload=numbered', count = 5 }\nsend = 'udp:payload=numbered,count=4'\n"
    )
    runs = {
        "file": [str(file)],
        "again": [str(tmp_path / "file" / "experiment.json")],
        "limited": [str(file), "--limit", "1 us"],
    }
    found = {}
    for name, command in runs.items():
        code = cli.main(["run", *command, "--json", "-o", str(tmp_path / name)])
        found[name] = json.loads(capfd.readouterr().out)
        assert code == (2 if name == "limited" else 0)
    assert (found["file"]["received"]["good"], found["file"]["sent"]["good"], found["file"]["seed"]) == (5, 4, 3)
    assert found["again"]["digest"] == found["file"]["digest"]
    assert found["limited"]["ended"]["reason"] == "limit"
    file.write_text("nic = 'tigon2'\nsed = 3\nfirmware = { program = 'x.c', lod = 4 }\nchain = ['a: b']\n")
    assert cli.main(["run", str(file)]) == 2
    shown = capfd.readouterr().err
    assert "`sed`" in shown and "did you mean `load`?" in shown and "`chain` is for a card that runs" in shown


def test_traces_of_its_cores_have_every_instruction_and_compare_equal(tmp_path: Path) -> None:
    command = ["run", "--nic", "tigon2", "--traffic", "udp:size=60,payload=numbered,count=2", "--limit", "60 ms"]
    command += ["--set", "host.clear_end=0x8000", "--trace-instructions", "--json"]
    for name, cores in (("all", "0:*"), ("first", "0:0")):
        assert cli.main([*command, "--trace-cores", cores, "-o", str(tmp_path / name)]) == 0
    traces = tmp_path / "all" / "instructions"
    summary = json.loads((tmp_path / "all" / "summary.json").read_text())
    lines = [len(file.read_text().splitlines()) - 1 for file in sorted(traces.iterdir())]
    assert lines == [core["instructions"] for core in summary["cores"]]
    first = "trace_core_00_0.log"
    assert [file.name for file in (tmp_path / "first" / "instructions").iterdir()] == [first]
    assert (tmp_path / "first" / "instructions" / first).read_bytes() == (traces / first).read_bytes()
    assert cli.main(["diff-trace", str(traces / first), str(tmp_path / "first" / "instructions" / first)]) == 0


def test_an_experiment_takes_the_network_down_and_reads_memory(tmp_path: Path) -> None:
    file = tmp_path / "cut.toml"
    file.write_text(
        """
        nic = { preset = "tigon2", set = ["host.clear_end=0x8000"] }
        firmware = "tigon2"
        traffic = "udp:size=60,payload=numbered,count=20,rate=100kpps"
        limit = "60 ms"

        [[at]]
        time = "1 us"
        network = "down"
        read = { memory = "sram", size = 4 }
        """
    )
    result = run(file)
    assert result.summary["received"]["fates"]["link_down"] == 20
    down, read = result.summary["timeline"]
    assert (down["what"], down["begun_ns"], read["data"]) == ("network down", 1000, "00000000")
    assert result.summary["packets"]["dropped_by_reason"]["link_down"] == 20


def test_options_replace_the_traffic_of_an_experiment_file(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(
        'nic = "tigon2"\nlimit = "60 ms"\nprofile = false\ntraffic = "udp:size=60,count=3"\n'
        'send = ["udp:size=60,count=4,rate=10kpps", "udp:size=60,count=2,rate=10kpps"]\n'
    )

    def offered(**more: Any) -> tuple[int, int]:
        summary = run(file, **more).summary
        return summary["received"]["offered"], summary["sent"]["offered"]

    assert offered() == (3, 6)
    assert offered(traffic="udp:size=60,count=5") == (5, 6)
    assert offered(send="udp:size=60,count=1") == (3, 1)
    assert offered(count=1) == (1, 2)
    with pytest.raises(InputError, match="count without packets"):
        run(nic="tigon2", count=3, limit="1 ms")
