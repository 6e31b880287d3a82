# SPDX-License-Identifier: Apache-2.0
"""Experiments with chains of offloads: services, chains, tenants, and policies written in Python."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spinet import _core, _files, _nics, toolchain
from spinet._core import InputError, UsageError
from spinet._experiments import NO_FILE, Prepared, base_dir_of, plain, refusal

if TYPE_CHECKING:
    from spinet._kinds import Kind

__all__ = ["Policy"]

Entry = str | Mapping[str, Any]  # a table of an experiment file, or its text form


class Policy(Protocol):
    """Selects the packet that a service takes next (docs/guides/write-a-policy.md).

    It may also have ``served(rank)``, called when a packet goes to a unit; ``dropped(packet, rank)``, when the packet
    with the greatest rank is dropped; and ``eligible(rank)``, the first cycle in which a packet of that rank may go.
    An exception in a method ends the run; `spinet.run` raises it.
    """

    def rank(self, packet: _core.PacketArrival) -> int:
        """Rank of an arriving packet, 0 to 2^64 - 1. The smallest goes first, the greatest is dropped first."""
        ...


def prepare(experiment: str | Path | Mapping[str, Any] | None, over: Mapping[str, Any], *, kind: Kind) -> Prepared:
    """The checked experiment: a file or mapping, with the values of `over` in place of its own; None is ignored."""
    values: dict[str, Any] = {}
    file, base_dir = NO_FILE, str(Path.cwd())
    if isinstance(experiment, Mapping):
        values, base_dir = plain(experiment), base_dir_of(experiment)
    elif experiment is not None:
        file, base_dir = str(experiment), str(Path(experiment).absolute().parent)
        values = _read(Path(experiment), base_dir, kind.name)
    for key, value in over.items():
        if value is None or value == []:
            continue
        if key in ("nic", "set"):
            nic = values.get("nic", kind.example)
            table = dict(nic) if isinstance(nic, Mapping) else {"preset": nic}
            if key == "nic":
                table["preset"] = value
            else:
                table["set"] = [*_nics.settings(table.get("set", [])), *value]
            values["nic"] = table
        else:
            values[key] = value
    if "chain" in over and not values.get("chain") and "rmt" not in values:
        raise UsageError("there is no chain", hint="name one, such as 'all: aes', or an experiment file that has some")

    def check(text: str, *, format: str) -> str:
        return _core.check_experiment(text, file, base_dir, format, kind.name)

    try:
        checked = check(json.dumps(values, default=str), format="json")
    except InputError as error:
        if file != NO_FILE:
            raise
        raise refusal(error, values, check) from None
    return Prepared(values=json.loads(checked), file=file, base_dir=base_dir, kind=kind.name)


def _read(path: Path, base_dir: str, kind: str) -> dict[str, Any]:
    try:
        text = _files.read(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text: byte {error.start} is not UTF-8") from error
    format = "json" if path.suffix == ".json" else "toml"
    _core.check_experiment(text, str(path), base_dir, format, kind)
    # Leave out defaults: some of them, such as the seed of a generator, depend on values that the caller replaces.
    values: dict[str, Any] = json.loads(text) if format == "json" else tomllib.loads(text)
    return values


def compiled(
    experiment: Prepared, *, cc: str | None = None, defines: Mapping[str, str | int] | None = None
) -> dict[str, toolchain.Build]:
    """Build the programs of services that are sources, by the names of the services."""
    found = {}
    for service in experiment.values.get("service", ()):
        sources = [Path(name) for name in service.get("program", ())]
        if any(source.suffix in toolchain.SOURCES for source in sources):
            handler = service.get("handler")
            found[service["name"]] = toolchain.build(sources, target="panic", handler=handler, cc=cc, defines=defines)
    return found
