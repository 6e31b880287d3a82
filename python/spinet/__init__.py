# SPDX-License-Identifier: Apache-2.0
"""spinet: programmable network cards, simulated to the cycle.

`run` runs packet handlers written in C on a simulated card and says what came of every packet; `build` compiles them;
`nics` lists the cards. The command `spinet` does the same from a terminal.
"""

from spinet._core import InputError, InternalError, SpinetError, version
from spinet.api import Nic, nic, nics, run
from spinet.output import OutputError
from spinet.result import Result, SentPacket
from spinet.toolchain import Build, BuildError, build

__version__ = version()

__all__ = [
    "Build",
    "BuildError",
    "InputError",
    "InternalError",
    "Nic",
    "OutputError",
    "Result",
    "SentPacket",
    "SpinetError",
    "__version__",
    "build",
    "nic",
    "nics",
    "run",
]
