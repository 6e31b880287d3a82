# SPDX-License-Identifier: Apache-2.0
"""`spinet run`: runs handlers on traffic and reports what happened to each packet."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spinet.cli import ends, errors, parameters

if TYPE_CHECKING:
    from spinet import api
    from spinet.experiment import Experiment


@click.command(short_help="Run handlers on a card.")
@click.argument("program", nargs=-1, type=click.Path(), metavar="[HANDLER.c... | EXPERIMENT.toml]")
@click.option(
    "-t",
    "--traffic",
    "traffic",
    multiple=True,
    metavar="CAPTURE|SPEC",
    help="Packets for the card: a pcap or pcapng file, or a generator such as 'udp:size=64,count=1000,rate=400G'.",
    shell_complete=parameters.complete_files,
)
@click.option("-m", "--match", metavar="EXPR", help="Packets for the handlers. Default: all.")
@click.option(
    "--message",
    metavar="SPEC",
    help="How packets form messages. Default: each packet is one.",
)
@click.option(
    "--handler", metavar="NAME", help="Name of the handlers if the program has several: NAME_hh, NAME_ph, NAME_th."
)
@click.option(
    "--handler-memory",
    metavar="FILE",
    help="Initial contents of the handlers' L2 memory. Default: zeros.",
    shell_complete=parameters.complete_files,
)
@click.option("--nic", metavar="NAME|FILE", help="The card. Default: pspin.", shell_complete=parameters.complete_nics)
@click.option(
    "--firmware",
    metavar="NAME|FILE",
    multiple=True,
    help="For a wired card: name of firmware that comes with spinet, sources, an ELF file or an image.",
    shell_complete=parameters.complete_files,
)
@click.option("--load", metavar="ADDRESS", type=parameters.ADDRESS, help="Load address of an image without a header.")
@click.option("--entry", metavar="ADDRESS", type=parameters.ADDRESS, help="Its entry. Default: the load address.")
@click.option(
    "--chain",
    "chains",
    metavar="SPEC",
    multiple=True,
    help="For a card with chains of offloads: 'NAME [EXPR]: SERVICE -> SERVICE => EXIT'; may be repeated.",
)
@click.option(
    "--service",
    "services",
    metavar="SPEC",
    multiple=True,
    help="A service of the chains: 'NAME: ENGINE, units=2, credits=2', or changes to one of the card: 'NAME: units=4'.",
)
@click.option(
    "--tenant",
    "tenants",
    metavar="SPEC",
    multiple=True,
    help="A tenant of the chains: 'NAME: weight=2, priority=0'. Default: one for each chain.",
)
@click.option(
    "--policy",
    metavar="NAME",
    help="Scheduling policy of services: fifo, strict-priority, weighted-fair, round-robin, least-slack, leaky-bucket.",
)
@click.option(
    "--send",
    "send",
    metavar="CAPTURE|SPEC",
    multiple=True,
    help="Packets that the host sends, like --traffic; for a transmit queue of panic 'QUEUE=SPEC'.",
)
@click.option(
    "--set",
    "set",
    metavar="PATH=VALUE",
    multiple=True,
    help="Change a parameter of the card; may be repeated.",
    shell_complete=parameters.complete_sets,
)
@click.option(
    "--pace",
    "pacing",
    metavar="HOW",
    help="Arrival times of packets: times (of the capture), times:0.5 (twice as fast), line:400G, asap.",
)
@click.option(
    "--count",
    metavar="N",
    type=parameters.Whole(min=1),
    help="Take only the first N packets of each --traffic and --send.",
)
@click.option(
    "--limit",
    metavar="TIME",
    help="End the run at this simulated time, such as '10 ms'. Default: when all packets are done; with endless "
    "traffic, for cards that are wired from modules, 40 ms after the start.",
)
@click.option(
    "--fault",
    "faults",
    metavar="KIND=CHANCE",
    multiple=True,
    help="Faults of the network: loss=0.01, duplicate=0.001, reorder=0.02:8 (late by up to 8 packets).",
)
@click.option("--seed", metavar="N", type=parameters.Whole(min=0), help="Seed of all random choices. Default: 1.")
@click.option(
    "-o", "--output", metavar="DIR", type=click.Path(path_type=Path), help="Write all results into a new folder."
)
@click.option("--force", is_flag=True, help="With -o: replace the folder of an earlier run.")
@click.option(
    "--trace-instructions", is_flag=True, help="With -o: write a trace of every instruction, one file per core."
)
@click.option(
    "--trace-cores",
    metavar="LIST",
    help="Trace only these cores, CLUSTER:CORE, such as 0:3,1:*. Wired cards: cluster 0.",
)
@click.option("--trace-time", metavar="FROM..TO", help="Trace only this simulated time, such as '1 us..2 us'.")
@click.option("--cc", metavar="COMMAND", help="RISC-V gcc or clang to use instead of spinet's compiler.")
@click.option("-D", "defines", metavar="NAME[=VALUE]", multiple=True, help="Define a macro for the handlers.")
@click.option("--strict", is_flag=True, help="Exit code 1 if there is a remark, such as a trap or a drop.")
@parameters.json_option
def command(**options: Any) -> int:
    """Run handlers written in C on a simulated card, and report what happened to each packet.

    The sources are compiled and linked into one program. An ELF file runs unchanged. A file that ends in .toml or .json
    is an experiment: it can contain all options, and several sets of handlers.

    \b
    Examples:
      spinet run ping_pong.c --traffic dns.pcap
      spinet run ping_pong.c --traffic dns.pcap --match 'udp.dst_port == 53' -o result
      spinet run count.c --traffic 'udp:size=imix,count=10000,rate=400G' --message 'by 5-tuple'
      spinet run ping_pong.c --traffic dns.pcap --pace asap --set cluster.n_cores=4
      spinet run experiment.toml --json
      spinet run result/experiment.json        (the experiment of an earlier run)

    A wired card runs firmware and has a host instead of handlers. --traffic comes from the network, and --send from its
    host: captures, generators, or 'datagrams:bytes=1472' (endless, every frame checked).

    \b
      spinet run --nic tigon2 --traffic datagrams: --send datagrams: --limit '60 ms'
      spinet run --nic tigon2 --firmware tg2.bin --traffic dns.pcap --set host.promiscuous=true
      spinet run --nic tigon2 --firmware tigon2 -D SPLIT --send datagrams:bytes=18
      spinet run --nic tigon2 --traffic datagrams: --send tcp-ack --limit '60 ms' -o result
      spinet run --nic my_nic.toml --firmware my_firmware.c --traffic datagrams:count=100

    A card with chains of offloads, such as panic, has services with units. Chains send packets through services, and
    tenants share them by a policy. An experiment file can contain all of this: [[service]], [[chain]], [[tenant]].

    \b
      spinet run --nic panic --chain 'ipsec: sha -> aes' --traffic 'udp:size=1472,count=10000,rate=30G'
      spinet run --chain 'dns [udp.dst_port == 53]: work' --chain 'rest: => network:0' --traffic dns.pcap \\
        --service 'work: delay, cycles=40, units=2, credits=4'
      spinet run --chain 'gold [udp.dst_port == 1]: aes' --chain 'rest: aes' --tenant 'gold: weight=2' \\
        --policy weighted-fair --traffic 'udp:size=1024,count=9000,rate=60G,dst_port=1' \\
        --traffic 'udp:size=1024,count=9000,rate=40G,dst_port=2'
      spinet run --nic panic --chain 'seal queues=0: aes' --send 'udp:size=512,count=1000,rate=10G'
      spinet nic services                      (engines of units)

    \b
    In the output folder:
      summary.json      the output of --json
      packets.parquet   one row per packet: times at each stage, cluster, core, instructions, verdict
      out.pcapng        packets that the card sent
      host/             written host memory, one file per region, and index.json
      experiment.json   the experiment with all defaults
      instructions/     with --trace-instructions: trace_core_CLUSTER_CORE.log, in the format of the RTL's tracer;
                        spinet diff-trace compares two of them
    With chains of offloads: summary.json, packets.parquet, hops.parquet (one row per visit to a service),
    network.pcapng and host.pcapng (packets that left), experiment.json.
    With a wired card: summary.json, frames.parquet (one row per frame: when it was given to the card, when it came
    out), sent.pcapng and received.pcapng (frames that came out at the network and at the host), instructions/.

    \b
    Exit codes: 0 the run ended; 1 with --strict: there are remarks; 2 bad input, or the run did not finish (with the
    reason on stderr); 130 interrupted by Ctrl-C, SIGTERM or SIGHUP: the results until then are printed and saved.
    Errors in the simulated world, such as a trap in a handler, are counted. They do not change the exit code without
    --strict. The summary begins with them, marked "!" ("remarks" in JSON; with --json, traps are on stderr too).
    """
    from spinet import _programs, api
    from spinet.output import OutputFolder

    given, experiment = _given(options)
    trace = _check(options)
    prepared = api.prepare(experiment, given, options=True)
    with contextlib.ExitStack() as stack:
        # Check the output folder first, so that its error appears before the run.
        folder = None
        if options["output"] is not None:
            folder = stack.enter_context(OutputFolder(options["output"], force=options["force"]))
        ready = _programs.built(prepared, given, cc=options["cc"], defines=parameters.macros(options["defines"]))
        if ready.messages:
            click.echo(ready.messages.rstrip("\n"), err=True)
        with parameters.progress_bar() as on_progress:
            summary = api.stream(
                ready,
                folder=folder.path if folder else None,
                trace=trace,
                on_progress=on_progress,
                on_console=_print_console,
            )
        if folder is not None:
            folder.commit()
    if options["as_json"]:
        click.echo(json.dumps(summary, indent=2))
        errors.warn(summary["remarks"])
    else:
        _print(prepared, summary, experiment)
        if folder is not None:
            click.echo(f"\nResults are in {options['output']}")
    return _strict(options["strict"], ends.exit_code(prepared.kind, summary), summary)


def _check(options: Mapping[str, Any]) -> api.InstructionTrace | None:
    """Check options that depend on each other; the instructions to trace."""
    from spinet import api

    if options["force"] and options["output"] is None:
        raise click.UsageError("--force goes with -o")
    is_limited = options["trace_cores"] or options["trace_time"]
    if is_limited and not options["trace_instructions"]:
        raise click.UsageError("--trace-cores and --trace-time go with --trace-instructions")
    if not options["trace_instructions"]:
        return None
    if options["output"] is None:
        raise click.UsageError("--trace-instructions goes with -o")
    return api.InstructionTrace(cores=options["trace_cores"], time=options["trace_time"])


def _given(options: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Keywords of `spinet.run` for a command line, and its experiment file."""
    from spinet import _kinds
    from spinet._core import UsageError

    program, nic = list(options["program"]), options["nic"]
    is_experiment = len(program) == 1 and program[0].endswith((".toml", ".json"))
    experiment = program[0] if is_experiment else None
    given = {**options, "faults": ",".join(options["faults"]) or None, "program": program}
    kind = _kinds.of(experiment, nic, has_chains=bool(options["chains"]))
    usual = {_kinds.HANDLERS: "pspin", _kinds.CHAINS: "panic"}.get(kind, "the card")
    subject = nic or experiment or usual
    if nic is None and experiment is None and kind == _kinds.HANDLERS:
        for name in ("services", "tenants", "policy"):
            if options[name]:
                raise click.UsageError(
                    f"{_kinds.option(name)} goes with --chain, for cards that run chains of offloads such as panic"
                )
    if experiment is not None or kind == _kinds.MODULES:
        del given["program"]
    if experiment is None and kind == _kinds.MODULES and program:
        if options["firmware"]:
            raise UsageError(f"firmware is named twice: {program[0]} and {options['firmware'][0]}")
        given["firmware"] = program
    _kinds.check(kind, subject, {**given, "program": None}, options=True)
    if kind == _kinds.CHAINS:
        _check_chains(options, experiment, nic or "panic", program)
    elif kind == _kinds.HANDLERS and not program:
        raise click.UsageError("there is no program: name a C file with handlers, or an experiment file")
    for name in program if kind == _kinds.HANDLERS else ():
        if name.endswith((".pcap", ".pcapng", ".cap")):
            raise click.UsageError(f"{name} is a capture, which --traffic names: spinet run HANDLER.c --traffic {name}")
    return given, experiment


