# SPDX-License-Identifier: Apache-2.0
"""A card between real interfaces: simulated time follows real time as far as the simulation is fast enough."""

from __future__ import annotations

import json
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import IO, Any, Protocol

from spinet import _core, _driving, _packets, _tap
from spinet._core import InputError, UsageError

NETWORK, HOST = "network", "host"

_BUDGET_MS = 20  # time to simulate before the interfaces are polled again
_BUSY_S = 0.001  # waiting for frames while packets are in the card
_IDLE_S = 0.05  # the same while there are none
_IDLE_AFTER_NS = (
    10_000_000  # without frames, until a card without packets counts as idle: it may still write to the host
)
_BURST = 256  # frames that are read at once
_GRACE_S = 5.0  # time for packets in the card to finish when the run ends by itself
_PS_PER_S = 10**12
_CYCLE_PS = 10**6  # longer than a cycle of any card: simulation ends with a whole one
_BEHIND_PS = _PS_PER_S // 100  # smaller lags are not reported


class Interface(Protocol):
    """The end of a line: a TAP interface."""

    name: str
    is_up: bool

    def fileno(self) -> int:
        """The file descriptor, for `select`."""

    def read(self) -> bytes | None:
        """The next frame; None if there is none."""

    def write(self, frame: bytes) -> bool:
        """Take a frame. Returns false if it is lost."""


@dataclass(kw_only=True)
class Side:
    """An interface at a port of the card, with the frames that passed it."""

    port: str  # the simulator's name of it
    interface: Interface
    frames_in: int = 0  # into the card
    bytes_in: int = 0
    frames_out: int = 0  # out of the card
    bytes_out: int = 0
    refused: int = 0  # frames that the card cannot take, such as one longer than its firmware's buffers
    lost: int = 0  # frames out of the card that the interface did not take: it is down, or its queue is full
    dropped: int | None = None  # frames that the kernel dropped before they were read; None if unknown

    def give(self, frame: bytes) -> None:
        """Take a frame that leaves the card here."""
        if self.interface.write(frame):
            self.frames_out += 1
            self.bytes_out += len(frame)
        else:
            self.lost += 1


