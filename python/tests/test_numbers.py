# SPDX-License-Identifier: Apache-2.0
"""Numbers that prose quotes are those of docs/experiments, rounded to the digits that are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from spinet import reproduce
from spinet.reproduce.results import read_csv

ROOT = Path(__file__).resolve().parent.parent.parent

SIX, FIG4_7 = "6 cores, 200 MHz", "spinach/fig4_7"
# Page; the line, each of whose groups is a number; for each group experiment, point, quantity (or a sum), and scale.
QUOTED: list[tuple[str, str, list[tuple[str, str, str, float]]]] = [
    *(
        (
            "machines/panic-riscv.md",
            rf"\| {line} \|.*?\| (\S+) \|.*\| (\d+), (\d+), (\d+) \|",
            [("panic/fig10", point, name, 1) for name in ("throughput", "network I/O", "flush", "computation")],
        )
        for line, point in (
            ("No-Touch", "No-Touch"),
            (r"NAT, headers only .*?", "NAT"),
            ("NAT, with correct checksums", "NAT with checksums"),
            ("Swap", "Swap OvS"),
            ("Memcpy", "Memcpy"),
        )
    ),
    (
        "machines/tigon2.md",
        r"\| one CPU \| 66 % \| (\S+) %",
        [("spinach/fig3_4", "1472 B, both ways", "share, unpaced", 1)],
    ),
    (
        "machines/tigon2.md",
        r"\| at its best mix \| 66 % \| (\S+) %",
        [("spinach/fig3_4", "1472 B, both ways", "share", 1)],
    ),
    ("machines/tigon2.md", r"\| split over two \| 81 % \| (\S+) %", [("spinach/fig3_5", "1472 B", "share", 1)]),
    (
        "machines/tengig.md",
        r"\| 1472 bytes, 6 and 8 \| 175 MHz \| .*? \| (\d+) %, (\d+) % \|",
        [("spinach/fig4_8", f"{n} cores, 175 MHz", "share", 1) for n in (6, 8)],
    ),
    (
        "machines/tengig.md",
        r"\| 18 bytes, 8 \| .*? \| (\S+) M frames/s: (\S+) M sent, (\S+) M received \|",
        [(FIG4_7, "18 B, optimised", name, 1e-6) for name in ("frames", "sent", "received")],
    ),
    ("machines/tengig.md", r"\| 18 bytes, 8, base \| .*? \| (\S+); ", [(FIG4_7, "18 B, first", "frames", 1e-6)]),
    *(
        ("machines/tengig.md", rf"\| {name} \| \S+ \| (\S+) \|", [("spinach/table4_4", SIX, name, 1)])
        for name in ("execution", "instruction misses", "load stalls", "bank conflicts", "pipeline")
    ),
    (
        "machines/tengig.md",
        r"\| time of dispatch, send, receive \(%\) \| .*? \| (\d+), (\d+), (\d+) \|",
        [("spinach/table4_5", SIX, name, 1) for name in ("dispatch", "send", "receive")],
    ),
    (
        "machines/tengig.md",
        r"\| locks in each \(%\) \| .*? \| (\d+), (\d+), (\d+) \|",
        [("spinach/table4_5", SIX, f"{name}, locks", 1) for name in ("dispatch", "send", "receive")],
    ),
    ("machines/tengig.md", r"\| frame memory, Gb/s \| \S+ \| (\S+) \|", [("spinach/table4_6", SIX, "frame memory", 1)]),
    (
        "machines/tengig.md",
        r"\| control memory accesses, .*? \| .*? \| (\S+), (\S+), (\S+) \|",
        [
            ("spinach/table4_4", SIX, "loads", 1),
            ("spinach/table4_4", SIX, "stores", 1),
            ("spinach/table4_6", SIX, "accesses of the assists", 1),
        ],
    ),
    (
        "machines/tengig.md",
        r"spends (\d+) instructions per sent frame and (\d+) per received one, including descriptors, "
        r"and (\d+) on both",
        [
            ("spinach/table4_1", "10 Gigabit NIC", name, 1)
            for name in (
                "fetch send descriptors + send frame",
                "fetch receive descriptors + receive frame",
                "instructions in all",
            )
        ],
    ),
    (
        "machines/panic.md",
        r"no unit had a credit; (\d+) to (\d+) % were refused",
        [("panic/fig8e", f"{size} B", "refused", 1) for size in (1024, 512)],
    ),
]


@pytest.mark.parametrize(("page", "line", "values"), QUOTED)
def test_prose_quotes_the_tables(page: str, line: str, values: list[tuple[str, str, str, float]]) -> None:
    found = re.search(line, (ROOT / "docs" / page).read_text())
    assert found, f"docs/{page} has no line {line}"
    for text, (name, point, quantity, scale) in zip(found.groups(), values, strict=True):
        data = read_csv(ROOT / "docs" / "experiments" / f"{name}.csv", reproduce.load(name))
        measured = sum(data.value(point, part) for part in quantity.split(" + ")) * scale
        digits = len(text.partition(".")[2])
        assert f"{measured:.{digits}f}" == text, f"docs/{page}: {found[0]}\n{name}, {point}, {quantity}: {measured:g}"