def _check_chains(options: Mapping[str, Any], experiment: str | None, nic: str, program: list[str]) -> None:
    from spinet import _kinds
    from spinet._core import UsageError

    if experiment is None and program:
        raise UsageError(
            f"{program[0]}: {nic} runs chains of offloads, not handlers",
            hint=f"a core of it can: --service 'core: riscv, program={program[0]}' --chain 'all: core'",
        )
    for name in ("chains", "services", "tenants") if experiment is not None else ():
        if options[name]:
            option = _kinds.option(name)
            raise UsageError(f"{option} belongs into {experiment}", hint=f"write it there: [[{option[2:]}]]")


def _print(prepared: Experiment, summary: dict[str, Any], title: str | None) -> None:
    from spinet import _kinds

    if prepared.kind == _kinds.CHAINS:
        from spinet.cli import chain_report

        chains = (row["name"] for row in summary["chains"] if row["tenant"] is not None)
        chain_report.print_summary(summary, title=title or ", ".join(chains))
    elif prepared.kind == _kinds.MODULES:
        from spinet.cli import card_report

        card_report.print_summary(summary)
    else:
        from spinet.cli import run_report

        run_report.print_summary(summary, title=title or prepared.program_name())


def _print_console(time_ps: int, cluster: int, core: int, text: str) -> None:
    for line in parameters.visible(text).removesuffix("\n").split("\n"):
        click.echo(f"[{time_ps / 1000:.0f} ns, cluster {cluster} core {core}] {line}", err=True)


def _strict(is_strict: bool, code: int, summary: Mapping[str, Any]) -> int:
    """Exit code of a run that would end with `code`: with --strict, remarks are a failure too."""
    if code or not (is_strict and summary["remarks"]):
        return code
    first, more = summary["remarks"][0], len(summary["remarks"]) - 1
    errors.complain(f"--strict: {first['text']}" + (f"; and {more} more remarks" if more else ""))
    return errors.REMARKS
