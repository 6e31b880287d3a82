# SPDX-License-Identifier: Apache-2.0
"""`spinet doctor`: checks that everything that spinet needs is installed."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from spinet.cli import parameters


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One check and its result."""

    what: str
    state: str  # "ok", "missing", or "optional": missing, but only some commands need it
    detail: str


@click.command(short_help="Check what spinet needs.")
@click.option("--cc", metavar="COMMAND", help="Check this compiler instead of spinet's.")
@parameters.json_option
def command(cc: str | None, as_json: bool) -> int:
    """Check that everything that spinet needs is installed, and list the versions.

    The compiler is tried on a small handler. Exit code 1 if something is missing.

    \b
    Examples:
      spinet doctor
      spinet doctor --cc riscv64-unknown-elf-gcc
    """
    findings = [
        _python(),
        _try("simulator", _simulator),
        _try("compiler", lambda: _compiler(cc)),
        _try("sdk", _sdk),
        *(_library(name) for name in ("click", "numpy", "pyarrow", "rich")),
        _optional("qemu-riscv32", "tests compare instructions with it: apt install qemu-user"),
        _optional("gdb-multiarch", "`spinet debug` is for it: apt install gdb-multiarch"),
        _optional("valgrind", "`make bench` counts host instructions with it: apt install valgrind"),
    ]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(f"{finding.state:<9} {finding.what:<13} {finding.detail}")
    return int(any(finding.state == "missing" for finding in findings))


def _python() -> Finding:
    detail = f"{platform.python_version()}, {sys.executable}"
    return Finding(what="python", state="ok" if sys.version_info >= (3, 11) else "missing", detail=detail)


def _try(what: str, look: Callable[[], str]) -> Finding:
    """Any exception is the result of the check."""
    try:
        return Finding(what=what, state="ok", detail=look())
    except Exception as error:
        hint = getattr(error, "hint", "")
        return Finding(what=what, state="missing", detail=f"{error}{f'; {hint}' if hint else ''}")


def _simulator() -> str:
    from spinet import _core

    cards = ", ".join(name for name, _about in _core.nic_list())
    return f"{_core.version()}, cards: {cards}"


def _compiler(cc: str | None) -> str:
    from spinet import toolchain

    build = toolchain.build([toolchain.sdk_dir() / "examples" / "empty.c"], cc=cc)
    return build.version


def _sdk() -> str:
    from spinet import toolchain

    return str(toolchain.sdk_dir())


def _library(name: str) -> Finding:
    def look() -> str:
        importlib.import_module(name)  # a real use, which also finds broken installations
        return importlib.metadata.version(name)

    return _try(name, look)


def _optional(program: str, reason: str) -> Finding:
    found = shutil.which(program)
    if found is None:
        return Finding(what=program, state="optional", detail=f"not installed; {reason}")
    try:
        done = subprocess.run([found, "--version"], capture_output=True, text=True, errors="replace", check=True)
    except (OSError, subprocess.CalledProcessError):
        return Finding(what=program, state="optional", detail=f"{found} does not run; {reason}")
    first_line = done.stdout.splitlines()[0] if done.stdout else ""
    return Finding(what=program, state="ok", detail=f"{first_line}, {Path(found)}")
