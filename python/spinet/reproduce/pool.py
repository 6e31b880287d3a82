# SPDX-License-Identifier: Apache-2.0
"""Points of experiments, measured on all cores. Points that were measured before are not measured again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from spinet import _core, firmware, toolchain
from spinet._build_errors import BuildError
from spinet._compiler import find_compiler
from spinet._core import InputError
from spinet.reproduce.experiment import Experiment, ExperimentError, Point, load
from spinet.sweeps import store, workers
from spinet.sweeps.workers import Job

Measured = dict[str, dict[str, dict[str, float]]]
"""Quantities, by experiment and point."""

OnPoint = Callable[[str, Point, bool], None]
"""Called when a point is available: its experiment, the point, whether it was known before."""

OnExperiment = Callable[[Experiment, dict[str, dict[str, float]]], None]
"""Called when the last point of an experiment is there: the experiment, and its quantities by point."""

KIND = "reproduce"  # folder in the cache

# Files of the package on which a result depends; the others only use results.
_NOT_MODEL = {"cli", "plots", "reproduce", "report", "sweeps"}


def measure(
    work: Sequence[tuple[Experiment, Point]],
    *,
    jobs: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    on_point: OnPoint | None = None,
    on_experiment: OnExperiment | None = None,
) -> Measured:
    """Measure points.

    Parameters
    ----------
    work
        Points with their experiments.
    jobs
        Processes; as many as the host has cores if not given.
    scheduler
        Address of a Dask scheduler, whose workers measure the points; those of the host are measured here.
    fresh
        Ignore cached results.
    on_point
        Called with every point when it is available.
    on_experiment
        Called with every experiment when all its points of `work` are available.
    """
    found: Measured = {experiment.name: {} for experiment, _ in work}
    missing = Counter(experiment.name for experiment, _ in work)
    for done in _all(work, jobs=jobs, scheduler=scheduler, fresh=fresh):
        experiment, point = done.job.tag
        if done.error is not None:
            raise ExperimentError(str(done.error), hint=getattr(done.error, "hint", ""))
        found[experiment.name][point.name] = done.value
        missing[experiment.name] -= 1
        if on_point:
            on_point(experiment.name, point, done.is_known)
        if on_experiment and not missing[experiment.name]:
            on_experiment(experiment, found[experiment.name])
    return found


def _all(
    work: Sequence[tuple[Experiment, Point]], *, jobs: int | None, scheduler: str | None, fresh: bool
) -> Iterator[workers.Done]:
    elsewhere = [_job(experiment, point) for experiment, point in work if not point.on_host]
    n = 1 if len(elsewhere) <= 1 else jobs
    yield from workers.run(elsewhere, processes=n, scheduler=scheduler, fresh=fresh)
    yield from workers.run((_job(experiment, point) for experiment, point in work if point.on_host), processes=1)


def _job(experiment: Experiment, point: Point) -> Job:
    key = None if point.on_host else _key(experiment, point)
    arguments = (experiment.name, str(experiment.file.parents[1]), point)
    return Job(call=_measured, arguments=arguments, kind=KIND, key=key, tag=(experiment, point))


def _measured(name: str, root: str, point: Point) -> dict[str, float]:
    """Measure a point. Runs in any process, and loads the experiment itself."""
    experiment = load(name, root=Path(root))
    try:
        return _plain(experiment.measure(**point.settings))
    except (InputError, BuildError) as error:
        hint = getattr(error, "hint", "")
        raise ExperimentError(f"{experiment.name}, point `{point.name}`: {error}", hint=hint) from None


def _plain(values: Mapping[str, float]) -> dict[str, float]:
    """The values as numbers that JSON can store: NumPy's numbers become Python's."""
    return {name: value if isinstance(value, int) else float(value) for name, value in values.items()}


def _key(experiment: Experiment, point: Point) -> str:
    """A cache key that covers everything on which the result of a point can depend."""
    return store.key(experiment.name, sorted(point.settings.items()), _content(experiment.file.parent))


@cache
def _content(folder: Path) -> str:
    """A hash over the simulator, its compiler, the SDK, the cards' firmware and the experiments of a paper."""
    package = Path(_core.__file__).parent
    files = [path for path in package.iterdir() if path.suffix == ".so"]
    files += [path for path in package.rglob("*.py") if not _NOT_MODEL & set(path.relative_to(package).parts)]
    sdk = toolchain.sdk_dir()
    files += [path for path in sdk.rglob("*") if path.is_file()]
    files += [path for path in firmware.firmware_dir().rglob("*") if path.is_file()]
    files += [path for path in folder.rglob("*") if path.suffix in (".py", ".c", ".h", ".S", ".toml")]
    digest = hashlib.sha256()
    for path in sorted(set(files)):
        digest.update(f"{path.name} {store.digest(path)}\n".encode())
    compiler = find_compiler(cc=None, cache=toolchain.cache_dir())
    digest.update(repr(compiler.identity).encode())
    return digest.hexdigest()
