# SPDX-License-Identifier: Apache-2.0
"""`spinet report`: makes an HTML file with charts of a run."""

from __future__ import annotations

import click

from spinet.cli import parameters


@click.command(short_help="Make an HTML file with charts of a run.")
@click.argument("run", type=click.Path(), metavar="DIR", shell_complete=parameters.complete_files)
@click.option(
    "-o", "--output", metavar="FILE.html", type=click.Path(), help="The file to write. Default: report.html in DIR."
)
def command(run: str, output: str | None) -> int:
    """Make an HTML file with charts of a run. It is one file, which any browser opens without a network.

    DIR is the folder of a run: spinet run -o DIR. The file shows what ran, the card with the load of its parts,
    throughput, latency and occupancy over time, the distribution of latency, resources and their limits, and drops.
    With --paths, it also shows what packets waited for and the slowest of them; with --profile, the hottest lines.

    The library that draws charts is the extra `report`: pip install 'spinet[report]'.

    \b
    Examples:
      spinet run count.c --traffic udp:size=64,count=10000,rate=400G --paths --profile -o result
      spinet report result
      spinet report result -o count.html
      spinet run count.c --traffic dns.pcap --report -o result    (the same in one command)
    """
    from spinet import report

    click.echo(f"The report is {report.write(run, output)}")
    return 0
