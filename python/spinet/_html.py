# SPDX-License-Identifier: Apache-2.0
"""HTML that notebooks show for results, experiments and cards. All text is escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from spinet import _toml

_LEFT = 'style="text-align:left"'
_RIGHT = 'style="text-align:right"'


def text(value: object) -> str:
    """Text, escaped."""
    return escape(str(value))


def heading(title: str, rest: str = "") -> str:
    """A line in bold, and text behind it."""
    return f"<p><b>{text(title)}</b>{' ' + text(rest) if rest else ''}</p>"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table. The first column is a name; numbers in other columns are right-aligned. Empty without rows."""
    if not rows:
        return ""
    names = "".join(f"<th {_LEFT if at == 0 else _RIGHT}>{text(name)}</th>" for at, name in enumerate(head))
    lines = "".join(f"<tr>{''.join(_cell(at, value) for at, value in enumerate(row))}</tr>" for row in rows)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"


def _cell(at: int, value: object) -> str:
    align = _RIGHT if at and isinstance(value, int | float) else _LEFT
    return f"<td {align}>{text(number(value))}</td>"


def number(value: object) -> object:
    """A number formatted for people; other values unchanged, and an empty text for None."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1000 else f"{value:,.0f}"


def code(lines: str) -> str:
    """Text in a fixed-width font."""
    return f"<pre>{text(lines)}</pre>"


def toml(values: Mapping[str, Any]) -> str:
    """Values as the TOML of a file."""
    return code(_toml.dumps(values))


def summary(name: str, found: Mapping[str, Any]) -> str:
    """The parts of a summary that all cards have: end, remarks, packets, rates, latency and its parts."""
    packets, latency = found["packets"], found["latency_ns"]
    parts = [heading(name, f"{found['nic']}: {found['ended']['text']}")]
    remarks = "".join(f"<li>{text(remark['text'])}</li>" for remark in found["remarks"])
    if remarks:
        parts.append(f"<ul>{remarks}</ul>")
    dropped = [(f"dropped: {why}", count, None) for why, count in packets["dropped_by_reason"].items() if count]
    counts = [
        ("in", packets["in"], packets["in_bytes"]),
        ("out", packets["out"], packets["out_bytes"]),
        *(dropped or [("dropped", packets["dropped"], None)]),
        ("unfinished", packets["unfinished"], None),
    ]
    parts.append(table(["packets", "count", "bytes"], counts))
    rates = {key.removesuffix("_gbps"): rate for key, rate in found["throughput"].items() if key.endswith("_gbps")}
    parts.append(table(["throughput", "Gbit/s"], [(way, rate) for way, rate in rates.items() if rate is not None]))
    if latency is not None:
        columns = ("min", "median", "p99", "max")
        parts.append(table(["latency, ns", *columns], [("all packets", *(latency[column] for column in columns))]))
        shown = [(part.replace("_", " "), one["mean"], one["p99"]) for part, one in latency["split"].items()]
        parts.append(table(["where the time goes, ns", "mean", "p99"], shown))
    if found["bottleneck"]:
        parts.append(f"<p>Bottleneck <code>{text(found['bottleneck'])}</code></p>")
    parts.append(f"<p>Digest <code>{text(found['digest'])}</code></p>")
    return f"<div>{''.join(parts)}</div>"
