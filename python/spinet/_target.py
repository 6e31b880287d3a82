# SPDX-License-Identifier: Apache-2.0
"""The processors that programs are built for, and the flags of each kind of compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["zig", "clang", "gcc"]


@dataclass(frozen=True, kw_only=True)
class Target:
    """A processor, as compilers know it."""

    name: str
    machine: str  # how gcc's -dumpmachine begins
    common_flags: tuple[str, ...]
    kind_flags: Mapping[Kind, tuple[str, ...]]  # kinds of compilers that are not listed cannot compile for it
    link_flags: Mapping[Kind, tuple[str, ...]]
    clang_flags: tuple[str, ...]  # the same flags for plain clang, as `zig cc` translates them
    commands: tuple[str, ...]  # compilers to look for, in this order, where nobody names one
    variable: str  # environment variable that names one
    hint: str


# Frame pointers, strict alignment and assumptions about address 0 would all change what a handler costs or does:
# packed fields are read by one load, and a store through NULL is a store, which the memory protection then catches.
_RISCV_COMMON = (
    "-ffreestanding",
    "-fomit-frame-pointer",
    "-ffunction-sections",
    "-fdata-sections",
    "-fno-delete-null-pointer-checks",
    "-fno-pic",
    "-falign-functions=16",  # a fetch line, so that a handler's cost does not depend on the code before it
    "-D__riscv__=1",
)

# Errors of newer compilers that PsPIN's compiler only warned about, so that its handlers compile unchanged.
_OLD_C = ("int-conversion", "incompatible-pointer-types", "implicit-function-declaration", "implicit-int")
_ONLY_WARN = tuple(f"-Wno-error={name}" for name in _OLD_C)
_CLANG_ONLY_WARN = (
    *_ONLY_WARN,
    "-Wno-error=incompatible-function-pointer-types",
    "-Wno-error=return-mismatch",
    "-Wno-unknown-warning-option",  # older ones do not know the names
)

_RISCV_KINDS: dict[Kind, tuple[str, ...]] = {
    "zig": (
        "-target",
        "riscv32-freestanding-none",
        "-mcpu=generic_rv32+m+a+c+unaligned_scalar_mem",
        "-mabi=ilp32",
        "-fno-sanitize=undefined",
        *_CLANG_ONLY_WARN,
    ),
    "clang": (
        "--target=riscv32-unknown-elf",
        "-march=rv32imac_zicsr_zifencei",
        "-mabi=ilp32",
        "-mno-strict-align",
        *_CLANG_ONLY_WARN,
    ),
    "gcc": (
        "-march=rv32imac",
        "-mabi=ilp32",
        "-misa-spec=2.2",  # so that rv32imac includes the CSR instructions and libgcc's multilib still matches
        "-mno-strict-align",
        "-mtune=thead-c906",  # the costs of the default tuning, but misaligned accesses are allowed
        *_ONLY_WARN,
    ),
}

RISCV = Target(
    name="RISC-V",
    machine="riscv",
    common_flags=_RISCV_COMMON,
    kind_flags=_RISCV_KINDS,
    link_flags={
        "zig": ("-nostartfiles", "-Wl,--gc-sections"),
        "clang": ("-Wl,--gc-sections",),
        "gcc": ("-nostartfiles", "-Wl,--no-warn-rwx-segments", "-Wl,--gc-sections"),
    },
    clang_flags=_RISCV_KINDS["clang"],
    commands=("zig",),
    variable="SPINET_CC",
    hint="pip install ziglang==0.17.0, or name a RISC-V gcc or clang with --cc or SPINET_CC",
)

_RV32I_CLANG = ("--target=riscv32-unknown-elf", "-march=rv32i_zicsr_zifencei", "-mabi=ilp32", *_CLANG_ONLY_WARN)

# The instruction set of a core-based unit of PANIC: only RV32I, no misaligned accesses.
RV32I = Target(
    name="RV32I",
    machine="riscv",
    common_flags=(
        "-ffreestanding",
        "-fomit-frame-pointer",
        "-ffunction-sections",
        "-fdata-sections",
        "-fno-delete-null-pointer-checks",
        "-fno-pic",
        "-falign-functions=64",  # a line of its caches
        "-D__riscv__=1",
        "-DSPIN_PANIC=1",
        "-DNB_CLUSTERS=1",
        "-DNB_CORES=1",
    ),
    kind_flags={
        "zig": (
            "-target",
            "riscv32-freestanding-none",
            "-mcpu=generic_rv32",
            "-mabi=ilp32",
            "-fno-sanitize=undefined",
            *_CLANG_ONLY_WARN,
        ),
        "clang": _RV32I_CLANG,
        "gcc": ("-march=rv32i", "-mabi=ilp32", "-misa-spec=2.2", "-mstrict-align", *_ONLY_WARN),
    },
    link_flags=RISCV.link_flags,
    clang_flags=_RV32I_CLANG,
    commands=RISCV.commands,
    variable=RISCV.variable,
    hint=RISCV.hint,
)

# Big-endian MIPS II, as the R4000 of a card runs it: no operating system, no position-independent code, no small data,
# and no jump tables, which would be in slow memory. The compiler adds no calls of memcpy and memset.
MIPS = Target(
    name="MIPS",
    machine="mips-",
    common_flags=(
        "-ffreestanding",
        "-fomit-frame-pointer",
        "-fno-delete-null-pointer-checks",
        "-fno-builtin",
        "-fno-jump-tables",
        "-fno-pic",
        "-mno-abicalls",
    ),
    kind_flags={
        "zig": (
            "-target",
            "mips-freestanding-eabi",
            "-mcpu=mips2",
            "-mno-gpopt",
            "-fno-sanitize=undefined",
        ),
        # Reserve hi and lo for multiplication; otherwise, gcc keeps other values in them.
        "gcc": (
            "-mips2",
            "-mabi=32",
            "-EB",
            "-msoft-float",
            "-G0",
            "-ffixed-hi",
            "-ffixed-lo",
            "-fno-tree-loop-distribute-patterns",
        ),
    },
    link_flags={
        "zig": ("-nostartfiles",),
        "gcc": ("-nostartfiles", "-no-pie", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments"),
    },
    clang_flags=("--target=mips-unknown-elf", "-march=mips2", "-mno-gpopt"),
    commands=("zig", "mips-linux-gnu-gcc"),
    variable="SPINET_MIPS_CC",
    hint="pip install ziglang==0.17.0, or name a big-endian MIPS gcc with --cc or SPINET_MIPS_CC",
)
