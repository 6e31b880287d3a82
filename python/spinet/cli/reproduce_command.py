# SPDX-License-Identifier: Apache-2.0
"""`spinet reproduce`: published figures and tables, measured again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spinet.cli import errors, parameters

if TYPE_CHECKING:
    from spinet.reproduce.experiment import Experiment, Point
    from spinet.reproduce.report import Report

MISSED = 1


def _complete(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    from spinet import reproduce

    names = reproduce.find()
    papers = dict.fromkeys(name.partition("/")[0] for name in names)
    return [name for name in (*papers, *names) if name.startswith(begun)]


@click.command(short_help="Measure published figures and tables again.")
@click.argument("names", nargs=-1, metavar="[PAPER | PAPER/FIGURE]...", shell_complete=_complete)
@click.option("--list", "only_list", is_flag=True, help="List all experiments.")
@click.option("--quick", is_flag=True, help="Measure only quick points, without statements about all points.")
@click.option("--no-plot", is_flag=True, help="Draw nothing; does not need matplotlib.")
@click.option("--fresh", is_flag=True, help="Ignore cached results.")
@click.option("--all", "everything", is_flag=True, help="Print every point, not only misses.")
@parameters.jobs_option
@parameters.scheduler_option
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("build/reproduce"),
    show_default=True,
    help="Output folder; existing files are replaced.",
)
@parameters.json_option
def command(
    names: tuple[str, ...],
    only_list: bool,
    quick: bool,
    no_plot: bool,
    fresh: bool,
    everything: bool,
    jobs: int | None,
    scheduler: str | None,
    output: Path,
    as_json: bool,
) -> int:
    """Measure the figures and tables of a paper, and compare them with the published values.

    Without a name all experiments are run. The exit code is 1 if a point misses and the experiment gives no reason for
    it, or if a point hits although the experiment gives a reason for a miss.

    \b
    Examples:
      spinet reproduce --list
      spinet reproduce pspin/fig8
      spinet reproduce pspin --all

    \b
    For each experiment, in DIR/PAPER, as soon as its last point is measured:
      FIGURE.svg, FIGURE.png    the figure, published values beside measured ones
      FIGURE.csv                every measured point
      FIGURE.md                 the verdict of every point and statement
    """
    from spinet import _files, reproduce
    from spinet.reproduce import report as reports

    chosen = [reproduce.load(name) for name in reproduce.find(*names)]
    if only_list:
        _list(chosen, as_json=as_json)
        return 0
    if not no_plot:
        from spinet import plots

        plots.require()
    written: list[str] = []

    def write(made: Report) -> None:
        _write(made, output, plot=not no_plot)
        written.append(made.results.experiment.name)

    try:
        # Errors of output folders come before the measurements.
        with _files.folders((output / item.name).parent for item in chosen):
            made = _run(chosen, quick=quick, fresh=fresh, jobs=jobs, scheduler=scheduler, done=write)
    except KeyboardInterrupt:
        ended = f"{len(written)} of {len(chosen)} experiments are in {output}" if written else "nothing was written"
        click.echo(f"stopped; {ended}", err=True)
        return errors.INTERRUPTED
    for report in made:
        if not as_json:
            reports.show(report, everything=everything)
    if as_json:
        click.echo(json.dumps([_as_json(report) for report in made], indent=2))
    else:
        click.echo(f"\n{reports.counted(made)}; figures and tables are in {output}")
    failed = [report.results.experiment.name for report in made if report.failed]
    if failed:
        errors.complain(f"points miss in {', '.join(failed)}", hint="docs/experiments/README.md says what to do then")
    return MISSED if failed else 0


def _list(chosen: Sequence[Experiment], *, as_json: bool) -> None:
    if as_json:
        rows = [{"name": item.name, "title": item.title, "source": item.source} for item in chosen]
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(len(item.name) for item in chosen)
    for item in chosen:
        click.echo(f"{item.name:{width}}  {item.title}")


def _run(
    chosen: Sequence[Experiment],
    *,
    quick: bool,
    fresh: bool,
    jobs: int | None,
    scheduler: str | None,
    done: Callable[[Report], None],
) -> list[Report]:
    """Measure all points; an experiment is `done` as soon as its last point is measured."""
    from spinet.reproduce import Results, pool
    from spinet.reproduce import report as reports

    made: dict[str, Report] = {}

    def on_experiment(item: Experiment, measured: dict[str, dict[str, float]]) -> None:
        made[item.name] = reports.make(Results(item, measured))
        done(made[item.name])

    work = [(item, point) for item in chosen for point in item.points if point.quick or not quick]
    with parameters.count_bar(len(work), "points") as on_count:

        def on_point(name: str, point: Point, _known: bool) -> None:
            if on_count is not None:
                on_count(f"{name} {point.name}")

        pool.measure(work, jobs=jobs, scheduler=scheduler, fresh=fresh, on_point=on_point, on_experiment=on_experiment)
    return [made[item.name] for item in chosen if item.name in made]


def _write(report: Report, output: Path, *, plot: bool) -> None:
    from spinet import _files
    from spinet.reproduce import report as reports
    from spinet.reproduce import results

    experiment = report.results.experiment
    base = output / experiment.name
    results.write_csv(base.with_suffix(".csv"), report.results.rows)
    image = ""
    if plot and report.results.complete:
        from spinet import plots

        plots.save(experiment.plot(report.results), base)
        image = f"{experiment.slug}.svg"
    text = reports.markdown(report, heading="#", image=image, data=f"{experiment.slug}.csv")
    _files.write(base.with_suffix(".md"), text)


def _as_json(report: Report) -> dict[str, object]:
    from spinet.reproduce import report as reports

    experiment = report.results.experiment
    values = [
        {
            "point": value.row.point,
            "quantity": value.row.quantity,
            "unit": value.row.unit,
            "reference": value.row.reference,
            "relation": value.row.relation,
            "expected": value.row.value,
            "tolerance": value.row.tolerance,
            "measured": value.measured,
            "verdict": value.verdict.status,
            "reason": reports.reason_of(value.verdict, value.row) or None,
        }
        for value in report.values
    ]
    claims = [
        {
            "statement": claim.text,
            "found": claim.found,
            "verdict": verdict.status,
            "reason": reports.reason_of(verdict, claim) or None,
        }
        for claim, verdict in report.claims
    ]
    return {"name": experiment.name, "title": experiment.title, "values": values, "statements": claims}
