# SPDX-License-Identifier: Apache-2.0
"""`spinet.Network`: networks from Python, steps, hooks, records of nodes."""

from __future__ import annotations

import json
import pickle
import re
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import spinet
from spinet import cli, collectives
from spinet._core import UsageError

NETWORKS = Path("experiments/networks")


def small() -> spinet.Network:
    net = spinet.Network(topology="star", nodes=4, link={"rate": "100G", "delay": "300 ns"})
    net["n0"].host.send = {"source": "udp:size=200..1500,count=300,rate=50G,flows=8", "to": "n3"}
    net["n1"].host.send = [{"source": "udp:size=64,count=300,rate=20G", "to": "n3"}]
    net["n3"].update(program="sdk/examples/copy_to_host.c", context=[{"match": "udp"}])
    return net


def test_python_and_toml_say_the_same(tmp_path: Path) -> None:
    net = small()
    again = spinet.Network.from_toml(net.to_toml())
    assert again.experiment == net.experiment
    net.save(tmp_path / "net.toml")
    assert spinet.Network.load(tmp_path / "net.toml").run().digest == again.run().digest == net.run().digest
    for path in sorted(NETWORKS.glob("*.toml")):
        loaded = spinet.Network.load(path)
        assert spinet.Network.from_toml(loaded.to_toml(), base_dir=loaded.base_dir).experiment == loaded.experiment


def test_steps_threads_and_hooks_change_no_result() -> None:
    whole = small().run(threads=1)
    net = small()
    seen: list[int] = []
    net.on("delivered", lambda event: seen.append(event.at_ps), node="n3")
    for until in ("700 ns", "1 us", "1001 ns", "17 us", "31.5 us"):
        result = net.run(until=until, **({"threads": 2} if until == "700 ns" else {}))
        assert (result.ended, net.now_ps) == ("running", spinet._core.span_ps(until))  # type: ignore[attr-defined]
    result = net.run()
    assert (result.digest, result.ended) == (whole.digest, "complete")
    assert result.table("frames").equals(whole.table("frames"))
    assert net[3].packets.equals(whole.nodes["n3"].packets)
    assert len(seen) == 600 and seen == sorted(seen)


def test_ends_of_links_are_captured(tmp_path: Path) -> None:
    net = spinet.Network(topology="pair", link={"rate": "100G", "delay": "300 ns"}, captures=["n*", "n1:0"])
    net[0].host.send = {"source": "udp:size=256,count=5,rate=10G", "to": "n1"}
    net.run(until="100 ns")
    with pytest.raises(UsageError, match="there is no capture of `n0:0`"):
        net.result.captured("n0:0")  # it is complete at the end
    result = net.run()
    sent, received = result.captured("n0:0"), result.captured("n1:0")
    assert [one.data for one in sent] == [one.data for one in received] and len(sent) == 5
    assert {arrived.time_ns - left.time_ns for left, arrived in zip(sent, received, strict=True)} == {300}
    result.save(tmp_path / "saved")
    net.save(tmp_path / "net.toml")
    for threads in (1, 2):
        folder = tmp_path / str(threads)
        spinet.run(tmp_path / "net.toml", threads=threads, folder=folder)
        for name in ("links/n0-0.pcapng", "links/n1-0.pcapng"):
            assert (folder / name).read_bytes() == (tmp_path / "saved" / name).read_bytes()
    assert sorted(path.name for path in (tmp_path / "saved/links").iterdir()) == ["n0-0.pcapng", "n1-0.pcapng"]
    assert spinet.run(tmp_path / "net.toml").captured("n1:0") == received


@pytest.mark.parametrize(
    ("end", "allowed"),
    [
        ("n2", "NODE or NODE:PORT of a node or switch"),
        ("", "NODE or NODE:PORT of a node or switch"),
        ("n0:1", "one of `n0:0`"),
        ("n*:x", "one of `n0:0`, `n1:0`"),
    ],
)
def test_an_end_that_no_link_has_is_refused(end: str, allowed: str) -> None:
    net = spinet.Network(topology="pair", captures=[end])
    with pytest.raises(spinet.InputError, match=re.escape(f"captures is `{end}`, must be {allowed}")):
        net.run()


