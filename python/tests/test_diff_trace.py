# SPDX-License-Identifier: Apache-2.0
"""Instruction traces from whole runs, and `spinet diff-trace` on them."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from spinet import cli

# Cycles by which the slower program memory answers a miss later than that of the preset.
SLOWER = 20 - tomllib.loads(Path("presets/pspin.toml").read_text())["cluster"]["icache"]["miss_cycles"]
RUN = ["run", "sdk/examples/ping_pong.c", "--traffic", "udp:size=64,count=40,rate=100G"]


def command(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    said = capfd.readouterr()
    return code, said.out, said.err


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run twice, and once with a slower program memory."""
    folder = tmp_path_factory.mktemp("traces")
    slow = ["--set", "cluster.icache.miss_cycles=20"]
    for name, more in {"one": [], "two": [], "slow": slow}.items():
        trace = ["-o", str(folder / name), "--trace-instructions", "--trace-cores", "0:0,1:*"]
        assert cli.main([*RUN, *trace, *more]) == 0
    return folder


def test_a_run_leaves_a_trace_of_every_core_that_is_asked_for(runs: Path) -> None:
    traces = sorted(path.name for path in (runs / "one" / "instructions").iterdir())
    assert traces == ["trace_core_00_0.log", *(f"trace_core_01_{core}.log" for core in range(8))]
    header, *lines = (runs / "one" / "instructions" / traces[0]).read_text().splitlines()
    assert header == "                Time           Cycles PC       Instr    Mnemonic"
    shape = re.compile(r" *\d+000 +\d+ [0-9a-f]{8} [0-9a-f]{8} .{36}( ( x\d|x\d\d)[=:][0-9a-f]{8})*(  PA:[0-9a-f]{8})?")
    assert len(lines) > 200
    assert [line for line in lines if not shape.fullmatch(line)] == []


def test_equal_runs_have_equal_traces(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = command(capfd, "diff-trace", runs / "one", runs / "two")
    assert (code, err) == (0, "")
    assert out.startswith("0 of 9 traces differ\n")
    code, out, _ = command(capfd, "diff-trace", runs / "one", runs / "two", "--json")
    found = json.loads(out)
    assert (code, found["equal"], len(found["files"])) == (0, True, 9)


def test_the_cause_of_a_difference_is_named(runs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = "instructions/trace_core_00_0.log"
    code, out, _ = command(capfd, "diff-trace", runs / "one" / name, runs / "slow" / name)
    assert code == 1
    first = re.search(
        r"^Time: first from [0-9a-f]{8} to the next: (\d+) cycles in A, (\d+) in B: [a-zA-Z ]+$", out, re.M
    )
    # While the cache is off, a slower memory can also change which core goes first.
    assert first and first[1] != first[2]
    misses = re.search(r"^instruction cache miss +(\d+) +\+(\d+) ", out, re.M)
    assert misses and int(misses[2]) >= SLOWER
    code, out, _ = command(capfd, "diff-trace", runs / "one", runs / "slow", "--json")
    found = json.loads(out)
    assert (code, found["equal"]) == (1, False)
    for file in found["files"]:
        later = {row["cause"]: row["b_slower"] - row["b_faster"] for row in file["time"]["by_cause"]}
        assert sum(later.values()) == file["time"]["b_minus_a"] > 0
        assert later["fetch_line"] >= SLOWER


def test_names_of_functions_come_from_the_program(
    runs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.elf"
    assert cli.main(["build", "sdk/examples/ping_pong.c", "-o", str(program)]) == 0
    _, out, _ = command(capfd, "diff-trace", runs / "one", runs / "slow", "--elf", program)
    # The runtime's loop, which every core runs, is not in the cache when the first core reaches it.
    assert re.search(
        r"^[0-9a-f]{8} (?:next_task|run_loop)(\+0x[0-9a-f]+)? +instruction cache miss +\d+ +\+\d+", out, re.M
    )


def test_what_cannot_be_compared_is_reported(runs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    name = "trace_core_00_0.log"
    trace = runs / "one" / "instructions" / name
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "trace_core_0f_f.log").write_text("")
    (tmp_path / "empty.log").write_text("")
    lines = trace.read_text().splitlines(keepends=True)
    (tmp_path / "bad.log").write_text("".join(lines[:4]) + lines[4].replace("1d0000", "main") + lines[5])
    cases = [
        (trace, tmp_path / "missing.log"),
        (trace, tmp_path),
        (tmp_path / "empty", runs / "one"),
        (tmp_path / "other", runs / "one"),
        (trace, tmp_path / "empty.log"),
        (trace, tmp_path / "bad.log"),
    ]
    said = []
    for a, b in cases:
        code, out, err = command(capfd, "diff-trace", a, b)
        assert (code, out) == (2, "")
        said.append(err.replace(str(tmp_path), "TMP").replace(str(runs), "RUNS"))
    assert "".join(said) == (
        "error: TMP/missing.log: No such file or directory (os error 2)\n"
        "error: TMP is a folder and RUNS/one/instructions/trace_core_00_0.log a file, both must be the same\n"
        "error: TMP/empty: it has no traces, neither itself nor in its folder `instructions`; "
        "they are called trace_core_00_0.log\n"
        "error: TMP/other and RUNS/one: they have no trace of the same name\n"
        "error: TMP/empty.log: it has no lines, must begin with a line of column names: Time Cycles PC Instr Mnemonic\n"
        "error: TMP/bad.log:5: `main8c`, must be an address of 8 hexadecimal digits\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trace-instructions"], "error: --trace-instructions goes with -o\nhint: spinet run --help has examples\n"),
        (
            ["--trace-cores", "0:0"],
            "error: --trace-cores and --trace-time go with --trace-instructions\n"
            "hint: spinet run --help has examples\n",
        ),
        (
            ["-o", "FOLDER", "--trace-instructions", "--trace-cores", "4:0"],
            "error: --trace-cores: 4:0 does not exist, must be within 4 clusters of 8 cores\n",
        ),
        (
            ["-o", "FOLDER", "--trace-instructions", "--trace-time", "2 us..1 us"],
            "error: --trace-time: `2 us..1 us` is empty, its end must be behind its beginning\n",
        ),
    ],
)
def test_a_trace_that_cannot_be_is_refused(
    options: list[str], message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    given = [option.replace("FOLDER", str(tmp_path / "result")) for option in options]
    assert command(capfd, *RUN, *given) == (2, "", message)
    assert list(tmp_path.iterdir()) == []
