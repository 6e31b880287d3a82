# SPDX-License-Identifier: Apache-2.0
"""Changes between two results, and figures of two columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import spinet
from spinet import InputError, cli, plots
from spinet.differences import Change, Difference

ROOT = Path(__file__).resolve().parents[2]
PING_PONG = ROOT / "sdk" / "examples" / "ping_pong.c"


def made(folder: Path, **more: Any) -> str:
    spinet.run(program=PING_PONG, **{"traffic": "udp:size=64,count=50", **more}, folder=folder)
    return str(folder)


def test_a_change_of_a_parameter_shows_with_its_effects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = made(tmp_path / "a"), made(tmp_path / "b", set="cluster.n_cores=1")
    assert cli.main(["diff", before, after, "--json"]) == 1
    found = {(row["section"], row["key"]): row for row in json.loads(capsys.readouterr().out)}
    assert found["experiment", "nic.set.cluster.n_cores"]["after"] == 1
    latency = found["summary", "latency_ns.mean"]
    assert latency["ratio"] == pytest.approx(latency["after"] / latency["before"])
    assert latency["ratio"] > 1
    assert not any(key.startswith(("wall.", "counters.")) for _, key in found)
    assert cli.main(["diff", before, after, "--json", "--counters"]) == 1
    counted = {row["key"] for row in json.loads(capsys.readouterr().out)}
    assert "counters.nic.cluster[0].tasks" not in counted, "as many packets"
    assert any(key.startswith("counters.") for key in counted)


def test_equal_runs_do_not_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = made(tmp_path / "a"), made(tmp_path / "b")
    assert cli.main(["diff", before, after]) == 0
    assert capsys.readouterr().out == "nothing changed\n"


def test_profiles_are_compared_by_source_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = made(tmp_path / "a", profile=True)
    after = made(tmp_path / "b", profile=True, traffic="udp:size=64,count=100")
    assert cli.main(["diff", before, after]) == 1
    lines = capsys.readouterr().out.split("cycles of the line")[1].splitlines()
    assert "ping_pong.c" in lines[1], "the line whose cycles changed most comes first"


def test_small_changes_are_left_out() -> None:
    changes = [
        Change(section="summary", where="", key=key, before=before, after=after)
        for key, before, after in (("a", 100, 101), ("b", 100, 102), ("c", 0, 1), ("d", "x", "y"), ("e", 100, None))
    ]
    kept = Difference(changes=tuple(changes)).beyond(0.01)
    assert [change.key for change in kept.changes] == ["b", "c", "d", "e"]


def test_runs_of_sweeps_belong_together_by_their_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, sizes, count in (("a", [64, 128], 10), ("b", [128, 256], 12)):
        traffic = f"udp:size={{size}},count={count}"
        spinet.sweep(program=PING_PONG, traffic=traffic, vary={"size": sizes}, processes=1, folder=tmp_path / name)
    assert cli.main(["diff", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]) == 1
    found = {(row["where"], row["key"]): (row["before"], row["after"]) for row in json.loads(capsys.readouterr().out)}
    assert found["", "traffic"] == ("udp:size={size},count=10", "udp:size={size},count=12")
    assert found["size = 64", "run"] == ("run", None)
    assert found["size = 256", "run"] == (None, "run")
    assert found["size = 128", "packets.in"] == (10, 12)


def test_results_that_cannot_be_compared_are_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = made(tmp_path / "run")
    spinet.sweep(program=PING_PONG, traffic="udp:count=2", vary={"seed": [1]}, processes=1, folder=tmp_path / "s")
    spinet.sweep(program=PING_PONG, traffic="udp:count={n}", vary={"n": [1]}, processes=1, folder=tmp_path / "t")
    (tmp_path / "empty").mkdir()
    for one, other, complaint in (
        (run, tmp_path / "s", "one result is a run, the other a sweep"),
        (tmp_path / "s", tmp_path / "t", "vary different keys: seed and n"),
        (run, tmp_path / "empty", "there is no"),
        (run, tmp_path / "nowhere", "there is no"),
    ):
        assert cli.main(["diff", str(one), str(other)]) == 2
        assert complaint in capsys.readouterr().err


TABLE = pa.table({"x": [1, 1, 2, 2, 3], "y": [10.0, 20.0, 30.0, 50.0, None], "name": ["a", "b", "a", "b", "a"]})


def test_a_point_is_the_mean_of_rows_with_equal_x() -> None:
    (axes,) = plots.columns(TABLE, "x", "y").axes
    assert [tuple(point) for point in axes.lines[0].get_xydata()] == [(1, 15), (2, 40)]
    assert axes.get_ylabel() == "y (mean; band: least to greatest)"


def test_a_group_is_a_line() -> None:
    (axes,) = plots.columns(TABLE, "x", "y", by="name").axes
    assert [line.get_label() for line in axes.lines] == ["name = a", "name = b"]
    assert [list(line.get_ydata()) for line in axes.lines] == [[10, 30], [20, 50]]
    assert axes.get_ylabel() == "y"


def test_texts_stand_on_the_horizontal_axis() -> None:
    (axes,) = plots.columns(TABLE, "name", "y").axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ["a", "b"]


@pytest.mark.parametrize(
    ("keywords", "complaint"),
    [
        ({"x": "z", "y": "y"}, "there is no column `z`"),
        ({"x": "x", "y": "name"}, "`name` has texts"),
        ({"x": "x", "y": "y", "by": "who"}, "there is no column `who`"),
    ],
)
def test_columns_that_cannot_be_drawn_are_errors(keywords: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        plots.columns(TABLE, **keywords)


def test_a_figure_is_written_from_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = made(tmp_path / "run")
    for suffix, begins in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        file = tmp_path / f"figure{suffix}"
        assert cli.main(["plot", folder, "arrival_ps", "done_ps", "--where", "cluster=0", "-o", str(file)]) == 0
        assert file.read_bytes().startswith(begins)
    capsys.readouterr()
    for options, complaint in (
        (["arrival_ps", "done_p"], "did you mean done_ps?"),
        (["arrival_ps", "done_ps", "--table", "packet"], "did you mean packets?"),
        (["arrival_ps", "done_ps", "--where", "cluster=9"], "no row has this value; there are 0, 1, 2, 3"),
        (["arrival_ps", "done_ps", "-o", "figure.gif"], "must end in .svg, .png, .pdf"),
        (["arrival_ps"], "name two columns"),
    ):
        assert cli.main(["plot", folder, *options]) == 2
        assert complaint in capsys.readouterr().err
    assert cli.main(["plot", str(tmp_path / "nothing")]) == 2
