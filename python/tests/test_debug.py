# SPDX-License-Identifier: Apache-2.0
"""`spinet debug` with the real gdb: lines, variables, threads and memory; and the run's results stay the same."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet import cli
from spinet.cli import debug_command

ROOT = Path(__file__).resolve().parent.parent.parent
HANDLER = "sdk/examples/ping_pong.c"
TRAFFIC = "udp:size=128,count=40,rate=100G"


def gdb(arguments: Sequence[str], commands: Sequence[str], *, folder: Path) -> tuple[str, dict[str, Any]]:
    """Run gdb with these commands on a run; what gdb prints, and the summary of the run."""
    assert shutil.which(debug_command.GDB), "these tests need gdb-multiarch: apt install gdb-multiarch"
    symbols = folder / "debug.elf"
    server = subprocess.Popen(
        [sys.executable, "-m", "spinet.cli", "debug", *arguments, "--port", "0", "--symbols", str(symbols), "--json"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None and server.stderr is not None
    try:
        for line in server.stderr:
            if line.startswith("waiting for gdb: "):
                break
        else:
            pytest.fail(f"no server: {server.stdout.read()}")
        port = re.search(r"localhost:(\d+)", line)
        assert port is not None
        script = ["set pagination off", "set width 0", f"target remote localhost:{port[1]}", *commands]
        words = [word for command in script for word in ("-ex", command)]
        command = [debug_command.GDB, "-q", "-nx", "-batch", str(symbols), *words]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        summary = json.loads(server.communicate(timeout=300)[0])
    finally:
        server.kill()
        server.wait()
    return done.stdout + done.stderr, summary


def test_gdb_sees_lines_variables_threads_and_packets(tmp_path: Path) -> None:
    said, summary = gdb(
        [HANDLER, "--traffic", TRAFFIC],
        [
            "break ping_pong_ph",
            "continue",
            "backtrace",
            "print args->task->pkt_mem_size",
            "next",
            "info threads",
            "delete",
            "monitor break packet 30",
            "continue",
            "monitor reason",
            "monitor delete",
            "continue",
        ],
        folder=tmp_path,
    )
    assert re.search(r"Thread \d+ hit Breakpoint 1, ping_pong_ph", said), said
    assert re.search(r"#0 +ping_pong_ph \(args=.*ping_pong.c:\d+", said), said
    assert "$1 = 128" in said
    assert re.search(r"Thread [\d.]+ \(HPU \d\.\d: packet \d+ .*payload", said), said
    assert re.search(r"a handler begins: HPU \d\.\d: packet 30 \(0 of message 30\), payload", said), said
    assert "exited normally" in said
    without = spinet.run(program=HANDLER, traffic=TRAFFIC)
    assert summary["digest"] == without.digest
    assert summary["time"]["cycles"] == without.summary["time"]["cycles"]
    assert summary["counters"] == without.summary["counters"]


def test_gdb_watches_memory(tmp_path: Path) -> None:
    (tmp_path / "tally.c").write_text(
        "#include <handler.h>\n"
        "__handler__ void tally_ph(handler_args_t *args)\n{\n"
        "    volatile uint32_t *count = (volatile uint32_t *)args->task->handler_mem;\n"
        "    amo_add((int32_t *)count, 3);\n}\n"
    )
    said, _ = gdb(
        [str(tmp_path / "tally.c"), "--traffic", "udp:size=64,count=4,rate=1G"],
        [
            "break tally_ph",
            "continue",
            "delete",
            "watch -l *(int *)args->task->handler_mem",
            *["continue"] * 2,
            "detach",
        ],
        folder=tmp_path,
    )
    assert re.findall(r"Old value = (\d+)\nNew value = (\d+)", said)[:2] == [("0", "3"), ("3", "6")], said


def test_gdb_watches_what_the_nic_writes(tmp_path: Path) -> None:
    said, summary = gdb(
        [HANDLER, "--traffic", "udp:size=64,count=2,rate=1G"],
        ["watch *(int *)0x1c400000", "continue", "delete", "continue"],  # the beginning of L2 packet memory
        folder=tmp_path,
    )
    (old, new) = re.findall(r"Old value = (-?\d+)\nNew value = (-?\d+)", said)[0]
    assert old == "0" != new, said
    without = spinet.run(program=HANDLER, traffic="udp:size=64,count=2,rate=1G")
    assert summary["digest"] == without.digest


def test_gdb_stops_at_a_fault(tmp_path: Path) -> None:
    (tmp_path / "stray.c").write_text(
        "#include <handler.h>\n"
        "__handler__ void stray_ph(handler_args_t *args)\n{\n"
        "    *(volatile int *)0x1c7ffff0 = args->task->pkt_mem_size;\n}\n"
    )
    said, _ = gdb(
        [str(tmp_path / "stray.c"), "--traffic", "udp:size=64,count=2"],
        ["monitor break fault", "continue", "monitor reason", "print $pc", "detach"],
        folder=tmp_path,
    )
    assert "received signal SIGSEGV" in said
    assert "store access fault (0x1c7ffff0): HPU" in said
    assert "stray.c:4" in said


PANIC = [
    *["--nic", "panic", "--chain", "all: core", "--service", "core: riscv, program=sdk/examples/panic/swap.c, units=2"],
    *["--traffic", "udp:size=128,count=6,rate=10G"],
]


def test_gdb_debugs_the_cores_of_panic(tmp_path: Path) -> None:
    said, summary = gdb(
        PANIC,
        [
            "info threads",
            "break swap.c:24",
            "continue",
            "print packet.size",
            "x/6xb packet.data",
            "delete",
            "monitor break packet 3",
            "continue",
            "monitor reason",
            "detach",
        ],
        folder=tmp_path,
    )
    assert re.search(r"1 +Thread 1.1 \(core\[0\]; .*\n +2 +Thread 1.2 \(core\[1\]; ", said), said
    assert re.search(r"hit Breakpoint 1, panic_main \(\) at .*swap.c:24", said), said
    assert "$1 = 128" in said
    assert re.search(r"0x80006000:(\t0x0[02]){5}\t0x01", said), "the packet in the unit, with its addresses swapped"
    assert re.search(r"a handler begins: core\[\d\]: packet 3, program", said), said
    without = spinet.run(nic="panic", chains=PANIC[3], services=PANIC[5], traffic=PANIC[7], keep_packets=False)
    assert summary["digest"] == without.digest
    assert summary["counters"] == without.summary["counters"]


def test_gdb_continues_after_a_watchpoint_while_other_units_stop(tmp_path: Path) -> None:
    """While gdb steps one unit over a breakpoint or watchpoint, the server must not report stops of the other unit."""
    arguments = [*PANIC[:-1], "udp:size=128,count=8,rate=100G"]
    said, summary = gdb(
        arguments,
        [
            "break swap.c:24",
            *["continue"] * 4,
            "watch *(int *)0x80006000",  # the packet in each unit
            *["continue"] * 8,
            "delete",
            "continue",
        ],
        folder=tmp_path,
    )
    assert "internal-error" not in said and "finish_step_over" not in said, said
    assert {"1", "2"} <= set(re.findall(r"Thread 1?\.?(\d) hit Breakpoint 1", said)), said
    assert "Hardware watchpoint 2" in said and "exited normally" in said, said
    without = spinet.run(nic="panic", chains=PANIC[3], services=PANIC[5], traffic=arguments[-1], keep_packets=False)
    assert summary["digest"] == without.digest


TIGON2 = ["--nic", "tigon2", "--traffic", "udp:payload=numbered,count=3", "--limit", "60 ms"]


def test_gdb_debugs_the_firmware_of_a_mips_card(tmp_path: Path) -> None:
    said, summary = gdb(
        TIGON2,
        [
            "break lay_out",
            "continue",
            "backtrace",
            "info registers",
            "next",
            "info threads",
            "x/2i $pc",
            "set var *(int *)0x90000 = 77",
            "x/4xb 0x90000",
            "detach",
        ],
        folder=tmp_path,
    )
    assert re.search(r"Thread 1 hit Breakpoint 1, lay_out \(\) at .*main.c:\d+", said), said
    assert re.search(r"#1 +(0x\w+ in )?start_up \(\) at .*main.c:\d+", said), said
    assert re.search(r"sp +s8 +ra\n R24 .* 00004010 ", said), "the address to return to, in big-endian registers"
    assert re.search(r"1 +Thread 1.1 \(cpu_a.core; runs\) .*\n +2 +Thread 1.2 \(cpu_b.core; halted\) ", said), said
    assert re.search(r"=> 0x\w+ <start_up\+\d+>:\t\w+", said), said
    assert re.search(r"0x90000.*:\t0x00\t0x00\t0x00\t0x4d", said), "memory of the card, where a buffer will be"
    without = spinet.run(nic="tigon2", traffic=TIGON2[3], limit=TIGON2[5], keep_packets=False)
    assert summary["digest"] == without.digest
    assert summary["counters"] == without.summary["counters"]


@pytest.mark.parametrize(
    "watched", ["*((int *)&standard_copy[0] + 1)", "common.receive_base"], ids=["by DMA", "by the core"]
)
def test_gdb_watches_memory_behind_the_crossbar_of_a_mips_card(watched: str, tmp_path: Path) -> None:
    said, _ = gdb(
        TIGON2, ["break lay_out", "continue", "delete", f"watch {watched}", "continue", "detach"], folder=tmp_path
    )
    assert re.search(r"Hardware watchpoint 2: .*\n\nOld value = .*\nNew value = ", said), said


def test_files_for_vs_code_start_the_same_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = ["debug", "ping_pong.c", "--traffic", "udp:count=4", "--vscode"]
    monkeypatch.setattr(sys, "argv", ["spinet", *arguments])
    assert cli.main(arguments) == 0
    tasks, launch = (json.loads((tmp_path / ".vscode" / name).read_text()) for name in ("tasks.json", "launch.json"))
    (task,), (configuration,) = tasks["tasks"], launch["configurations"]
    assert task["args"] == [*arguments[:-1], "--symbols", "debug.elf", "--port", "3333"]
    assert configuration["preLaunchTask"] == task["label"]
    assert configuration["program"] == "${workspaceFolder}/debug.elf"
    assert configuration["miDebuggerServerAddress"] == "localhost:3333"
    assert cli.main(arguments) == 2
    assert ".vscode/tasks.json exists already" in capfd.readouterr().err


def test_what_cannot_be_debugged_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert cli.main(["debug", HANDLER, "--traffic", "udp:count=1", "--port", str(port)]) == 2
    assert f"port {port} of this machine: " in capfd.readouterr().err
    chains = ["debug", "--chain", "all: work", "--service", "work: delay, cycles=4", "--traffic", "udp:count=1"]
    assert cli.main(chains) == 2
    assert "no core of this card runs a program" in capfd.readouterr().err
