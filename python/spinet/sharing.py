# SPDX-License-Identifier: Apache-2.0
"""Policies, written in Python, by which tenants share a card that runs handlers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from spinet import _core

__all__ = ["TenantPolicy"]


class TenantPolicy(Protocol):
    """Chooses the tenant that is next at a part of a card (docs/guides/write-a-policy.md).

    It may also have ``began(now, tenant)``, called when a tenant that had nothing to start has something;
    ``started(now, tenant)``, when something of it starts; ``ended(now, name)``, when something of it ended; and an
    attribute ``holds_back``. If that is true, `choose` is called even if only one tenant waits.
    An exception in a method ends the run; `spinet.run` and the methods of `spinet.Machine` raise it.
    """

    def choose(self, now: int, waiting: Sequence[_core.WaitingTenant]) -> str | int | None:
        """Name of the tenant that is next, one of those that are `waiting`.

        None: no tenant, until something changes. A number: no tenant before this cycle, which must be after `now`,
        unless something changes.
        """
        ...