@dataclass(kw_only=True)
class Clock:
    """Maps real time to simulated time: a factor, and the delays that slow simulation has caused."""

    speed: float
    real_ns: int = field(default_factory=time.monotonic_ns)
    simulated_ps: int = 0
    slipped_ps: int = 0  # total delay of simulated time behind real time

    def at(self, real_ns: int) -> int:
        """The simulated time for a real time."""
        return self.simulated_ps + int((real_ns - self.real_ns) * 1000 * self.speed)

    def reached(self, simulated_ps: int, real_ns: int) -> None:
        """Note that the simulation has reached this time. If it is late, all later times move by the same delay."""
        behind = self.at(real_ns) - simulated_ps
        if behind > 0:
            self.slipped_ps += behind
            self.real_ns, self.simulated_ps = real_ns, simulated_ps


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The end and the speed of a live run."""

    speed: float = 1.0  # simulated time a second of real time
    count: int | None = None  # frames from the network
    duration_s: float | None = None  # of real time


class Bridge:
    """A running card, its interfaces, and the frames between them.

    Parameters
    ----------
    native
        The card, started with lines.
    sides
        Its interfaces. A card without a port for the host lets frames of that side pass to the first network port.
    capture
        An open file for a capture of the frames that came from the network, with simulated times.
    on_status
        Called about once a second with this object.
    """

    def __init__(
        self,
        native: _core.Run,
        sides: Sequence[Side],
        terms: Terms,
        *,
        host_passes: bool,
        capture: IO[bytes] | None = None,
        on_status: Callable[[Bridge], None] | None = None,
    ) -> None:
        self.sides = sides
        self._native = native
        self._terms = terms
        self._host_passes = host_passes
        self._capture = capture
        self._on_status = on_status
        # All queues of the host end at one interface.
        self._by_port = {HOST if side.port.startswith(HOST) else side.port: side for side in sides}
        self.to_host = 0  # frames to the host without an interface
        self.unconnected = 0  # frames that left at a network port without an interface
        self.simulated_ps = 0
        self._given = 0  # frames that the card has or gets
        self._latest_ps = 0  # arrival of the latest frame
        self._is_late = False  # true if the latest exchange was late
        self.clock = Clock(speed=terms.speed)
        self._begun_ns = self.clock.real_ns
        self._told_ns = self._begun_ns
        self._moved_ns = 0  # when a frame came or left
        if capture is not None:
            capture.write(_packets.HEADER)
        self._check_ports()

    def _check_ports(self) -> None:
        """Raise an error if the card lacks a port. A port that exists silently refuses the empty frame."""
        for side in self.sides:
            if side.port.startswith(HOST) and self._host_passes:
                continue
            try:
                self._native.exchange([(side.port, 0, b"")], 0, 0)
            except InputError as error:
                raise UsageError(f"{side.interface.name}: {error}") from None

    @property
    def real_s(self) -> float:
        """Real time since the start."""
        return (time.monotonic_ns() - self._begun_ns) / 1e9

    @property
    def behind_s(self) -> float:
        """Simulated time that is missing because the simulation was too slow."""
        return self.clock.slipped_ps / _PS_PER_S

    @property
    def is_behind(self) -> bool:
        """Returns true if the simulation is too slow for the speed that was asked for."""
        return self.clock.slipped_ps > _BEHIND_PS

    def run(self, look: Callable[[], None]) -> dict[str, Any]:
        """Exchange frames until Ctrl-C, the count, the duration, or the end of the card; the summary of the run.

        `look` is called after each exchange.
        """
        with _signals() as is_asked:
            why = self._until_the_end(look, is_asked)
        if self._on_status is not None:
            self._on_status(self)
        summary: dict[str, Any] = json.loads(self._native.summary())
        self._native.finish()
        look()
        for side in self.sides:
            if isinstance(side.interface, _tap.Tap):
                side.dropped = _tap.queue_drops(side.interface.name)
        if summary["ended"]["reason"] == "running":
            text = f"{why} after {self.real_s:.1f} s of real time"
            summary = _driving.ended_by_caller(summary, reason="detached", text=text, is_unfinished=False)
        return {**summary, "attach": self.counts()}

    def _until_the_end(self, look: Callable[[], None], is_asked: Event) -> str:
        inside, over_since = 0, None
        with ExitStack() as stack:
            poll = stack.enter_context(_Poll(self.sides))
            while True:
                enough = self._enough()
                if enough and (inside == 0 or time.monotonic() - (over_since or time.monotonic()) > _GRACE_S):
                    return enough
                if enough and over_since is None:
                    over_since = time.monotonic()
                is_idle = inside == 0 and time.monotonic_ns() - self._moved_ns > _IDLE_AFTER_NS
                wait = 0.0 if self._is_late else _IDLE_S if is_idle else _BUSY_S
                if self._terms.duration_s is not None:
                    wait = max(0.0, min(wait, self._terms.duration_s - self.real_s))
                ready = poll.ready(wait)
                if ready and not self._is_late:
                    # First simulate the time that passed without frames. Otherwise, new frames would wait for this
                    # simulation if it is slow.
                    self._exchange([])
                coming = [] if enough else self._read(ready)
                progress = self._exchange(coming)
                # Frames whose arrival time is in the future are not in the card yet.
                inside = max(self._given, progress["packets_in"]) - progress["packets_done"]
                look()
                self._tell()
                if progress["done"]:
                    return ""
                if is_asked.is_set():
                    return "detached"

    def _enough(self) -> str:
        """The reason why no more frames are taken; empty while frames are taken."""
        if self._terms.duration_s is not None and self.real_s >= self._terms.duration_s:
            return "the duration is over"
        taken = sum(side.frames_in for side in self.sides if side.port.startswith(NETWORK))
        if self._terms.count is not None and taken >= self._terms.count:
            return f"{taken} frames came"
        return ""

    def _read(self, ready: Sequence[Side]) -> list[tuple[str, int, bytes]]:
        coming = []
        for side in ready:
            is_network = side.port.startswith(NETWORK)
            for _ in range(_BURST):
                if is_network and self._enough():
                    break
                frame = side.interface.read()
                if frame is None:
                    break
                side.frames_in += 1
                side.bytes_in += len(frame)
                # If simulated time is late, the frame arrives now; frames stay in order, even if simulated time was put
                # back.
                at = self.simulated_ps if self._is_late else self.clock.at(time.monotonic_ns())
                at = max(at, self.simulated_ps + 1, self._latest_ps)
                self._latest_ps = at
                if not is_network and self._host_passes:
                    self._by_port["network:0"].give(frame)
                    continue
                coming.append((side.port, at, frame))
                if is_network and self._capture is not None:
                    self._capture.write(_packets.record(at // 1000, frame))
        return coming

    def _exchange(self, coming: list[tuple[str, int, bytes]]) -> _core.Progress:
        """Simulate up to now; the progress."""
        until = self.clock.at(time.monotonic_ns())
        if coming:
            until = max(until, coming[-1][1])
        progress, self.simulated_ps, left, refused = self._native.exchange(coming, until, _BUDGET_MS)
        self._is_late = self.simulated_ps + _CYCLE_PS < until and not progress["done"]
        if self._is_late:
            self.clock.reached(self.simulated_ps, time.monotonic_ns())
        self._given += len(coming) - refused
        if coming or left:
            self._moved_ns = time.monotonic_ns()
        if refused:
            self._by_port[coming[0][0]].refused += refused
        for _time, port, frame in left:
            self._give(port, frame)
        return progress

    def _give(self, port: str, frame: bytes) -> None:
        is_host = port.startswith(HOST)
        side = self._by_port.get(HOST if is_host else port)
        if side is not None:
            side.give(frame)
        elif is_host:
            self.to_host += 1
        else:
            self.unconnected += 1

    def _tell(self) -> None:
        now = time.monotonic_ns()
        if now - self._told_ns >= 10**9:
            self._told_ns = now
            if self._capture is not None:
                self._capture.flush()
            if self._on_status is not None:
                self._on_status(self)

    def counts(self) -> dict[str, Any]:
        """Counts of frames, and times, for the summary."""
        return {
            "real_s": round(self.real_s, 6),
            "simulated_s": round(self.simulated_ps / _PS_PER_S, 12),
            "speed": self._terms.speed,
            "behind_s": round(self.behind_s, 6),
            "interfaces": [
                {
                    "name": side.interface.name,
                    "port": side.port,
                    "frames_in": side.frames_in,
                    "bytes_in": side.bytes_in,
                    "frames_out": side.frames_out,
                    "bytes_out": side.bytes_out,
                    "refused": side.refused,
                    "lost": side.lost,
                    "dropped_by_kernel": side.dropped,
                }
                for side in self.sides
            ],
            "to_host_without_interface": self.to_host,
            "out_without_interface": self.unconnected,
        }


@contextmanager
def _signals() -> Iterator[Event]:
    """Lets Ctrl-C and its kin set an event: an exception between two calls could lose frames or rows."""
    is_asked = Event()
    known = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    is_main = current_thread() is main_thread()
    # A signal that the parent ignores stays ignored.
    ours = {one: signal.getsignal(one) for one in known if is_main and signal.getsignal(one) is not signal.SIG_IGN}
    for one in ours:
        signal.signal(one, lambda _number, _frame: is_asked.set())
    try:
        yield is_asked
    finally:
        for one, before in ours.items():
            signal.signal(one, before)


class _Poll:
    """Waits for frames at several interfaces."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self._sides = {side.interface.fileno(): side for side in sides}
        self._poll = select.epoll()
        for fd in self._sides:
            self._poll.register(fd, select.EPOLLIN)

    def __enter__(self) -> _Poll:
        return self

    def __exit__(self, *_error: object) -> None:
        self._poll.close()

    def ready(self, wait_s: float) -> list[Side]:
        """Wait for frames, but no longer than this time. Returns the interfaces that have frames."""
        return [self._sides[fd] for fd, _events in self._poll.poll(wait_s)]


def open_sides(taps: Sequence[str], host: str | None, stack: ExitStack) -> list[Side]:
    """Open the interfaces: network ports in their order, then the host's.

    Raises
    ------
    UsageError
        If one is named twice or cannot be opened.
    """
    names = [*taps, *([host] if host is not None else [])]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"{name} is named twice", hint="each port of the card needs an interface of its own")
    ports = [f"{NETWORK}:{number}" for number in range(len(taps))] + [f"{HOST}:0"] * (host is not None)
    return [
        Side(port=port, interface=stack.enter_context(_tap.Tap(name))) for port, name in zip(ports, names, strict=True)
    ]


def capture_file(path: Path | None, stack: ExitStack) -> IO[bytes] | None:
    """An open file for a capture."""
    if path is None:
        return None
    try:
        return stack.enter_context(path.open("wb"))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}", hint="name another file with --capture") from None
