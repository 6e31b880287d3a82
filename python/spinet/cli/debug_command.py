# SPDX-License-Identifier: Apache-2.0
"""`spinet debug`: a run under gdb."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spinet import _vscode
from spinet.cli import parameters, run_command

if TYPE_CHECKING:
    from spinet import api

GDB = _vscode.GDB
_PORT = _vscode.PORT


@click.command(cls=parameters.CommandOfKinds, short_help="Run handlers under gdb.")
@click.argument("program", nargs=-1, type=click.Path(), metavar="[HANDLER.c... | EXPERIMENT.toml]")
@run_command.all_options()
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65535),
    default=_PORT,
    help=f"TCP port for gdb, on this machine only; 0 chooses a free one. Default: {_PORT}.",
)
@click.option("--gdb", is_flag=True, help=f"Start {GDB} in this terminal, connected to the run.")
@click.option(
    "--symbols",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Copy the compiled program to this file, so that gdb and editors find it at a fixed place.",
)
@click.option(
    "--vscode", is_flag=True, help="Write .vscode/launch.json and tasks.json for this command line, and do not run."
)
@parameters.json_option
def command(port: int, gdb: bool, symbols: Path | None, vscode: bool, **options: Any) -> int:
    """Run handlers or firmware under gdb. Each HPU or core is a thread.

    Takes the options of spinet run. The run waits for gdb and obeys it. After detach it continues by itself. At its
    end, it prints and writes the same results as spinet run, because a debugger changes no simulated time.

    \b
    Examples:
      spinet debug ping_pong.c --traffic 'udp:size=64,count=100' --gdb
      spinet debug ping_pong.c --traffic 'udp:size=64,count=100'
      spinet debug ping_pong.c --traffic dns.pcap --vscode

    The second one prints the command that connects gdb. The third one writes files with which VS Code runs it.

    \b
    In gdb:
      break ping_pong_ph                  stop at a line or function, in any core; ... thread 3: in that core
      watch -l *(int *)0x1c000000         stop when a core has written there; rwatch, awatch
      stepi, next, finish, backtrace      as usual; the other cores run meanwhile
      info threads, thread 7              cores, what each does, and its packet
      x/16xb ADDRESS, set var X = 1       memory of every level; registers cannot be written
      monitor break packet 5              stop where a handler begins to process packet 5
      monitor break fault                 stop at an access that is refused, an illegal instruction, a watchdog
      monitor help                        further commands: packet, reason, time, memory, host
      Ctrl-C                              stop now
      detach                              let the run continue to its end; kill ends it here

    Debian has gdb for all cards in the package gdb-multiarch.
    """
    if vscode:
        return _write_vscode(options)
    if gdb and shutil.which(GDB) is None:
        from spinet._core import UsageError

        raise UsageError(f"{GDB} is not installed", hint=f"apt install {GDB}")
    programs: list[Path] = []

    def on_ready(ready: api.Ready) -> None:
        programs.extend(ready.elfs.values())
        if symbols is not None:
            _copy(programs, symbols)
            programs[:] = [symbols]

    with contextlib.ExitStack() as stack:

        def on_listen(at: int) -> None:
            words = connect(programs, at)
            if gdb:
                stack.enter_context(_started(words))
            else:
                click.echo(f"waiting for gdb: {shlex.join(words)}", err=True)

        return run_command.simulate(options, debug_port=port, on_ready=on_ready, on_listen=on_listen)


def connect(programs: Sequence[Path], port: int) -> list[str]:
    """The command that connects gdb to a run of these programs."""
    added = (word for other in programs[1:] for word in ("-ex", f"add-symbol-file {other}"))
    return [GDB, *map(str, programs[:1]), *added, "-ex", f"target remote localhost:{port}"]


def _copy(programs: Sequence[Path], to: Path) -> None:
    from spinet import _files
    from spinet._core import UsageError

    if len(programs) != 1:
        raise UsageError(f"--symbols is for one program, and there are {len(programs)}")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        _files.write(to, programs[0].read_bytes())
    except OSError as error:
        raise UsageError(f"--symbols {to}: {error.strerror}") from None


@contextlib.contextmanager
def _started(words: Sequence[str]) -> Iterator[None]:
    """Run gdb in this terminal until it ends. Ctrl-C is for gdb."""
    process = subprocess.Popen(words)
    before: Callable[..., Any] | int | None = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        process.wait()
        signal.signal(signal.SIGINT, before)


def _write_vscode(options: dict[str, Any]) -> int:
    from spinet import _files
    from spinet._core import UsageError

    words = [word for word in sys.argv[1:] if word != "--vscode"]
    if not words or words[0] != "debug":
        words = ["debug", *options["program"]]
    files = _vscode.files(words)
    for path in files:
        if path.exists() and not options["force"]:
            raise UsageError(f"{path} exists already", hint="--force replaces it")
    try:
        _vscode.FOLDER.mkdir(exist_ok=True)
        for path, content in files.items():
            _files.write(path, content.encode())
    except OSError as error:
        raise UsageError(f"{_vscode.FOLDER}: {error.strerror}") from None
    click.echo(f"{_vscode.FOLDER}/launch.json and tasks.json: start `{_vscode.TASK}` in VS Code's debugger (F5)")
    return 0
