# SPDX-License-Identifier: Apache-2.0
"""Which kind of card a command line of `spinet run` is about, and whether what it says goes with that."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

HANDLERS, CHAINS, MODULES = "handlers", "chains", "modules"

# Description and example of each kind of card, and the options that only some kinds have.
_DOES = {
    HANDLERS: "runs handlers",
    CHAINS: "runs chains of offloads",
    MODULES: "is wired from modules and runs firmware",
}
_EXAMPLE = {HANDLERS: "pspin", CHAINS: "panic", MODULES: "tigon2"}
_KINDS_OF = {
    "--match": (HANDLERS,),
    "--message": (HANDLERS,),
    "--handler": (HANDLERS,),
    "--handler-memory": (HANDLERS,),
    "--trace-instructions": (HANDLERS,),
    "--trace-cores": (HANDLERS,),
    "--trace-time": (HANDLERS,),
    "--chain": (CHAINS,),
    "--service": (CHAINS,),
    "--tenant": (CHAINS,),
    "--policy": (CHAINS,),
    "--firmware": (MODULES,),
    "--load": (MODULES,),
    "--entry": (MODULES,),
    "--send": (CHAINS, MODULES),
}
_HINTS = {
    ("--match", CHAINS): "which packets a chain takes stands in its brackets: --chain 'NAME [EXPR]: SERVICE'",
    ("--handler", CHAINS): "say it of the service: --service 'core: riscv, program=FILE, handler=NAME'",
    ("--firmware", CHAINS): "cores run programs: --service 'core: riscv, program=FILE' --chain 'all: core'",
    ("--firmware", HANDLERS): "handlers are named without an option: spinet run HANDLER.c",
    ("--send", HANDLERS): "cards with a host that sends are panic and tigon2, for example",
}
_TAKES_CHAINS = "chains need a card such as panic, pipeline, manycore or rmt: --nic panic, or no --nic at all"


def of_nic(nic: str) -> str | None:
    """The kind of a card, by name or file; none if there is no such card."""
    from spinet import _core

    kind = _core.kind_of_nic(nic)
    if kind != HANDLERS:
        return kind
    is_known = nic in (name for name, _about in _core.nic_list()) or Path(nic).is_file()
    return HANDLERS if is_known else None


def is_experiment(program: Sequence[str]) -> bool:
    """Returns true for an experiment file, false for sources."""
    return len(program) == 1 and program[0].endswith((".toml", ".json"))


def of(program: Sequence[str], nic: str | None, chains: Sequence[str]) -> str:
    """The kind of a command line: that of its card, otherwise that of its other options.

    Raises
    ------
    UsageError
        If it names a card and an experiment for one of another kind.
    """
    from spinet._core import UsageError

    kind = None if nic is None else of_nic(nic)
    experiment = _of_experiment(program[0]) if is_experiment(program) else None
    if kind is not None and experiment is not None and experiment != kind:
        says = "has chains of offloads" if experiment == CHAINS else "has no chains of offloads"
        raise UsageError(f"{program[0]} {says}; {nic} {_DOES[kind]}")
    return kind or experiment or (CHAINS if chains else HANDLERS)


def _of_experiment(file: str) -> str | None:
    from spinet import _core, _files

    path = Path(file)
    try:
        text = _files.read(path).decode()
        _core.check_limits(text, file, path.suffix[1:])
        json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (_core.InputError, ValueError, RecursionError):
        return None  # the reader of the experiment reports the error
    return _core.kind_of_experiment(text, str(path.absolute().parent), path.suffix[1:])


def check(kind: str, subject: str, given: Mapping[str, object]) -> None:
    """Refuse the first option that does not go with this kind of card; `subject` is the card, or the file that says it.

    Raises
    ------
    UsageError
        With the option, what has it, and what to say instead.
    """
    from spinet._core import UsageError

    for option, value in given.items():
        kinds = _KINDS_OF[option]
        if not value or kind in kinds:
            continue
        others = " or ".join(f"{_plural(_DOES[other])} (such as {_EXAMPLE[other]})" for other in kinds)
        hint = _TAKES_CHAINS if kinds == (CHAINS,) else _HINTS.get((option, kind), "")
        raise UsageError(f"{option} is for cards that {others}; {subject} {_DOES[kind]}", hint=hint)


def _plural(does: str) -> str:
    return does.replace("runs", "run").replace("is ", "are ")
