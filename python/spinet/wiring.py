# SPDX-License-Identifier: Apache-2.0
"""Cards as data: build one from modules, check it, draw it. This module says the same as a card's TOML file, and no
more.

A card has clocks, instances of modules, and connections from port to port. `docs/guides/build-a-nic.md` tells how to
make one; `spinet nic modules` and `docs/reference/modules.md` list the modules.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spinet import _core, _html, _toml
from spinet._modules import Kind, Parameter, PortOf

__all__ = [
    "Card",
    "Connection",
    "Design",
    "Group",
    "Instance",
    "Kind",
    "Module",
    "Parameter",
    "Part",
    "Port",
    "PortOf",
    "Value",
    "design",
    "modules",
    "variation",
]

Value = bool | int | float | str | Sequence["Value"] | Mapping[str, "Value"]
"""Allowed values of a parameter. A text with ``$`` is an expression over parameters: ``"4 + 2 * $cpus"``."""


@dataclass(frozen=True)
class Port:
    """A port of an instance, or several: ``cpu[*].memory``, ``sram.requesters[4..]``."""

    path: str

    def __str__(self) -> str:
        return self.path


@dataclass(frozen=True)
class Instance:
    """An instance in a card or a module. ``instance["memory"]`` is a port of it."""

    name: str

    def __getitem__(self, port: str) -> Port:
        return Port(f"{self.name}.{port}")

    def copy(self, which: int | str) -> Instance:
        """One of several copies, or a range of them: ``copy(0)``, ``copy("2..4")``."""
        return Instance(f"{self.name}[{which}]")

    @property
    def all(self) -> Instance:
        """All copies of an instance that was made with `count`."""
        return self.copy("*")


class _Body:
    """Common to cards and modules: instances and connections, as a table of TOML."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    def parameter(self, name: str, default: Value) -> str:
        """Add a parameter; returns the text that stands for its value in instances: ``"$name"``."""
        self._data.setdefault("parameters", {})[name] = default
        return f"${name}"

    def instance(
        self,
        name: str,
        module: str | Module | None = None,
        *,
        clock: str | None = None,
        count: int | str | None = None,
        **parameters: Value,
    ) -> Instance:
        """Add an instance, or change one that the base of the card has.

        Parameters
        ----------
        name
            Its name, by which connections refer to it.
        module
            Its module; if omitted, the instance of that name in the base is changed.
        clock
            Name of its clock. By default that of the module's instance around it, or the card's only clock.
        count
            Number of copies, ``name[0]`` and so on; in their parameters ``$index`` is the number of the copy.
        parameters
            The module's own.
        """
        kind = module.name if isinstance(module, Module) else module
        given = {"module": kind, "clock": clock, "count": count, **parameters}
        table = {key: value for key, value in given.items() if value is not None}
        self._data.setdefault("instances", {})[name] = table
        return Instance(name)

    def connect(
        self, source: Port | str, target: Port | str, *, room: int | str | None = None, latency: int | str | None = None
    ) -> None:
        """Connect the port that asks or sends to the one that answers or receives.

        Parameters
        ----------
        source, target
            Ports, as objects or as text such as ``"cpu[*].memory"``. Both sides have the same number of ports.
        room
            Items under way each way, 2 by default.
        latency
            Cycles of the sender's clock until the receiver sees an item, 1 by default.
        """
        wire = f"{source} -> {target}"
        extra = {key: value for key, value in (("room", room), ("latency", latency)) if value is not None}
        self._data.setdefault("connections", []).append({"wires": [wire], **extra} if extra else wire)


class Module(_Body):
    """A module that is itself made of instances, with parameters and ports of its own. `Card.module` makes one."""

    def __init__(self, name: str, data: dict[str, Any]) -> None:
        super().__init__(data)
        self.name = name

    def port(self, name: str, inner: Port | str) -> None:
        """Show a port of an instance inside under this name; several become ``name[0]`` and so on."""
        self._data.setdefault("ports", {})[name] = str(inner)


