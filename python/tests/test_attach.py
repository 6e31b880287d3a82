# SPDX-License-Identifier: Apache-2.0
"""`spinet attach` with real programs of Linux on both sides, in network namespaces of their own.

Without the privilege, each test checks the error that says what to run.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow.parquet as pq
import pytest
import spinet
from spinet import _live, _pcapng, cli

import frames
from namespaces import DEADLINE_S, Namespace, until, why_not

ROOT = Path(__file__).resolve().parents[2]
WHY_NOT = why_not()
ECHO_HOST = "sdk/examples/echo_host.c"
MEMCACHE = "sdk/examples/memcache.c"


def live(test: Callable[..., None]) -> Callable[..., None]:
    """A test that needs interfaces; without the privilege, the test of the error."""
    if WHY_NOT is None:
        return test

    def refused() -> None:
        assert_refused(["--tap", "spin0", ECHO_HOST])

    return refused


def spinet_attach(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "spinet.cli", "attach", *arguments]


def assert_refused(arguments: Sequence[str], *, before: Sequence[str] = ()) -> None:
    done = subprocess.run(
        [*before, *spinet_attach(arguments)], cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S
    )
    assert done.returncode == 2, done.stderr
    assert "no permission" in done.stderr or "there is no /dev/net/tun" in done.stderr
    assert "hint: sudo " in done.stderr


class Attached:
    """A running `spinet attach` in a namespace. At the end of the block it gets Ctrl-C; then there is a summary."""

    def __init__(self, net: Namespace, arguments: Sequence[str], *, ends: bool = False) -> None:
        self._process = subprocess.Popen(
            net.enter(spinet_attach([*arguments, "--json"])),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._ends = ends  # true if the command ends by itself
        self._n_taps = sum(argument in ("--tap", "--host-tap") for argument in arguments)
        self.shown = ""
        self.summary: dict[str, Any] = {}

    def __enter__(self) -> Attached:
        assert self._process.stderr is not None
        while self.shown.count("attached: ") < self._n_taps:
            line = self._process.stderr.readline()
            self.shown += line
            if not line:
                self._process.communicate(timeout=DEADLINE_S)
                pytest.fail(self.shown)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        elif not self._ends:
            self._process.send_signal(signal.SIGINT)
        out, err = self._process.communicate(timeout=DEADLINE_S)
        self.shown += err
        if kind is None:
            assert self._process.returncode == 0, self.shown
            self.summary = json.loads(out)


@pytest.fixture
def net() -> Iterator[Namespace]:
    with Namespace() as net:
        yield net


def addresses(net: Namespace, interface: str, address: str) -> None:
    net.ip(f"address add {address}/24 dev {interface}")
    net.ip(f"link set {interface} up")


def interface(summary: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one for one in summary["attach"]["interfaces"] if one["name"] == name)
    return dict(found)


@live
def test_a_handler_answers_pings_and_the_run_can_be_repeated(net: Namespace, tmp_path: Path) -> None:
    folder, capture = tmp_path / "result", tmp_path / "in.pcap"
    with Attached(net, ["--tap", "spin0", ECHO_HOST, "-o", str(folder), "--capture", str(capture)]) as attached:
        addresses(net, "spin0", "10.7.0.1")
        said = net.run("ping", "-c", "3", "-i", "0.2", "-W", "10", "10.7.0.2")
    assert "3 received" in said
    summary = attached.summary
    assert summary["ended"]["reason"] == "detached"
    assert summary["packets"]["sent"] >= 4, "three pings and a question for the address"
    spin0 = interface(summary, "spin0")
    assert spin0["frames_in"] == summary["packets"]["in"]
    assert spin0["frames_out"] == summary["packets"]["sent"]
    assert spin0["lost"] == spin0["refused"] == spin0["dropped_by_kernel"] == 0
    assert json.loads((folder / "summary.json").read_text())["attach"] == summary["attach"]
    assert pq.read_table(folder / "packets.parquet").num_rows == summary["packets"]["in"]
    answers = [packet for _time, packet in _pcapng.packets((folder / "out.pcapng").read_bytes())]
    again = spinet.run(program=ECHO_HOST, traffic=capture)
    assert [packet.data for packet in again.sent] == answers
    assert all(map(frames.is_valid, (answer for answer in answers if answer[12:14] == b"\x08\x00")))


UDP_CLIENT = """
import socket, sys
port, sizes = int(sys.argv[1]), [1, 2, 17, 64, 500, 1000, 1472]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.settimeout(10)
    client.connect(("10.7.0.2", port))
    for size in sizes:
        sent = bytes(i % 251 for i in range(size))
        client.send(sent)
        assert client.recv(2000) == sent, size
