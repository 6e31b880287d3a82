# SPDX-License-Identifier: Apache-2.0
"""Foreign and damaged ELF files that Python reads itself."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import spinet
from spinet import firmware, toolchain

ROOT = Path(__file__).resolve().parents[2]
SEED = 7


@pytest.fixture(scope="module")
def program() -> bytes:
    return toolchain.build([ROOT / "sdk" / "examples" / "ping_pong.c"]).elf.read_bytes()


def test_what_is_broken_is_refused_and_nothing_else_happens(program: bytes, tmp_path: Path) -> None:
    path, rng, refused = tmp_path / "broken.elf", random.Random(SEED), 0
    for _ in range(200):
        broken = bytearray(program)
        for at in rng.sample([*range(52), *range(len(broken) - 40 * 15, len(broken))], k=3):
            broken[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
        if rng.random() < 0.2:
            del broken[rng.randrange(len(broken)) :]
        path.write_bytes(broken)
        for read in (firmware.image, lambda elf: toolchain.place_after([elf])):
            try:
                read(path)
            except toolchain.BuildError as error:
                assert str(error).startswith(str(path)), error
                refused += 1
    assert refused > 50, f"seed {SEED}"


@pytest.mark.parametrize("damage", ["cut", "text"])
def test_a_tenant_beside_a_broken_program_is_not_built(damage: str, program: bytes, tmp_path: Path) -> None:
    (tmp_path / "runtime.elf").write_bytes(program)
    (tmp_path / "first.elf").write_bytes(program[:3000] if damage == "cut" else b"not an ELF file")
    (tmp_path / "second.c").write_text((ROOT / "sdk" / "examples" / "count.c").read_text())
    experiment = tmp_path / "both.toml"
    experiment.write_text(
        'program = "runtime.elf"\ntraffic = "udp:count=3"\n'
        '[[tenant]]\nname = "a"\nprogram = "first.elf"\n[[tenant]]\nname = "b"\nprogram = "second.c"\n'
        '[[context]]\ntenant = "b"\n'
    )
    shown = (
        "at offset 4096 of a file of 3000 bytes" if damage == "cut" else "begins with 6e 6f 74 20, must be an ELF file"
    )
    with pytest.raises(spinet.InputError, match=shown):
        spinet.run(experiment=experiment)