class Card(_Body):
    """A card under construction.

    Parameters
    ----------
    name, about
        Its name and its description.
    base
        A card to derive from, a preset or a file: this one then lists only additions, changes and removals.
    include
        Files or presets whose modules may be used.

    Examples
    --------
    >>> from spinet.wiring import Card
    >>> card = Card("scratch", about="A memory, and nobody who asks it.")
    >>> card.clock("core", "100 MHz")
    'core'
    >>> sram = card.instance(
    ...     "sram", "memory-controller", bytes=1024, word_bytes=8, first_word_cycles=2, burst_words=4, requesters=2,
    ...     max_bytes=128, policy={"kind": "round-robin"},
    ... )
    >>> [part.path for part in card.design().parts]
    ['sram']
    """

    def __init__(self, name: str, *, about: str = "", base: str | None = None, include: Sequence[str] = ()) -> None:
        given = {"name": name, "about": about or None, "base": base, "include": list(include) or None}
        super().__init__({key: value for key, value in given.items() if value is not None})

    @classmethod
    def from_toml(cls, text: str) -> Card:
        """Take a card from the text of a file.

        Raises
        ------
        InputError
            If the text is not TOML. `design` checks its contents.
        """
        card = cls("")
        _core.check_limits(text, "the card", "toml")
        try:
            card._data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _core.InputError(f"the card is not TOML: {error}") from error
        except RecursionError:
            raise _core.InputError("the card is not TOML: it has too many brackets within each other") from None
        return card

    def clock(self, name: str, frequency: str) -> str:
        """Add a clock such as ``"312.5 MHz"``; returns its name."""
        self._data.setdefault("clocks", {})[name] = frequency
        return name

    def module(self, name: str, *, about: str = "", parameters: Mapping[str, Value] | None = None) -> Module:
        """Add a module that is made of instances; returns it, to be filled like a card."""
        given = {"about": about or None, "parameters": dict(parameters) if parameters else None}
        data: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        self._data.setdefault("modules", {})[name] = data
        return Module(name, data)

    def remove(self, *names: Instance | Port | str) -> None:
        """Remove a part of the base: an instance with its connections, or the connection at a port."""
        texts = [name.name if isinstance(name, Instance) else str(name) for name in names]
        self._data.setdefault("remove", []).extend(texts)

    def to_toml(self) -> str:
        """The card as the text of a file, which `from_toml` and `--nic` take."""
        return _toml.dumps(self._data, order=_ORDER)

    def design(self, *, set: Sequence[str] = (), base_dir: Path | str = ".") -> Design:
        """Resolve all names and check the card.

        Parameters
        ----------
        set
            Changes such as ``"cpus=4"``, ``"clocks.core=50 MHz"`` or ``"sram.bytes=2048"``.
        base_dir
            Where paths of files in `base` and `include` begin.

        Raises
        ------
        InputError
            The text lists all errors: line of `to_toml`, value found, allowed values, and a suggestion.
        """
        name = str(self._data.get("name", "")) or "card"
        file = str(Path(base_dir) / f"{name}.toml")
        return Design._of(json.loads(_core.card_design_of(self.to_toml(), file, list(set), str(base_dir))))


