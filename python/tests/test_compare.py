# SPDX-License-Identifier: Apache-2.0
"""The same packets and handlers on several NICs."""

from __future__ import annotations

import csv
import json
import re
import shlex
import struct
from pathlib import Path

import pytest
import spinet
from spinet.cli import main
from spinet.comparison import Comparison

ROOT = Path(__file__).resolve().parent.parent.parent
GUIDE = (ROOT / "docs" / "guides" / "compare.md").read_text()
REFERENCE = (ROOT / "docs" / "reference" / "compare.md").read_text()
HANDLERS = ["pspin", "panic", "native"]
UDP = "udp:size=256,count=120,rate=1G"


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.fixture(scope="module")
def ping() -> Comparison:
    return spinet.compare(
        program="sdk/examples/icmp_echo.c", traffic="captures/ping.pcap", match="icmp", nics=[*HANDLERS, "tigon2"]
    )


def test_the_commands_of_the_guide_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for folder in ("captures", "sdk"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    shown = {}
    for command in commands():
        if "net make" in command or "--network" in command:  # test_compare_networks.py
            continue
        assert main(shlex.split(command)[1:]) == 0, command
        shown[command] = capsys.readouterr().out
        assert "Latency: from when the first bit is due" in shown[command]
    pings, one_unit, four_units, _memcached, forwarding = shown.values()
    assert pings.count("equal") == 2 and "tigon2 did not run: its firmware runs no handlers" in pings
    assert "missing" in one_unit and "lost: cells" in one_unit
    assert "missing" not in four_units and "4 RISC-V units" in four_units
    assert forwarding.count("equal") == 5
    assert {path.name for path in (tmp_path / "pings").iterdir()} == {
        "compare.json", "compare.csv", "compare.svg", "compare.png",
    }  # fmt: skip


def test_the_python_of_the_guide_runs() -> None:
    codes = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    assert len(codes) == 2
    for code in codes:
        exec(compile(code, "docs/guides/compare.md", "exec"), {})


def test_pings_are_answered_with_the_same_bytes_everywhere(ping: Comparison) -> None:
    assert ping.outputs_equal and ping.reference == "pspin"
    answers = {row.nic: (row.delivered.packets, row.output, row.lost, row.consumed) for row in ping.rows}
    sent = ping["pspin"].output
    assert sent is not None and sent.compared == 12 and sent.is_equal
    assert answers == {"pspin": (12, sent, 0, 12), "panic": (12, sent, 0, 12), "native": (12, sent, 0, None)}
    own = spinet.run(program="sdk/examples/icmp_echo.c", traffic="captures/ping.pcap", match="icmp")
    assert len(own.sent) == 12  # the same as in a separate run


def test_what_cannot_run_is_listed_with_the_reason(ping: Comparison) -> None:
    assert list(ping.not_run) == ["tigon2"] and "runs no handlers" in ping.not_run["tigon2"]


@pytest.mark.parametrize("message", [None, "by flow last"])
def test_udp_ping_pong_sends_the_same_bytes_everywhere(message: str | None) -> None:
    result = spinet.compare(
        program="sdk/examples/udp_ping_pong.c", traffic=f"{UDP},flows=7,payload=random", message=message, nics=HANDLERS
    )
    assert result.outputs_equal
    assert [row.delivered.packets for row in result.rows] == [120] * 3


def test_cards_by_any_name_or_file_are_compared(tmp_path: Path) -> None:
    (tmp_path / "half.toml").write_text(spinet.nic("pspin", set=["n_clusters=2"]))
    nics = ["pspin-rtl", str(tmp_path / "half.toml"), "panic-asic", "pipeline", "manycore"]
    result = spinet.compare(program="sdk/examples/ping_pong.c", traffic="captures/dns.pcap", nics=nics)
    assert [row.nic for row in result.rows] == nics and result.outputs_equal
    forwarded = spinet.compare(traffic="captures/dns.pcap", nics=["rmt", "pipeline", "pspin-rtl"])
    assert not forwarded.not_run and forwarded.outputs_equal


def test_a_handler_that_answers_otherwise_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "mark.c").write_text(
        "#include <handler.h>\n"
        "__handler__ void mark_ph(handler_args_t *args)\n"
        "{\n"
        "    uint8_t *packet = args->task->pkt_mem;\n"
        "#ifdef SPIN_PANIC\n"
        "    packet[20] ^= 1;\n"
        "#endif\n"
        "    spin_cmd_t sent;\n"
        "    spin_send_packet(packet, args->task->pkt_mem_size, &sent);\n"
        "}\n"
    )
    result = spinet.compare(program=tmp_path / "mark.c", traffic="udp:count=5,rate=1G,payload=counter", nics=HANDLERS)
    assert result.outputs_equal is False
    shown = {row.nic: (row.output.missing, row.output.unexpected) for row in result.rows if row.output}
    assert shown == {"pspin": (0, 0), "panic": (5, 5), "native": (0, 0)}


