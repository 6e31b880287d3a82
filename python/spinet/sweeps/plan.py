# SPDX-License-Identifier: Apache-2.0
"""The plan of a sweep: the values that vary, and the runs that follow from them."""

from __future__ import annotations

import difflib
import itertools
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from spinet import _core, _files
from spinet._core import InputError, UsageError
from spinet._options import OPTIONS

Value: TypeAlias = str | int | float | bool
Settings: TypeAlias = Mapping[str, Any]
"""The varied keys of one run, with their values."""

MOST_RUNS = 1_000_000
_PROBED = 50  # values of a key that are checked before the first run

# Keywords of `spinet.run` that concern what one run writes, or cannot be written in a file.
NOT_HERE = (
    "output",
    "force",
    "strict",
    "report",
    "profile",
    "paths",
    "timeline",
    "waves",
    "timeline_only",
    "capture_drops",
    "out",
    "check",
    "policies",
    "trace_instructions",
    "trace_cores",
    "trace_time",
)
KEYWORDS = ("experiment", *(name for name in OPTIONS if name not in NOT_HERE))
_TABLES = ("run", "vary", "case", "columns")
_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\.\.({_NUMBER})(?:([+*])({_NUMBER}))?")
_IN_BRACES = re.compile(r"\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The runs of a sweep.

    Attributes
    ----------
    run
        Keywords of `spinet.run` that all runs share.
    vary
        Values by key; there is a run for every combination.
    cases
        Values of several keys that change together; every case is combined with all combinations of `vary`.
    columns
        Columns to print.
    base_dir
        Folder at which relative paths start.
    file
        Name of the file in messages; empty if the sweep is not from a file.
    """

    run: Mapping[str, Any]
    vary: Mapping[str, Sequence[Any]]
    cases: Sequence[Settings] = ()
    columns: Sequence[str] = ()
    base_dir: Path
    file: str = ""

    def __post_init__(self) -> None:
        try:
            self._check()
        except UsageError as error:
            raise UsageError(f"{self.file}: {error}" if self.file else str(error), hint=error.hint) from None

    def _check(self) -> None:
        for name in self.run:
            _known(name, KEYWORDS, "[run]")
        names = [*self.vary, *(name for case in self.cases for name in case)]
        used = set(_IN_BRACES.findall(json.dumps(self.run, default=str)))
        inner = [*self.vary.values(), *([value] for case in self.cases for value in case.values())]
        used |= set(_IN_BRACES.findall(json.dumps(inner, default=str)))
        if not names:
            raise UsageError("the sweep varies nothing", hint="name keys with values in [vary], or in [[case]] tables")
        for name in names:
            head, dot, _rest = name.partition(".")
            if name in KEYWORDS or name in used or (dot and head in ("set", "defines")):
                continue
            near = difflib.get_close_matches(name, [*KEYWORDS, *used], n=1)
            hint = f"did you mean {near[0]}?" if near else f"write {{{name}}} where its values belong"
            raise UsageError(
                f"nothing uses `{name}`: it must be a keyword of spinet.run, set.PARAMETER, defines.MACRO, or stand in "
                "braces in a text of [run]",
                hint=hint,
            )
        for case in self.cases:
            if twice := set(case) & set(self.vary):
                raise UsageError(f"`{min(twice)}` is in [vary] and in a [[case]]", hint="leave one of them away")
        if self.n_runs > MOST_RUNS:
            raise UsageError(f"the sweep has {self.n_runs:,} runs, must have at most {MOST_RUNS:,}")

    @property
    def n_runs(self) -> int:
        """Number of its runs."""
        n = max(1, len(self.cases))
        for values in self.vary.values():
            n *= len(values)
        return n

    @property
    def varied(self) -> list[str]:
        """All varied keys, in the order of the columns."""
        return list(dict.fromkeys([*(name for case in self.cases for name in case), *self.vary]))

    def runs(self) -> Iterator[Settings]:
        """Settings of all runs; the last key of `vary` changes first."""
        for case in self.cases or [{}]:
            for values in itertools.product(*self.vary.values()):
                yield {**case, **dict(zip(self.vary, values, strict=True))}

    def probes(self) -> Iterator[Settings]:
        """A few runs that together have all values of every key, so that a wrong value shows before the first run."""
        first = next(self.runs())
        yield first
        for case in self.cases[1:_PROBED]:
            yield {**case, **{name: values[0] for name, values in self.vary.items()}}
        for name, values in self.vary.items():
            for value in [*values[1:_PROBED], *values[_PROBED:][-1:]]:
                yield {**first, name: value}

    def keywords(self, settings: Settings) -> dict[str, Any]:
        """Keywords of `spinet.run` for one run."""
        found = dict(self.run)
        sets, defines = _sets(found.get("set", ())), dict(found.get("defines") or {})
        for name, value in settings.items():
            head, _, rest = name.partition(".")
            if head == "set" and rest:
                sets.append(f"{rest}={_text(value)}")
            elif head == "defines" and rest:
                defines[rest] = value
            elif name in KEYWORDS:
                found[name] = value
        found |= {name: value for name, value in (("set", sets), ("defines", defines)) if value}
        filled: dict[str, Any] = _filled(found, settings)
        return filled


def read(path: str | Path) -> Plan:
    """The sweep of a TOML file.

    Raises
    ------
    InputError
        If it cannot be read, or something in it is wrong.
    """
    path = Path(path)
    try:
        text = _files.read(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text: byte {error.start} is not UTF-8") from error
    _core.check_limits(text, str(path), "toml")
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from None
    return of(values, base_dir=path.absolute().parent, file=str(path))


def of(values: Mapping[str, Any], *, base_dir: Path, file: str = "") -> Plan:
    """The sweep of a mapping with the keys of a file."""
    where = f"{file}: " if file else ""
    for name in values:
        try:
            _known(name, _TABLES, "the sweep")
        except UsageError as error:
            raise UsageError(f"{where}{error}", hint=error.hint) from None
    run, vary, cases = values.get("run", {}), values.get("vary", {}), values.get("case", [])
    columns = values.get("columns", [])
    if not isinstance(run, Mapping) or not isinstance(vary, Mapping):
        raise UsageError(f"{where}`run` and `vary` must be tables")
    if not isinstance(cases, list) or not all(isinstance(case, Mapping) for case in cases):
        raise UsageError(f"{where}`case` must be a list of tables: [[case]]")
    if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
        raise UsageError(f"{where}`columns` must be a list of names")
    varied = {}
    for name, given in _leaves(vary):
        try:
            varied[name] = values_of(given)
        except UsageError as error:
            raise UsageError(f"{where}vary.{name}: {error}") from None
    return Plan(
        run=run,
        vary=varied,
        cases=[dict(_leaves(case)) for case in cases],
        columns=columns,
        base_dir=base_dir,
        file=file,
    )


def _leaves(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Values by dotted key: ``set.cluster.n_cores = [1, 2]`` is a table of tables in TOML."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def values_of(given: Any) -> list[Any]:
    """The values of a key: a list, a range as text, or one value.

    A range is ``FROM..TO``, both included, with a step behind ``+`` or a factor behind ``*``.

    >>> values_of("1..4"), values_of("64..1024*4"), values_of("0..1+0.25")
    ([1, 2, 3, 4], [64, 256, 1024], [0, 0.25, 0.5, 0.75, 1])
    >>> values_of([1, "a"]), values_of("udp:size=64")
    ([1, 'a'], ['udp:size=64'])

    Raises
    ------
    UsageError
        If there are no values, a range does not end, or a value has another type.
    """
    values = _range(given) if isinstance(given, str) and _RANGE.fullmatch(given) else given
    values = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]
    if not values:
        raise UsageError("there are no values")
    for value in values:
        inner = value if isinstance(value, list) else [value]
        if not all(isinstance(each, str | int | float) for each in inner):
            raise UsageError(f"found the value {value!r}, must be a text, a number, true or false")
    return values


def _range(text: str) -> list[int | float]:
    found = _RANGE.fullmatch(text)
    assert found is not None, "the caller has looked"
    low, high, step = Decimal(found[1]), Decimal(found[2]), Decimal(found[4] or 1)
    grows = step > 1 and low > 0 if found[3] == "*" else step > 0
    if not grows or high < low:
        raise UsageError(f"the range {text} must grow: 1..8, 1..8+2, or 64..1024*2")
    values: list[int | float] = []
    while low <= high:
        values.append(int(low) if low == low.to_integral_value() else float(low))
        if len(values) > MOST_RUNS:
            raise UsageError(f"the range {text} has more than {MOST_RUNS:,} values")
        low = low * step if found[3] == "*" else low + step
    return values


def _filled(value: Any, settings: Settings) -> Any:
    """A value with settings in place of names in braces; a text that is one name becomes the setting itself."""
    if isinstance(value, Mapping):
        return {key: _filled(inner, settings) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_filled(inner, settings) for inner in value]
    if not isinstance(value, str):
        return value
    whole = _IN_BRACES.fullmatch(value)
    if whole is not None and whole[1] in settings:
        return settings[whole[1]]
    return _IN_BRACES.sub(lambda found: _text(settings[found[1]]) if found[1] in settings else found[0], value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _sets(given: Any) -> list[str]:
    if isinstance(given, Mapping):
        return [f"{path}={_text(value)}" for path, value in given.items()]
    return [given] if isinstance(given, str) else list(given)


def check_keywords(given: Iterable[str], own: Sequence[str]) -> None:
    """Refuse keywords of a Python function that are neither keywords of `spinet.run` nor among its `own`.

    Raises
    ------
    UsageError
        The text has the first of them.
    """
    for name in given:
        _known(name, (*own, *KEYWORDS), "sweep", what="keyword")


def _known(name: str, known: Sequence[str], where: str, *, what: str = "key") -> None:
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known)}"
    raise UsageError(f"{where} has no {what} `{name}`", hint=hint)
