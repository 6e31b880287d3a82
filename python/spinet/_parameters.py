# SPDX-License-Identifier: Apache-2.0
"""Base of the classes of a card's parameters: checked when made, equal by value, readable from TOML and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Union, get_args, get_origin

from spinet import _html, _toml
from spinet._core import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from spinet._nics import Card, Settings

__all__ = ["ModuleParams", "NicParams", "Params"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Params:
    """A table of parameters. `dataclasses.replace` makes one with other values."""

    def __post_init__(self) -> None:
        """Check the type of every value. Bounds are checked by the card.

        Raises
        ------
        InputError
            If a value has a wrong type. The text names the parameter.
        """
        hints = _hints(type(self))
        for field in dataclasses.fields(self):
            where = f"{type(self).__name__}.{field.name}"
            object.__setattr__(self, field.name, _typed(hints[field.name], getattr(self, field.name), where))

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> Self:
        """The parameters in a table of TOML.

        Raises
        ------
        InputError
            If a key is unknown or missing, or a value has another type.
        """
        names = {_key(field.name): field for field in dataclasses.fields(cls)}
        for key in table:
            if key not in names:
                raise UsageError(f"{cls.__name__} has no parameter `{key}`; its parameters: {', '.join(names)}")
        for key, field in names.items():
            is_required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            if is_required and key not in table:
                raise UsageError(f"{cls.__name__}: parameter `{key}` is missing")
        return cls(**{names[key].name: value for key, value in table.items()})

    def to_table(self) -> dict[str, Any]:
        """The parameters as a table of TOML. A value of None has no key there."""
        values = ((_key(field.name), getattr(self, field.name)) for field in dataclasses.fields(self))
        return {key: _plain(value) for key, value in values if value is not None}


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModuleParams(Params):
    """Parameters of a part of a wired card."""

    MODULE: ClassVar[str] = ""
    """Name of the module in a card's file."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class NicParams(Params):
    """All parameters of a card. `spinet.run`, `spinet.compare` and `spinet.Experiment` take them as `nic`."""

    _PRESETS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def load(cls, nic: Card, *, set: Settings = ()) -> Self:
        """The parameters of a card, as `spinet.parameters_of`, for a card that must have this class.

        Raises
        ------
        InputError
            If there is no such card, it has another class, or `set` does not fit.
        """
        from spinet import presets

        return cls._only(presets.parameters_of(nic, set=set), f"{nic}")

    @classmethod
    def from_toml(cls, text: str, *, base_dir: str | Path = ".") -> Self:
        """The parameters in the text of a card's file; a `base` in it is relative to `base_dir`.

        Raises
        ------
        InputError
            If the text is not a card of this class.
        """
        from spinet import presets

        return cls._only(presets.parameters_of_text(text, base_dir=base_dir), "the card")

    @classmethod
    def _only(cls, found: NicParams, what: str) -> Self:
        if not isinstance(found, cls):
            raise UsageError(f"{what} has {type(found).__name__}, not {cls.__name__}")
        return found

    def to_toml(self) -> str:
        """The text of a card's file with these parameters."""
        return _toml.dumps(self.to_table())

    def _repr_html_(self) -> str:
        """For notebooks: the text of the card's file."""
        return _html.heading(type(self).__name__) + _html.code(self.to_toml())

    def as_settings(self) -> tuple[str, list[str]]:
        """A card, and the settings with which it has these parameters."""
        from spinet import presets

        wanted, best = self.to_table(), None
        for name in self._PRESETS:
            found = _changes(presets.table_of(name), wanted, "")
            if found is not None and (best is None or len(found) < len(best[1])):
                best = name, found
        if best is None:
            return str(presets.kept(self.to_toml())), []
        return best[0], [f"{path}={_toml.inline(value)}" for path, value in best[1]]


def _changes(base: Any, wanted: Any, path: str) -> list[tuple[str, Any]] | None:
    """Settings that turn `base` into `wanted`; None if settings cannot do that."""
    if base == wanted:
        return []
    if isinstance(base, Mapping) and isinstance(wanted, Mapping):
        if "kind" in wanted and base.get("kind") != wanted["kind"]:
            return _leaves(wanted, path)
        if base.keys() != wanted.keys():
            return None
        return _all(_changes(base[key], wanted[key], f"{path}.{key}".lstrip(".")) for key in wanted)
    if _names(base) is not None and _names(base) == _names(wanted):
        pairs = zip(base, wanted, strict=True)
        return _all(_changes(old, new, f"{path}.{new['name']}") for old, new in pairs)
    return [(path, wanted)] if not _has_tables(wanted) and not _has_tables(base) else None


