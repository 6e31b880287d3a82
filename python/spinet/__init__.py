# SPDX-License-Identifier: Apache-2.0
"""spinet: programmable network cards, simulated to the cycle.

`run` runs packet handlers written in C, chains of offloads or firmware on a simulated card, and returns a `Result` with
what happened to each packet. `build` compiles handlers; `nics` lists the cards; `compare` runs the same packets and
handlers on several NICs. The command `spinet` does the same from a terminal.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spinet import collectives, datatypes, goal, services, storage
    from spinet._core import InputError, InternalError, SpinetError
    from spinet._offered import OfferedPacket, offered
    from spinet.api import run
    from spinet.comparison import Comparison, NetworkComparison, compare, compare_networks
    from spinet.differences import Difference, diff
    from spinet.experiment import Experiment
    from spinet.handler import Handler
    from spinet.machine import Machine, TenantIo
    from spinet.ndr import NoDropRate, no_drop_rate
    from spinet.network import Network
    from spinet.output import OutputError
    from spinet.presets import FpgaPart, Nic, Part, fpga_cost, nic, nic_cost, nics, parameters_of
    from spinet.result import Latency, Rate, Result, SentPacket, Service, Tenant
    from spinet.sweeps import Sweep, sweep
    from spinet.toolchain import Build, BuildError, build

    __version__: str

__all__ = [
    "Build",
    "BuildError",
    "Comparison",
    "Difference",
    "Experiment",
    "FpgaPart",
    "Handler",
    "InputError",
    "InternalError",
    "Latency",
    "Machine",
    "Network",
    "NetworkComparison",
    "Nic",
    "NoDropRate",
    "OfferedPacket",
    "OutputError",
    "Part",
    "Rate",
    "Result",
    "SentPacket",
    "Service",
    "SpinetError",
    "Sweep",
    "Tenant",
    "TenantIo",
    "__version__",
    "build",
    "collectives",
    "compare",
    "compare_networks",
    "datatypes",
    "diff",
    "fpga_cost",
    "goal",
    "nic",
    "nic_cost",
    "nics",
    "no_drop_rate",
    "offered",
    "parameters_of",
    "run",
    "services",
    "storage",
    "sweep",
]

_HOMES = {
    "_core": ("InputError", "InternalError", "SpinetError"),
    "_offered": ("OfferedPacket", "offered"),
    "api": ("run",),
    "comparison": ("Comparison", "NetworkComparison", "compare", "compare_networks"),
    "differences": ("Difference", "diff"),
    "experiment": ("Experiment",),
    "handler": ("Handler",),
    "machine": ("Machine", "TenantIo"),
    "network": ("Network",),
    "ndr": ("NoDropRate", "no_drop_rate"),
    "output": ("OutputError",),
    "presets": ("FpgaPart", "Nic", "Part", "fpga_cost", "nic", "nic_cost", "nics", "parameters_of"),
    "result": ("Latency", "Rate", "Result", "SentPacket", "Service", "Tenant"),
    "sweeps": ("Sweep", "sweep"),
    "toolchain": ("Build", "BuildError", "build"),
}
# Names that `run` and `Result` replace.
_NOW = {
    "run_chains": "spinet.run(chains=..., ...)",
    "run_card": "spinet.run(nic=..., ...)",
    "ChainResult": "spinet.Result",
    "CardResult": "spinet.Result",
}
_MODULES = ("collectives", "datatypes", "goal", "services", "storage")  # public modules
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __dir__() -> list[str]:
    """All names, including those that are not loaded yet: `dir` and `help` show them."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> object:
    """Load a name's module when the name is first used, so that no command waits for unused modules."""
    if name == "__version__":
        return importlib.import_module("spinet._core").version()
    if name in _MODULES:
        return importlib.import_module(f"spinet.{name}")
    if name in _NOW:
        raise AttributeError(f"spinet.{name} is now {_NOW[name]}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'spinet' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"spinet.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
