# SPDX-License-Identifier: Apache-2.0
"""`spinet run`: runs handlers on traffic and reports what happened to each packet."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import io
import json
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spinet._options import OPTIONS
from spinet.cli import ends, errors, parameters

if TYPE_CHECKING:
    from spinet import _mpi, api
    from spinet.profile import Profile


def all_options(*, without: Collection[str] = ()) -> Callable[[Any], Any]:
    """Add the options of `spinet run` to a command, without those of these keywords."""

    def add(command: Any) -> Any:
        for name, known in reversed(list(OPTIONS.items())):
            if known.flags and name not in without:
                command = parameters.option(name)(command)
        return command

    return add


@click.command(cls=parameters.CommandOfKinds, short_help="Run handlers on a card.")
@click.argument("program", nargs=-1, type=click.Path(), metavar="[HANDLER.c... | EXPERIMENT.toml]")
@all_options()
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
      tcpdump -i eth0 -w - | spinet run ping_pong.c --traffic - --out - | tshark -r -

    A wired card runs firmware and has a host instead of handlers. --traffic comes from the network, and --send from its
    host: captures, generators, or 'udp:size=1514,payload=numbered' (endless, every frame checked).

    \b
      spinet run --nic tigon2 --traffic udp:payload=numbered --send udp:payload=numbered --limit '60 ms'
      spinet run --nic tigon2 --firmware tg2.bin --traffic dns.pcap --set host.promiscuous=true
      spinet run --nic tigon2 --firmware tigon2 -D SPLIT --send udp:size=60,payload=numbered
      spinet run --nic tigon2 --traffic udp:payload=numbered --send tcp-ack --limit '60 ms' -o result
      spinet run --nic my_nic.toml --firmware my_firmware.c --traffic udp:payload=numbered,count=100

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
      profile.json      with --profile: where the cycles of the cores went; spinet profile shows it
      paths.parquet     with --paths: what each packet waited for; spinet explain shows it
      timeline.perfetto-trace   with --timeline timeline.perfetto-trace: for ui.perfetto.dev
      waves.vcd, waves.fst   with --waves waves.vcd or --waves waves.fst: for viewers of waveforms
      dropped.pcapng    with --capture-drops: packets that the card dropped, each with the reason
      findings.json     with --check: mistakes of the program in the use of memory
      report.html       with --report: charts of all of this; spinet report makes it, too
      instructions/     with --trace-instructions: trace_core_CLUSTER_CORE.log, in the format of the RTL's tracer;
                        spinet diff-trace compares two of them
    With chains of offloads: summary.json, packets.parquet, hops.parquet (one row per visit to a service),
    network.pcapng and host.pcapng (packets that left), experiment.json.
    With a network: summary.json, frames.parquet (one row per event of a frame), and a folder nodes/NAME/ for each
    node whose card was simulated. It is like the folder of a single card's run: spinet report, profile and explain
    read it.
    With a wired card: summary.json, frames.parquet (one row per frame: when it was given to the card, when it came
    out), sent.pcapng and received.pcapng (frames that came out at the network and at the host), instructions/.

    \b
    Exit codes: 0 the run ended; 1 with --strict: there are remarks; 2 bad input, or the run did not finish (with the
    reason on stderr); 130 interrupted by Ctrl-C, SIGTERM or SIGHUP: the results until then are printed and saved.
    Errors in the simulated world, such as a trap in a handler, are counted. They do not change the exit code without
    --strict. The summary begins with them, marked "!" ("remarks" in JSON; with --json, traps are on stderr too).
    """
    return simulate(options)


def simulate(
    options: dict[str, Any],
    *,
    debug_port: int | None = None,
    on_ready: Callable[[api.Ready], None] | None = None,
    on_listen: Callable[[int], None] | None = None,
) -> int:
    """Run with these options of the command, print the report, and return the exit code.

    Parameters
    ----------
    debug_port
        Let gdb debug the run, at this TCP port.
    on_ready
        Called with the programs before the run.
    on_listen
        Called with the port when gdb can connect.
    """
    from spinet import _mpi

    if debug_port is not None and options["check"]:
        raise click.UsageError("--check does not go with spinet debug: both observe the cores")
    world = _mpi.join()
    if world is None:
        return _simulate(options, debug_port=debug_port, on_ready=on_ready, on_listen=on_listen)
    with world.watching():
        try:
            code = _simulate(options, world=world)
        except BaseException as error:
            # The first process reports the errors of all. A process that fails alone reports its own error.
            if world.is_first:
                return world.leave(errors.report(error), has_failed=True)
            with contextlib.redirect_stderr(io.StringIO()) as text:
                code = errors.report(error)
            return world.leave(code, has_failed=True, text=text.getvalue())
        return world.leave(code, has_failed=False)


