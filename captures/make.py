#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Make the captures in this folder: real Linux hosts, real programs, one cable.

Two network namespaces, `client` and `server`, are joined by a veth pair. Each function below runs one application
between them while tcpdump records the packets at the server's end. Checksums are computed by the hosts, not left to a
NIC that is not there. Addresses are fixed; ports, sequence numbers and times are the kernel's and differ from run to
run.

Needs root and Debian's iproute2, ethtool, tcpdump, iputils-ping, dnsmasq-base, bind9-dnsutils, curl, memcached and
iperf3.

    sudo captures/make.py [NAME ...]
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
CLIENT, SERVER = f"client{os.getpid()}", f"server{os.getpid()}"
SERVER_V4, SERVER_V6 = "10.0.0.2", "fd00::2"


def run(*command: str) -> None:
    """Run to the end; a failure ends the script."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def on(host: str, *command: str) -> tuple[str, ...]:
    """The command, as a program of that host."""
    return ("ip", "netns", "exec", host, *command)


@contextlib.contextmanager
def running(*command: str, until: Callable[[], bool], cwd: Path | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A program in the background, from the moment it is ready to the end of the block."""
    process = subprocess.Popen(command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 10
        while not until():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"{' '.join(command)} did not start")
            time.sleep(0.02)
        yield process
    finally:
        process.terminate()
        process.wait()


def listening(port: int, *, udp: bool = False) -> Callable[[], bool]:
    """Returns true if a program of the server listens on this port."""
    command = on(SERVER, "ss", "-Hln", "-u" if udp else "-t", f"sport = :{port}")
    return lambda: bool(subprocess.run(command, check=True, capture_output=True).stdout.strip())


@contextlib.contextmanager
def two_hosts() -> Iterator[None]:
    """Two hosts on one cable, without offloads and without their own background packets."""
    try:
        for host in (CLIENT, SERVER):
            run("ip", "netns", "add", host)
        run("ip", "link", "add", "eth0", "netns", CLIENT, "type", "veth", "peer", "name", "eth0", "netns", SERVER)
        for number, host in ((1, CLIENT), (2, SERVER)):
            run(*on(host, "sysctl", "-qw", "net.ipv6.conf.eth0.router_solicitations=0"))
            run(*on(host, "ip", "link", "set", "eth0", "address", f"02:00:00:00:00:0{number}"))
            run(*on(host, "ethtool", "-K", "eth0", "tx", "off", "rx", "off", "tso", "off", "gso", "off", "gro", "off"))
            run(*on(host, "ip", "addr", "add", f"10.0.0.{number}/24", "dev", "eth0"))
            run(*on(host, "ip", "addr", "add", f"fd00::{number}/64", "dev", "eth0", "nodad"))
            run(*on(host, "ip", "link", "set", "lo", "up"))
            run(*on(host, "ip", "link", "set", "eth0", "up"))
        time.sleep(2)  # duplicate address detection and multicast reports of the link-local addresses
        yield
    finally:
        for host in (CLIENT, SERVER):
            subprocess.run(("ip", "netns", "delete", host), check=False)


@contextlib.contextmanager
def recording(name: str, *, only: str) -> Iterator[None]:
    """Record what passes the server's interface, whole packets, nanosecond times."""
    path = HERE / f"{name}.pcap"
    options = ("-i", "eth0", "-s", "0", "-U", "--immediate-mode", "--nano", "-Z", "root", "-w", str(path), only)
    path.unlink(missing_ok=True)

    def header_written() -> bool:
        return path.exists() and path.stat().st_size >= 24

    with running(*on(SERVER, "tcpdump", *options), until=header_written) as tcpdump:
        yield
        time.sleep(0.3)  # the last packets
        tcpdump.terminate()
        tcpdump.wait()
    print(f"{path.name}: {path.stat().st_size} bytes")


def ping() -> None:
    """Echo requests of several sizes over IPv4 and IPv6, and the address resolution before them."""
    for host in (CLIENT, SERVER):
        run(*on(host, "ip", "neigh", "flush", "dev", "eth0"))
    with recording("ping", only="arp or icmp or icmp6"):
        for size in ("56", "57", "1000", "1472"):
            run(*on(CLIENT, "ping", "-q", "-c", "3", "-i", "0.05", "-s", size, SERVER_V4))
        run(*on(CLIENT, "ping", "-q", "-c", "3", "-i", "0.05", "-s", "56", SERVER_V6))


