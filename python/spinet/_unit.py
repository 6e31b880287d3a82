# SPDX-License-Identifier: Apache-2.0
"""Start of a program for a core-based unit of PANIC: its own loop, or handlers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spinet import _elf
from spinet._build_errors import MissingHandlers

_MAIN = "panic_main"
_STAGES = {"_hh": "SPIN_HEADER", "_ph": "SPIN_PAYLOAD"}  # as sdk/runtime/panic/handlers.c calls them
_LEFT_OUT = "_th"

_PRINTING = ("printf", "vprintf", "puts", "putchar")
# Functions that sdk/panic/include/spin_issue.h declares but does not implement.
_DOORBELL = re.compile(r"\ba_PANIC_unit_(cannot_\w+)")


@dataclass(frozen=True, kw_only=True)
class Begin:
    """How the runtime finds the program."""

    is_main: bool  # it has a loop of its own
    macros: tuple[str, ...] = ()  # for the runtime, which calls handlers
    notes: str = ""  # for the user who builds it


def begin(objects: Sequence[Path], sources: Sequence[Path], handler: str | None) -> Begin:
    """Look into compiled sources.

    Raises
    ------
    MissingHandlers
        If they have neither `panic_main` nor handlers, not those called ``handler``, or several sets and no name.
    """
    functions = {symbol.name for path in objects for symbol in _elf.read(path).symbols if symbol.is_function}
    names = ", ".join(source.name for source in sources)
    if _MAIN in functions:
        return Begin(is_main=True)
    sets = sorted({name[:-3] for name in functions if name.endswith(tuple(_STAGES))})
    if handler is not None and handler not in sets:
        raise MissingHandlers(
            f"{names} has no {handler}_hh and no {handler}_ph", functions=sorted(functions), hint=_known(sets)
        )
    if handler is None and len(sets) != 1:
        what = f"several sets of handlers: {', '.join(sets)}" if sets else "neither panic_main nor handlers"
        raise MissingHandlers(f"{names} has {what}", functions=sorted(functions), hint=_known(sets))
    chosen = handler or sets[0]
    macros = [f"-D{called}={chosen}{suffix}" for suffix, called in _STAGES.items() if chosen + suffix in functions]
    last = chosen + _LEFT_OUT
    notes = f"note: {last} is left out: a PANIC unit does not learn where messages end\n" if last in functions else ""
    return Begin(is_main=False, macros=tuple(macros), notes=notes)


def cannot(complaint: str, objects: Sequence[Path]) -> str:
    """Features that units lack and the program uses, from the linker's output; empty for other errors."""
    if refused := list(dict.fromkeys(_DOORBELL.findall(complaint))):
        return "; ".join(f"a unit {name.replace('_', ' ')}" for name in refused)
    if not re.search(r"undefined (symbol: |reference to `)putchar\b", complaint):
        return ""
    wanted = {name for path in objects for name in _elf.missing(path)}
    calls = [name for name in _PRINTING if name in wanted]
    calls = calls[:-1] or calls  # the runtime's own calls putchar
    return f"it calls {' and '.join(calls)}, and a unit's core has no console to print to"


def _known(sets: Sequence[str]) -> str:
    if not sets:
        return "write void panic_main(void) with panic.h, or void NAME_ph(handler_args_t *args) with handler.h"
    return "name one of them" if len(sets) > 1 else f"it has {sets[0]}"
