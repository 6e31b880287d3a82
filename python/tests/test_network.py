# SPDX-License-Identifier: Apache-2.0
"""Networks as a user runs them: the command, files, Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import spinet
from spinet import cli
from spinet.cli import run_report

NETWORKS = Path("experiments/networks")
PAIR = NETWORKS / "pair.toml"


def test_every_example_runs_to_its_end() -> None:
    for path in sorted(NETWORKS.glob("*.toml")):
        packets = spinet.run(path).summary["packets"]
        assert packets["in"] == packets["out"] + packets["dropped"], f"{path}: frames are lost without a reason"
        assert packets["unfinished"] == 0, path


def test_a_pair_exchanges_requests_and_answers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "result"
    assert cli.main(["run", str(PAIR), "-o", str(folder)]) == 0
    out = capfd.readouterr().out
    assert "2 nodes, 1 link; all packets are done" in out
    assert "client to server" in out
    frames = pq.read_table(folder / "frames.parquet").to_pydict()
    assert frames["event"].count("entered") == frames["event"].count("delivered") == 2000
    # A frame crosses the link in 500 ns and its own time on the line: preamble 8, FCS 4, 100 Gbit/s.
    for at, tail, size, event in zip(frames["at_ps"], frames["tail_ps"], frames["bytes"], frames["event"], strict=True):
        if event == "crossed":
            assert tail - at == 80 * (8 + max(size, 60) + 4) + 500_000


def test_the_digest_does_not_depend_on_threads(capfd: pytest.CaptureFixture[str]) -> None:
    def digest(threads: int) -> str:
        assert cli.main(["run", str(NETWORKS / "fat-tree.toml"), "--threads", str(threads), "--json"]) == 0
        found: str = json.loads(capfd.readouterr().out)["digest"]
        return found

    assert digest(1) == digest(2) == digest(4)


def test_an_incast_fills_the_queue_and_drops_or_pauses() -> None:
    experiment = spinet.Experiment.load(NETWORKS / "incast.toml")
    summary = spinet.run(experiment).summary
    assert summary["packets"]["dropped"] == summary["packets"]["dropped_by_reason"]["queue_full"] > 0
    # The queue accepts a frame as long as the whole frame fits.
    assert 200_000 - 1500 < summary["deepest_queue_bytes"] <= 200_000

    pfc = {"xoff_bytes": 50_000, "xon_bytes": 25_000, "headroom_bytes": 40_000}
    lossless = dict(experiment) | {"switch": {"buffer_bytes": 4_000_000, "pfc": pfc}}
    lossless["nodes"] = [
        {**node, "program": "sdk/examples/empty.c"} if "program" in node else node for node in experiment["nodes"]
    ]
    summary = spinet.run(lossless).summary
    assert (summary["packets"]["dropped"], summary["packets"]["out"]) == (0, 1600)
    assert sum(link["pauses"] for link in summary["links"]) > 0


def test_cards_of_every_kind_stand_on_nodes() -> None:
    network = {
        "topology": {"name": "star", "nodes": 3},
        "nodes": [
            {"name": "n0", "send": {"source": "udp:size=512,count=20,rate=10G", "to": "n1"}},
            {"name": "n1", "nic": "panic", "service": ["work: delay, cycles=20"], "chain": ["all: work"]},
            {"name": "n2", "nic": "tigon2", "firmware": "tigon2"},
        ],
        "limit": "4 ms",
    }
    summary = spinet.run(network).summary
    assert [node["kind"] for node in summary["nodes"]] == ["plain", "chains", "modules"]
    assert summary["nodes"][1]["in"] == 20


def test_mistakes_are_errors_of_their_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.toml"
    text = PAIR.read_text().replace("../../sdk", str(Path("sdk").absolute()))
    path.write_text(text.replace('to = "server"\nwith', 'to = "sever"\nwith'))
    assert cli.main(["run", str(path)]) == 2
    assert "links[0].to: is `sever`, must be a node or switch" in capfd.readouterr().err
    assert cli.main(["run", str(PAIR), "--traffic", "udp:count=3"]) == 2
    assert "packets of a network come from its nodes" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("option", "value", "hint"),
    [
        ("--fault", "loss=1", "in a network, links have faults: `faults` in [link], or in `with` of a link"),
        ("--set", "cluster.n_cores=1", "in a network, a node has parameters of its card"),
        ("--count", "3", "in a network, the `send` of a node has its own `count`"),
        ("--pace", "asap", "in a network, the `send` of a node has its own `pacing`"),
    ],
)
def test_options_of_a_single_card_are_refused(
    option: str, value: str, hint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", str(PAIR), option, value]) == 2
    error = capfd.readouterr().err
    assert f"error: {option} is for runs of a single card; {PAIR} is a network of cards\nhint: {hint}" in error


def test_keywords_of_a_single_card_are_refused() -> None:
    with pytest.raises(spinet.InputError, match=r"^faults is for runs of a single card; .* is a network of cards"):
        spinet.run(PAIR, faults="loss=1")


def test_a_card_beside_a_network_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", str(PAIR), "--nic", "tigon2"]) == 2
    assert f"{PAIR} is a network of cards; tigon2 is wired from modules and runs firmware" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("network", "node", "key"),
    [
        ({}, {"nic": "plain", "program": "sdk/examples/count.c"}, "program"),
        ({"nic": "plain"}, {"program": "sdk/examples/count.c"}, "program"),
        ({}, {"nic": {"preset": "plain", "set": {"cluster.n_cores": 1}}}, "nic.set"),
    ],
)
def test_a_plain_nic_refuses_keys_of_cards(network: dict[str, Any], node: dict[str, Any], key: str) -> None:
    nodes = [{"name": "n0"}, {"name": "n1", **node}]
    with pytest.raises(spinet.InputError, match=f"^node `n1`: `{key}` is for cards, and its NIC is plain"):
        spinet.run({**network, "topology": {"name": "pair"}, "nodes": nodes})


def test_a_missing_firmware_names_its_node() -> None:
    nodes = [{"name": "n0"}, {"name": "n1", "nic": "tigon2", "firmware": "nope.c"}]
    with pytest.raises(spinet.SpinetError, match=r"^node `n1`: nope\.c does not exist"):
        spinet.run({"topology": {"name": "pair"}, "nodes": nodes})


def test_rate_control_and_pauses_both_prevent_drops() -> None:
    dcqcn = spinet.run(NETWORKS / "incast-dcqcn.toml").summary
    pfc = spinet.run(NETWORKS / "incast-pfc.toml").summary
    for summary in (dcqcn, pfc):
        assert summary["packets"]["dropped"] == 0
    # 8 x 2 MB at 100 Gbit/s take 1280 us. Rate control slows the senders down more than the link requires.
    assert 1_280_000 < pfc["schedule"]["finish_ns"] < 1.1 * 1_280_000 < dcqcn["schedule"]["finish_ns"]
    assert dcqcn["packets"]["marked"] > 0
    assert pfc["packets"]["marked"] == 0
    assert sum(link["pauses"] for link in dcqcn["links"]) == 0
    assert sum(link["pauses"] for link in pfc["links"]) > 0


def test_generated_packets_can_be_marked() -> None:
    switch = {"ecn": {"k_min_bytes": 20_000, "k_max_bytes": 60_000}}
    node = {"name": "n*", "send": {"source": "udp:size=1500,count=100,rate=60G,ecn=2", "to": "n0"}}
    experiment = {"topology": {"name": "star", "nodes": 3}, "switch": switch, "nodes": [{"name": "n0"}, node]}
    assert spinet.run(experiment).summary["packets"]["marked"] > 0
    node["send"]["source"] = "udp:size=1500,count=100,rate=60G"  # type: ignore[index]
    assert spinet.run(experiment).summary["packets"]["marked"] == 0


def test_hosts_behind_two_pspins_exchange_messages() -> None:
    summary = spinet.run(NETWORKS / "ping-pong.toml").summary
    run = summary["schedule"]
    assert (run["messages"], run["schedule"]["ranks"]) == (4, 2)
    # Each of four messages takes o to send and to receive, 1 KiB and headers on the line, the delay, and time in cards.
    plain = 4 * (200 + (1024 + 86) * 0.08 + 500 + 200)
    assert plain < run["finish_ns"] < plain + 4 * 2000 + 10_000


def test_the_last_line_of_a_long_run_has_no_speed_without_a_clock() -> None:
    summary = spinet.run(PAIR).summary
    wall = {**summary["wall"], "seconds": 2.0}
    assert wall["cycles_per_second"] is None
    assert run_report.footer({**summary, "wall": wall}).endswith(", seed 1, computed in 2.00 s")
