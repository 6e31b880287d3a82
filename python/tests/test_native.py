# SPDX-License-Identifier: Apache-2.0
"""Handlers on this machine: the same bytes as on the simulated card, for any number of threads."""

from __future__ import annotations

import struct
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import spinet
from spinet import _experiments as experiments
from spinet import _offered, native, workloads

HOST = 0x1000_0000_0000_0000
UDP = "udp && ipv4.header_words == 5"
RULES = workloads.rules(dict.fromkeys(workloads.senders("10.0.0.1", 128, step=2), 7000))

# Handler, arguments of both runs, and the number of bytes of host memory to compare.
SAME: list[tuple[str, dict[str, object], int]] = [
    ("reduce", {"traffic": "udp:size=1500,count=200,payload=ints", "message": "all last"}, 2048),
    ("aggregate", {"traffic": "udp:size=300,count=400,flows=40,payload=ints", "message": "by flow last"}, 2048),
    (
        "histogram",
        {
            "traffic": "udp:size=1068,count=200,payload=ints:1024",
            "message": "all count 2",
            "defines": {"MESSAGES": 100},
        },
        4096,
    ),
    (
        "histogram",
        {
            "traffic": "udp:size=1068,count=200,payload=ints:1024",
            "message": "all count 2",
            "defines": {"PACKETS": 200},
        },
        4096,
    ),
    (
        "filtering",
        {
            "traffic": "udp:size=200..300,count=300,flows=256,senders=256,payload=random",
            "match": UDP,
            "handler_memory": RULES,
        },
        1 << 17,
    ),
    (
        "strided_ddt",
        {
            "traffic": "udp:size=700,count=200,payload=segment",
            "message": "all last",
            "handler_memory": workloads.layout(96, 160, blocks=10, plane=4000),
        },
        1 << 19,
    ),
    ("copy_to_host", {"traffic": "captures/http.pcap"}, 1 << 16),
    ("copy_to_host", {"traffic": "captures/http.pcap", "defines": {"FROM_L2": ""}}, 1 << 16),
    (
        "count",
        {
            "traffic": "captures/iperf3-tcp.pcap",
            "match": "tcp",
            "message": "by 5-tuple until tcp.flags.fin || tcp.flags.rst",
        },
        2048,
    ),
    ("filter", {"traffic": "captures/dns.pcap"}, 1 << 16),
    ("ping_pong", {"traffic": "captures/memcached.pcap"}, 64),
    ("udp_ping_pong", {"traffic": "udp:size=60..300,count=100,payload=random", "match": UDP}, 64),
    ("icmp_echo", {"traffic": "captures/ping.pcap", "match": "icmp || icmpv6"}, 64),
    ("empty", {"traffic": "udp:count=100", "defines": {"INSTRUCTIONS": 50}}, 64),
]


@pytest.mark.parametrize(("handler", "arguments", "size"), SAME)
def test_results_are_those_of_the_card(handler: str, arguments: dict[str, object], size: int) -> None:
    card = spinet.run(program=f"sdk/examples/{handler}.c", **arguments)  # type: ignore[arg-type]
    assert card.complete
    for threads in (1, 4) if handler in ("reduce", "histogram", "count") else (4,):
        here = native.run(program=f"sdk/examples/{handler}.c", threads=threads, flags=["-O1"], **arguments)  # type: ignore[arg-type]
        assert here.host_memory(HOST, size) == card.host_memory(HOST, size)
        assert Counter(here.sent) == Counter(packet.data for packet in card.sent)
        assert here.command_faults == 0
        runs = {handler["stage"]: handler["runs"] for handler in card.summary["handlers"]}
        assert {stage: int((ns >= 0).sum()) for stage, ns in here.ns.items() if (ns >= 0).any()} == runs
        assert len(here.threads) == threads and all(worker.ns > 0 for worker in here.threads)


def test_kvstore_answers_as_on_the_card_one_request_at_a_time() -> None:
    arguments = {"traffic": "udp:size=128,count=1000,payload=ycsb:a:1.1,rate=1Mpps", "match": UDP}
    card = spinet.run(program="sdk/examples/kvstore.c", **arguments)  # type: ignore[arg-type]
    here = native.run(program="sdk/examples/kvstore.c", **arguments)  # type: ignore[arg-type]
    assert list(here.sent) == [packet.data for packet in card.sent]
    assert here.host_memory(HOST, 128_000) == card.host_memory(HOST, 128_000)


