# SPDX-License-Identifier: Apache-2.0
"""`make bench`: speed and memory on one core, or on two if a figure needs them; prints a table and writes
target/bench.json.

Speeds are per second of processor time, and the best of several runs, because other users disturb runs. Memory is
the peak of a whole `spinet run` process. Host instructions are counted by callgrind, as the difference of two runs of
different length, so that starting and building the system do not count.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networks
import policies
import saturated
from spinet import Handler, _programs, api, goal, packet_table

ROOT = Path(__file__).resolve().parent.parent
BUSY = ROOT / "benches" / "handlers" / "busy.c"
PING_PONG = ROOT / "sdk" / "examples" / "ping_pong.c"
EMPTY = ROOT / "sdk" / "examples" / "empty.c"
DRIVER = ROOT / "benches" / "drivers" / "ping_pong.c"

_BEST_OF = 3
_MIB = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One measured quantity, and its bound."""

    key: str
    what: str
    unit: str
    measure: Callable[[Path], float]
    least: float | None = None
    most: float | None = None
    cores: int = 1

    def bound(self) -> str:
        if self.least is not None:
            return f"at least {_show(self.least)}"
        return f"at most {_show(self.most)}" if self.most is not None else "-"

    def keeps(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True, kw_only=True)
class Timed:
    """A run and its processor time in seconds, which other users of the machine do not increase."""

    summary: dict[str, Any]
    seconds: float


def simulate(program: Path, traffic: str) -> Timed:
    """Build a card, start the clock, and run it to its end."""
    given = {"program": [program], "traffic": [traffic]}
    ready = _programs.built(api.prepare(None, given), given, cc=None, defines=None)
    native = api.start(ready)
    before = time.process_time()
    summary = api.drive(native)
    return Timed(summary=summary, seconds=time.process_time() - before)


def cycles_per_s(rate: str, count: int, busy: tuple[float, float]) -> float:
    """Simulated cycles in a second of host time, with that share of the HPUs busy."""
    runs = [simulate(BUSY, f"udp:size=64,count={count},rate={rate}") for _ in range(_BEST_OF)]
    share = runs[0].summary["hpus"]["busy_percent"]
    assert busy[0] <= share <= busy[1], f"{share:.1f} % of the HPUs are busy, meant are {busy[0]} to {busy[1]} %"
    return float(runs[0].summary["time"]["cycles"]) / min(run.seconds for run in runs)


def ping_pong_packets_per_s(size: int) -> float:
    """Packets of that size that arrive, are turned round and leave in a second of host time."""
    count = 100_000
    runs = [simulate(PING_PONG, f"udp:size={size},count={count}") for _ in range(_BEST_OF)]
    assert runs[0].summary["packets"]["sent"] == count
    return count / min(run.seconds for run in runs)


def card_cycles_per_s(nic: str, limits: tuple[str, str]) -> float:
    """Core cycles, of all cores, in a second of host time."""

    def run(limit: str) -> tuple[int, float]:
        def once() -> tuple[int, float]:
            before = time.process_time()
            cores = saturated.run(nic, limit)
            return sum(core["cycles"] for core in cores), time.process_time() - before

        cycles, seconds = zip(*(once() for _ in range(_BEST_OF)), strict=True)
        return cycles[0], min(seconds)

    (short, short_s), (long, long_s) = (run(limit) for limit in limits)
    return (long - short) / (long_s - short_s)


def card_host_instructions(scratch: Path, nic: str, limits: tuple[str, str]) -> float:
    """Host instructions for one that a core of the card executes; the work of Python is included."""
    saturated.run(nic, limits[0])  # builds the firmware
    command = [sys.executable, str(Path(saturated.__file__)), nic]
    return counted(scratch, [[*command, limit] for limit in limits])


