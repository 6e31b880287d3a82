# SPDX-License-Identifier: Apache-2.0
"""Access keys of services: requests with another key change and read nothing, and get the status `denied`."""

from __future__ import annotations

import struct
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spinet
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import Functions, KeyValue, Participant, Quantizer, Table, keyvalue, quantize, select, transaction
from spinet.services.functions import EXAMPLES, FIRST_PORT, STATUS, Function
from spinet.services.wire import SOURCES, Packet

from rounds import Card

KEY = 0xC0DE_1234
Steps = Generator[Any, Any, None]
OTHERS = [0, 1, KEY ^ 1, KEY ^ 1 << 16, KEY ^ 1 << 31, KEY & 0xFFFF, KEY >> 16, 0xFFFF_FFFF]
"""Keys that differ from the right one in all bits, in one bit, and in a half."""


def on_card(node: dict[str, Any], source: str, defines: dict[str, Any]) -> Card:
    memory = node["context"][0]["host_memory"]
    content = Path(memory["data"]).read_bytes() if "data" in memory else bytes(memory["size"])
    return Card({**node, "program": str(SOURCES / source), "defines": defines}, host=content)


def test_a_store_refuses_requests_with_another_key() -> None:
    store = KeyValue(capacity=8, access_key=KEY)
    card = on_card(store.node(), "kv.c", store.defines)
    number = 0

    def perform(request: tuple[int, bytes], access_key: int) -> tuple[str, bytes]:
        nonlocal number
        number += 1
        packet = Packet(request=number, client=0, kind=request[0], data=request[1], access_key=access_key)
        (frame,) = card.process([packet.frame(source=1, target=0, port=keyvalue.PORT)])
        reply = Packet.of_frame(frame)
        # A reply does not tell the key, and is complete.
        assert frame[42:44] == bytes(2) and (reply.part, reply.more, reply.request) == (0, False, number)
        return keyvalue.STATUS[reply.status], reply.data

    assert perform(keyvalue.put(b"a", b"first"), KEY) == ("ok", b"")
    for other in OTHERS:
        assert perform(keyvalue.put(b"a", b"second"), other) == ("denied", b"")
        assert perform(keyvalue.get(b"a"), other) == ("denied", b"")
        assert perform(keyvalue.get(b"unknown"), other) == ("denied", b"")  # nor does it tell which keys there are
    assert perform(keyvalue.get(b"a"), KEY) == ("ok", b"first")
    assert KeyValue.events(card.memory.read()) == {"keys": 1, "refused": 3 * len(OTHERS), "duplicates": 0}


def test_a_table_a_participant_and_a_quantizer_refuse_other_keys() -> None:
    table = Table(np.arange(64, dtype="<i4").reshape(16, 4), access_key=KEY)
    participant = Participant(records=8, access_key=KEY)
    quantizer = Quantizer(elements=64, access_key=KEY)
    vector = np.ones(64, "<f4")
    for made, source, request, port, statuses in (
        (table, "select.c", table.requests("")[0], select.PORT, select.STATUS),
        (participant, "transaction.c", transaction.lock(1, [3]), transaction.PORT, transaction.STATUS),
        (quantizer, "quantize.c", quantizer.requests(vector)[0], quantize.PORT, quantize.STATUS),
    ):
        card = on_card(made.node(), source, made.defines)
        before = card.host.read()
        for number, access_key in enumerate([*OTHERS, KEY], 1):
            kind, data = request
            packet = Packet(request=number, client=0, kind=kind, data=data, access_key=access_key)
            (frame,) = card.process([packet.frame(source=1, target=0, port=port)])
            reply = Packet.of_frame(frame)
            assert statuses[reply.status] == ("ok" if access_key == KEY else "denied"), source
            assert frame[42:44] == bytes(2) and not reply.more
            if access_key != KEY:
                assert reply.data == b"" and card.host.read() == before
        refused = struct.unpack_from("<2I", card.memory.read())[1 if source == "transaction.c" else 0]
        assert refused == len(OTHERS), source


