# SPDX-License-Identifier: Apache-2.0
"""The handlers of sdk/examples on real packets: every byte they send or write, against plain Python in frames.py."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import spinet

import frames

CAPTURES = sorted(path.stem for path in (Path(__file__).parents[2] / "captures").glob("*.pcap"))
HOST = 0x1000_0000_0000_0000  # default start of a context's host memory
ROOM = 64  # packets in L2 packet memory begin at multiples of a beat


def run(handler: str, capture: str | Path, **more: str) -> spinet.Result:
    """Runs an example on a capture."""
    traffic = capture if isinstance(capture, Path) else f"captures/{capture}.pcap"
    return spinet.run(program=f"sdk/examples/{handler}.c", traffic=traffic, **more)


def sent(result: spinet.Result) -> list[bytes]:
    return [packet.data for packet in result.sent]


def offsets(packets: list[bytes]) -> list[int]:
    """Addresses of packets in L2 packet memory: one after the other."""
    places, at = [], 0
    for packet in packets:
        places.append(at)
        at += -(-len(packet) // ROOM) * ROOM
    return places


def in_memory(packets: list[bytes], copied: Callable[[bytes], bool]) -> bytes:
    """Host memory after a copy of some of the packets to the places that they had in L2."""
    memory = bytearray()
    for place, packet in zip(offsets(packets), packets, strict=True):
        memory += bytes(place - len(memory)) + (packet if copied(packet) else bytes(len(packet)))
    return bytes(memory)


def small_ipv6_capture(folder: Path) -> Path:
    """UDP and TCP over IPv4 and IPv6, of all lengths around a word, and packets that are shorter than they claim."""
    whole = [
        frames.build(ip=ip, protocol=protocol, ports=(1000 + size, 7), payload=bytes(i % 255 + 1 for i in range(size)))
        for ip in (4, 6)
        for protocol in (frames.UDP, frames.TCP)
        for size in (0, 1, 2, 3, 64, 1400)
    ]
    arp = bytes.fromhex("ffffffffffff 020000000001 0806") + bytes(46)
    return frames.write(folder / "small.pcap", [*whole, arp])


# ping_pong


@pytest.mark.parametrize("capture", CAPTURES)
def test_ping_pong_returns_every_packet(capture: str) -> None:
    packets = frames.of(f"captures/{capture}.pcap")
    result = run("ping_pong", capture)
    assert result.complete
    assert sent(result) == [frames.returned(packet) for packet in packets]
    assert all(frames.is_valid(packet.data) for packet in result.sent)
    assert set(result.packets["fate"].to_pylist()) == {"sent"}


def test_ping_pong_returns_udp_and_tcp_of_both_ips_and_all_lengths(tmp_path: Path) -> None:
    capture = small_ipv6_capture(tmp_path)
    packets = frames.of(capture)
    assert sent(run("ping_pong", capture)) == [frames.returned(packet) for packet in packets]


def test_ping_pong_on_all_cores_at_once_loses_and_doubles_nothing() -> None:
    packets = [packet for packet in frames.of("captures/http.pcap") if frames.parse(packet).protocol == frames.TCP]
    result = run("ping_pong", "http", match="tcp", pacing="asap")
    assert Counter(sent(result)) == Counter(frames.returned(packet) for packet in packets)
    hpus = set(zip(result.columns["cluster"].tolist(), result.columns["hpu"].tolist(), strict=True))
    assert len(hpus) > 8


def test_a_packet_cut_anywhere_keeps_ping_pong_inside_it(tmp_path: Path) -> None:
    whole = frames.build(ip=4, protocol=frames.UDP, ports=(9, 10), payload=b"spinet")
    cut = [whole[:size] for size in range(14, len(whole))]
    result = run("ping_pong", frames.write(tmp_path / "cut.pcap", cut))
    assert result.complete and not result.summary["traps"]
    turned = {packet: packet[6:12] + packet[:6] + packet[12:] for packet in cut}
    for packet, back in zip(cut, sent(result), strict=True):
        # Only the Ethernet addresses are exchanged, or also the IP addresses if the IP header is complete; nothing else
        # may change.
        addresses = packet[:26] + packet[30:34] + packet[26:30] + packet[34:]
        also_ip = addresses[6:12] + addresses[:6] + addresses[12:]
        assert back in (turned[packet], also_ip)


# copy_to_host


@pytest.mark.parametrize("capture", CAPTURES)
def test_copy_to_host_mirrors_packet_memory(capture: str) -> None:
    packets = frames.of(f"captures/{capture}.pcap")
    result = run("copy_to_host", capture)
    expected = in_memory(packets, lambda _packet: True)
    assert result.complete and sent(result) == []
    assert result.host_memory(HOST, len(expected)) == expected
    assert result.summary["output"]["host_write_bytes"] == sum(map(len, packets))


def test_copy_to_host_stays_in_the_memory_of_its_context(tmp_path: Path) -> None:
    packets = frames.of("captures/memcached.pcap")
    size = 4096
    experiment = tmp_path / "small.toml"
    experiment.write_text(
        f'program = "{Path("sdk/examples/copy_to_host.c").absolute()}"\n'
        f'traffic = "{Path("captures/memcached.pcap").absolute()}"\n'
        f"[[context]]\nhost_memory = {{ addr = 0x2000, size = {size} }}\n"
    )
    result = spinet.run(experiment=experiment)
    fits = [place + len(packet) <= size for place, packet in zip(offsets(packets), packets, strict=True)]
    assert any(fits) and not all(fits)
    expected = in_memory([packet for packet, inside in zip(packets, fits, strict=True) if inside], lambda _packet: True)
    assert result.host_memory(0x2000, 0x10000) == expected + bytes(0x10000 - len(expected))
    assert result.host_memory(0, 0x2000) == bytes(0x2000)


# count


def messages(packets: list[bytes]) -> list[list[bytes]]:
    """Flows by 5-tuple until FIN or RST, in the order in which they begin."""
    found: list[list[bytes]] = []
    open_: dict[tuple[bytes, bytes, int, int, int], list[bytes]] = {}
    for packet in packets:
        frame = frames.parse(packet)
        if frame.flow not in open_:
            open_[frame.flow] = []
            found.append(open_[frame.flow])
        open_[frame.flow].append(packet)
        if frame.tcp_flags & 0b101:
            del open_[frame.flow]
    return found


@pytest.mark.parametrize("capture", ["http", "iperf3-tcp"])
def test_count_writes_packets_and_bytes_of_every_message_that_ends(capture: str) -> None:
    packets = [packet for packet in frames.of(f"captures/{capture}.pcap") if frames.parse(packet).protocol == 6]
    found = messages(packets)
    result = run("count", capture, match="tcp", message="by 5-tuple until tcp.flags.fin || tcp.flags.rst")
    assert result.complete

    rows = result.packets.to_pylist()
    msgids = {row["message"]: row["msgid"] for row in rows}
    ended = {row["message"] for row in rows if row["is_last"]}
    assert sorted(msgids) == list(range(len(found)))
    expected: dict[int, tuple[int, int]] = {}
    for number, message in enumerate(found):
        if number in ended:  # a later message may use the place of an earlier one
            expected[msgids[number]] = (len(message), sum(map(len, message)))
    assert {number for number, message in enumerate(found) if frames.parse(message[-1]).tcp_flags & 0b101} == ended
    for msgid, counted in expected.items():
        assert struct.unpack("<II", result.host_memory(HOST + 8 * msgid, 8)) == counted
    assert result.summary["output"]["host_writes"] == len(ended)


@pytest.mark.parametrize("pacing", ["times", "asap"])
def test_count_adds_up_what_all_clusters_saw(pacing: str) -> None:
    packets = [packet for packet in frames.of("captures/iperf3-udp.pcap") if frames.parse(packet).protocol == 17]
    result = run("count", "iperf3-udp", match="udp", message="all last", pacing=pacing)
    assert struct.unpack("<II", result.host_memory(HOST, 8)) == (len(packets), sum(map(len, packets)))
    assert result.summary["output"]["host_writes"] == 1


# filter


def test_filter_sends_dns_on_to_another_server_and_the_rest_to_the_host() -> None:
    packets = frames.of("captures/dns.pcap")
    result = run("filter", "dns")

    def moves(packet: bytes) -> bool:
        frame = frames.parse(packet)
        return frame.ip == 4 and frame.destination == bytes([10, 0, 0, 2]) and frame.ports[1] == 53

    def moved(packet: bytes) -> bytes:
        at = frames.parse(packet).l4 + 2
        return frames.with_checksums(
            packet[:30] + bytes([10, 0, 0, 3]) + packet[34:at] + struct.pack("!H", 5353) + packet[at + 2 :]
        )

    assert 0 < sum(map(moves, packets)) < len(packets)
    assert sent(result) == [moved(packet) for packet in packets if moves(packet)]
    expected = in_memory(packets, lambda packet: not moves(packet))
    assert result.host_memory(HOST, len(expected)) == expected
    fates = dict(zip(result.columns["frame"].tolist(), result.packets["fate"].to_pylist(), strict=True))
    assert [fates[number] for number in range(len(packets))] == [
        "sent" if moves(packet) else "to_host" for packet in packets
    ]


def test_filter_drops_requests_to_memcached() -> None:
    packets = frames.of("captures/memcached.pcap")
    result = run("filter", "memcached")

    def is_dropped(packet: bytes) -> bool:
        frame = frames.parse(packet)
        return frame.protocol == frames.UDP and frame.ip == 4 and frame.ports[1] == 11211

    assert 0 < sum(map(is_dropped, packets)) < len(packets)
    assert sent(result) == []
    expected = in_memory(packets, lambda packet: not is_dropped(packet))
    assert result.host_memory(HOST, len(expected)) == expected
    assert result.summary["packets"]["consumed"] == sum(map(is_dropped, packets))


# memcache


@pytest.mark.parametrize(
    ("requests", "is_answered"),
    [
        ([b"get k\r\n"], True),
        ([b"add other 0 0 1\r\nz\r\n", b"get k\r\n"], True),
        ([b"get k other\r\n", b"get k\r\n"], True),
        ([b"get k\r\nset k 0 0 1\r\nz\r\n"], False),  # memcached must get the second command
        ([b"get k\r\nset k 0 0 1\r\nz\r\n", b"get k\r\n"], False),
        ([b"set other 0 0 1\r\nz\r\ndelete k\r\n", b"get k\r\n"], False),
        ([b"set k 0 0 3\r\nabcdef\r\n", b"get k\r\n"], False),  # CLIENT_ERROR bad data chunk
        ([b"set k 00 0 3\r\nabc\r\n", b"get k\r\n"], False),  # memcached answers with flags 0
        ([b"gat 1 other k\r\n", b"get k\r\n"], False),
        ([b"md aw== b\r\n", b"get k\r\n"], False),  # aw== is k in base64
    ],
)
def test_the_cache_answers_only_what_memcached_would(requests: list[bytes], is_answered: bool) -> None:
    handler = spinet.Handler("sdk/examples/memcache.c")
    for request in (b"set k 0 0 3\r\nabc\r\n", *requests):
        payload = struct.pack("!4H", 7, 0, 1, 0) + request
        outcome = handler.process(frames.build(ip=4, protocol=frames.UDP, ports=(4000, 11211), payload=payload))
    answers = [packet[50:] for packet in outcome.sent]
    assert answers == ([b"VALUE k 0 3\r\nabc\r\nEND\r\n"] if is_answered else [])


# icmp_echo


def test_icmp_echo_answers_as_the_real_host_did() -> None:
    packets = [packet for packet in frames.of("captures/ping.pcap") if frames.parse(packet).protocol in (1, 58)]
    requests = [packet for packet in packets if packet[frames.parse(packet).l4] in (8, 128)]
    real = {request: reply_to(request, packets) for request in requests}
    result = run("icmp_echo", "ping", match="icmp || icmpv6")
    answers = sent(result)
    assert len(answers) == len(requests) > 10
    assert {frames.parse(request).ip for request in requests} == {4, 6}
    for request, answer in zip(requests, answers, strict=True):
        assert frames.is_valid(answer)
        assert without_host_choices(answer) == without_host_choices(real[request])


def reply_to(request: bytes, packets: list[bytes]) -> bytes:
    """The host's answer in the capture: same identifier and sequence number, other direction."""
    asked = frames.parse(request)
    for packet in packets:
        frame = frames.parse(packet)
        is_reply = packet[frame.l4] in (0, 129) and frame.destination == asked.source
        if is_reply and packet[frame.l4 + 4 : frame.l4 + 8] == request[asked.l4 + 4 : asked.l4 + 8]:
            return packet
    raise AssertionError("a request without an answer")


def without_host_choices(packet: bytes) -> bytes:
    """Blank what each host chooses for itself: IPv4's identification, flags and so checksum; IPv6's flow label."""
    if frames.parse(packet).ip == 4:
        return packet[:18] + bytes(4) + packet[22:24] + bytes(2) + packet[26:]
    return packet[:15] + bytes(3) + packet[18:]


# empty


@pytest.mark.parametrize("capture", CAPTURES)
def test_empty_is_done_with_every_packet_and_touches_nothing(capture: str) -> None:
    packets = frames.of(f"captures/{capture}.pcap")
    result = run("empty", capture)
    assert result.complete and sent(result) == []
    counts = result.summary["packets"]
    assert (counts["in"], counts["done"], counts["consumed"]) == (len(packets),) * 3
    assert counts["in_bytes"] == sum(map(len, packets))
    assert result.summary["output"]["host_writes"] == 0
    columns = result.columns
    stages = [columns[name] for name in ("arrival_ps", "stored_ps", "her_ps", "start_ps", "end_ps", "done_ps")]
    assert all((earlier <= later).all() for earlier, later in pairwise(stages))
