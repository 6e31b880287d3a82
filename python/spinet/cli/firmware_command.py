# SPDX-License-Identifier: Apache-2.0
"""`spinet firmware`: compiles C for a MIPS card into an ELF file or an image."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click

from spinet.cli import parameters


def _version(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[int, int, int]:
    """A version of three bytes."""
    parts = text.split(".")
    if len(parts) != 3 or not all(re.fullmatch(r"\d{1,3}", part) and int(part) < 256 for part in parts):
        raise click.BadParameter(f"{text} is not a version: three numbers up to 255, such as 12.4.11")
    major, minor, fix = (int(part) for part in parts)
    return major, minor, fix


@click.command(short_help="Compile firmware.")
@click.argument("sources", nargs=-1, required=True, metavar="NAME|FOLDER|FILE...")
@click.option("-o", "--output", metavar="FILE.elf", type=click.Path(path_type=Path), help="Output file.")
@click.option(
    "--image",
    metavar="FILE.bin",
    type=click.Path(path_type=Path),
    help="Also write an image for a driver: version, entry, load address (big-endian words), then code and data.",
)
@click.option(
    "--raw",
    metavar="FILE.bin",
    type=click.Path(path_type=Path),
    help="Also write code and data without a header; load address and entry are printed.",
)
@click.option(
    "--image-version", metavar="A.B.C", default="0.0.0", show_default=True, callback=_version, help="For --image."
)
@click.option("--script", metavar="FILE.ld", type=click.Path(path_type=Path), help="Linker script to use instead.")
@parameters.option("cc", help="Big-endian MIPS gcc to use instead.")
@click.option(
    "-O", "level", metavar="LEVEL", default="2", show_default=True, help="Optimisation level: 0, 1, 2, 3, s, z."
)
@parameters.option("defines")
@click.option("--flag", "flags", metavar="FLAG", multiple=True, help="A further compiler flag.")
@click.option(
    "--compile-commands",
    is_flag=True,
    help="Also write compile_commands.json beside the sources, for editors with clangd.",
)
@parameters.json_option
def command(
    sources: tuple[str, ...],
    output: Path | None,
    image: Path | None,
    raw: Path | None,
    image_version: tuple[int, int, int],
    script: Path | None,
    cc: str | None,
    level: str,
    defines: tuple[str, ...],
    flags: tuple[str, ...],
    compile_commands: bool,
    as_json: bool,
) -> None:
    """Compile the firmware of a MIPS card: one that comes with spinet, a folder, or files.

    The compiler is zig, which came with spinet, else Debian's mips-linux-gnu-gcc. Builds are kept by content.

    \b
    Examples:
      spinet firmware tigon2 -o tigon2.elf
      spinet firmware tigon2 -D SPLIT --image split.bin
      spinet firmware my/firmware --raw my.bin --cc mips-linux-gnu-gcc
    """
    from spinet import _compile_commands, _files, firmware
    from spinet._core import UsageError

    for path in (output, image, raw):
        if path is not None and not path.absolute().parent.is_dir():
            raise UsageError(f"cannot write {path}: there is no folder {path.parent}")
    macros = parameters.macros(defines)
    if compile_commands:
        entries = firmware.compile_commands(
            sources, script=script, defines=macros, cc=cc, opt=f"-O{level}", flags=flags
        )
        for path in _compile_commands.write(entries):
            click.echo(f"wrote {path}", err=True)
    built = firmware.build(sources, script=script, defines=macros, cc=cc, out=output, opt=f"-O{level}", flags=flags)
    loaded = built.image()
    if image is not None:
        _files.write(image, loaded.with_header(image_version))
    if raw is not None:
        _files.write(raw, loaded.data)
    if built.messages:
        click.echo(built.messages.rstrip("\n"), err=True)
    if as_json:
        known = {
            "elf": str(built.elf),
            "compiler": built.version,
            "load_address": f"{loaded.load_address:#010x}",
            "entry": f"{loaded.entry:#010x}",
            "image_bytes": len(loaded.data),
            "sections": dict(built.sections),
            "cached": built.cached,
        }
        click.echo(json.dumps(known, indent=2))
        return
    click.echo(built.elf)
    click.echo(f"  compiler  {built.version}{', from the cache' if built.cached else ''}")
    click.echo(f"  image     {len(loaded.data):>10,} bytes  at {loaded.load_address:#x}, entry {loaded.entry:#x}")
    for name, size in built.sections.items():
        click.echo(f"  section   {size:>10,} bytes  {name}")
