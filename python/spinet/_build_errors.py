# SPDX-License-Identifier: Apache-2.0
"""Errors of builds. All of them are bad input: exit code 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from spinet._core import SpinetError


class BuildError(SpinetError):
    """A program could not be built. `hint`, if not empty, says what to try."""

    exit_code = 2

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class SourceNotFound(BuildError):
    """A source file is missing or cannot be read."""


class CompilerNotFound(BuildError):
    """No usable compiler: not installed, or not one for the processor."""


class CompileError(BuildError):
    """The compiler or the linker failed. `stderr` is its output, `message` is ours."""

    def __init__(self, message: str, *, stderr: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.stderr = stderr

    def __str__(self) -> str:
        return f"{self.message}\n{self.stderr.strip()}" if self.stderr.strip() else self.message


class UnsupportedByTarget(BuildError):
    """The program needs something that the target processor lacks, such as a console."""


class MissingHandlers(BuildError):
    """The program has no handlers, or not the requested ones. `functions` are those that it has."""

    def __init__(self, message: str, *, functions: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.functions: tuple[str, ...] = tuple(functions)


class ProgramTooLarge(BuildError):
    """The program exceeds a memory. `sections` are bytes by section name, `limit` the bytes of the memory."""

    def __init__(
        self, message: str, *, sections: Mapping[str, int] | None = None, limit: int = 0, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.sections: dict[str, int] = dict(sections or {})
        self.limit = limit
