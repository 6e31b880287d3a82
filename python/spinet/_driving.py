# SPDX-License-Identifier: Apache-2.0
"""Runs proceed in slices of host time. Progress and Ctrl-C are handled between slices."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from spinet._core import UsageError
from spinet.output import OutputError, OutputFile

SLICE_MS = 100
INTERRUPTED = "interrupted"  # the reason for which such a run ended

P_co = TypeVar("P_co", bound=Mapping[str, Any], covariant=True)
P = TypeVar("P", bound=Mapping[str, Any])


class Sliced(Protocol[P_co]):
    """A run of any kind of card."""

    def advance(self, max_wall_ms: int) -> P_co:
        """Run for about this number of milliseconds of host time, or to the end; returns the progress."""

    def summary(self) -> str:
        """The summary as JSON."""

    def finish(self) -> None:
        """End the run now: packets inside the card get rows, and files are complete."""


@dataclass(frozen=True, kw_only=True)
class InstructionTrace:
    """Selects the instructions that a run traces; by default, all of every core."""

    cores: str | None = None  # cluster:core, such as "0:3,1:*"
    time: str | None = None  # simulated time, such as "1 us..2 us"


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """A timeline or waveforms to write, and the part of the run that is drawn; by default, all of it."""

    file: Path | None = None
    waves: Path | None = None
    only: tuple[str, ...] = ()  # such as "time=1 us..2 us", "every=100"

    @classmethod
    def of(
        cls, file: str | Path | None, waves: str | Path | None, only: str | Sequence[str], folder: Path | None
    ) -> Self | None:
        """The timeline of a run with results in a folder: a name without a folder is a file there."""
        restrictions = (only,) if isinstance(only, str) else tuple(only)
        if file is None and waves is None:
            if restrictions:
                raise UsageError("timeline_only goes with timeline or waves")
            return None

        files = [None if name is None else cls.place(name, folder) for name in (file, waves)]
        return cls(file=files[0], waves=files[1], only=restrictions)

    @staticmethod
    def place(name: str | Path, folder: Path | None) -> Path:
        """The path of a file: a name without a folder is in the folder of results."""
        return folder / name if folder is not None and len(Path(name).parts) == 1 else Path(name)

    def check(self, *, folder: Path | None, force: bool) -> None:
        """Make the folders of the files, as for a folder of results. Files outside `folder` are replaced only with
        `force`.

        Raises
        ------
        OutputError
            If a file exists, or a folder cannot be made.
        """
        for file in (self.file, self.waves):
            if file is None or file.parent == folder:
                continue
            if file.is_file() and not force:
                raise OutputError(f"{file} exists", hint="name another file, or replace it with --force")
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise OutputError(f"cannot write {file}: {error.strerror}") from error

    def partial(self, *, folder: Path | None) -> tuple[Self, list[OutputFile]]:
        """The timeline with temporary files in place of its files outside `folder`, and the list of temporary files."""
        files: list[OutputFile] = []

        def begun(file: Path | None) -> Path | None:
            if file is None or file.parent == folder or OutputFile.is_streamed(file):
                return file
            files.append(OutputFile(file))
            return files[-1].path

        return replace(self, file=begun(self.file), waves=begun(self.waves)), files


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a run. `summary` is the summary at that moment."""

    def __init__(self, summary: dict[str, Any]) -> None:
        super().__init__()
        self.summary = summary


def to_the_end(
    run: Sliced[P],
    *,
    on_slice: Callable[[], None] | None = None,
    on_progress: Callable[[P], None] | None = None,
) -> dict[str, Any]:
    """Advance a run to its end and return its summary; Ctrl-C raises `Interrupted`, with the summary so far."""
    done = False
    try:
        while not done:
            progress = run.advance(SLICE_MS)
            done = progress["done"]
            if on_slice is not None:
                on_slice()
            if on_progress is not None:
                on_progress(progress)
    except KeyboardInterrupt:
        interrupted = Interrupted(_interrupted(json.loads(run.summary())))
        run.finish()
        if on_slice is not None:
            on_slice()
        raise interrupted from None
    summary: dict[str, Any] = json.loads(run.summary())
    return summary


def _interrupted(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary of a run in progress, marked as ended."""
    return ended_by_caller(summary, reason=INTERRUPTED, text=INTERRUPTED, is_unfinished=True)


def ended_by_caller(summary: dict[str, Any], *, reason: str, text: str, is_unfinished: bool) -> dict[str, Any]:
    """The summary of a run in progress that ends here; `text` says why."""
    ended = summary["ended"]
    ended_text = ended["text"]
    for running in ("the run goes on", "it runs"):
        ended_text = ended_text.replace(running, text, 1)
    return {**summary, "ended": {**ended, "reason": reason, "text": ended_text, "is_unfinished": is_unfinished}}
