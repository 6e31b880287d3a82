# SPDX-License-Identifier: Apache-2.0
"""Timelines, read with Perfetto's own description of their format, and compared with the tables of the same runs."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pyarrow.compute as pc
import pytest
import spinet
from spinet import cli

from timelines import PING, RUNS, Decoded, Slice, decode

NAME = "timeline.perfetto-trace"


def _begin(one: Slice) -> int:
    return one.begin


@pytest.fixture(scope="module", params=list(RUNS))
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[spinet.Result, Decoded]:
    file = tmp_path_factory.mktemp("timeline") / NAME
    result = spinet.run(**RUNS[request.param], paths=True, timeline=file)
    return result, decode(file)


def test_slices_of_a_packet_add_up_to_its_path(run: tuple[spinet.Result, Decoded]) -> None:
    result, timeline = run
    with_slices = set()
    for number in pc.unique(result.table("paths")["packet"]).to_pylist():
        path, slices = result.paths.path(number), timeline.of(number)
        with_slices.add(number)
        assert slices[0].begin == path.steps[0].begin_ps // 1000
        assert slices[-1].end == path.steps[-1].end_ps // 1000
        assert all(a.end == b.begin for a, b in itertools.pairwise(slices)), number
        assert sum(one.notes["takes ps"] for one in slices) == path.takes_ps
        # Steps within a run of a core add up to it.
        for one in slices:
            inner = [
                other
                for other in timeline.slices
                if other.depth == 1 and other.track == one.track and one.begin <= other.begin and other.end <= one.end
            ]
            if inner and one.track.startswith("HPU"):
                assert sum(other.notes["takes ps"] for other in inner) == one.notes["takes ps"]
        causes = Counter[str]()
        for one in timeline.slices:
            if one.depth == 0 and one.notes["packet"] == number and one.name in path.by_cause():
                causes[one.name] += one.notes["takes ps"]
        assert all(path.by_cause()[cause] == takes for cause, takes in causes.items())
    assert {one.notes["packet"] for one in timeline.slices if one.depth == 0} == with_slices


def test_flows_follow_each_packet_to_its_end(run: tuple[spinet.Result, Decoded]) -> None:
    _, timeline = run
    flows: dict[int, list[Slice]] = defaultdict(list)
    for one in timeline.slices:
        if one.depth == 0:
            (flow,) = one.flows
            flows[flow].append(one)
        else:
            assert not one.flows
    for slices in flows.values():
        assert len({one.notes["packet"] for one in slices}) == 1
        assert [one.is_last for one in sorted(slices, key=_begin)] == [False] * (len(slices) - 1) + [True]
    assert len(flows) == len({one.notes["packet"] for one in timeline.slices if one.depth == 0})


def test_slices_of_a_lane_do_not_overlap(run: tuple[spinet.Result, Decoded]) -> None:
    _, timeline = run
    for one in timeline.slices:
        assert one.begin <= one.end
        assert one.depth == 0 or one.track.startswith(("HPU", "sha[", "aes["))
        assert one.depth < 2


def test_a_core_runs_one_handler_at_a_time_with_its_name(tmp_path: Path) -> None:
    result = spinet.run(**RUNS["handlers"], paths=True, timeline=tmp_path / NAME)
    timeline = decode(tmp_path / NAME)
    runs = [one for one in timeline.slices if one.track.startswith("HPU") and one.depth == 0]
    assert {one.name for one in runs} == {"ping_pong_ph"} and {one.category for one in runs} == {"payload"}
    by_core: dict[str, list[Slice]] = defaultdict(list)
    for one in runs:
        by_core[one.track].append(one)
    for slices in by_core.values():
        assert all(a.end <= b.begin for a, b in itertools.pairwise(sorted(slices, key=_begin)))
    # Each handler is on the track of the core that the table names, at the time that it names.
    rows = {row["packet"]: row for row in result.packets.to_pylist()}
    assert len(runs) == len(rows) == 200
    for one in runs:
        row = rows[one.notes["packet"]]
        assert one.track == f"HPU {row['cluster']}.{row['hpu']}"
        assert one.begin <= row["start_ps"] // 1000 <= row["end_ps"] // 1000 <= one.end
    assert len(timeline.groups["cores"]) == len(by_core) > 8


def _value(samples: list[tuple[int, float]], at: int) -> float:
    return next((value for time, value in reversed(samples) if time <= at), 0.0)


def _numbers_of(intervals: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    for time in sorted({time for interval in intervals for time in interval}):
        yield time, sum(begin <= time < end for begin, end in intervals)


def test_counters_agree_with_the_tables(tmp_path: Path) -> None:
    result = spinet.run(**RUNS["handlers"], paths=True, timeline=tmp_path / NAME)
    timeline = decode(tmp_path / NAME)
    rows = result.packets.to_pylist()
    for time, number in _numbers_of([(row["arrival_ps"] // 1000, row["done_ps"] // 1000) for row in rows]):
        assert _value(timeline.counters["packets inside"], time) == number
    stored = [(row["stored_ps"] // 1000, row["done_ps"] // 1000, row["bytes"]) for row in rows]
    for time in sorted({begin for begin, _, _ in stored}):
        held = sum(size for begin, end, size in stored if begin <= time < end)
        assert _value(timeline.counters["packet memory in use"], time) == held
    runs = [(one.begin, one.end) for one in timeline.slices if one.track.startswith("HPU") and one.depth == 0]
    for time, number in _numbers_of(runs):
        assert _value(timeline.counters["busy cores"], time) == number
    for name, samples in timeline.counters.items():
        if name.startswith(("packets", "packet memory", "busy cores")):
            assert samples[-1][1] == 0, name
    # A sample of the throughput holds for the microsecond before it.
    for name, of_row in (("in", "arrival_ps"), ("out", "sent_ps")):
        samples = timeline.counters[f"throughput {name}"]
        times = [row[of_row] // 1_000_000 for row in rows]
        sizes = {period: sum(r["bytes"] for r, t in zip(rows, times, strict=True) if t == period) for period in times}
        for time, value in samples:
            assert value == pytest.approx(sizes.get(time // 1000 - 1, 0) * 8 / 1000)
        assert len(samples) >= len(sizes)


def test_resources_are_sampled(run: tuple[spinet.Result, Decoded]) -> None:
    result, timeline = run
    sampled = {name.removeprefix("busy: ") for name in timeline.counters if name.startswith("busy: ")}
    assert sampled <= set(result.summary["counters"])
    assert any(value > 0 for name in sampled for _, value in timeline.counters[f"busy: {name}"])
    # Assists of wired cards count a transfer when it ends.
    most = 101 if result.kind != "modules" else 10_000
    assert all(0 <= value <= most for name in sampled for _, value in timeline.counters[f"busy: {name}"])


@pytest.mark.parametrize("kind", RUNS)
def test_a_timeline_changes_no_result(kind: str, tmp_path: Path) -> None:
    without = spinet.run(**RUNS[kind])
    observed = spinet.run(**RUNS[kind], timeline=tmp_path / NAME, timeline_only="packets=0..3")
    again = spinet.run(**RUNS[kind], timeline=tmp_path / f"2{NAME}", timeline_only="packets=0..3")
    assert without.summary["digest"] == observed.summary["digest"]
    assert [
        without.table(name).equals(observed.table(name)) for name in ("packets", "frames") if name in without._tables
    ]
    assert without.summary["packets"] == observed.summary["packets"]
    assert (tmp_path / NAME).read_bytes() == (tmp_path / f"2{NAME}").read_bytes() != b""
    assert again.complete


def test_only_a_part_is_drawn_and_counters_show_all(tmp_path: Path) -> None:
    whole, part = tmp_path / NAME, tmp_path / "part.pftrace"
    spinet.run(**RUNS["handlers"], timeline=whole)
    full = decode(whole)

    def packets(only: str | list[str]) -> set[int]:
        spinet.run(**RUNS["handlers"], timeline=part, timeline_only=only)
        drawn = decode(part)
        if not any("time" in one for one in ([only] if isinstance(only, str) else only)):
            for name in ("packets inside", "busy cores", "throughput in"):
                assert drawn.counters[name] == full.counters[name]
        return {one.notes["packet"] for one in drawn.slices if one.depth == 0}

    assert packets("packets=3,7..9") == {3, 7, 8, 9}
    assert packets("every=50") == {0, 50, 100, 150}
    assert packets(["every=50", "packets=0..99"]) == {0, 50}
    assert packets("messages=5") == {5}  # each packet is a message
    assert packets("match=len == 64") == {number for number in range(200) if number % 2 == 0}
    begin, end = 1_200, 1_500
    inside = packets(f"time={begin} ns..{end} ns")
    assert inside == {
        one.notes["packet"] for one in full.slices if one.depth == 0 and one.begin < end and one.end > begin
    }
    assert all(begin <= one.begin <= one.end <= end for one in decode(part).slices)


def test_a_packet_that_never_ends_is_drawn_as_far_as_it_came(tmp_path: Path) -> None:
    (tmp_path / "hang.c").write_text(
        "#include <handler.h>\n__handler__ void hang_ph(handler_args_t *args)\n{\n"
        "    volatile uint32_t *words = args->task->pkt_mem;\n"
        "    if (args->task->pkt_mem_size > 1000) {\n        while (words[0] != 1) {}\n    }\n}\n"
    )
    traffic = ["udp:size=1200,count=1", "udp:size=64,count=30000,rate=100G"]
    result = spinet.run(
        program=tmp_path / "hang.c", traffic=traffic, limit="8 us", paths=True, timeline=tmp_path / NAME
    )
    assert not result.complete and [file.name for file in tmp_path.glob("*.waiting")] == []
    timeline = decode(tmp_path / NAME)
    drawn = {one.notes["packet"] for one in timeline.slices if one.depth == 0}
    assert drawn == set(result.table("paths")["packet"].to_pylist()) and len(drawn) > 900


def test_a_folder_gets_its_timeline(tmp_path: Path) -> None:
    line = ["run", PING, "-t", "udp:size=64,count=3", "-o", str(tmp_path / "out"), "--timeline", NAME]
    assert cli.main(line) == 0
    assert len({one.notes["packet"] for one in decode(tmp_path / "out" / NAME).slices if one.depth == 0}) == 3


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (["--timeline", "x.c"], "--timeline is `x.c`, must end with .perfetto-trace or .pftrace"),
        (["--timeline-only", "every=2"], "--timeline-only goes with --timeline or --waves"),
        (["--timeline", "x.pftrace", "--timeline-only", "every=0"], "--timeline-only: every is `0`, must be a number"),
        (["--timeline", "x.pftrace", "--timeline-only", "match=udp.x"], "--timeline-only: match: unknown name"),
        (["--timeline", "x.pftrace", "--timeline-only", "evry=2"], "did you mean `every`?"),
        (["--timeline", "/dev/null/x.pftrace"], "cannot write /dev/null/x.pftrace: "),
    ],
)
def test_errors_name_the_option(line: list[str], error: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", PING, "-t", "udp:count=1", *line]) == 2
    assert error in capsys.readouterr().err


def test_messages_are_for_cards_that_have_them(tmp_path: Path) -> None:
    with pytest.raises(spinet.InputError, match="messages: this card has none"):
        spinet.run(**RUNS["chains"], timeline=tmp_path / NAME, timeline_only="messages=1")


def drawn(net: spinet.Network, folder: Path) -> tuple[spinet.Result, Decoded]:
    """Run a network with a timeline in this folder."""
    net.save(folder / "net.toml")
    result = spinet.run(folder / "net.toml", timeline=folder / NAME)
    return result, decode(folder / NAME)


def test_a_network_has_the_tracks_of_its_cards_and_links(tmp_path: Path) -> None:
    """Ten packets of 700 bytes cross two links at 100 Gbit/s to a card that sends them back."""
    net = spinet.Network(topology="pair", link={"rate": "100G", "delay": "500 ns"})
    net[0].update(nic="plain")
    net[0].host.send = {"source": "udp:size=700,count=10,rate=10G", "to": "n1"}
    net[1].update(program=PING, context=[{"match": "udp"}])
    result, timeline = drawn(net, tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["net.toml", NAME]
    assert {one.node for one in timeline.slices} == {"network", "n1"}

    crossed = [one for one in timeline.slices if one.node == "network"]
    frames = result.table("frames").filter(pc.field("event") == "crossed").to_pylist()
    assert len(crossed) == len(frames) == 20
    assert Counter(one.track for one in crossed) == {"n0:0 > n1": 10, "n1:0 > n0": 10}
    assert Counter(one.name for one in crossed) == {"frame of n0": 10, "frame of n1": 10}
    for one, row in zip(crossed, frames, strict=True):
        assert (one.begin, one.notes["packet"]) == (row["at_ps"] // 1000, row["frame"])
        assert one.notes["takes ps"] == (700 + 4) * 8 * 10 == row["tail_ps"] - row["head_ps"]

    handled = [one for one in timeline.slices if one.node == "n1" and one.name.startswith("ping_pong")]
    assert {one.notes["packet"] for one in handled} == set(range(10))
    assert "cores" in {one.split("/")[1] for one in timeline.groups if one.startswith("n1/")}
    # No packet of a card and no frame shares its arrows with another one.
    ends = [{one.flows[0] for one in timeline.slices if one.flows and one.node == node} for node in ("network", "n1")]
    assert len(ends[0]) == 20 and len(ends[1]) == 10 and not ends[0] & ends[1]


def test_queues_drops_and_marks_of_switches_are_counters(tmp_path: Path) -> None:
    switch = {"queue_bytes": 10_000, "ecn": {"k_min_bytes": 2000, "k_max_bytes": 3000, "p_max": "1"}}
    net = spinet.Network(topology="star", nodes=3, link={"rate": "10G", "delay": "500 ns"}, switch=switch)
    for node in (0, 1):
        net[node].update(nic="plain")
        net[node].host.send = {"source": "udp:size=1000,count=20,rate=9G,ecn=2", "to": "n2"}
    net[2].update(nic="plain")
    result, timeline = drawn(net, tmp_path)
    events = Counter(result.table("frames")["event"].to_pylist())
    assert events["dropped"] > 0 and events["marked"] > 0
    assert timeline.counters["network/dropped frames"][-1][1] == events["dropped"]
    assert timeline.counters["network/marked frames"][-1][1] == events["marked"]
    (queue,) = (key for key in timeline.counters if key.startswith("network/queue: sw0:"))
    assert max(value for _, value in timeline.counters[queue]) <= 10_000 and timeline.counters[queue][-1][1] == 0


def test_a_timeline_changes_no_result_of_a_network(tmp_path: Path) -> None:
    network = "experiments/networks/ping-pong.toml"
    with_timeline = spinet.run(network, timeline=tmp_path / NAME, keep_nodes="n1", threads=2)
    assert spinet.run(network).digest == with_timeline.digest
    assert {one.node for one in decode(tmp_path / NAME).slices} == {"network", "n1"}


def test_the_command_makes_folders_and_replaces_a_file_only_if_asked(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "new" / NAME
    run = ["run", PING, "--traffic", "udp:count=2", "--timeline", str(file)]
    assert cli.main(run) == 0
    assert f"The timeline is {file}" in capfd.readouterr().out
    file.write_bytes(b"another one")
    assert cli.main(run) == 2
    assert f"error: {file} exists" in capfd.readouterr().err
    assert file.read_bytes() == b"another one"
    assert cli.main([*run, "--force"]) == 0
    assert len(decode(file).slices) > 10
    inside = ["run", PING, "--traffic", "udp:count=2", "--timeline", NAME, "-o", str(tmp_path / "result")]
    assert cli.main(inside) == 0
    assert f"The timeline is {tmp_path / 'result' / NAME}" in capfd.readouterr().out
    assert decode(tmp_path / "result" / NAME).slices
