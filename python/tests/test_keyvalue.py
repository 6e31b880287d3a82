# SPDX-License-Identifier: Apache-2.0
"""The key-value store on a card against dicts: sequences of clients, races of 32 cores, lost and repeated packets."""

from __future__ import annotations

import random
from collections.abc import Generator
from typing import Any

import pytest
import spinet
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import KeyValue, keyvalue
from spinet.services.client import Answer
from spinet.services.wire import SOURCES, Packet

from rounds import Card

Steps = Generator[Any, Any, None]
BOOT = "20 us"


def seeded(seed: int) -> random.Random:
    print("seed", seed)
    return random.Random(seed)


class Server:
    """A store on a card without a network. Frames come from client 0 on node 1."""

    def __init__(self, store: KeyValue) -> None:
        node = {**store.node(), "program": str(SOURCES / "kv.c"), "defines": store.defines}
        self.card = Card(node, host=bytes(node["context"][0]["host_memory"]["size"]))
        self.requests = 0

    def frame(self, request: tuple[int, bytes], *, number: int | None = None, client: int = 0) -> bytes:
        kind, data = request
        self.requests += number is None
        packet = Packet(request=number or self.requests, client=client, kind=kind, data=data)
        return packet.frame(source=1 + client, target=0, port=keyvalue.PORT)

    def process(self, *frames: bytes) -> list[Packet]:
        return [Packet.of_frame(frame) for frame in self.card.process(list(frames))]

    def perform(self, *requests: tuple[int, bytes]) -> list[tuple[str, bytes]]:
        """Status and data of each request, one after the other."""
        replies = [self.process(self.frame(request)) for request in requests]
        assert all(len(reply) == 1 for reply in replies)
        return [(keyvalue.STATUS[reply.status], reply.data) for (reply,) in replies]

    @property
    def events(self) -> dict[str, int]:
        return KeyValue.events(self.card.memory.read())


@pytest.mark.parametrize("values", ["host", "card"])
def test_a_network_of_clients_finds_what_dicts_hold(values: str) -> None:
    draw = seeded(31)
    store = KeyValue(capacity=60, buckets=4, values=values)  # chains of some 15 keys
    net = spinet.Network(keyvalue.network(store, 3), limit="10 ms")
    seeds = [draw.random() for _ in range(3)]
    checked: list[int] = []

    def program(host: RunningHost) -> Steps:
        own = random.Random(seeds[host.number - 1])
        client = store.connect(host, number=host.number - 1)
        model: dict[bytes, bytes] = {}
        yield host.sleep(BOOT)
        for _ in range(60):
            key = b"%d/%d" % (host.number, own.randrange(20))  # no two clients use a key
            if own.random() < 0.5:
                model[key] = own.randbytes(own.choice((0, 1, 63, 64, 65, own.randrange(1409), 1408)))
                status = yield from client.put(key, model[key])
                assert status == "ok"
            else:
                value = yield from client.get(key)
                assert value == model.get(key)
        checked.append(len(model))

    for node in net.nodes[1:]:
        node.host.program = program
    assert net.run().ended == "complete"
    assert len(checked) == 3 and min(checked) > 10


def test_a_full_store_refuses_new_keys_and_keeps_the_old_ones() -> None:
    server = Server(KeyValue(capacity=3))
    keys = [b"one", b"two", b"three", b"four"]
    put = [keyvalue.put(key, key * 2) for key in keys]
    assert server.perform(*put) == [("ok", b"")] * 3 + [("full", b"")]
    assert server.perform(keyvalue.put(b"two", b"new")) == [("ok", b"")]
    found = server.perform(*map(keyvalue.get, keys))
    assert found == [("ok", b"oneone"), ("ok", b"new"), ("ok", b"threethree"), ("miss", b"")]
    assert server.events == {"keys": 3, "refused": 0, "duplicates": 0}


@pytest.mark.parametrize("values", ["host", "card"])
@pytest.mark.parametrize("n_keys", [1, 40])
def test_puts_of_all_cores_leave_whole_values(values: str, n_keys: int) -> None:
    """All requests come at the same time, so a get may return any value of its key, but no mixture."""
    draw = seeded(n_keys)
    server = Server(KeyValue(capacity=64, buckets=2, values=values))
    keys = [b"key %d" % number for number in range(n_keys)]
    written: dict[bytes, set[bytes]] = {key: set() for key in keys}
    asked: dict[tuple[int, int], bytes] = {}
    frames = []
    for client in range(16):
        for number in range(1, 13):
            key = draw.choice(keys)
            if number % 3:
                value = bytes([client, number]) * draw.randrange(1, 704)
                written[key].add(value)
                frames.append(server.frame(keyvalue.put(key, value), number=number, client=client))
            else:
                asked[client, number] = key
                frames.append(server.frame(keyvalue.get(key), number=number, client=client))
    draw.shuffle(frames)
    replies = server.process(*frames)
    assert len(replies) == len(frames)
    for reply in replies:
        key = asked.get((reply.client, reply.request))
        if key is None:
            assert keyvalue.STATUS[reply.status] == "ok"
        elif keyvalue.STATUS[reply.status] == "ok":
            assert reply.data in written[key]
    used = [key for key in keys if written[key]]
    assert server.events["keys"] == len(used)
    for key, reply in zip(used, server.perform(*map(keyvalue.get, used)), strict=True):
        assert reply[0] == "ok" and reply[1] in written[key]