def dns() -> None:
    """Names resolved by dnsmasq, over IPv4 and IPv6."""
    records = (
        f"--address=/web.example/{SERVER_V4}",
        f"--address=/web.example/{SERVER_V6}",
        "--txt-record=web.example,packet handlers on the NIC",
        "--mx-host=example,mail.example,10",
        "--local=/example/",
    )
    server = on(SERVER, "dnsmasq", "-k", "--no-resolv", "--no-hosts", "--conf-file=/dev/null", "--user=root", *records)
    with running(*server, until=listening(53, udp=True)), recording("dns", only="port 53"):
        for address in (SERVER_V4, SERVER_V6):
            for name, kind in (("web", "A"), ("web", "AAAA"), ("web", "TXT"), ("absent", "A")):
                run(*on(CLIENT, "dig", "+tries=1", "+time=2", f"@{address}", f"{name}.example", kind))
        run(*on(CLIENT, "dig", "+tries=1", "+time=2", f"@{SERVER_V4}", "example", "MX"))


def http() -> None:
    """A page of some 8 KB and an error, fetched by curl from Python's web server."""
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join(f"<li>packet {number} of a page that is fetched</li>\n" for number in range(160))
        (Path(folder) / "index.html").write_text(f"<!doctype html><title>spinet</title><ol>\n{lines}</ol>\n")
        server = on(SERVER, sys.executable, "-m", "http.server", "80", "--bind", SERVER_V4)
        with running(*server, until=listening(80), cwd=Path(folder)), recording("http", only="tcp port 80"):
            run(*on(CLIENT, "curl", "-s", f"http://{SERVER_V4}/"))
            run(*on(CLIENT, "curl", "-s", f"http://{SERVER_V4}/absent"))


# The client's side of memcached over UDP: request id, sequence number, datagrams in the message, reserved; then text.
MEMCACHED_CLIENT = """
import socket, struct, sys
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.settimeout(2)
link.connect((sys.argv[1], 11211))
def ask(number, text):
    link.send(struct.pack("!HHHH", number, 0, 1, 0) + text.encode())
    return link.recv(2048)
for key in range(6):
    ask(key, f"set key{key} 0 0 {32 << key}\\r\\n{'v' * (32 << key)}\\r\\n")
for key in range(8):
    ask(100 + key, f"get key{key}\\r\\n")
"""


def memcached() -> None:
    """Values of 32 to 1024 bytes set and got over UDP; the last two keys do not exist."""
    server = on(SERVER, "memcached", "-u", "root", "-U", "11211", "-l", SERVER_V4)
    with running(*server, until=listening(11211, udp=True)), recording("memcached", only="udp port 11211"):
        run(*on(CLIENT, sys.executable, "-c", MEMCACHED_CLIENT, SERVER_V4))


def iperf3(name: str, *options: str, only: str) -> None:
    """One short run of iperf3."""
    server = on(SERVER, "iperf3", "-s", "-1")
    with running(*server, until=listening(5201)), recording(name, only=only):
        run(*on(CLIENT, "iperf3", "-c", SERVER_V4, *options))


RECIPES: dict[str, Callable[[], None]] = {
    "ping": ping,
    "dns": dns,
    "http": http,
    "memcached": memcached,
    "iperf3-udp": lambda: iperf3("iperf3-udp", "-u", "-k", "40", "-l", "1000", "-b", "20M", only="udp port 5201"),
    "iperf3-tcp": lambda: iperf3("iperf3-tcp", "-n", "40K", "-l", "4K", only="tcp port 5201"),
}


def main(names: Sequence[str]) -> None:
    unknown = [name for name in names if name not in RECIPES]
    if unknown:
        raise SystemExit(f"no capture called {', '.join(unknown)}; there are {', '.join(RECIPES)}")
    if os.geteuid() != 0:
        raise SystemExit("network namespaces need root")
    with two_hosts():
        for name in names or RECIPES:
            RECIPES[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
