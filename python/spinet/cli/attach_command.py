# SPDX-License-Identifier: Apache-2.0
"""`spinet attach`: a card as an interface of Linux."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from spinet.cli import ends, errors, parameters, run_command

if TYPE_CHECKING:
    from spinet import _core
    from spinet._kinds import Kind
    from spinet._live import Bridge, Side, Terms

# The packets come from the interfaces.
_OF_TRAFFIC = ("traffic", "send", "faults")
_OF_TRACES = (
    "trace_instructions",
    "trace_cores",
    "trace_time",
    "timeline",
    "waves",
    "timeline_only",
    "capture_drops",
    "out",
)
_WITHOUT = (*_OF_TRAFFIC, *_OF_TRACES, "pacing", "count", "threads", "keep_nodes", "keep_time", "keep_messages")


class _Seconds(click.ParamType[float]):
    """A span of real time, such as `10 s`."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds."""
        from spinet import _core

        if isinstance(value, float):
            return value
        try:
            return _core.span_ps(str(value)) / 1e12
        except _core.InputError as error:
            self.fail(str(error), param, ctx)


@click.command(cls=parameters.CommandOfKinds, short_help="Make a card an interface of Linux.")
@click.argument("program", nargs=-1, type=click.Path(), metavar="[HANDLER.c... | EXPERIMENT.toml]")
@click.option(
    "--tap",
    "taps",
    metavar="NAME",
    multiple=True,
    required=True,
    help="The TAP interface at the network port; a second one is at the second port.",
)
@click.option("--host-tap", metavar="NAME", help="The TAP interface at the host's side of the card.")
@click.option(
    "--speed",
    metavar="FACTOR",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    help="Simulated time in a second of real time, in seconds. Default: 1.",
)
@click.option(
    "--count", metavar="N", type=parameters.Whole(min=1), help="End when the card is done with N frames of the network."
)
@click.option("--duration", metavar="TIME", type=_Seconds(), help="End after this real time, such as '10 s'.")
@click.option(
    "--capture",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the frames of the network to this pcap file, with the simulated times of their arrival.",
)
@run_command.all_options(without=_WITHOUT)
@parameters.json_option
def command(
    taps: tuple[str, ...],
    host_tap: str | None,
    speed: float,
    count: int | None,
    duration: float | None,
    capture: Path | None,
    **options: Any,
) -> int:
    """Run handlers on a simulated card between real interfaces: programs of this machine talk to it.

    Frames that Linux sends into the interface of --tap arrive at the card's network port, and frames that the card
    sends arrive in Linux. --host-tap is the other side of the card: packets for the host arrive there, as in a driver.
    Simulated time follows real time; if the simulation is slower, simulated time is late, and nothing waits.

    \b
    Examples:
      sudo ip tuntap add spin0 mode tap user $USER && sudo ip link set spin0 up
      sudo ip address add 10.7.0.1/24 dev spin0
      spinet attach --tap spin0 echo_host.c                            then: ping 10.7.0.2
      spinet attach --tap spin0 --host-tap host0 memcache.c --match 'udp.dst_port == 11211'
      spinet attach --tap spin0 --nic pipeline --chain 'all: aes => network:0'

    Packets for the host are: on cards that run handlers, those that no context matches, and those that a handler copies
    to host memory as a whole, with the bytes that are in host memory then; with chains, packets whose chain ends at the
    host. Frames from --host-tap go through the card's host port. A card that runs handlers has none, so these frames
    bypass it. Without --host-tap, packets for the host are counted.

    It ends with Ctrl-C, --count, --duration or --limit, which is simulated time, and prints a summary. -o keeps the
    results, as spinet run does. spinet run --traffic FILE repeats the frames of --capture FILE at the same times.

    \b
    Exit codes: 0 it ended, also by Ctrl-C; 1 with --strict: there are remarks; 2 bad input, no permission, or a core
    stopped.
    """
    from spinet import _kinds, _live, _programs, api, report
    from spinet.output import OutputFolder

    run_command.check_output(options)
    options = {**options, **dict.fromkeys(_WITHOUT, ()), "pacing": None, "count": None}
    terms = _live.Terms(speed=speed, count=count, duration_s=duration)
    with contextlib.ExitStack() as stack:
        given, experiment = run_command.keywords(options)
        prepared = api.idle(api.prepare(experiment, {**given, "traffic": ["udp:count=1"]}, options=True), _OF_TRAFFIC)
        kind = _kinds.get(prepared.kind)
        if host_tap is not None and kind.host_frames == "none":
            raise click.UsageError(
                f"--host-tap {host_tap}: this card {kind.does}, and its host is simulated too; leave --host-tap away"
            )
        folder = None
        if options["output"] is not None:
            folder = stack.enter_context(OutputFolder(options["output"], force=options["force"]))
        if options["report"]:
            report.check()
        ready = _programs.built(prepared, given, cc=options["cc"], defines=parameters.macros(options["defines"]))
        if ready.messages:
            click.echo(ready.messages.rstrip("\n"), err=True)
        sides = _live.open_sides(taps, host_tap, stack)
        captured = _live.capture_file(capture, stack)
        summary = api.stream(
            ready,
            folder=folder.path if folder else None,
            profile=options["profile"],
            paths=options["paths"],
            check=options["check"],
            on_console=run_command.print_console,
            live=_exchange(kind, sides, terms, captured, stack),
        )
        if folder is not None:
            if options["report"]:
                report.write(folder.path)
            folder.commit()
    if options["as_json"]:
        click.echo(json.dumps(summary, indent=2))
        errors.warn(summary["remarks"])
    else:
        kind.print_summary(prepared, summary, experiment)
        _print_interfaces(summary["attach"])
        if folder is not None:
            click.echo(f"\nResults are in {options['output']}")
    return run_command.strict(options["strict"], ends.exit_code(prepared.kind, summary), summary)