print(len(sizes))
"""


@live
def test_a_socket_gets_its_datagrams_back_until_the_count_is_reached(net: Namespace) -> None:
    with Attached(net, ["--tap", "spin0", ECHO_HOST, "--count", "8"], ends=True) as attached:
        addresses(net, "spin0", "10.7.0.1")
        net.ip("neighbour flush dev spin0")
        assert net.python(UDP_CLIENT, "7") == "7\n"
    assert attached.summary["packets"]["sent"] == 8, "seven datagrams and a question for the address"
    assert attached.summary["ended"]["text"].startswith("8 frames came")


MEMCACHED_CLIENT = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.settimeout(10)
    client.connect(("10.7.0.2", 11211))
    for number, request in enumerate(sys.argv[1:]):
        client.send(bytes([0, number, 0, 0, 0, 1, 0, 0]) + request.encode().decode("unicode_escape").encode())
        answer = client.recv(2000)
        assert answer[:8] == bytes([0, number, 0, 0, 0, 1, 0, 0]), answer
        print(answer[8:])
"""
MEMCACHED_BY_TCP = """
import socket, sys
with socket.create_connection(("10.7.0.2", 11211), timeout=10) as client:
    for request in sys.argv[1:]:
        client.sendall(request.encode().decode("unicode_escape").encode())
        answer = b""
        while not answer.endswith((b"END\\r\\n", b"STORED\\r\\n")):
            answer += client.recv(4000)
        print(answer.decode())
"""


def statistics(host: Namespace) -> dict[str, int]:
    lines = host.python(MEMCACHED_BY_TCP, r"stats\r\n").split("\n")
    words = [line.split() for line in lines if line.startswith("STAT cmd_")]
    return {name: int(value) for _stat, name, value in words}


