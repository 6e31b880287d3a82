# SPDX-License-Identifier: Apache-2.0
"""The programs of an experiment: handlers, firmware and offload units, compiled and linked."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spinet import _core, _files, _kinds, card_firmware, chains, toolchain
from spinet import _experiments as experiments
from spinet._build_errors import SourceNotFound
from spinet._core import InputError, UsageError
from spinet._experiments import Prepared


def several(given: Any, name: str = "program") -> list[Any]:
    """One thing or several, as a list.

    Raises
    ------
    UsageError
        If it is neither; with the name of the keyword.
    """
    if given is None:
        return []
    if isinstance(given, str | Path | Mapping):
        return [given]
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        raise UsageError(f"{name} is {given!r}, must be a text, or a list of them")
    return list(given)


@dataclass(frozen=True, kw_only=True)
class Ready:
    """An experiment with its programs built.

    Attributes
    ----------
    elfs
        Linked programs by the name of the tenant or service that runs them; ``""`` is the card's own.
    shown
        The user's name of each program, by the path of the linked program.
    messages
        Output of the compiler.
    threads
        Networks: number of threads that simulate; 0 for one per core.
    keep_nodes, keep_time, keep_messages
        Networks: nodes whose records are kept, the window of simulated time of their rows, and selections of messages.
        None keeps all.
    hosts
        Networks: the factory of each host's program, by node name.
    peers
        Networks on several processes: number of this process, number of processes, and a function that exchanges bytes
        with the others.
    """

    experiment: Prepared
    elfs: Mapping[str, Path]
    shown: Mapping[str, str] = dataclasses.field(default_factory=dict)
    messages: str = ""
    threads: int = 0
    keep_nodes: tuple[str, ...] | None = None
    keep_time: str | None = None
    keep_messages: tuple[str, ...] | None = None
    peers: tuple[int, int, Callable[[list[bytes]], list[bytes]]] | None = None
    hosts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def window(self) -> tuple[int, int | None] | None:
        """`keep_time` in ps."""
        return None if self.keep_time is None else _core.window_ps(self.keep_time)


def kept(content: bytes, *, kind: str = "memory", suffix: str = ".bin") -> Path:
    """Path of a file with this content, which later runs of the same experiment find again."""
    cache = toolchain.cache_dir()
    path = cache / kind / f"{hashlib.sha256(content).hexdigest()[:24]}{suffix}"
    if not path.is_file() or path.read_bytes() != content:  # as after a power cut
        with _files.keeping(cache):
            path.parent.mkdir(parents=True, exist_ok=True)
            _files.write(path, content)
    return path


def built(
    experiment: Prepared,
    given: Mapping[str, Any],
    *,
    cc: str | None,
    defines: Mapping[str, str | int] | None,
) -> Ready:
    """Compile the programs of an experiment, or the firmware that `given` names.

    Raises
    ------
    BuildError
        If a program does not compile.
    """
    return _kinds.get(experiment.kind).built(experiment, given, cc=cc, defines=defines)


def with_services(experiment: Prepared, *, cc: str | None, defines: Mapping[str, str | int] | None) -> Ready:
    """The programs of services."""
    builds = chains.compiled(experiment, cc=cc, defines=defines)
    return Ready(experiment=experiment, elfs={name: build.elf for name, build in builds.items()})


def with_handlers(experiment: Prepared, *, cc: str | None, defines: Mapping[str, str | int] | None) -> Ready:
    """The handlers, and those of tenants."""
    build = experiments.compiled(experiment, cc=cc, defines=defines)
    tenants = experiments.compiled_tenants(experiment, first=build, cc=cc, defines=defines)
    names = (tenant["name"] for tenant in experiment.values.get("tenant", ()))
    elfs = dict(zip(names, tenants, strict=False))
    if build is None:
        return Ready(experiment=experiment, elfs=elfs)
    # The user knows the sources, not the path in the build cache.
    shown = {str(build.elf): experiment.program_name()}
    return Ready(experiment=experiment, elfs={**elfs, "": build.elf}, shown=shown, messages=build.messages)


PLAIN = "plain"  # the NIC of a node that runs no program


def _nic_of(values: Mapping[str, Any]) -> str | None:
    nic = values.get("nic")
    return nic.get("preset") if isinstance(nic, Mapping) else nic


_OF_NODE = ("name", "count", "ip", "mac", "send", "messages", "rank", "thread", "host_program")
"""Keys of a node that do not describe its card."""


def of_nodes(
    experiment: Prepared, given: Mapping[str, Any], *, cc: str | None, defines: Mapping[str, str | int] | None
) -> Ready:
    """Build the programs of a network's nodes. Their keys are ``ENTRY/NAME``: position in ``[[nodes]]`` and name."""
    elfs: dict[str, Path] = {}
    shown: dict[str, str] = {}
    messages, nodes = [], []
    # Entries with equal cards share a build: to look into the build cache takes tens of milliseconds.
    done: dict[str, tuple[Any, Ready]] = {}
    kept, selections = (several(given.get(name), name) for name in ("keep_nodes", "keep_messages"))
    for entry, node in enumerate(experiment.values.get("nodes", ())):
        values = {key: value for key, value in node.items() if key not in _OF_NODE}
        if experiment.values.get("nic", {}).get("preset"):
            values.setdefault("nic", experiment.values["nic"])
        text, base_dir = json.dumps(values), experiment.base_dir
        if not values or _nic_of(values) == PLAIN:
            _must_be_plain(node["name"], values)
            nodes.append(node)
            continue
        if text not in done:
            kind = _core.kind_of_experiment(text, base_dir, "json")
            try:
                checked = json.loads(_core.check_experiment(text, experiment.file, base_dir, "json", kind, lines=True))
            except InputError as error:
                raise InputError(f"node `{node['name']}`: {error}") from None
            checked["nic"] = {"set": [], **checked["nic"]}
            prepared = Prepared(values=checked, file=experiment.file, base_dir=base_dir, kind=kind)
            try:
                done[text] = (checked.get("firmware"), built(prepared, {}, cc=cc, defines=defines))
            except (SourceNotFound, UsageError) as error:
                same = SourceNotFound if isinstance(error, SourceNotFound) else UsageError
                raise same(f"node `{node['name']}`: {error}", hint=error.hint) from None
        stated, ready = done[text]
        found = ready.experiment.values.get("firmware")
        # The simulator finds a firmware image by its path in the experiment.
        nodes.append(node if found == stated else {**node, "firmware": found})
        elfs.update({f"{entry}/{name}": elf for name, elf in ready.elfs.items()})
        shown.update(ready.shown)
        messages.append(ready.messages)
    return Ready(
        experiment=dataclasses.replace(experiment, values={**experiment.values, "nodes": nodes}),
        elfs=elfs,
        shown=shown,
        messages="".join(dict.fromkeys(messages)),
        threads=given.get("threads") or 0,
        keep_nodes=tuple(one.strip() for name in kept for one in str(name).split(",")) or None,
        keep_time=given.get("keep_time"),
        keep_messages=tuple(str(one) for one in selections) or None,
        hosts=_host_programs(experiment, given.get("host_programs") or {}),
    )


