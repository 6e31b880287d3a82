# SPDX-License-Identifier: Apache-2.0
"""`spinet build`: compiles handlers into an ELF file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import click

from spinet.cli import parameters


@click.command(short_help="Compile handlers.")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="HANDLER.c...")
@click.option(
    "-o",
    "--output",
    metavar="FILE.elf",
    type=click.Path(path_type=Path),
    help="Output file. Default: in the cache.",
)
@click.option(
    "--slm",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Folder for memory images for libpspin and PsPIN's hardware simulation.",
)
@click.option(
    "--target",
    type=click.Choice(["pspin", "panic"]),
    default="pspin",
    show_default=True,
    help="The card: PsPIN, or a core-based unit of a PANIC NIC.",
)
@parameters.option("handler", help="For a PANIC unit: name of the handlers if the program has several.")
@parameters.option("cc", help="RISC-V gcc or clang to use instead of spinet's compiler.")
@click.option(
    "-O", "level", metavar="LEVEL", default="3", show_default=True, help="Optimisation level: 0, 1, 2, 3, s, z."
)
@parameters.option("defines")
@click.option("--flag", "flags", metavar="FLAG", multiple=True, help="A further compiler flag: --flag=-funroll-loops.")
@click.option(
    "--compile-commands",
    is_flag=True,
    help="Also write compile_commands.json beside the sources, for editors with clangd.",
)
@parameters.json_option
def command(
    sources: tuple[Path, ...],
    output: Path | None,
    slm: Path | None,
    target: Literal["pspin", "panic"],
    handler: str | None,
    cc: str | None,
    level: str,
    defines: tuple[str, ...],
    flags: tuple[str, ...],
    compile_commands: bool,
    as_json: bool,
) -> None:
    """Compile handlers and link them with the runtime into a program for a card.

    Builds are cached: the same sources, headers, flags and compiler return the earlier program at once.

    \b
    Examples:
      spinet build ping_pong.c
      spinet build filter.c tables.c -o filter.elf
      spinet build ping_pong.c -o build/pingpong --slm build/slm_files
      spinet build ping_pong.c --cc riscv64-unknown-elf-gcc -O 2
      spinet build --target panic udp_ping_pong.c -o unit.elf
      spinet build ping_pong.c --compile-commands
    """
    from spinet import _compile_commands, _slm, toolchain
    from spinet._core import UsageError

    if output is not None and not output.absolute().parent.is_dir():
        raise UsageError(f"cannot write {output}: there is no folder {output.parent}")
    if slm is not None and not slm.absolute().parent.is_dir():
        raise UsageError(f"cannot write {slm}: there is no folder {slm.parent}")
    if target != "pspin" and slm is not None:
        raise UsageError("--slm writes images of PsPIN's memories, which a PANIC unit does not have")
    if target == "pspin" and handler is not None:
        raise UsageError("--handler is for --target panic; a program for PsPIN keeps all its handlers")
    macros = parameters.macros(defines)
    if compile_commands:
        # Write this file before the build, so that editors can show errors of sources that do not compile.
        entries = toolchain.compile_commands(
            sources, defines=macros, cc=cc, opt=f"-O{level}", flags=flags, target=target
        )
        for path in _compile_commands.write(entries):
            click.echo(f"wrote {path}", err=True)
    build = toolchain.build(
        sources,
        defines=macros,
        cc=cc,
        out=output,
        opt=f"-O{level}",
        flags=flags,
        target=target,
        handler=handler,
    )
    if slm is not None:
        _slm.write(build.elf, slm)
    if build.messages:
        click.echo(build.messages.rstrip("\n"), err=True)
    if as_json:
        known = {
            "elf": str(build.elf),
            "compiler": build.version,
            "handlers": {name: f"{address:#010x}" for name, address in build.handlers.items()},
            "sections": dict(build.sections),
            "cached": build.cached,
        }
        click.echo(json.dumps(known, indent=2))
        return
    click.echo(build.elf)
    click.echo(f"  compiler  {build.version}{', from the cache' if build.cached else ''}")
    for name, address in build.handlers.items():
        click.echo(f"  handler   {address:#010x}  {name}")
    for name, size in build.sections.items():
        click.echo(f"  section   {size:>10,} bytes  {name}")
