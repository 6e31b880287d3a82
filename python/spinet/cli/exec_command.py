# SPDX-License-Identifier: Apache-2.0
"""`spinet exec`: a bare RISC-V program on one core with flat memory."""

from __future__ import annotations

import json

import click

from spinet.cli import errors, parameters


@click.command(short_help="Run a bare RISC-V program.")
@click.argument("program", type=click.Path(), metavar="FILE.elf")
@click.option(
    "--isa",
    metavar="NAME",
    default="rv32imac_zicsr_zifencei_sm",
    show_default=True,
    help="Instruction set of the core: rv32i with any of the extensions listed below.",
)
@click.option(
    "--signature", metavar="FILE", type=click.Path(), help="Write begin_signature to end_signature, one word per line."
)
@click.option("--trace", metavar="FILE", type=click.Path(), help="Write a trace of every instruction, one per line.")
@click.option(
    "--max-instructions", metavar="N", type=parameters.Whole(min=1), help="End after this number of instructions."
)
@click.option("--max-cycles", metavar="N", type=parameters.Whole(min=1), help="End after this number of cycles.")
@click.option("--linux-user", is_flag=True, help="Serve write and exit calls, as user-mode emulators do.")
@parameters.json_option
def command(
    program: str,
    isa: str,
    signature: str | None,
    trace: str | None,
    max_instructions: int | None,
    max_cycles: int | None,
    linux_user: bool,
    as_json: bool,
) -> int:
    """Run a bare RISC-V program, loaded where it was linked, on one core with flat memory.

    The program reports through the symbol tohost, as the public RISC-V tests do: 1 is success, (n << 1 | 1) is a
    failure of test n, and an even number is the address of a system call (write, exit), answered through fromhost.
    Exit code 0 if it passed, 1 if it failed, 2 if it did not end.

    \b
    Extensions of --isa, such as rv32imc_zicsr. Letters come first, then names, each after a "_":
      m         multiplication and division
      a         atomic memory operations
      c         compressed instructions of 16 bits
      zicsr     access to control and status registers
      zifencei  fence.i
      sm        machine and user mode: mret, uret, wfi
      xpulpv2   PULP's extensions, which PsPIN's cores have

    \b
    Examples:
      spinet exec rv32ui-p-add
      spinet exec --isa rv32i_zicsr_sm --signature add.signature add.elf
      spinet exec add.elf --trace add.log
    """
    from spinet import _core

    found = json.loads(
        _core.exec_elf(
            program,
            isa=isa,
            max_instructions=max_instructions,
            max_cycles=max_cycles,
            signature=signature,
            linux_user=linux_user,
            trace=trace,
        )
    )
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        if found["output"]:
            parameters.print_output(found["output"])
        click.echo(found["text"])
    if found["verdict"] == "limit":
        errors.complain(f"the program did not end; it is at {found['pc']:#010x}")
        return errors.UNFINISHED
    if found["verdict"] == "stopped" and _is_for_a_card(program):
        click.echo(f"hint: this is a program for a card: spinet run {program} --traffic ...", err=True)
    passed = found["verdict"] == "pass" or (found["verdict"] == "exit" and found["exit_code"] == 0)
    return 0 if passed else 1


def _is_for_a_card(program: str) -> bool:
    from spinet import _core

    try:
        return bool(json.loads(_core.elf_info(program))["handlers"])
    except _core.InputError:
        return False
