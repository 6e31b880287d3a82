# SPDX-License-Identifier: Apache-2.0
"""Runs that train the compiler for a wheel of `make dist-pgo`: some of each kind of card.

The programs are the examples of the SDK, which users start from. The programs of `make bench` are others, so that it
measures what a user's own program gains.
"""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path

import networks
import saturated
import spinet
from spinet import goal

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "sdk" / "examples"
EXPERIMENTS = ROOT / "experiments" / "networks"

# Handlers with traffic that they were written for.
_HANDLERS: list[tuple[str, str]] = [
    ("ping_pong", "udp:size=64,count=10000"),
    ("ping_pong", "udp:size=1024,count=5000"),
    ("empty", "udp:size=64,count=20000"),
    ("count", "udp:size=512,count=5000"),
    ("histogram", "udp:size=1024,count=2000"),
    ("aggregate", "udp:size=512,count=5000"),
    ("copy_to_host", "udp:size=1500,count=5000"),
    ("filter", str(ROOT / "captures" / "dns.pcap")),
]


def main() -> None:
    """Run all, each for some seconds of an instrumented simulator."""
    with tempfile.TemporaryDirectory() as scratch:
        for number, (handler, traffic) in enumerate(_HANDLERS):
            _say(f"{handler}, {traffic}")
            result = spinet.run(program=EXAMPLES / f"{handler}.c", traffic=traffic, profile=number % 2 == 1)
            result.save(Path(scratch) / str(number))
    _say("panic, two programs in a chain")
    core = tomllib.loads((ROOT / "presets" / "units" / "riscv.toml").read_text())
    programs = {name: str(EXAMPLES / "panic" / f"{name}.c") for name in ("nat", "swap")}
    services = [{"name": name, "engine": core, "program": program} for name, program in programs.items()]
    spinet.run(services=services, chains=["all: nat -> swap"], traffic="udp:size=512,count=3000")
    _say("panic, encryption")
    spinet.run(nic="panic", chains=["ipsec: sha -> aes"], traffic="udp:size=1472,count=2000,rate=30G")
    for nic in ("pipeline", "manycore"):
        _say(f"{nic}, one function")
        work = {"name": "work", "engine": "delay", "set": {"cycles": 20}}
        spinet.run(nic=nic, services=[work], chains=["all: work"], traffic="udp:size=512,count=5000,rate=20G")
    for nic, limit in (("tigon2", "400 us"), ("tengig", "400 us")):
        _say(f"{nic}, both directions saturated")
        saturated.run(nic, limit, clears=False)
    for network in ("ping-pong", "allreduce", "incast"):
        _say(f"network {network}")
        spinet.run(EXPERIMENTS / f"{network}.toml")
    _say("network of 16 PsPINs")
    networks.spinet_run(networks.pairs(8), threads=2)
    _say("GOAL schedules")
    schedule = goal.make("alltoall", ranks=64, bytes=4096)
    goal.run(schedule)
    goal.run(schedule, topology="star")


def _say(what: str) -> None:
    print(f"  {what}", flush=True)


if __name__ == "__main__":
    main()
