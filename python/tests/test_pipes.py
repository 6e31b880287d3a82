# SPDX-License-Identifier: Apache-2.0
"""Captures through pipes, the comments of captured packets, and captures of dropped packets."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet import _pcapng, cli

PING = "sdk/examples/ping_pong.c"
RUN = [sys.executable, "-m", "spinet.cli", "run"]
CAPTURE = Path("captures/memcached.pcap")


def piped(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*RUN, *arguments], input=stdin, capture_output=True, check=False, timeout=120)


def comments(data: bytes) -> list[str]:
    """The comment of each packet."""
    at, found = 0, []
    while at + 8 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if at + length > len(data):
            break  # the rest of the block has not arrived
        if kind == 6:
            captured = struct.unpack_from("<I", data, at + 20)[0]
            option = at + 28 + (captured + 3) // 4 * 4
            if option < at + length - 4:
                code, size = struct.unpack_from("<HH", data, option)
                assert code == 1
                found.append(data[option + 4 : option + 4 + size].decode())
        at += length
    return found


@pytest.mark.parametrize(
    "card", [[PING], ["--nic", "panic", "--chain", "all: aes => network:0"]], ids=["handlers", "chains"]
)
def test_packets_come_and_go_through_pipes(card: list[str], tmp_path: Path) -> None:
    done = piped(*card, "-t", "-", "--out", "-", stdin=CAPTURE.read_bytes())
    assert done.returncode == 0 and b"Packets" in done.stderr
    result_folder = tmp_path / "out"
    assert cli.main(["run", *card, "-t", str(CAPTURE), "-o", str(result_folder)]) == 0
    (file,) = [name for name in ("out.pcapng", "network.pcapng") if (result_folder / name).exists()]
    assert done.stdout == (result_folder / file).read_bytes() and list(_pcapng.packets(done.stdout))
    # The output of one run is the input of another.
    again = piped(PING, "-t", "-", "--out", str(tmp_path / "again.pcapng"), stdin=done.stdout)
    assert again.returncode == 0 and again.stdout.startswith(b"ping_pong.c on pspin")
    assert len(list(_pcapng.packets((tmp_path / "again.pcapng").read_bytes()))) > 0


def test_packets_leave_while_the_sender_still_waits() -> None:
    capture = CAPTURE.read_bytes()
    ends, at = [], 24  # behind the header of the file
    while at < len(capture):
        at += 16 + struct.unpack_from("<I", capture, at + 8)[0]
        ends.append(at)
    command = [*RUN, PING, "-t", "-", "--match", "udp", "--out", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as run:
        assert run.stdin is not None and run.stdout is not None
        run.stdin.write(capture[: ends[7]])
        run.stdin.flush()
        # Simulated time cannot pass that of the last packet before the card knows the time of the next one.
        found = b""
        while len(comments(found)) < 7:
            found += os.read(run.stdout.fileno(), 1 << 16)
        run.stdin.write(capture[ends[7] :])
        run.stdin.close()
        found += run.stdout.read()
    assert len(comments(found)) == len(ends)


def test_bad_input_is_an_error_without_a_traceback() -> None:
    for stdin, error in ((b"", b"stdin: the file is empty"), (b"no capture at all", b"stdin: offset 0: found")):
        done = piped(PING, "-t", "-", stdin=stdin)
        assert done.returncode == 2 and error in done.stderr and b"Traceback" not in done.stderr
    cut = piped(PING, "-t", "-", "--json", stdin=CAPTURE.read_bytes()[:-7])
    assert b"truncated" in cut.stdout and b"Traceback" not in cut.stderr
    twice = piped(PING, "-t", "-", "-t", "-", stdin=CAPTURE.read_bytes())
    assert twice.returncode == 2 and b"stdin was read before" in twice.stderr


def test_a_reader_that_goes_ends_the_run() -> None:
    line = " ".join(
        [*RUN, PING, "-t", "udp:size=1000,count=3000", "--out", "-", "|", "head", "-c", "100", ">/dev/null"]
    )
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, check=False, timeout=120)
    assert done.returncode == 141 and b"Traceback" not in done.stderr


def test_a_terminal_is_no_capture(capfd: pytest.CaptureFixture[str]) -> None:
    import pty

    _, terminal = pty.openpty()
    done = subprocess.run([*RUN, PING, "-t", "-"], stdin=terminal, capture_output=True, check=False, timeout=120)
    assert done.returncode == 2 and b"which is a terminal; pipe one into it" in done.stderr


def test_dropped_packets_have_their_reason(tmp_path: Path) -> None:
    runs: list[tuple[dict[str, Any], str]] = [
        (
            {
                "experiment": {
                    "program": PING,
                    "traffic": "udp:size=1024,count=300,rate=400G",
                    "nic": {"preset": "pspin", "set": {"l2.packet_bytes": 4096}},
                    "context": [{"delivery": {"when_full": "drop"}}],
                }
            },
            "packet_memory_full",
        ),
        ({"nic": "panic", "chains": "all: => drop", "traffic": "udp:size=512,count=20,rate=60G"}, "rmt"),
        (
            {
                "nic": "tigon2",
                "set": ["host.promiscuous=false"],
                "traffic": "udp:size=300,count=5,dst_mac=02:00:00:00:00:77",
                "limit": "40 ms",
            },
            "filtered",
        ),
    ]
    for number, (given, reason) in enumerate(runs):
        result = spinet.run(**given, capture_drops=True)
        n = result.summary["packets"]["dropped"]
        assert n > 0, reason
        result.save(tmp_path / str(number))
        found = comments((tmp_path / str(number) / "dropped.pcapng").read_bytes())
        assert len(found) == len(result.dropped) == n
        assert all(f"dropped: {reason}: " in one or f": {reason}: " in one for one in found), found[:3]
        assert result.summary["digest"] == spinet.run(**given).summary["digest"]


def test_packets_have_comments_on_every_card(tmp_path: Path) -> None:
    runs: list[tuple[dict[str, Any], str, tuple[str, ...]]] = [
        ({"program": PING, "traffic": "udp:count=3"}, "out.pcapng", ("packet 0, message 0", "HPU 0.0", "cycles")),
        (
            {"nic": "panic", "chains": "ipsec: sha -> aes => network:0", "traffic": "udp:size=256,count=3,rate=10G"},
            "network.pcapng",
            ("packet 0, ipsec", "queueing", "sha[", "cycles", "left"),
        ),
        (
            {"nic": "tigon2", "send": "udp:size=900,count=3,payload=numbered"},
            "sent.pcapng",
            ("frame 0 from the host, ", " ns in the card, came out at the network"),
        ),
    ]
    for given, file, parts in runs:
        result = spinet.run(**given)
        found = comments(result._captures[file])
        assert len(found) == 3
        assert all(part in found[0] for part in parts), found[0]