def test_the_same_packets_come_at_the_same_times() -> None:
    """Far apart, no packet delays another, and none comes out faster than it was offered."""
    result = spinet.compare(traffic="udp:size=64,count=40,rate=100kpps", nics=["pspin", "panic", "tengig"])
    rates = {row.nic: row.delivered.packets_per_s for row in result.rows}
    assert result.offered_rate.packets_per_s == pytest.approx(100e3)
    assert all(rate == pytest.approx(100e3, rel=0.15) and rate <= 100_000.001 for rate in rates.values() if rate)
    assert result["panic"].latency_ns is not None
    assert result["panic"].latency_ns.min == result["panic"].latency_ns.p99  # nothing delays it


def test_parts_add_up_to_the_latency(ping: Comparison) -> None:
    for row in ping.rows:
        assert row.latency_ns is not None and row.time_ns is not None
        assert sum(row.time_ns.values()) == pytest.approx(row.latency_ns.mean)
        assert sum(mean for _part, _kind, mean in row.parts_ns) == pytest.approx(row.latency_ns.mean)
        assert all(mean >= 0 for _part, _kind, mean in row.parts_ns)


def test_parts_add_up_where_header_and_completion_handlers_run() -> None:
    result = spinet.compare(
        program="sdk/examples/count.c", traffic=f"{UDP},flows=5", message="by flow last", exit="host", nics=HANDLERS
    )
    assert set(result.not_run) == {"panic", "native"}
    assert "count_th would not run" in result.not_run["panic"]
    row = result["pspin"]
    assert row.latency_ns is not None and row.time_ns is not None and row.time_ns["computation"] > 0
    assert sum(row.time_ns.values()) == pytest.approx(row.latency_ns.mean)


def test_packets_are_offered_delivered_consumed_or_lost() -> None:
    result = spinet.compare(
        program="sdk/examples/udp_ping_pong.c", traffic="udp:size=512,count=400,rate=10G", nics=["pspin", "panic"]
    )
    for row in result.rows:
        assert row.consumed is not None
        assert row.delivered.packets + row.consumed + row.lost == 400
        assert row.lost == sum(row.lost_by_reason.values())
    panic = result["panic"]
    assert panic.lost > 0 and panic.output is not None and panic.output.missing == panic.lost
    assert result.outputs_equal  # except lost packets
    assert panic.time_ns is not None and panic.latency_ns is not None
    assert panic.time_ns["waiting"] > 0.9 * panic.latency_ns.mean


