# SPDX-License-Identifier: Apache-2.0
"""`spinet run --check`: broken programs, one for each kind of finding, and programs that are right."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet import workloads
from spinet._core import UsageError
from spinet.cli import main

HEAD = """
#include <handler.h>
#include <spin_amo.h>
#include <spin_ip.h>
#include <spin_pkt.h>
"""
SOME = "udp:size=128,count=200,rate=200G"
EXAMPLES, PAPER = "sdk/examples", "experiments/pspin/handlers"
PORTS = {sender: 7000 + number for number, sender in enumerate(workloads.senders("10.0.0.1", 256, step=2))}


def check(folder: Path, body: str, *, traffic: str = SOME, **more: Any) -> spinet.Result:
    source = folder / "broken.c"
    source.write_text(HEAD + body)
    return spinet.run(program=source, traffic=traffic, check=True, keep_packets=False, **more)


def line_of(body: str, mark: str) -> str:
    """`broken.c:LINE` of the line with a mark."""
    lines = (HEAD + body).split("\n")
    (number,) = (number for number, line in enumerate(lines, start=1) if mark in line)
    return f"broken.c:{number}"


def name(line: str) -> str:
    return Path(line).name


def test_a_branch_on_a_stack_that_nobody_wrote(tmp_path: Path) -> None:
    body = """
volatile uint32_t last;
__handler__ void broken_ph(handler_args_t *args)
{
    volatile uint32_t table[4];
    table[0] = args->hpu_id;
    uint32_t word = table[2]; /* load */
    if ((word & 0xff) > 3) { /* branch */
        last = table[0];
    }
}
"""
    result = check(tmp_path, body, traffic="udp:count=3,rate=1Mpps")
    (found,) = result.findings
    assert (found["kind"], found["count"], found["stage"], found["frame"]) == ("uninitialised", 3, "payload", 0)
    assert found["text"].startswith("a branch depends on memory that nobody has written: the stack of HPU ")
    assert name(found["line"]) == line_of(body, "/* branch */")
    assert name(found["loaded"]["line"]) == line_of(body, "/* load */")
    assert result.summary["check"]["uninitialised"] == 3
    assert any("at one place" in text for text in result.remarks)


def test_an_undefined_value_that_leaves_the_card(tmp_path: Path) -> None:
    body = """
__handler__ void broken_ph(handler_args_t *args)
{
    volatile uint32_t words[2];
    uint64_t host = (uint64_t)args->task->host_mem_high << 32 | args->task->host_mem_low;
    spin_cmd_t written;
    spin_write_to_host(host, words[1], &written); /* here */
}
"""
    (found,) = check(tmp_path, body, traffic="udp:count=1").findings
    assert found["kind"] == "uninitialised"
    assert found["text"].startswith("a value that leaves the core for a register of the card depends on memory")
    assert name(found["line"]) == line_of(body, "/* here */")


def test_bytes_that_are_sent_and_were_never_written(tmp_path: Path) -> None:
    body = """
__handler__ void broken_ph(handler_args_t *args)
{
    volatile uint8_t reply[64];
    for (int i = 0; i < 60; i++) {
        reply[i] = 0;
    }
    spin_cmd_t sent;
    spin_send_packet((void *)reply, sizeof(reply), &sent);
}
"""
    (found,) = check(tmp_path, body, traffic="udp:count=1").findings
    assert found["text"].startswith(
        "4 of 64 bytes that leave the card were never written; the first: the stack of HPU "
    )


def test_copies_of_padding_are_no_findings(tmp_path: Path) -> None:
    body = """
