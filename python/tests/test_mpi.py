# SPDX-License-Identifier: Apache-2.0
"""Networks on several processes, with a real mpiexec: the same digest as on one process, one result, and clean ends."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import spinet
from spinet.output import OutputFolder

BIN = Path(sys.executable).parent
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",  # the gate may run as root
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "OMPI_MCA_btl": "self,sm",
}


def files(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file())


def mpiexec(n: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [str(BIN / "mpiexec"), "-n", str(n), str(BIN / "spinet"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=120, check=False)


def drawn(seed: int, path: Path) -> spinet.Network:
    """A random network; the seed determines topology, cards, senders and faults."""
    draw = random.Random(seed)
    shapes = [
        {"topology": "star", "nodes": draw.randint(3, 6)},
        {"topology": "fat-tree", "levels": 2, "radix": 4, "nodes": draw.randint(5, 8)},
        {"topology": "torus", "dimensions": [3, 2]},
        {"topology": "dragonfly", "nodes_per_switch": 1, "switches_per_group": 2, "global_links": 1},
    ]
    faults = draw.choice([None, "loss=0.02,duplicate=0.02,reorder=0.05:4"])
    link = {"rate": draw.choice(["40G", "100G"]), "delay": f"{draw.randint(200, 900)} ns"}
    net = spinet.Network(**shapes[seed % 4], link={**link, **({"faults": faults} if faults else {})}, seed=seed)
    for node in net:
        to = draw.choice([other.name for other in net if other.name != node.name])
        size = f"{draw.randint(64, 300)}..{draw.randint(400, 1500)}"
        source = f"udp:size={size},count={draw.randint(5, 40)},rate={draw.randint(5, 60)}G"
        node.host.send = {"source": source, "to": to}
        if draw.random() < 0.5:
            program = draw.choice(["ping_pong", "count", "copy_to_host"])
            node.update(program=f"sdk/examples/{program}.c", context=[{"match": "udp.dst_port < 4000"}])
    net.values["limit"] = "200 us"
    net.save(path)
    return net


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_the_digest_does_not_depend_on_threads_and_processes(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    drawn(seed, path)
    digests = {f"{n} threads": spinet.run(path, threads=n, keep_packets=False).digest for n in (1, 2, 3, 4)}
    for n in (2, 4) if seed < 2 else (3,):
        ended = mpiexec(n, "run", str(path), "--json")
        assert ended.returncode == 0, ended.stderr
        digests[f"{n} processes"] = json.loads(ended.stdout)["digest"]
    assert len(set(digests.values())) == 1, digests


def same_files(ours: Path, theirs: Path) -> None:
    """Both folders have the same files, byte by byte. Summaries and their JSON may differ in host times."""
    assert files(ours) == files(theirs)
    for name in files(ours):
        if name.endswith("summary.json"):
            ones, others = (json.loads((folder / name).read_text()) for folder in (ours, theirs))
            assert ones.pop("wall") and others.pop("wall")
            assert ones == others, name
        else:
            assert (ours / name).read_bytes() == (theirs / name).read_bytes(), name


def test_one_result_comes_out_that_equals_the_one_of_one_process(tmp_path: Path) -> None:
    path, folder = tmp_path / "net.toml", tmp_path / "result"
    net = drawn(1, path)
    placed = net.nodes[-1]
    placed["rank"] = 0
    net.save(path)
    for threads in (1, 2):
        spinet.run(path, threads=threads, profile=True, folder=tmp_path / f"threads_{threads}")
    ended = mpiexec(2, "run", str(path), "-o", str(folder), "--profile")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("Digest") == 1
    # Summaries, profiles and tables of cards contain their own times, which must not depend on windows.
    assert any(name.startswith("nodes/") for name in files(folder)), files(folder)
    same_files(folder, tmp_path / "threads_1")
    same_files(folder, tmp_path / "threads_2")
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_links_are_not_captured_by_several_processes(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    net = drawn(1, path)
    net.values["captures"] = ["n*"]
    net.save(path)
    ended = mpiexec(2, "run", str(path), "-o", str(tmp_path / "result"))
    assert ended.returncode == 2, ended.stderr
    assert "captures is `n*`, must be empty in a run of several processes" in ended.stderr
    assert not (tmp_path / "result").exists()


def test_a_schedule_has_the_same_results_on_several_processes(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    shape = "topology = { name = 'fat-tree', levels = 2, radix = 4, nodes = 6 }\nloggops = 'o=100,g=20,S=9000'\n"
    path.write_text(f"schedule = 'schedule.goal'\n{shape}")
    # Vectors of up to 20,000 bytes: eager messages, and messages that are announced and read.
    spinet.goal.make("alltoallv", ranks=6, bytes=20_000).write(tmp_path / "schedule.goal")
    alone = spinet.run(path, folder=tmp_path / "alone")
    assert alone.summary["schedule"]["messages"] == 30
    ended = mpiexec(3, "run", str(path), "-o", str(tmp_path / "together"))
    assert ended.returncode == 0, ended.stderr
    same_files(tmp_path / "together", tmp_path / "alone")


def test_a_schedule_that_waits_forever_is_explained_once(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text("schedule = 'schedule.goal'\ntopology = { name = 'star', nodes = 2 }\n")
    ranks = "".join(f"rank {rank} {{\nrecv 8b from {1 - rank}\n}}\n" for rank in (0, 1))
    (tmp_path / "schedule.goal").write_text(f"num_ranks 2\n{ranks}")
    ended = spinet.run(path).summary["ended"]
    assert "rank 0 waits in recv (line 3) for rank 1, which waits in recv (line 6) for rank 0" in ended["text"]
    together = mpiexec(2, "run", str(path), "--json")
    assert json.loads(together.stdout)["ended"] == ended, together.stderr


def test_a_process_that_is_killed_ends_all_within_seconds(tmp_path: Path) -> None:
    path, folder = tmp_path / "net.toml", tmp_path / "result"
    net = spinet.Network(topology="star", nodes=4, limit="1 s")
    for node in net:
        node.host.send = {"source": "udp:size=64,rate=1G,count=1000000000", "to": "n0" if node.name != "n0" else "n1"}
    net.save(path)
    command = [str(BIN / "mpiexec"), "-n", "3", str(BIN / "spinet"), "run", str(path), "-o", str(folder)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    ) as running:
        victim = None
        deadline = time.monotonic() + 60
        while victim is None and time.monotonic() < deadline:
            time.sleep(0.2)
            if list(tmp_path.glob(".result.*.part/frames.parquet")):
                victim = next(iter(ranks_of(running.pid, rank=2)), None)
        assert victim is not None, "the processes did not start"
        time.sleep(1)
        os.kill(victim, signal.SIGKILL)
        begun = time.monotonic()
        _, error = running.communicate(timeout=60)
        assert time.monotonic() - begun < 10
    assert running.returncode != 0
    assert "rank 2" in error and "signal 9" in error, error  # reported by mpiexec
    assert not folder.exists()
    with OutputFolder(folder):
        pass  # mpiexec may kill processes before they clean up; then the next run cleans up
    assert not list(tmp_path.glob(".result.*")), "something half-written is left"


def ranks_of(parent: int, *, rank: int) -> list[int]:
    """Child processes of `parent` with this rank."""
    found = []
    for place in Path("/proc").iterdir():
        try:
            environment = (place / "environ").read_bytes().split(b"\0") if place.name.isdecimal() else []
            status = (place / "status").read_text() if environment else ""
        except OSError:
            continue
        if f"OMPI_COMM_WORLD_RANK={rank}".encode() in environment and f"PPid:\t{parent}\n" in status:
            found.append(int(place.name))
    return found


def test_mistakes_are_reported_once(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_text("topology = { name = 'star', nodes = 3 }\nnodes = [{ name = 'n1', rank = 5 }]\n")
    for arguments, text in (
        (("run", str(path)), "rank of node `n1` is 5, must be below 2, the number of processes"),
        (("run", "experiments/networks/nothing.toml"), "experiments/networks/nothing.toml"),
        (("run", "sdk/examples/count.c", "--traffic", "udp:count=1"), "only networks run on several"),
    ):
        ended = mpiexec(2, *arguments)
        assert ended.returncode == 2, ended.stderr
        assert ended.stderr.count("error: ") == 1 and text in ended.stderr


def test_without_mpi4py_there_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "mpi4py.py").write_text("raise ImportError('No module named mpi4py')\n")
    environment = {**os.environ, "PMI_SIZE": "2", "PYTHONPATH": str(tmp_path)}
    command = [str(BIN / "spinet"), "run", "experiments/networks/pair.toml"]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 2
    assert "mpiexec started 2 processes, and mpi4py cannot join them" in ended.stderr
    assert "hint: pip install 'spinet[mpi]'" in ended.stderr
