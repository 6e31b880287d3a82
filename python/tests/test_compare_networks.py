# SPDX-License-Identifier: Apache-2.0
"""`spinet compare --network` and `spinet.compare_networks`."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet.cli import main
from spinet.collectives import Flare, Group
from spinet.comparison import NetworkComparison

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "reference" / "compare.md").read_text().partition("## Networks")[2]
# A message of 1,000 bytes from rank 0 to rank 1, and a computation of 5 us there.
SCHEDULE = """num_ranks 2
rank 0 {
l1: send 1000b to 1 tag 0
}
rank 1 {
l1: recv 1000b from 0 tag 0
l2: calc 5000
l2 requires l1
}
"""


def pair(tmp_path: Path, rate: str = "8G", **keys: Any) -> dict[str, Any]:
    (tmp_path / "one.goal").write_text(SCHEDULE)
    link = {"rate": rate, "delay": "1 us"}
    nodes = {"topology": {"name": "pair"}, "link": link}
    return {"schedule": str(tmp_path / "one.goal"), "loggops": "o=300,g=0,O=0", **nodes, **keys}


def frames(n: int, size: int) -> dict[str, Any]:
    """Plain nodes: `a` sends frames to `b` over a switch."""
    link = {"rate": "8G", "delay": "1 us"}
    source = {"source": f"udp:size={size},count={n},rate=100G", "to": "b"}
    return {
        "nodes": [{"name": "a", "send": [source]}, {"name": "b"}],
        "switches": [{"name": "s"}],
        "switch": {"latency": "300 ns"},
        "links": [{"from": "a", "to": "s", "with": link}, {"from": "s", "to": "b", "with": link}],
    }


@pytest.fixture(scope="module")
def allreduce() -> NetworkComparison:
    link = {"rate": "10G", "delay": "300 ns"}
    return spinet.compare_networks(
        {
            "ring": Group(operation="ring", size=4, n_bytes=16384).network(link=link),
            "doubling": Group(operation="doubling", size=4, n_bytes=16384).network(link=link),
            "switch": Flare(hosts=4, elements=4096, buffers="tree").network(link=link),
        }
    )


def test_processors_of_hosts_and_times_follow_from_the_schedule(tmp_path: Path) -> None:
    row = spinet.compare_networks({"pair": pair(tmp_path)})["pair"]
    # o of the send and of the receive, 300 ns each, and the computation.
    assert row.host_cpu_ns == 300 + 300 + 5000 and row.busiest_host_cpu_ns == 300 + 5000
    # 1,000 bytes at 1 byte a ns and 1 us of delay are between the two o; headers and the NICs add less than 1 us.
    assert 300 + 2000 + 300 + 5000 < row.completion_ns < 300 + 3000 + 300 + 5000
    assert row.handler_cycles == row.handler_runs == 0 and row.busiest_card is None
    assert row.cards == {"plain": 2} and row.ended == "complete"


def test_bytes_count_on_each_link_and_the_busiest_one_is_busy_all_the_time() -> None:
    row = spinet.compare_networks({"line": frames(50, 1000)})["line"]
    assert row.entered_bytes == 50 * 1000 and row.link_bytes == 2 * 50 * 1000
    # A frame takes 1,012 ns with preamble and FCS, and a gap of 12 ns follows. The last one is forwarded when all of it
    # is in the switch, which takes 300 ns. Each link takes 1 us.
    assert row.completion_ns == 49 * 1024 + 2 * (1012 + 1000) + 300
    link = row.busiest_link
    assert link is not None and link.bytes == 50 * 1000
    assert link.share == pytest.approx(50 * 1012 / row.completion_ns)
    assert row.host_cpu_ns == 0


def test_versions_of_an_allreduce_differ_as_their_methods_do(allreduce: NetworkComparison) -> None:
    ring, doubling, switch = allreduce.rows
    # A rank sends 2 (n - 1) / n vectors on the ring, log2(n) by doubling, and 1 to a switch. Blocks of 1 KiB have 56
    # bytes of headers.
    vector, starts = 16 * (1024 + 56), 64 * 8
    assert ring.entered_bytes == pytest.approx(4 * 1.5 * vector, rel=0.1)
    assert doubling.entered_bytes == pytest.approx(4 * 2 * vector, rel=0.1)
    assert switch.entered_bytes == pytest.approx((4 + 4) * vector, abs=64 * 64 + starts)
    assert all(row.host_cpu_ns == 0 and row.handler_cycles > 0 for row in allreduce.rows)
    assert switch.busiest_card == "leaf0card"
    assert allreduce["ring"] is ring and f"ring {ring.completion_ns:,.0f} ns" in repr(allreduce)
    with pytest.raises(KeyError):
        allreduce["tree"]


def test_cycles_are_those_of_the_cards(allreduce: NetworkComparison) -> None:
    group = Group(operation="ring", size=4, n_bytes=16384)
    result = spinet.run(group.network(link={"rate": "10G", "delay": "300 ns"}))
    handlers = [row for node in result.nodes for row in result.nodes[node].summary["handlers"]]
    ring = allreduce["ring"]
    assert ring.handler_cycles == sum(row["cycles"]["total"] for row in handlers)
    assert ring.handler_runs == sum(row["runs"] for row in handlers)
    assert ring.digest == result.digest


def test_hosts_with_programs_have_no_known_processor_time(tmp_path: Path) -> None:
    (tmp_path / "idle.py").write_text("def idle(host):\n    pass\n")
    nodes = [{"name": "n0", "host_program": f"{tmp_path / 'idle.py'}:idle"}, {"name": "n1"}]
    network = {"topology": {"name": "pair"}, "nodes": nodes}
    row = spinet.compare_networks({"programs": network})["programs"]
    assert row.host_cpu_ns is None and row.completion_ns == 0 and row.busiest_link is None


def test_files_and_the_reference_agree(allreduce: NetworkComparison, tmp_path: Path) -> None:
    allreduce.save(tmp_path / "out")
    known = json.loads((tmp_path / "out" / "compare.json").read_text())
    named = set(re.findall(r"`(\w+)`", REFERENCE))
    keys = {*known, *known["networks"][0], *known["networks"][0]["busiest_link"], *known["networks"][0]["ended"]}
    assert keys <= named, keys - named
    lines = list(csv.DictReader((tmp_path / "out" / "compare.csv").read_text().splitlines()))
    assert [line["network"] for line in lines] == ["ring", "doubling", "switch"]
    assert float(lines[2]["completion_ns"]) == allreduce["switch"].completion_ns
    with pytest.raises(spinet.OutputError, match="exists"):
        allreduce.save(tmp_path / "out")


def test_the_command_prints_a_table_json_and_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spinet.Network(frames(3, 500)).save(tmp_path / "short.toml")
    arguments = ["compare", "--network", str(tmp_path / "short.toml"), f"again={tmp_path / 'short.toml'}"]
    assert main([*arguments, "-o", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "again" in shown and "a > s" in shown and "2 nodes (2 plain), 1 switch" in shown
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"compare.json", "compare.csv"}
    assert main([*arguments, "--json"]) == 0
    known = json.loads(capsys.readouterr().out)
    assert [row["network"] for row in known["networks"]] == ["short", "again"]
    assert known["networks"][0]["digest"] == known["networks"][1]["digest"]
    assert known == json.loads((tmp_path / "out" / "compare.json").read_text())


def test_the_command_takes_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    spinet.Network(frames(3, 500)).save(tmp_path / "short.toml")
    threads: list[int | None] = []
    real = spinet.run

    def run(*given: Any, **options: Any) -> spinet.Result:
        threads.append(options["threads"])
        return real(*given, **options)

    monkeypatch.setattr("spinet.comparison.networks.api.run", run)
    compare = ["compare", "--network", str(tmp_path / "short.toml"), "--json"]
    assert [main([*compare, *more]) for more in ([], ["--threads", "2"], ["--threads", "0"])] == [0, 0, 2]
    assert threads == [None, 2]
    captured = capsys.readouterr()
    one, two = re.findall(r'"digest": "(\w+)"', captured.out)
    assert one == two and "0 is not in the range x>=1" in captured.err


def test_a_network_that_does_not_finish_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spinet.Network(frames(1000, 1000)).save(tmp_path / "long.toml")
    assert main(["compare", "--network", str(tmp_path / "long.toml"), "--limit", "50 us"]) == 2
    shown = capsys.readouterr()
    assert "not every run finished: long" in shown.err and "not finished" in shown.out


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        ([], ["there is no network to compare", "host.toml"]),
        (["missing.toml"], ["missing: cannot read missing.toml"]),
        (["one.toml"], ["one: an experiment with one card, no network"]),
        (["short.toml", "short.toml"], ["two networks with the name short"]),
        (["=short.toml"], ["=short.toml: expected"]),
        (["typo.toml"], ["typo: ", "`topolgy`", "did you mean `topology`?"]),
        (["short.toml", "--traffic", "udp:count=1"], ["does not go with --network"]),
        (["short.toml", "--nic", "pspin"], ["--nic does not go with --network"]),
    ],
)
def test_mistakes_are_reported_and_nothing_runs(
    arguments: list[str],
    texts: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    spinet.Network(frames(3, 500)).save(tmp_path / "short.toml")
    (tmp_path / "one.toml").write_text(
        f"program = '{ROOT}/sdk/examples/ping_pong.c'\ntraffic = 'udp:count=1,rate=1G'\n[[context]]\n"
    )
    (tmp_path / "typo.toml").write_text("topolgy = { name = 'pair' }\nnodes = []\n")
    assert main(["compare", "--network", *arguments, "-o", "out"]) == 2
    shown = capsys.readouterr()
    assert all(text in shown.err for text in texts), shown.err
    assert shown.out == "" and not (tmp_path / "out").exists()
