# SPDX-License-Identifier: Apache-2.0
"""Speed of networks with a card on every node, for `make bench`."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from spinet import _programs, api, goal, run
from spinet.collectives import Flare

EXAMPLES = Path(__file__).resolve().parent.parent / "sdk" / "examples"
PING_PONG = EXAMPLES / "ping_pong.c"
EMPTY = EXAMPLES / "empty.c"

_BEST_OF = 3
_TURNS = 5


def messages_per_s() -> float:
    """Messages per second of processor time: a schedule of 1,024 ranks on plain NICs around a switch."""
    schedule = goal.make("dissemination", ranks=1024, bytes=64)
    best = 0.0
    for _ in range(_BEST_OF):
        before = time.process_time()
        result = goal.run(schedule, topology="star", loggops="o=100,g=0", threads=1)
        best = max(best, result.summary["messages"] / (time.process_time() - before))
    return best


def idle_nodes(scratch: Path) -> tuple[float, float]:
    """Seconds and peak MiB of a run with 1,024 PsPINs that get no packets."""
    nodes = [{"name": "n*", "program": str(EMPTY), "context": [{}]}]
    file = scratch / "idle.json"
    file.write_text(json.dumps({"topology": {"name": "star", "nodes": 1024}, "nodes": nodes}))
    runs = [_measured_run(file) for _ in range(_BEST_OF)]
    return min(seconds for seconds, _ in runs), min(mib for _, mib in runs)


def _measured_run(file: Path) -> tuple[float, float]:
    code = (
        "import resource, sys, time, spinet; begun = time.perf_counter();"
        f"spinet.run({str(file)!r}, keep_packets=False, threads=1);"
        "print(time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    seconds, mib = out.split()
    return float(seconds), float(mib)


def pairs(n_pairs: int, packets: int = 400) -> dict[str, Any]:
    """Pairs of PsPINs in a fat tree: an odd node's host sends 100 Gbit/s to the even node's handler, which replies."""
    nodes: list[dict[str, Any]] = []
    for pair in range(n_pairs):
        source = {"source": f"udp:size=1024,count={packets},rate=100G", "to": f"n{2 * pair}"}
        card = {"program": str(PING_PONG), "context": [{"match": "udp.dst_port == 1"}]}
        nodes.append({"name": f"n{2 * pair + 1}", "send": source, **card})
    nodes.append({"name": "n*", "program": str(PING_PONG), "context": [{"match": "udp"}]})
    return {"topology": {"name": "fat-tree", "levels": 2, "radix": 16, "nodes": 2 * n_pairs}, "nodes": nodes}


def share() -> float:
    """Speed of 32 pairs in one network, as a share of the speed of single pairs."""
    spinet_run(pairs(1), threads=1)
    together = min(spinet_run(pairs(32), threads=1) for _ in range(_BEST_OF))
    alone = min(32 * spinet_run(pairs(1), threads=1) for _ in range(_BEST_OF))
    return alone / together


def speedup() -> float:
    """Speed of 32 pairs on two threads, as a multiple of the speed on one thread. Measured by turns."""
    by_turns = [(_wall(threads=1), _wall(threads=2)) for _ in range(_TURNS)]
    return min(one for one, _ in by_turns) / min(two for _, two in by_turns)


def machine_speedup() -> float:
    """Speed of two independent runs of 32 pairs at once, as a multiple of the speed of one: what two cores can give."""
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as two:
        list(two.map(_one_thread, range(2)))
        by_turns = [(_one_thread(0), max(two.map(_one_thread, range(2)))) for _ in range(_TURNS)]
    return 2 * min(alone for alone, _ in by_turns) / min(both for _, both in by_turns)


def _one_thread(_number: int) -> float:
    return _wall(threads=1)


def _wall(*, threads: int) -> float:
    # With 400 packets a pair, set-up would take an eighth of the time: 60 ms of 500.
    return spinet_run(pairs(32, packets=2000), threads=threads, wall=True)


def ranks(scratch: Path) -> float:
    """Speed of 32 pairs on two processes of one thread each, relative to two threads. Measured by turns."""
    file = scratch / "pairs.json"
    # As many packets as in `_wall`, so that set-up matters little.
    file.write_text(json.dumps(pairs(32, packets=2000)))
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    mapping = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "OMPI_MCA_btl": "self,sm"}
    environment = {**os.environ, **as_root, **mapping}
    folder = Path(sys.executable).parent
    spinet = [str(folder / "spinet"), "run", str(file), "--json"]

    def once(command: list[str]) -> float:
        ended = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return float(json.loads(ended.stdout)["wall"]["seconds"])

    mpiexec = [str(folder / "mpiexec"), "-n", "2"]
    by_turns = [(once([*mpiexec, *spinet, "--threads", "1"]), once([*spinet, "--threads", "2"])) for _ in range(_TURNS)]
    return min(threads for _, threads in by_turns) / min(processes for processes, _ in by_turns)


def allreduce_64_s() -> float:
    """Seconds of an allreduce of 1 MiB among 64 hosts in the cards of 9 switches, on two threads, with the summary."""
    flare = Flare(hosts=64, leaves=8, elements=(1 << 20) // 4, buffers="tree", window=32)
    experiment = flare.network(link={"rate": "100G", "delay": "300 ns"})
    before = time.perf_counter()
    result = run(experiment, threads=2, keep_packets=False)
    wall = time.perf_counter() - before
    assert result.complete and result.summary["packets"]["dropped"] == 0, result.summary["ended"]["text"]
    return wall


def spinet_run(experiment: dict[str, Any], *, threads: int, wall: bool = False) -> float:
    """Seconds that a network is simulated: processor time, or elapsed time with `wall`. Programs are built before."""
    given = {"threads": threads}
    ready = _programs.built(api.prepare(experiment, given), given, cc=None, defines=None)
    clock = time.perf_counter if wall else time.process_time
    before = clock()
    native = api.start(ready)
    api.drive(native, tables=None)
    return clock() - before