def test_a_hook_gets_events_and_stops_the_run() -> None:
    net = spinet.Network.load(NETWORKS / "incast.toml")
    drops: list[spinet.network.FrameEvent] = []  # type: ignore[name-defined]

    @net.on("dropped", node="sw0")
    def stop(event: spinet.network.FrameEvent) -> None:  # type: ignore[name-defined]
        drops.append(event)
        net.stop()

    result = net.run()
    assert result.ended == "running" and net.now_ps % 10_000_000 == 0
    assert {(event.reason, event.event) for event in drops} == {("queue_full", "dropped")}
    rows = result.table("frames").to_pydict()
    assert len(drops) == rows["event"].count("dropped")
    with pytest.raises(spinet.InputError, match="event is 'drop', must be one of entered, crossed"):
        net.on("drop")
    with pytest.raises(spinet.InputError, match="no node or switch 'sw9'"):
        net.on("dropped", node="sw9")


def test_nodes_have_records_of_their_own() -> None:
    net = small()
    net.run(profile=True)
    server = net["n3"]
    assert server.packets.num_rows == server.summary["packets"]["in"] == 600
    assert sum(row["executed"] for row in json.loads(server.profile.to_json())["instructions"]) > 0
    context = server.summary["contexts"][0]["host_memory"]
    payload = server.host.memory(context["addr"], 64)
    assert payload[12:14] == b"\x08\x00", "the host memory has no IPv4 packet"
    copied = pickle.loads(pickle.dumps(net.result))
    assert copied.nodes["n3"].host_memory(context["addr"], 64) == payload
    assert copied.nodes["n3"].packets.num_rows == 600
    with pytest.raises(spinet.InputError, match="keeps no records of a card on n0"):
        _ = net[0].packets


SLOW = """
#include <handler.h>
#include <spin_time.h>

__handler__ void slow_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t start = spin_now32();
    spin_cmd_t copied;

    while (spin_now32() - start < 45000 || spin_now32() % 2000 < 1600) {
    }
    spin_dma_to_host(spin_host_address(task, 0), (uintptr_t)task->pkt_mem, task->pkt_mem_size, false, &copied);
}
"""


def test_the_last_write_of_a_slow_handler_reaches_the_host(tmp_path: Path) -> None:
    # The handler ends long after the last frame, and just before a check for the end of the run, which come every 2 us.
    # Its posted write lands after that check, because of the latency of PCIe.
    (tmp_path / "slow.c").write_text(SLOW)
    net = spinet.Network(topology="pair", link={"rate": "100G", "delay": "300 ns"})
    net["n0"].host.send = {"source": "udp:size=1024,count=1", "to": "n1"}
    net["n1"].update(program=str(tmp_path / "slow.c"), context=[{"match": "udp"}])
    result = net.run()
    assert result.ended == "complete"
    context = net["n1"].summary["contexts"][0]["host_memory"]
    assert net["n1"].host.memory(context["addr"], 14)[12:] == b"\x08\x00", "the host memory has no IPv4 packet"


def test_messages_and_a_schedule_are_keywords() -> None:
    net = spinet.Network(
        topology="star",
        nodes=16,
        messages={"transport": "credits", "mtu": 1024},
        schedule="allreduce-16.goal",
        loggops="o=200,g=0,O=0",
        model="atlahs",
        base_dir=NETWORKS,
    )
    assert spinet.Network.from_toml(net.to_toml(), base_dir=NETWORKS).values["messages"]["mtu"] == 1024
    result = net.run(threads=1)
    assert result.ended == "complete" and result.table("messages").num_rows > 0
    with pytest.raises(spinet.InputError, match=r"^messages is 3, must be a mapping$"):
        spinet.Network(topology="pair", messages=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ({"topology": "pair", "link": {"rate": 3}}, "  rate = 3\n         ^"),
        ({"topology": "pair", "limit": 10}, "  limit = 10\n          ^^"),
        ({"topology": "pair", "nodes": [{"name": "n0", "rank": "x"}]}, '"x"'),
    ],
)
def test_a_value_of_a_wrong_type_is_shown_with_its_key(keys: dict[str, Any], line: str) -> None:
    given = {**keys, "topology": {"name": keys["topology"]}}
    for make in (lambda: spinet.Network(**keys), lambda: spinet.Experiment(given), lambda: spinet.run(given)):
        with pytest.raises(spinet.InputError, match=r"^found the ") as refused:
            make()
        assert line in str(refused.value)


