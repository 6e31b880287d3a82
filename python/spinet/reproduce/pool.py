# SPDX-License-Identifier: Apache-2.0
"""Points measured by all cores at once; what was measured before and cannot have changed is not measured again."""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import multiprocessing.process
import os
import signal
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache
from pathlib import Path

from spinet import _core, _files, firmware, toolchain
from spinet._build_errors import BuildError
from spinet._compiler import find_compiler
from spinet._core import InputError
from spinet.reproduce.experiment import Experiment, ExperimentError, Point, load

Measured = dict[str, dict[str, dict[str, float]]]
"""Quantities, by experiment and point."""

OnPoint = Callable[[str, Point, bool], None]
"""Called when a point is there: its experiment, the point, whether it was known before."""

OnExperiment = Callable[[Experiment, dict[str, dict[str, float]]], None]
"""Called when the last point of an experiment is there: the experiment, and its quantities by point."""

# Files of the package on which a result depends; the others only use results.
_NOT_MODEL = {"cli", "plots", "reproduce"}

_MOMENT_S = 5  # what a process that is ended may take for it


def measure(
    work: Sequence[tuple[Experiment, Point]],
    *,
    jobs: int | None = None,
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
    fresh
        Ignore cached results.
    on_point
        Hears of every point when it is there.
    on_experiment
        Hears of every experiment when all its points of `work` are there.
    """
    found: Measured = {experiment.name: {} for experiment, _ in work}
    missing = Counter(experiment.name for experiment, _ in work)

    def came(experiment: Experiment, point: Point, values: dict[str, float], *, known: bool) -> None:
        found[experiment.name][point.name] = values
        missing[experiment.name] -= 1
        if on_point:
            on_point(experiment.name, point, known)
        if on_experiment and not missing[experiment.name]:
            on_experiment(experiment, found[experiment.name])

    waiting: list[tuple[Experiment, Point, Path]] = []
    for experiment, point in work:
        place = _place(experiment, point)
        known = None if fresh or point.on_host else _look_up(place)
        if known is None:
            waiting.append((experiment, point, place))
        else:
            came(experiment, point, known, known=True)
    for on_host, n in ((False, jobs or os.cpu_count() or 1), (True, 1)):
        mine = [item for item in waiting if item[1].on_host == on_host]
        for experiment, point, place, values in _all(mine, n):
            if not on_host:
                _keep(place, values)
            came(experiment, point, values, known=False)
    return found


def _all(
    work: Sequence[tuple[Experiment, Point, Path]], jobs: int
) -> Iterable[tuple[Experiment, Point, Path, dict[str, float]]]:
    if jobs == 1 or len(work) <= 1:
        for experiment, point, place in work:
            yield experiment, point, place, _measure_here(experiment, point)
        return
    with _processes(min(jobs, len(work))) as pool:
        running: dict[Future[dict[str, float]], tuple[Experiment, Point, Path]] = {
            pool.submit(_measure_there, experiment.name, point): (experiment, point, place)
            for experiment, point, place in work
        }
        while running:
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                experiment, point, place = running.pop(future)
                yield experiment, point, place, future.result()


@contextlib.contextmanager
def _processes(n: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh ones: what this one has loaded, threads included, does not go along."""
    context, others = multiprocessing.get_context("spawn"), set(multiprocessing.active_children())
    # Here are the scratch files of processes that end before they can clean up.
    with _files.scratch() as scratch:
        pool = ProcessPoolExecutor(n, mp_context=context, initializer=_begin, initargs=(str(scratch),))
        try:
            yield pool
        except (KeyboardInterrupt, GeneratorExit):
            # Nobody waits for what is being measured.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                assert process.pid is not None, "an active child has a number"
                try:
                    # With the compiler that it runs, which would go on and write to the scratch folder.
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    process.kill()  # it leads no group yet
                process.join(timeout=_MOMENT_S)
            raise
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
        pool.shutdown()


def _begin(scratch: str) -> None:
    """Prepare a process of the pool. It leads a group of its own, so that what it starts ends with it."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    tempfile.tempdir = scratch
    parent = multiprocessing.parent_process()
    assert parent is not None, "a process of the pool was started by another"
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    """End this process when the one that started it is gone: nobody waits for what is being measured."""
    parent.join()
    os.killpg(0, signal.SIGKILL)


def _measure_there(name: str, point: Point) -> dict[str, float]:
    """In a process of the pool, which loads the experiment for itself."""
    return _measure_here(load(name), point)


def _measure_here(experiment: Experiment, point: Point) -> dict[str, float]:
    try:
        return _plain(experiment.measure(**point.settings))
    except (InputError, BuildError) as error:
        # As one that survives the way back from another process.
        hint = getattr(error, "hint", "")
        raise ExperimentError(f"{experiment.name}, point `{point.name}`: {error}", hint=hint) from None


def _plain(values: Mapping[str, float]) -> dict[str, float]:
    """Numbers that JSON keeps; NumPy's are turned into Python's."""
    return {name: value if isinstance(value, int) else float(value) for name, value in values.items()}


def _place(experiment: Experiment, point: Point) -> Path:
    """Where the result of a point is kept: a name made of all that it can depend on."""
    point_text = json.dumps([experiment.name, sorted(point.settings.items())], sort_keys=True)
    key = hashlib.sha256(f"{_content(experiment.file.parent)} {point_text}".encode()).hexdigest()[:32]
    return toolchain.cache_dir() / "reproduce" / f"{key}.json"


@cache
def _content(folder: Path) -> str:
    """Stands for the simulator, its compiler, the SDK, the cards' firmware and the experiments of a paper."""
    package = Path(_core.__file__).parent
    files = [path for path in package.iterdir() if path.suffix == ".so"]
    files += [path for path in package.rglob("*.py") if not _NOT_MODEL & set(path.relative_to(package).parts)]
    sdk = toolchain.sdk_dir()
    files += [path for path in sdk.rglob("*") if path.is_file()]
    files += [path for path in firmware.firmware_dir().rglob("*") if path.is_file()]
    files += [path for path in folder.rglob("*") if path.suffix in (".py", ".c", ".h", ".S", ".toml")]
    digest = hashlib.sha256()
    for path in sorted(set(files)):
        digest.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    compiler = find_compiler(cc=None, cache=toolchain.cache_dir())
    digest.update(repr(compiler.identity).encode())
    return digest.hexdigest()


def _look_up(place: Path) -> dict[str, float] | None:
    try:
        return dict(json.loads(place.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _keep(place: Path, values: Mapping[str, float]) -> None:
    with _files.keeping(toolchain.cache_dir()):
        place.parent.mkdir(parents=True, exist_ok=True)
        _files.write(place, json.dumps(values))
