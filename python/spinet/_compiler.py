# SPDX-License-Identifier: Apache-2.0
"""Finding a compiler for a processor."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spinet import _arguments, _commands, _files
from spinet._build_errors import CompilerNotFound
from spinet._target import RISCV, Kind, Target

# Variables of the user's environment that compilers get: paths of programs and libraries.
_PASSED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A compiler that can make programs for a processor."""

    target: Target
    kind: Kind
    command: tuple[str, ...]
    version: str  # first line of its version
    identity: str  # changes when the compiler is replaced

    @property
    def compile_flags(self) -> tuple[str, ...]:
        """Flags for compiling, apart from the optimisation level and the user's own."""
        return (*self.target.kind_flags[self.kind], *self.target.common_flags)

    @property
    def link_flags(self) -> tuple[str, ...]:
        """Flags for linking without any library of the compiler."""
        lld = (f"-fuse-ld={_lld_for(self.command[0])}",) if self.kind == "clang" else ()
        machine = self.target.kind_flags[self.kind]
        return (*machine, "-static", *lld, *self.target.link_flags[self.kind], "-Wl,-e,_start")

    @property
    def library_flags(self) -> tuple[str, ...]:
        """Libraries for programs that call the compiler's helpers (64-bit division, floating point)."""
        if self.kind == "gcc":
            return ("-nostdlib", "-lgcc")
        if self.kind == "clang":
            # Debian packages no compiler-rt for RV32; its gcc for RISC-V brings the same functions.
            library = _libgcc()
            return ("-nostdlib", *((library,) if library else ()))
        return ()


def find_compiler(*, cc: str | None, cache: Path, target: Target = RISCV) -> Compiler:
    """The compiler that `cc` names, else the target's variable (`SPINET_CC`), else the first that is there: zig.

    Parameters
    ----------
    cc
        ``"zig"``, or a command such as ``"riscv64-unknown-elf-gcc"`` or ``"/opt/llvm/bin/clang -v"``.
    cache
        Folder that keeps each compiler's kind and version, so that each compiler is asked only once.
    target
        What to compile for.

    Raises
    ------
    CompilerNotFound
        If no compiler is found, or it does not compile for the target.
    """
    _arguments.check({"cc": cc})
    wanted = (os.environ.get(target.variable) or None) if cc is None else cc
    command = _first_of(target) if wanted is None else _resolve(wanted, target)
    status = os.stat(command[0])
    # gcc and clang start other programs, which they may find by PATH.
    started = "" if _is_zig(command) else os.environ.get("PATH", "")
    identity = hashlib.sha256(repr((command, status.st_size, status.st_mtime_ns, started)).encode()).hexdigest()
    note = cache / "compilers" / f"{identity}-{target.name}.json"
    answer = _noted(note, target)
    if answer is None:
        # Ask only after the check that the cache is writable: zig does not run without a writable folder.
        with _files.workshop(cache) as workshop:
            answer = _ask(command, target, environment(cache, workshop))
        with _files.keeping(cache):
            note.parent.mkdir(exist_ok=True)
            _files.write(note, json.dumps({"kind": answer[0], "version": answer[1]}))
    kind, version = answer
    return Compiler(target=target, kind=kind, command=command, version=version, identity=identity)


def _noted(note: Path, target: Target) -> tuple[Kind, str] | None:
    """Earlier output of a compiler, if it can be read."""
    try:
        known = json.loads(note.read_text())
        kind, version = known["kind"], known["version"]
        return (kind, version) if kind in target.kind_flags and isinstance(version, str) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def environment(cache: Path, workshop: Path) -> dict[str, str]:
    """The environment of compilers; they get no other variables of the user.

    Variables such as ``CPATH`` or ``CCC_OVERRIDE_OPTIONS`` change what a compiler makes. `PATH` stays, for compilers
    that start others; `identity` covers it. zig keeps the library of its helpers in `cache`. Objects
    go to the scratch folder, because zig would reuse an object that a full disk or a power cut left truncated.
    """
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    zig = {"ZIG_GLOBAL_CACHE_DIR": str(cache / "zig"), "ZIG_LOCAL_CACHE_DIR": str(workshop / "zig")}
    return {**passed, **zig, "HOME": str(workshop), "TMPDIR": str(workshop), "LC_ALL": "C.UTF-8"}


