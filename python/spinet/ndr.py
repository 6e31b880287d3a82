# SPDX-License-Identifier: Apache-2.0
"""The highest rate that a card holds without loss (no-drop rate), by bisection over runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spinet import _html
from spinet._core import UsageError

MOST_GBPS = 400.0  # the default of generators
PRECISION = 0.01
TOLERANCE = 0.005
COUNT = 20_000

_RATE = re.compile(r"(\d+(?:\.\d+)?)([GM])")
_SCALE = {"G": 1.0, "M": 1e-3}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A run at one rate."""

    gbps: float  # on the line, with FCS, preamble and gap
    lost: str | None  # why the card does not hold the rate; None if it does
    summary: Mapping[str, Any]  # of the run


@dataclass(frozen=True, kw_only=True)
class NoDropRate:
    """The highest rate that a card holds, of packets of one kind."""

    traffic: str  # the source without its rate
    size: int | None  # size of packets, if requested
    trials: tuple[Trial, ...]  # in the order of the search

    @property
    def best(self) -> Trial | None:
        """The run at the highest rate that was held; None if none was."""
        held = (trial for trial in self.trials if trial.lost is None)
        return max(held, key=lambda trial: trial.gbps, default=None)

    @property
    def beyond(self) -> Trial | None:
        """The run at the lowest rate that was not held; None if all were."""
        lost = (trial for trial in self.trials if trial.lost is not None)
        return min(lost, key=lambda trial: trial.gbps, default=None)

    @property
    def gbps(self) -> float:
        """The rate on the line, with FCS, preamble and gap; 0 if none was held."""
        return 0.0 if self.best is None else self.best.gbps

    @property
    def packets_per_s(self) -> float:
        """Packets a second at that rate."""
        return 0.0 if self.best is None else float(self.best.summary["steady"]["offered_packets_per_s"])

    def _repr_html_(self) -> str:
        """For notebooks: the rate, and all trials."""
        rows = [(f"{trial.gbps:.4g}", trial.lost or "held") for trial in self.trials]
        best = f"{self.gbps:.4g} Gbit/s, {self.packets_per_s:,.0f} packets/s of {self.traffic}"
        return _html.heading("No-drop rate", best) + _html.table(("trial, Gbit/s", "result"), rows)

    def as_json(self) -> dict[str, Any]:
        """As values for JSON: the rate, its latency, what limits it, and all trials."""
        best, beyond = self.best, self.beyond
        return {
            "traffic": self.traffic,
            "size": self.size,
            "gbps": self.gbps,
            "packets_per_s": self.packets_per_s,
            "latency_ns": None if best is None else best.summary["latency_ns"],
            "bottleneck": None if beyond is None else beyond.summary["bottleneck"],
            "trials": [
                {"gbps": trial.gbps, "lost": trial.lost, "steady": trial.summary["steady"]} for trial in self.trials
            ],
        }


def no_drop_rate(
    *,
    traffic: str,
    size: int | None = None,
    most: str = "400G",
    precision: float = PRECISION,
    tolerance: float = TOLERANCE,
    count: int | None = None,
    **keywords: Any,
) -> NoDropRate:
    """Find the highest rate that a card holds without loss.

    Parameters are those of `search`, with `most` as text. All others are keywords of `run`.

    Examples
    --------
    >>> import spinet
    >>> found = spinet.no_drop_rate(program="sdk/examples/ping_pong.c", traffic="udp:size=1024", precision=0.1)
    >>> found.gbps > 100, found.trials[0].gbps
    (True, 400.0)
    """
    from spinet import api

    def run(source: str, pacing: str | None) -> Mapping[str, Any]:
        return api.run(**keywords, traffic=source, pacing=pacing, count=count, keep_packets=False).summary

    return search(run, traffic, size=size, most=rate(most), precision=precision, tolerance=tolerance, count=count)


