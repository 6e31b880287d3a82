# SPDX-License-Identifier: Apache-2.0
"""Which NICs there are to compare, and what runs each."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

from spinet import _core
from spinet._core import UsageError
from spinet.comparison.observed import Job, Observed
from spinet.comparison.on_cards import on_a_wired_card
from spinet.comparison.on_chains import on_chains
from spinet.comparison.on_pspin import on_pspin
from spinet.comparison.on_this_machine import on_this_machine

NATIVE = "native"


def runner(nic: str) -> Callable[[Job, str], Observed]:
    """The runner of a NIC, by its name or the path of its file.

    Raises
    ------
    InputError
        If there is no such card.
    """
    if nic == NATIVE:
        return on_this_machine
    if _core.kind_of_nic(nic) == "chains":
        return on_chains
    return on_a_wired_card if _core.kind_of_nic(nic) == "modules" else on_pspin


def check(nic: str) -> None:
    """Returns true if there is such a NIC.

    Raises
    ------
    InputError
        With a name that is near, if there is one.
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
