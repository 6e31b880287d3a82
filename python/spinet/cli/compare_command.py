# SPDX-License-Identifier: Apache-2.0
"""`spinet compare`: the same packets and handlers on several NICs, or several networks."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from spinet.cli import errors, parameters

if TYPE_CHECKING:
    from spinet.comparison import Comparison, NetworkComparison

_Compared = TypeVar("_Compared", "Comparison", "NetworkComparison")


@click.command(cls=parameters.NamingCommand, short_help="Compare NICs with the same packets and handlers, or networks.")
@click.argument("program", nargs=-1, type=click.Path(), metavar="[HANDLER.c...|[NAME=]NETWORK.toml...]")
@click.option("--network", "is_network", is_flag=True, help="Compare experiments with networks.")
@parameters.option(
    "traffic", multiple=False, help="Packets: a capture, or a generator such as 'udp:size=64,count=1000,rate=10G'."
)
@click.option("--forward", is_flag=True, help="Plain forwarding from network to host. Default without a handler.")
@parameters.option(
    "nic",
    dest="nics",
    multiple=True,
    help="A card, or native (this machine); may be repeated. Default: pspin, panic, native, tigon2, tengig.",
)
@click.option(
    "--rate", metavar="RATE", help="Send packets back to back at this line rate, such as 10G. Default: their own times."
)
@click.option("--longest-gap", metavar="TIME", help="Cut longer gaps between packets to this. Default: 200 us.")
@parameters.option("count", help="Take only the first N packets.")
@parameters.option("match")
@parameters.option("message")
@parameters.option("handler")
@click.option(
    "--exit",
    "leaving",
    type=click.Choice(["network", "host"]),
    default="network",
    show_default=True,
    help="Packets that count: sent by handlers, or written to the host.",
)
@click.option(
    "-s",
    "--set",
    "sets",
    metavar="NIC:PATH=VALUE",
    multiple=True,
    help="Change a card's parameter; may be repeated.",
)
@click.option("--units", metavar="N", type=int, default=1, show_default=True, help="Cores of a card with units.")
@click.option(
    "--threads",
    metavar="N",
    type=click.IntRange(min=1),
    help="Threads of native, 1 by default; or of a network's simulation, one per core by default.",
)
@parameters.option("seed")
@parameters.option("limit", help="End each NIC's run at this simulated time, such as '10 ms'.")
@parameters.option("defines")
@parameters.option("output", help="Output folder for table and plot.")
@click.option("--no-plot", is_flag=True, help="Write no plot; does not need matplotlib.")
@parameters.option("force", help="Replace the output folder of an earlier comparison.")
@parameters.json_option
def command(
    program: tuple[str, ...],
    is_network: bool,
    traffic: str | None,
    forward: bool,
    nics: tuple[str, ...],
    rate: str | None,
    longest_gap: str | None,
    count: int | None,
    match: str | None,
    message: str | None,
    handler: str | None,
    leaving: str,
    sets: tuple[str, ...],
    units: int,
    threads: int | None,
    seed: int | None,
    limit: str | None,
    defines: tuple[str, ...],
    output: Path | None,
    no_plot: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Run the same packets and the same handler source on several NICs, and compare the results in one table.

    Packets come at the same times everywhere. A NIC that cannot run the handlers is listed with the reason. Times of
    native are this machine's, and differ from run to run.

    With --network, each file is an experiment with a network. The table has the completion time, the traffic on
    links, the busiest link, the time of the hosts' processors, and the cycles of handlers.

    \b
    Examples:
      spinet compare ping_pong.c --traffic capture.pcap --match udp -o result
      spinet compare ping_pong.c --traffic 'udp:size=512,count=1000,rate=1G' --nic pspin --nic panic --units 4
      spinet compare --forward --traffic 'udp:size=1472,count=1000,rate=1G' --nic tigon2 --nic tengig
      spinet compare --network host.toml nic.toml switch.toml
    """
    from spinet import plots
    from spinet._core import UsageError
    from spinet.cli import compare_report
    from spinet.comparison import DEFAULT_NICS, JSON, compare
    from spinet.output import OutputFolder

    if is_network:
        networks = _named(program)
        more = {"seed": seed, "limit": limit, "threads": threads, "defines": parameters.macros(defines)}
        return _networks(networks, more, output, force=force, as_json=as_json)
    if traffic is None:
        raise UsageError(
            "there is no traffic", hint="name a capture or a description: --traffic 'udp:size=64,count=1000,rate=10G'"
        )
    if forward and program:
        raise UsageError(f"--forward goes without a handler; there is {program[0]}")
    with contextlib.ExitStack() as stack:
        # Check the output folder first, so that its error appears before the run.
        folder = None
        if output is not None:
            if not no_plot:
                plots.require()
            folder = stack.enter_context(OutputFolder(output, force=force, holds=JSON))
        comparison = compare(
            program=program,
            traffic=traffic,
            nics=nics or DEFAULT_NICS,
            match=match,
            message=message,
            handler=handler,
            exit="host" if leaving == "host" else "network",
            rate=rate,
            count=count,
            **({} if longest_gap is None else {"longest_gap": longest_gap}),
            set=sets,
            units=units,
            threads=threads or 1,
            seed=seed,
            limit=limit,
            defines=parameters.macros(defines),
            on_nic=stack.enter_context(_spinner()),
        )
        if folder is not None:
            comparison.write(folder.path, plot=not no_plot)
            folder.commit()
    ended = {row.nic: row.ended for row in comparison.rows}
    return _show(comparison, compare_report.print_comparison, ended, output, as_json=as_json)


