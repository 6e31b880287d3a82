# SPDX-License-Identifier: Apache-2.0
"""Comparisons in the same terms: packets and handlers on several NICs (`compare`), networks (`compare_networks`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spinet import _arguments, _core, _files, _nics, toolchain
from spinet._core import InputError, UsageError
from spinet.comparison import rows as _rows
from spinet.comparison import runners
from spinet.comparison.networks import NetworkComparison, compare_networks
from spinet.comparison.observed import CannotRun, Exit, Job, Observed
from spinet.comparison.offered import read
from spinet.comparison.result import JSON, Comparison
from spinet.comparison.rows import Latency, Output, Rate, Row

if TYPE_CHECKING:
    from spinet._nics import Card

__all__ = [
    "DEFAULT_NICS",
    "JSON",
    "Comparison",
    "Latency",
    "NetworkComparison",
    "Output",
    "Rate",
    "Row",
    "compare",
    "compare_networks",
]

DEFAULT_NICS = ("pspin", "panic", "native", "tigon2", "tengig")

# assumed: longer than any of these NICs holds a packet; the longest is Tigon-2's coalescing, 120 us.
_LONGEST_GAP = "200 us"


def compare(
    *,
    program: str | Path | Sequence[str | Path] = (),
    traffic: str | Path,
    nics: Sequence[Card] | Mapping[str, Card] = DEFAULT_NICS,
    match: str | None = None,
    message: str | None = None,
    handler: str | None = None,
    exit: Exit = "network",
    rate: str | None = None,
    count: int | None = None,
    longest_gap: str = _LONGEST_GAP,
    set: str | Sequence[str] = (),
    units: int = 1,
    threads: int = 1,
    seed: int | None = None,
    limit: str | None = None,
    defines: Mapping[str, str | int] | None = None,
    on_nic: Callable[[str], None] | None = None,
) -> Comparison:
    """Run the same packets, and the same handlers, on several NICs.

    Parameters
    ----------
    program
        C sources with handlers; none for plain forwarding from the network to the host.
    traffic
        A capture, or a generator such as ``"udp:size=64,count=1000,rate=10G"``.
    nics
        Cards that run handlers (``pspin``), have units with cores (``panic``), or forward with firmware (``tigon2``,
        ``tengig``), by name, by file, or as parameters from `spinet.parameters_of`; ``native`` is this machine's
        processor. A mapping gives each its name in the result; parameters otherwise have the name of their card.
    match, message, handler
        As in `spinet.run`.
    exit
        Exit of the packets that count as output: ``network`` or ``host``.
    rate
        Packets arrive back to back on a line of this rate, such as ``"10G"``. Default: at the times of the traffic.
    count
        Take only this number of packets.
    longest_gap
        Longer gaps between packets are cut to that, for every NIC.
    set
        Changes of a NIC's parameters: ``"pspin:cluster.n_cores=4"``.
    units
        Cores of a card with chains, as units of one service.
    threads
        Number of worker threads on this machine.
    seed, limit, defines
        As in `spinet.run`; the limit holds for each NIC.
    on_nic
        Called with each NIC's name before it runs.

    Raises
    ------
    InputError
        If something that was given cannot be used, or no NIC can run it.
    BuildError
        If the handlers do not compile for PsPIN. The list of handlers comes from this build.

    Examples
    --------
    >>> import spinet
    >>> result = spinet.compare(
    ...     program="sdk/examples/udp_ping_pong.c", traffic="udp:size=128,count=50,rate=1G", nics=["pspin", "panic"]
    ... )
    >>> result.outputs_equal, result["panic"].lost, result["pspin"].latency_ns.mean < result["panic"].latency_ns.mean
    (True, 0, True)
    """
    _arguments.check(
        {"match": match, "message": message, "handler": handler, "count": count, "threads": threads, "seed": seed}
        | {"limit": limit, "defines": defines, "on_nic": on_nic}
    )
    sources = [str(name) for name in ([program] if isinstance(program, str | Path) else program)]
    names, cards, own = _named(nics)
    sets = _sets([set] if isinstance(set, str) else set, names)
    sets = {nic: [*own.get(nic, ()), *sets.get(nic, ())] for nic in names}
    _check(sources, names, cards, units=units, match=match, message=message, handler=handler, exit=exit)
    build = toolchain.build(sources, defines=defines) if sources else None
    if build is not None:
        build.entry(name=handler)
    packets = read(
        traffic,
        match=match,
        message=message,
        rate=rate,
        count=count,
        seed=seed,
        longest_gap_ps=_core.span_ps(longest_gap),
    )
    if not packets.matched:
        raise UsageError(
            f"{traffic}: none of {len(packets.packets):,} packets is for the handlers", hint="--match says which are"
        )
    observed: dict[str, Observed] = {}
    not_run: dict[str, str] = {}
    with _files.scratch() as scratch:
        file = scratch / "offered.pcapng"
        packets.write(file)
        job = Job(
            program=sources,
            build=build,
            offered=packets,
            file=str(file),
            match=match,
            message=message,
            handler=handler,
            exit=exit if sources else "host",
            cards=cards,
            sets=sets,
            units=units,
            threads=threads,
            seed=seed,
            limit=limit,
            defines=defines or {},
        )
        for nic in names:
            if on_nic is not None:
                on_nic(nic)
            try:
                observed[nic] = runners.runner(cards[nic])(job, nic)
            except CannotRun as why:
                not_run[nic] = str(why)
            except toolchain.BuildError as error:
                not_run[nic] = _first_error(error)
            except InputError as error:
                raise UsageError(f"{nic}: {error}", hint=getattr(error, "hint", "")) from error
    if not observed:
        reasons = "; ".join(f"{nic}: {why}" for nic, why in not_run.items())
        raise UsageError(f"no NIC can run it: {reasons}")
    return Comparison(
        handler=sources,
        match=match,
        message=message,
        exit=job.exit,
        seed=1 if seed is None else seed,
        offered=packets,
        rows=_rows.rows(packets, observed, is_forwarding=not sources),
        not_run=not_run,
        reference=_rows.reference(observed, is_forwarding=not sources),
    )


def _named(nics: Sequence[Card] | Mapping[str, Card]) -> tuple[list[str], dict[str, str], dict[str, list[str]]]:
    """The NICs' names in the result, then the card and the changed parameters of each name."""
    names: list[str] = []
    cards: dict[str, str] = {}
    own: dict[str, list[str]] = {}
    given = nics.items() if isinstance(nics, Mapping) else [("", nic) for nic in nics]
    for label, nic in given:
        card, sets = _nics.name_of(nic)
        name = label or card
        if sets and not label:
            taken = 2
            while name in names:
                name, taken = f"{card}-{taken}", taken + 1
        names.append(name)
        cards[name] = card
        own[name] = sets
    return names, cards, own


