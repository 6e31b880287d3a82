# SPDX-License-Identifier: Apache-2.0
"""Shared by several commands: options, completion of values, the progress bar."""

from __future__ import annotations

import contextlib
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from spinet._options import ALL, OPTIONS, in_terms_of_options
from spinet.cli import errors

if TYPE_CHECKING:
    from spinet._core import Progress
    from spinet.api import OnProgress

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for programs instead of text for people."
)


jobs_option = click.option(
    "-j", "--jobs", metavar="N", type=click.IntRange(min=1), help="Number of processes. Default: one per core."
)
scheduler_option = click.option(
    "--scheduler", metavar="ADDRESS", help="Use the workers of this Dask scheduler, such as tcp://host:8786."
)


class Whole(click.IntRange):
    """A whole number that the simulator can hold: up to 64 bits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read it."""
        number = super().convert(value, param, ctx)
        if number >= 1 << 64:
            self.fail(f"{number} is too large, must be below 2^64", param, ctx)
        return number


class _Address(click.ParamType[int]):
    """A number, decimal or hexadecimal."""

    name = "address"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        if isinstance(value, int):
            return value
        try:
            number = int(str(value), 0)
        except ValueError:
            number = -1
        if not 0 <= number < 1 << 32:
            self.fail(f"{value} is not an address: a number below 2^32 such as 0x4000", param, ctx)
        return number


ADDRESS = _Address()


def complete_files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete file names."""
    return [CompletionItem(incomplete, type="file")]


def complete_nics(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of cards. Paths of files are also allowed."""
    from spinet import _core

    known = [CompletionItem(name, help=about) for name, about in _core.nic_list() if name.startswith(incomplete)]
    return known or [CompletionItem(incomplete, type="file")]


