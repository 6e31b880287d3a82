# SPDX-License-Identifier: Apache-2.0
"""Turns keywords or a file into a complete experiment, and builds the program that it names."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from spinet import _arguments, _core, _files, _nics, _packets, _toml, toolchain
from spinet._core import InputError, UsageError

NO_FILE = "keywords"  # in place of a path, for an experiment given as keyword arguments
_LINE = re.compile(r"^line [0-9]+: ")
_PUBLISHED_SHAPE = {"NB_CLUSTERS": 4, "NB_CORES": 8}  # sdk/include/spin_conf.h

# Keywords of `spinet.run` that are keys of a context in an experiment file.
_OF_A_CONTEXT = ("match", "message", "handler", "handler_memory")


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A checked experiment, as plain values, and where relative paths in it start."""

    values: dict[str, Any]
    file: str  # for messages
    base_dir: str
    kind: str = "handlers"
    toml: str | None = None  # the text of the file, if no keywords change it: errors then name its lines

    def text(self) -> str:
        """The experiment as the simulator reads it: TOML or JSON."""
        return self.toml or json.dumps(self.values)

    def format(self) -> str:
        """How `text` is written."""
        return "toml" if self.toml else "json"

    def programs(self) -> list[Path]:
        """Files that the experiment runs: sources, or one ELF file."""
        return self._files(self.values["program"])

    def tenants_programs(self) -> list[list[Path]]:
        """The same for each of its tenants."""
        return [self._files(tenant["program"]) for tenant in self.values.get("tenant", ())]

    def _files(self, named: str | list[str]) -> list[Path]:
        return [Path(self.base_dir) / name for name in ([named] if isinstance(named, str) else named)]

    def program_name(self) -> str:
        """Name of the program in messages."""
        return ", ".join(path.name for path in self.programs())


