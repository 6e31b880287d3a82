# SPDX-License-Identifier: Apache-2.0
"""`compile_commands.json`: the commands that compile sources, for editors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from spinet import _files
from spinet._build_cache import Request
from spinet._compiler import Compiler
from spinet._core import UsageError

FILE = "compile_commands.json"


def entries(request: Request, compiler: Compiler) -> list[dict[str, Any]]:
    """One entry for each source: its folder, its path, and the words of the command."""
    words = [*_command(request, compiler), *request.flags, *request.include_flags()]
    return [
        {
            "directory": str(source.parent),
            "file": str(source),
            "arguments": [*words, "-c", str(source), "-o", f"{source.stem}.o"],
        }
        for source in request.sources
    ]


def _command(request: Request, compiler: Compiler) -> list[str]:
    """The compiler with the flags of the target.

    `zig cc` has its own names of processors, which clangd does not know. `zig clang` is the plain clang inside zig. So
    the command also has the flags that `zig cc` adds: the compiler's headers, and NDEBUG if optimisation is on.
    """
    if compiler.kind != "zig":
        return [*compiler.command, *compiler.compile_flags]
    target, zig = compiler.target, Path(compiler.command[0])
    headers = ("-nostdinc", "-isystem", str(zig.parent / "lib" / "include"))
    optimised = () if "-O0" in request.flags else ("-DNDEBUG",)
    return [str(zig), "clang", *target.clang_flags, *target.common_flags, *headers, *optimised]


def write(made: list[dict[str, Any]], folder: Path | None = None) -> list[Path]:
    """Write entries beside their sources, or into a folder; entries of other sources stay. Returns the files.

    Raises
    ------
    UsageError
        If a file exists that is not such a list.
    """
    by_folder: dict[Path, list[dict[str, Any]]] = {}
    for entry in made:
        by_folder.setdefault(folder or Path(entry["directory"]), []).append(entry)
    texts = {}
    for place, ours in by_folder.items():
        names = {entry["file"] for entry in ours}
        others = [entry for entry in _read(place / FILE) if entry.get("file") not in names]
        texts[place / FILE] = json.dumps([*others, *ours], indent=2) + "\n"
    for path, text in texts.items():
        try:
            _files.write(path, text)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}") from error
    return list(texts)


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        known = json.loads(_files.read(path))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is not JSON: {error}", hint="remove it") from None
    if not isinstance(known, list) or not all(isinstance(entry, dict) for entry in known):
        raise UsageError(f"{path} is not a list of commands", hint="remove it")
    return known
