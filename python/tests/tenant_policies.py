# SPDX-License-Identifier: Apache-2.0
"""Rules of the card by which tenants share, written as policies in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from spinet._core import WaitingTenant


class WeightedFair:
    """`weighted_fair` of tenants with one priority: start-time fair queueing."""

    def __init__(self) -> None:
        self.level = 0
        self.served: Counter[str] = Counter()

    def choose(self, now: int, waiting: Sequence[WaitingTenant]) -> str:
        return min((tenant.name for tenant in waiting), key=self.served.__getitem__)  # equal ones as they are listed

    def began(self, now: int, tenant: WaitingTenant) -> None:
        self.served[tenant.name] = max(self.served[tenant.name], self.level)

    def started(self, now: int, tenant: WaitingTenant) -> None:
        self.level = self.served[tenant.name]
        self.served[tenant.name] += (tenant.bytes << 20) // tenant.weight
