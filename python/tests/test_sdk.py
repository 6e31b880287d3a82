# SPDX-License-Identifier: Apache-2.0
"""The SDK's layouts, device accesses and helpers: compilation, emitted code, and native runs."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from spinet import toolchain
from spinet._compiler import find_compiler

SDK = toolchain.sdk_dir()
TESTS = SDK / "tests"
CAPTURES = SDK.parent / "captures"
COMPILERS = ["zig", *(name for name in ("riscv64-unknown-elf-gcc", "clang-19") if shutil.which(name))]


@pytest.fixture(params=COMPILERS)
def cc(request: pytest.FixtureRequest) -> str:
    """Every installed compiler; zig must be installed."""
    return str(request.param)


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One cache for all tests here: each builds other sources."""
    return tmp_path_factory.mktemp("cache")


def assembly(cc: str, folder: Path) -> dict[str, list[str]]:
    """Instructions of every function in accesses.c."""
    compiler = find_compiler(cc=cc, cache=folder)
    listing = folder / "accesses.s"
    flags = (*compiler.compile_flags, "-O3", "-g0", f"-I{SDK / 'include'}")
    subprocess.run((*compiler.command, *flags, "-S", str(TESTS / "accesses.c"), "-o", str(listing)), check=True)
    functions: dict[str, list[str]] = {}
    current: list[str] = []
    for line in listing.read_text().splitlines():
        if label := re.match(r"(\w+):", line):
            current = functions.setdefault(label[1], [])
        elif (instruction := line.split("#")[0].strip()) and not instruction.startswith((".", "#")):
            current.append(re.sub(r"\s+", " ", instruction))
    return functions


def accesses(instructions: list[str]) -> str:
    """Loads, stores and atomics in order, by offset within the device's 1 KiB: `sw+144 lw+128`."""
    pattern = re.compile(r"(sw|lw|amo\w+\.w(?:\.\w+)?) [^,]+, ?(?:\w+, ?)?(\w*)\(")
    found = [match for line in instructions if (match := pattern.match(line))]
    return " ".join(f"{match[1]}+{int(match[2] or '0', 0) % 0x400}" for match in found)


def test_layouts_are_those_of_pspin(cc: str, cache: Path) -> None:
    assert "layout_ph" in toolchain.build([TESTS / "layout.c"], cc=cc, cache=cache).handlers


def test_devices_are_accessed_as_pspin_does(cc: str, tmp_path: Path) -> None:
    functions = assembly(cc, tmp_path)
    nic = "sw+144 sw+148 sw+152 sw+156 sw+160 sw+140 lw+128"
    host = "sw+148 sw+144 sw+152 sw+156 sw+160 sw+140 lw+128"
    seen = {name: accesses(lines) for name, lines in functions.items()}
    # A field of the packed task is one load.
    assert sorted(seen.pop("task_fields").split()) == ["lw+48", "lw+68", "sw+0", "sw+4"]
    # The load is in a loop, of which a compiler may make two.
    assert set(seen.pop("ticket_lock").split()) == {"amoadd.w+0", "lw+4"}
    assert seen == {
        "send_packet": nic,
        "rdma_put": nic,
        "dma_to_host": host,
        "dma_from_host": host,
        "host_write": host,
        "cmd_wait": "sw+132",
        "cmd_test": "sw+136 lw+136",
        "cluster_dma": "sw+0 sw+8 sw+16 lw+24",
        "lock_and_unlock": "amoor.w+0 amoswap.w+0",
        "ticket_unlock": "amoadd.w+0",
        "change_and_send": f"sw+0 {nic} sw+0 sw+132",
    }


@pytest.mark.parametrize("example", sorted(path.stem for path in (SDK / "examples").glob("*.c")))
def test_examples_build_without_a_word(example: str, cc: str, cache: Path) -> None:
    built = toolchain.build([SDK / "examples" / f"{example}.c"], cc=cc, cache=cache)
    assert built.messages == ""
    assert built.entry().name == example


def native(source: str, folder: Path, *arguments: str, flags: tuple[str, ...] = ()) -> str:
    """Compile a test for this machine and run it."""
    program = folder / "program"
    subprocess.run(("cc", "-g", "-O1", *flags, "-o", str(program), str(TESTS / source)), check=True)
    return subprocess.run((program, *arguments), check=True, capture_output=True, text=True).stdout


def test_packet_helpers_agree_with_real_packets_and_stay_inside_them(tmp_path: Path) -> None:
    captures = sorted(str(path) for path in CAPTURES.glob("*.pcap"))
    flags = (f"-I{SDK / 'include'}", "-fsanitize=address", "-Wall", "-Wextra", "-Werror")
    said = native("native_net.c", tmp_path, *captures, flags=flags)
    assert said == "244 packets: 226 ipv4, 16 ipv6, 88 udp, 122 tcp, 32 icmp\n"


def test_printf_and_memory_functions_agree_with_the_c_library(tmp_path: Path) -> None:
    assert native("native_libc.c", tmp_path, flags=("-fno-builtin", "-w")) == "3928 checks\n"