def test_a_card_that_derives_from_another_is_compared(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('name = "own"\nbase = "tigon2"\n[instances]\nhost = { mtu = 1400 }\n')
    result = spinet.compare(traffic="udp:size=200,count=20,rate=100M", nics=[str(own)])
    assert not result.not_run and result.rows[0].delivered.packets == 20
    assert "takes frames for any address" in result.rows[0].notes


def test_a_line_that_is_the_limit_is_reported() -> None:
    result = spinet.compare(traffic="udp:size=1400,count=60,rate=2G", nics=["tigon2", "tengig"])
    assert [row.is_line_the_limit for row in result.rows] == [True, False]
    tigon2 = result["tigon2"].time_ns
    assert tigon2 is not None and tigon2["waiting"] > 0 and tigon2["unattributed"] > 0
    assert all(row.digest and len(row.digest) == 64 for row in result.rows)
    assert result.outputs_equal and result.reference is None


def test_equal_inputs_give_equal_rows() -> None:
    first, second = (
        spinet.compare(program="sdk/examples/ping_pong.c", traffic="captures/dns.pcap", nics=["pspin", "panic"])
        for _ in range(2)
    )
    assert first.as_json() == second.as_json() and first.as_csv() == second.as_csv()


def test_gaps_are_cut_for_all_and_it_is_reported() -> None:
    result = spinet.compare(traffic="captures/ping.pcap", nics=["panic"], longest_gap="10 us")
    assert result.offered.cut_gaps > 10 and result.offered.padded == 2
    assert max(b - a for a, b in zip(result.offered.time_ps, result.offered.time_ps[1:], strict=False)) == 10_000_000


def test_files_say_what_the_reference_says(ping: Comparison, tmp_path: Path) -> None:
    ping.save(tmp_path / "out")
    known = json.loads((tmp_path / "out" / "compare.json").read_text())
    named = set(re.findall(r"`(\w+)`", REFERENCE))
    keys = {*known, *known["offered"], *(key for row in known["rows"] for key in row), *known["rows"][0]["output"]}
    assert keys <= named, keys - named
    lines = list(csv.DictReader((tmp_path / "out" / "compare.csv").read_text().splitlines()))
    assert [line["nic"] for line in lines] == [*HANDLERS, "tigon2"]
    assert lines[3]["not_run_because"] == ping.not_run["tigon2"] and lines[0]["out_packets"] == "12"
    svg = (tmp_path / "out" / "compare.svg").read_text()
    assert "packets lost" in svg and "where the time goes" in svg
    with pytest.raises(spinet.OutputError, match="exists"):
        ping.save(tmp_path / "out")
    ping.save(tmp_path / "out", force=True, plot=False)
    assert not (tmp_path / "out" / "compare.svg").exists()


def test_a_handler_that_does_not_compile_for_one_runs_on_the_others(tmp_path: Path) -> None:
    (tmp_path / "picky.c").write_text(
        "#include <handler.h>\n"
        "#ifdef SPIN_PANIC\n"
        "#error not for units\n"
        "#endif\n"
        "__handler__ void picky_ph(handler_args_t *args)\n"
        "{\n"
        "    spin_cmd_t sent;\n"
        "    spin_send_packet(args->task->pkt_mem, args->task->pkt_mem_size, &sent);\n"
        "}\n"
    )
    result = spinet.compare(program=tmp_path / "picky.c", traffic="udp:count=5,rate=1G", nics=HANDLERS)
    assert [row.nic for row in result.rows] == ["pspin", "native"]
    assert "picky.c does not compile" in result.not_run["panic"] and "not for units" in result.not_run["panic"]


def test_a_run_that_does_not_finish_is_reported_and_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sdk/examples/udp_ping_pong.c", "--traffic", "udp:count=2000,rate=10G", "--nic", "pspin"]
    assert main(["compare", *arguments, "--limit", "20 us"]) == 2
    captured = capsys.readouterr()
    assert "not every run finished: pspin" in captured.err and "not finished" in captured.out


PING = "sdk/examples/udp_ping_pong.c"


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        ([PING, "-t", UDP, "--nic", "pspn"], ["there is no NIC `pspn`", "did you mean pspin?"]),
        ([PING, "-t", UDP, "--nic", "panic", "--nic", "panic"], ["panic is named more than once"]),
        ([PING, "-t", UDP, "--nic", "missing.toml"], ["there is no file missing.toml"]),
        ([PING, "-t", "missing.pcap"], ["missing.pcap", "No such file"]),
        ([PING], ["there is no traffic"]),
        (["missing.c", "-t", UDP], ["missing.c does not exist"]),
        ([PING, "-t", UDP, "--forward"], ["--forward goes without a handler"]),
        (["-t", UDP, "--match", "udp"], ["match goes with handlers"]),
        ([PING, "-t", UDP, "--match", "udp.dst_prt == 1"], ["did you mean `udp.dst_port`?"]),
        ([PING, "-t", UDP, "--match", "tcp"], ["none of 120 packets is for the handlers"]),
        ([PING, "-t", UDP, "--set", "n_clusters=2"], ["no NIC is named", "pspin:n_clusters=2"]),
        ([PING, "-t", UDP, "--set", "rmt:clock_mhz=2"], ["rmt is not compared"]),
        ([PING, "-t", UDP, "--set", "native:x=2"], ["this machine has no parameters"]),
        ([PING, "-t", UDP, "--set", "pspin:n_clutsers=2"], ["pspin: ", "n_clutsers"]),
        ([PING, "-t", UDP, "--units", "0"], ["units is 0"]),
        ([PING, "-t", UDP, "--nic", "tigon2"], ["no NIC can run it: tigon2", "runs no handlers"]),
        ([PING, "-t", UDP, "--nic", "rmt"], ["no NIC can run it: rmt"]),
        ([PING, "-t", UDP, "--rate", "fast"], ["--rate is `fast`"]),
        ([PING, "-t", UDP, "--longest-gap", "soon"], ["`soon` is not a time"]),
        ([PING, "-t", UDP, "--exit", "nowhere"], ["nowhere"]),
        ([PING, "-t", UDP, "-o", "captures"], ["captures exists"]),
        (["program.elf", "-t", UDP], ["program.elf is not a source"]),
    ],
)
def test_mistakes_are_reported_and_end_with_2(
    arguments: list[str], texts: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments]) == 2
    shown = capsys.readouterr()
    assert all(text in shown.err for text in texts), shown.err
    assert shown.out == ""


