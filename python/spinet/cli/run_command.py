# SPDX-License-Identifier: Apache-2.0
"""`spinet run`: handlers, traffic and a card in; what came of every packet out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from spinet.cli import errors, parameters


@click.command(short_help="Run handlers on a card.")
@click.argument("program", nargs=-1, type=click.Path(), metavar="[HANDLER.c... | EXPERIMENT.toml]")
@click.option(
    "-t",
    "--traffic",
    "traffics",
    multiple=True,
    metavar="CAPTURE|SPEC",
    help="Packets for the card: a pcap or pcapng file, or a generator such as 'udp:size=64,count=1000,rate=400G'.",
    shell_complete=parameters.complete_files,
)
@click.option("-m", "--match", metavar="EXPR", help="Which packets the handlers get. Default: all.")
@click.option(
    "--message",
    metavar="SPEC",
    help="Which packets are one message, and what ends it. Default: each, every packet its own.",
)
@click.option(
    "--handler", metavar="NAME", help="Which handlers, if the program has several: NAME_hh, NAME_ph, NAME_th."
)
@click.option(
    "--handler-memory",
    metavar="FILE",
    help="What stands in the handlers' L2 memory before the first packet. Default: zeros.",
    shell_complete=parameters.complete_files,
)
@click.option("--nic", metavar="NAME|FILE", help="The card. Default: pspin.", shell_complete=parameters.complete_nics)
@click.option(
    "--firmware",
    metavar="NAME|FILE",
    multiple=True,
    help="For a card that is wired from modules: firmware that comes with spinet, sources, an ELF file or an image.",
    shell_complete=parameters.complete_files,
)
@click.option("--load", metavar="ADDRESS", type=parameters.ADDRESS, help="Where an image without a header is loaded.")
@click.option(
    "--entry", metavar="ADDRESS", type=parameters.ADDRESS, help="Where it begins. Default: where it is loaded."
)
@click.option(
    "--chain",
    "chains",
    metavar="SPEC",
    multiple=True,
    help="For a card that runs chains of offloads: 'NAME [EXPR]: SERVICE -> SERVICE => EXIT'; may be repeated.",
)
@click.option(
    "--service",
    "services",
    metavar="SPEC",
    multiple=True,
    help="A service there: 'NAME: ENGINE, units=2, credits=2', or what differs from the card's file: 'NAME: units=4'.",
)
@click.option(
    "--tenant",
    "shares",
    metavar="SPEC",
    multiple=True,
    help="A tenant there: 'NAME: weight=2, priority=0'. Default: every chain is one.",
)
@click.option(
    "--policy",
    metavar="NAME",
    help="Who goes next at services: fifo, strict-priority, weighted-fair, round-robin, least-slack, leaky-bucket.",
)
@click.option(
    "--send",
    "sends",
    metavar="CAPTURE|SPEC",
    multiple=True,
    help="For a card with a host: what that sends, as --traffic says it; for a transmit queue of panic 'QUEUE=SPEC'.",
)
@click.option(
    "--set",
    "sets",
    metavar="PATH=VALUE",
    multiple=True,
    help="Change a parameter of the card; may be repeated.",
    shell_complete=parameters.complete_sets,
)
@click.option(
    "--pace",
    metavar="HOW",
    help="When packets come: times (of the capture), times:0.5 (twice as fast), line:400G, asap.",
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
    help="End the run after so much simulated time, such as '10 ms'. Default for cards with a host: 40 ms, with an "
    "image 400 ms.",
)
@click.option(
    "--fault",
    "faults",
    metavar="KIND=CHANCE",
    multiple=True,
    help="What the network does to packets: loss=0.01, duplicate=0.001, reorder=0.02:8 (late, by up to 8).",
)
@click.option("--seed", metavar="N", type=parameters.Whole(min=0), help="Decides everything random. Default: 1.")
@click.option(
    "-o", "--output", metavar="DIR", type=click.Path(path_type=Path), help="Write all results into a new folder."
)
@click.option("--force", is_flag=True, help="With -o: replace the folder of an earlier run.")
@click.option("--trace-instructions", is_flag=True, help="With -o: write down every instruction, one file a core.")
@click.option("--trace-cores", metavar="LIST", help="Only of these cores, CLUSTER:CORE, such as 0:3,1:*.")
@click.option("--trace-time", metavar="FROM..TO", help="Only in this simulated time, such as '1 us..2 us'.")
@click.option("--cc", metavar="COMMAND", help="Another RISC-V gcc or clang than the compiler that came with spinet.")
@click.option("-D", "defines", metavar="NAME[=VALUE]", multiple=True, help="Define a macro for the handlers.")
@parameters.json_option
def command(
    program: tuple[str, ...],
    traffics: tuple[str, ...],
    match: str | None,
    message: str | None,
    handler: str | None,
    handler_memory: str | None,
    nic: str | None,
    firmware: tuple[str, ...],
    load: int | None,
    entry: int | None,
    chains: tuple[str, ...],
    services: tuple[str, ...],
    shares: tuple[str, ...],
    policy: str | None,
    sends: tuple[str, ...],
    sets: tuple[str, ...],
    pace: str | None,
    count: int | None,
    limit: str | None,
    faults: tuple[str, ...],
    seed: int | None,
    output: Path | None,
    force: bool,
    trace_instructions: bool,
    trace_cores: str | None,
    trace_time: str | None,
    cc: str | None,
    defines: tuple[str, ...],
    as_json: bool,
) -> int:
    """Run handlers written in C on a simulated card, and say what came of every packet.

    The sources are compiled and linked into one program. A file that ends in .toml or .json is an experiment, which can
    say everything that options say, and have several sets of handlers; an ELF file is run as it is.

    \b
    Examples:
      spinet run ping_pong.c --traffic dns.pcap
      spinet run ping_pong.c --traffic dns.pcap --match 'udp.dst_port == 53' -o result
      spinet run count.c --traffic 'udp:size=imix,count=10000,rate=400G' --message 'by 5-tuple'
      spinet run ping_pong.c --traffic dns.pcap --pace asap --set cluster.n_cores=4
      spinet run experiment.toml --json
      spinet run result/experiment.json        (the experiment of an earlier run)

    A card that is wired from modules has firmware and a host instead of handlers; --traffic is what comes from the
    network, --send what its host sends: captures, generators, or 'datagrams:bytes=1472' (endless, every frame checked).

    \b
      spinet run --nic tigon2 --traffic datagrams: --send datagrams: --limit '60 ms'
      spinet run --nic tigon2 --firmware tg2.bin --traffic dns.pcap
      spinet run --nic tigon2 --firmware tigon2 -D SPLIT --send datagrams:bytes=18
      spinet run --nic tigon2 --traffic datagrams: --send tcp-ack --limit '60 ms' -o result
      spinet run --nic my_nic.toml --firmware my_firmware.c --traffic datagrams:count=100

    A card that runs chains of offloads, such as panic, has services with units, and chains that take packets through
    them; tenants share them by a policy. An experiment file says all this and more: [[service]], [[chain]], [[tenant]].

    \b
      spinet run --nic panic --chain 'ipsec: sha -> aes' --traffic 'udp:size=1472,count=10000,rate=30G'
      spinet run --chain 'dns [udp.dst_port == 53]: work' --chain 'rest: => network:0' --traffic dns.pcap \\
        --service 'work: delay, cycles=40, units=2, credits=4'
      spinet run --chain 'gold [udp.dst_port == 1]: aes' --chain 'rest: aes' --tenant 'gold: weight=2' \\
        --policy weighted-fair --traffic 'udp:size=1024,count=9000,rate=60G,dst_port=1' \\
        --traffic 'udp:size=1024,count=9000,rate=40G,dst_port=2'
      spinet run --nic panic --chain 'seal queues=0: aes' --send 'udp:size=512,count=1000,rate=10G'
      spinet nic services                      (what units can be)

    \b
    In the output folder:
      summary.json      what --json prints
      packets.parquet   one row a packet: times at every stage, cluster, core, instructions, verdict
      out.pcapng        packets that the card sent
      host/             what was written to host memory, one file a region, and index.json
      experiment.json   the experiment with every default spelled out
      instructions/     with --trace-instructions: trace_core_CLUSTER_CORE.log, as the RTL's tracer writes it;
                        spinet diff-trace compares two of them
    Of a card that runs chains of offloads: summary.json, packets.parquet, hops.parquet (one row a visit of a service),
    network.pcapng and host.pcapng (what left, with real bytes), experiment.json.
    Of a card that is wired from modules: summary.json, frames.parquet (one row a frame: when it was given to the card,
    when it came out), sent.pcapng and received.pcapng (what came out at the network and at the host).

    \b
    Exit codes: 0 the run ended; 2 bad input, or the run did not finish (stderr says why); 130 stopped.
    What goes wrong in the simulated world, such as a handler that traps, is counted and changes no exit code: the
    summary begins with it, marked "!" ("remarks" in JSON; with --json, stderr tells of traps too).
    """
    from spinet import api, experiment
    from spinet.cli import card_run, chain_run, kinds
    from spinet.output import OutputFolder

    if force and output is None:
        raise click.UsageError("--force goes with -o")
    kind = kinds.of(program, nic, chains)
    of_chains = {"--chain": chains, "--service": services, "--tenant": shares, "--policy": policy}
    if nic is None and kind == kinds.HANDLERS and not chains:
        for option, value in of_chains.items():
            if value:
                raise click.UsageError(
                    f"{option} goes with --chain, for cards that run chains of offloads such as panic"
                )
    of_handlers = {
        "--match": match,
        "--message": message,
        "--handler": handler,
        "--handler-memory": handler_memory,
        "--trace-instructions": trace_instructions,
        "--trace-cores": trace_cores,
        "--trace-time": trace_time,
    }
    of_modules = {"--firmware": firmware, "--load": load is not None, "--entry": entry is not None}
    others = {"--send": sends, "--pace": pace, "--count": count, "--fault": faults}
    subject = nic or (program[0] if kinds.is_experiment(program) else {kinds.CHAINS: "panic"}.get(kind, "pspin"))
    kinds.check(kind, subject, {**of_chains, **of_handlers, **of_modules, **others})
    if kind == kinds.CHAINS:
        return chain_run.command(
            chain_run.Wanted(
                program=program,
                nic=nic,
                chains=chains,
                services=services,
                tenants=shares,
                policy=policy,
                traffic=traffics,
                send=sends,
                pace=pace,
                count=count,
                sets=sets,
                faults=faults,
                limit=limit,
                seed=seed,
                cc=cc,
                defines=parameters.macros(defines),
                output=output,
                force=force,
                as_json=as_json,
            )
        )
    for option, values in {"--traffic": traffics, "--send": sends}.items():
        if len(values) > 1:
            raise click.UsageError(f"{option} may be repeated only for cards that run chains of offloads such as panic")
    for name in program:
        if name.endswith((".pcap", ".pcapng", ".cap")):
            raise click.UsageError(f"{name} is a capture, which --traffic names: spinet run HANDLER.c --traffic {name}")
    traffic = traffics[0] if traffics else None
    if kind == kinds.MODULES:
        assert nic is not None
        return card_run.command(
            nic,
            card_run.Wanted(
                program=program,
                firmware=firmware,
                load=load,
                entry=entry,
                traffic=traffic,
                send=sends[0] if sends else None,
                sets=sets,
                limit=limit,
                seed=seed,
                cc=cc,
                defines=parameters.macros(defines),
                output=output,
                force=force,
                as_json=as_json,
            ),
        )
    if not program:
        raise click.UsageError("there is no program: name a C file with handlers, or an experiment file")
    if trace_instructions and output is None:
        raise click.UsageError("--trace-instructions goes with -o")
    if (trace_cores or trace_time) and not trace_instructions:
        raise click.UsageError("--trace-cores and --trace-time go with --trace-instructions")
    is_file = kinds.is_experiment(program)
    prepared = api.prepare(
        program=None if is_file else program,
        traffic=traffic,
        experiment_file=program[0] if is_file else None,
        match=match,
        message=message,
        handler=handler,
        handler_memory=handler_memory,
        overrides=api.overrides(
            nic=nic, set=sets, seed=seed, faults=",".join(faults) or None, pacing=pace, count=count, limit=limit
        ),
    )
    try:
        with contextlib.ExitStack() as stack:
            # First of all: an output folder that cannot be is told before minutes are spent.
            folder = stack.enter_context(OutputFolder(output, force=force)) if output is not None else None
            build = experiment.compiled(prepared, cc=cc, defines=parameters.macros(defines))
            tenants = experiment.compiled_tenants(prepared, first=build, cc=cc, defines=parameters.macros(defines))
            if build is not None and build.messages:
                click.echo(build.messages.rstrip("\n"), err=True)
            with parameters.progress_bar() as on_progress:
                summary = api.stream(
                    prepared,
                    build=build,
                    tenants=tenants,
                    folder=folder.path if folder else None,
                    trace=api.InstructionTrace(cores=trace_cores, time=trace_time) if trace_instructions else None,
                    on_progress=on_progress,
                    on_console=_print_console,
                )
            if folder is not None:
                folder.commit()
    except api.Interrupted as stopped:
        return _stopped(stopped.summary)
    _print_summary(summary, title=program[0] if is_file else prepared.program_name(), output=output, as_json=as_json)
    return _exit_code(summary)


def _print_console(time_ps: int, cluster: int, core: int, text: str) -> None:
    for line in parameters.visible(text).removesuffix("\n").split("\n"):
        click.echo(f"[{time_ps / 1000:.0f} ns, cluster {cluster} core {core}] {line}", err=True)


def _print_summary(summary: dict[str, Any], *, title: str, output: Path | None, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(summary, indent=2))
        errors.warn(summary["remarks"])
        return
    from spinet.cli import run_report

    run_report.print_summary(summary, title=title)
    if output is not None:
        click.echo(f"\nResults are in {output}")


def _exit_code(summary: dict[str, Any]) -> int:
    ended = summary["ended"]
    # A limit at which nothing was under way is what was asked for.
    if ended["reason"] == "complete" or (ended["reason"] == "limit" and ended["unfinished_packets"] == 0):
        return 0
    # The text tells of one core; several are listed.
    where = _busy_cores(ended["cores"]) if len(ended["cores"]) > 1 else ""
    errors.complain(f"the run did not finish: {ended['text']}{where}", hint=_hint(ended["reason"]))
    return errors.UNFINISHED


def _busy_cores(cores: list[dict[str, Any]]) -> str:
    """A line for each of the first cores that have something to do."""
    where = [
        f"\n  cluster {core['cluster']} core {core['core']}: {core['place'] or core['pc']}, {core['waiting_for']}"
        for core in cores[:8]
    ]
    return "".join(where) + (f"\n  and {len(cores) - 8} more cores" if len(cores) > 8 else "")


def _stopped(summary: Mapping[str, Any]) -> int:
    from spinet.cli import run_report

    time, ended = run_report.duration(summary["time"]["simulated_ns"]), summary["ended"]
    click.echo(
        f"stopped at {time} of simulated time, {ended['unfinished_packets']:,} packets being under way; "
        f"nothing was written{_busy_cores(ended['cores'])}",
        err=True,
    )
    return errors.INTERRUPTED


def _hint(reason: str) -> str:
    return {
        "limit": "give it more simulated time with --limit, or look for a loop where the cores are",
        "stalled": "nothing moved any more: a handler loops, or waits for something that does not come",
        "not_ready": "the program did not tell the card that it is ready: is it built with spinet's runtime?",
    }.get(reason, "")