def _exchange(
    kind: Kind, sides: list[Side], terms: Terms, capture: IO[bytes] | None, stack: contextlib.ExitStack
) -> Callable[[_core.Run, Callable[[], None]], dict[str, Any]]:
    from spinet._live import Bridge

    on_status = stack.enter_context(_status())

    def live(native: _core.Run, look: Callable[[], None]) -> dict[str, Any]:
        bridge = Bridge(
            native,
            sides,
            terms,
            host_passes=kind.host_frames == "pass",
            capture=capture,
            on_status=on_status,
        )
        for side in sides:
            click.echo(f"attached: {side.interface.name} is {side.port} of the card", err=True)
            if not side.interface.is_up:
                name = side.interface.name
                click.echo(f"note: {name} is down, and no frames pass: sudo ip link set {name} up", err=True)
        return bridge.run(look)

    return live


@contextlib.contextmanager
def _status() -> Any:
    """Shows the state once a second on a terminal; elsewhere, only says it when the simulation falls behind."""
    is_terminal = sys.stderr.isatty()
    is_told = False

    def show(bridge: Bridge) -> None:
        nonlocal is_told
        if bridge.is_behind and not is_told:
            is_told = True
            share = bridge.simulated_ps / 1e12 / bridge.real_s
            text = f"1 s of real time is {share:.3g} s of simulated time so far"
            click.echo(f"note: the simulation is slower than --speed: {text}", err=True)
        if is_terminal:
            frames = ", ".join(
                f"{side.interface.name} {side.frames_in:,} in, {side.frames_out:,} out" for side in bridge.sides
            )
            late = f", {bridge.behind_s:.2f} s behind" if bridge.is_behind else ""
            click.echo(f"\r\x1b[K{bridge.simulated_ps / 1e12:.2f} s simulated{late}; {frames}", err=True, nl=False)

    try:
        yield show
    finally:
        if is_terminal:
            click.echo("\r\x1b[K", err=True, nl=False)


def _print_interfaces(attach: dict[str, Any]) -> None:
    from spinet.cli import run_report

    rows = [
        (
            f"{side['name']} ({side['port']})",
            f"{side['frames_in']:,}",
            f"{side['bytes_in']:,}",
            f"{side['frames_out']:,}",
            f"{side['bytes_out']:,}",
        )
        for side in attach["interfaces"]
    ]
    lines = [
        f"Real time {attach['real_s']:.2f} s, simulated {attach['simulated_s']:.2f} s"
        + (f", {attach['behind_s']:.2f} s behind --speed {attach['speed']:g}" if attach["behind_s"] >= 0.01 else "")
    ]
    losses = {
        "to the host, which has no interface": attach["to_host_without_interface"],
        "out of a network port without an interface": attach["out_without_interface"],
        "refused by the card as too long": sum(side["refused"] for side in attach["interfaces"]),
        "lost at an interface that is down or full": sum(side["lost"] for side in attach["interfaces"]),
        "dropped by the kernel before they were read": sum(
            side["dropped_by_kernel"] or 0 for side in attach["interfaces"]
        ),
    }
    lines += [f"{count:,} frames {what}" for what, count in losses.items() if count]
    click.echo()
    run_report.show(
        [
            run_report.table(
                "Interface", "into the card", "bytes", "out of the card", "bytes ", rows=rows, kinds="wnnnn"
            ),
            "\n".join(lines),
        ]
    )
