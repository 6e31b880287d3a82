# SPDX-License-Identifier: Apache-2.0
"""spinet: a cycle-level simulator of programmable network cards.

`run` runs packet handlers written in C on a simulated card and reports on each packet; `build` compiles them;
`nics` lists the cards; `run_card` runs one that is wired from modules, with its firmware; `run_chains` runs chains of
offloads; `compare` runs the same packets and handlers on several NICs. The command `spinet` does the same from a
terminal.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spinet._core import InputError, InternalError, SpinetError
    from spinet._offered import OfferedPacket, offered
    from spinet.api import run
    from spinet.card_run import CardResult, Rate, run_card
    from spinet.chains import ChainResult, run_chains
    from spinet.comparison import Comparison, compare
    from spinet.machine import Machine
    from spinet.output import OutputError
    from spinet.presets import FpgaPart, Nic, Part, fpga_cost, nic, nic_cost, nics, parameters_of
    from spinet.result import Result, SentPacket
    from spinet.toolchain import Build, BuildError, build

    __version__: str

__all__ = [
    "Build",
    "BuildError",
    "CardResult",
    "ChainResult",
    "Comparison",
    "FpgaPart",
    "InputError",
    "InternalError",
    "Machine",
    "Nic",
    "OfferedPacket",
    "OutputError",
    "Part",
    "Rate",
    "Result",
    "SentPacket",
    "SpinetError",
    "__version__",
    "build",
    "compare",
    "fpga_cost",
    "nic",
    "nic_cost",
    "nics",
    "offered",
    "parameters_of",
    "run",
    "run_card",
    "run_chains",
]

_HOMES = {
    "_core": ("InputError", "InternalError", "SpinetError"),
    "_offered": ("OfferedPacket", "offered"),
    "api": ("run",),
    "chains": ("ChainResult", "run_chains"),
    "comparison": ("Comparison", "compare"),
    "card_run": ("CardResult", "Rate", "run_card"),
    "machine": ("Machine",),
    "output": ("OutputError",),
    "presets": ("FpgaPart", "Nic", "Part", "fpga_cost", "nic", "nic_cost", "nics", "parameters_of"),
    "result": ("Result", "SentPacket"),
    "toolchain": ("Build", "BuildError", "build"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __dir__() -> list[str]:
    """All names, those included that are not loaded yet: `dir` and `help` show them."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    """Load a name's module when the name is first used, so that no command waits for what it does not need."""
    if name == "__version__":
        return importlib.import_module("spinet._core").version()
    if name not in _HOME_OF:
        raise AttributeError(f"module 'spinet' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"spinet.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
