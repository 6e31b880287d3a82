# SPDX-License-Identifier: Apache-2.0
"""The packets of a capture or a generator with their messages, without a card."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spinet import _core, toolchain
from spinet import _experiments as experiments
from spinet._experiments import Prepared


@dataclass(frozen=True, kw_only=True, slots=True)
class OfferedPacket:
    """A packet on its way to the card.

    Attributes
    ----------
    time_ps
        When its first bit arrives, from the start of the traffic.
    data
        From the first byte of its Ethernet header, without FCS.
    context
        Position of the context that takes the packet. None: no context does, and the attributes below have no meaning.
    message
        Number of its message in that context, from 0.
    msgid
        The card's number for the message, 0 to 1023; None if all queues were in use when the message began.
    is_last
        No packet of the message follows.
    """

    time_ps: int
    data: bytes
    context: int | None
    message: int
    msgid: int | None
    is_last: bool


def offered(
    traffic: str | Path,
    *,
    match: str | None = None,
    message: str | None = None,
    seed: int | None = None,
    pacing: str | None = None,
    count: int | None = None,
) -> list[OfferedPacket]:
    """All packets of a traffic, as `spinet.run` with the same arguments would offer them to its handlers.

    Parameters
    ----------
    traffic
        A capture (pcap or pcapng), or a description such as ``"udp:size=64,count=1000"``.
    match, message, seed, pacing, count
        As in `spinet.run`.

    Raises
    ------
    InputError
        If the traffic cannot be read, or an argument makes no sense.

    Examples
    --------
    >>> import spinet
    >>> packets = spinet.offered("udp:count=3,flows=2", message="by flow last")
    >>> [(packet.message, packet.is_last) for packet in packets]
    [(0, False), (1, True), (0, True)]
    """
    given = {"seed": seed, "traffic.pacing": pacing, "traffic.count": count}
    return of(
        experiments.from_keywords(
            # An experiment must name a program, but it is not read here.
            program=[str(toolchain.sdk_dir() / "examples" / "empty.c")],
            traffic=str(traffic),
            match=match,
            message=message,
            overrides={name: value for name, value in given.items() if value is not None},
        )
    )


def of(experiment: Prepared) -> list[OfferedPacket]:
    """All packets of an experiment."""
    return list(each(experiment))


def each(experiment: Prepared) -> Iterator[OfferedPacket]:
    """The packets of `of`, one at a time, so that only the remaining ones take memory."""
    left = _core.offered(experiment.text(), experiment.file, experiment.base_dir, experiment.format())
    left.reverse()
    while left:
        time_ps, data, target = left.pop()
        context, message, msgid, is_last = target if target is not None else (None, 0, None, False)
        yield OfferedPacket(time_ps=time_ps, data=data, context=context, message=message, msgid=msgid, is_last=is_last)