def test_wrong_arguments_are_named() -> None:
    net = small()
    for make, text in (
        (lambda: net.run(until=5), "until is 5, must be a text such as '20 us'"),  # type: ignore[arg-type]
        (lambda: net.on("crossed", print, link="n0"), "there is no link 'n0'; there are 4, such as 'n0-sw0'"),
        (lambda: net.on("crossed", print, node="n4"), "there is no node or switch 'n4'; there are 5, such as 'n0'"),
    ):
        with pytest.raises(spinet.InputError) as refused:
            make()
        assert str(refused.value) == text
    with pytest.raises(IndexError, match=r"^there is no node 4; there are 4, numbered from 0$"):
        net[4]
    with pytest.raises(AttributeError, match=r"has no `frame`; its tables are frames, messages, operations$"):
        net.run().table("frame")


def test_single_nodes_change_without_their_neighbours() -> None:
    udp = [{"match": "udp"}]
    net = spinet.Network(
        nodes=[{"name": "a", "count": 3, "program": "sdk/examples/count.c", "context": udp}, {"name": "b"}],
        switches=[{"name": "sw"}],
        links=[{"from": name, "to": "sw"} for name in ("a0", "a1", "a2", "b")],
    )
    net["a1"]["program"] = "sdk/examples/empty.c"
    assert [node.get("program") for node in net] == [
        *(f"sdk/examples/{one}.c" for one in ("count", "empty", "count")),
        None,
    ]
    tree = spinet.Network(topology="star", nodes=4, nic="plain")
    tree.values["nodes"] = [{"name": "n*", "program": "sdk/examples/count.c", "nic": "pspin", "context": udp}]
    tree[2]["program"] = "sdk/examples/empty.c"
    assert [node["program"] for node in tree] == [
        f"sdk/examples/{one}.c" for one in ("count", "count", "empty", "count")
    ]


def test_messages_have_rows() -> None:
    net = spinet.Network.load(NETWORKS / "ping-pong.toml")
    one, two = (net.run(threads=1).table("messages"), spinet.Network.load(NETWORKS / "ping-pong.toml"))
    assert two.run(threads=2).table("messages").equals(one)
    rows = one.to_pylist()
    assert [row["from"] for row in rows[:4]] == [0, 1, 0, 1]
    for row in rows:
        assert row["kind"] == "put" and row["dropped"] == 0
        assert (
            row["posted_ps"]
            <= row["first_sent_ps"]
            < row["first_arrived_ps"]
            < row["last_arrived_ps"]
            <= row["done_ps"]
        )
    # Each side answers when it has the message of the other.
    assert all(after["posted_ps"] >= row["done_ps"] for row, after in pairwise(rows))


def test_the_summary_has_the_slowest_messages(capsys: pytest.CaptureFixture[str]) -> None:
    result = spinet.run(NETWORKS / "incast-pfc.toml")
    found = result.summary["messages"]
    rows = result.table("messages").to_pandas()
    latency = rows["done_ps"] - rows["posted_ps"]
    assert (found["done"], found["unfinished"], found["bytes"]) == (len(rows), 0, rows["bytes"].sum())
    assert found["latency_ns"]["max"] == latency.max() / 1000
    slowest = found["slowest"]
    assert [row["latency_ns"] for row in slowest] == sorted(latency / 1000, reverse=True)[: len(slowest)]
    for row in slowest:
        parts = sum(row[part] for part in ("nic_ns", "link_ns", "queue_ns", "receiver_ns"))
        assert abs(parts - row["latency_ns"]) < 1e-6
    assert cli.main(["run", str(NETWORKS / "incast-pfc.toml")]) == 0
    printed = capsys.readouterr().out
    assert f"{len(rows)} messages between hosts" in printed
    assert "Slowest messages" in printed


