# SPDX-License-Identifier: Apache-2.0
"""`Experiment`: an experiment as a value, written in Python or read from a file."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Self

from spinet import _core, _experiments, _files, _html, _kinds, _portable, _toml
from spinet._core import InputError, UsageError

__all__ = ["Experiment"]


class Experiment(Mapping[str, Any]):
    """A card, its traffic, and what runs on it: the keys of an experiment file (docs/reference/experiment.md).

    It is checked when it is made, and does not change. Two experiments are equal if they describe the same run.

    Parameters
    ----------
    values
        The keys of an experiment as a mapping.
    base_dir
        Folder at which relative paths start. Default: the current folder.
    keys
        The same as keywords. `nic` can also be what `spinet.nics` lists, or parameters from `spinet.parameters_of`.

    Raises
    ------
    InputError
        If a key or a value is wrong.

    Examples
    --------
    >>> import spinet
    >>> ping = spinet.Experiment(
    ...     program="sdk/examples/ping_pong.c", traffic="udp:count=4", context=[{"match": "udp"}], seed=7
    ... )
    >>> ping.kind, ping["seed"], ping.complete["nic"]
    ('handlers', 7, {'preset': 'pspin'})
    >>> spinet.Experiment.from_toml(ping.to_toml()) == ping
    True
    >>> len(spinet.run(ping).sent), len(spinet.run(ping, count=2).sent)
    (4, 2)
    """

    def __init__(
        self, values: Mapping[str, Any] | None = None, /, *, base_dir: str | Path | None = None, **keys: Any
    ) -> None:
        # Copied through JSON, so that later changes of the caller's lists and tables do not change the experiment.
        self._values: dict[str, Any] = _experiments.plain({**(values or {}), **keys})
        if base_dir is None:
            base_dir = values.base_dir if isinstance(values, Experiment) else Path.cwd()
        self._base_dir = Path(base_dir).absolute()
        check = partial(self._check, file=_experiments.NO_FILE)
        try:
            self._complete: dict[str, Any] = check(json.dumps(self._values), format="json")
        except InputError as error:
            raise _experiments.refusal(error, self._values, check) from None

    def _check(self, text: str, file: str, format: str) -> dict[str, Any]:
        try:
            self._kind = _core.kind_of_experiment(text, str(self._base_dir), format) or _kinds.HANDLERS
            checked: dict[str, Any] = json.loads(
                _core.check_experiment(text, file, str(self._base_dir), format, self._kind)
            )
        except InputError as error:
            raise InputError(str(error).removeprefix(f"{_experiments.NO_FILE}: ")) from None
        return checked

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a TOML file, or the JSON file that an earlier run wrote. Errors name the file and the line."""
        path = Path(path)
        try:
            text = _files.read(path).decode()
        except UnicodeDecodeError as error:
            raise UsageError(f"{path} is not text: byte {error.start} is not UTF-8") from error
        format = "json" if path.suffix == ".json" else "toml"
        return cls._from_text(text, str(path), format, path.absolute().parent)

    @classmethod
    def from_toml(cls, text: str, *, base_dir: str | Path | None = None) -> Self:
        """Read TOML text."""
        return cls._from_text(text, _experiments.NO_FILE, "toml", base_dir)

    @classmethod
    def _from_text(cls, text: str, file: str, format: str, base_dir: str | Path | None) -> Self:
        made = cls.__new__(cls)
        made._base_dir = Path.cwd() if base_dir is None else Path(base_dir).absolute()
        made._complete = made._check(text, file, format)
        made._values = json.loads(text) if format == "json" else _experiments.plain(tomllib.loads(text))
        return made

    def to_toml(self) -> str:
        """TOML text with all defaults and absolute paths, which describes the same run from any folder.

        Packets and contents of memories that were given as bytes are named as files of the build cache.
        """
        return _toml.dumps(self._complete)

    def save(self, path: str | Path) -> None:
        """Write `to_toml` into a file, whose name ends in ``.toml``.

        Files of the build cache are copied into a folder beside it, ``NAME.files``, because the cache forgets them.
        """
        path = Path(path)
        if path.suffix != ".toml":
            raise UsageError(f"{path}: the name of an experiment file must end in .toml")
        values = _portable.copied(self._complete, path.parent, f"{path.stem}.files")
        _files.write(path, _toml.dumps(values))

    @property
    def kind(self) -> str:
        """The kind of its card: ``"handlers"``, ``"chains"`` or ``"modules"``."""
        return self._kind

    @property
    def base_dir(self) -> Path:
        """Folder at which relative paths start."""
        return self._base_dir

    @property
    def complete(self) -> dict[str, Any]:
        """All keys, with defaults and absolute paths; a copy."""
        copy: dict[str, Any] = json.loads(json.dumps(self._complete))
        return copy

    def __getitem__(self, key: str) -> Any:
        """The value of a key that was given."""
        return json.loads(json.dumps(self._values[key]))

    def __iter__(self) -> Iterator[str]:
        """The keys that were given."""
        return iter(self._values)

    def __len__(self) -> int:
        """Number of keys that were given."""
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        """Returns true if both describe the same run."""
        if not isinstance(other, Experiment):
            return NotImplemented
        return self._kind == other._kind and self._complete == other._complete

    def __hash__(self) -> int:
        """Equal experiments have equal hashes."""
        return hash(json.dumps(self._complete, sort_keys=True))

    def _repr_html_(self) -> str:
        """For notebooks: the keys that were given, as TOML."""
        return _html.heading("Experiment", f"for a card that {_kinds.get(self._kind).does}") + _html.toml(self._values)

    def __repr__(self) -> str:
        """A call that makes the experiment."""
        return f"Experiment({self._values!r}, base_dir={str(self._base_dir)!r})"
