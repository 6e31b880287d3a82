# SPDX-License-Identifier: Apache-2.0
"""Budgets of tests: numbers in a file beside the tests, which measurements must not exceed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from spinet import _files
from spinet._core import UsageError

UPDATE = "--update-budgets"
_HEAD = "# Budgets of the tests in this folder. `pytest --update-budgets` writes the measured numbers.\n"
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Missing(Exception):
    """There is no such budget."""


@dataclass(kw_only=True)
class Book:
    """The budgets of one file."""

    file: Path
    is_updating: bool
    _known: dict[str, int] | None = None
    _measured: dict[str, dict[str, int]] = field(default_factory=dict)  # by test, then by name

    @property
    def known(self) -> dict[str, int]:
        """The numbers in the file; none if there is no file."""
        if self._known is None:
            self._known = _read(self.file)
        return self._known

    def allows(self, name: str, measured: int, test: str, compare: Callable[[int, int], bool]) -> bool:
        """Compare a measurement with its budget; while budgets are updated, note it."""
        if self.is_updating:
            of_test = self._measured.setdefault(test, {})
            of_test[name] = max(of_test.get(name, measured), measured)
            return True
        if name not in self.known:
            raise Missing(
                f"{self.file.name} has no budget {name!r}; measured: {measured}\n"
                f"hint: `pytest {UPDATE}` writes it, or add the line {_line(name, measured)!r}"
            )
        return compare(measured, self.known[name])

    def forget(self, test: str) -> None:
        """Drop the measurements of a test that failed."""
        self._measured.pop(test, None)

    def write(self) -> list[str]:
        """Write measured numbers in place of old ones; returns one line for each change."""
        new = dict[str, int]()
        for measured in self._measured.values():
            for name, number in measured.items():
                new[name] = max(new.get(name, number), number)
        before = dict(self.known)
        changes = [change(name, before.get(name), number) for name, number in new.items() if before.get(name) != number]
        if changes:
            self._known = {**before, **new}
            text = self.file.read_text() if self.file.exists() else _HEAD
            for name, number in new.items():
                text = _replaced(text, name, number)
            _files.write(self.file, text)
        return changes


class Budget:
    """A budget. Tests write `measured <= budget`."""

    def __init__(self, book: Book, name: str, test: str) -> None:
        self.book, self.name, self._test = book, name, test

    @property
    def value(self) -> int | None:
        """The number in the file; None if there is none."""
        return self.book.known.get(self.name)

    def __ge__(self, measured: int) -> bool:
        """Returns true if the measurement does not exceed the budget."""
        return self.book.allows(self.name, measured, self._test, lambda found, most: found <= most)

    def __gt__(self, measured: int) -> bool:
        """Returns true if the measurement is less than the budget."""
        return self.book.allows(self.name, measured, self._test, lambda found, most: found < most)

    def __repr__(self) -> str:
        """Its name and its value."""
        return f"budget {self.name} = {self.value}"


def change(name: str, before: int | None, after: int) -> str:
    """A change of a budget, with percent.

    >>> change("drop", 60, 75)
    'drop: 60 -> 75 (+15, +25.0 %)'
    """
    if before is None:
        return f"{name}: new, {after}"
    percent = f", {(after - before) / before * 100:+.1f} %" if before else ""
    return f"{name}: {before} -> {after} ({after - before:+}{percent})"


def explain(budget: Budget, measured: int) -> list[str]:
    """The message of a measurement that exceeds its budget: the change of the file, as a diff."""
    before = budget.value
    return [
        f"{measured} exceeds the budget {change(budget.name, before, measured)}",
        f"{budget.book.file}:",
        f"- {_line(budget.name, before or 0)}",
        f"+ {_line(budget.name, measured)}",
        f"hint: `pytest {UPDATE}` accepts it",
    ]


def _line(name: str, number: int) -> str:
    key = name if _BARE.fullmatch(name) else '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return f"{key} = {number}"


def _replaced(text: str, name: str, number: int) -> str:
    """The text of a file with another number, or with a new line at its end; comments stay."""
    line = _line(name, number)
    key = re.escape(line.rpartition(" = ")[0])
    found, count = re.subn(rf"(?m)^{key}[ \t]*=[ \t]*[0-9_]+", lambda _: line, text, count=1)
    return found if count else text + ("" if text.endswith("\n") or not text else "\n") + line + "\n"


def _read(file: Path) -> dict[str, int]:
    if not file.exists():
        return {}
    try:
        values = tomllib.loads(_files.read(file).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: {error}") from None
    for name, value in values.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise UsageError(f"{file}: {name} is {value!r}, must be a whole number of 0 or more")
    return values
