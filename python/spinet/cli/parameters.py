# SPDX-License-Identifier: Apache-2.0
"""What several commands share: options, completion of values, the progress bar."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from spinet._core import Progress
    from spinet.api import OnProgress

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON for programs instead of text for people."
)


def complete_files(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Let the shell complete file names."""
    return [CompletionItem(incomplete, type="file")]


def complete_nics(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Names of cards; the path of a file is as good."""
    from spinet import _core

    known = [CompletionItem(name, help=about) for name, about in _core.nic_list() if name.startswith(incomplete)]
    return known or [CompletionItem(incomplete, type="file")]


def macros(definitions: Sequence[str]) -> dict[str, str | int]:
    """`NAME=VALUE` texts as a mapping; a name alone has no value."""
    return {name: value for name, _, value in (text.partition("=") for text in definitions)}


@contextlib.contextmanager
def progress_bar() -> Iterator[OnProgress | None]:
    """A bar on stderr that takes reports of progress; None where nobody looks."""
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
        bar.start()  # does nothing the second time; a run of one slice shows no bar
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
