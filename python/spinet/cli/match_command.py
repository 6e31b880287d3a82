# SPDX-License-Identifier: Apache-2.0
"""`spinet match`: counts the packets of a capture that match an expression."""

from __future__ import annotations

import json
import os
import sys

import click

from spinet.cli import parameters

_STDIN = "/dev/stdin"


@click.command(short_help="Try a match expression on a capture.")
@click.argument("expression", metavar="EXPR")
@click.argument("capture", type=click.Path(), metavar="CAPTURE")
@click.option("--limit", type=parameters.Whole(min=0), default=10, show_default=True, help="Number of packets to show.")
@parameters.json_option
def command(expression: str, capture: str, limit: int, as_json: bool) -> None:
    """Count the packets of a capture that match an expression, and show the first ones, numbered as in Wireshark.

    CAPTURE is a pcap or pcapng file, or - for one on stdin.

    \b
    Examples:
      spinet match 'udp.dst_port == 53' dns.pcap
      spinet match 'tcp.flags.syn && !tcp.flags.ack' http.pcap
      spinet match 'ipv4.src in 10.0.0.0/8 or eth.type == 0x88b5' capture.pcapng --limit 3
      spinet match 'bytes[42:2] == 0x1234' capture.pcap --json
      tcpdump -w - -c 100 | spinet match tcp -
    """
    from spinet.cli import run_report

    # Unlike Path's methods, these return false for names that are too long.
    if os.path.isfile(expression) and not os.path.exists(capture):
        raise click.UsageError(f"the expression comes first: spinet match '{capture}' {expression}")
    found = json.loads(_matches(expression, capture, limit))
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    click.echo(
        f"{found['matched']:,} of {found['packets']:,} packets match, "
        f"{found['matched_bytes']:,} of {found['bytes']:,} bytes"
    )
    for packet in found["first"]:
        time = f"{packet['time_ns'] / 1e9:.9f} s" if packet["time_ns"] is not None else "no time"
        click.echo(f"  {packet['number']:>7}  {time:>20}  {packet['bytes']:>5} bytes  {packet['summary']}")
    if notes := run_report.capture_notes(found["capture"], found["stop"]):
        click.echo("\n".join(["", "About the capture", *notes]))


def _matches(expression: str, capture: str, limit: int) -> str:
    from spinet import _core

    if capture != "-":
        return _core.match_capture(expression, capture, limit)
    if sys.stdin.isatty():
        raise click.UsageError("CAPTURE is -, but stdin is a terminal; pipe a capture into it")
    try:
        return _core.match_capture(expression, _STDIN, limit)
    except _core.InputError as error:
        raise _core.InputError(str(error).replace(_STDIN, "stdin", 1)) from None
