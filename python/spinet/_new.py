# SPDX-License-Identifier: Apache-2.0
"""A new project: a program for a card with its test, its experiment, and a CI workflow."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from spinet import _compile_commands, _core, _kinds, _vscode, firmware, toolchain
from spinet._core import InputError, UsageError
from spinet.api import prepare
from spinet.output import OutputFolder

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_PLACES = {"gitignore": ".gitignore", "workflow.yml": ".github/workflows/test.yml"}
_RESERVED = {"test", "main", "handler"}  # names that would collide with functions or modules


def make(folder: Path, *, nic: str = "pspin") -> list[Path]:
    """Write a project into a new folder; returns its files, relative to the folder.

    Parameters
    ----------
    folder
        The folder to make. Its name is the name of the program.
    nic
        The card, by name or file.

    Raises
    ------
    UsageError
        If the folder exists, its name cannot be the name of a program, or the card runs no programs.
    """
    name = folder.absolute().name
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name of a program: write letters, digits, _ and -, first a letter")
    if name in _RESERVED:
        raise UsageError(f"{name} cannot be the name of a program, because other things are called {name}")
    if folder.exists():
        raise UsageError(f"{folder} exists", hint="name another folder")
    kind = _kinds.of_nic(nic)
    if kind is None:
        known = ", ".join(known for known, _about in _core.nic_list())
        raise UsageError(f"there is no card {nic}", hint=f"spinet has {known}")
    card = str(Path(nic).absolute()) if Path(nic).is_file() else nic
    own = _core.card_firmware(nic, [], ".") if kind == _kinds.MODULES else None
    if kind == _kinds.MODULES and own is None:
        raise UsageError(f"{nic} runs no firmware that comes with spinet", hint=f"try {', '.join(firmware.shipped())}")
    identifier = name.replace("-", "_")
    values = {"NAME": identifier, "NIC": card, "VERSION": _core.version()}
    with OutputFolder(folder) as made:
        if own is not None:
            sources = _copy_firmware(made.path, own)
            values["FIRMWARE"] = own
            values["SOURCES"] = "\n".join(f'    "firmware/{source.name}",' for source in sources)
            values["BUILD"] = "spinet firmware firmware --compile-commands"
        else:
            target = " --target panic" if kind == _kinds.CHAINS else ""
            values["BUILD"] = f"spinet build{target} --compile-commands {identifier}.c"
        for template in sorted([*(_TEMPLATES / "all").iterdir(), *(_TEMPLATES / kind).iterdir()]):
            _fill(template, made.path, values)
        for path, text in _vscode.files(["debug", "experiment.toml"]).items():
            (made.path / path).parent.mkdir(exist_ok=True)
            (made.path / path).write_text(text)
        _check(made.path, nic)
        _write_commands(made.path, kind, identifier, folder.absolute())
        made.commit()
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _fill(template: Path, folder: Path, values: Mapping[str, str]) -> None:
    """Write a file from its template."""
    text = re.sub(r"@([A-Z]+)@", lambda found: values[found[1]], template.read_text())
    name = template.name.removesuffix(".in").replace("NAME", values["NAME"])
    place = folder / _PLACES.get(name, name)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def _copy_firmware(folder: Path, name: str) -> list[Path]:
    """Copy firmware that comes with spinet; returns its sources."""
    home = firmware.firmware_dir()
    shutil.copytree(home / name, folder / "firmware")
    shutil.copytree(home / "common", folder / "common")
    return sorted(path for path in (folder / "firmware").iterdir() if path.suffix in (".c", ".S"))


def _check(folder: Path, nic: str) -> None:
    """Check that the experiment of the project can run on the card."""
    try:
        prepare(folder / "experiment.toml", {})
    except InputError as error:
        raise UsageError(f"{nic} cannot run such a program: {error}") from None


def _write_commands(folder: Path, kind: str, name: str, place: Path) -> None:
    """Write the commands for editors, with the final paths of the sources."""
    if kind == _kinds.MODULES:
        folder, place = folder / "firmware", place / "firmware"
        entries = firmware.compile_commands(folder)
    else:
        target: toolchain.CardTarget = "panic" if kind == _kinds.CHAINS else "pspin"
        entries = toolchain.compile_commands([folder / f"{name}.c"], target=target)
    here, there = str(folder.absolute()), str(place)
    for entry in entries:
        entry["directory"], entry["file"] = (entry[key].replace(here, there) for key in ("directory", "file"))
        entry["arguments"] = [word.replace(here, there) for word in entry["arguments"]]
    _compile_commands.write(entries, folder)
