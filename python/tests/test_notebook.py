# SPDX-License-Identifier: Apache-2.0
"""Notebooks: HTML of results, tables without copies, views of host memory, packets of a program as traffic."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import spinet

from frames import build

PING_PONG = "sdk/examples/ping_pong.c"
COPY = "sdk/examples/copy_to_host.c"
EVIL = "<script>alert(1)</script>"


class Checked(HTMLParser):
    """Opening and closing tags must match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.said = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)

    def handle_data(self, data: str) -> None:
        self.said += data


def results() -> Iterator[spinet.Result]:
    yield spinet.run(program=PING_PONG, traffic="udp:count=4")
    yield spinet.run(chains="all: aes", traffic="udp:count=4")
    yield spinet.run(nic="tigon2", send="udp:size=1514,payload=numbered,count=4", limit="60 ms")


def test_results_of_every_kind_are_shown() -> None:
    for result in results():
        shown = Checked(result._repr_html_())
        assert {"table", "td", "p"} <= shown.seen
        assert result.digest in shown.said and result.summary["nic"] in shown.said
        assert result.summary["ended"]["text"] in shown.said


def test_text_of_others_is_escaped() -> None:
    result = spinet.run(program=PING_PONG, traffic="udp:count=1")
    summary = {**result.summary, "nic": EVIL, "bottleneck": EVIL, "remarks": [{"kind": "traps", "text": EVIL}]}
    shown = Checked(spinet.Result(summary=summary, kind="handlers")._repr_html_())
    assert "script" not in shown.seen and shown.said.count(EVIL) == 3
    experiment = spinet.Experiment(program=PING_PONG, traffic="udp:count=1", context=[{"match": "udp.src_port < 5"}])
    shown = Checked(experiment._repr_html_())
    assert 'match = "udp.src_port < 5"' in shown.said
    card = spinet.Nic(name="pspin", about=EVIL)
    assert "script" not in Checked(card._repr_html_()).seen


def test_cards_and_searches_are_shown() -> None:
    for card in spinet.nics():
        shown = Checked(card._repr_html_())
        assert "svg" in shown.seen and card.name in shown.said
    assert "n_clusters = 4" in Checked(spinet.parameters_of("pspin")._repr_html_()).said
    compared = spinet.compare(program=PING_PONG, traffic="udp:size=64,count=20,rate=1G", nics=("pspin", "tigon2"))
    shown = Checked(compared._repr_html_())
    assert "pspin" in shown.said and compared.not_run["tigon2"] in shown.said
    rate = spinet.NoDropRate(traffic="udp", size=64, trials=())
    assert "0 Gbit/s" in Checked(rate._repr_html_()).said


def test_tables_go_to_other_libraries_without_a_copy() -> None:
    for result in results():
        name = "frames" if result.kind == "modules" else "packets"
        table = result.table(name)
        assert pa.table(result).equals(table)
        frame = pl.DataFrame(result)
        assert frame.columns == table.column_names and frame.height == 4
        assert list(pd.DataFrame.from_arrow(result).columns) == table.column_names
    result = spinet.run(program=PING_PONG, traffic="udp:count=4")
    column = "arrival_ps"
    first = result.columns[column]
    taken = pa.table(result)[column].chunk(0).buffers()[1]
    assert taken is not None and taken.address == first.ctypes.data, "the simulator's own bytes"
    without = spinet.run(program=PING_PONG, traffic="udp:count=4", keep_packets=False)
    with pytest.raises(AttributeError, match="keep_packets=False"):
        pa.table(without)


def test_views_of_host_memory_share_it_and_cannot_be_written() -> None:
    result = spinet.run(program=COPY, traffic="udp:size=100,count=5")
    base = int(result.summary["contexts"][0]["host_memory"]["addr"], 16)
    before = result.host_memory(base, 5000)
    view, inner = result.host_view(base, 600), result.host_view(hex(base + 14), 20)
    assert view.dtype == np.uint8 and view.shape == (600,) and view.tobytes() == before[:600] != bytes(600)
    assert np.shares_memory(view, inner) and inner.tobytes() == before[14:34]
    for one in (view, result.host_view(base - 4096, 8192)):
        with pytest.raises(ValueError, match="read-only"):
            one[0] = 1
    # Bytes outside the written ranges are zeros, as in `host_memory`.
    assert result.host_view(base - 8, 16).tobytes() == bytes(8) + before[:8]
    assert result.host_view((1 << 64) - 8, 16).tobytes() == bytes(16)
    assert result.host_view(base, 0).shape == (0,)
    same = pickle.loads(pickle.dumps(result))
    assert same.host_view(base, 600).tobytes() == before[:600] == result.host_memory(base, 600)
    with pytest.raises(AttributeError, match="no `host_view`"):
        spinet.run(chains="all: aes", traffic="udp:count=1").host_view(0, 1)
    with pytest.raises(spinet.InputError, match="size is -1"):
        result.host_view(base, -1)


