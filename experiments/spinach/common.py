# SPDX-License-Identifier: Apache-2.0
"""Code that the experiments of this thesis share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spinet import Result, run

HERE = Path(__file__).resolve().parent
THESIS = "Willmann, master's thesis, Rice University, 2004"
DESCRIPTORS = HERE / "descriptors.toml"
POLLED = HERE / "polled.toml"
POLLED_DESCRIPTORS = HERE / "polled_descriptors.toml"
POLLED_IN_DESCRIPTORS = HERE / "polled_in_descriptors.toml"
TIGON2 = "spinet: preset tigon2, firmware/tigon2 compiled with zig."
TENGIG = "spinet: preset tengig, firmware/tengig with -D THESIS compiled with zig."

SIZES = (18, 100, 200, 400, 600, 800, 1000, 1200, 1472)  # of datagrams
GIGABIT, TEN_GIGABIT = 10**9, 10**10
ARITHMETIC = "by construction: arithmetic with published numbers alone"
LINE_RATE = 812_744  # frames of 1518 bytes a second at 10 Gbit/s each way; thesis, 4.1.1

_HEADERS = 14 + 20 + 8  # Ethernet, IPv4, UDP
_LEAST_FRAME, _CHECK, _PREAMBLE_AND_GAP = 64, 4, 20

# The task of each function of firmware/tengig (thesis, table 4.5). Waiting for a lock counts where it is taken.
_DISPATCH = (
    "dispatch", "send_posted", "buffers_posted", "reads_done", "writes_done", "arrived", "enqueue", "run",
    "queued_event", "queued_events", "timer_event", "commit_reads", "commit_writes", "mini_buffers_posted",
    "jumbo_buffers_posted",
)  # fmt: skip
_SEND = (
    "fetch_send_descriptors",
    "fetch_frames",
    "take_frame_reads",
    "take_reads",
    "reads_ready",
    "read_done",
    "commit_send",
)
_RECEIVE = (
    "fetch_receive_descriptors", "fetch_mini_descriptors", "fetch_jumbo_descriptors", "fetch_buffers", "mark_buffers",
    "mark_mini_buffers", "mark_jumbo_buffers", "place_frames", "frames_arrived", "take_writes", "writes_ready",
    "write_done", "add_sums", "commit_receive",
)  # fmt: skip
TASKS = {"dispatch": _DISPATCH, "send": _SEND, "receive": _RECEIVE}


def line_rate(size: int, bps: int) -> float:
    """Frames a second that a line carries one way: datagrams of `size` bytes without a gap."""
    frame = max(size + _HEADERS + _CHECK, _LEAST_FRAME)
    return bps / 8 / (frame + _PREAMBLE_AND_GAP)


def payload_gbps(size: int, frames_per_s: float) -> float:
    """Rate of the UDP payload in Gbit/s."""
    return frames_per_s * size * 8 / 1e9


def tigon2(
    *,
    cpus: int,
    size: int,
    nic: str | Path = "tigon2",
    set: Sequence[str] = (),
    receive_share: float = 1,
    sends: bool = True,
    limit_ms: int = 10,
    profile: bool = False,
) -> Result:
    """The Tigon-2 under load.

    Parameters
    ----------
    cpus
        1: CPU A does everything; 2: one sends, one receives.
    size
        Bytes of a datagram's content.
    receive_share
        Share of the line that arrives.
    sends
        Whether the host sends, too.
    """
    traffic = f"udp:size={size + _HEADERS},payload=numbered"
    pace = f",rate={round(receive_share * line_rate(size, GIGABIT))}pps" if receive_share < 1 else ""
    result = run(
        nic=str(nic),
        defines={"SPLIT": ""} if cpus == 2 else {},
        traffic=traffic + pace,
        send=traffic if sends else None,
        set=["host.clear_end=0", *set],
        limit=f"{limit_ms} ms",
        profile=profile,
        keep_packets=False,
    )
    return _checked(result)


def tengig(
    *, cores: int, mhz: int = 200, size: int = 1472, base: bool = False, limit_ms: int = 4, profile: bool = False
) -> Result:
    """The 10 Gigabit NIC under load both ways, with the thesis's services: optimised firmware or its first version."""
    result = run(
        nic="tengig",
        defines={"THESIS": "", **({"BASE": ""} if base else {})},
        traffic=f"udp:size={size + _HEADERS},payload=numbered",
        send=f"udp:size={size + _HEADERS},payload=numbered",
        set=[f"cores={cores}", f"clocks.cpu='{mhz} MHz'"],
        limit=f"{limit_ms} ms",
        profile=profile,
        keep_packets=False,
    )
    return _checked(result)


