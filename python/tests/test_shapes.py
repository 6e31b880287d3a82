# SPDX-License-Identifier: Apache-2.0
"""Cards with other numbers of clusters and cores than the published one: 1 to 16 of each."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import spinet

WHERE = Path(__file__).resolve().parent / "handlers" / "where.c"
COUNT = "sdk/examples/count.c"
L1_BASE, L1_STRIDE, SCRATCHPAD = 0x10000000, 0x400000, 0x14400
HOST = 0x1000_0000_0000_0000


def shape(clusters: int, cores: int) -> list[str]:
    return [f"n_clusters={clusters}", f"cluster.n_cores={cores}"]


@pytest.mark.parametrize(("clusters", "cores"), [(1, 1), (2, 3), (4, 8), (5, 7), (8, 8), (1, 16), (16, 1), (16, 16)])
def test_every_core_of_a_card_runs_handlers_and_knows_its_place(clusters: int, cores: int) -> None:
    n = clusters * cores
    traffic = f"udp:size=64,count={4 * n + 8},flows={min(4 * n, 200)}"
    result = spinet.run(program=WHERE, traffic=traffic, pacing="asap", set=shape(clusters, cores))
    assert result.complete and not result.summary["traps"]
    assert result.summary["hpus"]["count"] == n
    found = struct.unpack(f"<{2 * n}I", result.host_memory(HOST, 8 * n))
    for gid in range(n):
        cluster, core = divmod(gid, cores)
        assert found[2 * gid] == cluster << 8 | core, f"core {core} of cluster {cluster}"
        assert found[2 * gid + 1] == L1_BASE + cluster * L1_STRIDE + SCRATCHPAD
    assert found[2 * n :] == ()


@pytest.mark.parametrize(("clusters", "cores"), [(1, 8), (3, 4), (8, 8), (16, 16)])
def test_a_message_spread_over_all_clusters_is_counted_whole(clusters: int, cores: int) -> None:
    traffic = "udp:size=64..256,count=3000,flows=20,seed=5"
    runs = [
        spinet.run(program=COUNT, traffic=traffic, message="by 5-tuple last", pacing="asap", set=shape(clusters, cores))
        for _ in range(2)
    ]
    assert runs[0].complete
    assert runs[0].digest == runs[1].digest
    counted = struct.unpack("<40I", runs[0].host_memory(HOST, 160))
    assert counted[::2] == (150,) * 20
    assert sum(counted[1::2]) == runs[0].summary["packets"]["in_bytes"]


@pytest.mark.parametrize("queues", [2, 64, 1024])
def test_messages_under_way_have_numbers_of_their_own_however_many_queues_there_are(queues: int) -> None:
    """`flow_id` is the number of the message's queue, by which handlers store its state."""
    flows = min(2 * queues, 800)
    result = spinet.run(
        program=COUNT,
        traffic=f"udp:size=64,count={3 * flows},flows={flows}",
        message="by 5-tuple last",
        pacing="asap",
        set=[f"scheduler.n_mpqs={queues}"],
    )
    at_once = min(queues, flows)
    assert result.summary["packets"]["without_queue"] == 3 * (flows - at_once)
    assert struct.unpack(f"<{2 * at_once}I", result.host_memory(HOST, 8 * at_once)) == (3, 3 * 64) * at_once


def assert_all_were_there(found: bytes, clusters: int, cores: int, *, pad: int) -> None:
    marks = struct.unpack(f"<{2 * clusters * cores}I", found)
    places = [(cluster, core) for cluster in range(clusters) for core in range(cores)]
    assert marks[::2] == tuple(cluster << 8 | core for cluster, core in places)
    assert marks[1::2] == tuple(L1_BASE + cluster * L1_STRIDE + SCRATCHPAD + pad for cluster, _ in places)


@pytest.mark.parametrize(("clusters", "cores"), [(8, 3), (2, 16)])
def test_handlers_of_a_machine_s_tenant_run_on_every_core(clusters: int, cores: int) -> None:
    n = clusters * cores
    with spinet.Machine(set=shape(clusters, cores)) as machine:
        tenant = machine.tenant("one")
        tenant.allocate(64, kind="scratchpad")
        pad, host = tenant.allocate(64, kind="scratchpad"), tenant.register(8 * n)
        tenant.context(program=tenant.load(WHERE), scratchpad=pad, host=host).install()
        machine.traffic(f"udp:size=64,count={4 * n + 8},flows={4 * n}", pacing="asap")
        machine.step("200 us")
        assert {event.what for event in tenant.take_events()} == {"message_done"}
        assert_all_were_there(host.read(), clusters, cores, pad=64)


EXPERIMENT = f"""
program = "{WHERE}"
traffic = {{ source = "udp:size=64,count=104,flows=96", pacing = "asap" }}
nic = {{ preset = "pspin", set = {{ n_clusters = 8, "cluster.n_cores" = 3 }} }}

[[tenant]]
name = "second"
program = "{WHERE}"

[[context]]
match = "udp.dst_port == 1"
scratchpad_bytes = 64

[[context]]
tenant = "second"
scratchpad_bytes = 64
"""


def test_so_do_those_of_an_experiment_s_tenant(tmp_path: Path) -> None:
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    result = spinet.run(experiment=tmp_path / "experiment.toml")
    assert result.complete and not result.summary["traps"]
    assert_all_were_there(result.host_memory(HOST + (1 << 30), 8 * 24), 8, 3, pad=64)


@pytest.mark.parametrize("change", ["n_clusters=17", "cluster.n_cores=17"])
def test_beyond_sixteen_is_refused(change: str) -> None:
    with pytest.raises(spinet.InputError, match="is 17, must be 1 to 16"):
        spinet.nic(set=[change])
