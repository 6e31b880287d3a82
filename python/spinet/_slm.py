# SPDX-License-Identifier: Apache-2.0
"""Memory images of a program, as PsPIN's build rules make them for its hardware simulation.

Text: ``@`` and a word's address, as a word number, and the word, both hexadecimal. Source: PsPIN a49fec8,
``sw/rules/spin-rt.mk``, ``sw/pulp-sdk/scripts/s19toslm.py``, ``hw/src/pspin_verilator.sv``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from spinet import _elf, _files

_HANDLER_MEMORY = 0x1C00_0000, 4 << 20  # first byte, bytes
_PROGRAM_MEMORY = 0x1D00_0000, 32 << 10
_CUTS = 32  # banks of handler memory, which is interleaved by words of 8 bytes


def write(elf: Path, folder: Path) -> None:
    """Write the images of ``elf`` into ``folder``, which is made if it does not exist.

    Program memory and handler memory have images; L1 has none, since the hardware clears it.
    """
    content = _elf.content(elf)
    folder.mkdir(exist_ok=True)
    handler = _words(content, *_HANDLER_MEMORY, width=8)
    _write(folder / "prog_mem_stim.slm", _words(content, *_PROGRAM_MEMORY, width=8).items(), width=8)
    _write(folder / "l2_hnd_stim.slm", _words(content, *_HANDLER_MEMORY, width=4).items(), width=4)
    for cut in range(_CUTS):
        words = ((number // _CUTS, word) for number, word in handler.items() if number % _CUTS == cut)
        _write(folder / f"l2_hnd_0_{cut}.slm", words, width=8)


def _words(content: Iterable[tuple[int, bytes]], base: int, size: int, *, width: int) -> dict[int, int]:
    """Words of a memory by number: those in which the program has at least one byte. Their other bytes are 0."""
    words: dict[int, int] = {}
    for address, data in content:
        for offset, byte in enumerate(data, address - base):
            if 0 <= offset < size:
                number = offset // width
                words[number] = words.get(number, 0) | byte << 8 * (offset % width)
    return dict(sorted(words.items()))


def _write(path: Path, words: Iterable[tuple[int, int]], *, width: int) -> None:
    _files.write(path, "".join(f"@{number:08X} {word:0{2 * width}x}\n" for number, word in words))