def complete_sets(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`PATH=VALUE` for every parameter of the card on the command line, with its present value."""
    from spinet import SpinetError

    nic = context.params.get("nic")
    if nic is None and any(
        isinstance(known, click.Argument) and known.name == "nic" for known in context.command.params
    ):
        # In an incomplete line, click has not assigned arguments to their names.
        nic = next(iter(context.args), None)
    try:
        offered = [f"{path}={_shown(value)}" for path, value in settings(nic or "pspin")]
    except SpinetError:  # there is no such card; the command itself reports it
        return []
    return [CompletionItem(setting) for setting in offered if setting.startswith(incomplete)]


def settings(nic: str) -> list[tuple[str, Any]]:
    """Parameters of a card by the paths that `--set` accepts, with their values."""
    from spinet import _core, wiring

    if _core.kind_of_nic(nic) != "modules":
        return list(_leaves(tomllib.loads(_core.nic_show(nic, [], ".")), ""))
    design = wiring.design(nic).json
    parts = {part["path"].partition("[")[0]: part["parameters"] for part in design["parts"] if "." not in part["path"]}
    return list(_leaves({**design["parameters"], "clocks": design["clocks"], **parts}, ""))


def _leaves(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """All values by path, except tables; tables in lists are named."""
    for key, value in table.items():
        path = f"{prefix}{key}"
        if isinstance(value, list):
            value = {item["name"]: item for item in value if isinstance(item, Mapping) and "name" in item}
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path}.")
        else:
            yield path, value


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


_COMPLETE = {"files": complete_files, "nics": complete_nics, "sets": complete_sets}


def option(name: str, *, dest: str | None = None, **other: Any) -> Callable[[Any], Any]:
    """The option of this name as `spinet.run` has it; `other` replaces properties that differ in this command."""
    known = OPTIONS[name]
    types: dict[str, Any] = {
        "address": ADDRESS,
        "folder": click.Path(path_type=Path),
        "positive": Whole(min=1),
        "unsigned": Whole(min=0),
    }
    more: dict[str, Any] = {"help": known.help, "metavar": known.metavar, "multiple": known.multiple}
    if known.value == "flag":
        more = {"help": known.help, "is_flag": True}
    elif known.value in types:
        more["type"] = types[known.value]
    if known.completes is not None:
        more["shell_complete"] = _COMPLETE[known.completes]
    return click.option(*known.flags, dest or name, **{**more, **other})


def is_experiment(name: str) -> bool:
    """Returns true if a program's name is that of an experiment file."""
    return name.endswith((".toml", ".json"))


class Subcommands(click.Group):
    """A command with commands of its own."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the named command; the error for an unknown name suggests a similar one."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            raise errors.NoSuchCommand(args[0], list(self.commands), of=ctx.command_path)
        return super().resolve_command(ctx, args)


class NamingCommand(click.Command):
    """A command whose errors name its options. The simulator's errors name keys of experiments, not options."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from spinet._core import InputError, UsageError

        try:
            return super().invoke(ctx)
        except InputError as error:
            if type(error) not in (InputError, UsageError):  # others, such as those of a compiler, name no keys
                raise
            text = in_terms_of_options(str(error), self._given(ctx), file=self._file(ctx))
            if text == str(error):
                raise
            raise UsageError(text, hint=getattr(error, "hint", "")) from error

    def _given(self, ctx: click.Context) -> dict[str, Any]:
        """Values of all options: shared ones by their keyword, options of this command alone by their name."""
        names = {known.flags[-1]: name for name, known in OPTIONS.items() if known.flags}
        options = [each for each in self.params if isinstance(each, click.Option)]
        keywords = ((next((names[flag] for flag in each.opts if flag in names), each.name), each) for each in options)
        return {keyword or "": ctx.params.get(each.name or "") for keyword, each in keywords}

    def _file(self, ctx: click.Context) -> str | None:
        program: Sequence[str] = ctx.params.get("program") or ()
        return program[0] if len(program) == 1 and is_experiment(str(program[0])) else None


class CommandOfKinds(NamingCommand):
    """A command whose help page lists options by the kinds of card that have them."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """One list for all cards, then one for each kind."""
        from spinet import _kinds

        lists: dict[tuple[str, ...], list[tuple[str, str]]] = {ALL: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                known = OPTIONS.get(parameter.name or "")
                lists.setdefault(known.kinds if known else ALL, []).append(record)
        for kinds, records in lists.items():
            with formatter.section("Options" if kinds == ALL else f"Options for {_kinds.who(kinds)}"):
                formatter.write_dl(records)


def macros(definitions: Sequence[str]) -> dict[str, str | int]:
    """`NAME=VALUE` texts as a mapping; a name alone has no value."""
    from spinet._arguments import MACRO

    for text in definitions:
        if not MACRO.fullmatch(text.partition("=")[0]):
            raise click.UsageError(f"-D {text}: must begin with a C identifier, such as -D SIZE=64")
    return {name: value for name, _, value in (text.partition("=") for text in definitions)}


def visible(text: str) -> str:
    """Text of a simulated program, safe for a terminal: control characters except tabs and line ends are escaped.

    >>> visible("\\x1b[2Jall clear\\n")
    '\\\\x1b[2Jall clear\\n'
    """
    plain = (c if c.isprintable() or c in "\t\n" else c.encode("unicode_escape").decode() for c in text)
    return "".join(plain)


def print_output(text: str) -> None:
    """Print the output of a program: unchanged into a file or pipe, `visible` on a terminal."""
    ended = text if text.endswith("\n") else f"{text}\n"
    # Write directly, because click removes colours from the text.
    sys.stdout.write(visible(ended) if sys.stdout.isatty() else ended)
    sys.stdout.flush()


@contextlib.contextmanager
def count_bar(total: int, what: str) -> Iterator[Callable[[str], None] | None]:
    """A counting progress bar on stderr, updated with the name of the finished item; None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(what),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=total, last="")
        yield lambda name: bar.update(task, advance=1, last=name)


@contextlib.contextmanager
def progress_bar() -> Iterator[OnProgress | None]:
    """A progress bar on stderr; None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        TextColumn("simulating"),
        BarColumn(),
        TextColumn("{task.fields[packets]}"),
        TextColumn("{task.fields[simulated]}"),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("", total=None, packets="", simulated="")

    def show(progress: Progress) -> None:
        if progress["done"]:
            return
        bar.start()  # does nothing when called again; a run of one slice shows no bar
        total = progress["packets_total"]
        known = f" of {total:,}" if total is not None else ""
        bar.update(
            task,
            total=1.0 if progress["fraction"] is not None else None,
            completed=progress["fraction"] or 0.0,
            packets=f"{progress['packets_done']:,}{known} packets",
            simulated=f"{progress['simulated_ps'] / 1e6:,.1f} us",
        )

    try:
        yield show
    finally:
        bar.stop()
