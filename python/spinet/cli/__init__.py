# SPDX-License-Identifier: Apache-2.0
"""The command `spinet`: one file per command. Exceptions become messages and exit codes here."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, TextIO

import click

from spinet.cli import errors

# Texts of `spinet --help`. A command's module is imported when it runs, so a command does not load modules of others.
_COMMANDS = {
    "run": "Run handlers on a card and report what happened to each packet.",
    "new": "Begin a project: a program, its test, its experiment.",
    "examples": "List handlers, captures and networks to begin with, or copy them.",
    "attach": "Make a card an interface of Linux, between real programs.",
    "debug": "Run handlers under gdb, with HPUs and firmware cores as threads.",
    "profile": "Show where the cycles of a run went.",
    "explain": "Show where a packet spent its time, and what it waited for.",
    "report": "Make an HTML file with charts of a run.",
    "ndr": "Find the highest rate that a card holds without loss.",
    "sweep": "Run every combination of some values, as one table.",
    "plot": "Draw columns of a sweep or of a run.",
    "diff": "Show what changed between two results.",
    "build": "Compile handlers into a program for a card.",
    "firmware": "Compile the firmware of a MIPS card.",
    "native": "Run handlers on this machine's processor, for comparison.",
    "compare": "Run the same packets and handlers on several NICs.",
    "nic": "List, show, check and draw cards.",
    "net": "Check, count and draw networks.",
    "schema": "Print the JSON schema of a card or an experiment, for editors.",
    "match": "Try a match expression on a capture.",
    "reproduce": "Measure published figures and tables again.",
    "goal": "Run, make, convert and check schedules of message-passing programs.",
    "exec": "Run a bare RISC-V program on a plain machine.",
    "diff-trace": "Compare instruction traces and name the first difference.",
    "cache": "Show or empty the build cache.",
    "doctor": "Check that everything that spinet needs is installed.",
    "completion": "Print a completion script for your shell.",
}


_CLEAN_UP_S = 10  # after a Ctrl-C; the next one within this time is ignored


class _ReaderGone(Exception):
    """A broken pipe. click would turn a BrokenPipeError into exit code 1."""


@contextlib.contextmanager
def _reader_may_go() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise _ReaderGone from error


class Commands(click.Group):
    """Commands by name, each in a module of its own."""

    def make_context(self, *args: Any, **more: Any) -> click.Context:
        """Read the options; those that print and end, such as --help, do so here."""
        with _reader_may_go():
            return super().make_context(*args, **more)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _reader_may_go():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names in the order of the help page."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        if cmd_name not in _COMMANDS:
            return None
        command = importlib.import_module(f"spinet.cli.{cmd_name.replace('-', '_')}_command").command
        if core := sys.modules.get("spinet._core"):  # `doctor` works without the simulator
            core.guard_command()
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the named command; the error for an unknown name suggests a similar one."""
        if args[0] not in _COMMANDS and not args[0].startswith("-"):
            raise errors.NoSuchCommand(args[0], list(_COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from spinet import _core

        click.echo(f"spinet {_core.version()}")
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Print the version."
)
def cli() -> None:
    """A cycle-level simulator of programmable network cards.

    \b
    Examples:
      spinet run ping_pong.c --traffic capture.pcap --match 'udp.dst_port == 53'
      spinet run ping_pong.c --traffic 'udp:size=64,count=1000' -o result
      spinet nic show pspin

    \b
    Exit codes:
      0    done
      1    the simulated program failed (spinet exec), something is missing (spinet doctor), traces differ
           (spinet diff-trace), a point misses (spinet reproduce), or there are remarks (spinet run --strict)
      2    bad input, too little memory or disk, or the run ended before its packets were done
      70   a bug in spinet
      130  stopped by Ctrl-C, SIGTERM or SIGHUP
      141  the reader of the output ended, as with | head
    """


def _check_texts(arguments: Sequence[str]) -> None:
    """Refuse arguments that are not UTF-8, because summaries, experiment files and messages are."""
    try:
        here = os.getcwd()
    except FileNotFoundError:
        raise click.UsageError("the current folder does not exist any more") from None
    for text in (*arguments, here):
        try:
            text.encode()
        except UnicodeEncodeError:
            raw = os.fsencode(text).decode(errors="backslashreplace")
            what = f"the argument {raw}" if text in arguments else f"the current folder {raw}"
            raise click.UsageError(f"{what} is not UTF-8; rename the file or folder") from None


@contextlib.contextmanager
def _end_only_once() -> Iterator[None]:
    """Clean up after the first Ctrl-C or signal; further ones do not interrupt the clean-up for some seconds.

    Later ones count again, because a library may have ignored the first: NumPy does so while it is imported. A signal
    that the parent ignores or handles keeps its handler.
    """
    usual = {"SIGINT": signal.default_int_handler, "SIGTERM": signal.SIG_DFL, "SIGHUP": signal.SIG_DFL}
    known = {getattr(signal, name): how for name, how in usual.items() if hasattr(signal, name)}
    is_main = threading.current_thread() is threading.main_thread()
    ours = {one: how for one, how in known.items() if is_main and signal.getsignal(one) is how}

    last: float | None = None

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal last
        now = time.monotonic()
        if last is None or now - last > _CLEAN_UP_S:
            last = now
            raise KeyboardInterrupt

    for one in ours:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one, how in ours.items():
            signal.signal(one, how)


def _print_what_can_be() -> None:
    """Print a question mark for characters that a terminal's encoding lacks, such as the blocks of a bar."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")


def _open_what_is_closed() -> None:
    """Replace streams that are closed, as after `2>&-`, by /dev/null; otherwise a file opened later could get the
    stream's number.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)  # the lowest free number
            setattr(sys, name, os.fdopen(null, "r" if name == "stdin" else "w", encoding="utf-8"))


def _write_whole_texts() -> None:
    """Give streams a buffer that lack one, as with PYTHONUNBUFFERED. Without it, Python does not notice that a full
    disk took only a part of a text.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and isinstance(stream.buffer, io.RawIOBase):
            binary = os.fdopen(stream.fileno(), "wb", closefd=False)
            whole = io.TextIOWrapper(binary, stream.encoding, stream.errors, line_buffering=True)
            setattr(sys, name, whole)


def _one_thread_for_algebra() -> None:
    """Keep NumPy's library of linear algebra from reserving memory for each core.

    No command needs its threads, and where memory is short, it ends the process with exit code 1.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    _one_thread_for_algebra()
    _open_what_is_closed()
    _write_whole_texts()
    with _end_only_once():
        try:
            code = _run(arguments)
        except (BrokenPipeError, _ReaderGone):
            code = errors.READER_GONE
        finally:
            for stream in (sys.stdout, sys.stderr):
                _close_if_broken(stream)
    if core := sys.modules.get("spinet._core"):
        core.unguard_command(code)
    return code


def _run(arguments: Sequence[str] | None) -> int:
    try:
        _print_what_can_be()
        _check_texts(sys.argv[1:] if arguments is None else arguments)
        if "_SPINET_COMPLETE" in os.environ:
            importlib.import_module("spinet.cli.completion").register()
        code = cli.main(args=arguments, prog_name="spinet", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (BrokenPipeError, _ReaderGone):
        raise
    except BaseException as error:
        return _report(error)


def _report(error: BaseException) -> int:
    try:
        return errors.report(error)
    except BrokenPipeError:
        raise
    except OSError:  # stderr takes nothing either
        return errors.BAD_INPUT


def _close_if_broken(stream: TextIO | None) -> None:
    """Drop output that a stream does not accept, as with `| head` or on a full disk. Otherwise, Python ends with its
    own exit code.
    """
    if stream is None:  # as after `>&-`
        return
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
