# SPDX-License-Identifier: Apache-2.0
"""Chains of offloads, from Python and from the command line."""

from __future__ import annotations

import itertools
import json
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import spinet
from spinet import _core
from spinet.cli import main

ROOT = Path(__file__).resolve().parent.parent.parent
GUIDE = (ROOT / "docs" / "guides" / "offload-chains.md").read_text()
HEADERS = 42  # Ethernet, IPv4, UDP
IV = 8  # bytes of the initialisation vector (RFC 3686), which precedes the encrypted part

DELAY = "work: delay, cycles=20, units=1, credits=4"


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture
def guide(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like that of a reader of the guide."""
    (text,) = re.findall(r"```toml\n# tenants.toml\n(.*?)```", GUIDE, flags=re.DOTALL)
    (tmp_path / "tenants.toml").write_text(text)
    (tmp_path / "captures").symlink_to(ROOT / "captures")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_of_the_guide_run(guide: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands():
        assert main(shlex.split(command)[1:]) == 0, command
        assert "Where the time goes" in capsys.readouterr().out
    left = {path.name for path in (guide / "result").iterdir()}
    assert left == {
        "summary.json",
        "packets.parquet",
        "hops.parquet",
        "host.pcapng",
        "network.pcapng",
        "experiment.json",
    }
    assert main(["run", "result/experiment.json", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["digest"] == json.loads((guide / "result" / "summary.json").read_text())["digest"]


def test_the_python_of_the_guide_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    exec(compile(code, "docs/guides/offload-chains.md", "exec"), {})


def test_what_leaves_is_what_the_chain_made_of_it() -> None:
    """In counter mode, a second encryption restores the packet; crates/panic has the vectors of RFC 3686."""
    traffic = "udp:size=400,count=60,rate=10G"
    plain = spinet.run(chains=["all: => host"], traffic=traffic)
    sealed = spinet.run(chains=["ipsec: sha -> aes => host:1"], traffic=traffic)
    opened = spinet.run(chains=["both repeat: aes -> aes"], traffic=traffic)
    given = sorted(packet.data for packet in plain.to_host)
    assert sealed.complete and len(given) == len(sealed.to_host) == 60
    assert sorted(packet.data for packet in opened.to_host) == given
    for packet, sent in zip(sorted(packet.data for packet in sealed.to_host), given, strict=True):
        assert packet[: HEADERS + IV] == sent[: HEADERS + IV]
        assert packet[HEADERS + IV :] != sent[HEADERS + IV :]
    assert sealed.packets["hops"].to_pylist() == [2] * 60
    assert sealed.services["aes"].packets == sealed.services["sha"].packets == 60


def test_parts_of_a_latency_add_up() -> None:
    result = spinet.run(chains=["ipsec: sha -> aes"], traffic="udp:size=1024,count=300,rate=50G")
    rows = result.packets.to_pylist()
    parts = ("ingress", "interconnect", "queueing", "detours", "unit_wait", "service")
    for row in rows:
        assert row["latency_ps"] == sum(row[f"{part}_ps"] for part in parts)
        assert row["fate"] == "host" and row["leaving_ps"] - row["arrival_ps"] == row["latency_ps"]
    assert result.latency is not None
    mean = sum(row["latency_ps"] for row in rows) / len(rows) / 1000
    assert abs(result.latency.mean - mean) < 1e-6
    hops = result.hops.to_pylist()
    assert len(hops) == 600 and {hop["service"] for hop in hops} == {0, 1}


def test_everything_is_accounted_for_and_credits_are_reported_over_time() -> None:
    result = spinet.run(
        services=[DELAY], chains=["all: work"], traffic="udp:size=256,count=4000,rate=60G", set=["n_classes=3"]
    )
    packets = result.summary["packets"]
    assert packets["in"] == 4000 == packets["out"] + packets["dropped"] and packets["dropped"] > 0
    assert packets["dropped"] == sum(packets["dropped_by_reason"].values())
    (unit,) = (unit for unit in result.services["work"].units if unit["path"] == "work[0]")
    assert unit["busy_percent"] > 95 and unit["credits_held"] < 1
    series = result.summary["credits"]["units"]["work[0]"]
    assert 1 < len(series) <= 256 and max(series) <= 4


def test_packets_of_the_host_take_the_chains_of_their_queues() -> None:
    result = spinet.run(
        services=[DELAY],
        chains=["seal queues=1: work => network:0"],
        send=["1=udp:size=200,count=40,rate=5G", "0=udp:size=100,count=20,rate=5G"],
    )
    assert result.complete
    assert len(result.to_network) == 60 and result.services["work"].packets == 40
    assert sorted(set(result.packets["queue"].to_pylist())) == [0, 1]


def test_a_core_runs_a_program(tmp_path: Path) -> None:
    (tmp_path / "mark.c").write_text(
        "#include <handler.h>\n"
        "__handler__ void mark_ph(handler_args_t *args) { *(uint8_t *)args->task->pkt_mem = 0xAA; }\n"
    )
    result = spinet.run(
        services=[{"name": "mark", "engine": "riscv", "program": [str(tmp_path / "mark.c")]}],
        chains=["all: mark"],
        traffic="udp:size=128,count=10,rate=1G",
    )
    assert result.complete and result.summary["troubles"] == []


@pytest.mark.parametrize("nic", ["pipeline", "manycore"])
def test_cards_to_compare_with_take_the_same_chains(nic: str) -> None:
    result = spinet.run(
        nic=nic, services=["a: delay, cycles=10"], chains=["all: a"], traffic="udp:size=512,count=200,rate=1G"
    )
    assert result.complete and result.tenants["all"].packets_out == 200


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--chain", "all: ase"], "did you mean `aes`?"),
        (["--chain", "all: aes -> sha -> aes"], "is service 1 of the chain too"),
        (["--chain", "all aes"], "unknown setting `aes`"),
        (["--chain", "all [udp.dstport == 3]: aes"], "did you mean"),
        (["--chain", "all: aes", "--service", "x: delai"], "did you mean `delay`?"),
        (["--chain", "all: aes", "--service", "aes: credits=0"], "credits is 0"),
        (["--chain", "all: aes", "--tenant", "gold: wieght=2"], "did you mean `weight`?"),
        (["--chain", "all: aes", "--policy", "weighted"], "there is no policy `weighted`"),
        (["--chain", "all@gold: aes"], "there is no tenant `gold`"),
        (
            ["--chain", "all: aes", "--match", "udp"],
            "--match is for cards that run handlers (such as pspin); panic runs",
        ),
        (
            ["--chain", "all: aes", "--nic", "pspin"],
            "--chain is for cards that run chains of offloads (such as panic); pspin",
        ),
        (["--chain", "all: aes", "--nic", "tigon2"], "tigon2 is wired from modules and runs firmware"),
        (["--chain", "all: aes", "--nic", "pspinn"], "did you mean `pspin`?"),
        (["--nic", "pspin", "--policy", "fifo"], "hint: chains need a card such as panic"),
        (["--nic", "tigon2", "--match", "udp"], "--match is for cards that run handlers"),
        (["--nic", "panic", "--firmware", "tigon2"], "hint: cores run programs: --service 'core: riscv, program=FILE'"),
        (["h.c", "--firmware", "tigon2"], "hint: handlers are named without an option"),
        (
            ["h.c", "--send", "udp:count=1"],
            "hint: only handlers send on PsPIN; cards with a host that sends are panic and tigon2",
        ),
        (["h.c", "--chain", "all: aes"], "hint: a core of it can: --service 'core: riscv, program=h.c'"),
        (["h.c", "--nic", "panic"], "panic runs chains of offloads, not handlers"),
        (["--chain", "all: aes", "--trace-cores", "0:1"], "--trace-cores is for cards that run handlers"),
        (["--nic", "panic"], "there is no chain"),
        (["--service", "x: delay"], "--service goes with --chain"),
        (["--chain", "all: aes", "--set", "service.aes.unit=2"], "did you mean"),
    ],
)
def test_mistakes_are_reported_and_end_with_2(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments, "--traffic", "udp:count=10"]) == 2
    assert text in capsys.readouterr().err


def test_a_run_that_does_not_finish_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--service", DELAY, "--chain", "all: work", "--traffic", "udp:count=1000,rate=50G", "--limit", "1 us"]
    assert main(["run", *arguments]) == 2
    assert "the limit of 1 us is reached" in capsys.readouterr().err


def test_cards_with_chains_are_listed_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nic", "show", "panic", "--set", "service.aes.credits=5", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {service["name"]: service["credits"] for service in shown["service"]} == {"sha": 4, "aes": 5}
    assert main(["nic", "check", "panic-asic"]) == 0
    assert main(["nic", "check", "panic-rtl"]) == 0
    assert main(["nic", "services"]) == 0
    assert "aes-256-ctr" in capsys.readouterr().out
    assert _core.kind_of_nic("pipeline") == "chains" and _core.kind_of_nic("pspin") == "handlers"


@pytest.mark.parametrize(
    ("chains", "nic", "text"),
    [
        ("chain = ['all: aes']", "pspin", "run.toml has chains of offloads; pspin runs handlers"),
        ("chain = ['all: aes']", "tigon2", "run.toml has chains of offloads; tigon2 is wired from modules"),
        ("program = ['h.c']", "panic", "run.toml has no chains of offloads; panic runs chains of offloads"),
        ("chain = [", "panic", "run.toml: line 1"),
    ],
)
def test_an_experiment_for_another_kind_of_card_is_reported(
    chains: str,
    nic: str,
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(chains + "\n")
    assert main(["run", "run.toml", "--nic", nic]) == 2
    assert text in capsys.readouterr().err


def test_what_the_host_sends_has_a_pace(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "run",
        "--service",
        DELAY,
        "--chain",
        "seal queues=0: work",
        "--chain",
        "other queues=3: work",
        "--json",
    ]
    sends = ["--send", "udp:size=200,count=40,rate=5G", "--send", "3=udp:size=200,count=40,rate=5G"]
    assert main([*arguments, *sends, "--pace", "line:1G", "--count", "10"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert [
        (source["side"], tenant["in"]) for source, tenant in zip(summary["sources"], summary["tenants"], strict=True)
    ] == [
        ("host:0", 10),
        ("host:3", 10),
    ]
    # A packet of 200 bytes and 24 of preamble, FCS and gap each 1.792 us: nine of them between first and last.
    assert 9 * 1792 < summary["time"]["simulated_ns"] < 10 * 1792


def test_what_nothing_uses_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--chain", "all: work", "--chain", "late: aes", "--tenant", "nobody: weight=3"]
    services = ["--service", "work: delay, cycles=1, units=3", "--service", "spare: delay"]
    traffic = ["--traffic", "udp:size=64,count=4,rate=1M"]
    assert main(["run", *arguments, *services, *traffic]) == 0
    shown = capsys.readouterr().out
    assert "No packet came to chain late; service spare; unit work[1], work[2]; tenant nobody, late" in shown
    assert main(["run", *arguments[:2], "--service", "work: delay", *traffic, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unused"] == {"chains": [], "services": [], "units": [], "tenants": []}


def test_shares_are_of_the_time_when_all_send() -> None:
    """One tenant sends for 60 us and another from 20 to 41 us: in this time both get the same, whatever either got
    alone."""
    result = spinet.run(
        services=["work: delay, cycles=20, units=1, credits=4"],
        policy="weighted-fair",
        chains=["long [udp.dst_port == 1]: work", "short: work"],
        traffic=[
            {"source": "udp:size=512,count=600,rate=41G,dst_port=1"},
            {"source": "udp:size=512,count=200,rate=41G,dst_port=2", "start": "20 us"},
        ],
    )
    long, short = result.tenants["long"], result.tenants["short"]
    assert long.bytes_out > 1.5 * short.bytes_out
    assert abs(short.share - 0.5) < 0.03 and result.summary["jain_index"] > 0.99
    begin, end = result.summary["share_window_ns"]
    assert 20_000 <= begin < 20_200 and 40_700 < end < 41_000
    apart = spinet.run(
        chains=["a [udp.dst_port == 1]: => host", "b: => host"],
        traffic=[
            {"source": "udp:size=100,count=30,rate=1G,dst_port=1"},
            {"source": "udp:size=100,count=10,rate=1G,dst_port=2", "start": "1 ms"},
        ],
    )
    assert apart.summary["share_window_ns"] is None and apart.tenants["a"].share == 0.75


def test_queues_in_engines_are_no_service() -> None:
    """An engine of one lane that takes a packet a microsecond: packets that arrive meanwhile wait, and then take the
    same time."""
    engine = {
        "kind": "rate",
        "clock": {"kind": "nic"},
        "fifo_flits": 64,
        "bits_per_cycle": 512,
        "base_cycles": 248,
        "block_bytes": 64,
        "block_cycles": 0,
        "in_flight": 1,
    }
    result = spinet.run(
        services=[{"name": "slow", "engine": engine, "units": 1, "credits": 8}],
        chains=["all: slow"],
        traffic="udp:size=128,count=4,rate=100G",
    )
    served = [hop["service_ps"] for hop in result.hops.to_pylist()]
    waited = [hop["unit_wait_ps"] for hop in result.hops.to_pylist()]
    # Two cycles to enter and 248 more; the flits of the first packet arrive one after the other and take a cycle more.
    assert served == [251 * 4000, 250 * 4000, 250 * 4000, 250 * 4000]
    assert [round((wait - waited[0]) / served[0]) for wait in waited] == [0, 1, 2, 3]


@pytest.mark.parametrize("nic", ["panic", "panic-rtl", "panic-asic", "pipeline", "manycore", "rmt", "pspin"])
def test_cards_that_are_wired_by_code_are_drawn(nic: str, tmp_path: Path) -> None:
    assert main(["nic", "show", nic, "--svg", str(tmp_path / "card.svg")]) == 0
    words = [element.text for element in ET.parse(tmp_path / "card.svg").iter() if element.text]
    assert {nic, "host"} <= set(words)
    assert not [word for word in words if "{" in word or "None" in word]


def test_a_drawing_follows_the_parameters(capsys: pytest.CaptureFixture[str]) -> None:
    changes = ["service.aes.units=4", "service.sha.credits=7", "scheduler.buffer.cells=99", "flit_bytes=128"]
    assert (
        main(["nic", "show", "panic", *(word for change in changes for word in ("--set", change)), "--svg", "-"]) == 0
    )
    words = {element.text for element in ET.fromstring(capsys.readouterr().out).iter()}
    assert {"aes \u00d7 4", "7 credits each, fifo", "bank of 99 x 1536 B"} <= words
    assert any(word and word.startswith("crossbar, 1024 bits") for word in words)


def test_a_seed_over_a_file_holds_for_its_traffic(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    text = 'chain = ["all: aes"]\ntraffic = "udp:size=200,count=20,rate=10G,payload=random"\n'
    file.write_text(text)
    over = spinet.run(file, seed=2)
    file.write_text(text + "seed = 2\n")
    assert over.digest == spinet.run(file).digest != spinet.run(file, seed=1).digest


def test_a_report_tells_what_went_wrong_in_a_unit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "wild.c"
    program.write_text(
        "#include <panic.h>\n"
        "void panic_main(void)\n"
        "{ for (;;) { panic_packet_t packet = panic_take(); *(volatile int *)((long)packet.data | 1) = 3; } }\n"
    )
    file = tmp_path / "run.toml"
    service = f'[[service]]\nname = "core"\nengine = "riscv"\nprogram = "{program}"\n'
    file.write_text(f'chain = ["all: core"]\ntraffic = "udp:count=5"\n{service}')
    main(["run", str(file)])
    shown = " ".join(capsys.readouterr().out.split())
    assert "! A program went wrong, 5 packets were dropped for it; first in panic_main" in shown
    assert " at wild.c:3 (pc 0x" in shown and "packet 1: misaligned store" in shown
    assert shown.count("misaligned store") == 3, "the first ones are enough"


def test_one_chain_may_be_said_without_a_list() -> None:
    assert spinet.run(chains="all: aes", traffic="udp:count=3").complete


def test_tables_change_and_tell_what_they_took(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "police.toml"
    file.write_text("""
        nic = "panic"
        chain = ["all: aes"]
        traffic = "udp:size=500,count=200,rate=26.2G"  # 160 ns each
        [rmt]
        stages = 2
        max_hops = 4
        registers = [{ kind = "words", name = "seen", size = 8 }]
        [[rmt.tables]]
        name = "police"
        entries = [{ match = "udp", actions = [{ count = { register = "seen", index = 5 } }] }]
        [[at]]
        time = "15.9 us"
        [at.entries]
        police = [{ match = "udp.dst_port == 9999", actions = [{ exit = "drop" }, "stop"] }]
    """)
    assert main(["run", str(file), "-o", str(tmp_path / "result")]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"police +udp.dst_port == 9999 +100\n", printed), printed
    assert "Register seen: [5] 100\n" in printed
    summary = json.loads((tmp_path / "result" / "summary.json").read_text())
    assert summary["packets"]["out"] == 100 and summary["packets"]["dropped_by_reason"] == {"rmt": 100}
    assert main(["run", str(tmp_path / "result" / "experiment.json"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["digest"] == summary["digest"]


def test_a_port_sends_no_faster_than_its_line() -> None:
    """Two ports of 100 Gbit/s in, one out: 1500 bytes are 1524 on the line."""
    result = spinet.run(
        nic="panic-asic",
        chains=["all: => network:0"],
        traffic=[{"source": "udp:size=1500,count=600,rate=100G", "port": port} for port in (0, 1)],
    )
    left = result.columns["left_ps"]
    times = sorted(left[left >= 0])
    gaps = {int(later - earlier) for earlier, later in itertools.pairwise(times)}
    assert gaps == {121_000, 122_000}, "121.92 ns each, in cycles of 1 ns"
