# SPDX-License-Identifier: Apache-2.0
"""Waveforms, read with wellen, the library of the viewer Surfer, and compared with the timelines of the same runs."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow.compute as pc
import pytest
import pywellen
import spinet
from spinet import cli

from timelines import PING, RUNS, Decoded, decode

Value = int | float | str | None


@dataclass
class Waves:
    """Changes of each signal, by its full name, with times in ps."""

    changes: dict[str, list[tuple[int, Value]]]

    def during(self, name: str) -> list[tuple[int, int, Value]]:
        """Beginning, end and value of each span of time in which a signal has a value."""
        ends = pairwise(self.changes[name])
        return [(begin, end, value) for (begin, value), (end, _) in ends if value not in (None, "idle")]

    def scopes(self, signal: str) -> list[str]:
        return [name.removesuffix(f".{signal}") for name in self.changes if name.endswith(f".{signal}")]


def read(file: Path) -> Waves:
    changes = {}
    for one in pywellen.Waveform(str(file)).all_vars():
        is_text = one.full_name.endswith((".state", ".runs"))

        def value(found: int | float | str, is_text: bool = is_text) -> Value:
            if isinstance(found, int) and is_text:  # a vector of bits that holds characters
                return found.to_bytes((found.bit_length() + 7) // 8).decode()
            return None if isinstance(found, str) and set(found) <= {"z", "x"} else found

        assert one.full_name not in changes
        changes[one.full_name] = [(time, value(found)) for time, found in one.tv]
    return Waves(changes)


def word(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_\[\]]", "_", name)


@pytest.fixture(scope="module", params=list(RUNS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Waves, Waves, Decoded]:
    folder = tmp_path_factory.mktemp("waves")
    timeline = folder / "timeline.pftrace"
    spinet.run(**RUNS[request.param], timeline=timeline, waves=folder / "run.vcd")
    spinet.run(**RUNS[request.param], waves=folder / "run.fst")
    assert sorted(file.name for file in folder.iterdir()) == ["run.fst", "run.vcd", "timeline.pftrace"]
    return read(folder / "run.vcd"), read(folder / "run.fst"), decode(timeline)


def test_both_formats_have_the_same_changes(run: tuple[Waves, Waves, Decoded]) -> None:
    vcd, fst, _ = run
    assert list(vcd.changes) == list(fst.changes) and len(vcd.changes) > 20
    for name, changes in vcd.changes.items():
        assert [(at, value if value != "no_chain" else "no chain") for at, value in changes] == fst.changes[name], name


def test_lanes_have_the_packets_of_the_timeline(run: tuple[Waves, Waves, Decoded]) -> None:
    vcd, _, timeline = run
    found = Counter(
        (re.sub(r"\.lane_\d+$", "", scope).split(".")[-1], begin // 1000, end // 1000, packet)
        for scope in vcd.scopes("packet")
        for begin, end, packet in vcd.during(f"{scope}.packet")
    )
    queues = timeline.groups["queues"]
    slices = [one for one in timeline.slices if one.depth == 0 and one.track not in queues]
    # Consecutive steps of a packet on a track are one span of the waveform.
    joined: list[tuple[str, int, int, int]] = []
    for one in sorted(slices, key=lambda one: (one.track, one.notes["packet"], one.begin)):
        key = (word(one.track), one.notes["packet"])
        if joined and (joined[-1][0], joined[-1][3]) == key and joined[-1][2] == one.begin:
            joined[-1] = (key[0], joined[-1][1], one.end, key[1])
        else:
            joined.append((key[0], one.begin, one.end, key[1]))
    wanted = Counter(joined)
    assert sum(found.values()) >= len(joined) * 0.9 and set(found) >= {
        one for one in wanted if one[0].startswith(("HPU", "sha[", "aes["))
    }
    assert {(track, packet) for track, _, _, packet in found} == {(track, packet) for track, _, _, packet in joined}


def test_queues_have_the_fill_of_the_timeline(run: tuple[Waves, Waves, Decoded]) -> None:
    vcd, _, timeline = run
    for name, samples in timeline.counters.items():
        if name.startswith("packets: "):
            (scope,) = (one for one in vcd.scopes("fill") if one.endswith(f".{word(name.removeprefix('packets: '))}"))
            fill = [(at // 1000, value) for at, value in vcd.changes[f"{scope}.fill"]]
            # A timeline has no sample before the first change.
            assert [one for one in fill if one[0] > 0 or one[1]] == samples
            busy = vcd.changes[f"{scope}.busy"]
            assert all(now[1] != after[1] for now, after in pairwise(busy))
            assert sum(end - begin for begin, end, value in vcd.during(f"{scope}.busy") if value) == sum(
                end - begin for begin, end, value in vcd.during(f"{scope}.fill") if value
            )


def test_a_core_shows_its_handler_and_its_state(tmp_path: Path) -> None:
    result = spinet.run(**RUNS["handlers"], paths=True, waves=tmp_path / "run.vcd")
    waves = read(tmp_path / "run.vcd")
    rows = result.packets.to_pylist()
    seen: set[Value] = set()
    for row in rows:
        core = f"cores.HPU_{row['cluster']}_{row['hpu']}"
        (span,) = (one for one in waves.during(f"{core}.packet") if one[2] == row["packet"])
        assert span[0] <= row["start_ps"] <= row["end_ps"] <= span[1]
        runs = [one for one in waves.during(f"{core}.runs") if one[0] <= span[0] and span[1] <= one[1]]
        assert [name for _, _, name in runs] == ["ping_pong_ph"]
        states = [one for one in waves.during(f"{core}.state") if one[0] >= span[0] and one[1] <= span[1]]
        assert (states[0][0], states[-1][1]) == span[:2]
        steps = [one for one in result.paths.path(row["packet"]).steps if span[0] <= one.begin_ps < span[1]]
        assert [name for _, _, name in states] == [one.cause for one in steps]
        seen.update(name for _, _, name in states)
    assert {"start", "executed", "load_use"} <= seen and len(rows) == 200


@pytest.mark.parametrize("name", ["part.vcd", "part.fst"])
def test_restrictions_hold_for_waves(name: str, tmp_path: Path) -> None:
    spinet.run(**RUNS["handlers"], waves=tmp_path / name, timeline_only=["time=1200 ns..1500 ns", "every=2"])
    waves = read(tmp_path / name)
    packets = {packet for scope in waves.scopes("packet") for _, _, packet in waves.during(f"{scope}.packet")}
    assert packets and all(isinstance(packet, int) and packet % 2 == 0 for packet in packets)
    # Before the window, all values of FST are unknown. A sample of the throughput comes at the end of its microsecond.
    times = {time for changes in waves.changes.values() for time, _ in changes if time > 0}
    assert min(times) == 1_200_000 and max(times) <= 2_000_000


def test_a_folder_gets_its_waves(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["run", PING, "-t", "udp:size=64,count=3", "-o", str(tmp_path / "out"), "--waves", "run.vcd"]
    assert cli.main(line) == 0
    assert len(read(tmp_path / "out" / "run.vcd").changes) > 20
    assert not (tmp_path / "out" / "run.vcd.changes").exists()
    assert cli.main(["run", PING, "-t", "udp:count=1", "--waves", "x.wav"]) == 2
    assert "--waves is `x.wav`, must end with .vcd or .fst" in capsys.readouterr().err


@pytest.mark.parametrize("suffix", ["vcd", "fst"])
def test_waves_of_a_network_have_a_scope_for_each_node(suffix: str, tmp_path: Path) -> None:
    """Ten packets of 700 bytes cross two links at 100 Gbit/s to a card that sends them back."""
    net = spinet.Network(topology="pair", link={"rate": "100G", "delay": "500 ns"})
    net[0].update(nic="plain")
    net[0].host.send = {"source": "udp:size=700,count=10,rate=10G", "to": "n1"}
    net[1].update(program=PING, context=[{"match": "udp"}])
    net.save(tmp_path / "net.toml")
    file = tmp_path / f"net.{suffix}"
    result = spinet.run(tmp_path / "net.toml", waves=file)
    assert {one.name for one in tmp_path.iterdir()} == {file.name, "net.toml"}
    waves = read(file)
    assert {name.split(".")[0] for name in waves.changes} == {"network", "n1"}
    frames = result.table("frames").filter(pc.field("event") == "crossed").to_pylist()
    for number, link in enumerate(("n0_0___n1", "n1_0___n0")):
        rows = [row for row in frames if row["node"] == number]
        spans = [(row["at_ps"], row["at_ps"] + row["tail_ps"] - row["head_ps"]) for row in rows]
        scope = f"network.links.{link}"
        assert [one[:2] for one in waves.during(f"{scope}.busy") if one[2]] == spans and len(spans) == 10
        assert {word(str(value)) for _, _, value in waves.during(f"{scope}.state")} == {f"frame_of_n{number}"}
    packets = result.nodes["n1"].packets.to_pylist()
    cores = [name for name in waves.changes if name.startswith("n1.cores.") and name.endswith(".packet")]
    handled = {value: span for name in cores for *span, value in waves.during(name)}
    assert sorted(int(str(packet)) for packet in handled) == [row["packet"] for row in packets] == list(range(10))
    for row in packets:
        begin, end = handled[row["packet"]]
        assert begin <= row["start_ps"] <= row["end_ps"] <= end