def _sets(given: Sequence[str], nics: Sequence[str]) -> dict[str, list[str]]:
    """Changes by NIC."""
    found: dict[str, list[str]] = {}
    for text in given:
        nic, colon, change = text.partition(":")
        if not colon or "=" in nic:
            raise UsageError(f"{text}: no NIC is named", hint=f"name the NIC: {nics[0] if nics else 'pspin'}:{text}")
        if nic not in nics:
            raise UsageError(f"{text}: {nic} is not compared", hint=f"compared are {', '.join(nics)}")
        if nic == runners.NATIVE:
            raise UsageError(f"{text}: this machine has no parameters", hint="--threads, perhaps")
        found.setdefault(nic, []).append(change)
    return found


def _check(
    sources: Sequence[str],
    nics: Sequence[str],
    cards: Mapping[str, str],
    *,
    units: int,
    match: str | None,
    message: str | None,
    handler: str | None,
    exit: str,
) -> None:
    if not nics:
        raise UsageError("there is no NIC to compare")
    for nic in nics:
        runners.check(cards[nic])
        if list(nics).count(nic) > 1:
            raise UsageError(f"{nic} is named more than once")
    if units < 1:
        raise UsageError(f"units is {units}, must be at least 1")
    if exit not in ("network", "host"):
        raise UsageError(f"exit is {exit!r}, must be network or host")
    for name, value in (("match", match), ("message", message), ("handler", handler)):
        if value is not None and not sources:
            raise UsageError(f"{name} goes with handlers; plain forwarding forwards everything")
    for source in sources:
        if not source.endswith((".c", ".S", ".s")):
            raise UsageError(
                f"{source} is not a source; every NIC's compiler makes its own program of the same sources",
                hint="name C files",
            )


def _first_error(error: toolchain.BuildError) -> str:
    """The error's message; from a compiler's output, only the first line with an error."""
    lines = getattr(error, "stderr", "").splitlines()
    first = next((line for line in lines if "error" in line or "undefined" in line), "")
    return f"{error.args[0]}: {first.strip()}" if first else str(error)