def test_a_handler_that_compiles_nowhere_is_an_error_of_its_compiler(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.c").write_text("#include <handler.h>\n__handler__ void b_ph(handler_args_t *a) { a++ }\n")
    assert main(["compare", str(tmp_path / "broken.c"), "-t", UDP, "-o", str(tmp_path / "out")]) == 2
    assert "does not compile" in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_short_run_has_no_steady_state(capsys: pytest.CaptureFixture[str]) -> None:
    traffic = "udp:size=512,count=18,rate=1G"
    assert main(["compare", "sdk/examples/ping_pong.c", "-t", traffic, "--nic", "pspin", "--nic", "panic"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("no steady state: the run is too short; between warm-up and drain 1") == 2
    heading = next(line for line in shown.splitlines() if "compute" in line)
    assert "transfer" in heading and "memory" not in heading
    notes = {line.partition(":")[0]: line for line in shown.splitlines()}
    assert "its host is ideal: no PCIe latency" in notes["panic"] and "ideal" not in notes["pspin"]


def test_steady_throughput_leaves_warm_up_and_drain_out() -> None:
    """One unit is slower than the traffic: its queue drains after the traffic has ended."""
    result = spinet.compare(
        program="sdk/examples/ping_pong.c", traffic="udp:size=256,count=1000,rate=1G", nics=["pspin", "panic", "native"]
    )
    for nic in ("pspin", "panic"):
        steady = result[nic].steady
        assert steady is not None and steady.packets < 800 and result[nic].not_steady_because is None
        assert steady.packets_per_s == pytest.approx(result.offered_rate.packets_per_s, rel=0.01)
    assert (result["native"].steady, result["native"].not_steady_because) == (None, None)
    assert [row.is_host_ideal for row in result.rows] == [False, True, False]


def test_a_rate_that_changes_is_no_steady_state(tmp_path: Path) -> None:
    """Sparse traffic after dense traffic."""
    capture = tmp_path / "slower.pcap"
    header = struct.pack("<IHHIIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    times = [*range(0, 600_000, 1_000), *range(600_000, 1_500_000, 4_000)]
    packets = (struct.pack("<IIII", 0, ns, 64, 64) + bytes(12) + b"\x08\x00" + bytes(50) for ns in times)
    capture.write_bytes(header + b"".join(packets))
    result = spinet.compare(traffic=capture, nics=["pspin"])
    why = result["pspin"].not_steady_because
    assert result["pspin"].steady is None and why is not None and why.startswith("rates change; ")
