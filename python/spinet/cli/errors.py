# SPDX-License-Identifier: Apache-2.0
"""Errors: a message on stderr and an exit code."""

from __future__ import annotations

import difflib
import os
import sys
import traceback
from collections.abc import Mapping, Sequence

import click

BAD_INPUT = 2
UNFINISHED = 2
OUR_BUG = 70  # EX_SOFTWARE of sysexits.h
REMARKS = 1  # a run with --strict has remarks
INTERRUPTED = 130  # 128 + SIGINT, as shells say it
READER_GONE = 141  # 128 + SIGPIPE


class NoSuchCommand(click.ClickException):
    """A command that does not exist."""

    def __init__(self, name: str, known: Sequence[str], *, of: str = "spinet") -> None:
        super().__init__(f"there is no command {name}" if of == "spinet" else f"{of} has no command {name}")
        self.hint: str = _near(name, known) or f"{of} --help lists the commands"


def report(error: BaseException) -> int:
    """Print an error and return its exit code. It is never 1, because for some commands 1 is a result."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else 0 if error.code is None else BAD_INPUT
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return BAD_INPUT
    if isinstance(error, KeyboardInterrupt | click.Abort):
        click.echo("stopped; nothing was written", err=True)
        return INTERRUPTED
    if isinstance(error, click.NoSuchOption):
        params = error.ctx.command.params if error.ctx else []
        known = [name for param in params if isinstance(param, click.Option) for name in param.opts]
        arguments = {param.name: param.human_readable_name for param in params if isinstance(param, click.Argument)}
        argument = arguments.get(error.option_name.lstrip("-"), "").strip("[]")
        near = f"{argument} takes no name: give only the value" if argument else _near(error.option_name, known)
        complain(f"there is no option {error.option_name}", hint=near or _usage_hint(error))
        return BAD_INPUT
    if isinstance(error, click.ClickException):
        complain(_lower_first(error.format_message().rstrip(".")), hint=_usage_hint(error))
        return BAD_INPUT
    return _report_environment(error) or _report_ours(error)


def _report_environment(error: BaseException) -> int:
    """Exit code of an error of this machine, such as a full disk; 0 for other errors."""
    if isinstance(error, OSError):
        # Errors of a full disk do not name the file.
        place = f"{error.filename}: " if error.filename is not None else ""
        complain(f"{place}{error.strerror or error}")
        return BAD_INPUT
    if isinstance(error, MemoryError):
        complain("this machine has not enough memory for the run", hint="take fewer packets, or omit tables")
        return BAD_INPUT
    if isinstance(error, UnicodeEncodeError):
        raw = os.fsencode(str(error.object)).decode(errors="backslashreplace")[:200]
        complain(f"{raw} is not UTF-8", hint="rename the file or folder, or name another with TMPDIR or SPINET_CACHE")
        return BAD_INPUT
    if isinstance(error, ImportError) and not (error.name or "").startswith("spinet"):
        first = _first_cause(error)
        complain(
            f"a library cannot be loaded: {str(first).strip() or type(first).__name__}",
            hint="spinet doctor says which libraries work; a limit of memory (ulimit -v) may be too low",
        )
        return BAD_INPUT
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        complain(
            "this machine starts no more threads",
            hint="a limit of processes (ulimit -u) or memory (ulimit -v) may be too low",
        )
        return BAD_INPUT
    return 0


def _first_cause(error: ImportError) -> BaseException:
    """The first error in the chain, because libraries wrap it into long advice."""
    first: BaseException = error
    while isinstance(cause := first.__cause__ or first.__context__, ImportError):
        first = cause
    return first


def _report_ours(error: BaseException) -> int:
    # Imported here, because they need the simulator, and `spinet doctor` must also run without it.
    try:
        from spinet._core import InternalError, SpinetError
        from spinet.toolchain import CompileError
    except ImportError as missing:
        complain(str(missing), hint="spinet doctor says what else is missing")
        return BAD_INPUT
    if isinstance(error, CompileError):
        click.echo(error.stderr.rstrip("\n"), err=True)
        complain(error.message, hint=error.hint)
        return BAD_INPUT
    if isinstance(error, SpinetError) and not isinstance(error, InternalError):
        complain(str(error), hint=getattr(error, "hint", ""))
        return BAD_INPUT
    if not isinstance(error, InternalError) and type(error).__name__ != "PanicException":
        click.echo("".join(traceback.format_exception(error)).rstrip("\n"), err=True)
        error = RuntimeError(f"{type(error).__name__}: {error}")
    complain(f"this is a mistake in spinet: {error}", hint="please report it with the command that caused it")
    return OUR_BUG


def complain(message: str, *, hint: str = "") -> None:
    """Write an error, with a hint if there is one."""
    click.echo(f"error: {message}", err=True)
    if hint:
        click.echo(f"hint: {hint}", err=True)
    if sys.stderr is not None:  # as after `2>&-`
        sys.stderr.flush()


def interrupted(text: str) -> int:
    """Report that a run ended early, with results; returns the exit code."""
    click.echo(f"the run was {text}", err=True)
    return INTERRUPTED


def warn(remarks: Sequence[Mapping[str, str]]) -> None:
    """Report traps on stderr with --json."""
    for remark in remarks:
        if remark["kind"] == "traps":
            click.echo(f"warning: {remark['text']}", err=True)


def _near(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else ""


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _usage_hint(error: click.ClickException) -> str:
    if isinstance(error, NoSuchCommand):
        return error.hint
    context = getattr(error, "ctx", None)
    return f"{context.command_path} --help has examples" if context is not None else ""
