# SPDX-License-Identifier: Apache-2.0
"""`WiredParams`: the parameters of a card that is wired from modules, a preset or a user's own."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from spinet import _toml, wiring
from spinet._core import UsageError
from spinet._parameters import ModuleParams, NicParams

__all__ = ["WiredParams"]

_Module = TypeVar("_Module", bound=ModuleParams)


@dataclass(frozen=True, kw_only=True)
class WiredParams(NicParams):
    """Parameters of a card that is wired from modules, such as tigon2, or of a user's own.

    A value that the card's file computes from others, such as ``"5 + 2 * $cpus"``, follows them unless it is changed
    itself.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import spinet
    >>> from spinet.module_parameters import MemoryControllerParams
    >>> card = spinet.parameters_of("tigon2")
    >>> sram = card.part("sram", MemoryControllerParams)
    >>> slow = card.with_part("sram", replace(sram, first_word_cycles=4)).with_clocks(memory="80 MHz")
    >>> slow.as_settings()
    ('tigon2', ['clocks.memory="80 MHz"', 'sram.first_word_cycles=4'])
    """

    base: str
    """The card, by name or by the path of its file."""
    parameters: Mapping[str, Any]
    """Parameters of the card itself, such as ``cpus``."""
    clocks: Mapping[str, str]
    """Frequencies of its clocks, such as ``"88 MHz"``."""
    parts: Mapping[str, ModuleParams]
    """Parameters of its parts by path, such as ``cpu_a.core``."""

    @classmethod
    def _of(cls, base: str, sets: Sequence[str]) -> Self:
        """The parameters of a card with settings over it."""
        from spinet.module_parameters import MODULES

        design = wiring.design(base, set=sets)
        parts = {part.path: MODULES[part.module].from_table(part.parameters) for part in design.parts}
        return cls(base=base, parameters=design.parameters, clocks=design.clocks, parts=parts)

    @classmethod
    def _of_text(cls, text: str, base_dir: Path) -> Self:
        """The parameters of a card's text. A text that only changes values of its base keeps that base."""
        from spinet import presets

        table = tomllib.loads(text)
        base = str(table.get("base", ""))
        if base.endswith(".toml"):
            base = table["base"] = str((base_dir / base).absolute())
        instances: Mapping[str, Any] = table.get("instances", {})
        is_change = table.keys() <= {"name", "about", "base", "parameters", "clocks", "instances"} and not any(
            instance.keys() & {"module", "clock", "count"} for instance in instances.values()
        )
        if not base or not is_change:
            return cls._of(str(presets.kept(_toml.dumps(table))), [])
        values = {**table.get("parameters", {}), "clocks": table.get("clocks", {}), **instances}
        return cls._of(base, [f"{path}={_toml.inline(value)}" for path, value in _leaves(values, "")])

    def part(self, path: str, kind: type[_Module]) -> _Module:
        """The parameters of a part.

        Parameters
        ----------
        path
            Its path, such as ``"sram"`` or ``"cpu_a.core"``.
        kind
            Its class in `spinet.module_parameters`.

        Raises
        ------
        InputError
            If the card has no such part, or the part is another module.
        """
        found = self.parts.get(path)
        if found is None:
            near = difflib.get_close_matches(path, self.parts, n=1)
            hint = f"did you mean {near[0]}?" if near else f"its parts: {', '.join(self.parts)}"
            raise UsageError(f"{self.base} has no part `{path}`", hint=hint)
        if not isinstance(found, kind):
            raise UsageError(f"{path} of {self.base} has {type(found).__name__}, not {kind.__name__}")
        return found

    def with_part(self, path: str, part: ModuleParams) -> Self:
        """The same card with other parameters of one part.

        Raises
        ------
        InputError
            If the card has no such part, or the part is another module.
        """
        self.part(path, type(part))
        return replace(self, parts={**self.parts, path: part})

    def with_parameters(self, **parameters: Any) -> Self:
        """The same card with other parameters of the card itself: ``with_parameters(cpus=1)``."""
        return replace(self, parameters={**self.parameters, **parameters})

    def with_clocks(self, **clocks: str) -> Self:
        """The same card with other clocks: ``with_clocks(memory="133 MHz")``."""
        return replace(self, clocks={**self.clocks, **clocks})

    def as_settings(self) -> tuple[str, list[str]]:
        """A card, and the settings with which it has these parameters."""
        usual = self._of(self.base, [])
        heads = [f"{key}={_toml.inline(value)}" for key, value in self.parameters.items()
                 if usual.parameters.get(key, ...) != value]  # fmt: skip
        heads += [f"clocks.{key}={_toml.inline(value)}" for key, value in self.clocks.items()
                  if usual.clocks.get(key) != value]  # fmt: skip
        # Other values of parts may follow from those of the card.
        derived = self._of(self.base, heads) if heads else usual
        return self.base, [*heads, *self._of_parts(usual, derived)]

    def _of_parts(self, *known: WiredParams) -> list[str]:
        """Settings of values that none of these cards has."""
        found = []
        for path, part in self.parts.items():
            others = [card.parts[path].to_table() for card in known if path in card.parts]
            for key, value in part.to_table().items():
                if not any(other.get(key, ...) == value for other in others):
                    found.append(f"{path}.{key}={_toml.inline(value)}")
        return found

    def to_toml(self) -> str:
        """The text of a card's file that derives from `base` and has these parameters."""
        return wiring.variation(*self.as_settings()).to_toml()


def _leaves(table: Mapping[str, Any], prefix: str) -> list[tuple[str, Any]]:
    """Values by path; the number of a copy belongs to the name before it."""
    found: list[tuple[str, Any]] = []
    for key, value in table.items():
        path = prefix + key if key.startswith("[") or not prefix else f"{prefix}.{key}"
        found += _leaves(value, path) if isinstance(value, Mapping) and "kind" not in value else [(path, value)]
    return found
