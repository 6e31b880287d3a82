# SPDX-License-Identifier: Apache-2.0
"""Programs of hosts as Python generators: messages, computations, memory, waits that never end, and exceptions."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet import cli
from spinet.host_program import HostProgramError, Message, RunningHost

Steps = Generator[Any, Any, None]
LINK = {"rate": "100G", "delay": "500 ns"}


def pair(first: Any, second: Any) -> spinet.Network:
    net = spinet.Network(topology="pair", link=LINK, limit="1 ms")
    net[0].host.program, net[1].host.program = first, second
    return net


def test_a_message_goes_there_and_back() -> None:
    seen: list[tuple[str, Any]] = []

    def ping(host: RunningHost) -> Steps:
        host.put("n1", b"ping", tag=1)
        answer: Message = yield host.receive("n1", tag=2)
        seen.append((answer.sender, answer.data))

    def pong(host: RunningHost) -> Steps:
        message: Message = yield host.receive(tag=1)
        # A packet of 4 bytes with its headers takes less than 10 ns on the line, then 500 ns.
        seen.append((message.sender, message.data))
        assert 500_000 < message.last_ps < 520_000, message
        yield host.compute("2 us")
        assert host.now_ps >= message.last_ps + 2_000_000
        host.put(message.sender, message.data.upper(), tag=2)

    result = pair(ping, pong).run()
    assert result.ended == "complete"
    assert seen == [("n0", b"ping"), ("n1", b"PING")]


def test_receives_take_messages_in_their_order_and_by_tag() -> None:
    got: list[bytes] = []

    def sender(host: RunningHost) -> None:
        for number in range(4):
            host.put(1, bytes([number]), tag=number % 2)

    def receiver(host: RunningHost) -> Steps:
        odd = [host.receive(tag=1), host.receive(tag=1)]
        first: Message = yield host.receive("n0", tag=0)
        others: list[Message] = yield odd
        got.extend(one.data for one in (first, *others))
        last: Message = yield host.receive()
        got.append(last.data)

    assert pair(sender, receiver).run().ended == "complete"
    assert got == [bytes([number]) for number in (0, 1, 3, 2)]


def test_hosts_read_and_write_memory_of_peers() -> None:
    found: list[bytes] = []

    def owner(host: RunningHost) -> Steps:
        host.write(0x1000, b"exposed memory")
        host.expose(0x1000, 64, tag=9)
        own: bytes = yield host.read(0x1000, 7)
        found.append(own)

    def reader(host: RunningHost) -> Steps:
        yield host.sleep("1 us")
        answer: Message = yield host.get("n0", 14, tag=9)
        found.append(answer.data)

    assert pair(owner, reader).run().ended == "complete"
    assert found == [b"exposed", b"exposed memory"]


def test_threads_and_steps_change_nothing() -> None:
    def ring(host: RunningHost) -> Steps:
        for lap in range(5):
            waiting = host.receive(tag=lap)
            host.put((host.number + 1) % len(host.nodes), 1000 * (lap + 1), tag=lap)
            yield [waiting, host.compute(f"{100 * (host.number + 1)} ns")]

    def run(threads: int, *steps: str) -> spinet.Result:
        net = spinet.Network(topology="star", nodes=6, link=LINK)
        for node in net:
            node.host.program = ring
        net.run(threads=threads, until="1 us")
        for until in steps:
            net.run(until=until)
        return net.run()

    results = [run(1), run(2, "2 us", "3333 ns"), run(4)]
    assert {result.ended for result in results} == {"complete"}
    assert len({result.digest for result in results}) == 1


def test_a_program_that_waits_for_ever_is_named() -> None:
    def waits(host: RunningHost) -> Steps:
        yield host.receive("n1", tag=7)

    result = pair(waits, None).run()
    assert result.ended == "stalled"
    assert "the host of `n0` waits for a message with tag 7 from n1" in result.summary["ended"]["text"]


def test_an_exception_of_a_program_names_node_and_line() -> None:
    def broken(host: RunningHost) -> Steps:
        yield host.sleep("1 us")
        host.put("n9", b"")

    with pytest.raises(HostProgramError) as raised:
        pair(broken, None).run()
    text = str(raised.value)
    assert text.startswith("node `n0`: its program ")
    assert "in broken" in text and 'host.put("n9", b"")' in text
    assert "there is no node 'n9'; there are 2, such as n0" in text
    assert "host_program.py" not in text.split("UsageError")[0].replace("test_host_programs.py", "")

    def wrong(host: RunningHost) -> Steps:
        yield 5

    with pytest.raises(HostProgramError, match="it yielded 5, must yield results of its host's methods"):
        pair(None, wrong).run()
    with pytest.raises(spinet.InputError, match="must be a function that takes the host"):
        pair(7, None).run()


def generator_exit() -> None:
    raise GeneratorExit


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda host: host.send_frame(b""), "frame has 0 bytes, must have 14 or more: an Ethernet header"),
        (lambda host: host.send_frame(60), "frame is 60, must be bytes"),
        (lambda host: host.write(0, 60), "data is 60, must be bytes"),
        (lambda host: host.write((1 << 64) - 2, b"abc"), "3 bytes at 0xfffffffffffffffe pass the end of memory"),
        (lambda host: host.read((1 << 64) - 2, 3), "3 bytes at 0xfffffffffffffffe pass the end of memory"),
        (lambda host: host.expose((1 << 64) - 2, 3), "3 bytes at 0xfffffffffffffffe pass the end of memory"),
        (lambda host: host.put(2, b""), "there is no node 2; nodes have names, and numbers from 0 to 1"),
        (lambda host: host.receive(1.0), "there is no node 1.0; nodes have names, and numbers from 0 to 1"),
        (lambda host: host.put(1, "text"), "data is 'text', must be bytes or a number of zero bytes"),
        (lambda host: host.put(1, None), "data is None, must be bytes or a number of zero bytes"),
        (lambda host: host.compute(5), "time is 5, must be a text such as '2 us'"),
        (lambda host: host.sleep(None), "time is None, must be a text such as '2 us'"),
        (lambda host: sys.exit(3), "SystemExit: 3"),
        (lambda host: generator_exit(), "GeneratorExit"),
    ],
)
def test_an_action_that_cannot_be_done_is_refused(act: Any, text: str) -> None:
    def program(host: RunningHost) -> Steps:
        act(host)
        yield host.sleep("1 us")

    with pytest.raises(HostProgramError) as refused:
        pair(program, None).run()
    # The lines above the last one show this file, which has the text, too.
    assert text in str(refused.value).splitlines()[-1]


def test_a_file_that_ends_python_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(5)\n")
    with pytest.raises(spinet.InputError, match=r"ends\.py cannot be imported: SystemExit: 5"):
        pair(f"{tmp_path}/ends.py:f", None).run()


PROGRAMS = """
def ping(host):
    host.put("n1", 5000)
    yield host.receive()


