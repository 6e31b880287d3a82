# SPDX-License-Identifier: Apache-2.0
"""Runs from Python and from the command line: returned values, written files, and files that are not written."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import spinet
import spinet.cli
from spinet import _core, _driving, _pcapng, output
from spinet.cli import run_report

PING_PONG = "sdk/examples/ping_pong.c"
DNS = "captures/dns.pcap"


@pytest.fixture(scope="module")
def result() -> spinet.Result:
    """Real packets, sent back."""
    return spinet.run(program=PING_PONG, traffic=DNS, match="udp.dst_port == 53")


def test_every_query_is_sent_back_with_ports_turned_round(result: spinet.Result) -> None:
    assert result.complete
    assert len(result.sent) == result.summary["packets"]["matched"] == 9
    for packet in result.sent:
        ports_at = 54 if packet.data[12:14] == b"\x86\xdd" else 34
        assert packet.data[ports_at : ports_at + 2] == (53).to_bytes(2, "big")


FATES = ("sent", "to_host", "sent_and_to_host", "consumed", "trapped", "unfinished", "without_queue", "dropped")


def test_every_matched_packet_is_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    """A handler that sends, writes, does both or traps after any of that, by the length of the packet: 64 to 71."""
    traffic = "udp:size=list:64:65:66:67:68:69:70:71,count=80,rate=10G"
    fates = spinet.run(program="python/tests/handlers/fates.c", traffic=traffic)
    summary = fates.summary
    counts = {fate: summary["packets"][fate] for fate in FATES}
    assert counts == dict.fromkeys(FATES, 0) | {
        "consumed": 10,
        "sent": 10,
        "to_host": 10,
        "sent_and_to_host": 10,
        "trapped": 40,
    }
    run_report.print_summary(summary, title="fates.c")
    shown = capsys.readouterr().out
    rows = shown.partition("Fate of matched packets")[2].split("\n\n")[0].splitlines()[1:]
    assert sum(int(row.split()[-1]) for row in rows) == summary["packets"]["matched"] == 80
    assert repr(fates).startswith("<Result complete: 80 packets in, 80 done, 40 trapped, digest ")
    # Errors come first, with the line of the earliest.
    first = shown.split("\n\n")[1].replace("\n  ", " ")
    assert first.lower() == f"! {fates.remarks[0]}".lower()
    assert first.startswith("! Handlers trapped on 40 of 80 matched packets; first in fates_ph+0x"), first
    assert re.search(r" at fates\.c:17 \(pc 0x[0-9a-f]{8}\): .* packet 4, core \d of cluster \d$", first), first


def test_packets_that_find_no_queue_are_counted_once(capsys: pytest.CaptureFixture[str]) -> None:
    traffic = "udp:flows=600,count=1200,rate=100G"
    result = spinet.run(program=PING_PONG, traffic=traffic, message="by flow last")
    packets = result.summary["packets"]
    assert sum(packets[fate] for fate in FATES) == packets["matched"] == 1200
    assert packets["without_queue"] == packets["ordinary"] > 0
    why = "none of the 256 message queues was free for their messages"
    part = f"{packets['without_queue']} of 1,200 matched packets"
    assert result.remarks == (f"{part} went to the host the ordinary way: {why}",)
    assert spinet.cli.main(["run", PING_PONG, "--traffic", traffic, "--message", "by flow last"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"^not matched, to the host the ordinary way +0 +0$", shown, re.MULTILINE)
    assert re.search(rf"^no queue free, .* {packets['without_queue']}$", shown, re.MULTILINE)


def test_packets_leave_in_order_of_time(result: spinet.Result) -> None:
    times = [packet.time_ns for packet in result.sent]
    assert times == sorted(times)
    assert times[-1] <= result.summary["time"]["simulated_ns"]


def test_the_table_says_why_packets_were_dropped() -> None:
    set = ["cluster.packet_buffer_rings=1", "cluster.packet_buffer_bytes=1024"]
    result = spinet.run(program=PING_PONG, traffic="udp:size=list:64:1400,count=8", set=set)
    rows = {(row["bytes"], row["fate"], row["reason"]) for row in result.packets.to_pylist()}
    assert rows == {(64, "sent", ""), (1400, "dropped", "transfer_too_large")}


def test_the_table_has_a_row_for_every_packet(result: spinet.Result) -> None:
    names = [name for name, *_ in _core.table_columns()["handlers"]["packets"]]
    assert result.packets.column_names == names
    assert result.packets.num_rows == result.summary["packets"]["in"] == 18
    assert {column.shape for column in result.columns.values()} == {(18,)}


def test_what_never_happened_is_null_in_arrow_and_minus_one_in_numpy(result: spinet.Result) -> None:
    signed = [
        name
        for name, dtype, _meaning, names in _core.table_columns()["handlers"]["packets"]
        if dtype[1] == "i" and not names
    ]
    assert signed
    for name in signed:
        nulls = result.packets[name].is_null().to_numpy()
        assert np.array_equal(nulls, result.columns[name] < 0), name


def test_a_result_is_shown_in_one_short_line(result: spinet.Result) -> None:
    digest = result.digest[:16]
    assert repr(result) == f"<Result complete: 18 packets in, 9 done, digest {digest}>"


def test_equal_inputs_give_equal_digests_and_others_do_not(result: spinet.Result) -> None:
    again = spinet.run(program=PING_PONG, traffic=DNS, match="udp.dst_port == 53")
    other = spinet.run(program=PING_PONG, traffic=DNS, match="udp.src_port == 53")
    assert again.digest == result.digest
    assert other.digest != result.digest


def test_host_memory_has_what_a_handler_wrote(tmp_path: Path) -> None:
    base = 0x2000000000
    (tmp_path / "e.toml").write_text(
        f'program = "{Path.cwd() / "sdk/examples/count.c"}"\ntraffic = "udp:size=100,count=40"\n'
        f'[[context]]\nmessage = "all count 40"\nhost_memory = {{ addr = {base:#x}, size = 4096 }}\n'
    )
    result = spinet.run(experiment=tmp_path / "e.toml")
    assert int.from_bytes(result.host_memory(base, 8), "little") == 4000 << 32 | 40
    assert result.host_memory(base + 8, 4) == b"\0\0\0\0"


def test_saving_and_the_command_write_the_same(result: spinet.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "saved")
    command = ["run", PING_PONG, "--traffic", DNS, "--match", "udp.dst_port == 53", "-o", str(tmp_path / "written")]
    assert spinet.cli.main(command) == 0
    saved, written = tmp_path / "saved", tmp_path / "written"
    assert files(saved) == files(written)
    for name in (output.SENT, "host/index.json", output.EXPERIMENT):
        assert (saved / name).read_bytes() == (written / name).read_bytes(), name
    assert pq.read_table(saved / output.PACKETS).equals(pq.read_table(written / output.PACKETS))
    assert pq.read_table(saved / output.PACKETS).equals(result.packets)
    summaries = [json.loads((folder / output.SUMMARY).read_text()) for folder in (saved, written)]
    assert [summary.pop("wall") is not None for summary in summaries] == [True, True]
    assert summaries[0] == summaries[1]


def test_a_written_experiment_runs_again(result: spinet.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "first")
    again = spinet.run(experiment=tmp_path / "first" / output.EXPERIMENT)
    assert again.digest == result.digest


def test_an_experiment_file_says_the_same_as_keywords(result: spinet.Result, tmp_path: Path) -> None:
    root = Path.cwd()
    (tmp_path / "e.toml").write_text(
        f'program = "{root / PING_PONG}"\ntraffic = "{root / DNS}"\n[[context]]\nmatch = "udp.dst_port == 53"\n'
    )
    assert spinet.run(experiment=tmp_path / "e.toml").digest == result.digest


def test_changes_reach_an_experiment_file(tmp_path: Path) -> None:
    file = tmp_path / "e.toml"
    file.write_text(f'program = "{Path.cwd() / PING_PONG}"\ntraffic = "udp:count=50"\n[[context]]\n')
    changed = spinet.run(experiment=file, set=["n_clusters=1", "cluster.n_cores=2"], count=7, seed=3)
    assert changed.summary["hpus"]["count"] == 2
    assert (changed.summary["packets"]["in"], changed.summary["seed"]) == (7, 3)


def test_what_a_handler_prints_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "chatty.c"
    source.write_text(
        "#include <handler.h>\n#include <stdio.h>\n"
        '__handler__ void chatty_ph(handler_args_t *args) { printf("%d bytes\\n", (int)args->task->pkt_mem_size); }\n'
    )
    console = spinet.run(program=source, traffic="udp:size=80,count=2").console
    assert [text for *_where, text in console] == ["80 bytes", "80 bytes"]


def test_force_replaces_only_what_a_run_wrote(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["run", PING_PONG, "--traffic", "udp:count=2", "-o", str(tmp_path / "out")]
    assert spinet.cli.main(command) == 0
    before = hashes(tmp_path / "out")
    assert spinet.cli.main(command) == 2
    assert hashes(tmp_path / "out") == before
    assert spinet.cli.main([*command, "--force", "--seed", "9"]) == 0
    assert json.loads((tmp_path / "out" / output.SUMMARY).read_text())["seed"] == 9
    assert files(tmp_path) == {"out", *(f"out/{name}" for name in files(tmp_path / "out"))}


def test_what_was_there_stays_if_it_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / output.SUMMARY).write_text("the first")
    rename = Path.rename

    def no_room(path: Path, target: Path) -> Path:
        if path.suffix == ".part":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", no_room)
    with (
        pytest.raises(output.OutputError, match="No space left on device"),
        output.OutputFolder(tmp_path / "out", force=True) as folder,
    ):
        (folder.path / output.SUMMARY).write_text("the second")
        folder.commit()
    assert files(tmp_path) == {"out", f"out/{output.SUMMARY}"}
    assert (tmp_path / "out" / output.SUMMARY).read_text() == "the first"


def test_ctrl_c_says_where_busy_cores_are(tmp_path: Path) -> None:
    (tmp_path / "loop.c").write_text(
        '#include <handler.h>\n__handler__ void loop_ph(handler_args_t *args) { for (;;) __asm__ volatile(""); }\n'
    )
    (tmp_path / "loop.toml").write_text(
        'program = "loop.c"\nnic = "pspin-rtl"\ntraffic = "udp:count=3"\nstall_limit = "10000 s"\n[[context]]\n'
    )
    running = subprocess.Popen(
        [sys.executable, "-c", STOP_WHEN_BUSY, "run", "loop.toml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_ctrl_c,
    )
    _out, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    first, *cores = err.strip().splitlines()
    assert first.startswith("the run was interrupted; 3 packets are unfinished; core 0 of cluster 0 is at loop_ph")
    assert [re.sub(r"\+0x\w+", "", core) for core in cores] == [
        f"  cluster {cluster} core 0: loop_ph, runs" for cluster in range(3)
    ]


def test_json_on_stdout_is_json_alone(capfd: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["run", PING_PONG, "--traffic", "udp:count=3", "--json"]) == 0
    captured = capfd.readouterr()
    assert json.loads(captured.out)["packets"]["in"] == 3
    assert captured.err == ""


# An interrupt between two slices of a run, whatever the speed of the machine.
STOP_SOON = """
import os, signal, sys
from spinet import _driving, cli

