# SPDX-License-Identifier: Apache-2.0
"""The options of `spinet run`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spinet.cli import errors, parameters


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The options, as `run_command.py` describes them."""

    program: tuple[str, ...]
    traffics: tuple[str, ...]
    match: str | None
    message: str | None
    handler: str | None
    handler_memory: str | None
    nic: str | None
    firmware: tuple[str, ...]
    load: int | None
    entry: int | None
    chains: tuple[str, ...]
    services: tuple[str, ...]
    tenants: tuple[str, ...]
    policy: str | None
    sends: tuple[str, ...]
    sets: tuple[str, ...]
    pace: str | None
    count: int | None
    limit: str | None
    faults: tuple[str, ...]
    seed: int | None
    output: Path | None
    force: bool
    trace_instructions: bool
    trace_cores: str | None
    trace_time: str | None
    cc: str | None
    defines: tuple[str, ...]
    as_json: bool
    strict: bool

    def exit_code(self, code: int, summary: Mapping[str, Any]) -> int:
        """Exit code of a run that would end with `code`: with --strict, remarks are a failure too."""
        if code or not (self.strict and summary["remarks"]):
            return code
        first, more = summary["remarks"][0], len(summary["remarks"]) - 1
        errors.complain(f"--strict: {first['text']}" + (f"; and {more} more remarks" if more else ""))
        return errors.REMARKS

    def macros(self) -> dict[str, str | int]:
        """Macros of -D."""
        return parameters.macros(self.defines)

    def of_some_kinds(self) -> Mapping[str, object]:
        """Options that not every kind of card has, those of chains first; false where nothing was said."""
        return {
            "--chain": self.chains,
            "--service": self.services,
            "--tenant": self.tenants,
            "--policy": self.policy,
            "--match": self.match,
            "--message": self.message,
            "--handler": self.handler,
            "--handler-memory": self.handler_memory,
            "--trace-instructions": self.trace_instructions,
            "--trace-cores": self.trace_cores,
            "--trace-time": self.trace_time,
            "--firmware": self.firmware,
            "--load": self.load is not None,
            "--entry": self.entry is not None,
            "--send": self.sends,
        }
