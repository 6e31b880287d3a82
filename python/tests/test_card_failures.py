# SPDX-License-Identifier: Apache-2.0
"""Messages of `spinet run` about firmware that traps, runs away, hangs or stops serving its host."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from spinet import _elf, cli, firmware

# A host that does not clear memory nobody uses starts sooner.
RUN = ["run", "--nic", "tigon2", "--set", "host.clear_end=0x8000"]
HALT = (0x1000FFFF, 0)  # a branch to itself


def image(path: Path, *words: int) -> str:
    path.write_bytes(struct.pack(f">{len(words)}I", *words))
    return str(path)


def shown(capfd: pytest.CaptureFixture[str], *more: str) -> str:
    """Exit code and stderr."""
    code = cli.main([*RUN, *more])
    return f"{code}\n{capfd.readouterr().err}"


def deaf(path: Path, function: str) -> str:
    """The Tigon-2's firmware with a function that never returns."""
    built = firmware.build("tigon2")
    symbols = {symbol.name: symbol.address for symbol in _elf.read(built.elf).symbols}
    start, whole = symbols[function], built.image()
    if start >= symbols["hot_a"]:  # firmware copies it into scratchpad
        start += symbols["hot_a_image"] - symbols["hot_a"]
    data = bytearray(whole.data)
    at = start - whole.load_address
    data[at : at + 8] = struct.pack(">2I", *HALT)
    changed = firmware.Image(load_address=whole.load_address, entry=whole.entry, data=bytes(data))
    path.write_bytes(changed.with_header())
    return str(path)


NO_FRAMES = """\
  send ring: producer 0, consumer 0, unchanged since 0 ns
  standard receive ring: producer 0, consumer 0, unchanged since 0 ns
"""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        # addiu v0, zero, 1; break
        (
            (0x24020001, 0x0000000D),
            "cpu_a.core stopped at 0x00004004 (pc 0x00004004): a break instruction, 0x0",
        ),
        # lui v0, 0xd0; jr v0: there is no code behind the scratchpad
        (
            (0x3C0200D0, 0x00400008, 0),
            "cpu_a.core stopped at 0x00d00200 (pc 0x00d00200): an illegal instruction, 0x60",
        ),
        # lui v0, 0xc0; lw v1, 2(v0)
        (
            (0x3C0200C0, 0x8C430002, 0),
            "cpu_a.core stopped at 0x00004004 (pc 0x00004004): a misaligned load, 0xc00002",
        ),
        (
            HALT,
            "3530000 ns: firmware did not report that it runs within 3000 us after its start",
        ),
    ],
    ids=["break", "no code", "misaligned", "loop"],
)
def test_firmware_that_does_not_start(
    words: tuple[int, ...], text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = image(tmp_path / "firmware.bin", *words)
    found = shown(capfd, "--firmware", file, "--load", "0x4000", "--set", "host.boot_timeout_us=3000")
    runs_on = "" if "stopped" in text else "  cpu_a.core is at 0x00004004\n"
    assert found == f"2\nerror: the run did not finish: {text}\n{runs_on}{NO_FRAMES}"


def test_firmware_that_hangs_in_a_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = deaf(tmp_path / "deaf.bin", "commands")
    found = shown(capfd, "--firmware", file, "--set", "host.boot_timeout_us=3000")
    assert without_times(found) == (
        "2\nerror: the run did not finish: T: firmware did not report that it runs within 3000 us after its start\n"
        f"  cpu_a.core is at P\n{without_times(NO_FRAMES)}"
    )


@pytest.mark.parametrize("function", ["send_data", "receive"])
def test_firmware_that_leaves_its_rings_alone(function: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = deaf(tmp_path / "deaf.bin", function)
    traffic = ("--send", "udp:payload=numbered,count=50", "--traffic", "udp:payload=numbered,count=50")
    found = shown(capfd, "--firmware", file, *traffic, "--set", "host.watchdog_us=2000")
    assert (
        without_times(found)
        == """\
2
error: the run did not finish: T: the card has not sent for 2000 us though frames wait \
(send ring: producer 100, consumer 0, unchanged since T)
  cpu_a.core is at P
  send ring: producer 100, consumer 0, unchanged since T
  standard receive ring: producer 256, consumer 0, unchanged since T
"""
    )


def without_times(text: str) -> str:
    """The text without numbers that depend on each instruction of the firmware."""
    return re.sub(r"is at 0x\w+", "is at P", re.sub(r"[\d.]+ ns", "T", text))