def search(
    run: Callable[[str, str | None], Mapping[str, Any]],
    traffic: str,
    *,
    size: int | None = None,
    most: float = MOST_GBPS,
    precision: float = PRECISION,
    tolerance: float = TOLERANCE,
    count: int | None = None,
    on_trial: Callable[[Trial], None] | None = None,
) -> NoDropRate:
    """Find the highest rate that a card holds, by bisection.

    A rate is held if no packet is dropped, and if the card is done with packets as fast as they come in steady state.

    Parameters
    ----------
    run
        Takes a source of packets and a pace, and returns the summary of a run.
    traffic
        A capture, or a generator such as ``udp:size=64``.
    size
        Size of the generator's packets, in place of its own.
    most
        The highest rate to try, in Gbit/s on the line.
    precision
        Ends the search: the share of `most` between the highest rate that is held and the lowest that is not.
    tolerance
        Share of the packets that the card may be behind at the end of the steady state.
    count
        Number of packets of a generator that names none. Default: 20,000.

    Raises
    ------
    UsageError
        If the runs are too short for a steady state.
    """
    trials: list[Trial] = []

    def attempt(gbps: float) -> bool:
        source, pacing = at_rate(traffic, gbps, size=size, count=count)
        summary = run(source, pacing)
        trials.append(Trial(gbps=gbps, lost=_lost(summary, tolerance), summary=summary))
        if on_trial is not None:
            on_trial(trials[-1])
        return trials[-1].lost is None

    low, high = 0.0, most
    if not attempt(most):
        while high - low > precision * most:
            middle = (low + high) / 2
            low, high = (middle, high) if attempt(middle) else (low, middle)
    return NoDropRate(traffic=traffic, size=size, trials=tuple(trials))


def _lost(summary: Mapping[str, Any], tolerance: float) -> str | None:
    dropped, steady = summary["packets"]["dropped"], summary["steady"]
    if dropped:
        return f"{dropped:,} packets dropped"
    if summary["ended"]["is_unfinished"]:
        return str(summary["ended"]["text"])
    if steady is None:
        raise UsageError("the runs are too short for a steady state", hint="take more packets: --count 20000")
    behind = 1 - steady["held_packets_per_s"] / steady["offered_packets_per_s"]
    return f"done with {100 * (1 - behind):.1f} % of the packets that came" if behind > tolerance else None


def at_rate(traffic: str, gbps: float, *, size: int | None = None, count: int | None = None) -> tuple[str, str | None]:
    """A source at this rate on the line, and its pace if it is a capture.

    >>> at_rate("udp:size=64,rate=10G,count=500", 25.0)
    ('udp:size=64,count=500,rate=25000000000bit/s', None)
    >>> at_rate("udp:", 1.5, size=1500)
    ('udp:size=1500,count=20000,rate=1500000000bit/s', None)
    >>> at_rate("dns.pcap", 1.5)
    ('dns.pcap', 'line:1500000000bit/s')
    """
    rate = f"{round(gbps * 1e9)}bit/s"
    if not is_generator(traffic):
        if size is not None:
            raise UsageError(f"{traffic} is a capture, whose packets have their own sizes", hint="leave --sizes away")
        return traffic, f"line:{rate}"
    kind, _, keys = traffic.partition(":")
    named = [key for key in keys.split(",") if key and not key.startswith("rate=")]
    if size is not None:
        named = [f"size={size}", *(key for key in named if not key.startswith("size="))]
    if not any(key.startswith("count=") for key in named):
        named.append(f"count={COUNT if count is None else count}")
    return f"{kind}:{','.join([*named, f'rate={rate}'])}", None


def is_generator(traffic: str) -> bool:
    """True for a generator, false for a capture."""
    return re.match(r"(udp|tcp|pspin):", traffic) is not None


def rate(text: str) -> float:
    """A rate in Gbit/s.

    >>> rate("400G"), rate("62.5M")
    (400.0, 0.0625)

    Raises
    ------
    UsageError
        If the text is not a rate.
    """
    found = _RATE.fullmatch(text)
    if found is None or not float(found[1]):
        raise UsageError(f"found the rate `{text}`, must be a number and a unit, such as 400G or 100M")
    return float(found[1]) * _SCALE[found[2]]


def sizes(text: str) -> Sequence[int]:
    """Sizes of packets.

    >>> sizes("64,512")
    [64, 512]
    """
    try:
        found = [int(size) for size in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) <= 0:
        raise UsageError(f"found the sizes `{text}`, must be numbers of bytes, such as 64,512,1500")
    return found