class FromScapy:
    """A packet as scapy makes them: an object that `bytes` converts."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __bytes__(self) -> bytes:
        return self.data


PACKETS = [build(ip=4, protocol=17, ports=(9, port), payload=b"x" * 30) for port in (53, 54, 55)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: PACKETS,
        lambda: iter(PACKETS),
        lambda: tuple(map(bytearray, PACKETS)),
        lambda: (np.frombuffer(packet, dtype=np.uint8) for packet in PACKETS),
        lambda: [FromScapy(packet) for packet in PACKETS],
        lambda: [(0, packet) for packet in PACKETS],
    ],
    ids=["list", "iterator", "bytearrays", "arrays", "scapy", "times"],
)
def test_packets_of_a_program_are_traffic(make: Any) -> None:
    result = spinet.run(program=PING_PONG, traffic=make(), match="udp.dst_port != 54")
    assert result.summary["packets"]["in"] == 3 and len(result.sent) == 2
    # They return with their ports exchanged.
    assert sorted(one.data[34:36] for one in result.sent) == [packet[36:38] for packet in PACKETS[::2]]
    assert result.digest == spinet.run(program=PING_PONG, traffic=PACKETS, match="udp.dst_port != 54").digest


def test_packets_go_to_every_kind_of_card() -> None:
    chains = spinet.run(chains="all: aes", traffic=PACKETS)
    assert chains.summary["packets"]["in"] == 3
    card = spinet.run(nic="tigon2", traffic=PACKETS, set="host.promiscuous=true", limit="60 ms")
    assert [one.data[: len(PACKETS[0])] for one in card.to_host] == PACKETS
    experiment = spinet.Experiment(program=PING_PONG, traffic=PACKETS, context=[{}])
    assert len(spinet.run(experiment).sent) == 3
    assert spinet.run(experiment, traffic=[(7, PACKETS[0])]).packets["arrival_ps"].to_pylist()[0] % 1000 == 0
    assert len(spinet.run(program=PING_PONG, traffic=PACKETS, count=2).sent) == 2


@pytest.mark.parametrize(
    ("traffic", "said"),
    [
        (PACKETS[0], "traffic is bytes, must be a source or packets"),
        (7, "traffic is 7, must be a source, several, or packets"),
        ([PACKETS[0], 7], r"traffic\[1\] is 7, must be bytes"),
        ([PACKETS[0], "udp:count=1"], "traffic has both sources and packets"),
        ([(5, PACKETS[0]), (4, PACKETS[1])], r"traffic\[1\] has the time 4 ns, must be 5 to"),
        ([(0.5, PACKETS[0])], r"traffic\[0\] has the time 0.5, must be an integer in ns"),
    ],
)
def test_other_things_are_refused(traffic: Any, said: str) -> None:
    with pytest.raises(spinet.InputError, match=said):
        spinet.run(program=PING_PONG, traffic=traffic)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_experiments_and_cards_can_be_copied(way: Any) -> None:
    experiment = spinet.Experiment(program=PING_PONG, traffic="udp:count=4", context=[{}], seed=7)
    same = way(experiment)
    assert same == experiment and hash(same) == hash(experiment) and same.base_dir == experiment.base_dir
    assert spinet.run(same).digest == spinet.run(experiment).digest
    for name in ("pspin", "panic", "tigon2"):
        card = spinet.parameters_of(name)
        assert way(card) == card
    assert way(spinet.nics()) == spinet.nics()
    traced = spinet.run(program=PING_PONG, traffic="udp:count=4", profile=True, paths=True)
    twin = way(traced)
    assert twin.profile.to_json() == traced.profile.to_json()
    assert str(twin.paths.path(1)) == str(traced.paths.path(1))


def test_progress_is_reported_and_costs_nothing_without_it() -> None:
    seen: list[Any] = []
    result = spinet.run(program=PING_PONG, traffic="udp:count=2000", on_progress=seen.append)
    assert seen[-1]["done"] and seen[-1]["packets_done"] == 2000
    assert result.digest == spinet.run(program=PING_PONG, traffic="udp:count=2000").digest
