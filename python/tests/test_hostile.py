# SPDX-License-Identifier: Apache-2.0
"""Handlers that misbehave: each causes a clear event, and the card continues to work for the other packets."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet import _elf, cli, toolchain
from spinet.cli import run_report

import frames

SOURCE = Path("python/tests/handlers/hostile.c")
HOST = 0x1000_0000_0000_0000
DESCRIPTORS = HOST - 0x1_0000
N, BAD = 24, 5  # number of packets, and the packet on which the handler misbehaves

# The report on the bad packet, on the RTL and on the card of the paper, which isolates handlers and stops those that
# run for more than 20 us. All others are sent back, unless the line says how many.
RTL = """
store_to_null                  trap: store access fault, 0x00000000, in store_to_null_deed, own line
load_from_nowhere              trap: load access fault, 0xfffffff0, in load_from_nowhere_deed, own line
store_to_program               trap: store access fault, 0x1d000100, in store_to_program_deed, own line
store_to_other_context         trap: store access fault, 0x1c200000, in store_to_other_context_deed, own line
misaligned_atomic              done
jump_to_null stalled in 0x00000000, no line, waits forever for an instruction outside its program memory
jump_outside stalled in 0x1d100000, no line, waits forever for an instruction outside its program memory
jump_into_packet stalled in 0x10404400, no line, waits forever for an instruction outside its program memory
illegal_instruction            trap: illegal instruction, 0x00000000, in illegal_instruction_deed, own line
machine_csr                    trap: illegal instruction, 0x00000000, in machine_csr_deed, own line
machine_return                 trap: illegal instruction, 0x00000000, in machine_return_deed, own line
environment_call               trap: environment call, 0x00000000, in environment_call_deed, own line
breakpoint                     trap: breakpoint, its address, in breakpoint_deed, own line
sleep_for_ever                 stalled in sleep_for_ever_deed, own line, waits for ever
endless_loop                   limit in endless_loop_deed, own line, runs
take_a_lock_twice limit in take_a_lock_twice_deed, own > spin_amo.h, waits for memory outside its cluster
stack_overflow                 limit in deeper, own line, waits for memory outside its cluster
no_stack                       trap: store access fault, 0xfffffffc, in no_stack_deed, own line
dma_from_nowhere               done, 1 copies refused
dma_to_nowhere                 done, 1 copies refused
dma_over_the_end_of_memory     done, 1 copies refused
dma_of_4_gib                   limit in dma_of_4_gib_deed, own > libaxidma.h, asks for memory; sends 19
send_from_nowhere              done, 1 commands refused
send_nothing                   done, 1 commands refused
send_4_gib                     done, 1 commands refused
send_a_jumbo                   done, 1 commands refused
copy_to_host_from_nowhere      done, 1 commands refused
copy_nothing_to_host           done, 1 commands refused
copy_4_gib_to_host             done, 1 commands refused
copy_outside_host_memory       done, 1 commands refused
write_outside_host_memory      done
wait_for_what_was_never_asked  done
unknown_command                done, 1 commands refused
flood_of_commands              done
ring_the_doorbell              done; sends 22
"""
ISOLATED = """
store_to_null                  trap: store access fault, 0x00000000, in store_to_null_deed, own line
load_from_nowhere              trap: load access fault, 0xfffffff0, in load_from_nowhere_deed, own line
store_to_program               trap: store access fault, 0x1d000100, in store_to_program_deed, own line
store_to_other_context         trap: store access fault, 0x1c200000, in store_to_other_context_deed, own line
misaligned_atomic           trap: store address misaligned, 0x10404401, in misaligned_atomic_deed, own > spin_amo.h
jump_to_null                   trap: instruction access fault, 0x00000000, in 0x00000000, no line
jump_outside                   trap: instruction access fault, 0x1d100000, in 0x1d100000, no line
jump_into_packet               trap: instruction access fault, 0x10404400, in 0x10404400, no line
illegal_instruction            trap: illegal instruction, 0x00000000, in illegal_instruction_deed, own line
machine_csr                    trap: illegal instruction, 0x00000000, in machine_csr_deed, own line
machine_return                 trap: illegal instruction, 0x00000000, in machine_return_deed, own line
environment_call               trap: environment call, 0x00000000, in environment_call_deed, own line
breakpoint                     trap: breakpoint, its address, in breakpoint_deed, own line
sleep_for_ever                 trap: ran longer than its watchdog allows, 0x00000000, in sleep_for_ever_deed, own line
endless_loop                   trap: ran longer than its watchdog allows, 0x00000000, in endless_loop_deed, own line
take_a_lock_twice trap: ran longer than its watchdog allows, 0x00000000, in take_a_lock_twice_deed, own > pspin.h
stack_overflow                 trap: store access fault, 0x1040001c (stack overflow: 4 bytes below), in deeper, own line
no_stack                       trap: store access fault, 0xfffffffc, in no_stack_deed, own line
dma_from_nowhere               trap: load access fault, 0x1b204418, in dma_from_nowhere_deed, own > libaxidma.h
dma_to_nowhere                 trap: load access fault, 0x1b204418, in dma_to_nowhere_deed, own > libaxidma.h
dma_over_the_end_of_memory trap: load access fault, 0x1b204418, in dma_over_the_end_of_memory_deed, own > libaxidma.h
dma_of_4_gib                   trap: load access fault, 0x1b204418, in dma_of_4_gib_deed, own > libaxidma.h
send_from_nowhere              trap: load access fault, 0x1b205080, in send_from_nowhere_deed, own > spin_issue.h
send_nothing                   done, 1 commands refused
send_4_gib                     trap: load access fault, 0x1b205080, in send_4_gib_deed, own > spin_issue.h
send_a_jumbo                   done, 1 commands refused
copy_to_host_from_nowhere trap: load access fault, 0x1b205080, in copy_to_host_from_nowhere_deed, own > spin_issue.h
copy_nothing_to_host           done, 1 commands refused
copy_4_gib_to_host             trap: load access fault, 0x1b205080, in copy_4_gib_to_host_deed, own > spin_issue.h
copy_outside_host_memory  trap: load access fault, 0x1b205080, in copy_outside_host_memory_deed, own > spin_issue.h
write_outside_host_memory trap: load access fault, 0x1b205080, in write_outside_host_memory_deed, own > spin_issue.h
wait_for_what_was_never_asked  done
unknown_command                done, 1 commands refused
flood_of_commands              done
ring_the_doorbell              done
"""
# With its mistakes, the RTL never ends some of these commands, and reports success for others: see PUBLISHED.
ENDS_ALL = ("rtl_mistakes.empty_commands_hang=false", "rtl_mistakes.unmapped_commands_succeed=false")
NICS = {"pspin-rtl": ENDS_ALL, "pspin": ("isolation.watchdog_cycles=20000",)}
TABLES = {
    nic: dict(line.split(None, 1) for line in table.strip().splitlines())
    for nic, table in (("pspin-rtl", RTL), ("pspin", ISOLATED))
}
# The RTL as published.
PUBLISHED = {
    "send_from_nowhere": "done; sends 24",
    "send_nothing": "stalled in send_nothing_deed, own > spin_issue.h, waits for its driver",
    "copy_to_host_from_nowhere": "done",
    "copy_nothing_to_host": "stalled in copy_nothing_to_host_deed, own > spin_issue.h, waits for its driver",
    "copy_4_gib_to_host": "limit in copy_4_gib_to_host_deed, own > spin_issue.h, waits for its driver",
}
CASES = [(nic, name, said) for nic, table in TABLES.items() for name, said in table.items()]


@pytest.fixture(scope="module")
def program() -> Path:
    return toolchain.build([SOURCE]).elf


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    packets = [
        frames.build(ip=4, protocol=frames.UDP, ports=(1000 + n, 666 if n == BAD else 7), payload=bytes([n]) * 40)
        for n in range(N)
    ]
    return frames.write(tmp_path_factory.mktemp("hostile") / "one_bad.pcap", packets, gap_ns=100)


def address_of(function: str, program: Path) -> int:
    return next(symbol.address for symbol in _elf.read(program).symbols if symbol.name == function)


def place(name: str, at: dict[str, Any]) -> str:
    """Function without offset, whether the line is one of the hostile handler's own, and the instruction's header."""
    function, line = at["place"].split("+")[0], at["line"]
    if line is None:
        return f"{function}, no line"
    file, number = Path(line.rsplit(":", 1)[0]).name, int(line.rsplit(":", 1)[1])
    if file != SOURCE.name:
        return f"{function}, {file}"
    above = "\n".join(SOURCE.read_text().splitlines()[:number])
    enclosing = re.findall(r"^(?:HOSTILE\(|static .*?uint32_t )(\w+)", above, re.MULTILINE)[-1]
    header = Path(at["inlined"][-1]["line"]).name.split(":")[0] if at["inlined"] else SOURCE.name
    inlined = f" > {header}" if header != SOURCE.name else ""
    own = f"own{inlined or ' line'}"
    return f"{function}, {own if enclosing in (name, 'deeper') else f'line of {enclosing}{inlined}'}"


def describe(name: str, result: spinet.Result) -> str:
    """Result of the bad packet, in one line."""
    summary = result.summary
    ended, output = summary["ended"], summary["output"]
    if ended["cores"]:
        (core,) = ended["cores"]
        said = f"{ended['reason']} in {place(name, core)}, {core['waiting_for'].split(':')[0]}"
        assert core["place"] in ended["text"] and (core["line"] is None or core["line"] in ended["text"])
        assert core["frame"] == BAD
    elif summary["traps"]:
        (trap,) = summary["traps"]
        first = trap["first"]
        assert (trap["count"], first["frame"], first["stage"]) == (1, BAD, "payload")
        value = "its address" if trap["cause"] == "breakpoint" and first["value"] == first["pc"] else first["value"]
        note = first["note"] or ""
        # The address is that of a register, which the handler may access.
        what = {"0x1b205080": "command", "0x1b204418": "transfer"}.get(first["value"])
        assert what is None or note == f"a {what} for memory, of card or host, that is not its task's"
        value += f" ({note.split(' the')[0]})" if note and not what else ""
        said = f"trap: {trap['cause']}, {value}, in {place(name, first)}"
    else:
        said = "done" if result.complete else ended["reason"]
    for what in ("command", "copy"):
        count = output[f"{what}_faults"]
        if count and result.complete:
            said += f", {count} {'commands' if what == 'command' else 'copies'} refused"
    if len(result.sent) != N - 1:
        said += f"; sends {len(result.sent)}"
    return said


def test_the_table_names_all_hostile_handlers() -> None:
    names = re.findall(r"^HOSTILE\((\w+)\)", SOURCE.read_text(), re.MULTILINE)
    assert all(list(table) == names for table in TABLES.values())


@pytest.mark.parametrize(("nic", "name", "said"), CASES)
def test_one_bad_packet(nic: str, name: str, said: str, program: Path, capture: Path) -> None:
    result = spinet.run(program=program, handler=name, traffic=capture, limit="100 us", nic=nic, set=NICS[nic])
    assert describe(name, result) == said
    # Only packets that the handlers should send leave the card, each at most once.
    good = {packet for number, packet in enumerate(frames.of(capture)) if number != BAD}
    sent = [packet.data for packet in result.sent]
    assert set(sent) <= good and len(set(sent)) == len(sent)


@pytest.mark.parametrize(("name", "said"), PUBLISHED.items())
def test_one_bad_packet_on_the_rtl_with_its_mistakes(name: str, said: str, program: Path, capture: Path) -> None:
    result = spinet.run(program=program, handler=name, traffic=capture, limit="100 us", nic="pspin-rtl")
    assert describe(name, result) == said


@pytest.mark.parametrize(("nic", "name", "said"), [case for case in CASES if case[2].startswith(("trap", "done"))])
def test_nothing_but_bad_packets_on_all_cores(nic: str, name: str, said: str, program: Path, tmp_path: Path) -> None:
    bad = frames.build(ip=4, protocol=frames.UDP, ports=(1, 666), payload=bytes(40))
    many = frames.write(tmp_path / "all_bad.pcap", [bad] * 100)
    result = spinet.run(
        program=program, handler=name, traffic=many, pacing="asap", limit="1 ms", nic=nic, set=NICS[nic]
    )
    counts = result.summary["packets"]
    assert result.complete and counts["done"] == 100
    if said.startswith("trap"):
        assert sum(trap["count"] for trap in result.summary["traps"]) == counts["trapped"] == 100


def test_the_summary_says_where_a_command_was_refused_and_what_overflowed(
    program: Path, capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["run", str(program), "--traffic", str(capture), "--nic", "pspin-rtl", "--set", ENDS_ALL[1], "--handler"]
    assert cli.main([*command, "copy_to_host_from_nowhere"]) == 0
    # The line may break between words, but not within the count.
    said = capsys.readouterr().out.partition("\nFault")[2].partition("\n\n")[0]
    why = "address 1 0x30000000: nothing answers at the address"
    first = f"copy_to_host_from_nowhere_ph, by host DMA, cluster 1 core 0, {why}"
    assert " ".join(said.split()) == f"first at count command refused {first}"
    result = spinet.run(program=program, traffic=capture, nic="pspin-rtl", handler="send_a_jumbo")
    shown = "a command was refused; first one of send_a_jumbo_ph, by NIC outbound, address 0x1c300000"
    assert result.remarks == (f"{shown}: 65,536 bytes, must be 1 to 2,048, packet 5, core 0 of cluster 1",)
    refused = result.summary["output"]
    first = refused["first_command_fault"]
    assert (first["frame"], first["stage"], first["handler"]) == (BAD, "payload", "send_a_jumbo_ph")
    assert (first["unit"], first["cluster"], first["core"]) == ("NIC outbound", 1, 0)
    assert (first["bytes"], first["why"]) == (65536, "65,536 bytes, must be 1 to 2,048")
    command = ["run", str(program), "--traffic", str(capture), "--handler", "stack_overflow"]
    assert cli.main(command) == 0
    said = " ".join(capsys.readouterr().out.partition("\nFault")[2].split())
    assert "store access fault (stack overflow: 4 bytes" in said and "below the core's stack of 1024)" in said


def test_a_flood_of_commands_arrives_complete(program: Path, capture: Path) -> None:
    result = spinet.run(program=program, handler="flood_of_commands", traffic=capture)
    assert result.host_memory(HOST, 500 * 8) == b"".join(n.to_bytes(8, "little") for n in range(1, 501))


def test_an_error_is_written_to_the_context_descriptor(program: Path, capture: Path) -> None:
    result = spinet.run(program=program, handler="store_to_program", traffic=capture)
    (trap,) = result.summary["traps"]
    first = trap["first"]
    record = struct.unpack("<8I", result.host_memory(DESCRIPTORS, 32))
    hpu = first["cluster"] * 8 + first["core"]
    handler = address_of("store_to_program_ph", program)
    # Cause, address, instruction, handler, message, stage (payload), HPU, errors of this HPU.
    assert record == (7, 0x1D000100, int(first["pc"], 16), handler, BAD, 1, hpu, 1)
    # On the RTL nothing leaves the cluster.
    silent = spinet.run(program=program, handler="store_to_program", traffic=capture, nic="pspin-rtl")
    assert silent.host_memory(DESCRIPTORS, 32) == bytes(32)


def test_what_rings_for_itself_cannot_go_on(program: Path, capture: Path) -> None:
    """After the doorbell a core may not run its handler's code, so it cannot end another packet's task."""
    result = spinet.run(program=program, handler="ring_the_doorbell", traffic=capture)
    assert result.complete and result.summary["packets"]["trapped"] == 0
    counters = result.summary["counters"]
    assert sum(count for path, count in counters.items() if path.endswith(".traps")) == 1
    cause, _, pc, *_ = struct.unpack("<8I", result.host_memory(DESCRIPTORS, 32))
    deed = address_of("ring_the_doorbell_deed", program)
    assert cause == 1 and deed < pc < deed + 64


def test_cores_that_all_loop_end_at_the_limit(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = frames.build(ip=4, protocol=frames.UDP, ports=(1, 666), payload=bytes(40))
    many = frames.write(tmp_path / "all_bad.pcap", [bad] * 1000)
    command = ["run", str(program), "--handler", "endless_loop", "--traffic", str(many), "--pace", "asap"]
    assert cli.main([*command, "--limit", "50 us"]) == 2
    said = capsys.readouterr()
    assert re.search(r"the limit of 50 us is reached; .* endless_loop_deed.*hostile\.c:\d+", said.err)
    assert said.out.count("endless_loop_deed") >= 32


def test_a_message_without_end_is_said_to_be_open(program: Path, capture: Path) -> None:
    result = spinet.run(program=program, handler="flood_of_commands", traffic=capture, message="all count 1000")
    assert result.complete
    assert result.summary["ended"]["open_messages"] == 1
    assert "1 message has not ended" in result.summary["ended"]["text"]


def test_another_context_is_out_of_reach(program: Path, capture: Path, tmp_path: Path) -> None:
    experiment = tmp_path / "two.toml"
    experiment.write_text(
        f'program = "{program}"\ntraffic = "{capture}"\n'
        '[[context]]\nhandler = "store_to_other_context"\nmatch = "udp.dst_port == 666"\n'
        "handler_memory = { addr = 0x1C300000, size = 0x100000 }\n"
        '[[context]]\nhandler = "endless_loop"\n'
        "handler_memory = { addr = 0x1C200000, size = 0x100000 }\n"
    )
    result = spinet.run(experiment=experiment)
    assert result.complete and len(result.sent) == N - 1
    (trap,) = result.summary["traps"]
    assert (trap["cause"], trap["first"]["context"], trap["first"]["value"]) == (
        "store access fault",
        "store_to_other_context",
        "0x1c200000",
    )


def test_a_trap_in_an_inlined_header_names_the_handlers_line_first(program: Path, capture: Path) -> None:
    result = spinet.run(program=program, handler="misaligned_atomic", traffic=capture, nic="pspin")
    (trap,) = result.summary["traps"]
    first = trap["first"]
    assert Path(first["line"]).name.startswith("hostile.c:")
    files = [Path(call["line"]).name for call in first["inlined"]]
    assert files[-1].startswith("spin_amo.h:") and first["inlined"][-1]["function"].startswith("amo_")
    shown = f"{Path(first['line']).name}, inlined from {', '.join(files)}"
    assert f" at {shown} (pc " in result.remarks[0]
    assert run_report.source_line(first) == shown
