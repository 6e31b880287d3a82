# SPDX-License-Identifier: Apache-2.0
"""Experiments: the quick points of each are measured; verdicts, files and errors are as documented."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from spinet import InputError, cli, plots, reproduce
from spinet.reproduce import Claim, Point, expected, pool
from spinet.reproduce import report as reports
from spinet.reproduce.expected import COLUMNS, REQUIRED, Expectation, judge
from spinet.reproduce.results import Results, read_csv, write_csv
from spinet.sweeps import workers

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "docs" / "experiments"


def expectation(
    *, relation: str = "=", value: float = 100, tolerance: str = "10 %", miss: str = "", basis: str = ""
) -> Expectation:
    return Expectation(
        point="p", quantity="q", unit="ns", relation=relation, value=value, tolerance=tolerance,
        reference="paper", source="I", miss=miss, basis=basis,
    )  # fmt: skip


@pytest.mark.parametrize("name", reproduce.find())
def test_quick_points_of_every_experiment_have_no_unexplained_miss(name: str) -> None:
    experiment = reproduce.load(name)
    quick = [(experiment, point) for point in experiment.points if point.quick]
    assert quick, "an experiment has quick points"
    measured = pool.measure(quick, jobs=1)[name]
    report = reports.make(Results(experiment, measured))
    wrong = [
        f"{v.row.point}, {v.row.quantity}: {v.found}, not {v.wanted}" for v in report.values if v.verdict.is_failure
    ]
    assert not wrong


@pytest.mark.parametrize("name", reproduce.find())
def test_the_page_shows_every_point_of_every_experiment(name: str) -> None:
    experiment = reproduce.load(name)
    results = read_csv(DATA / f"{name}.csv", experiment)
    assert results.complete, "run `make reproduce`"
    report = reports.make(results)
    assert not report.failed
    assert all(claim.text for claim, _verdict in report.claims)


@pytest.mark.long
@pytest.mark.parametrize("name", reproduce.find())
def test_the_page_shows_what_is_measured_today(name: str, tmp_path: Path) -> None:
    experiment = reproduce.load(name)
    points = [point for point in experiment.points if not point.on_host]
    measured = pool.measure([(experiment, point) for point in points])[name]
    write_csv(tmp_path / "today.csv", Results(experiment, measured).rows)
    today = read_csv(tmp_path / "today.csv", experiment)
    shown = read_csv(DATA / f"{name}.csv", experiment)
    for row in today.rows:
        assert all(shown.value(row.point.name, quantity) == value for quantity, value in row.measured.items()), row


@pytest.mark.parametrize(
    ("relation", "tolerance", "measured", "agrees"),
    [
        ("=", "10 %", 90, True),
        ("=", "10 %", 89.9, False),
        ("=", "10 %", 110, True),
        ("=", "10 %", 110.1, False),
        ("=", "2", 102, True),
        ("=", "2", 102.1, False),
        (">=", "0", 100, True),
        (">=", "0", 99.9, False),
        (">=", "0", 1000, True),
        ("<=", "5 %", 105, True),
        ("<=", "5 %", 105.1, False),
        ("<=", "5 %", 0, True),
    ],
)
def test_a_value_agrees_up_to_its_tolerance(relation: str, tolerance: str, measured: float, agrees: bool) -> None:
    assert expectation(relation=relation, tolerance=tolerance).agrees(measured) == agrees


def test_a_value_without_a_tolerance_is_not_judged() -> None:
    row = expectation(tolerance="none")
    assert row.agrees(100) is None
    assert row.agrees(7) is None
    assert judge(agrees=row.agrees(7), miss="").status == expected.OPEN


@pytest.mark.parametrize(
    ("agrees", "miss", "basis", "status", "fails"),
    [
        (True, "", "fitted: chosen by this value", expected.FITTED, False),
        (True, "", "by construction: the model is this table", expected.CONSTRUCTED, False),
        (False, "", "fitted: chosen by this value", expected.MISS, True),
        (False, "the RTL does", "fitted: chosen by this value", expected.KNOWN, False),
        (True, "the RTL does", "fitted: chosen by this value", expected.STALE, True),
        (None, "", "by construction: the model is this table", expected.OPEN, False),
    ],
)
def test_agreement_that_is_no_evidence_is_no_hit(
    agrees: bool | None, miss: str, basis: str, status: str, fails: bool
) -> None:
    verdict = judge(agrees=agrees, miss=miss, basis=basis)
    assert (verdict.status, verdict.is_failure) == (status, fails)


def test_fitted_values_and_statements_are_counted_apart_and_say_why() -> None:
    basis = "fitted: chosen with the value in view"
    claims = [Claim(text="It holds", holds=True, found="yes", basis=basis), Claim(text="So", holds=True, found="yes")]
    rows = [expectation(), expectation(basis=basis), expectation(basis="by construction: of the table")]
    experiment = dataclasses.replace(
        reproduce.load("pspin/table4"), points=(Point(name="p"),), expected=tuple(rows), claims=lambda _: claims
    )
    report = reports.make(Results(experiment, {"p": {"q": 100.0}}))
    assert reports.counted([report]) == "2 hit, 2 fitted, 1 by construction"
    assert not report.failed
    page = reports.markdown(report)
    assert "| It holds | yes | = fitted (1) |" in page
    assert page.endswith("\n1. chosen with the value in view\n2. of the table\n")


@pytest.mark.parametrize(
    ("agrees", "reason", "status", "fails"),
    [
        (True, "", expected.HIT, False),
        (False, "", expected.MISS, True),
        (False, "the RTL does", expected.KNOWN, False),
        (True, "the RTL does", expected.STALE, True),
        (None, "", expected.OPEN, False),
    ],
)
def test_a_miss_needs_a_reason_and_a_reason_needs_a_miss(
    agrees: bool | None, reason: str, status: str, fails: bool
) -> None:
    verdict = judge(agrees=agrees, miss=reason)
    assert (verdict.status, verdict.is_failure) == (status, fails)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ("p,q,ns,~,1,0,paper,I,", "relation is `~`, must be one of =, >=, <="),
        ("p,q,ns,=,fast,0,paper,I,", "could not convert string to float: 'fast'"),
        ("p,q,ns,=,1,some,paper,I,", "could not convert string to float: 'some'"),
        ("p,q,ns,=,1,0,paper,,", "an expected value needs a reference and a source"),
        ("p,q,ns,=,1,none,paper,I,the RTL does", "a value that is not judged cannot miss"),
        ("p,q,ns", "not 9 columns"),
        ("p,q,ns,=,1,0,paper,I,,fitted", "basis is `fitted`, must be `fitted: why` or `by construction: why`"),
        ("p,q,ns,=,1,0,paper,I,,luck: mine", "basis is `luck: mine`, must be `fitted: why` or `by construction: why`"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: str, complaint: str) -> None:
    path = tmp_path / "figure.csv"
    columns = COLUMNS if row.count(",") >= len(REQUIRED) else REQUIRED
    path.write_text(",".join(columns) + "\n" + row + "\n")
    with pytest.raises(InputError) as caught:
        expected.read(path)
    assert str(caught.value) == f"{path}:2: {complaint}"


def test_an_expected_value_names_a_point_that_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected, "read", lambda _path: [expectation()])
    with pytest.raises(reproduce.ExperimentError, match=r"latency.csv: there is no point `p`"):
        reproduce.load("pspin/latency")


def test_results_survive_their_file(tmp_path: Path) -> None:
    experiment = reproduce.load("pspin/latency")
    before = read_csv(DATA / "pspin" / "latency.csv", experiment)
    write_csv(tmp_path / "again.csv", before.rows)
    assert (tmp_path / "again.csv").read_text() == (DATA / "pspin" / "latency.csv").read_text()


def test_a_point_is_measured_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPINET_CACHE", str(tmp_path))
    experiment = reproduce.load("pspin/table4")
    work = [(experiment, point) for point in experiment.points]
    known: list[bool] = []
    results = [pool.measure(work, on_point=lambda _name, _point, was: known.append(was)) for _ in range(2)]
    assert known == [False, True]
    assert results[0] == results[1]
    pool.measure(work, fresh=True, on_point=lambda _name, _point, was: known.append(was))
    assert known[-1] is False


def test_what_a_process_has_started_ends_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    endless = f"cd {tmp_path}/spinet-scratch-*; while :; do i=$((i+1)); : > $i; done"
    with pytest.raises(KeyboardInterrupt), workers._processes(1) as processes:
        processes.submit(subprocess.call, ["/bin/sh", "-c", endless])
        while not list(tmp_path.glob("*/1")):
            os.sched_yield()
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_point_that_cannot_be_measured_is_named_from_any_process() -> None:
    experiment = reproduce.load("pspin/latency")
    points = [
        Point(name=f"of size {size}", settings={"size": size, "nic": "pspim", "loaded": False}) for size in (64, 128)
    ]
    work = [(experiment, point) for point in points]
    for jobs in (1, 2):
        with pytest.raises(reproduce.ExperimentError, match=r"pspin/latency, point `of size \d+`: .*pspim"):
            pool.measure(work, jobs=jobs, fresh=True)


def test_the_command_writes_figure_table_and_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "pspin/table4", "-o", str(tmp_path)]) == 0
    assert sorted(path.name for path in (tmp_path / "pspin").iterdir()) == [
        f"table4.{suffix}" for suffix in ("csv", "md", "png", "svg")
    ]
    out = capsys.readouterr().out
    assert out.splitlines()[:2] == ["pspin/table4  Area of a processing element", "  5 by construction"]


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (InputError("no"), 2)])
def test_a_command_that_measures_nothing_leaves_no_folder(
    error: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def measure(*_args: object, **_more: object) -> None:
        assert (tmp_path / "far/out/pspin").is_dir()
        raise error

    monkeypatch.setattr(pool, "measure", measure)
    before = tmp_path / "far"
    before.mkdir()
    assert cli.main(["reproduce", "pspin/table4", "panic/fig8f", "--no-plot", "-o", str(before / "out")]) == code
    assert list(tmp_path.rglob("*")) == [before]


def test_the_list_is_for_people_and_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "--list", "pspin/table3", "pspin/table4"]) == 0
    assert capsys.readouterr().out == (
        "pspin/table3  Area and power of the components\npspin/table4  Area of a processing element\n"
    )
    assert cli.main(["reproduce", "--list", "--json", "pspin/table4"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found == {
        "name": "pspin/table4",
        "title": "Area of a processing element",
        "source": "Di Girolamo et al., ISCA 2021, Table IV, IV-C2",
    }


def test_an_unexplained_miss_is_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = Expectation(
        point="PsPIN", quantity="area", unit="mm²", relation="=", value=1, tolerance="0", reference="paper",
        source="nowhere", miss="",
    )  # fmt: skip
    monkeypatch.setattr(expected, "read", lambda _path: [wrong])
    assert cli.main(["reproduce", "pspin/table4", "--no-plot", "-o", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert "PsPIN   area       paper 1 mm²   18.47 mm²    +17.5 mm²   miss" in shown.out
    assert shown.err.startswith("error: points miss in pspin/table4\nhint: ")


@pytest.mark.parametrize(
    ("arguments", "complaint", "hint"),
    [
        (["pspin/fig88"], "there is no experiment pspin/fig88", "did you mean pspin/fig8?"),
        (["panik"], "there is no experiment panik", ""),
    ],
)
def test_an_unknown_experiment_is_reported(
    arguments: list[str], complaint: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["reproduce", *arguments]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == f"error: {complaint}"
    assert second.startswith(f"hint: {hint}")


def test_without_matplotlib_the_hint_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert cli.main(["reproduce", "pspin/table4", "-o", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        "error: figures need matplotlib, which is not installed\nhint: pip install 'spinet[plot]', or --no-plot\n"
    )
    assert not list(tmp_path.iterdir())


def test_equal_figures_are_equal_files(tmp_path: Path) -> None:
    experiment = reproduce.load("pspin/table4")
    results = read_csv(DATA / "pspin" / "table4.csv", experiment)
    for name in ("a", "b"):
        plots.save(experiment.plot(results), tmp_path / name)
    for suffix in ("svg", "png"):
        assert (tmp_path / f"a.{suffix}").read_bytes() == (tmp_path / f"b.{suffix}").read_bytes()
