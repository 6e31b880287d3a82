# SPDX-License-Identifier: Apache-2.0
"""The only module that imports `spinet._native`."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spinet._native import Progress  # exists only for type checkers

try:
    from spinet._native import (
        GoalRun,
        GoalSchedule,
        InputError,
        InternalError,
        Machine,
        PacketArrival,
        Run,
        SpinetError,
        WaitingTenant,
        card_design,
        card_design_of,
        card_firmware,
        card_modules,
        card_text,
        chain_services,
        check_experiment,
        check_limits,
        diff_trace,
        elf_info,
        exec_elf,
        fpga_cost,
        goal_columns,
        goal_patterns,
        guard_command,
        kind_of_experiment,
        kind_of_nic,
        kinds_of_cards,
        match_capture,
        match_expression,
        network_overview,
        nic_cost,
        nic_list,
        nic_show,
        offered,
        path_causes,
        run_unit,
        schema,
        span_ps,
        table_columns,
        unguard_command,
        unwatch_partial,
        version,
        watch_partial,
        window_ps,
    )
except ImportError as missing:
    raise ImportError(f"the simulator is not built ({missing}); in a checkout, `make setup` builds it") from missing

__all__ = [
    "GoalRun",
    "GoalSchedule",
    "InputError",
    "InternalError",
    "Machine",
    "PacketArrival",
    "Progress",
    "Run",
    "SpinetError",
    "UsageError",
    "WaitingTenant",
    "address",
    "buffer",
    "card_design",
    "card_design_of",
    "card_firmware",
    "card_modules",
    "card_text",
    "chain_services",
    "check_experiment",
    "check_limits",
    "diff_trace",
    "elf_info",
    "exec_elf",
    "fpga_cost",
    "goal_columns",
    "goal_patterns",
    "guard_command",
    "ipv4",
    "kind_of_experiment",
    "kind_of_nic",
    "kinds_of_cards",
    "match_capture",
    "match_expression",
    "network_overview",
    "nic_cost",
    "nic_list",
    "nic_show",
    "offered",
    "path_causes",
    "run_unit",
    "schema",
    "span_ps",
    "table_columns",
    "unguard_command",
    "unwatch_partial",
    "version",
    "watch_partial",
    "whole",
    "window_ps",
]


class UsageError(InputError):
    """A mistake of the caller that is found before the simulator runs. `hint`, if not empty, says what to try."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")


def whole(what: str, number: int, *, bits: int = 32, least: int = 0) -> int:
    """Returns `number` if the simulator can hold it in this number of bits.

    Raises
    ------
    UsageError
        If the number is below `least` or too large; the message calls it `what`.
    """
    most = (1 << bits) - 1 + min(least, 0)
    try:
        number = operator.index(number)
    except TypeError:
        raise UsageError(f"{what} is {number!r}, must be {least} to {most}") from None
    if not least <= number <= most:
        raise UsageError(f"{what} is {number}, must be {least} to {most}")
    return number


def buffer(what: str, given: object) -> bytes:
    """The bytes of an object that has some. An integer has none: `bytes` would make zeros of it.

    Raises
    ------
    UsageError
        If it has none; the message calls it `what`.
    """
    try:
        return bytes(memoryview(given))  # type: ignore[arg-type]  # any object with a buffer
    except TypeError:
        raise UsageError(f"{what} is {given!r}, must be bytes") from None


def ipv4(given: str, *, what: str = "address") -> bytes:
    """The four bytes of an IPv4 address.

    Raises
    ------
    UsageError
        If it is not an IPv4 address; the message names it `what`.
    """
    import ipaddress  # most commands do not need it

    try:
        if isinstance(given, str):
            return ipaddress.IPv4Address(given).packed
    except ipaddress.AddressValueError:
        pass
    raise UsageError(f"{what} is {given!r}, must be an IPv4 address such as '10.0.0.1'")


def address(given: int | str, *, what: str = "addr") -> int:
    """An address: a number, or a text such as ``"0x1c300000"``, the form that addresses have in summaries.

    Raises
    ------
    UsageError
        If it is neither, or exceeds 64 bits; the message calls it `what`.
    """
    if isinstance(given, str):
        try:
            given = int(given, 16) if given.lower().startswith("0x") else int(given)
        except ValueError:
            raise UsageError(f"{what} is {given!r}, must be a number or a text such as '0x1c300000'") from None
    return whole(what, given, bits=64)
