# SPDX-License-Identifier: Apache-2.0
"""Building firmware: both compilers, the contents of the image, and the errors."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import pytest
from spinet import _elf, cli, firmware
from spinet.firmware import build
from spinet.toolchain import CompileError, CompilerNotFound, SourceNotFound

COMPILERS = ["zig", "mips-linux-gnu-gcc"]
BUILDS = [{}, {"TIMER_ON_B": ""}, {"SPLIT": ""}]
SCRIPT = "ENTRY(_start) SECTIONS { . = 0x4000; .text : { *(.start) *(.text .text.*) *(.data .data.* .got) }"
SCRIPT += " /DISCARD/ : { *(.reginfo) *(.MIPS.abiflags) *(.gnu.attributes) } }\n"
START = '    .section .start, "ax"\n    .set noreorder\n    .globl _start\n_start: b _start\n    nop\n'

# Instructions that the CPU of the Tigon-2 lacks, by opcode and, for opcode 0, by function code.
MISSING_OPCODES = {0x10, 0x11, 0x12, 0x13, 0x22, 0x26, 0x2A, 0x2E, 0x30, 0x38}  # coprocessors, unaligned, linked
MISSING_FUNCTIONS = {0x18, 0x19, 0x1A, 0x1B, 0x10, 0x11, 0x12, 0x13, 0x34}  # multiply, divide, hi, lo, trap


@pytest.fixture(params=COMPILERS)
def cc(request: pytest.FixtureRequest) -> str:
    """Each installed compiler."""
    name: str = request.param
    if name != "zig" and shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return name


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def functions(elf: Path) -> dict[str, list[int]]:
    """Instruction words of each function."""
    words = {
        address + at: word
        for address, data in _elf.content(elf)
        for at, (word,) in zip(range(0, len(data), 4), struct.iter_unpack(">I", data[: len(data) & ~3]), strict=True)
    }
    found = (symbol for symbol in _elf.read(elf).symbols if symbol.is_function and symbol.size)
    return {s.name: [words[at] for at in range(s.address, s.address + s.size, 4)] for s in found}


@pytest.mark.parametrize("defines", BUILDS)
def test_the_tigon2s_firmware_fits_its_card(cc: str, defines: dict[str, str], cache: Path) -> None:
    built = build("tigon2", defines=defines, cc=cc, cache=cache)
    assert built.messages == ""
    image = built.image()
    assert (image.load_address, image.entry) == (0x4000, 0x4000)
    scratch = sum(built.sections.get(name, 0) for name in (".hot_a", ".hot_b"))
    assert (
        len(image.data) == sum(built.sections[name] for name in (".text", ".data") if name in built.sections) + scratch
    )
    assert (".hot_b" in built.sections) == bool(defines)


def test_it_uses_no_instruction_that_the_cpu_lacks(cc: str, cache: Path) -> None:
    for name, words in functions(build("tigon2", cc=cc, cache=cache).elf).items():
        for word in words:
            assert word >> 26 not in MISSING_OPCODES, f"{name}: {word:#010x}"
            assert word >> 26 or word & 0x3F not in MISSING_FUNCTIONS, f"{name}: {word:#010x}"


def test_the_dispatch_loop_is_four_instructions(cc: str, cache: Path) -> None:
    loop = functions(build("tigon2", cc=cc, cache=cache).elf)["dispatch_a"]
    # lw $2, 0x60($16); pri $2, $2, $26; joff $27, $2; move $31, $17
    assert [f"{word:08x}" for word in loop[:3]] == ["8e020060", "005a100b", "0362000a"]
    assert len(loop) == 4
    assert loop[3] in (0x0220F825, 0x0220F821)  # or, addu: both are `move`


def test_a_second_build_runs_no_compiler_until_a_header_changes(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "one.ld").write_text(SCRIPT)
    (tmp_path / "start.S").write_text('#include "own.h"\n' + START)
    (tmp_path / "own.h").write_text("#define X 1\n")
    assert [build(tmp_path, cache=cache).cached for _ in range(2)] == [False, True]
    (tmp_path / "own.h").write_text("#define X 2\n")
    assert not build(tmp_path, cache=cache).cached
    (tmp_path / "one.ld").write_text(SCRIPT.replace("0x4000", "0x5000"))
    moved = build(tmp_path, cache=cache)
    assert (moved.cached, moved.image().load_address) == (False, 0x5000)


def test_an_image_has_a_header_of_three_words(tmp_path: Path, cache: Path) -> None:
    (tmp_path / "one.ld").write_text(SCRIPT)
    (tmp_path / "start.S").write_text(START)
    whole = build(tmp_path, cache=cache).image().with_header((12, 4, 11))
    assert whole[:12].hex(" ", 4) == "0c040b00 00004000 00004000"
    assert whole[12:20].hex(" ", 4) == "1000ffff 00000000"


def test_the_command_writes_program_and_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    elf, image, raw = (tmp_path / name for name in ("fw.elf", "fw.bin", "fw.raw"))
    words = ["firmware", "tigon2", "-D", "SPLIT", "-o", elf, "--image", image, "--raw", raw, "--image-version", "1.2.3"]
    assert cli.main([str(word) for word in words]) == 0
    assert "at 0x4000, entry 0x4000" in capsys.readouterr().out
    assert image.read_bytes() == bytes.fromhex("01020300 00004000 00004000") + raw.read_bytes()
    assert elf.read_bytes()[:6] == b"\x7fELF\x01\x02"


def test_what_cannot_be_built_says_why(tmp_path: Path, cache: Path) -> None:
    def message(error: type[Exception], *sources: Path | str, **more: str) -> str:
        with pytest.raises(error) as caught:
            build([*sources], cache=cache, **more)  # type: ignore[arg-type]
        return f"{caught.value}; {caught.value.hint}".replace(str(tmp_path), "T")  # type: ignore[attr-defined]

    names = ", ".join(firmware.shipped())
    assert message(SourceNotFound, "tigon") == f"there is no firmware tigon; spinet has {names}; did you mean tigon2?"
    assert message(SourceNotFound, tmp_path) == "T has no .c and no .S file; "
    (tmp_path / "a.c").write_text("int _start(void) { return nothing; }\n")
    assert message(SourceNotFound, tmp_path) == (
        "T has no linker script, which firmware needs; "
        "spinet firmware --script names one; handlers are not firmware; they run on cards such as pspin"
    )
    (tmp_path / "a.ld").write_text(SCRIPT)
    with pytest.raises(CompileError, match=r"a\.c does not compile"):
        build(tmp_path, cache=cache)
    text = message(CompilerNotFound, tmp_path, cc="cc")
    assert text.startswith(f"{shutil.which('cc')} compiles for ")
    assert "not for MIPS; pip install ziglang" in text
    assert "tigon2" in firmware.shipped()