def test_kvstore_on_threads_answers_with_values_that_were_written() -> None:
    traffic = "udp:size=128,count=20000,payload=ycsb:a:1.3:20"
    result = native.run(program="sdk/examples/kvstore.c", traffic=traffic, match=UDP, threads=4)
    written: set[bytes] = set()
    for packet in spinet.offered(traffic):
        if packet.data[44] == 1:
            written.add(packet.data[48:56])
    assert len(result.sent) > 5000
    assert all(reply[48:56] in written for reply in result.sent)


def test_messages_share_queues_as_on_the_experiments_card(tmp_path: Path) -> None:
    for n_queues, flows in [(256, [0, 1, 2, 3]), (2, [0, 1, 0, 1])]:
        file = tmp_path / f"{n_queues}.toml"
        file.write_text(
            f'program = "{Path("sdk/examples/empty.c").absolute()}"\ntraffic = "udp:count=4"\n'
            f'nic = {{ preset = "pspin", set = {{ "scheduler.n_mpqs" = {n_queues} }} }}\n[[context]]\n'
        )
        prepared = experiments.from_file(file, overrides={})
        setting = native._Setting.of(prepared, None)
        native._write_input(setting, _offered.each(prepared), tmp_path / "input")
        table = (tmp_path / "input").read_bytes()[56 : 56 + 4 * 20]
        assert [flow for flow, *_ in struct.iter_unpack("<IIIII", table)] == flows


def test_events_are_counted_or_it_is_said_why_not() -> None:
    result = native.run(program="sdk/examples/aggregate.c", traffic="udp:count=50,payload=ints", message="all last")
    for worker in result.threads:
        assert set(worker.events) == {"instructions", "cycles", "l1_loads", "l1_misses", "llc_misses"}
        assert all(count is not None for count in worker.events.values()) == (worker.why_not == "")
    assert result.clock_ns < 10_000


def test_events_of_a_system_that_has_counters(tmp_path: Path) -> None:
    include = ["-Isdk/native/include", "-idirafter", "sdk/include"]
    program = tmp_path / "events"
    subprocess.run(["cc", "-std=gnu11", *include, "sdk/tests/native_events.c", "-o", str(program)], check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    assert said == (
        '"instructions": 123456, "cycles": 4000, "l1_loads": null, "l1_misses": null, "llc_misses": null, '
        '"why_not": "perf_event_open: No such file or directory"\nclosed 3\n'
    )


def test_a_handler_that_prints_and_one_that_crashes(tmp_path: Path) -> None:
    talks, wild = tmp_path / "talks.c", tmp_path / "wild.c"
    talks.write_text('#include <handler.h>\n__handler__ void talks_ph(handler_args_t *args) { printf("hello\\n"); }\n')
    wild.write_text("#include <handler.h>\n__handler__ void wild_ph(handler_args_t *args) { *(int *)8 = 1; }\n")
    assert native.run(program=talks, traffic="udp:count=2").console == "hello\nhello\n"
    with pytest.raises(spinet.InputError, match=r"wild\.c crashed on this machine: signal 11"):
        native.run(program=wild, traffic="udp:count=2")


def test_what_cannot_run_here_is_refused(tmp_path: Path) -> None:
    empty = "sdk/examples/empty.c"
    for arguments, said in [
        ({"threads": 33}, "threads is 33, must be 1 to 32"),
        ({"cc": "no-such-cc"}, "no compiler 'no-such-cc' in the search path"),
        ({"handler_memory": bytes(1 << 21)}, "has more than the 1048576 bytes of its handler memory"),
    ]:
        with pytest.raises((spinet.InputError, spinet.BuildError), match=said):
            native.run(program=empty, traffic="udp:count=1", **arguments)  # type: ignore[arg-type]
    other = tmp_path / "other.toml"
    other.write_text(
        f'program = "{Path(empty).absolute()}"\ntraffic = "udp:count=1"\n'
        'nic = { preset = "pspin", set = { n_clusters = 2 } }\n[[context]]\n'
    )
    with pytest.raises(spinet.InputError, match=r"another shape \(NB_CLUSTERS 2\): native runs have 4 clusters of 8"):
        native.run(experiment=other)
    registers = tmp_path / "registers.c"
    registers.write_text(
        '#include <handler.h>\n__handler__ void registers_ph(handler_args_t *a) { __asm__("csrr a0, 0x014"); }\n'
    )
    with pytest.raises(spinet.BuildError, match=r"registers\.c does not compile for this machine"):
        native.run(program=registers, traffic="udp:count=1")
