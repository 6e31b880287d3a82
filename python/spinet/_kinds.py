# SPDX-License-Identifier: Apache-2.0
"""The kinds of cards, and the keywords and options that only some kinds have."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spinet import _core, _files
from spinet._core import UsageError

HANDLERS, CHAINS, MODULES = "handlers", "chains", "modules"

# For each kind: what its cards do, and a card of it.
_DOES = {
    HANDLERS: "runs handlers",
    CHAINS: "runs chains of offloads",
    MODULES: "is wired from modules and runs firmware",
}
EXAMPLE = {HANDLERS: "pspin", CHAINS: "panic", MODULES: "tigon2"}

# Keywords of `spinet.run` that only some kinds have, those of chains first. Options of the command have the same names.
KINDS_OF = {
    "chains": (CHAINS,),
    "services": (CHAINS,),
    "tenants": (CHAINS,),
    "policy": (CHAINS,),
    "policies": (CHAINS,),
    "program": (HANDLERS,),
    "match": (HANDLERS,),
    "message": (HANDLERS,),
    "handler": (HANDLERS,),
    "handler_memory": (HANDLERS,),
    "trace_instructions": (HANDLERS, MODULES),
    "trace_cores": (HANDLERS, MODULES),
    "trace_time": (HANDLERS, MODULES),
    "firmware": (MODULES,),
    "load": (MODULES,),
    "entry": (MODULES,),
    "profile": (MODULES,),
    "send": (CHAINS, MODULES),
}
_OPTIONS = {"chains": "--chain", "services": "--service", "tenants": "--tenant"}
_HINTS = {
    ("match", CHAINS): "a chain has its match expression in brackets: --chain 'NAME [EXPR]: SERVICE'",
    ("handler", CHAINS): "name the handler in the service: --service 'core: riscv, program=FILE, handler=NAME'",
    ("firmware", CHAINS): "cores run programs: --service 'core: riscv, program=FILE' --chain 'all: core'",
    ("firmware", HANDLERS): "handlers are named without an option: spinet run HANDLER.c",
    ("send", HANDLERS): "cards with a host that sends are panic and tigon2, for example",
}
_TAKES_CHAINS = "chains need a card such as panic, pipeline, manycore or rmt: --nic panic, or no --nic at all"


def option(keyword: str) -> str:
    """The option of the command that has this keyword's value."""
    return _OPTIONS.get(keyword, f"--{keyword.replace('_', '-')}")


def of_nic(nic: str) -> str | None:
    """The kind of a card, by name or file; None if there is no such card."""
    kind = _core.kind_of_nic(nic)
    if kind != HANDLERS:
        return kind
    is_known = nic in (name for name, _about in _core.nic_list()) or Path(nic).is_file()
    return HANDLERS if is_known else None


def of(experiment: str | Path | Mapping[str, Any] | None, nic: str | None, *, has_chains: bool) -> str:
    """The kind of a run: that of its card, else of its experiment, else chains if it names chains.

    Raises
    ------
    UsageError
        If the card and the experiment are of different kinds.
    """
    kind = None if nic is None else of_nic(nic)
    stated = None if experiment is None else _of_experiment(experiment)
    if kind is not None and stated is not None and stated != kind:
        says = "has chains of offloads" if stated == CHAINS else "has no chains of offloads"
        subject = "the experiment" if isinstance(experiment, Mapping) else experiment
        raise UsageError(f"{subject} {says}; {nic} {_DOES[kind]}")
    return kind or stated or (CHAINS if has_chains else HANDLERS)


def _of_experiment(experiment: str | Path | Mapping[str, Any]) -> str | None:
    if isinstance(experiment, Mapping):
        return _core.kind_of_experiment(json.dumps(experiment, default=str), str(Path.cwd()), "json")
    path = Path(experiment)
    format = "json" if path.suffix == ".json" else "toml"
    try:
        text = _files.read(path).decode()
        _core.check_limits(text, str(path), format)
        json.loads(text) if format == "json" else tomllib.loads(text)
    except (_core.InputError, ValueError, RecursionError):
        return None  # the function that reads it as an experiment reports the error
    return _core.kind_of_experiment(text, str(path.absolute().parent), format)


def check(kind: str, subject: object, given: Mapping[str, object], *, options: bool = False) -> None:
    """Refuse the first keyword that this kind of card does not have; `subject` is the card or the experiment.

    Parameters
    ----------
    given
        Keywords and their values; false values count as not given.
    options
        Name options of the command in place of keywords.

    Raises
    ------
    UsageError
        With the keyword and the kinds that have it.
    """
    for keyword, kinds in KINDS_OF.items():
        value = given.get(keyword)
        if value is None or value is False or value == () or value == [] or kind in kinds:
            continue
        others = " or ".join(f"{_plural(_DOES[other])} (such as {EXAMPLE[other]})" for other in kinds)
        hint = _TAKES_CHAINS if kinds == (CHAINS,) else _HINTS.get((keyword, kind), "")
        name = option(keyword) if options else keyword
        raise UsageError(f"{name} is for cards that {others}; {subject} {_DOES[kind]}", hint=hint if options else "")


def _plural(does: str) -> str:
    return does.replace("runs", "run").replace("is ", "are ")