def _must_be_plain(node: str, values: Mapping[str, Any]) -> None:
    """Refuse keys of a card for a node without one: they would have no effect."""
    nic = values.get("nic")
    keys = [key for key in values if key != "nic"]
    if isinstance(nic, Mapping) and nic.get("set"):
        keys.append("nic.set")
    if keys:
        raise UsageError(
            f"node `{node}`: `{keys[0]}` is for cards, and its NIC is {PLAIN}", hint="name another card with `nic`"
        )


def _host_programs(experiment: Prepared, own: Mapping[str, Any]) -> Mapping[str, Any]:
    """Factories of the host programs that the experiment or the caller names, by node name."""
    entries = experiment.values.get("nodes", ())
    if not own and not any("host_program" in entry for entry in entries):
        return {}
    from spinet import host_program

    text, file = experiment.text(), experiment.file
    found = _core.network_overview(text, file, experiment.base_dir, experiment.format(), is_whole=False)
    return host_program.factories(json.loads(found)["nodes"], entries, own, experiment.base_dir)


def with_firmware(
    experiment: Prepared, given: Mapping[str, Any], *, cc: str | None, defines: Mapping[str, str | int] | None
) -> Ready:
    """The firmware of a wired card."""
    nic, base_dir = experiment.values["nic"], experiment.base_dir
    names, load, entry = given.get("firmware") or None, given.get("load"), given.get("entry")
    stated = experiment.values.get("firmware")
    if names is None and stated is not None:
        stated = dict(stated) if isinstance(stated, Mapping) else {"program": stated}
        stated_names = several(stated.get("program"))
        names = [Path(base_dir, name) if Path(base_dir, name).is_file() else name for name in stated_names] or None
        addresses = {
            key: _core.address(stated[key], what=key) for key in ("load", "entry") if stated.get(key) is not None
        }
        load = addresses.get("load") if load is None else load
        entry = addresses.get("entry") if entry is None else entry
    chosen = card_firmware.choose_firmware(
        nic["preset"],
        names,
        defines=defines,
        cc=cc,
        load=load,
        entry=entry,
        set=nic["set"],
        base_dir=base_dir if given.get("firmware") is None or not given["firmware"] else ".",
    )
    if chosen.image is not None:
        image = chosen.image if experiment.file == experiments.NO_FILE else chosen.image.absolute()
        given_addresses = {"load": chosen.load, "entry": chosen.entry}
        stated = {key: value for key, value in given_addresses.items() if value is not None}
        values = {**experiment.values, "firmware": {"program": str(image), **stated}}
        experiment = dataclasses.replace(experiment, values=values)
    elfs = {} if chosen.elf is None else {"": chosen.elf}
    return Ready(experiment=experiment, elfs=elfs, messages=chosen.messages)
