# SPDX-License-Identifier: Apache-2.0
"""PULP's instructions from C: the SDK's headers, compiled by every compiler that is here, on the plain machine."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from spinet import cli, toolchain
from spinet._compiler import find_compiler

SDK = toolchain.sdk_dir()
LINK = Path(__file__).parent / "exec" / "link.ld"
COMPILERS = ["zig", *(name for name in ("riscv64-unknown-elf-gcc", "clang-19") if shutil.which(name))]


def compiled(cc: str, opt: str, folder: Path) -> Path:
    """`sdk/tests/xpulp.c` as a bare program."""
    compiler = find_compiler(cc=cc, cache=folder / "cache")
    target = folder / "xpulp.elf"
    flags = (*compiler.compile_flags, *compiler.link_flags, opt, "-nostdlib", "-g0", f"-I{SDK / 'include'}")
    source = str(SDK / "tests" / "xpulp.c")
    command = (*compiler.command, *flags, "-Wl,--no-gc-sections", f"-Wl,-T,{LINK}", source, "-o", str(target))
    subprocess.run(command, check=True)
    return target


@pytest.mark.parametrize("cc", COMPILERS)
@pytest.mark.parametrize("opt", ["-O0", "-O3"])
def test_what_c_reaches_does_what_it_says(cc: str, opt: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = str(compiled(cc, opt, tmp_path))
    assert cli.main(["exec", "--isa", "rv32imac_zicsr_zifencei_sm_xpulpv2", program]) == 0
    assert capfd.readouterr().out.startswith("pass; ")


def test_a_plain_core_has_none_of_it(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = str(compiled("zig", "-O3", tmp_path))
    assert cli.main(["exec", "--json", program]) == 1
    assert json.loads(capfd.readouterr().out)["verdict"] == "stopped"