@live
def test_a_cache_answers_hits_and_a_real_memcached_the_misses(net: Namespace) -> None:
    assert shutil.which("memcached"), "this test needs memcached: apt install memcached"
    arguments = ["--tap", "spin0", "--host-tap", "host0", MEMCACHE, "--match", "udp.dst_port == 11211"]
    with Namespace(within=net) as host, Attached(net, arguments) as attached:
        net.ip(f"link set host0 netns {host.pid}")
        addresses(net, "spin0", "10.7.0.1")
        addresses(host, "host0", "10.7.0.2")
        host.ip("link set lo up")
        command = ["memcached", "-u", "nobody", "-l", "10.7.0.2", "-p", "11211", "-U", "11211", "-t", "1"]
        server = subprocess.Popen(host.enter(command), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            until("memcached", lambda: is_open(host))
            said = net.python(MEMCACHED_CLIENT, r"set a 5 0 3\r\none\r\n", r"get a\r\n", r"get a\r\n")
            hit = r"b'VALUE a 5 3\r\none\r\nEND\r\n'"
            assert said.splitlines() == [r"b'STORED\r\n'", hit, hit]
            before = statistics(host)
            assert (before["cmd_set"], before["cmd_get"]) == (1, 0), "the card answered both reads"

            assert "STORED" in host.python(MEMCACHED_BY_TCP, r"set b 0 0 2\r\nbb\r\n")
            miss = net.python(MEMCACHED_CLIENT, r"get b\r\n", r"delete a\r\n", r"get a\r\n")
            assert miss.splitlines() == [r"b'VALUE b 0 2\r\nbb\r\nEND\r\n'", r"b'DELETED\r\n'", r"b'END\r\n'"]
            assert statistics(host)["cmd_get"] == before["cmd_get"] + 2, "the server answered both"
            # Other packets bypass the handler.
            assert "VALUE b 0 2" in net.python(MEMCACHED_BY_TCP, r"get b\r\n")
        finally:
            server.terminate()
            server.wait(timeout=DEADLINE_S)
    packets = attached.summary["packets"]
    assert (packets["matched"], packets["sent"], packets["to_host"]) == (6, 2, 4)
    host0 = interface(attached.summary, "host0")
    assert host0["frames_out"] == packets["ordinary"] + packets["to_host"]
    assert interface(attached.summary, "spin0")["frames_out"] == host0["frames_in"] + packets["sent"]


def is_open(host: Namespace) -> bool | None:
    try:
        statistics(host)
    except AssertionError:
        return None
    return True


@live
def test_a_card_with_chains_forwards_pings_to_the_host_and_back(net: Namespace) -> None:
    arguments = [
        *["--nic", "panic", "--service", "work: delay, cycles=40, units=2", "--tap", "spin0", "--host-tap", "host0"],
        *["--chain", "in: work => host", "--chain", "out queues=0: work => network:0"],
    ]
    with Namespace(within=net) as host, Attached(net, arguments) as attached:
        net.ip(f"link set host0 netns {host.pid}")
        addresses(net, "spin0", "10.7.0.1")
        addresses(host, "host0", "10.7.0.2")
        assert "3 received" in net.run("ping", "-c", "3", "-i", "0.2", "-W", "10", "10.7.0.2")
    spin0, host0 = (interface(attached.summary, name) for name in ("spin0", "host0"))
    assert spin0["frames_in"] == host0["frames_out"] >= 4
    assert host0["frames_in"] == spin0["frames_out"] >= 4


SENDER = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    for number in range(20):
        client.sendto(bytes(100), ("10.7.0.255", 9))
"""


@live
def test_a_slow_card_is_late_and_says_so(net: Namespace) -> None:
    """The Tigon-2 runs its firmware instruction by instruction. Frames that come meanwhile do not wait for that."""
    arguments = ["--nic", "tigon2", "--tap", "spin0", "--speed", "100", "--count", "20"]
    with Attached(net, arguments, ends=True) as attached:
        addresses(net, "spin0", "10.7.0.1")
        net.python(SENDER)
    found, summary = attached.summary["attach"], attached.summary
    assert found["behind_s"] > 0
    assert found["simulated_s"] < 100 * found["real_s"]
    assert "note: the simulation is slower than --speed" in attached.shown
    assert interface(summary, "spin0")["frames_in"] == 20
    assert summary["received"]["offered"] == 20
    assert summary["ended"]["text"].startswith("20 frames came")


@live
def test_the_duration_ends_it(net: Namespace) -> None:
    with Attached(net, ["--tap", "spin0", "--duration", "0.3 s", ECHO_HOST], ends=True) as attached:
        pass
    assert attached.summary["ended"]["text"].startswith("the duration is over")
    assert 0.3 <= attached.summary["attach"]["real_s"] < 5


@live
def test_interfaces_that_cannot_be_used_are_errors(net: Namespace) -> None:
    def refused(*arguments: str) -> str:
        done = subprocess.run(
            net.enter(spinet_attach([*arguments, ECHO_HOST])), cwd=ROOT, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 2, done.stderr
        return done.stderr

    with Attached(net, ["--tap", "spin0", ECHO_HOST]):
        assert "spin0: another program is attached to the interface" in refused("--tap", "spin0")
    assert "lo is an interface of another kind, must be a TAP" in refused("--tap", "lo")
    assert "spin1: network:1: no such port (allowed: network:0)" in refused("--tap", "spin0", "--tap", "spin1")


def test_without_the_privilege_the_error_says_what_to_run() -> None:
    # Root without this capability is like any other user.
    drop = ["setpriv", "--bounding-set=-net_admin", "--inh-caps=-net_admin"] if os.geteuid() == 0 else []
    assert_refused(["--tap", "spin0", ECHO_HOST], before=drop)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--tap", "a-name-that-is-long"], "the interface name a-name-that-is-long has 19 bytes, must have at most 15"),
        (["--tap", "spin/0"], "'spin/0' is not the name of an interface"),
        (["--tap", "spin0", "--tap", "spin0"], "spin0 is named twice"),
        (["--tap", "spin0", "--duration", "soon"], "invalid value for '--duration'"),
        (["--tap", "spin0", "--nic", "tigon2", "--host-tap", "host0"], "its host is simulated too"),
        (["--tap", "spin0", "--report"], "--report goes with -o"),
        ([], "missing option '--tap'"),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    program = [] if "tigon2" in arguments else [str(ROOT / ECHO_HOST)]
    assert cli.main(["attach", *arguments, *program]) == 2
    assert error in capsys.readouterr().err


def test_other_systems_have_no_tap(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cli.main(["attach", "--tap", "spin0", str(ROOT / ECHO_HOST)]) == 2
    assert "darwin has no TAP interfaces" in capsys.readouterr().err


def test_simulated_time_follows_real_time_and_stays_behind_once_it_is_late() -> None:
    clock = _live.Clock(speed=0.5, real_ns=1000)
    assert clock.at(3000) == 1_000_000, "2 us of real time, in ps at half the speed"
    clock.reached(1_000_000, 3000)
    assert clock.slipped_ps == 0
    clock.reached(1_200_000, 5000)
    assert (clock.slipped_ps, clock.at(5000), clock.at(7000)) == (800_000, 1_200_000, 2_200_000)
