# SPDX-License-Identifier: Apache-2.0
"""Verdicts of an experiment, for a terminal and as Markdown."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from spinet.reproduce import expected
from spinet.reproduce.expected import Expectation, Verdict, judge
from spinet.reproduce.experiment import Claim
from spinet.reproduce.results import Results, number

MARKS = {
    expected.HIT: "✓",
    expected.FITTED: "= fitted",
    expected.CONSTRUCTED: "= by construction",
    expected.MISS: "✗ **miss**",
    expected.KNOWN: "✗ known",
    expected.STALE: "! hits now",
    expected.OPEN: "·",
}
_MOST_ROWS = 12  # rows that a page shows by default
_SIGNS = {"=": "", ">=": "≥ ", "<=": "≤ "}


@dataclass(frozen=True, kw_only=True)
class Judged:
    """An expected value beside the measured one."""

    row: Expectation
    measured: float | None
    verdict: Verdict

    @property
    def wanted(self) -> str:
        """The expected value, for people."""
        return f"{_SIGNS[self.row.relation]}{number(self.row.value)} {self.row.unit}".strip()

    @property
    def found(self) -> str:
        """The measured value, for people."""
        return "-" if self.measured is None else f"{_short(self.measured)} {self.row.unit}".strip()

    @property
    def difference(self) -> str:
        """The difference in percent, or in the unit of an absolute tolerance; empty if a bound holds."""
        if self.measured is None:
            return "-"
        if self.row.relation != "=" and self.row.agrees(self.measured):
            return ""
        difference = round(self.measured - self.row.value, 9)
        in_percent = self.row.tolerance.endswith("%") or self.row.tolerance == expected.UNJUDGED
        if in_percent and self.row.value:
            return f"{difference / self.row.value:+.1%}".replace("%", " %")
        return f"{difference:+.3g} {self.row.unit}".strip()


@dataclass(frozen=True, kw_only=True)
class Report:
    """All verdicts of one experiment."""

    results: Results
    values: tuple[Judged, ...]
    claims: tuple[tuple[Claim, Verdict], ...]

    @property
    def verdicts(self) -> list[Verdict]:
        """Verdicts of values and claims."""
        return [value.verdict for value in self.values] + [verdict for _, verdict in self.claims]

    @property
    def counts(self) -> Counter[str]:
        """How often each status was found."""
        return Counter(verdict.status for verdict in self.verdicts)

    @property
    def failed(self) -> bool:
        """True if it needs attention."""
        return any(verdict.is_failure for verdict in self.verdicts)


def make(results: Results) -> Report:
    """Judge all expected values; statements only if every point was measured."""
    values = []
    for row in results.experiment.expected:
        measured = results.get(row.point, row.quantity)
        verdict = judge(agrees=row.agrees(measured), miss=row.miss, basis=row.basis)
        values.append(Judged(row=row, measured=measured, verdict=verdict))
    claims = tuple(results.experiment.claims(results)) if results.complete else ()
    judged = tuple((claim, judge(agrees=claim.holds, miss=claim.miss, basis=claim.basis)) for claim in claims)
    return Report(results=results, values=tuple(values), claims=judged)


def counted(reports: Sequence[Report]) -> str:
    """All verdicts in one line."""
    total: Counter[str] = sum((report.counts for report in reports), Counter())
    words = [(expected.HIT, "hit"), (expected.MISS, "missed"), (expected.STALE, "hit, though listed as a miss")]
    words += [(expected.KNOWN, "missed for a known reason"), (expected.FITTED, "fitted")]
    words += [(expected.CONSTRUCTED, "by construction"), (expected.OPEN, "not judged")]
    return ", ".join(f"{total[status]} {word}" for status, word in words if total[status]) or "nothing to judge"


def markdown(report: Report, *, heading: str = "##", image: str = "", data: str = "") -> str:
    """One experiment as a section of a page; reasons of misses are numbered below its tables."""
    experiment = report.results.experiment
    reasons: list[str] = []
    parts = [f"{heading} {experiment.title}", f"{experiment.source}. `spinet reproduce {experiment.name}`"]
    if experiment.about:
        parts.append(experiment.about)
    if image:
        parts.append(f"![{experiment.title}]({image})" + (f"\n\n[Data]({data})" if data else ""))
    if report.values:
        others = [value for value in report.values if value.verdict.status != expected.HIT]
        if len(report.values) <= _MOST_ROWS:
            parts.append(_table(report.values, reasons))
        else:
            if others:
                parts.append(_table(others, reasons))
            n = len(report.values)
            summary = f"All {n} points: {n - len(others)} hit"
            whole = _table(report.values, reasons)
            parts.append(f"<details><summary>{summary}</summary>\n\n{whole}\n\n</details>")
    if report.claims:
        lines = ["| statement | found | |", "|---|---|---|"]
        lines += [f"| {c.text} | {c.found} | {_marked(verdict, c, reasons)} |" for c, verdict in report.claims]
        parts.append("\n".join(lines))
    if reasons:
        parts.append("\n".join(f"{n}. {reason}" for n, reason in enumerate(reasons, 1)))
    return "\n\n".join(parts) + "\n"


def _table(values: Sequence[Judged], reasons: list[str]) -> str:
    lines = ["| point | quantity | expected | spinet | difference | |", "|---|---|---|---|---|---|"]
    for value in values:
        row = value.row
        wanted = f"{value.wanted} ({row.reference}, {row.source})"
        mark = _marked(value.verdict, row, reasons)
        lines.append(f"| {row.point} | {row.quantity} | {wanted} | {value.found} | {value.difference} | {mark} |")
    return "\n".join(lines)


def _marked(verdict: Verdict, of: Expectation | Claim, reasons: list[str]) -> str:
    reason = reason_of(verdict, of)
    if not reason:
        return MARKS[verdict.status]
    if reason not in reasons:
        reasons.append(reason)
    return f"{MARKS[verdict.status]} ({reasons.index(reason) + 1})"


def reason_of(verdict: Verdict, of: Expectation | Claim) -> str:
    """Why a point misses, or why its hit is not evidence; otherwise empty."""
    if verdict.status in expected.BASES:
        return of.basis.partition(":")[2].strip()
    return of.miss if verdict.status in (expected.KNOWN, expected.STALE) else ""


def _short(value: float) -> str:
    """A value with four digits; readers do not compare more."""
    return number(value) if abs(value) >= 1000 else f"{value:.4g}"


def show(report: Report, *, everything: bool = False) -> None:
    """Print an experiment; hits and points not measured are counted only, unless `everything` is asked for."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    experiment = report.results.experiment
    # Without a terminal, lines are not wrapped.
    out = Console(highlight=False, markup=False, soft_wrap=True, width=shutil.get_terminal_size((160, 24)).columns)
    out.print(Text(f"{experiment.name}  {experiment.title}", style="bold"))
    quiet = () if everything else (expected.HIT, *expected.BASES, expected.OPEN)
    values = [value for value in report.values if value.verdict.status not in quiet]
    if values:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        for name in ("point", "quantity", "expected", "spinet", "difference", ""):
            table.add_column(name, justify="right" if name in ("expected", "spinet", "difference") else "left")
        for value in values:
            wanted = f"{value.row.reference} {value.wanted}"
            cells = (value.row.point, value.row.quantity, wanted, value.found, value.difference, value.verdict.status)
            table.add_row(*cells, style=_STYLES[value.verdict.status])
        out.print(table)
    for claim, verdict in report.claims:
        if everything or verdict.status not in (expected.HIT, *expected.BASES):
            out.print(Text(f"  {verdict.status}: {claim.text}: {claim.found}", style=_STYLES[verdict.status]))
    for reason in dict.fromkeys(_reasons(report)):
        out.print(Text(f"  known: {reason}"))
    out.print(f"  {counted([report])}")


def _reasons(report: Report) -> list[str]:
    judged = [(value.verdict, value.row.miss) for value in report.values]
    judged += [(verdict, claim.miss) for claim, verdict in report.claims]
    return [miss for verdict, miss in judged if verdict.status == expected.KNOWN]


_STYLES = {
    expected.HIT: "",
    expected.FITTED: "dim",
    expected.CONSTRUCTED: "dim",
    expected.MISS: "bold red",
    expected.KNOWN: "yellow",
    expected.STALE: "bold red",
    expected.OPEN: "dim",
}