struct padded { uint8_t small; uint32_t large; } volatile_copy;
static volatile struct padded kept;
__attribute__((noinline)) static struct padded made(uint32_t n)
{
    struct padded it;
    it.small = n;
    it.large = n;
    return it;
}
__handler__ void right_ph(handler_args_t *args)
{
    volatile struct padded local;
    struct padded from = made(args->hpu_id);
    memcpy((void *)&local, &from, sizeof(local));
    struct padded again;
    memcpy(&again, (void *)&local, sizeof(again));
    if (again.small == 200 && again.large == 3) {
        kept.small = 1;
    }
}
"""
    assert check(tmp_path, "#include <string.h>\n" + body, traffic="udp:count=2,rate=1Mpps").findings == ()


def test_an_access_past_the_end_of_the_packet(tmp_path: Path) -> None:
    body = """
volatile uint8_t seen;
__handler__ void broken_ph(handler_args_t *args)
{
    const volatile uint8_t *packet = args->task->pkt_mem;
    seen = packet[args->task->pkt_mem_size + 40]; /* past */
}
"""
    result = check(tmp_path, body, traffic="udp:size=128,count=5,rate=1Mpps")
    (found,) = result.findings
    assert (found["kind"], found["text"], found["count"]) == ("bounds", "40 bytes past the end of the packet", 5)
    assert name(found["line"]) == line_of(body, "/* past */")
    # The run continues: every packet is finished, with a trap.
    assert result.complete
    assert result.summary["packets"]["trapped"] == 5


def test_bytes_behind_a_packet_in_its_last_word(tmp_path: Path) -> None:
    """Memory protection works on words and lets these accesses pass."""
    body = """
volatile uint8_t seen;
__handler__ void broken_ph(handler_args_t *args)
{
    seen = ((const volatile uint8_t *)args->task->pkt_mem)[args->task->pkt_mem_size];
}
"""
    result = check(tmp_path, body, traffic="udp:size=125,count=1")
    assert [(found["kind"], found["text"]) for found in result.findings] == [
        ("bounds", "0 bytes past the end of the packet")
    ]
    assert result.summary["packets"]["trapped"] == 0


def test_an_access_past_the_end_of_a_variable(tmp_path: Path) -> None:
    body = """
volatile uint8_t flags[5];
volatile uint32_t after = 3;
__handler__ void broken_ph(handler_args_t *args)
{
    flags[(args->task->pkt_mem_size & 1) + 6] = 1; /* past */
}
"""
    (found,) = check(tmp_path, body, traffic="udp:size=128,count=1").findings
    assert (found["kind"], found["text"]) == ("bounds", "1 bytes past the end of `flags`")
    assert name(found["line"]) == line_of(body, "/* past */")


COUNTER = """
static volatile uint32_t counter;
static spin_lock_t lock;
static spin_ticket_lock_t order;
__handler__ void count_ph(handler_args_t *args)
{
    %s
}
"""


def test_a_counter_without_a_lock(tmp_path: Path) -> None:
    body = COUNTER % "counter = counter + 1; /* here */"
    result = check(tmp_path, body)
    assert {found["kind"] for found in result.findings} == {"race"}
    found = result.findings[0]
    assert "races with another core: `counter`" in found["text"]
    assert name(found["line"]) == name(found["other"]["line"]) == line_of(body, "/* here */")
    assert (found["cluster"], found["core"]) != (found["other"]["cluster"], found["other"]["core"])
    assert found["other"]["cycle"] <= found["cycle"]


@pytest.mark.parametrize(
    "statement",
    [
        "spin_lock_lock(&lock); counter = counter + 1; spin_lock_unlock(&lock);",
        "spin_ticket_lock_lock(&order); counter = counter + 1; spin_ticket_lock_unlock(&order);",
        "amo_add((volatile int32_t *)&counter, 1);",
    ],
)
def test_a_counter_with_a_lock_or_an_atomic(tmp_path: Path, statement: str) -> None:
    assert check(tmp_path, COUNTER % statement).findings == ()


def test_handlers_of_a_message_are_ordered(tmp_path: Path) -> None:
    body = """