def keywords(stated: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords of `run` as `prepare` takes them: lists where there can be several, and files in place of packets."""
    from spinet import _programs  # imported here because it needs this module

    _arguments.check(stated)
    nic, sets = _nics.chosen(stated.get("nic"), () if stated.get("set") is None else stated["set"])
    memory = stated.get("handler_memory")
    lists = ("program", "chains", "services", "tenants", "firmware")
    return {
        **stated,
        **{name: _programs.several(stated.get(name), name) for name in lists},
        **{name: _packets.sources(name, stated.get(name)) for name in ("traffic", "send")},
        **{name: stated.get(name) or None for name in ("paths", "check")},
        "handler_memory": _programs.kept(memory) if isinstance(memory, bytes) else memory,
        "nic": nic,
        "set": sets,
    }


def from_keywords(
    *,
    program: Sequence[str],
    traffic: str | dict[str, Any] | list[dict[str, Any]],
    match: str | None = None,
    message: str | None = None,
    handler: str | None = None,
    handler_memory: str | None = None,
    overrides: Mapping[str, Any],
) -> Prepared:
    """An experiment with one context."""
    memory = None if handler_memory is None else {"data": handler_memory}
    context = {"match": match, "message": message, "handler": handler, "handler_memory": memory}
    values: dict[str, Any] = {
        "program": list(program),
        "traffic": {"source": traffic} if isinstance(traffic, str) else traffic,
        "context": [{key: value for key, value in context.items() if value is not None}],
    }
    _override(values, overrides)
    try:
        return _checked(json.dumps(values), file=NO_FILE, base_dir=str(Path.cwd()), format="json")
    except InputError as error:
        # The caller has no file and only one context, so the message names just the key, such as `match`.
        raise InputError(str(error).removeprefix(f"{NO_FILE}: ").removeprefix("context[0].")) from None


def from_file(path: Path, *, overrides: Mapping[str, Any]) -> Prepared:
    """The experiment in a TOML file, or in the JSON file that an earlier run wrote.

    Raises
    ------
    InputError
        If the file cannot be read, or has unknown keys or wrong values.
    """
    try:
        text = _files.read(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text: byte {error.start} is not UTF-8") from error
    file, base_dir = str(path), str(path.absolute().parent)
    experiment = _checked(text, file=file, base_dir=base_dir, format="json" if path.suffix == ".json" else "toml")
    if not overrides:
        return experiment
    _override(experiment.values, overrides)
    return _checked(json.dumps(experiment.values), file=file, base_dir=base_dir, format="json")


def plain(stated: Mapping[str, Any]) -> dict[str, Any]:
    """The values of an experiment that is written in Python, as JSON has them."""
    packets = {key: _plain_sources(key, stated[key]) for key in ("traffic", "send") if key in stated}
    values: dict[str, Any] = json.loads(json.dumps({**stated, **packets}, default=_plain_value))
    nic = stated.get("nic")
    if nic is not None and not isinstance(nic, str | Mapping):
        preset, sets = _nics.name_of(nic)
        values["nic"] = {"preset": preset, "set": sets}
    return values


def _plain_sources(key: str, given: Any) -> Any:
    """Replace packets in memory by the path of a capture; return other sources unchanged."""
    if given is None or isinstance(given, str | Path):
        return given
    if isinstance(given, Mapping):
        source = given.get("source")
        return given if source is None else {**given, "source": _plain_sources(f"{key}.source", source)}
    found = _packets.sources(key, given)
    return found if isinstance(given, list) and found == given else found[0] if len(found) == 1 else found


def base_dir_of(stated: Mapping[str, Any]) -> str:
    """The folder at which relative paths of an experiment start."""
    return str(getattr(stated, "base_dir", Path.cwd()))


def from_mapping(stated: Mapping[str, Any], *, overrides: Mapping[str, Any]) -> Prepared:
    """An experiment that is written in Python.

    Raises
    ------
    InputError
        If a key or a value is wrong.
    """
    values = plain(stated)
    _override(values, overrides)
    base_dir = base_dir_of(stated)
    try:
        return _checked(json.dumps(values), file=NO_FILE, base_dir=base_dir, format="json")
    except InputError as error:
        raise refusal(error, values, partial(_checked, file=NO_FILE, base_dir=base_dir)) from None


def refusal(error: InputError, values: Mapping[str, Any], check: Callable[..., object]) -> InputError:
    """The error of an experiment that is written in Python.

    JSON errors for missing keys and values of a wrong type do not name the place. `check`, which gets a text and its
    `format`, then checks the same values as TOML, for which the error shows the line.
    """
    text = str(error).removeprefix(f"{NO_FILE}: ")
    if text.startswith(("found ", "missing field ")):
        try:
            check(_toml.dumps(json.loads(json.dumps(values, default=str))), format="toml")
        except InputError as same:
            text = _LINE.sub("", str(same).removeprefix(f"{NO_FILE}: "))
    return InputError(text)


def _plain_value(value: object) -> object:
    """Converts paths and NumPy's numbers, which JSON does not know."""
    return value.item() if hasattr(value, "item") else str(value)


def _checked(text: str, *, file: str, base_dir: str, format: str) -> Prepared:
    values = json.loads(_core.check_experiment(text, file, base_dir, format, "handlers"))
    return Prepared(values=values, file=file, base_dir=base_dir, toml=text if format == "toml" else None)


def _override(values: dict[str, Any], overrides: Mapping[str, Any]) -> None:
    """Lay `overrides` over an experiment.

    A dotted name is a key of a table, or of each table of a list. `nic.set` adds to the experiment's parameters,
    and a source replaces all sources.
    """
    for name, value in overrides.items():
        table, _, key = name.rpartition(".")
        if not table:
            values[key] = value
            continue
        found = values.get(table, {})
        inner = found if isinstance(found, list) else [found]
        # A text is short for a table with one key.
        inner = [{"preset" if table == "nic" else "source": one} if isinstance(one, str) else one for one in inner]
        if key == "source":
            inner = inner[:1]
        for one in inner:
            one[key] = [*_nics.settings(one.get(key, [])), *value] if name == "nic.set" else value
        values[table] = inner if len(inner) > 1 else inner[0]


def compiled(
    experiment: Prepared, *, cc: str | None, defines: Mapping[str, str | int] | None
) -> toolchain.Build | None:
    """Build the program that an experiment names, unless it is an ELF file already.

    Raises
    ------
    UsageError
        If compiler options are given, but nothing is compiled.
    """
    sources = experiment.programs()
    if (cc or defines) and all(map(_is_linked, [sources, *experiment.tenants_programs()])):
        raise UsageError(
            f"{experiment.program_name()} is run as it is, so there is nothing to compile",
            hint="leave the compiler and its macros away, or name the sources",
        )
    if _is_linked(sources):
        return None  # the simulator reports an error if it is not an ELF file
    return toolchain.build(sources, cc=cc, defines={**_shape_of(experiment), **(defines or {})})


def _is_linked(program: Sequence[Path]) -> bool:
    """Returns true if it is not a source."""
    return len(program) == 1 and program[0].suffix not in toolchain.SOURCES


def card(experiment: Prepared) -> dict[str, Any]:
    """All parameters of an experiment's card."""
    return tomllib.loads(_card_text(experiment))


def _card_text(experiment: Prepared) -> str:
    nic = experiment.values.get("nic", {})
    nic = {"preset": nic} if isinstance(nic, str) else nic
    return _core.nic_show(nic.get("preset", "pspin"), _nics.settings(nic.get("set", [])), experiment.base_dir)


def _shape_of(experiment: Prepared) -> dict[str, int]:
    return dict(_shape_of_text(_card_text(experiment)))


@lru_cache(maxsize=64)
def _shape_of_text(text: str) -> Mapping[str, int]:
    return shape_of_card(tomllib.loads(text))


def shape(nic: str, sets: Sequence[str], *, base_dir: str = ".") -> dict[str, int]:
    """Macros that tell a program how many clusters and cores a PsPIN has; none for the published shape."""
    return shape_of_card(tomllib.loads(_core.nic_show(nic, list(sets), base_dir)))


def shape_of_card(card: Mapping[str, Any]) -> dict[str, int]:
    """The same for a card's parameters."""
    if "cluster" not in card:
        return {}  # building the card reports that it is not a PsPIN
    found = {"NB_CLUSTERS": card["n_clusters"], "NB_CORES": card["cluster"]["n_cores"]}
    return {name: count for name, count in found.items() if count != _PUBLISHED_SHAPE[name]}


def compiled_tenants(
    experiment: Prepared, *, first: toolchain.Build | None, cc: str | None, defines: Mapping[str, str | int] | None
) -> list[Path]:
    """Build the programs of tenants, each in the memory behind earlier ones; `first` is the experiment's program."""
    elfs = [first.elf if first else experiment.programs()[0]]
    given = [] if first else elfs.copy()
    defines = {**_shape_of(experiment), **(defines or {})}
    for sources in experiment.tenants_programs():
        if _is_linked(sources):
            elfs.append(sources[0])  # linked by its owner into unused memory; otherwise the simulator reports an error
            given.append(sources[0])
        else:
            for elf in given:
                _core.elf_info(str(elf))  # says what is wrong with it
            place = toolchain.place_after(elfs)
            elfs.append(toolchain.build(sources, cc=cc, defines=defines, place=place).elf)
    return elfs[1:]


def refuse_context_keywords(path: str | Path, given: Mapping[str, object]) -> None:
    """Refuse keywords whose values an experiment file gives for each context."""
    for name in _OF_A_CONTEXT:
        if given.get(name) is not None:
            raise UsageError(f"{name} belongs into {path}", hint=f"set it in a [[context]] table: {name} = ...")