def _simulate(
    options: dict[str, Any],
    *,
    debug_port: int | None = None,
    on_ready: Callable[[api.Ready], None] | None = None,
    on_listen: Callable[[int], None] | None = None,
    world: _mpi.World | None = None,
) -> int:
    from spinet import _kinds, _programs, api, report
    from spinet._core import UsageError
    from spinet.output import OutputFile, OutputFolder

    is_first = world is None or world.is_first
    with contextlib.ExitStack() as stack:
        if options["out"] == "-":
            stack.enter_context(_report_on_stderr())
        given, experiment = keywords(options)
        trace = _check(options)

        def make() -> tuple[api.Ready, OutputFolder | None]:
            prepared = api.prepare(experiment, given, options=True)
            has_nodes = _kinds.get(prepared.kind).has_nodes
            if options["profile"] and options["output"] is None and has_nodes:
                raise UsageError("--profile of a network needs -o: profiles are written to nodes/NAME/profile.json")
            if world is not None and not has_nodes:
                raise UsageError(
                    f"mpiexec started {world.size} processes; only networks run on several",
                    hint="run it without mpiexec",
                )
            # Check the output folder first, so that its error appears before the run.
            folder = None
            if options["output"] is not None and is_first:
                folder = stack.enter_context(OutputFolder(options["output"], force=options["force"]))
            if options["report"]:
                report.check()
            macros = parameters.macros(options["defines"])
            return _programs.built(prepared, given, cc=options["cc"], defines=macros), folder

        ready, folder = make() if world is None else world.together(make)
        if world is not None:
            ready = dataclasses.replace(ready, peers=(world.rank, world.size, world.exchange))
        kind = _kinds.get(ready.experiment.kind)
        inside = folder.path if folder else None
        timeline = api.Timeline.of(options["timeline"], options["waves"], options["timeline_only"], inside)
        files: list[OutputFile] = []
        if timeline is not None and is_first:
            timeline.check(folder=inside, force=options["force"])
            if world is None:  # several processes write pieces beside the files
                timeline, files = timeline.partial(folder=inside)
        sent = options["out"]
        if sent is not None and sent != "-" and not OutputFile.is_streamed(Path(sent)):
            files.append(OutputFile(Path(sent)))
            sent = str(files[-1].path)
        for file in files:
            stack.enter_context(file)
        if ready.messages and is_first:
            click.echo(ready.messages.rstrip("\n"), err=True)
        if on_ready is not None:
            on_ready(ready)
        profiles: list[Profile | None] = []
        bar = parameters.progress_bar() if debug_port is None and is_first else contextlib.nullcontext()
        with bar as on_progress:
            summary = api.stream(
                ready,
                folder=inside,
                tables=options["output"] is not None,
                trace=trace,
                profile=options["profile"],
                paths=options["paths"],
                timeline=timeline,
                capture_drops=options["capture_drops"],
                sent=sent,
                check=options["check"],
                on_profile=profiles.append,
                on_progress=on_progress,
                on_console=print_console,
                debug_port=debug_port,
                on_listen=on_listen,
            )
        if not is_first:
            return 0
        if folder is not None:
            if options["report"]:
                report.write(folder.path)
            folder.commit()
        for file in files:
            file.commit()
        if profiles == [None] and options["profile"]:
            click.echo("no profile: no core of this card runs a program", err=True)
        if options["as_json"]:
            click.echo(json.dumps(summary, indent=2))
            errors.warn(summary["remarks"])
        else:
            kind.print_summary(ready.experiment, summary, experiment)
            _print_profile(*profiles)
            if folder is not None:
                click.echo(f"\nResults are in {options['output']}")
                if options["report"]:
                    click.echo(f"The report is {Path(options['output']) / report.NAME}")
            for name, what in (("timeline", "timeline is"), ("waves", "waveforms are in")):
                if options[name] is not None:
                    place = api.Timeline.place(options[name], Path(options["output"]) if folder else None)
                    click.echo(f"The {what} {place}")
    return strict(options["strict"], ends.exit_code(kind.name, summary), summary)


