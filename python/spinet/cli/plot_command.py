# SPDX-License-Identifier: Apache-2.0
"""`spinet plot`: draws columns of a sweep or of a run."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spinet.cli import parameters

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS = (".svg", ".png", ".pdf")


@click.command(short_help="Draw columns of a sweep or of a run.")
@click.argument("folder", type=click.Path(), metavar="DIR", shell_complete=parameters.complete_files)
@click.argument("x", required=False)
@click.argument("y", required=False)
@click.option("--by", metavar="COLUMN", help="A line for each value of this column.")
@click.option("--where", metavar="COLUMN=VALUE", multiple=True, help="Take only these rows; may be repeated.")
@click.option("--table", metavar="NAME", help="Table of a run. Default: packets or frames.")
@click.option("--log-x", is_flag=True, help="Logarithmic horizontal axis.")
@click.option("--log-y", is_flag=True, help="Logarithmic vertical axis.")
@click.option("--title", default="", help="Title of the figure.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("plot.svg"),
    show_default=True,
    help="The file to write: .svg, .png or .pdf.",
)
def command(
    folder: str,
    x: str | None,
    y: str | None,
    by: str | None,
    where: tuple[str, ...],
    table: str | None,
    log_x: bool,
    log_y: bool,
    title: str,
    output: Path,
) -> int:
    """Draw column Y over column X of a sweep (spinet sweep -o DIR) or of the packets of a run (spinet run -o DIR).

    Rows with equal X are one point, their mean, with a band from the least to the greatest. Columns with more than 200
    values of X are drawn as dots. Without X and Y, the columns are listed.

    The library that draws is the extra `plot`: pip install 'spinet[plot]'.

    \b
    Examples:
      spinet plot sweep
      spinet plot sweep size latency_ns.median --by set.cluster.n_cores --log-x
      spinet plot sweep seed throughput.out_gbps --where size=64 -o seeds.png
      spinet plot result arrival_ps handler_ps
      spinet plot result arrival_ps cycles --where cluster=0 --table packets
    """
    from spinet import plots
    from spinet._core import UsageError

    found = _rows(read(Path(folder), table), where)
    if x is None or y is None:
        if x is not None:
            raise click.UsageError("name two columns, X and Y")
        click.echo("\n".join(found.column_names))
        return 0
    if output.suffix not in _FORMATS:
        raise UsageError(f"{output}: the name of a figure must end in {', '.join(_FORMATS)}")
    plots.require(hint="pip install 'spinet[plot]'")
    plots.save_as(plots.columns(found, x, y, by=by, title=title, log_x=log_x, log_y=log_y), output)
    click.echo(f"The figure is {output}")
    return 0


def read(folder: Path, name: str | None = None) -> pa.Table:
    """The table of a sweep, or one of a run.

    Raises
    ------
    InputError
        If there is none, or it is damaged.
    """
    from spinet import output, packet_table, sweeps
    from spinet._core import UsageError

    hint = "spinet sweep -o DIR and spinet run -o DIR make such folders"
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", hint=hint)
    known = sorted(path.stem for path in folder.glob("*.parquet"))
    if name is None:
        usual = (Path(sweeps.RUNS).stem, "packets", "frames")
        name = next((one for one in usual if one in known), None)
        if name is None:
            raise UsageError(f"{folder} has no table", hint=hint)
    elif name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        raise UsageError(
            f"{folder} has no table {name}", hint=f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
        )
    return output.read(folder / f"{name}.parquet", packet_table.read, hint=hint)


def _rows(table: pa.Table, where: tuple[str, ...]) -> pa.Table:
    import pyarrow.compute as pc

    from spinet._core import UsageError
    from spinet.sweeps import rows

    for text in where:
        name, equals, value = text.partition("=")
        if not equals:
            raise click.UsageError(f"--where {text}: must be COLUMN=VALUE")
        rows.check_column(name, table.column_names)
        texts = [_text(one) for one in table[name].to_pylist()]
        if value not in texts:
            known = list(dict.fromkeys(texts))
            raise UsageError(
                f"--where {text}: no row has this value; there are {', '.join(known[:8])}"
                + (" and others" if len(known) > 8 else "")
            )
        table = table.filter(pc.equal(texts, value))
    return table


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
