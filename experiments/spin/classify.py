# SPDX-License-Identifier: Apache-2.0
"""Packet classification on the card: packets a second by number of rules, and by the place of the decision tree.

`sdk/services/classify.c` finds the rule for each packet, counts the packet, and drops it, forwards it, or gives it to
the host. Rules are drawn like those of access lists (`spinet.services.classify.draw`), a third of them for each action;
packets of 60 to 64 bytes match a random rule, at the ends of its ranges or within. They arrive at 400 Gbit/s, more than
the cores can take. Each cluster keeps a part of the tree in L1: the nodes nearest to the root. *List* is the same
handler with one leaf for all rules, which it checks one by one. The rate counts the last three quarters of the packets.
*Frame* is the shortest frame with which the line rate holds. The fate of each packet is compared with the rules tried
one by one in Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import spinet
from spinet import plots
from spinet.reproduce import Claim, Point, Results
from spinet.services import Classifier, classify

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Packet classification"
SOURCE = "named in Di Girolamo, De Sensi, Hoefler et al., sPIN, OFA Virtual Workshop 2022; no numbers are published"

COUNTS = (16, 64, 256, 1024)
PLACES = {"64 KiB of L1": 65536, "4 KiB of L1": 4096, "L2 only": 0}
LIST = "list"
LIST_COUNTS = COUNTS[:3]
_PACKETS, _SEED = 3000, 2009
_LINE_GBPS, _CORES = 400, 32
_GAP_BYTES = 24  # FCS, preamble and gap


def points() -> list[Point]:
    """Numbers of rules, and places of the tree."""
    made = [(n, place) for place in PLACES for n in COUNTS] + [(n, LIST) for n in LIST_COUNTS]
    return [
        Point(name=_name(n, place), settings={"n": n, "place": place}, quick=n == 16 and place != LIST)
        for n, place in made
    ]


def _name(n: int, place: str) -> str:
    return f"{n} rules, {place}"


def measure(*, n: int, place: str) -> dict[str, float]:
    """Rate in million packets a second, cycles of a packet, share of the cores' time in handlers, and the tree."""
    rules = classify.draw(n, seed=_SEED)
    classifier = Classifier(rules, leaf_rules=len(rules) + 1 if place == LIST else None)
    packets = classify.packets(rules, _PACKETS, seed=_SEED)
    memory = classifier.memory()
    result = spinet.run(
        program=classify.PROGRAM,
        defines={"HOT_BYTES": PLACES.get(place, 65536)},
        handler_memory=memory,
        traffic=packets,
        pacing=f"line:{_LINE_GBPS}G",
    )
    assert result.complete and not result.summary["packets"]["dropped"], result.summary["ended"]["text"]
    table = result.packets.sort_by("packet")
    actions = {rule.name: rule.action for rule in classifier.rules} | {None: "host"}
    fates = {"drop": "consumed", "host": "to_host", "forward": "sent"}
    assert table["fate"].to_pylist() == [fates[actions[classifier.find(packet)]] for packet in packets]
    ended = np.sort(table["task_done_ps"].to_numpy())
    last = ended[len(ended) // 4 :]
    rate = (len(last) - 1) / float(last[-1] - last[0]) * 1e6
    begin, end = (table[name].to_numpy().clip(last[0], last[-1]) for name in ("start_ps", "end_ps"))
    is_counted = table["task_done_ps"].to_numpy() >= last[0]
    return {
        "rate": rate,
        "cycles": float(table["cycles"].to_numpy()[is_counted].mean()),
        "busy": float((end - begin).sum()) / float(last[-1] - last[0]) / _CORES,
        "frame": _LINE_GBPS * 1000 / 8 / rate - _GAP_BYTES,
        "memory": len(memory) / 1024,
        "depth": classifier.depth,
    }


def claims(results: Results) -> Iterator[Claim]:
    """The tree against a list, and the use of L1."""
    places = list(PLACES)
    rates = {place: [results.value(_name(n, place), "rate") for n in COUNTS] for place in places}
    gains = [a / b for a, b in zip(rates[places[0]], rates[places[-1]], strict=True)]
    yield Claim(
        text=f"The first nodes in L1 make the search faster, for {', '.join(map(str, COUNTS))} rules",
        holds=all(gain > 1.2 for gain in gains),
        found=", ".join(f"{gain:.2f}" for gain in gains) + " times the rate of L2 only",
    )
    lists = [results.value(_name(n, LIST), "rate") for n in LIST_COUNTS]
    yield Claim(
        text=f"The tree is faster than a list, for {', '.join(map(str, LIST_COUNTS))} rules",
        holds=all(a > b for a, b in zip(rates[places[0]], lists, strict=False)),
        found=", ".join(f"{a / b:.1f}" for a, b in zip(rates[places[0]], lists, strict=False)) + " times the rate",
    )
    frames = [results.value(_name(n, places[0]), "frame") for n in COUNTS]
    yield Claim(
        text=f"Shortest frame at the line rate, for {', '.join(map(str, COUNTS))} rules",
        holds=None,
        found=", ".join(f"{size:.0f}" for size in frames) + " bytes",
    )


def plot(results: Results) -> Figure:
    """Rate and cycles by number of rules."""
    panels = []
    for quantity, label in (("rate", "million packets a second"), ("cycles", "cycles a packet")):
        curves = []
        for look, place in enumerate((*PLACES, LIST)):
            x, y = results.series("n", quantity, place=place)
            name = "list of all rules" if place == LIST else f"tree, {place}"
            curves.append(plots.Curve(label=name, x=x, y=y, look=look))
        panels.append(
            plots.Panel(
                title="rate" if quantity == "rate" else "cost", x_label="rules", y_label=label, curves=curves, x_base=2,
                y_base=10, x_ticks=COUNTS,
            )
        )  # fmt: skip
    caption = "spinet: preset pspin, 32 cores; drawn rules, frames of 60 to 64 bytes at 400 Gbit/s."
    return plots.curves(panels, columns=2, title=TITLE, caption=caption)
