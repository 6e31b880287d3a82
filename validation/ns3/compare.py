# SPDX-License-Identifier: Apache-2.0
"""spinet and ns-3 side by side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from validation.ns3 import rank, scenarios, twin
from validation.ns3.scenarios import Scenario
from validation.ns3.twin import Outcome

TIME_BOUND = 0.02
COUNT_BOUND = 0.05

HEAD = (
    "| network | frames | end, us: spinet | ns-3 | differ | worst sender | drops: spinet | ns-3 | differ "
    "| marks: spinet | ns-3 | differ |\n"
    "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
)


def difference(one: int, other: int) -> float:
    """The difference of two numbers as a share of the greater one."""
    return abs(one - other) / max(one, other, 1)


@dataclass(frozen=True)
class Comparison:
    """Two outcomes of a scenario."""

    name: str
    frames: int
    spinet: Outcome
    ns3: Outcome

    def ends_ps(self) -> tuple[int, int]:
        """The times at which all senders are done, in spinet and in ns-3."""
        return max(self.spinet.completion_ps().values()), max(self.ns3.completion_ps().values())

    def of_senders(self) -> float:
        """The greatest difference between the times at which one sender is done."""
        one, other = self.spinet.completion_ps(), self.ns3.completion_ps()
        assert one.keys() == other.keys()
        return max(difference(one[sender], other[sender]) for sender in one)

    def counts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Drops and marks, each in spinet and in ns-3."""
        drops = self.spinet.drops.total(), self.ns3.drops.total()
        return drops, (self.spinet.marks.total(), self.ns3.marks.total())

    def faults(self) -> list[str]:
        """Values that differ by more than the bounds."""
        drops, marks = self.counts()
        values = [
            ("end", difference(*self.ends_ps()), TIME_BOUND),
            ("end of a sender", self.of_senders(), TIME_BOUND),
            ("drops", difference(*drops), COUNT_BOUND),
            ("marks", difference(*marks), COUNT_BOUND),
        ]
        return [f"{self.name}: {what}: {found:.2%} > {bound:.0%}" for what, found, bound in values if found > bound]

    def row(self) -> str:
        """A row of the table."""
        ends, (drops, marks) = self.ends_ps(), self.counts()
        cells = [self.name, f"{self.frames:,}", *(f"{end / 1e6:.2f}" for end in ends), f"{difference(*ends):.3%}"]
        cells.append(f"{self.of_senders():.3%}")
        for pair in (drops, marks):
            cells += [*(f"{count:,}" for count in pair), f"{difference(*pair):.2%}" if any(pair) else "-"]
        return f"| {' | '.join(cells)} |"


def apart(scenario: Scenario) -> Comparison:
    """The network in spinet alone, and in ns-3 alone."""
    net = scenario.make()
    result = net.run()
    return Comparison(
        scenario.name, result.summary["packets"]["in"], twin.outcome(result), twin.in_ns3(net, result, scenario.queues)
    )


def coupled(scenario: Scenario) -> Comparison:
    """The network in spinet alone, and with ns-3 between the nodes."""
    net = scenario.make()
    result = net.run()
    assert scenario.queues is not None
    other = rank.run(net, scenario.queues)
    return Comparison(scenario.name, result.summary["packets"]["in"], twin.outcome(result), twin.outcome(other))


def all_of() -> Iterable[Comparison]:
    """All comparisons."""
    yield from map(apart, scenarios.APART)
    yield from map(coupled, scenarios.COUPLED)