def counted(scratch: Path, commands: list[list[str]]) -> float:
    """Host instructions for a simulated instruction, from the difference between the two commands; both print these
    counts."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SystemExit("error: valgrind is missing\nhint: apt install valgrind")

    def counts(command: list[str]) -> tuple[int, int]:
        under = [valgrind, "--tool=callgrind", f"--callgrind-out-file={scratch / 'callgrind.out'}"]
        done = subprocess.run([*under, *command], check=True, capture_output=True, text=True)
        host = re.search(r"Collected : (\d+)", done.stderr)
        simulated = re.match(r"(\d+) instructions", done.stdout)
        assert host is not None and simulated is not None, done.stderr
        return int(host[1]), int(simulated[1])

    (host_short, short), (host_long, long) = map(counts, commands)
    return (host_long - host_short) / (long - short)


def host_instructions(scratch: Path) -> float:
    """Host instructions for a simulated one, all HPUs busy."""
    elf = scratch / "busy.elf"
    subprocess.run(
        [sys.executable, "-m", "spinet.cli", "build", str(BUSY), "-o", str(elf)], check=True, stdout=subprocess.DEVNULL
    )
    build = ["cargo", "build", "-q", "--release", "--locked", "-p", "spinet", "--example", "run_elf"]
    subprocess.run(build, check=True, cwd=ROOT)
    program = ROOT / "target" / "release" / "examples" / "run_elf"
    return counted(scratch, [[str(program), str(elf), f"udp:size=64,count={packets}"] for packets in (256, 1024)])


def goal_messages_per_s() -> float:
    """Messages between 1,024 hosts with the plain card in a second of host time: of two schedules, the slower one."""

    def once(schedule: goal.Schedule) -> float:
        before = time.process_time()
        result = goal.run(schedule, record=False)
        return float(result.summary["messages"]) / (time.process_time() - before)

    made = (goal.make(pattern, ranks=1024, bytes=1024) for pattern in ("alltoall", "dissemination"))
    return min(max(once(schedule) for _ in range(_BEST_OF)) for schedule in made)


def panic_cycles_per_s() -> float:
    """Cycles of a PANIC, 100 Gbit/s of full packets through three units that push, in a second of host time."""
    build = ["cargo", "build", "-q", "--release", "--locked", "-p", "panic", "--example", "speed"]
    subprocess.run(build, check=True, cwd=ROOT)
    program = ROOT / "target" / "release" / "examples" / "speed"

    def once(milliseconds: int) -> tuple[int, float]:
        process = subprocess.Popen([str(program), str(milliseconds)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        told = re.match(r"(\d+) cycles, (\d+) packets out, 0 dropped", process.stdout.read())
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0 and told is not None
        assert int(told[2]) * 1500 * 8 / (milliseconds * 1e6) > 98, "the load is 100 Gbit/s without the descriptors"
        return int(told[1]), usage.ru_utime + usage.ru_stime

    cycles, seconds = zip(*(once(20) for _ in range(_BEST_OF)), strict=True)
    return float(cycles[0] / min(seconds))


@functools.cache
def captured_run(scratch: Path, packets: int) -> tuple[float, float]:
    """Peak memory in MiB and processor time in s of a run over a capture, everything written."""
    capture = scratch / f"{packets}.pcap"
    write_capture(capture, packets)
    command = [sys.executable, "-m", "spinet.cli", "run", str(EMPTY), "--traffic", str(capture), "--pace", "asap"]
    process = subprocess.Popen(
        [*command, "-o", str(scratch / "out"), "--force", "--json"], stdout=subprocess.DEVNULL, cwd=ROOT
    )
    _pid, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    capture.unlink()
    return usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime


def traced_cycles_per_s(scratch: Path) -> float:
    """Cycles that libpspin simulates in a second of host time with an instruction trace of each core.

    The generic driver sends a packet of 1024 bytes to `ping_pong` every 20 cycles.
    """
    build = ["cargo", "rustc", "-q", "--release", "--locked", "-p", "capi", "--lib", "--crate-type", "cdylib"]
    subprocess.run(build, check=True, cwd=ROOT)
    install = [str(ROOT / "crates" / "capi" / "make" / "install"), str(ROOT / "target" / "release" / "libcapi.so")]
    subprocess.run([*install, str(scratch)], check=True, stdout=subprocess.DEVNULL)
    (scratch / "build").mkdir(exist_ok=True)
    handlers = ["build", str(PING_PONG), "-o", str(scratch / "build" / "handlers")]
    subprocess.run([sys.executable, "-m", "spinet.cli", *handlers], check=True, stdout=subprocess.DEVNULL)
    program, lib, traces = scratch / "traced", scratch / "lib", scratch / "traces"
    link = ["-I", str(scratch / "include"), "-L", str(lib), f"-Wl,-rpath,{lib}", "-lpspin"]
    subprocess.run(["cc", str(DRIVER), "-o", str(program), *link], check=True)

    def once(packets: int) -> tuple[int, float]:
        process = subprocess.Popen(
            [str(program), "-p", str(packets)],
            stdout=subprocess.DEVNULL,
            cwd=scratch,
            env={**os.environ, "SPINET_INSTRUCTIONS": str(traces)},
        )
        _pid, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        last = max(int(file.read_bytes()[-400:].splitlines()[-1].split()[1]) for file in traces.iterdir())
        shutil.rmtree(traces)
        return last, usage.ru_utime + usage.ru_stime

    def best(packets: int) -> tuple[int, float]:
        cycles, seconds = zip(*(once(packets) for _ in range(_BEST_OF)), strict=True)
        return cycles[0], min(seconds)

    (few_cycles, few_s), (many_cycles, many_s) = best(1000), best(11000)
    return (many_cycles - few_cycles) / (many_s - few_s)


def write_capture(path: Path, packets: int) -> None:
    """UDP packets of 60 bytes, 10 ns apart, as pcap with nanoseconds."""
    eth = bytes.fromhex("020000000002 020000000001 0800".replace(" ", ""))
    ip = bytes.fromhex("4500002e000040004011") + b"\0\0" + bytes([10, 0, 0, 1, 10, 0, 0, 2])
    packet = eth + ip + struct.pack(">HHHH", 10000, 9999, 26, 0) + b"\0" * 18
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for start in range(0, packets, 1 << 16):
            block = range(start, min(start + (1 << 16), packets))
            file.write(b"".join(struct.pack("<IIII", 10 * i // 10**9, 10 * i % 10**9, 60, 60) + packet for i in block))


def run_1000_packets_s(scratch: Path) -> float:
    """Elapsed seconds of the whole command, with the handler built before."""
    capture = scratch / "1000.pcap"
    write_capture(capture, 1000)
    command = [str(Path(sys.executable).with_name("spinet")), "run", str(PING_PONG), "--traffic", str(capture)]
    times = []
    for _ in range(_BEST_OF + 2):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
        times.append(time.perf_counter() - start)
    return min(times)


def handler_packet_ms() -> float:
    """Milliseconds of processor time for one packet of `spinet.Handler`, on average over 500, program built."""
    packet = bytes.fromhex("020000000002 020000000001 0800") + b"\x45" + bytes(49)

    def once(handler: Handler) -> float:
        before = time.process_time()
        outs = handler.process_all([packet] * 500)
        assert all(out.verdict == "sent" for out in outs)
        return (time.process_time() - before) / 500 * 1000

    with Handler(PING_PONG) as handler:
        return min(once(handler) for _ in range(_BEST_OF))


def handler_reset_ms() -> float:
    """Processor time in ms until a handler has processed its first packet after a reset."""

    def once(handler: Handler) -> float:
        handler.process(bytes(64))
        before = time.process_time()
        handler.reset()
        handler.process(bytes(64))
        return (time.process_time() - before) * 1000

    with Handler(PING_PONG) as handler:
        return min(once(handler) for _ in range(_BEST_OF * 3))


def sweep_share() -> float:
    """Share of two cores' time, over the whole command, in which 1,000 short runs of a sweep simulate packets."""
    spec = "udp:size=64,count=5000,seed={seed}"
    command = [sys.executable, "-m", "spinet.cli", "sweep", str(PING_PONG), "--traffic", spec, "--vary", "seed=1..1000"]
    start = time.perf_counter()
    done = subprocess.run([*command, "-j", "2", "--fresh", "--json"], check=True, capture_output=True, text=True)
    wall = time.perf_counter() - start
    simulating = sum(row["wall.seconds"] for row in json.loads(done.stdout)["runs"])
    return float(100 * simulating / (2 * wall))