def test_a_window_of_time_keeps_the_messages_that_were_posted_in_it(tmp_path: Path) -> None:
    every = spinet.run(NETWORKS / "dissemination-64.toml").table("messages").to_pylist()
    folder = tmp_path / "some"
    arguments = ["run", str(NETWORKS / "dissemination-64.toml"), "-o", str(folder), "--keep-time", "2 us..9 us"]
    assert cli.main([*arguments, "--keep-nodes", "n1*"]) == 0
    names = [f"n{number}" for number in range(64)]
    wanted = [
        row
        for row in every
        if 2_000_000 <= row["posted_ps"] < 9_000_000 and any(names[row[end]].startswith("n1") for end in ("from", "to"))
    ]
    assert 0 < len(wanted) < len(every) == 64 * 6
    assert pq.read_table(folder / "messages.parquet").to_pylist() == wanted


def test_a_selection_keeps_messages_and_their_frames(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = spinet.run(NETWORKS / "dissemination-64.toml")
    folder, file = tmp_path / "some", str(NETWORKS / "dissemination-64.toml")
    kept = ["from=n3,to=n5", "from=n7,number=0"]
    assert cli.main(["run", file, "-o", str(folder), *(f"--keep-messages={one}" for one in kept)]) == 0
    wanted = [
        row
        for row in whole.table("messages").to_pylist()
        if (row["from"], row["to"]) == (3, 5) or (row["from"], row["number"]) == (7, 0)
    ]
    assert {row["from"] for row in wanted} == {3, 7}
    assert pq.read_table(folder / "messages.parquet").to_pylist() == wanted
    frames = pq.read_table(folder / "frames.parquet").to_pylist()
    entered = [row for row in frames if row["event"] == "entered"]
    senders = [row["from"] for row in wanted for _ in range(row["frames"])]
    assert sorted(row["frame_node"] for row in entered) == sorted(senders)
    ours = {(row["frame_node"], row["frame"]) for row in entered}
    assert frames == [row for row in whole.table("frames").to_pylist() if (row["frame_node"], row["frame"]) in ours]
    assert json.loads((folder / "summary.json").read_text())["digest"] == whole.summary["digest"]
    net = spinet.Network.load(file)
    assert net.run(keep_messages=kept, threads=1).table("frames").to_pylist() == frames
    capfd.readouterr()
    for wrong, text in (
        ("from=m3", "--keep-messages is `m3`, must be a node or a pattern that fits one"),
        ("form=n3", "--keep-messages is `form`, must be one of from, to, kind, tag, number; did you mean `from`?"),
        ("tag=9..7", "--keep-messages is `9..7`, must be a number such as 7, or the first and last one, such as 7..9"),
    ):
        assert cli.main(["run", file, "--keep-messages", wrong]) == 2
        assert text in capfd.readouterr().err


def test_a_run_that_has_begun_refuses_changes() -> None:
    net = small()
    net.run(until="2 us")
    net["n2"].host.send = {"source": "udp:count=3", "to": "n3"}
    with pytest.raises(spinet.InputError, match="was changed after its run began"):
        net.run()
    net.reset()
    assert net.run().summary["packets"]["in"] == 603
    with pytest.raises(spinet.InputError, match="only its first call takes these keywords"):
        net.run(threads=2)
    with pytest.raises(KeyError, match="there is no node 'n9'; there are 4, from n0 to n3"):
        _ = net["n9"]
    with pytest.raises(spinet.InputError, match=r"topology\.nodes: is 1, must be 2 to 1024"):
        spinet.Network(topology="star", nodes=1)


def test_a_saved_network_has_its_files_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPINET_CACHE", str(tmp_path / "cache"))
    net = spinet.Network(collectives.Group(operation="broadcast", size=4, n_bytes=256).network())
    (tmp_path / "here").mkdir()
    net.save(tmp_path / "here/net.toml")
    before = net.run().digest
    (tmp_path / "here").rename(tmp_path / "there")
    shutil.rmtree(tmp_path / "cache")
    assert "cache" not in (tmp_path / "there/net.toml").read_text()
    assert spinet.Network.load(tmp_path / "there/net.toml").run().digest == before


def test_a_network_with_a_function_is_not_saved(tmp_path: Path) -> None:
    net = small()
    net["n1"].host.program = lambda host: host.put("n2", b"x")
    with pytest.raises(spinet.InputError, match=r"net\.toml: a file cannot hold the Python function .* of n1"):
        net.save(tmp_path / "net.toml")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_has_a_folder_for_each_node(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    net = small()
    net.save(tmp_path / "net.toml")
    folder = tmp_path / "result"
    assert cli.main(["run", str(tmp_path / "net.toml"), "-o", str(folder), "--profile", "--threads", "2"]) == 0
    capfd.readouterr()
    node = folder / "nodes" / "n3"
    assert sorted(path.name for path in (folder / "nodes").iterdir()) == ["n3"]
    assert pq.read_table(node / "packets.parquet").equals(net.run().nodes["n3"].packets)
    assert (node / "host" / "index.json").is_file()
    assert cli.main(["profile", str(node)]) == 0
    assert "copy_to_host.c" in capfd.readouterr().out
    assert cli.main(["report", str(node), "-o", str(tmp_path / "node.html")]) == 0
    net.result.save(tmp_path / "saved")
    assert pq.read_table(tmp_path / "saved" / "nodes" / "n3" / "packets.parquet").num_rows == 600


FAILING = """
#include <handler.h>
static uint8_t packet[3000];
__handler__ void failing_ph(handler_args_t *args)
{
    spin_cmd_t sent;
    spin_send_packet(packet, sizeof packet, &sent);
    *(volatile uint32_t *)4 = 1;
}
"""


def test_a_network_has_the_remarks_of_its_cards(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "failing.c").write_text(FAILING)
    net = spinet.Network(topology="star", nodes=14)
    net["n0"].host.send = [{"source": "udp:size=64,count=2", "to": f"n{node}"} for node in range(1, 13)]
    for node in net[1:]:
        node.update(program=str(tmp_path / "failing.c"), context=[{"match": "udp"}])
    texts = net.run(threads=2).remarks
    first = r"node `n1`: handlers trapped on all 2 matched packets; first in failing_ph\S* at failing.c:8 .*"
    others = "also on `n2`, `n3`, `n4`, `n5`, `n6`, `n7`, `n8`, `n9` and 3 more"
    assert re.fullmatch(f"{first}; {others}", texts[0]), texts[0]
    assert re.fullmatch(f"node `n1`: 2 commands were refused; first one of failing_ph, .*; {others}", texts[1])
    net.save(tmp_path / "net.toml")
    assert cli.main(["run", str(tmp_path / "net.toml"), "--strict"]) == 1
    assert "error: --strict: node `n1`: handlers trapped" in capfd.readouterr().err


def test_filters_keep_results_small(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "result"
    command = ["run", str(NETWORKS / "fat-tree.toml"), "-o", str(folder)]
    assert cli.main([*command, "--keep-nodes", "n4,n1*", "--keep-time", "20 us..60 us"]) == 0
    names = sorted(path.name for path in (folder / "nodes").iterdir())
    assert names == ["n1", "n4"], "no packet reaches n10 to n14, and the first card of an entry is built at once"
    times = pq.read_table(folder / "nodes" / "n4" / "packets.parquet")["arrival_ps"].to_pylist()
    assert times and all(20_000_000 <= time < 60_000_000 for time in times)
    frames = pq.read_table(folder / "frames.parquet").to_pylist()
    kept = {number for number in range(16) if number == 4 or str(number).startswith("1")}
    whole = spinet.run(NETWORKS / "fat-tree.toml").table("frames").to_pylist()
    wanted = [
        row
        for row in whole
        if 20_000_000 <= row["at_ps"] < 60_000_000 and not kept.isdisjoint((row["node"], row["frame_node"]))
    ]
    assert frames == wanted and 0 < len(frames) < len(whole)
    capfd.readouterr()
    assert cli.main([*command, "--force", "--keep-nodes", "m4"]) == 2
    assert "--keep-nodes is `m4`, must be a node or a pattern that fits one" in capfd.readouterr().err
    assert cli.main([*command, "--force", "--keep-time", "1..2"]) == 2
    assert "`1..2` is not a time window" in capfd.readouterr().err