def test_a_dispatcher_loads_and_runs_no_function_for_another_key() -> None:
    machine = spinet.Machine()
    functions = Functions(machine, access_key=KEY)
    upper = functions.deploy("upper", EXAMPLES / "upper.c")
    adds = functions.deploy("sum", EXAMPLES / "sum.c")
    number = 0

    def call(frame: bytes) -> tuple[str, bytes]:
        machine.send([frame])
        functions.finish()
        (sent,) = machine.take_sent()
        reply = Packet.of_frame(sent.data)
        # A reply does not tell the key, and is complete.
        assert sent.data[42:44] == bytes(2) and (reply.part, reply.more, reply.request) == (0, False, number)
        return STATUS[reply.status], reply.data

    def refuse_others() -> None:
        nonlocal number
        for other in OTHERS:
            number += 1
            assert call(upper.request(b"hello", number=number, access_key=other)) == ("denied", b"")

    refuse_others()
    assert functions.loads == [] and functions.events()["denied"] == len(OTHERS)
    number += 1
    assert call(upper.request(b"hello", number=number)) == ("ok", b"HELLO")
    refuse_others()  # The function is in the card now.
    unknown = Packet(request=(number := number + 1), client=1, kind=0, data=b"", access_key=7)
    assert call(unknown.frame(source=1, target=0, port=FIRST_PORT + 9)) == ("denied", b"")  # nor which functions exist
    assert functions.events() == {"unknown": 0, "busy": 0, "malformed": 0, "denied": 2 * len(OTHERS) + 1}
    assert [load.function for load in functions.loads] == ["upper"] and not functions.faults
    for data in (b"again", b""):
        number += 1
        assert call(upper.request(data, number=number)) == ("ok", data.upper())
    number += 1
    assert call(adds.request(struct.pack("<2i", 3, 4), number=number)) == ("ok", struct.pack("<q", 7))


def test_clients_use_the_key_of_the_service_or_their_own() -> None:
    store = KeyValue(capacity=8, access_key=KEY)
    net = spinet.Network(keyvalue.network(store, clients=2))
    found: dict[str, Any] = {}

    def owner(host: RunningHost) -> Steps:
        client = store.connect(host, number=0)
        yield host.sleep("20 us")
        found["put"] = yield from client.put(b"secret", b"a value")
        found["get"] = yield from client.get(b"secret")

    def stranger(host: RunningHost) -> Steps:
        client = store.connect(host, number=1, access_key=KEY + 1)
        yield host.sleep("40 us")
        found["other put"] = yield from client.put(b"secret", b"mine")
        try:
            yield from client.get(b"secret")
        except UsageError as error:
            found["other get"] = str(error)

    net[1].host.program, net[2].host.program = owner, stranger
    net.run()
    assert found == {
        "put": "ok",
        "get": b"a value",
        "other put": "denied",
        "other get": "get b'secret': denied",
    }


def test_a_query_with_another_key_fails() -> None:
    table = Table(np.arange(64, dtype="<i4").reshape(16, 4), access_key=KEY)
    net = spinet.Network(select.network(table, clients=1))
    told: list[str] = []

    def program(host: RunningHost) -> Steps:
        client = table.connect(host, number=0)
        yield host.sleep("20 us")
        rows = yield from client.select("column[0] > 30")
        assert np.array_equal(rows, table.select("column[0] > 30"))
        try:
            client.access_key = 7
            yield from client.select("column[0] > 30")
        except UsageError as error:
            told.append(str(error))

    net[1].host.program = program
    net.run()
    assert len(told) == 1 and "status=15" in told[0]


@pytest.mark.parametrize("access_key", [-1, 1 << 32])
def test_keys_have_32_bits(access_key: int) -> None:
    for make in (
        lambda: KeyValue(access_key=access_key),
        lambda: Table(np.zeros((1, 1), "<i4"), access_key=access_key),
        lambda: Participant(access_key=access_key),
        lambda: Quantizer(elements=64, access_key=access_key),
        lambda: Functions(spinet.Machine(), access_key=access_key),
        lambda: KeyValue(access_key=1).connect(None, number=0, access_key=access_key),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError, match=f"access_key is {access_key}, must be 0"):
            make()


def test_a_client_cannot_send_a_key_to_a_service_without_one() -> None:
    function = Function(name="upper", port=FIRST_PORT, sources=(), handler=None, defines={})
    for send in (
        lambda: KeyValue().connect(None, number=0, access_key=5),  # type: ignore[arg-type]
        lambda: function.request(b"", access_key=5),
    ):
        with pytest.raises(UsageError, match="access_key is 5, but the service has none"):
            send()