def run(
    compiler: Compiler, arguments: Sequence[str], *, cache: Path, workshop: Path
) -> subprocess.CompletedProcess[bytes]:
    """Run a compiler in an environment of our own."""
    command = (*compiler.command, *arguments)
    try:
        return _commands.run(command, env=environment(cache, workshop))
    except OSError as error:
        raise CompilerNotFound(f"{command[0]} does not run: {error.strerror}", hint=compiler.target.hint) from error


def _first_of(target: Target) -> tuple[str, ...]:
    """The first installed compiler in a target's list. If none is installed, the error names the first in the list."""
    missing: CompilerNotFound | None = None
    for wanted in target.commands:
        try:
            return _resolve(wanted, target)
        except CompilerNotFound as error:
            missing = missing or error
    assert missing is not None, "a target names a compiler"
    raise missing


def _zig_command(target: Target) -> tuple[str, ...]:
    package = importlib.util.find_spec("ziglang")
    if package is None or not package.submodule_search_locations:
        raise CompilerNotFound("the default compiler, ziglang, is not installed", hint=target.hint)
    folder = Path(package.submodule_search_locations[0])
    for name in ("zig", "zig.exe"):
        if (folder / name).is_file():
            return (str(folder / name), "cc")
    raise CompilerNotFound(f"{folder} holds no zig", hint=target.hint)


def _resolve(wanted: str, target: Target) -> tuple[str, ...]:
    if wanted == "zig":
        return _zig_command(target)
    try:
        words = shlex.split(wanted)
    except ValueError as error:
        raise CompilerNotFound(f"{wanted!r} is not a command: {str(error).lower()}", hint=target.hint) from error
    found = shutil.which(words[0]) if words else None
    if found is None:
        raise CompilerNotFound(f"no compiler {wanted!r} in the search path", hint=target.hint)
    return (os.path.abspath(found), *words[1:])


def _ask(command: tuple[str, ...], target: Target, env: dict[str, str]) -> tuple[Kind, str]:
    """Kind and version of a compiler, from its answer to `--version`."""
    output = _output((*command, "--version"), env)
    if output is None:
        raise CompilerNotFound(f"{shlex.join(command)} does not answer --version", hint=target.hint)
    first_line = output.splitlines()[0] if output else ""
    if _is_zig(command):
        zig = _output((command[0], "version"), env) or ""
        return "zig", f"zig {zig.strip()} ({first_line})"
    if "clang" in output:
        if "clang" not in target.kind_flags:
            raise CompilerNotFound(
                f"{shlex.join(command)} is a clang, which does not link for {target.name}", hint=target.hint
            )
        return "clang", first_line
    machine = _output((*command, "-dumpmachine"), env)
    if machine is None or not machine.startswith(target.machine):
        other = (machine or "an unknown machine").strip()
        raise CompilerNotFound(f"{shlex.join(command)} compiles for {other}, not for {target.name}", hint=target.hint)
    return "gcc", first_line


def _is_zig(command: Sequence[str]) -> bool:
    return command[-1] == "cc" and Path(command[0]).name.startswith("zig")


def _output(command: tuple[str, ...], env: dict[str, str] | None = None) -> str | None:
    try:
        done = _commands.run(command, env=env)
    except OSError:
        return None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def _lld_for(clang: str) -> str:
    """The lld that belongs to a clang: clang-19 goes with ld.lld-19."""
    suffix = Path(clang).name.removeprefix("clang")
    return shutil.which(f"ld.lld{suffix}") or "lld"


@functools.cache
def _libgcc() -> str | None:
    output = _output(("riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32", "-print-libgcc-file-name"))
    return output.strip() if output else None