def test_a_put_that_comes_again_late_changes_nothing() -> None:
    server = Server(KeyValue())
    first = server.frame(keyvalue.put(b"key", b"old"))
    second = server.frame(keyvalue.put(b"key", b"new"), number=1, client=1)  # numbers are those of each client
    assert [reply.status for reply in server.process(first)] == [1]
    assert [reply.status for reply in server.process(second)] == [1]
    (again,) = server.process(first)  # its first reply may be lost
    assert (again.request, keyvalue.STATUS[again.status]) == (1, "ok")
    assert server.perform(keyvalue.get(b"key")) == [("ok", b"new")]
    # With the window's next request, the client has seen the reply to the first one.
    server.process(server.frame(keyvalue.put(b"other", b""), number=17))
    assert server.process(first) == []
    assert server.events == {"keys": 2, "refused": 0, "duplicates": 2}


def check_register(operations: list[tuple[bool, bytes | None, int, int]]) -> None:
    """Check gets of one key: (is a put, value, begin, end). All values are different.

    A get must return a value whose put began before the get ended, and that no later put replaced before the get began:
    no complete put may happen between that put and the get.
    """
    puts = {value: (begin, end) for is_put, value, begin, end in operations if is_put}
    for is_put, value, begin, end in operations:
        if is_put:
            continue
        since = -1
        if value is not None:
            assert puts[value][0] < end
            since = puts[value][1]
        assert not any(since < first and last < begin for first, last in puts.values()), (value, begin, end)


@pytest.mark.parametrize("faults", ["", "loss=0.05,duplicate=0.1,reorder=0.1:8"])
def test_concurrent_clients_see_one_order_of_puts(faults: str) -> None:
    draw = seeded(8)
    store = KeyValue(capacity=16)
    net = spinet.Network(keyvalue.network(store, 4, faults=faults), limit="100 ms", seed=8)
    seeds = [draw.random() for _ in range(4)]
    done: dict[bytes, list[tuple[bool, bytes | None, int, int]]] = {}
    attempts: list[int] = []

    def program(host: RunningHost) -> Steps:
        own = random.Random(seeds[host.number - 1])
        client = store.connect(host, number=host.number - 1, timeout_ns=8000)
        yield host.sleep(BOOT)
        keys, requests = [], []
        for number in range(100):
            keys.append(b"key %d" % own.randrange(3))
            value = b"%d %d " % (host.number, number) * own.randrange(1, 150)
            requests.append(keyvalue.put(keys[-1], value) if own.random() < 0.5 else keyvalue.get(keys[-1]))
        answers: list[Answer] = yield from client.perform(requests, window=4)
        for key, (kind, data), answer in zip(keys, requests, answers, strict=True):
            status, is_put = keyvalue.status(answer), kind == keyvalue.PUT
            assert status == "ok" or (status == "miss" and not is_put)
            value = data[keyvalue.KEY_BYTES :] if is_put else answer.packets[0].data if status == "ok" else None
            done.setdefault(key, []).append((is_put, value, answer.begin_ps, answer.end_ps))
            attempts.append(answer.attempts)

    for node in net.nodes[1:]:
        node.host.program = program
    assert net.run().ended == "complete"
    assert len(attempts) == 400 and (max(attempts) > 2) == bool(faults)
    for operations in done.values():
        check_register(operations)


def test_malformed_requests_are_counted_and_refused() -> None:
    server = Server(KeyValue(clients=2))
    key = b"k" * keyvalue.KEY_BYTES
    server.perform(keyvalue.put(b"key", b"value"))
    wrong = [
        server.frame((keyvalue.GET, key + b"x")),
        server.frame((keyvalue.GET, key[1:])),
        server.frame((keyvalue.PUT, key[1:])),
        server.frame((keyvalue.PUT, key + bytes(keyvalue.VALUE_BYTES + 1))),
        server.frame((7, key)),
        server.frame((keyvalue.GET, key), client=2),
        server.frame((keyvalue.GET, key), number=1 << 28),
        server.frame((keyvalue.PUT, key + b"cut off"))[:-3],
    ]
    for number, frame in enumerate(wrong, 1):
        assert [keyvalue.STATUS[reply.status] for reply in server.process(frame)] == ["malformed"], number
        assert server.events == {"keys": 1, "refused": number, "duplicates": 0}
    assert server.process(wrong[0][:50]) == []  # it has no number for a reply
    assert server.events["refused"] == len(wrong) + 1
    assert server.perform(keyvalue.get(b"key")) == [("ok", b"value")]


def test_random_packets_do_no_harm() -> None:
    draw = seeded(12)
    server = Server(KeyValue(capacity=8))
    server.process(server.frame(keyvalue.put(b"key", b"value"), number=1))
    frames = []
    for _ in range(300):
        frame = bytearray(server.frame(keyvalue.put(b"noise", draw.randbytes(draw.randrange(200))), client=1))
        for _ in range(draw.randrange(5)):
            frame[draw.randrange(38, len(frame))] = draw.randrange(256)
        frames.append(bytes(frame[: draw.choice((len(frame), draw.randrange(42, len(frame))))]))
    server.process(*frames)  # fails if a handler has an error
    assert server.perform(keyvalue.get(b"key"))[0] == ("ok", b"value")


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"buckets": 3}, "buckets is 3, must be a power of 2"),
        ({"capacity": 0}, "capacity is 0"),
        ({"values": "disk"}, "must be one of host, card"),
        ({"capacity": 100_000}, "bytes of handler memory, must be at most"),
        ({"clients": 0}, "clients is 0"),
    ],
)
def test_impossible_stores_are_refused(wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        KeyValue(**wrong)


def test_impossible_requests_are_refused() -> None:
    with pytest.raises(UsageError, match="must have 1 to 32"):
        keyvalue.get(b"")
    with pytest.raises(UsageError, match="a value has 1409 bytes, must have at most 1408"):
        keyvalue.put(b"key", bytes(1409))
    with pytest.raises(UsageError, match="number is 16, must be 0 to 15"):
        KeyValue().connect(RunningHost(0, ["n0"]), number=16)