def _leaves(table: Mapping[str, Any], path: str) -> list[tuple[str, Any]] | None:
    inner = ((f"{path}.{key}", value) for key, value in table.items())
    return _all(
        _leaves(value, name) if isinstance(value, Mapping) else None if _has_tables(value) else [(name, value)]
        for name, value in inner
    )


def _all(parts: Iterator[list[tuple[str, Any]] | None]) -> list[tuple[str, Any]] | None:
    found: list[tuple[str, Any]] = []
    for part in parts:
        if part is None:
            return None
        found += part
    return found


def _names(value: Any) -> list[str] | None:
    """Names of the tables in a list, by which settings find them."""
    if not isinstance(value, list) or not value or not all(isinstance(item, Mapping) for item in value):
        return None
    names = [str(item.get("name", ".")) for item in value]
    return None if any("." in name for name in names) or len({*names}) < len(names) else names


def _has_tables(value: Any) -> bool:
    return isinstance(value, Mapping) or (isinstance(value, list) and any(_has_tables(item) for item in value))


def _key(name: str) -> str:
    """Key in TOML of a parameter; those that are keywords of Python have an underscore behind them."""
    return name.removesuffix("_")


def _plain(value: Any) -> Any:
    if isinstance(value, Params):
        return value.to_table()
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, tuple | list) else value


_known: dict[str, dict[str, Any]] = {}


def _hints(cls: type) -> dict[str, Any]:
    name = f"{cls.__module__}.{cls.__qualname__}"
    if name not in _known:
        _known[name] = typing.get_type_hints(cls)
    return _known[name]


_WORDS = {int: "an integer", float: "a number", str: "a text", bool: "True or False"}


def _typed(hint: Any, value: Any, where: str) -> Any:
    """The value as this type; tables become objects, and lists tuples."""
    if hasattr(value, "item") and not isinstance(value, Params):
        value = value.item()  # a number of NumPy
    origin = get_origin(hint)
    if hint is Any:
        return value
    if origin in (types.UnionType, Union):
        return _one_of(get_args(hint), value, where)
    if origin is Literal:
        if value not in get_args(hint) or isinstance(value, bool):
            raise _wrong(where, value, " or ".join(repr(word) for word in get_args(hint)))
        return value
    if origin is tuple:
        if isinstance(value, str) or not isinstance(value, Sequence):
            raise _wrong(where, value, "a tuple or a list")
        return tuple(_typed(get_args(hint)[0], item, f"{where}[{i}]") for i, item in enumerate(value))
    if origin is not None:
        if not isinstance(value, Mapping):
            raise _wrong(where, value, "a mapping")
        return {key: _typed(get_args(hint)[1], item, f"{where}[{key!r}]") for key, item in value.items()}
    if dataclasses.is_dataclass(hint):
        if isinstance(value, Mapping) and issubclass(typing.cast(type, hint), Params):
            return typing.cast(type[Params], hint).from_table(value)
        if not isinstance(value, typing.cast(type, hint)):
            raise _wrong(where, value, f"a {typing.cast(type, hint).__name__}")
        return value
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if is_number if hint is int else (is_number or isinstance(value, float)) if hint is float else type(value) is hint:
        return value
    raise _wrong(where, value, _WORDS.get(hint, str(hint)))


def _one_of(choices: Sequence[Any], value: Any, where: str) -> Any:
    """The value as the one of several types that it fits."""
    if value is None and type(None) in choices:
        return None
    tables: list[type] = [choice for choice in choices if isinstance(choice, type) and issubclass(choice, Params)]
    if isinstance(value, Mapping):
        for table in tables:
            if _fits(table, value):
                return _typed(table, value, where)
    elif isinstance(value, tuple(tables)):
        return value
    for choice in choices:
        if not dataclasses.is_dataclass(choice) and choice is not type(None):
            try:
                return _typed(choice, value, where)
            except UsageError:
                continue
    words = [word for choice in choices for word in _said(choice)]
    raise _wrong(where, value, " or ".join(words))


def _fits(table: Any, value: Mapping[str, Any]) -> bool:
    """Returns true if the constants of a variant, or its only key, are those of the value."""
    hints = _hints(table)
    tags = {key: get_args(hints[key]) for key in ("kind", "model") if get_origin(hints.get(key)) is Literal}
    if tags:
        return all(value.get(key) in allowed for key, allowed in tags.items())
    return value.keys() <= {_key(field.name) for field in dataclasses.fields(table)}


def _said(choice: Any) -> list[str]:
    if get_origin(choice) is Literal:
        return [repr(word) for word in get_args(choice)]
    return [_WORDS.get(choice, "None" if choice is type(None) else getattr(choice, "__name__", str(choice)))]


def _wrong(where: str, value: object, allowed: str) -> UsageError:
    return UsageError(f"{where} is {value!r}, must be {allowed}")
