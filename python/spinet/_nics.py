# SPDX-License-Identifier: Apache-2.0
"""Converts all forms of a card and of its changes into the one form that the simulator accepts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from spinet._core import UsageError

if TYPE_CHECKING:
    from spinet._parameters import NicParams
    from spinet.presets import Nic

__all__ = ["Card", "Settings", "chosen", "name_of", "settings"]

if TYPE_CHECKING:
    Card: TypeAlias = str | Path | Nic | NicParams
    """A name, the path of a file, what `spinet.nics` lists, or parameters as `spinet.parameters_of` gives them."""

Settings: TypeAlias = str | Sequence[str] | Mapping[str, Any]
"""``"cluster.n_cores=4"``, several of such texts, or a mapping: ``{"cluster.n_cores": 4}``, tables in it included."""


def chosen(nic: Card | None, set: Settings = ()) -> tuple[str | None, list[str]]:
    """Name or path of a card, and changes of its parameters; None instead of a name if the caller names no card."""
    if nic is None or isinstance(nic, str | Path):
        return None if nic is None else str(nic), settings(set)
    from spinet._parameters import NicParams
    from spinet.presets import Nic

    if isinstance(nic, Nic):
        return nic.name, settings(set)
    if isinstance(nic, NicParams):
        name, own = nic.as_settings()
        return name, [*own, *settings(set)]
    raise UsageError(
        f"nic is {nic!r}, must be a name, a path or parameters of a card",
        hint="spinet.parameters_of gives the parameters of a card",
    )


def name_of(nic: Card, set: Settings = ()) -> tuple[str, list[str]]:
    """The same, if the caller must name a card."""
    name, sets = chosen(nic, set)
    if name is None:
        raise UsageError("nic is None, must name a card", hint="spinet.nics lists them")
    return name, sets


def settings(set: Settings) -> list[str]:
    """Changes of a card as texts, ``path=value``."""
    if isinstance(set, str):
        return [set]
    if isinstance(set, Mapping):
        return [f"{path}={_value(path, value)}" for path, value in _leaves(set, "")]
    allowed = "must be texts such as 'cluster.n_cores=4', or a mapping"
    if not isinstance(set, Iterable):
        raise UsageError(f"set is {set!r}, {allowed}")
    texts = list(set)
    for text in texts:
        if not isinstance(text, str):
            raise UsageError(f"set has {text!r}, {allowed}")
    return texts


def _leaves(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _value(path: str, value: Any) -> str:
    """A value as TOML text, which equals JSON for the allowed types. NumPy's numbers are allowed."""
    try:
        return json.dumps(value.item() if hasattr(value, "item") else value)
    except TypeError:
        raise UsageError(f"set: {path} is {value!r}, must be a number, a truth value, a text or a list") from None
