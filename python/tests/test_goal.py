# SPDX-License-Identifier: Apache-2.0
"""GOAL schedules: the command, the Python API, and the results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import pytest
import spinet.cli
from spinet import InputError, goal

TWO = """num_ranks 2
rank 0 {
a: calc 1000
b: send 100b to 1 tag 7
b requires a
}
rank 1 {
a: recv 100b from 0 tag 7
b: calc 10
b requires a
}
"""


def run(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    assert spinet.cli.main([str(argument) for argument in arguments]) == code
    captured = capsys.readouterr()
    return captured.out if code == 0 else captured.err


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.goal"
    path.write_text(TWO)
    return path


def test_the_command_prints_when_each_host_ends(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = run(capsys, "goal", two)
    # 1000 calc + 1500 o; then 2500 L + 1500 o + 99 * 6 G + 10 calc.
    assert "two.goal: 7,104 ns; 2 ranks, 1 message," in printed
    assert [line.split() for line in printed.splitlines() if line[:2] in ("0 ", "1 ")] == [
        ["0", "2,500"],
        ["1", "7,104"],
    ]
    assert run(capsys, "goal", "run", two) == printed


def test_json_has_the_documented_keys(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "goal", "--json", two, "--path", 10))
    assert (found["finish_ns"], found["hosts_ns"], found["messages"]) == (7104, [2500, 7104], 1)
    assert found["schedule"] == {
        "ranks": 2,
        "operations": 4,
        "sends": 1,
        "recvs": 1,
        "calcs": 2,
        "dependencies": 2,
        "bytes": 100,
        "cpus": 1,
        "nics": 1,
    }
    path = found["critical_path"]
    of_networks = {"link": 0, "nic": 0, "queue": 0}
    wanted = {"calc": 1010, "gap": 0, "network": 2500, "receive": 2094, "send": 1500}
    assert path["by_kind_ns"] == {**wanted, **of_networks}
    assert sum(path["by_kind_ns"].values()) == found["finish_ns"]
    steps = [(step["kind"], step["rank"], step["line"], step["end_ns"]) for step in found["steps"]]
    assert steps == [
        ("calc", 0, 3, 1000),
        ("send", 0, 4, 2500),
        ("network", 0, 4, 5000),
        ("receive", 1, 4, 7094),
        ("calc", 1, 9, 7104),
    ]
    help_page = run(capsys, "goal", "run", "--help")
    assert all(key in help_page for key in found)


def test_the_table_of_operations(two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    run(capsys, "goal", two, "-o", out, "--loggops", "L=100,o=10,g=5,G=0.5,S=8", "--model", "atlahs")
    rows = pq.read_table(out / "operations.parquet").to_pylist()
    summary = json.loads((out / "summary.json").read_text())
    # The message leaves at 1010, takes 100 and 99 * 0.5 cut to 49, then g and o.
    assert summary["finish_ns"] == 1010 + 149 + 5 + 10 + 10
    kinds = [(row["rank"], row["operation"], row["kind"], row["peer"], row["tag"], row["partner"]) for row in rows]
    assert kinds == [
        (0, 0, "calc", None, None, None),
        (0, 1, "send", 1, 7, 0),
        (1, 0, "recv", 0, 7, 1),
        (1, 1, "calc", None, None, None),
    ]
    send, recv = rows[1], rows[2]
    assert (send["posted_ps"], send["started_ps"], send["left_ps"], send["arrived_ps"]) == (
        1_000_000,
        1_000_000,
        1_010_000,
        1_159_000,
    )
    # It is above S, so it ends with its receive.
    assert (recv["posted_ps"], recv["started_ps"], recv["done_ps"], send["done_ps"]) == (
        0,
        1_159_000,
        1_174_000,
        1_174_000,
    )
    assert [row["critical"] for row in rows] == [1, 1, 1, 1]
    refused = run(capsys, "goal", two, "-o", out, code=2)
    assert "exists" in refused
    run(capsys, "goal", two, "-o", out, "--force")


def test_schedules_are_made_converted_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, binary, again = tmp_path / "a.goal", tmp_path / "a.bin", tmp_path / "again.goal"
    run(capsys, "goal", "make", "binomial-bcast", "--ranks", 8, "--bytes", 4096, "-o", text)
    assert run(capsys, "goal", "make", "binomialtreebcast", "--ranks", 8, "--bytes", 4096) == text.read_text()
    run(capsys, "goal", "convert", text, binary)
    run(capsys, "goal", "convert", binary, again)
    assert again.read_text() == text.read_text()
    assert binary.read_bytes()[:8] == (4223).to_bytes(8, "little")
    assert "8 ranks, 7 sends, 7 recvs, 0 calcs, 4 dependencies" in run(capsys, "goal", "check", binary)
    found = json.loads(run(capsys, "goal", "check", "--json", text))
    assert found["ok"] and found["operations"] == 14
    # From LogGOPSim.
    assert json.loads(run(capsys, "goal", binary, "--json"))["finish_ns"] == 90210


def test_mistakes_are_reported_with_their_place(two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = tmp_path / "wrong.goal"
    wrong.write_text(TWO.replace("recv 100b", "rcev 100b"))
    assert f"{wrong}:8:4: an operation must follow a label (found `rcev`" in run(capsys, "goal", wrong, code=2)
    wrong.write_text(TWO.replace("send 100b to 1 tag 7", "send 100b to 1 tag 8"))
    printed = run(capsys, "goal", wrong, "-o", tmp_path / "out", code=2)
    assert "rank 1 waits in recv (line 8) for rank 0, which has ended" in printed
    assert not (tmp_path / "out").exists() and not list(tmp_path.glob(".out*"))
    assert "No such file" in run(capsys, "goal", tmp_path / "missing.goal", code=2)
    assert "did you mean `L`?" in run(capsys, "goal", two, "--loggops", "l=5", code=2)
    assert "unknown pattern (found `alltoal`" in run(capsys, "goal", "make", "alltoal", "--ranks", 4, code=2)
    assert "missing/a.bin" in run(capsys, "goal", "convert", two, tmp_path / "missing" / "a.bin", code=2)


def test_python_has_the_same(two: Path) -> None:
    assert spinet.goal is goal
    result = goal.run(two)
    assert (result.finish_ns, result.hosts_ns) == (7104, [2500, 7104])
    assert result.operations.column("kind").to_pylist() == ["calc", "send", "recv", "calc"]
    assert result.operations.num_rows == 4  # a second time
    assert [step["kind"] for step in result.critical_path()] == ["calc", "send", "network", "receive", "calc"]
    assert {step["kind"] for step in result.critical_path(2)} == {"network", "receive"}
    assert goal.run(goal.parse(TWO), loggops={"L": 0}).finish_ns == 4604
    assert goal.run(two, record=False).summary["critical_path"] is None
    assert set(goal.patterns()) >= {"alltoall", "allreduce-ring"}
    with pytest.raises(InputError, match=r"a\.goal:1:1: a schedule begins"):
        goal.parse("nothing", "a.goal")
    with pytest.raises(InputError, match="ranks is 6, must be a power of two"):
        goal.make("allreduce-doubling", ranks=6)


def test_the_digest_is_that_of_the_times(two: Path) -> None:
    recorded, bare = goal.run(two).summary, goal.run(two, record=False).summary
    assert recorded["digest"] == bare["digest"] != goal.run(two, loggops="L=2501").summary["digest"]


def test_a_pair_of_plain_cards_is_exact(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("goal", two, "--topology", "pair", "--rate", "100G", "--delay", "500 ns", "--loggops", "o=1500,g=0")
    found = json.loads(run(capsys, *arguments, "--json", "--path", 10))
    # 100 bytes with preamble, Ethernet, IPv4, UDP, BTH, RETH, CRC and FCS: 8 + 14 + 20 + 8 + 12 + 16 + 4 + 4.
    way = (100 + 86) * 0.08 + 500
    assert found["hosts_ns"] == [2500, 2500 + way + 1500 + 10]
    assert [step["kind"] for step in found["steps"]] == ["calc", "send", "link", "receive", "calc"]
    assert sum(found["critical_path"]["by_kind_ns"].values()) == found["finish_ns"]
    assert found["packets"] == {"in": 1, "out": 1, "dropped": 0, "marked": 0}
    assert "two.goal: 4,524.88 ns" in run(capsys, *arguments)


def test_an_alltoall_takes_a_little_more_than_its_bytes_on_a_link() -> None:
    schedule = goal.make("alltoall", ranks=16, bytes=65536)
    loggops = "o=100,g=0,O=0,S=100000"
    results = [
        goal.run(schedule, topology="star", link={"rate": "200G", "delay": "500 ns"}, loggops=loggops, threads=threads)
        for threads in (1, 2, 3)
    ]
    least = 15 * 65536 * 8 / 200  # ns
    assert least < results[0].finish_ns < 1.15 * least + 5000
    assert len({result.summary["digest"] for result in results}) == 1
    operations = results[0].operations
    assert operations.num_rows == schedule.operations
    assert max(operations["done_ps"].to_pylist()) == round(1000 * results[0].finish_ns)


def test_the_critical_path_through_a_network_has_nics_links_and_queues() -> None:
    schedule = goal.make("alltoall", ranks=8, bytes=20000)
    result = goal.run(schedule, topology="fat-tree:levels=2,radix=4", loggops="o=100,g=0,O=0,S=10000")
    kinds = result.summary["critical_path"]["by_kind_ns"]
    assert abs(sum(kinds.values()) - result.finish_ns) < 1e-6
    assert kinds["link"] > 0 and kinds["queue"] > 0 and kinds["network"] == 0
    messages = result.network.table("messages").to_pandas()
    # A message above S is an announcement, a request and a reply.
    assert messages["kind"].value_counts().to_dict() == {"put": 56, "get": 56, "reply": 56}
    parts = messages[["nic_ps", "link_ps", "queue_ps", "receiver_ps"]].sum(axis=1)
    assert (parts == messages["done_ps"] - messages["posted_ps"]).all()
    assert set(messages.loc[messages["kind"] == "reply", "bytes"]) == {20000}


def test_messages_pass_cards_on_every_node(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schedule = tmp_path / "ring.goal"
    goal.make("dissemination", ranks=4, bytes=1000).write(schedule)
    arguments = ("goal", schedule, "--loggops", "o=100,g=0", "--json")
    plain = json.loads(run(capsys, *arguments, "--topology", "star"))
    cards = json.loads(run(capsys, *arguments, "--nic", "pspin"))
    assert cards["nic"] == "pspin"
    assert plain["messages"] == cards["messages"] == 8
    # Every message passes a handler and PCIe, which takes some hundred ns.
    assert plain["finish_ns"] + 200 < cards["finish_ns"] < plain["finish_ns"] + 6000
    folder = tmp_path / "result"
    run(capsys, *arguments, "--nic", "pspin", "--threads", 2, "-o", folder)
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["digest"] == cards["digest"]
    assert pq.read_table(folder / "operations.parquet").num_rows == summary["schedule"]["schedule"]["operations"]
    assert pq.read_table(folder / "frames.parquet").num_rows > 0
    rows = pq.read_table(folder / "messages.parquet").to_pylist()
    assert len(rows) == 8
    for row in rows:
        assert (
            row["nic_ps"] + row["link_ps"] + row["queue_ps"] + row["receiver_ps"] == row["done_ps"] - row["posted_ps"]
        )
        # The receiver's card handles the last packet, and copies it over PCIe.
        assert row["receiver_ps"] > 200_000 and row["bytes"] == 1000


def test_errors_of_networks_name_the_place(two: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean `fat-tree`" in run(capsys, "goal", two, "--topology", "fat-tre:levels=2,radix=4", code=2)
    assert "radix" in run(capsys, "goal", two, "--topology", "fat-tree:levels=2,radx=4", code=2)
    assert "found `radix`, must be `key=value`" in run(capsys, "goal", two, "--topology", "fat-tree:radix", code=2)
    assert "topology.nodes: is 1, must be 2 to 1024" in run(capsys, "goal", two, "--topology", "star:nodes=1", code=2)
    assert "topology: nodes is `x`, must be a whole number" in run(
        capsys, "goal", two, "--topology", "star:nodes=x", code=2
    )
    assert "topology: dimensions is `2x`, must be numbers of switches such as 4x4x4" in run(
        capsys, "goal", two, "--topology", "torus:dimensions=2x", code=2
    )
    assert "--rate is for networks" in run(capsys, "goal", two, "--rate", "10G", code=2)
    assert "--nic is 'tigon2', must be plain or a card that runs handlers" in run(
        capsys, "goal", two, "--nic", "tigon2", code=2
    )
    text = run(capsys, "goal", two, "--nic", "pspn", code=2)
    assert "--nic is 'pspn', must be plain, pspin, fpspin" in text and "hint: did you mean pspin?" in text
    stuck = tmp_path / "stuck.goal"
    stuck.write_text(
        "num_ranks 2\nrank 0 {\na: recv 1b from 1\nb: send 1b to 1\nb requires a\n}\n"
        "rank 1 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a\n}\n"
    )
    text = run(capsys, "goal", stuck, "--topology", "pair", code=2)
    assert "the schedule cannot end: rank 0 waits in recv (line 3) for rank 1" in text


def test_a_misspelt_command_is_no_schedule(
    two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "goal", "chek", two, code=2).splitlines() == [
        "error: spinet goal has no command chek",
        "hint: did you mean check?",
    ]
    assert "error: make.goal: No such file" in run(capsys, "goal", "make.goal", code=2)
    Path("chek").write_text(TWO)
    assert "chek: " in run(capsys, "goal", "chek")


def test_a_network_takes_the_place_of_l_and_g(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "Model 2010, o=5,g=1000,O=0,S=65535;" in run(
        capsys, "goal", two, "--topology", "pair", "--loggops", "L=77,o=5"
    )
    assert "Model 2010, L=77,o=5,g=1000,G=6,O=0,S=65535;" in run(capsys, "goal", two, "--loggops", "L=77,o=5")


def test_a_card_with_rule_sets_takes_messages_of_short_packets() -> None:
    schedule = goal.make("allreduce-doubling", ranks=2, bytes=6000)
    with pytest.raises(InputError, match=r"cards dropped packets: 2 as too_large\nhint: .* a smaller mtu$"):
        goal.run(schedule, nic="fpspin")
    assert goal.run(schedule, nic="fpspin", messages={"mtu": 1024}).summary["packets"]["dropped"] == 0


def test_lost_packets_need_a_transport_that_repeats_them() -> None:
    schedule = goal.make("alltoall", ranks=4, bytes=20000)
    link = {"faults": "loss=0.05", "faults_back": "loss=0.05"}
    with pytest.raises(InputError, match="transport = selective"):
        goal.run(schedule, topology="star", link=link)
    result = goal.run(schedule, topology="star", link=link, messages={"transport": "selective", "mtu": 1024})
    assert result.summary["packets"]["dropped"] > 0
    assert result.summary["messages"] == 12


def test_several_processes_do_not_run_a_schedule_each(
    two: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PMI_SIZE", "2")
    assert spinet.cli.main(["goal", str(two)]) == 2
    error = capsys.readouterr().err
    assert "mpiexec started 2 processes, and spinet goal run runs in one" in error and "key schedule" in error


def test_functions_name_arguments_that_cannot_be_right(tmp_path: Path) -> None:
    schedule, wrong = goal.make("scatter", ranks=2), cast(Any, 3)
    with pytest.raises(InputError, match=r"^pattern is 3, must be a text"):
        goal.make(wrong, ranks=2)
    with pytest.raises(InputError, match=r"^ranks is 'x', must be 0 to"):
        goal.make("scatter", ranks=cast(Any, "x"))
    with pytest.raises(InputError, match=r"^the schedule is 3, must be a text"):
        goal.parse(wrong)
    for call in (lambda: goal.read(wrong), lambda: goal.run(wrong), lambda: schedule.write(wrong)):
        with pytest.raises(InputError, match=r"^path is 3, must be a path"):
            call()
    for name in ("loggops", "topology", "model", "program"):
        with pytest.raises(InputError, match=rf"^{name} is 3, must be "):
            goal.run(schedule, **{name: wrong})
