# SPDX-License-Identifier: Apache-2.0
"""One run of a sweep: its job, with a key made of the content of all its inputs."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from spinet import _compile, _experiments, _kinds, _nics, _programs, api, toolchain
from spinet._build_errors import BuildError
from spinet._core import InputError, UsageError
from spinet._experiments import Prepared
from spinet._programs import Ready
from spinet.sweeps import store
from spinet.sweeps.plan import Plan, Settings
from spinet.sweeps.workers import Job

KIND = "runs"  # folder in the cache

Keywords = Callable[[Mapping[str, Any]], tuple[dict[str, Any], str | None]]
"""Takes the keywords of a run in its plan; returns those of `api.prepare`, and the experiment."""


@dataclass(frozen=True, kw_only=True)
class Tag:
    """A run of the sweep: its number in the order of the plan, and its settings."""

    number: int
    settings: Settings


def of_python(stated: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """Keywords as `spinet.run` takes them."""
    stated = dict(stated)
    experiment = stated.pop("experiment", None)
    return _experiments.keywords(stated), experiment


def check(plan: Plan, keywords: Keywords, *, options: bool) -> None:
    """Prepare runs that have every value of the plan at least once.

    Raises
    ------
    InputError
        The text has the settings of the wrong run.
    """
    with contextlib.chdir(plan.base_dir):
        for settings in plan.probes():
            try:
                given, experiment = keywords(plan.keywords(settings))
                api.prepare(experiment, given, options=options)
            except InputError as error:
                raise _at(settings, plan, error) from None


def jobs(plan: Plan, keywords: Keywords, *, options: bool) -> Iterator[Job]:
    """The jobs of all runs, with their programs built. A program is compiled once for all runs.

    A run that cannot be prepared is a job that ends with that error.
    """
    once = _compile.Once()
    numbered = enumerate(plan.runs(), 1)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        while some := list(itertools.islice(numbered, 2 * (os.cpu_count() or 1))):
            with contextlib.chdir(plan.base_dir):
                yield from list(threads.map(lambda run: _job(plan, keywords, options, once, *run), some))


def _job(plan: Plan, keywords: Keywords, options: bool, once: _compile.Once, number: int, settings: Settings) -> Job:
    tag = Tag(number=number, settings=settings)
    stated = plan.keywords(settings)
    try:
        with once.remembering():
            given, experiment = keywords(stated)
            prepared = api.prepare(experiment, given, options=options)
            ready = _programs.built(prepared, given, cc=stated.get("cc"), defines=stated.get("defines"))
            return Job(call=simulate, arguments=(ready,), kind=KIND, key=_key(ready), tag=tag)
    except (InputError, BuildError) as error:
        return Job(call=_fail, arguments=(str(error), getattr(error, "hint", "")), kind=KIND, tag=tag)


def simulate(ready: Ready) -> dict[str, Any]:
    """Simulate a run and return its summary. Runs in any process."""
    return dict(api.collect(ready, keep_packets=False).summary)


def _fail(text: str, hint: str) -> None:
    raise UsageError(text, hint=hint)


def _at(settings: Settings, plan: Plan, error: InputError) -> UsageError:
    where = ", ".join(f"{name} = {value}" for name, value in settings.items())
    file = f"{plan.file}: " if plan.file else ""
    return UsageError(f"{file}the run with {where}: {error}", hint=getattr(error, "hint", ""))


def _key(ready: Ready) -> str:
    """A cache key that covers everything on which the run's summary depends. Files count by content."""
    experiment = ready.experiment
    elfs = {name: store.digest(elf) for name, elf in ready.elfs.items()}
    values = _by_content(experiment.values, Path(experiment.base_dir))
    return store.key(store.simulator(), experiment.kind, values, _card(experiment), elfs, dict(ready.shown))


def _by_content(value: Any, base_dir: Path) -> Any:
    """A value of an experiment, with digests of files in place of their names. Sources count by the program that they
    compile to.
    """
    if isinstance(value, Mapping):
        return {key: _by_content(inner, base_dir) for key, inner in value.items()}
    if isinstance(value, list):
        return [_by_content(inner, base_dir) for inner in value]
    if not isinstance(value, str) or not value or len(value) > 4096 or "\n" in value:
        return value
    path = base_dir / value
    if path.suffix in toolchain.SOURCES:
        return path.name
    try:
        return f"sha256:{store.digest(path)}" if path.is_file() else value
    except (OSError, ValueError):
        return value


def _card(experiment: Prepared) -> Any:
    """All parameters of the card, also those of files that its file is based on."""
    nic = experiment.values.get("nic") or _kinds.get(experiment.kind).example
    nic = dict(nic) if isinstance(nic, Mapping) else {"preset": nic}
    preset = nic.get("preset", _kinds.get(experiment.kind).example)
    sets = tuple(_nics.settings(nic.get("set", [])))
    return _whole(experiment.kind, preset, sets, experiment.base_dir)


@cache
def _whole(kind: str, nic: str, sets: tuple[str, ...], base_dir: str) -> str:
    return _kinds.get(kind).whole(nic, sets, base_dir)