def record_ratio(scratch: Path, size: int, record: dict[str, Any]) -> float:
    """Time of a run with a record of each packet, divided by that of the same run without; runs alternate.

    It is processor time, which other users of the machine do not stretch. A timeline is drawn by a separate
    thread on the second core, so its time is elapsed time.
    """
    given = {"program": [PING_PONG], "traffic": [f"udp:size={size},count=20000"]}
    ready = _programs.built(api.prepare(None, given), given, cc=None, defines=None)

    def once(record: dict[str, Any]) -> float:
        tables = packet_table.of_kind("handlers", False, lambda _, columns: packet_table.Collected(columns))
        before = clock()
        native = api.start(ready, **record)
        api.drive(native, tables=tables if record.get("tables") else None)
        return clock() - before

    clock = time.process_time
    if record.get("timeline"):
        clock = time.perf_counter
        record = {"timeline": api.Timeline(file=scratch / "run.perfetto-trace")}
    turns = [(once(record), once({})) for _ in range(2 * _BEST_OF)]
    return min(with_it for with_it, _ in turns) / min(bare for _, bare in turns)


# For each record: the greatest allowed ratio to the run time without it, and its keywords.
RECORDS: dict[str, tuple[float, dict[str, Any]]] = {
    "packet_table": (1.1, {"tables": True}),
    "profile": (1.3, {"profile": True}),
    "timeline": (1.5, {"timeline": True}),
}