def tengig_rates(*, cores: int, mhz: int = 200, size: int = 1472, base: bool = False) -> dict[str, float]:
    """Frames a second each way, payload and share of the line, from 2 to 6 ms.

    Before that, the card processes frames that arrived while the host's first 256 frames were fetched, at more than the
    line rate.
    """
    steady = Steady(*(tengig(cores=cores, mhz=mhz, size=size, base=base, limit_ms=ms) for ms in (2, 6)))
    sent, received = (steady.frames(way) / steady.seconds for way in ("sent", "received"))
    return {
        "sent": sent,
        "received": received,
        "frames": sent + received,
        "payload": payload_gbps(size, sent + received),
        "share": (sent + received) / (2 * line_rate(size, TEN_GIGABIT)) * 100,
    }


def _checked(result: Result) -> Result:
    assert result.is_intact, "a frame that came out was never given to the card"
    assert not result.summary["faults"], result.summary["faults"]
    return result


class Steady:
    """Counts between two times of the same run: the difference of a result and that of a shorter run."""

    def __init__(self, early: Result, late: Result) -> None:
        self._early, self._late = early.summary, late.summary
        self.late = late
        self.seconds = (self._late["time"]["simulated_ns"] - self._early["time"]["simulated_ns"]) / 1e9

    def counter(self, path: str) -> int:
        """How much a counter grew."""
        return int(self._late["counters"][path] - self._early["counters"][path])

    def sum(self, start: str, end: str) -> int:
        """The same for all counters whose path has this beginning and end."""
        paths = [path for path in self._late["counters"] if path.startswith(start) and path.endswith(end)]
        assert paths, f"no counter {start}...{end}"
        return sum(self.counter(path) for path in paths)

    def causes(self) -> dict[str, int]:
        """Cycles of all cores by use."""
        return {
            cause: sum(core["cycles_by_cause"][cause] for core in self._late["cores"])
            - sum(core["cycles_by_cause"][cause] for core in self._early["cores"])
            for cause in self._late["cores"][0]["cycles_by_cause"]
        }

    def functions(self, what: str = "cycles") -> dict[str, int]:
        """Cycles or instructions by function, for the functions that ran."""
        before = {function["name"]: function[what] for function in self._early["functions"]}
        return {f["name"]: f[what] - before.get(f["name"], 0) for f in self._late["functions"]}

    def frames(self, way: str) -> int:
        """Frames that came through: `sent` or `received`."""
        return int(self._late[way]["frames"] - self._early[way]["frames"])


def shares(functions: Mapping[str, int], *, of: Mapping[str, int] | None = None) -> dict[str, float]:
    """Percent of the cores' time by task, from cycles by function. 100 % are all cycles in `of`, or in `functions`."""
    total = sum((of or functions).values())
    found = {task: sum(functions.get(name, 0) for name in names) / total * 100 for task, names in TASKS.items()}
    return {**found, "other": sum(functions.values()) / total * 100 - sum(found.values())}


def instructions_per_cycle(causes: Mapping[str, int]) -> dict[str, float]:
    """Cycles by cause, as shares of all cycles."""
    total = sum(causes.values())
    return {cause: cycles / total for cause, cycles in causes.items()}


def rates(result: Result, size: int, bps: int) -> dict[str, Any]:
    """Frames each way, payload, and the share of what the line carries both ways."""
    total = result.rates["total"].frames_per_s
    return {
        "sent": result.rates["sent"].frames_per_s,
        "received": result.rates["received"].frames_per_s,
        "frames": total,
        "payload": payload_gbps(size, total),
        "share": total / (2 * line_rate(size, bps)) * 100,
    }