_ORDER = (
    "name", "about", "base", "include", "remove", "connections", "parameters", "clocks", "modules", "instances",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a checked card, with its final values."""

    path: str
    module: str
    clock: str
    parameters: Mapping[str, Any]
    ports: tuple[PortOf, ...]


@dataclass(frozen=True, kw_only=True)
class Group:
    """An instance of a module that is made of parts; its ports by name, each with the path of the port inside."""

    path: str
    module: str
    ports: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Connection:
    """A connection between two ports. `room` counts items under way each way, `latency` cycles of the sender."""

    source: str
    target: str
    protocol: str
    room: int
    latency: int


@dataclass(frozen=True, kw_only=True)
class Design:
    """A checked card: its parts, and the connections between their ports."""

    name: str
    about: str
    parameters: Mapping[str, Any]
    clocks: Mapping[str, str]
    parts: tuple[Part, ...]
    groups: tuple[Group, ...]
    connections: tuple[Connection, ...]
    json: Mapping[str, Any] = field(repr=False, compare=False)
    """The same as JSON, which `spinet nic show --json` prints."""

    @classmethod
    def _of(cls, data: dict[str, Any]) -> Design:
        ports = [tuple(PortOf(**port) for port in part["ports"]) for part in data["parts"]]
        parts = [Part(**{**part, "ports": found}) for part, found in zip(data["parts"], ports, strict=True)]
        wires = [
            Connection(
                source=wire["from"], target=wire["to"], **{key: wire[key] for key in ("protocol", "room", "latency")}
            )
            for wire in data["connections"]
        ]
        groups = [Group(**group) for group in data["groups"]]
        heads = {key: data[key] for key in ("name", "about", "parameters", "clocks")}
        return cls(**heads, parts=tuple(parts), groups=tuple(groups), connections=tuple(wires), json=data)

    def _repr_html_(self) -> str:
        """For notebooks: the drawing."""
        return _html.heading(self.name, self.about) + self.svg()

    def svg(self) -> str:
        """The card as a drawing: layers from left to right, clock domains in colours."""
        from spinet import drawing

        return drawing.svg(self)


def design(nic: str, *, set: Sequence[str] = (), base_dir: Path | str = ".") -> Design:
    """Check a card, by name or by the path of its file.

    Parameters
    ----------
    nic
        A name from `spinet.nics`, or the path of a TOML file.
    set
        Changes such as ``"cpus=4"``, ``"clocks.core=50 MHz"`` or ``"sram.bytes=2048"``.
    base_dir
        Where the path begins.

    Raises
    ------
    InputError
        The text lists all errors: file and line, value found, allowed values, and a suggestion.
    """
    return Design._of(json.loads(_core.card_design(nic, list(set), str(base_dir))))


def variation(nic: str, set: Sequence[str]) -> Card:
    """A card that derives from another and has these values: what `set` says, as a file.

    Raises
    ------
    InputError
        If the values do not fit the card.

    Examples
    --------
    >>> from spinet import wiring
    >>> print(wiring.variation("my_card.toml", ["cpus=3", "clocks.core=50 MHz"]).to_toml())  # doctest: +SKIP
    """
    name = design(nic, set=set).name
    card = Card(name, base=nic)
    for setting in set:
        key, _, text = setting.partition("=")
        value: Value
        try:
            value = tomllib.loads(f"v = {text.strip()}")["v"]
        except (tomllib.TOMLDecodeError, RecursionError):
            value = text.strip()
        # The number of a copy is a key of its own: `cpu[2]` is `cpu."[2]"`.
        first, *rest = re.sub(r"(?<=[^.])\[(\d+)\]", r".[\1]", key.strip()).split(".")
        if not rest:
            card.parameter(first, value)
        elif first == "clocks":
            card.clock(rest[0], str(value))
        else:
            table = card._data.setdefault("instances", {}).setdefault(first, {})
            for key in rest[:-1]:
                table = table.setdefault(key, {})
            table[rest[-1]] = value
    return card


def modules(name: str | None = None) -> list[Kind]:
    """The modules that a card may name, or the one of this name.

    Raises
    ------
    InputError
        If there is no such module.

    Examples
    --------
    >>> from spinet import wiring
    >>> [kind.name for kind in wiring.modules("memory-controller")]
    ['memory-controller']
    """
    kinds = json.loads(_core.card_modules(name))
    return [Kind(**{**kind, "ports": tuple(PortOf(**port) for port in kind["ports"])}) for kind in kinds]
