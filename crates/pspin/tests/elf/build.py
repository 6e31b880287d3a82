# SPDX-License-Identifier: Apache-2.0
"""Make the ELF files beside this script and in ``crates/capi/tests/elf`` from the sources there, with the SDK's runtime
and the compiler from PyPI; and those of ``crates/pspin/tests/rtl``, which bring a runtime of their own.

They are committed, since ``cargo test`` has no compiler. Run after a change of the sources or of the runtime:
``python crates/pspin/tests/elf/build.py``.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = [HERE, HERE.parents[2] / "capi" / "tests" / "elf"]
MEASURED = HERE.parent / "rtl"
# Alignments of functions; without one, they begin in the last halfword of a fetch line.
ALIGNMENTS = {"handlers": (4, 16, 32), "remote": (4, 16, 32)}
sys.path.insert(0, str(HERE.parents[3] / "python"))

from spinet import toolchain  # noqa: E402
from spinet._compiler import environment, find_compiler  # noqa: E402

SECTION = struct.Struct("<10I")  # Elf32_Shdr: name, type, flags, addr, offset, size, link, info, addralign, entsize
NULL, SYMBOLS, STRINGS = 0, 2, 3
ALLOCATED = 2
ATTRIBUTES = 0x70000003  # PT_RISCV_ATTRIBUTES, whose section is not kept
SEGMENT_BYTES = 32  # Elf32_Phdr, which begins with its type


def without_debug(elf: bytes) -> bytes:
    """Returns the ELF file without parts that are neither loaded nor needed to find symbols."""
    (table,) = struct.unpack_from("<I", elf, 0x20)
    count, names = struct.unpack_from("<HH", elf, 0x30)
    sections = [list(SECTION.unpack_from(elf, table + i * SECTION.size)) for i in range(count)]
    kept = [i for i, s in enumerate(sections) if s[1] in (NULL, SYMBOLS, STRINGS) or s[2] & ALLOCATED]
    loaded = max(s[4] + (s[5] if s[1] == 1 else 0) for s in sections if s[2] & ALLOCATED)
    out = bytearray(elf[:loaded])
    (segments,) = struct.unpack_from("<I", elf, 0x1C)
    (n_segments,) = struct.unpack_from("<H", elf, 0x2C)
    for at in range(segments, segments + n_segments * SEGMENT_BYTES, SEGMENT_BYTES):
        if struct.unpack_from("<I", out, at) == (ATTRIBUTES,):
            out[at : at + SEGMENT_BYTES] = bytes(SEGMENT_BYTES)
    for i in kept:
        section = sections[i]
        if section[1] in (SYMBOLS, STRINGS):
            out += bytes(-len(out) % 4)
            data = elf[section[4] : section[4] + section[5]]
            section[4] = len(out)
            section[6] = kept.index(section[6]) if section[1] == SYMBOLS else 0
            if section[1] == SYMBOLS:
                data, section[7] = remaining(data, kept)
                section[5] = len(data)
            out += data
    out += bytes(-len(out) % 4)
    struct.pack_into("<I", out, 0x20, len(out))
    struct.pack_into("<HH", out, 0x30, len(kept), kept.index(names))
    for i in kept:
        out += SECTION.pack(*sections[i])
    return bytes(out)


def remaining(symbols: bytes, kept: list[int]) -> tuple[bytes, int]:
    """Return the symbols of the sections that are kept, with new section numbers, and the number of local symbols.

    Symbols of debug sections depend on the paths of the sources.
    """
    out, n_local = bytearray(), 0
    for at in range(0, len(symbols), 16):
        symbol = bytearray(symbols[at : at + 16])
        (section,) = struct.unpack_from("<H", symbol, 14)
        if 0 < section < 0xFF00:
            if section not in kept:
                continue
            struct.pack_into("<H", symbol, 14, kept.index(section))
        n_local += symbol[12] >> 4 == 0
        out += symbol
    return bytes(out), n_local


def measured(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Build the programs that were measured on the RTL, each with the layout that it had there."""
    compiler = find_compiler(cc=None, cache=folder)
    for source in sorted(set(MEASURED.glob("*.S")) - {MEASURED / "runtime.S"}):
        for alignment in (None, *ALIGNMENTS.get(source.stem, ())):
            target = source.with_name(source.stem + (f"_a{alignment}" if alignment else "") + ".elf")
            defines = (f"-DALIGN={alignment}",) if alignment else ()
            script = ("-nostdlib", "-Wl,-n", "-Wl,--no-gc-sections", "-T", str(MEASURED / "place.ld"))
            out = folder / target.name
            files = (str(MEASURED / "runtime.S"), str(source), "-o", str(out))
            command = (*compiler.command, *compiler.compile_flags, *defines, *compiler.link_flags, *script, *files)
            subprocess.run(command, check=True, env=environment(folder, folder))
            yield target, without_debug(out.read_bytes())


def programs() -> Iterator[tuple[Path, bytes]]:
    """Build every program and yield its committed path and its ELF file."""
    with tempfile.TemporaryDirectory() as folder:
        yield from measured(Path(folder))
        for source in sorted(source for known in FOLDERS for source in known.glob("*.[cS]")):
            build = toolchain.build([source], cache=Path(folder), debug=False)
            yield source.with_suffix(".elf"), without_debug(build.elf.read_bytes())


def main() -> None:
    """Write every program."""
    for target, elf in programs():
        target.write_bytes(elf)
        print(f"{target.name}: {len(elf)} bytes")


if __name__ == "__main__":
    try:
        main()
    except toolchain.CompileError as error:
        sys.exit(f"{error}\n{error.stderr}")
