# SPDX-License-Identifier: Apache-2.0
"""The firmware of wired cards, and the files of their experiments."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spinet import _core, _files, firmware
from spinet._core import UsageError

__all__ = ["Firmware", "choose_firmware", "read"]


@dataclass(frozen=True, kw_only=True)
class Firmware:
    """Firmware of a card's cores: a linked program, or an image as a driver loads it."""

    elf: Path | None = None
    image: Path | None = None
    load: int | None = None  # address of an image without a header
    entry: int | None = None  # where execution of such an image begins; `load` if None
    messages: str = ""  # output of the compiler


def choose_firmware(
    nic: str,
    named: str | Path | Sequence[str | Path] | None,
    *,
    defines: Mapping[str, str | int] | None = None,
    cc: str | None = None,
    load: int | None = None,
    entry: int | None = None,
    set: Sequence[str] = (),
    base_dir: str | Path = ".",
) -> Firmware:
    """The firmware of these names: one that comes with spinet, sources to compile, an ELF file or an image."""
    names: Sequence[str | Path] = [named] if isinstance(named, (str, Path)) else list(named or ())
    if not names:
        own = _core.card_firmware(nic, list(set), str(base_dir))
        if own is None:
            return Firmware()
        names = [own]
    if entry is not None and load is None:
        raise UsageError(
            f"{names[0]}: an entry goes with a load address", hint="say where the image is loaded with --load"
        )
    first = Path(base_dir) / names[0]
    if len(names) == 1 and first.is_file() and first.suffix not in (".c", ".S"):
        if defines:
            raise UsageError(f"{names[0]} is not compiled, so macros change nothing", hint="leave -D away")
        with first.open("rb") as file:
            is_elf = file.read(4) == b"\x7fELF"
        if is_elf and load is not None:
            raise UsageError(f"{names[0]} is an ELF file, which contains its load address")
        return Firmware(elf=first) if is_elf else Firmware(image=first, load=load, entry=entry)
    if load is not None:
        raise UsageError(f"{names[0]}: only an image has a load address", hint="name an image")
    built = firmware.build([str(name) for name in names], defines=defines, cc=cc)
    return Firmware(elf=built.elf, messages=built.messages)


def read(path: Path) -> dict[str, Any]:
    """The experiment in a file.

    Raises
    ------
    InputError
        If it cannot be read, or is not an experiment for a wired card.
    """
    try:
        text = _files.read(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text: byte {error.start} is not UTF-8") from error
    kind = "json" if path.suffix == ".json" else "toml"
    _core.check_experiment(text, str(path), str(path.absolute().parent), kind, "modules")
    values: dict[str, Any] = json.loads(text) if kind == "json" else tomllib.loads(text)
    return values