static volatile uint32_t state[256];
__handler__ void right_hh(handler_args_t *args) { state[args->task->flow_id] = 1; }
__handler__ void right_ph(handler_args_t *args)
{
    if (state[args->task->flow_id] != 1) {
        amo_add((volatile int32_t *)&state[args->task->flow_id], 5);
    }
}
__handler__ void right_th(handler_args_t *args) { state[args->task->flow_id] = 2; }
"""
    assert check(tmp_path, body, message="by 5-tuple count 4", traffic=SOME + ",flows=9").findings == ()
    broken = body.replace(
        "right_ph(handler_args_t *args)\n{", "right_ph(handler_args_t *args)\n{ state[args->task->flow_id] = 1;"
    )
    found = check(tmp_path, broken, message="by 5-tuple count 4", traffic=SOME + ",flows=9").findings
    assert {(one["kind"], one["stage"]) for one in found} == {("race", "payload")}


def test_a_handler_that_ends_with_a_lock(tmp_path: Path) -> None:
    body = """
static spin_lock_t locks[64];
__handler__ void broken_ph(handler_args_t *args)
{
    spin_lock_t *own = &locks[args->hpu_gid];
    spin_lock_try_lock(own); /* taken */
}
"""
    result = check(tmp_path, body, traffic="udp:count=1")
    (found,) = result.findings
    assert found["kind"] == "lock"
    assert found["text"].startswith("the handler ended and still held a lock, taken here: `locks`")
    assert name(found["line"]) == line_of(body, "/* taken */")
    assert [one["function"] for one in found["inlined"]][-2:] == ["futex_try_lock", "amo_or"]


def test_a_lock_that_is_not_held(tmp_path: Path) -> None:
    body = """
static spin_lock_t lock;
__handler__ void broken_ph(handler_args_t *args)
{
    spin_lock_lock(&lock);
    spin_lock_unlock(&lock);
    spin_lock_unlock(&lock); /* again */
}
"""
    result = check(tmp_path, body, traffic="udp:count=2,rate=1Mpps")
    assert [(one["kind"], one["text"], one["count"]) for one in result.findings] == [
        ("lock", "unlocks a lock that no core holds: `lock`", 2)
    ]
    assert name(result.findings[0]["line"]) == line_of(body, "/* again */")


def _example(handler: str, traffic: str, folder: str = EXAMPLES, **more: Any) -> Any:
    text = ",".join(f"{key}" for key in (more.get("defines") or {}))
    more = {"program": f"{folder}/{handler}.c", "traffic": traffic, **more}
    return pytest.param(more, id=f"{handler} {text}".strip())


BUILDS: list[Mapping[str, int]] = [{}, {"UNROLLED": 1}, {"SPIN_XPULP": 1}]
RIGHT = [
    _example("ping_pong", "udp:size=imix,count=300,rate=400G"),
    _example("udp_ping_pong", "udp:size=64,count=600", pacing="asap"),
    _example("udp_ping_pong", "udp:size=64,count=300", pacing="asap", defines={"FROM_L2": 1}),
    _example("copy_to_host", "udp:size=512,count=300", pacing="asap"),
    _example("copy_to_host", "udp:size=512,count=300", pacing="asap", defines={"FROM_L2": 1}),
    _example("count", "udp:size=imix,count=400,flows=9,rate=200G", message="by 5-tuple"),
    _example("count", "udp:size=imix,count=300", pacing="asap"),
    _example("filter", "udp:size=64,count=300,flows=9", pacing="asap"),
    _example("icmp_echo", "captures/ping.pcap", match="icmp"),
    _example("empty", "udp:size=64,count=600", pacing="asap"),
    _example("kvstore", "udp:size=1024,count=600,payload=ycsb:a:1.1", pacing="asap"),
    *(
        _example("reduce", "udp:size=2092,count=200,payload=ints", message="all last", defines=d, pacing="asap")
        for d in BUILDS
    ),
    *(
        _example("aggregate", "udp:size=1068,count=300,payload=ints", message="all last", defines=d, pacing="asap")
        for d in BUILDS
    ),
    *(
        _example(
            "histogram",
            "udp:size=1068,count=64,payload=ints:1024",
            message="all count 2",
            defines={"MESSAGES": 32, **d},
            pacing="asap",
        )
        for d in BUILDS
    ),
    _example(
        "strided_ddt",
        "udp:size=1072,count=300,payload=segment",
        message="all last",
        handler_memory=workloads.layout(256, 512),
        pacing="asap",
    ),
    _example(
        "filtering",
        "udp:size=1024,count=512,flows=512,senders=512",
        handler_memory=workloads.rules(PORTS),
        pacing="asap",
    ),
    *(
        _example(
            "array_add", "udp:size=64,count=1,rate=10kpps", PAPER, message="all last", defines={"WAY": way, "N": 64}
        )
        for way in range(4)
    ),
    _example("copy", "udp:size=512,count=100,rate=10G", PAPER, defines={"BYTES": 64}),
    _example("lr_sc", "udp:size=512,count=300,rate=100G", PAPER),
    _example("spin", "udp:size=64,count=300", PAPER, defines={"CYCLES": 100}, pacing="asap"),
    _example("swap", "udp:size=512,count=300,rate=100G", PAPER),
]


def simulated(result: spinet.Result) -> dict[str, Any]:
    """The part of a summary that the simulation decides."""
    return {key: value for key, value in result.summary.items() if key not in ("wall", "check")}


@pytest.mark.parametrize("arguments", RIGHT)
def test_examples_are_right_and_checking_them_changes_nothing(arguments: dict[str, Any]) -> None:
    plain, checked = (spinet.run(**arguments, check=check) for check in (False, True))
    assert checked.findings == ()
    assert checked.packets.equals(plain.packets)
    assert checked.sent == plain.sent
    assert simulated(checked) == simulated(plain)
    with pytest.raises(AttributeError, match="check=True"):
        _ = plain.findings


def test_scratchpads_that_the_host_does_not_clear() -> None:
    """On the RTL's card `aggregate.c` relies on uninitialised memory being zero."""
    traffic = "udp:size=1068,count=20,payload=ints:1024"
    result = spinet.run(
        program=f"{EXAMPLES}/aggregate.c", traffic=traffic, message="all last", nic="pspin-rtl", check=True
    )
    found = result.findings[0]
    assert (found["kind"], found["stage"]) == ("uninitialised", "completion")
    assert found["text"].endswith("memory that nobody has written: the scratchpad in cluster 3")


