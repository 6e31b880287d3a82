# SPDX-License-Identifier: Apache-2.0
"""spinet against ns-3. `make test-ns3` runs these tests; the gate does not, because they need ns-3."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from validation.ns3 import bridge, compare, rank, scenarios, twin
from validation.ns3.scenarios import Scenario

PAGE = Path("docs/guides/ns3.md")


def _name(scenario: Scenario) -> str:
    return scenario.name


def _holds(found: compare.Comparison) -> None:
    assert found.faults() == []
    assert found.row() in PAGE.read_text(), f"{PAGE} has other numbers; python -m validation.ns3 prints them"


@pytest.mark.parametrize("scenario", scenarios.APART, ids=_name)
def test_the_same_network_in_ns3_ends_at_the_same_time_with_the_same_drops_and_marks(scenario: Scenario) -> None:
    _holds(compare.apart(scenario))


@pytest.mark.parametrize("scenario", scenarios.COUPLED, ids=_name)
def test_cards_of_spinet_around_ns3_get_the_same_service(scenario: Scenario) -> None:
    _holds(compare.coupled(scenario))


def test_every_frame_of_a_pair_arrives_at_the_same_picosecond() -> None:
    net = scenarios.pair()
    result = net.run()
    found = twin.in_ns3(net, result, None)
    assert len(found.delivered_ps) == 10_000
    assert found.delivered_ps == twin.outcome(result).delivered_ps


@pytest.mark.parametrize("make", [scenarios.dumbbell, scenarios.burst], ids=["dumbbell", "burst"])
def test_hosts_of_spinet_around_ns3_are_as_good_as_hosts_of_ns3(make: scenarios.Make) -> None:
    net = make()
    alone = twin.in_ns3(net, net.run(), scenarios.QUEUES)
    around = twin.outcome(rank.run(net, scenarios.QUEUES))
    assert (around.drops, around.marks) == (alone.drops, alone.marks)
    assert around.delivered_ps.keys() == alone.delivered_ps.keys()
    # Times of spinet have parts of a ps, which ns-3 does not know.
    assert max(abs(around.delivered_ps[frame] - at) for frame, at in alone.delivered_ps.items()) <= 1


def test_a_coupled_run_repeats_and_loses_no_frame() -> None:
    first, second = (rank.run(scenarios.answered_dumbbell(), scenarios.QUEUES) for _ in range(2))
    assert first.digest == second.digest
    packets = first.summary["packets"]
    assert first.ended == "complete"
    assert packets["in"] == packets["out"] + packets["dropped"]
    assert packets["dropped"] == first.summary["switches"][0]["dropped"] > 0


def test_handlers_get_packets_whose_checksums_ns3_has_renewed() -> None:
    result = rank.run(scenarios.answered_dumbbell(), scenarios.QUEUES)
    card = result.nodes["r0"].summary["packets"]
    assert card["in"] == card["sent"] > 1000


@pytest.mark.parametrize(
    "limit, mark, what", [(64, 20, ""), (64, 30, "marks"), (96, 20, "drops"), (40, 20, "drops"), (64, 12, "marks")]
)
def test_other_queues_in_ns3_are_noticed(limit: int, mark: int, what: str) -> None:
    net = scenarios.network(topology="star", nodes=9)
    for node in net.nodes[1:]:
        node.host.send = {"source": "udp:size=1500,count=60,rate=100G,ecn=2", "to": "n0"}
    result = net.run()
    other = twin.in_ns3(net, result, twin.Queues(limit, mark))
    found = compare.Comparison("queues", 480, twin.outcome(result), other).faults()
    assert any(what in fault for fault in found) if what else found == []


def test_a_frame_that_routers_cannot_take_is_an_error() -> None:
    net = scenarios.network(topology="star", nodes=2)
    net[0].host.send = "udp:size=100,count=1,src=2001:db8::1,dst=2001:db8::2"
    with pytest.raises(ValueError, match="n0: frame 0 is not IPv4; routers of ns-3 take no other"):
        rank.run(net, scenarios.QUEUES)


def test_nodes_that_share_an_entry_are_all_coupled() -> None:
    handler = {"program": "sdk/examples/count.c", "context": [{"match": "udp"}]}
    net = scenarios.network(topology={"name": "star", "nodes": 3}, nodes=[{"name": "n*", **handler}])
    net["n0"].host.send = scenarios.source("n2", rate="50G", count=30)
    result = rank.run(net, scenarios.QUEUES)
    assert {node: result.nodes[node].summary["packets"]["in"] for node in ("n1", "n2")} == {"n1": 0, "n2": 30}


def test_properties_that_ns3_would_ignore_are_an_error() -> None:
    net = scenarios.network(topology="star", nodes=2)
    net.link["faults"] = "loss=0.1"
    net.switch["pfc"] = {"xoff_bytes": 50_000, "xon_bytes": 25_000, "headroom_bytes": 40_000}
    with pytest.raises(ValueError, match=r"ns-3 would ignore link\.faults, switch\.pfc"):
        rank.run(net, scenarios.QUEUES)


def test_links_of_nodes_that_differ_are_an_error() -> None:
    net = scenarios.network(topology="star", nodes=2)
    net.links.append({"from": "n1", "to": "sw0", "with": {"delay": "600 ns"}})
    with pytest.raises(ValueError, match=r"link n1-sw0 differs from `net\.link`; links of nodes must not"):
        rank.run(net, scenarios.QUEUES)


def test_several_shortest_paths_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"leaf\d has several shortest paths to n\d+; routers of ns-3 have one"):
        rank.run(scenarios.fat_tree(), scenarios.QUEUES)


def test_a_missing_ns3_is_an_error_that_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PKG_CONFIG_LIBDIR", str(tmp_path))
    bridge.version.cache_clear()
    with pytest.raises(bridge.MissingNs3, match=r"hint: apt-get install .* libns3-dev"):
        bridge.version()
    bridge.version.cache_clear()


def test_one_network_at_a_time() -> None:
    with bridge.Ns3(), pytest.raises(RuntimeError, match="a network is open already"):
        bridge.Ns3()


def test_links_without_whole_picoseconds_are_an_error() -> None:
    with pytest.raises(ValueError, match="a byte at 333000000000 bit/s takes no whole number of ps"):
        twin.byte_ps(333_000_000_000)


def test_the_example_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    exec(code, {})
    printed = capsys.readouterr().out
    assert "'name': 'ns3', 'dropped': " in printed
    assert printed.rstrip().endswith(" 200")