to_the_end = _driving.to_the_end

def stop_soon(run, *, on_slice=None, on_progress=None):
    slices = []
    def look(progress):
        slices.append(progress)
        if len(slices) >= 3 and progress.get("frames", progress.get("packets_done")):
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    return to_the_end(run, on_slice=on_slice, on_progress=look)

_driving.to_the_end = stop_soon
sys.exit(cli.main(sys.argv[2:]))
"""
LONG_RUNS = {
    "handlers": ["run", PING_PONG, "--traffic", "udp:size=64,count=100000000", "--pace", "asap"],
    "chains": ["run", "--chain", "all: aes", "--traffic", "udp:size=64,count=100000000,rate=10G"],
    "card": ["run", "--nic", "tigon2", "--traffic", "udp:payload=numbered", "--limit", "1000 s"],
}


@pytest.mark.parametrize("kind", LONG_RUNS)
@pytest.mark.parametrize("request_to_end", ["SIGINT", "SIGTERM"])
def test_an_interrupted_run_keeps_what_it_simulated(kind: str, request_to_end: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    command = [sys.executable, "-c", STOP_SOON, request_to_end, *LONG_RUNS[kind], "-o", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=hear_ctrl_c, timeout=120)
    assert done.returncode == 130, done.stderr
    assert "the run was interrupted" in done.stderr
    assert "interrupted" in done.stdout and f"Results are in {folder}" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["ended"]["reason"] == "interrupted"
    if kind == "card":
        assert pq.read_table(folder / output.FRAMES).num_rows >= summary["received"]["frames"] > 0
        return
    packets = summary["packets"]
    finished = packets["done"] if kind == "handlers" else packets["out"] + packets["dropped"]
    # Packets that were inside have rows too.
    assert pq.read_table(folder / output.PACKETS).num_rows == packets["in"] >= finished > 0
    left = output.SENT if kind == "handlers" else output.TO_HOST
    assert len(list(_pcapng.packets((folder / left).read_bytes()))) > 0


def test_python_hears_ctrl_c_with_the_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_arguments: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(_driving.Interrupted) as stopped:
        spinet.run(chains="all: aes", traffic="udp:size=64,count=100000000,rate=10G", on_progress=stop)
    assert stopped.value.summary["ended"]["reason"] == "interrupted"
    with pytest.raises(_driving.Interrupted) as stopped:
        spinet.run(nic="tigon2", traffic="udp:payload=numbered", on_progress=stop)
    assert stopped.value.summary["ended"]["reason"] == "interrupted"


def test_remarks_fail_a_strict_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.c"
    bad.write_text(
        "#include <handler.h>\n__handler__ void bad_ph(handler_args_t *args) { *(volatile int *)0x44 = 1; }\n"
    )
    command = ["run", str(bad), "--traffic", "udp:count=2"]
    assert spinet.cli.main(command) == 0
    capfd.readouterr()
    assert spinet.cli.main([*command, "--strict"]) == 1
    assert "error: --strict: handlers trapped on all 2 matched packets" in capfd.readouterr().err
    assert spinet.cli.main(["run", PING_PONG, "--traffic", "udp:count=2", "--strict"]) == 0
    chain = ["run", "--chain", "all: aes", "--tenant", "al: weight=2", "--traffic", "udp:count=2", "--strict"]
    assert spinet.cli.main(chain) == 1
    card = ["run", "--nic", "tigon2", "--traffic", "udp:payload=numbered,count=4", "--limit", "60 ms", "--strict"]
    assert spinet.cli.main(card) == 0


# The interrupt comes when three handlers have begun, whatever the speed of the machine.
STOP_WHEN_BUSY = """
import os, signal, sys
from spinet import _simulation, cli

drive = _simulation.drive

def drive_and_stop(native, on_progress, **more):
    def look(progress):
        if progress["packets_in"] == 3 and progress["cycles"] > 100_000:
            os.kill(os.getpid(), signal.SIGINT)
    return drive(native, on_progress=look, **more)

_simulation.drive = drive_and_stop
sys.exit(cli.main(sys.argv[1:]))
"""


def hear_ctrl_c() -> None:
    """Restore the default reaction to SIGINT. If CI starts the tests in the background, their children ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_out_pcapng_is_what_the_result_holds(result: spinet.Result, tmp_path: Path) -> None:
    result.save(tmp_path / "saved")
    read = list(_pcapng.packets((tmp_path / "saved" / output.SENT).read_bytes()))
    assert read == [(packet.time_ns, packet.data) for packet in result.sent]


def files(folder: Path) -> set[str]:
    """Paths of everything in a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def hashes(folder: Path) -> dict[str, str]:
    """Contents of each file of a folder."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()
    }
