# SPDX-License-Identifier: Apache-2.0
"""The command where what is around it is not as it should be: closed streams, full disks, no home, requests to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import spinet.cli
from spinet._build_errors import BuildError
from spinet._compiler import find_compiler

from world import ROOT

HANDLER = ROOT / "sdk" / "examples" / "empty.c"
SPINET = (sys.executable, "-m", "spinet.cli")


def peak_kib(packets: int) -> int:
    """Most memory of a run of so many packets, by itself in a process."""
    measure = (
        "import resource, sys, spinet.cli; spinet.cli.main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    command = (sys.executable, "-c", measure, "run", HANDLER, "-t", f"udp:count={packets}", "--pace", "asap")
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stderr)


def test_memory_does_not_grow_with_the_packets() -> None:
    few, many = peak_kib(30_000), peak_kib(230_000)
    assert many - few < 4096, f"{few} KiB for 30,000 packets, {many} KiB for 230,000"


def hear_requests_to_end() -> None:
    """A process that was started with `nohup`, as the tests may be, hands down that SIGHUP is ignored."""
    for request_to_end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(request_to_end, signal.SIG_DFL)


@pytest.mark.parametrize("request_to_end", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_asked_to_end_leaves_nothing_behind(request_to_end: signal.Signals, tmp_path: Path) -> None:
    command = (*SPINET, "run", HANDLER, "-t", "udp:count=100000000", "-o", tmp_path / "out")
    pipe = subprocess.PIPE
    run = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=hear_requests_to_end)
    try:
        deadline = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:  # its folder under construction
            os.sched_yield()
        run.send_signal(request_to_end)
        _, said = run.communicate(timeout=60)
    finally:
        run.kill()  # or a run that did not hear would go on for hours
    assert (run.returncode, list(tmp_path.iterdir())) == (130, [])
    assert "nothing was written" in said


def test_closed_streams_do_not_matter() -> None:
    match = f"{sys.executable} -m spinet.cli match udp {ROOT / 'captures' / 'dns.pcap'}"
    assert subprocess.run(f"{match} >&-", shell=True).returncode == 0
    assert subprocess.run(f"{match} >&- 2>&-", shell=True).returncode == 0
    assert subprocess.run(f"{match}.gone 2>&-", shell=True).returncode == 2


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="the system has no /dev/full")
def test_a_device_is_written_and_not_replaced(capfd: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["build", str(HANDLER), "-o", "/dev/full"]) == 2
    assert capfd.readouterr().err == "error: No space left on device\n"
    assert spinet.cli.main(["build", str(HANDLER), "-o", "/dev/null"]) == 0
    assert Path("/dev/full").is_char_device() and Path("/dev/null").is_char_device()


def test_names_that_are_not_utf8_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"dns\xff.pcap")
    for command in (["match", "udp", name], ["run", str(HANDLER), "-t", name], ["run", name], ["nic", "show", name]):
        assert spinet.cli.main(command) == 2
        assert capfd.readouterr().err == "error: the argument dns\\xff.pcap is not UTF-8; rename the file or folder\n"


def test_a_compiler_needs_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert find_compiler(cc="zig", cache=tmp_path / "cache").kind == "zig"


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match=r"cannot keep builds in .*file/cache: Not a directory") as caught:
        find_compiler(cc="zig", cache=tmp_path / "file" / "cache")
    assert "SPINET_CACHE" in caught.value.hint