FIGURES = (
    Figure(
        key="pspin_busy_cycles_per_s",
        what="simulated cycles, all 32 HPUs busy",
        unit="1/s",
        measure=lambda _: cycles_per_s("400G", 20000, (95, 100)),
        least=2.0e6,
    ),
    Figure(
        key="pspin_half_idle_cycles_per_s",
        what="simulated cycles, half of the HPUs busy",
        unit="1/s",
        measure=lambda _: cycles_per_s("3.6Mpps", 10000, (45, 55)),
    ),
    Figure(
        key="ping_pong_64_packets_per_s",
        what="ping_pong, packets of 64 bytes",
        unit="1/s",
        measure=lambda _: ping_pong_packets_per_s(64),
    ),
    Figure(
        key="ping_pong_1024_packets_per_s",
        what="ping_pong, packets of 1024 bytes",
        unit="1/s",
        measure=lambda _: ping_pong_packets_per_s(1024),
    ),
    Figure(
        key="host_instructions_per_simulated_instruction",
        what="host instructions for a simulated one, all HPUs busy",
        unit="",
        measure=host_instructions,
        most=100,
    ),
    Figure(
        key="tigon2_core_cycles_per_s",
        what="core cycles of a Tigon-2, both cores busy",
        unit="1/s",
        measure=lambda _: card_cycles_per_s("tigon2", ("20 ms", "60 ms")),
        least=0.5e6,
    ),
    Figure(
        key="tengig_core_cycles_per_s",
        what="core cycles of a 10 Gigabit NIC, six cores busy",
        unit="1/s",
        measure=lambda _: card_cycles_per_s("tengig", ("0.5 ms", "2 ms")),
        least=0.5e6,
    ),
    Figure(
        key="tigon2_host_instructions_per_simulated_instruction",
        what="host instructions for one of a Tigon-2's cores",
        unit="",
        measure=lambda scratch: card_host_instructions(scratch, "tigon2", ("3 ms", "4 ms")),
    ),
    Figure(
        key="tengig_host_instructions_per_simulated_instruction",
        what="host instructions for one of a 10 Gigabit NIC's cores",
        unit="",
        measure=lambda scratch: card_host_instructions(scratch, "tengig", ("0.4 ms", "0.6 ms")),
    ),
    Figure(
        key="panic_cycles_per_s",
        what="PANIC, 100 Gbit/s through three pushed units",
        unit="1/s",
        measure=lambda _: panic_cycles_per_s(),
        least=1.0e6,
    ),
    Figure(
        key="own_policy_ratio",
        what="PANIC with a rate limit in Python, to the card's own",
        unit="x",
        measure=lambda _: policies.ratio(),
        most=3.0,
    ),
    Figure(
        key="goal_messages_per_s",
        what="GOAL schedules of 1,024 ranks, all to all and dissemination, the slower one",
        unit="1/s",
        measure=lambda _: goal_messages_per_s(),
        least=300_000,
    ),
    Figure(
        key="network_messages_per_s",
        what="messages of a schedule, 1,024 plain NICs and a switch",
        unit="1/s",
        measure=lambda _: networks.messages_per_s(),
        least=300_000,
    ),
    Figure(
        key="network_share",
        what="64 PsPINs in a fat tree, relative to single pairs",
        unit="",
        measure=lambda _: networks.share(),
        least=0.9,
    ),
    Figure(
        key="network_speedup",
        what="64 PsPINs in a fat tree, speedup on two free cores",
        unit="",
        measure=lambda _: networks.speedup(),
        least=1.8,
        cores=2,
    ),
    Figure(
        key="machine_speedup",
        what="the same, two independent processes relative to one",
        unit="",
        measure=lambda _: networks.machine_speedup(),
        cores=2,
    ),
    Figure(
        key="network_ranks",
        what="64 PsPINs in a fat tree, two processes relative to two threads, on two free cores",
        unit="",
        measure=networks.ranks,
        least=0.85,
        cores=2,
    ),
    Figure(
        key="allreduce_64_s",
        what="allreduce of 1 MiB among 64 PsPINs in switches, on two free cores",
        unit="s",
        measure=lambda _: networks.allreduce_64_s(),
        most=60,
        cores=2,
    ),
    Figure(
        key="idle_nodes_s",
        what="run with 1,024 idle PsPINs",
        unit="s",
        measure=lambda scratch: networks.idle_nodes(scratch)[0],
        most=2,
    ),
    Figure(
        key="idle_nodes_mib",
        what="peak memory with 1,024 idle PsPINs",
        unit="MiB",
        measure=lambda scratch: networks.idle_nodes(scratch)[1],
        most=512,
    ),
    Figure(
        key="rss_mib_1m",
        what="peak memory, capture of 1 million packets",
        unit="MiB",
        measure=lambda scratch: captured_run(scratch, 10**6)[0],
        most=1024,
    ),
    Figure(
        key="rss_mib_10m",
        what="peak memory, capture of 10 million packets",
        unit="MiB",
        measure=lambda scratch: captured_run(scratch, 10**7)[0],
        most=1024,
    ),
    Figure(
        key="capture_10m_s",
        what="`spinet run -o`, capture of 10 million packets",
        unit="s",
        measure=lambda scratch: captured_run(scratch, 10**7)[1],
        most=25,
    ),
    Figure(
        key="traced_cycles_per_s",
        what="libpspin with instruction traces, ping_pong",
        unit="1/s",
        measure=traced_cycles_per_s,
        least=0.5e6,
    ),
    Figure(
        key="run_1000_packets_s",
        what="`spinet run` on 1000 packets, handler cached",
        unit="s",
        measure=run_1000_packets_s,
        most=1.0,
    ),
    Figure(
        key="sweep_share",
        what="simulating, of two cores' time in a sweep of 1,000 runs",
        unit="%",
        measure=lambda _: sweep_share(),
        least=90,
        cores=2,
    ),
    *(
        Figure(
            key=f"{name}_{size}_ratio",
            what=f"run time with a {name.replace('_', ' ')}, packets of {size} bytes",
            unit="x",
            measure=functools.partial(record_ratio, size=size, record=record),
            most=most,
            cores=2 if "timeline" in record else 1,
        )
        for name, (most, record) in RECORDS.items()
        for size in (64, 1024)
    ),
    Figure(
        key="handler_packet_ms",
        what="a packet of spinet.Handler, program built",
        unit="ms",
        measure=lambda _: handler_packet_ms(),
        most=5.0,
    ),
    Figure(
        key="handler_reset_ms",
        what="reset of spinet.Handler, and one packet",
        unit="ms",
        measure=lambda _: handler_reset_ms(),
    ),
)