def pong(host):
    yield host.receive()
    host.put("n0", 1 // DIVISOR)


DIVISOR = 1
"""


def test_files_name_programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    network, programs = tmp_path / "net.toml", tmp_path / "programs.py"
    programs.write_text(PROGRAMS)
    network.write_text(
        "topology = { name = 'pair' }\n"
        "nodes = [{ name = 'n0', host_program = 'programs.py:ping' },"
        " { name = 'n1', host_program = 'programs.py:pong' }]"
    )
    assert cli.main(["run", str(network)]) == 0
    assert "all packets are done" in capfd.readouterr().out
    loaded = spinet.Network.load(network)
    assert loaded.run().ended == "complete" and loaded["n1"].host.program == "programs.py:pong"
    programs.write_text(PROGRAMS.replace("DIVISOR = 1", "DIVISOR = 0"))
    assert cli.main(["run", str(network), "-o", str(tmp_path / "result")]) == 2
    error = capfd.readouterr().err
    assert "error: node `n1`: its program" in error and "ZeroDivisionError" in error and "in pong" in error
    assert not (tmp_path / "result").exists()
    for text, message in (
        ("programs.py:pinggg", "has no function pinggg; it has ping, pong\nhint: did you mean ping?"),
        ("nothing.py:ping", "error: node `n0`: host_program: there is no file"),
        ("programs.py", "must be a file and a function: 'programs.py:function'"),
    ):
        network.write_text(f"topology = {{ name = 'pair' }}\nnodes = [{{ name = 'n0', host_program = '{text}' }}]")
        assert cli.main(["run", str(network)]) == 2
        assert message in capfd.readouterr().err
