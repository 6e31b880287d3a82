# SPDX-License-Identifier: Apache-2.0
"""Commands that get no memory end with an error and exit code 2, and leave no partial files."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import spinet.cli

from world import ROOT

EMPTY = ROOT / "sdk" / "examples" / "empty.c"
SPINET = (sys.executable, "-m", "spinet.cli")
SHORT = "error: this machine has not enough memory for the run"

BEGIN = """
import ctypes, os, resource
from pathlib import Path
from spinet import _core, _files

def leave(mib):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (mib << 20), resource.RLIM_INFINITY))

def half_written():
    _core.watch_partial("half")
    Path("half/host").mkdir(parents=True)
    Path("half/host/0").write_text("half")

libc = ctypes.CDLL(None)
text = "x" * (128 << 20)
_core.guard_command()
half_written()
"""


def end_of(code: str, folder: Path) -> tuple[int, str, list[str]]:
    """Exit code, stderr, and files of a process."""
    done = subprocess.run((sys.executable, "-c", BEGIN + code), cwd=folder, capture_output=True, text=True)
    return done.returncode, done.stderr, [path.name for path in folder.iterdir()]


def test_an_allocation_that_the_system_refuses_is_an_error(tmp_path: Path) -> None:
    code, said, left = end_of("leave(32); _core.Run(text, file='experiment', base_dir='.')", tmp_path)
    assert (code, left) == (2, [])
    assert said.splitlines() == [
        f"{SHORT}: the system refuses {128 << 20} bytes more",
        "hint: take fewer packets, omit tables, or raise the limit of memory (ulimit -v)",
    ]


ENDS = {"abort": "os.abort()", "exit": "libc.exit(1)", "null pointer": "ctypes.string_at(0)"}


@pytest.mark.parametrize("how", ENDS)
def test_libraries_that_crash_without_memory_are_an_error(how: str, tmp_path: Path) -> None:
    assert end_of(f"leave(32); {ENDS[how]}", tmp_path) == (
        2,
        f"{SHORT}\nhint: take fewer packets, omit tables, or raise the limit of memory (ulimit -v)\n",
        [],
    )


@pytest.mark.parametrize(
    ("how", "code"), [("abort", -signal.SIGABRT), ("exit", 1), ("null pointer", -signal.SIGSEGV)], ids=list(ENDS)
)
def test_a_crash_with_enough_memory_stays_a_crash(how: str, code: int, tmp_path: Path) -> None:
    no_core = "resource.setrlimit(resource.RLIMIT_CORE, (0, 0));"
    assert end_of(no_core + ENDS[how], tmp_path) == (code, "", ["half"])


def test_after_its_end_a_command_keeps_its_exit_code(tmp_path: Path) -> None:
    code, said, _ = end_of("_core.unguard_command(1); leave(32); os.abort()", tmp_path)
    assert (code, said) == (1, "")


@pytest.mark.parametrize("card", [str(EMPTY), "--nic panic --chain a:sha"], ids=["handlers", "chains"])
def test_runs_under_a_limit_of_memory_end_well(card: str, tmp_path: Path) -> None:
    assert spinet.cli.main(["build", str(EMPTY)]) == 0  # so that no compiler meets the limit
    command = (*SPINET, "run", *card.split(), "-t", "udp:size=64,count=3000", "--pace", "asap", "-o", "out")
    for mib in (275, 345):

        def limited(mib: int = mib) -> None:
            resource.setrlimit(resource.RLIMIT_AS, (mib << 20, resource.RLIM_INFINITY))

        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limited)
        if done.returncode == 0:
            break
        assert done.returncode == 2, done.stderr
        assert "error: " in done.stderr and "Traceback" not in done.stderr
        assert list(tmp_path.iterdir()) == []