def main() -> int:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="KEY", action="append", help="measure only this figure; writes no file")
    only = parser.parse_args().only
    cores = sorted(os.sched_getaffinity(0), reverse=True)
    values: dict[str, float] = {}
    kept = True
    print(f"{'':<54}{'measured':>14}  {'bound':<20}")
    with tempfile.TemporaryDirectory(prefix="spinet-bench-", dir=scratch_home()) as name:
        for figure in FIGURES:
            if only and figure.key not in only:
                continue
            # For this process and all that it starts.
            os.sched_setaffinity(0, cores[: figure.cores])
            value = figure.measure(Path(name))
            values[figure.key] = value
            verdict = "" if figure.keeps(value) else "  NOT KEPT"
            kept = kept and figure.keeps(value)
            shown = f"{_show(value)} {figure.unit}".rstrip()
            print(f"{figure.what:<54}{shown:>14}  {figure.bound():<20}{verdict}", flush=True)
    print(f"on {processor()}")
    if not only:
        target = ROOT / "target" / "bench.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(json.dumps(values, indent=2) + "\n")
        print(f"wrote {target.relative_to(ROOT)}")
    return 0 if kept else 1


def scratch_home() -> Path:
    """Captures of hundreds of MiB go where builds go, not into a temporary folder that may be memory."""
    home = ROOT / "target"
    home.mkdir(exist_ok=True)
    return home


def processor() -> str:
    """Name of this machine's processor."""
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1] if found else platform.processor() or "this machine"


def _show(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 1e6:
        return f"{value / 1e6:,.2f} M"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
