# SPDX-License-Identifier: Apache-2.0
"""Finding a RISC-V compiler, and the flags that make each kind produce the same sort of code."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from spinet._build_errors import CompilerNotFound

Kind = Literal["zig", "clang", "gcc"]

# Frame pointers, strict alignment and assumptions about address 0 would all change what a handler costs or does:
# packed fields are read by one load, and a store through NULL is a store, which the memory protection then catches.
_COMMON_FLAGS = (
    "-ffreestanding",
    "-fomit-frame-pointer",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-delete-null-pointer-checks",
    "-fno-pic",
    "-falign-functions=16",  # a fetch line: what a handler costs does not hang on what precedes it
    "-D__riscv__=1",
)

_KIND_FLAGS: dict[Kind, tuple[str, ...]] = {
    "zig": (
        "-target",
        "riscv32-freestanding-none",
        "-mcpu=generic_rv32+m+a+c+unaligned_scalar_mem",
        "-mabi=ilp32",
        "-fno-sanitize=undefined",
    ),
    "clang": (
        "--target=riscv32-unknown-elf",
        "-march=rv32imac_zicsr_zifencei",
        "-mabi=ilp32",
        "-mno-strict-align",
    ),
    "gcc": (
        "-march=rv32imac",
        "-mabi=ilp32",
        "-misa-spec=2.2",  # so that rv32imac includes the CSR instructions and libgcc's multilib still matches
        "-mno-strict-align",
        "-mtune=thead-c906",  # the default's costs, except that misaligned accesses are not shunned
    ),
}

_HINT = "pip install ziglang==0.17.0, or name a RISC-V gcc or clang with --cc or SPINET_CC"


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A compiler that can make RV32IMAC programs."""

    kind: Kind
    command: tuple[str, ...]
    version: str  # the first line it says about itself
    identity: str  # changes when the compiler is replaced

    @property
    def compile_flags(self) -> tuple[str, ...]:
        """Flags for compiling, apart from the optimisation level and the user's own."""
        return (*_KIND_FLAGS[self.kind], *_COMMON_FLAGS)

    @property
    def link_flags(self) -> tuple[str, ...]:
        """Flags for linking without any library of the compiler."""
        own = {
            "zig": ("-nostartfiles",),
            "clang": (f"-fuse-ld={_lld_for(self.command[0])}",),
            "gcc": ("-nostartfiles", "-Wl,--no-warn-rwx-segments"),
        }
        return (*_KIND_FLAGS[self.kind], "-static", *own[self.kind], "-Wl,--gc-sections", "-Wl,-e,_start")

    @property
    def library_flags(self) -> tuple[str, ...]:
        """What to add to the link when the program calls the compiler's helpers (64-bit division, floating point)."""
        if self.kind == "gcc":
            return ("-nostdlib", "-lgcc")
        if self.kind == "clang":
            # Debian packages no compiler-rt for RV32; its gcc for RISC-V brings the same functions.
            library = _libgcc()
            return ("-nostdlib", *((library,) if library else ()))
        return ()


def find_compiler(*, cc: str | None, cache: Path) -> Compiler:
    """The compiler that `cc` names, else `SPINET_CC`, else zig from PyPI.

    Parameters
    ----------
    cc
        ``"zig"``, or a command such as ``"riscv64-unknown-elf-gcc"`` or ``"/opt/llvm/bin/clang -v"``.
    cache
        Folder that remembers what each compiler said about itself, so that asking again costs nothing.

    Raises
    ------
    CompilerNotFound
        If there is none, or it does not compile for RISC-V.
    """
    wanted = cc or os.environ.get("SPINET_CC") or "zig"
    command = _zig_command() if wanted == "zig" else _resolve(wanted)
    status = os.stat(command[0])
    identity = hashlib.sha256(repr((command, status.st_size, status.st_mtime_ns)).encode()).hexdigest()
    note = cache / "compilers" / f"{identity}.json"
    try:
        known = json.loads(note.read_text())
        return Compiler(kind=known["kind"], command=command, version=known["version"], identity=identity)
    except (OSError, ValueError, KeyError):
        pass
    kind, version = _ask(command)
    note.parent.mkdir(parents=True, exist_ok=True)
    scratch = note.with_suffix(f".{os.getpid()}.tmp")
    scratch.write_text(json.dumps({"kind": kind, "version": version}))
    os.replace(scratch, note)
    return Compiler(kind=kind, command=command, version=version, identity=identity)


def _zig_command() -> tuple[str, ...]:
    package = importlib.util.find_spec("ziglang")
    if package is None or not package.submodule_search_locations:
        raise CompilerNotFound("the default compiler, ziglang, is not installed", hint=_HINT)
    folder = Path(package.submodule_search_locations[0])
    for name in ("zig", "zig.exe"):
        if (folder / name).is_file():
            return (str(folder / name), "cc")
    raise CompilerNotFound(f"{folder} holds no zig", hint=_HINT)


def _resolve(wanted: str) -> tuple[str, ...]:
    words = shlex.split(wanted)
    found = shutil.which(words[0]) if words else None
    if found is None:
        raise CompilerNotFound(f"no compiler {wanted!r} in the search path", hint=_HINT)
    return (os.path.abspath(found), *words[1:])


def _ask(command: tuple[str, ...]) -> tuple[Kind, str]:
    """Kind and version of a compiler, from what it says about itself."""
    said = _output((*command, "--version"))
    if said is None:
        raise CompilerNotFound(f"{shlex.join(command)} does not answer --version", hint=_HINT)
    first_line = said.splitlines()[0] if said else ""
    if command[-1] == "cc" and Path(command[0]).name.startswith("zig"):
        zig = _output((command[0], "version")) or ""
        return "zig", f"zig {zig.strip()} ({first_line})"
    if "clang" in said:
        return "clang", first_line
    machine = _output((*command, "-dumpmachine"))
    if machine is None or not machine.startswith("riscv"):
        target = (machine or "an unknown machine").strip()
        raise CompilerNotFound(f"{shlex.join(command)} compiles for {target}, not for RISC-V", hint=_HINT)
    return "gcc", first_line


def _output(command: tuple[str, ...]) -> str | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def _lld_for(clang: str) -> str:
    """The lld that belongs to a clang: clang-19 goes with ld.lld-19."""
    suffix = Path(clang).name.removeprefix("clang")
    return shutil.which(f"ld.lld{suffix}") or "lld"


@functools.cache
def _libgcc() -> str | None:
    said = _output(("riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32", "-print-libgcc-file-name"))
    return said.strip() if said else None
