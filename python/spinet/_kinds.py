# SPDX-License-Identifier: Apache-2.0
"""The kinds of cards, and the check that an option is for the kind of the card."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spinet import _core, _experiments, _files
from spinet._core import UsageError
from spinet._options import CHAINS, HANDLERS, MODULES, OPTIONS

__all__ = ["CHAINS", "DOES", "EXAMPLE", "HANDLERS", "MODULES", "check", "of", "of_nic", "option", "who"]

# For each kind: what its cards do, as text that follows "a card that", and a card of it.
DOES = {name: does for name, does, _example in _core.kinds_of_cards()}
EXAMPLE = {name: example for name, _does, example in _core.kinds_of_cards()}


def option(keyword: str) -> str:
    """The option of the command that has this keyword's value."""
    return OPTIONS[keyword].name


def who(kinds: Sequence[str]) -> str:
    """Cards of these kinds, for messages.

    >>> who(["chains"])
    'cards that run chains of offloads (such as panic)'
    """
    return "cards that " + " or ".join(f"{_plural(DOES[kind])} (such as {EXAMPLE[kind]})" for kind in kinds)


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
        raise UsageError(f"{subject} {says}; {nic} {DOES[kind]}")
    return kind or stated or (CHAINS if has_chains else HANDLERS)


def _of_experiment(experiment: str | Path | Mapping[str, Any]) -> str | None:
    if isinstance(experiment, Mapping):
        text = json.dumps(_experiments.plain(experiment))
        return _core.kind_of_experiment(text, _experiments.base_dir_of(experiment), "json")
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
    for keyword, known in OPTIONS.items():
        value = given.get(keyword)
        if value is None or value is False or value == () or value == [] or kind in known.kinds:
            continue
        name = known.name if options else keyword
        hint = known.hints.get(kind, "") if options else ""
        raise UsageError(f"{name} is for {who(known.kinds)}; {subject} {DOES[kind]}", hint=hint)


def _plural(does: str) -> str:
    return does.replace("runs", "run").replace("is ", "are ")
