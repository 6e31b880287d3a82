# SPDX-License-Identifier: Apache-2.0
"""`spinet profile`: shows where the cycles of a run went."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spinet.cli import parameters

if TYPE_CHECKING:
    from rich.table import Table

    from spinet.profile import Cost, Frame, Profile, Sources

_MOST_CAUSES = 3  # causes in a row of the table
_MOST_TEXT = 32  # letters of a line of source


@click.command(short_help="Show where the cycles of a run went.")
@click.argument("run", type=click.Path(), metavar="DIR", shell_complete=parameters.complete_files)
@click.option(
    "--by",
    type=click.Choice(["line", "chain", "function", "instruction"]),
    default="line",
    help="Rows: lines of handlers with all that is inlined there; each inlined line separately (chain); ...",
)
@click.option("--top", metavar="N", type=parameters.Whole(min=1), default=12, help="Number of rows. Default: 12.")
@click.option("--annotate", metavar="FUNCTION", help="Print the source of a function with the cycles of each line.")
@click.option("--instructions", is_flag=True, help="With --annotate: instructions under each line.")
@click.option("--callgrind", metavar="FILE", type=click.Path(), help="Write a file for KCachegrind.")
@click.option("--pprof", metavar="FILE", type=click.Path(), help="Write a file for pprof.")
@click.option("--folded", metavar="FILE", type=click.Path(), help="Write stacks for tools that draw flame graphs.")
@click.option("--flame", metavar="FILE.svg", type=click.Path(), help="Draw a flame graph.")
@parameters.json_option
def command(
    run: str,
    by: str,
    top: int,
    annotate: str | None,
    instructions: bool,
    callgrind: str | None,
    pprof: str | None,
    folded: str | None,
    flame: str | None,
    as_json: bool,
) -> int:
    """Show where the cycles of a run went: by source line, function or instruction, and by cause.

    DIR is the folder of a run with --profile. A cycle belongs to the instruction that is completed in it. If none is,
    the cycle is lost, and its cause is named. Executed instructions and lost cycles add up to the cycles of all cores.

    \b
    Examples:
      spinet run count.c --traffic udp:size=64,count=10000 --profile -o result
      spinet profile result
      spinet profile result --by chain --top 30
      spinet profile result --annotate count_ph --instructions
      spinet profile result --flame flame.svg --callgrind callgrind.out

    \b
    Causes of lost cycles, of handlers on PsPIN:
      load_use          the next instruction uses the result of a load
      branch            a taken branch, or a jump
      jump_register     a register jump waits for its register
      multiply, divider the upper half of a product; a division
      instruction_miss  the line of the instruction is not in the instruction cache
      fetch_alignment   the instruction straddles two lines of 16 bytes
      misaligned        an access across two words
      l1_bank           another access to the same bank of the own L1
      remote_l1         the L1 of another cluster
      l2_packet         L2 packet memory
      l2_handler        L2 handler memory
      amo               an atomic operation, wherever its word is
      command_issue     no room for another command
      command_wait      the end of a command
      dma               the cluster's DMA engine
      idle              a packet
      event, peripheral an event or an inter-core FIFO; other registers
      system            traps, fences and control registers
    docs/guides/profile.md has those of other cards.
    """
    from spinet import _files
    from spinet import profile as profiles
    from spinet._core import UsageError
    from spinet.cli import run_report
    from spinet.drawing import flame as drawing

    profile = profiles.Profile.load(run)
    if instructions and annotate is None:
        raise click.UsageError("--instructions goes with --annotate")
    if annotate is not None and annotate not in profile.functions():
        near = difflib.get_close_matches(annotate, list(profile.functions()), n=1)
        raise UsageError(f"the profile has no function {annotate}", hint=f"did you mean {near[0]}?" if near else "")
    title = f"{profile.cores} cores, {profile.total.busy:,} cycles without idle ones"
    files = {
        callgrind: lambda: profile.callgrind().encode(),
        pprof: profile.pprof,
        folded: lambda: profile.folded().encode(),
        flame: lambda: drawing.svg(profile.stacks(), title=title).encode(),
    }
    written: dict[str, Callable[[], bytes]] = {name: make for name, make in files.items() if name is not None}
    for name, make in written.items():
        _files.write(Path(name), make())
    if as_json:
        click.echo(profile.to_json(), nl=False)
    elif annotate is not None:
        _annotate(profile, annotate, instructions=instructions)
    elif not written:
        run_report.show(report(profile, by=by, top=top))
    for name in written:
        click.echo(f"Wrote {name}", err=as_json)
    return 0


def report(profile: Profile, *, by: str, top: int) -> Iterator[str | Table]:
    """The profile as blocks of text and tables."""
    from spinet import profile as profiles
    from spinet.cli import run_report

    total = profile.total
    cycles = total.cycles + profile.elsewhere
    idle = cycles - profile.elsewhere - total.busy
    yield (
        f"{profile.cores} cores, {cycles:,} cycles: {_share(idle, cycles)} idle; "
        f"of the rest {_share(total.executed, total.busy)} execute an instruction"
    )
    if total.causes:
        rows = [(cause, f"{lost:,}", _share(lost, total.busy)) for cause, lost in total.causes]
        bars = [lost / total.causes[0][1] for _, lost in total.causes]
        yield run_report.table("lost to", "cycles", "share", rows=rows, bars=bars)
    groups = _groups(profile, by)
    sources = profiles.Sources()
    shown = [
        (_name(key, sources), f"{cost.busy:,}", _share(cost.busy, total.busy), f"{cost.executed:,}", _causes(cost))
        for key, cost in list(groups.items())[:top]
        if cost.busy
    ]
    if shown:
        yield run_report.table(by, "cycles", "share", "executed", "lost to", rows=shown, kinds="wnnnw")
    if len(groups) > top:
        yield f"{len(groups) - top:,} more rows: --top {len(groups)}"


def _groups(profile: Profile, by: str) -> Mapping[Any, Cost]:
    if by == "function":
        return profile.functions()
    if by == "instruction":
        rows = sorted(profile.instructions, key=lambda one: (-one.cost.busy, one.address))
        return {(f"{one.address:#010x}", one.text, str(one.frames[0])): one.cost for one in rows}
    return profile.lines() if by == "line" else profile.chains()


def _name(key: str | tuple[str, ...] | tuple[Frame, ...], sources: Sources) -> str:
    """The name of a row; under a line of source, its text."""
    if isinstance(key, str):
        return key
    last = key[-1]
    if isinstance(last, str):
        return " ".join(map(str, key))
    text = sources.text(last).strip()
    name = " > ".join(map(str, key))
    return f"{name}\n  {text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 2] + '..'}" if text else name


def _causes(cost: Cost) -> str:
    return ", ".join(f"{cause} {lost:,}" for cause, lost in cost.causes[:_MOST_CAUSES])


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def _annotate(profile: Profile, function: str, *, instructions: bool) -> None:
    from spinet import profile as profiles

    last: Path | None = None
    busy = profile.functions()[function].busy
    for file, line, text, cost, of_line in profiles.annotated(profile, function):
        if file != last:
            name = file if file.name else "code without source lines"
            click.echo(f"{'' if last is None else chr(10)}{name}\n{'cycles':>12} {'share':>7}  line")
            last = file
        share = _share(cost.busy, busy)
        click.echo(f"{cost.busy:>12,} {share:>7}  {line:>4}  {text.rstrip():60}  {_causes(cost)}".rstrip())
        for one in of_line if instructions else ():
            place = f"{one.address:#010x}  {one.text:32}"
            click.echo(f"{one.cost.busy:>12,} {'':7}        {place}  {_causes(one.cost)}".rstrip())