def _show(
    comparison: _Compared,
    show: Callable[[_Compared], None],
    ended: Mapping[str, str],
    output: Path | None,
    *,
    as_json: bool,
) -> int:
    """Print a comparison, and return the exit code. `ended` says how each run ended, by name."""
    if as_json:
        click.echo(json.dumps(comparison.as_json(), indent=2))
    else:
        show(comparison)
        if output is not None:
            click.echo(f"\nResults are in {output}")
    unfinished = [name for name, how in ended.items() if how != "complete"]
    if not unfinished:
        return 0
    errors.complain(
        f"not every run finished: {', '.join(unfinished)}", hint="give them more simulated time with --limit"
    )
    return errors.UNFINISHED


# Options that hold for networks, too.
_FOR_NETWORKS = {
    "program",
    "is_network",
    "seed",
    "limit",
    "threads",
    "defines",
    "output",
    "no_plot",
    "force",
    "as_json",
}


def _networks(
    networks: Mapping[str, Path],
    options: Mapping[str, Any],
    output: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> int:
    from spinet._core import UsageError
    from spinet.cli import compare_report
    from spinet.comparison import JSON, compare_networks
    from spinet.output import OutputFolder

    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name)
        if name not in _FOR_NETWORKS and given is not click.core.ParameterSource.DEFAULT:
            raise UsageError(f"{parameter.opts[0]} does not go with --network", hint="the files say what runs")
    with contextlib.ExitStack() as stack:
        folder = None
        if output is not None:
            folder = stack.enter_context(OutputFolder(output, force=force, holds=JSON))
        comparison = compare_networks(networks, **options, on_network=stack.enter_context(_spinner()))
        if folder is not None:
            comparison.write(folder.path)
            folder.commit()
    ended = {row.network: row.ended for row in comparison.rows}
    return _show(comparison, compare_report.print_networks, ended, output, as_json=as_json)


def _named(files: tuple[str, ...]) -> dict[str, Path]:
    """Files by name: the name given before the file, or else the file's own name."""
    from spinet._core import UsageError

    if not files:
        raise UsageError("there is no network to compare", hint="name files: --network host.toml nic.toml")
    named: dict[str, Path] = {}
    for text in files:
        name, equals, file = text.partition("=")
        if not equals or "/" in name:
            name, file = Path(text).stem, text
        if not name or not file:
            raise UsageError(f"{text}: expected NETWORK.toml or NAME=NETWORK.toml")
        if name in named:
            raise UsageError(
                f"{text}: there are two networks with the name {name}",
                hint=f"name them: first={named[name]} second={file}",
            )
        named[name] = Path(file)
    return named


@contextlib.contextmanager
def _spinner() -> Iterator[Callable[[str], None] | None]:
    """Reports the running NIC on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("beginning") as status:
        yield lambda nic: status.update(f"running on {nic}")
