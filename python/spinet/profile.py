# SPDX-License-Identifier: Apache-2.0
"""Where the cycles of a card's cores went: by source line, function, instruction and cause."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from spinet import _files, _protobuf, output
from spinet._core import InputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from spinet._core import Run

IDLE = "idle"  # the cause of cycles in which a core waits for a packet
_UNKNOWN = "??"


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A place in the source: a function and a line of it."""

    function: str
    file: str  # empty without debug information
    line: int  # 0 without debug information

    def __str__(self) -> str:
        """Its file and line, or its function."""
        return f"{Path(self.file).name}:{self.line}" if self.file else self.function


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cycles of some instructions, summed over all cores."""

    executed: int = 0  # instructions
    lost: Mapping[str, int] = field(default_factory=dict)  # by cause: cycles in which no instruction was completed

    @property
    def cycles(self) -> int:
        """Executed instructions, of one cycle each, and lost cycles."""
        return self.executed + sum(self.lost.values())

    @property
    def busy(self) -> int:
        """Cycles in which the core did not wait for a packet."""
        return self.cycles - self.lost.get(IDLE, 0)

    @property
    def causes(self) -> list[tuple[str, int]]:
        """Causes of lost cycles, largest first, without `idle`."""
        found = [(cause, cycles) for cause, cycles in self.lost.items() if cause != IDLE]
        return sorted(found, key=lambda one: (-one[1], one[0]))

    def __add__(self, other: Cost) -> Cost:
        """The sum."""
        lost = dict(self.lost)
        for cause, cycles in other.lost.items():
            lost[cause] = lost.get(cause, 0) + cycles
        return Cost(executed=self.executed + other.executed, lost=lost)


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """An instruction that was executed or lost cycles."""

    program: str  # the service whose units run it; empty for cards with one address space
    address: int
    text: str
    frames: tuple[Frame, ...]  # the function that contains it first, then those inlined there
    cost: Cost


class Profile:
    """Where the cycles of a card's cores went.

    Attributes
    ----------
    cores
        Number of cores.
    causes
        Names of all causes of lost cycles, in the card's order.
    instructions
        Every instruction that was executed or lost cycles, by program and address.
    elsewhere
        Cycles of code outside all programs.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data
        self.cores: int = int(data["cores"])
        self.causes: tuple[str, ...] = tuple(data["causes"])
        self.instructions: tuple[Instruction, ...] = tuple(_instruction(row) for row in data["instructions"])
        self.elsewhere: int = int(data["elsewhere"])

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read the file that a run with a profile has written, or find it in the run's folder.

        Raises
        ------
        UsageError
            If there is no such file.
        InputError
            If it is damaged.
        """
        file = Path(path) / output.PROFILE if Path(path).is_dir() else Path(path)
        if not file.exists():
            output.check_single_card(Path(path), "profile")
            raise UsageError(
                f"there is no {file}",
                hint="spinet run --profile -o DIR writes it, if a core of the card runs a program",
            )
        try:
            return cls(json.loads(_files.read(file)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{file}: this is not a profile ({type(error).__name__}: {error})") from None

    def to_json(self) -> str:
        """The content of its file."""
        return json.dumps(self._data, indent=1) + "\n"

    @cached_property
    def total(self) -> Cost:
        """All cycles except those in `elsewhere`."""
        return _sum(one.cost for one in self.instructions)

    def __repr__(self) -> str:
        """Its size and its hottest line."""
        hottest = next(iter(self.lines().items()), None)
        where = "" if hottest is None else f", hottest line {hottest[0][0]}"
        return f"<Profile of {self.cores} cores, {self.total.cycles + self.elsewhere:,} cycles{where}>"

    def functions(self) -> dict[str, Cost]:
        """Cost by function, with all that is inlined in it; most busy cycles first."""
        return _by(self.instructions, lambda one: one.frames[0].function)

    def lines(self) -> dict[tuple[Frame, ...], Cost]:
        """Cost by line of the function that the compiler kept, with all that is inlined there; most busy cycles first.

        The keys have one frame.
        """
        return _by(self.instructions, lambda one: one.frames[:1])

    def chains(self) -> dict[tuple[Frame, ...], Cost]:
        """Cost by line, where each inlined line counts separately: its key is the chain of lines that leads to it."""
        return _by(self.instructions, lambda one: one.frames)

    @property
    def table(self) -> pa.Table:
        """One row per instruction: program, address, text, function, chain, executed, cycles, a column per cause."""
        import pyarrow as pa

        rows = self.instructions
        columns: dict[str, Any] = {
            "program": [one.program for one in rows],
            "address": [one.address for one in rows],
            "text": [one.text for one in rows],
            "function": [one.frames[0].function for one in rows],
            "chain": [" > ".join(str(frame) for frame in one.frames) for one in rows],
            "executed": [one.cost.executed for one in rows],
            "cycles": [one.cost.cycles for one in rows],
            **{cause: [one.cost.lost.get(cause, 0) for one in rows] for cause in self.causes},
        }
        return pa.table(columns)

    def stacks(self) -> dict[str, int]:
        """Busy cycles by stack: the function, those inlined in it and the cause in brackets, joined by semicolons."""
        stacks: dict[str, int] = {}
        for one in self.instructions:
            names = [one.program, *(frame.function for frame in one.frames)]
            stack = ";".join(name.replace(";", ":") for name in names if name)
            for cause, cycles in (("executing", one.cost.executed), *one.cost.causes):
                key = f"{stack};[{cause}]"
                stacks[key] = stacks.get(key, 0) + cycles
        return {stack: cycles for stack, cycles in sorted(stacks.items()) if cycles}

    def folded(self) -> str:
        """`stacks` as text, one per line, for tools that draw flame graphs."""
        return "".join(f"{stack} {cycles}\n" for stack, cycles in self.stacks().items())

    def callgrind(self) -> str:
        """The profile in the format of callgrind, for KCachegrind and callgrind_annotate."""
        events = ["Cycles", "Instructions", *self.causes]
        text = [
            "# callgrind format",
            "version: 1",
            "creator: spinet",
            "positions: instr line",
            f"events: {' '.join(events)}",
        ]
        totals = _numbers(self.total, self.causes)
        text += [f"summary: {' '.join(map(str, totals))}", ""]
        function: tuple[str, str] | None = None
        file = ""
        for one in sorted(self.instructions, key=lambda one: (one.program, one.frames[0].function, one.address)):
            outer, inner = one.frames[0], one.frames[-1]
            if function != (one.program, outer.function):
                function, file = (one.program, outer.function), outer.file or _UNKNOWN
                text += ["", f"ob={one.program}"] if one.program else [""]
                text += [f"fl={file}", f"fn={outer.function}"]
            if (inner.file or _UNKNOWN) != file:
                # A line of another file that is inlined here, or the return to the function's own.
                file = inner.file or _UNKNOWN
                text.append(f"fi={file}")
            numbers = " ".join(map(str, _numbers(one.cost, self.causes)))
            text.append(f"{one.address:#x} {inner.line} {numbers}")
        return "\n".join(text) + "\n"

    def pprof(self) -> bytes:
        """The profile in the format of pprof (gzipped profile.proto), with the cause of cycles as label `cause`."""
        return gzip.compress(_protobuf.profile(self), mtime=0)


def profile_of(run: Run) -> Profile | None:
    """The profile of a run so far; None if its cores are not counted."""
    text = run.profile()
    return None if text is None else Profile(json.loads(text))


def _instruction(row: Mapping[str, Any]) -> Instruction:
    outer = str(row["function"] or _UNKNOWN)
    inlined = (_frame(str(one["function"] or _UNKNOWN), one["line"]) for one in row["inlined"])
    return Instruction(
        program=str(row["program"]),
        address=int(row["address"]),
        text=str(row["text"]),
        frames=(_frame(outer, row["line"]), *inlined),
        cost=Cost(executed=int(row["executed"]), lost={cause: int(lost) for cause, lost in row["lost"].items()}),
    )


def _frame(function: str, place: str | None) -> Frame:
    if place is None:
        return Frame(function=function, file="", line=0)
    file, _, line = place.rpartition(":")
    return Frame(function=function, file=file, line=int(line))


def _numbers(cost: Cost, causes: Sequence[str]) -> list[int]:
    return [cost.cycles, cost.executed, *(cost.lost.get(cause, 0) for cause in causes)]


def _sum(costs: Iterable[Cost]) -> Cost:
    executed, lost = 0, dict[str, int]()
    for cost in costs:
        executed += cost.executed
        for cause, cycles in cost.lost.items():
            lost[cause] = lost.get(cause, 0) + cycles
    return Cost(executed=executed, lost=lost)


def _by(instructions: Iterable[Instruction], key: Callable[[Instruction], Any]) -> dict[Any, Cost]:
    groups: dict[Any, list[Cost]] = {}
    for one in instructions:
        groups.setdefault(key(one), []).append(one.cost)
    costs = ((name, _sum(costs)) for name, costs in groups.items())
    return dict(sorted(costs, key=lambda one: (-one[1].busy, str(one[0]))))


class Sources:
    """Lines of source files. A file that cannot be read has no lines."""

    def __init__(self) -> None:
        self._files: dict[str, list[str]] = {}

    def text(self, frame: Frame) -> str:
        """The line of a frame; empty if it is not known."""
        if frame.file not in self._files:
            try:
                content = _files.read(Path(frame.file)).decode(errors="replace") if frame.file else ""
            except (UsageError, ValueError):
                content = ""
            self._files[frame.file] = content.splitlines()
        lines = self._files[frame.file]
        return lines[frame.line - 1] if 0 < frame.line <= len(lines) else ""


def annotated(
    profile: Profile, function: str | None = None
) -> Iterator[tuple[Path, int, str, Cost, list[Instruction]]]:
    """Source lines that have cycles, with their text, cost and instructions, by file and line.

    A line in an inlined function counts separately. Files that cannot be read have empty texts.

    Parameters
    ----------
    function
        Only instructions of this function, with what is inlined in it.
    """
    found: dict[tuple[str, int], list[Instruction]] = {}
    for one in profile.instructions:
        if function is None or one.frames[0].function == function:
            inner = one.frames[-1]
            found.setdefault((inner.file, inner.line), []).append(one)
    sources = Sources()
    for (file, line), instructions in sorted(found.items()):
        text = sources.text(instructions[0].frames[-1])
        yield Path(file), line, text, _sum(one.cost for one in instructions), instructions
