# SPDX-License-Identifier: Apache-2.0
"""The NICs that can be compared, and the runner of each."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from spinet import _core
from spinet._core import UsageError
from spinet.comparison.observed import Job, Observed
from spinet.comparison.on_card import on_card
from spinet.comparison.on_this_machine import on_this_machine

NATIVE = "native"


def runner(nic: str) -> Callable[[Job, str], Observed]:
    """The runner of a NIC, by its name or the path of its file."""
    return on_this_machine if nic == NATIVE else on_card


def check(nic: str) -> None:
    """Check that there is such a NIC.

    Raises
    ------
    InputError
        If there is no such NIC. The text has a similar name, if there is one.
    """
    known = [NATIVE, *(name for name, _about in _core.nic_list())]
    if nic in known:
        return
    if nic.endswith(".toml"):
        if not Path(nic).is_file():
            raise UsageError(f"there is no file {nic}")
        return
    near = difflib.get_close_matches(nic, known, n=1)
    raise UsageError(
        f"there is no NIC `{nic}`; known: {', '.join(known)}", hint=f"did you mean {near[0]}?" if near else ""
    )
