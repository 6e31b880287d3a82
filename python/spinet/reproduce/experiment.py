# SPDX-License-Identifier: Apache-2.0
"""Experiments, and how they are found."""

from __future__ import annotations

import difflib
import importlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING

from spinet._core import UsageError
from spinet.reproduce import expected
from spinet.reproduce.expected import Expectation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from spinet.reproduce.results import Results

Setting = int | float | str | bool


class ExperimentError(UsageError):
    """An experiment that does not exist, or is not written as one must be."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One thing to measure.

    Attributes
    ----------
    name
        Unique within its experiment; the expected values name it.
    settings
        Arguments for the experiment's `measure`.
    quick
        Takes less than a second or two: the gate measures it, so that the experiment cannot rot.
    on_host
        Measures the machine that spinet runs on: it is measured alone, after all others, and never kept.
    """

    name: str
    settings: Mapping[str, Setting] = field(default_factory=dict)
    quick: bool = False
    on_host: bool = False


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement about several points, and whether it holds.

    Attributes
    ----------
    text
        The statement, with where it stands.
    holds
        Whether it does; `None` if it cannot be judged but is worth knowing, such as a comparison with this machine.
    found
        What was found, in numbers.
    miss
        Why it does not hold, if that is known; empty if it should.
    basis
        Why agreement is not evidence, as in `Expectation.basis`; empty if it is.
    """

    text: str
    holds: bool | None
    found: str
    miss: str = ""
    basis: str = ""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A figure or table, ready to be measured.

    Its module has `TITLE`, `SOURCE`, `points`, `measure`, `plot` and, where the text makes statements, `claims`; the
    first paragraph of its docstring is printed with its results.
    """

    name: str  # "pspin/fig8"
    file: Path
    title: str
    source: str
    about: str
    points: tuple[Point, ...]
    expected: tuple[Expectation, ...]
    measure: Callable[..., Mapping[str, float]]
    claims: Callable[[Results], Iterable[Claim]]
    plot: Callable[[Results], Figure]

    @property
    def slug(self) -> str:
        """The last part of its name."""
        return self.name.rpartition("/")[2]


def find_root() -> Path:
    """The folder `experiments`: of the current folder if that has any, else those that come with spinet."""
    here, shipped = Path.cwd() / "experiments", Path(__file__).resolve().parents[1] / "experiments"
    for candidate in (here, shipped):
        if _files(candidate):
            return candidate.resolve()
    raise ExperimentError(f"no experiments in {here} nor in {shipped}", hint="reinstall spinet")


def _files(folder: Path) -> list[Path]:
    """Modules of experiments: those with expected values beside them."""
    return [file for file in folder.glob("*/*.py") if file.with_suffix(".csv").is_file()]


def find(*patterns: str) -> list[str]:
    """Names of experiments: those given, all of the papers given, or all there are.

    Raises
    ------
    ExperimentError
        If a pattern names neither a paper nor an experiment.
    """
    folder = find_root()
    known = sorted((f"{file.parent.name}/{file.stem}" for file in _files(folder)), key=_by_number)
    found: list[str] = []
    for pattern in patterns or sorted({name.partition("/")[0] for name in known}):
        wanted = pattern.removesuffix("/").removesuffix(".py").removeprefix("experiments/")
        matches = [name for name in known if name == wanted or name.partition("/")[0] == wanted]
        if not matches:
            near = difflib.get_close_matches(wanted, [*known, *{name.partition("/")[0] for name in known}], n=1)
            hint = f"did you mean {near[0]}?" if near else "spinet reproduce --list names them all"
            raise ExperimentError(f"there is no experiment {pattern}", hint=hint)
        found += [name for name in matches if name not in found]
    return found


def _by_number(name: str) -> list[tuple[int, str]]:
    """`fig8a` before `fig9` before `fig10`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _package(folder: Path) -> None:
    """Make `experiments` a package of this folder; other files beside the folder cannot be imported through it."""
    if "experiments" not in sys.modules:
        spec = ModuleSpec("experiments", None, is_package=True)
        spec.submodule_search_locations = [str(folder)]
        sys.modules["experiments"] = module_from_spec(spec)


def load(name: str, *, root: Path | None = None) -> Experiment:
    """Read an experiment's module and its expected values.

    Parameters
    ----------
    root
        The folder `experiments`. Default: that of `find_root`.

    Raises
    ------
    ExperimentError
        If the module lacks something, or the expected values name points that do not exist.
    """
    folder = find_root() if root is None else root
    file = folder / f"{name}.py"
    _package(folder)
    module = importlib.import_module("experiments." + name.replace("/", "."))
    try:
        points = tuple(module.points())
        experiment = Experiment(
            name=name,
            file=file,
            title=module.TITLE,
            source=module.SOURCE,
            about=(module.__doc__ or "").partition("\n\n")[2].strip(),
            points=points,
            expected=tuple(expected.read(file.with_suffix(".csv"))),
            measure=module.measure,
            claims=getattr(module, "claims", lambda _results: ()),
            plot=module.plot,
        )
    except AttributeError as error:
        raise ExperimentError(f"{file}: {error}") from error
    names = [point.name for point in points]
    if len(set(names)) != len(names):
        raise ExperimentError(f"{file}: two points have the same name")
    for row in experiment.expected:
        if row.point not in names:
            raise ExperimentError(f"{file.with_suffix('.csv')}: there is no point `{row.point}`")
    return experiment