def test_a_handler_packet_by_packet(tmp_path: Path) -> None:
    source = tmp_path / "broken.c"
    source.write_text(HEAD + COUNTER % "spin_lock_unlock(&lock);")
    with spinet.Handler(source, check=True) as handler:
        assert handler.findings == ()
        handler.process(bytes(60))
        handler.process(bytes(60))
        assert [(found["kind"], found["count"]) for found in handler.findings] == [("lock", 2)]
        handler.reset()
        assert handler.findings == ()
    with pytest.raises(UsageError, match="not checked"):
        _ = spinet.Handler(source).findings
    with pytest.raises(UsageError, match="check is for"):
        spinet.Handler(source, nic="panic", check=True)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "race.c"
    source.write_text(HEAD + COUNTER % "counter = counter + 1;")
    command = ["run", str(source), "--traffic", SOME, "--check", "-o", str(tmp_path / "out")]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "! The memory checker found mistakes" in shown
    assert "races with another core: `counter`" in " ".join(shown.split())
    written = json.loads((tmp_path / "out" / "findings.json").read_text())
    assert {found["kind"] for found in written} == {"race"}
    assert main([*command, "--force", "--strict"]) == 1
    assert main(["run", f"{EXAMPLES}/empty.c", "--traffic", "udp:count=1", "--check", "--strict"]) == 0
    assert "Memory  checked, no findings" in capsys.readouterr().out


def test_other_cards_refuse(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--nic", "tigon2", "--send", "udp:payload=numbered,count=1", "--check"]) == 2
    assert "--check" in capsys.readouterr().err