@contextlib.contextmanager
def _report_on_stderr() -> Iterator[None]:
    """Stdout is for packets. If the reader of the pipe has closed it, the run ends as other programs in a pipe do."""
    from spinet._core import InputError, UsageError

    if sys.stdout.isatty():
        raise UsageError(
            "--out - writes a capture to stdout, which is a terminal; pipe it into a program such as tshark"
        )
    with contextlib.redirect_stdout(sys.stderr):
        try:
            yield
        except InputError as error:
            if str(error).startswith("stdout: ") and os.strerror(errno.EPIPE) in str(error):
                raise BrokenPipeError from error
            raise


def _print_profile(profile: Profile | None = None) -> None:
    from spinet.cli import profile_command, run_report

    if profile is not None:
        click.echo()
        run_report.show(profile_command.report(profile, by="line", top=8))


def _check(options: Mapping[str, Any]) -> api.InstructionTrace | None:
    """Check options that depend on each other; the instructions to trace."""
    from spinet import api

    check_output(options)
    if options["capture_drops"] and options["output"] is None:
        raise click.UsageError("--capture-drops goes with -o")
    if options["timeline_only"] and options["timeline"] is None and options["waves"] is None:
        raise click.UsageError("--timeline-only goes with --timeline or --waves")
    is_limited = options["trace_cores"] or options["trace_time"]
    if is_limited and not options["trace_instructions"]:
        raise click.UsageError("--trace-cores and --trace-time go with --trace-instructions")
    if not options["trace_instructions"]:
        return None
    if options["output"] is None:
        raise click.UsageError("--trace-instructions goes with -o")
    return api.InstructionTrace(cores=options["trace_cores"], time=options["trace_time"])


def check_output(options: Mapping[str, Any]) -> None:
    """Refuse options that need an output folder if none is given."""
    if options["paths"] and options["output"] is None:
        raise click.UsageError("--paths goes with -o: spinet explain reads what it writes")
    if options["report"] and options["output"] is None:
        raise click.UsageError("--report goes with -o")
    if options["force"] and not any(options.get(name) for name in ("output", "timeline", "waves")):
        raise click.UsageError("--force goes with -o, --timeline or --waves")


def keywords(options: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Keywords of `spinet.run` for a command line, and its experiment file."""
    from spinet import _kinds
    from spinet._core import UsageError

    program, nic = list(options["program"]), options["nic"]
    experiment = program[0] if len(program) == 1 and parameters.is_experiment(program[0]) else None
    given = {**options, "faults": ",".join(options["faults"]) or None, "program": program}
    given["profile"] = options["profile"] or None
    given["paths"] = options["paths"] or None
    given["check"] = options["check"] or None
    given["capture_drops"] = options["capture_drops"] or None
    kind = _kinds.of(experiment, nic, has_chains=bool(options["chains"]))
    subject = nic or experiment or _kinds.get(kind).usual
    if experiment is not None:
        del given["program"]
    elif program and _kinds.has("firmware", kind):
        if options["firmware"]:
            raise UsageError(f"firmware is named twice: {program[0]} and {options['firmware'][0]}")
        del given["program"]
        given["firmware"] = program
    _kinds.check(kind, subject, {**given, "program": None}, options=True)
    _kinds.get(kind).check_command(options, experiment, nic, program)
    return given, experiment


def print_console(time_ps: int, cluster: int, core: int, text: str) -> None:
    """Print a line of a program on stderr."""
    for line in parameters.visible(text).removesuffix("\n").split("\n"):
        click.echo(f"[{time_ps / 1000:.0f} ns, cluster {cluster} core {core}] {line}", err=True)


def strict(is_strict: bool, code: int, summary: Mapping[str, Any]) -> int:
    """Exit code of a run that would end with `code`: with --strict, remarks are a failure too."""
    if code or not (is_strict and summary["remarks"]):
        return code
    first, more = summary["remarks"][0], len(summary["remarks"]) - 1
    errors.complain(f"--strict: {first['text']}" + (f"; and {more} more remarks" if more else ""))
    return errors.REMARKS
