# SPDX-License-Identifier: Apache-2.0
"""`Handler`: a program on a simulated card that gets packets one at a time, for tests and notebooks."""

from __future__ import annotations

import difflib
import json
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsBytes

from spinet import _arguments, _core, _elf, _kinds, _nics, _programs, api
from spinet._core import InputError, UsageError
from spinet._experiments import Prepared
from spinet._nics import Settings
from spinet.profile import Frame

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

    from spinet._nics import Card
    from spinet._programs import Ready

__all__ = ["Fault", "Handler", "HostWrite", "Outcome", "Packet", "Visit"]

_CHAIN = _SERVICE = "handler"  # on cards with chains: the only chain, and the service that runs the program
_BOOT_PS = 10**10  # simulated time in which a card boots at the latest
# Keys of an experiment that say which packets come, and until when. Here the caller gives the packets.
_OF_TRAFFIC = ("traffic", "send", "faults", "limit")


class Packet(bytes):
    """Bytes of a packet, from the first byte of its Ethernet header. Its representation is hexadecimal."""

    def __repr__(self) -> str:
        """Its length and its first bytes."""
        shown = self[:48].hex(" ", 1) + (" ..." if len(self) > 48 else "")
        return f"<{len(self)} B: {shown}>"


class Packets(list[Packet]):
    """Packets that left the card. Failures of tests show `outcome`."""

    outcome: str = ""


class Verdict(str):
    """The fate of a packet, as text. Failures of tests show `outcome`."""

    outcome: str = ""


@dataclass(frozen=True, kw_only=True)
class HostWrite:
    """Bytes that went to host memory, without a gap in between."""

    addr: int
    data: bytes

    def __repr__(self) -> str:
        """Its address and its bytes."""
        return f"HostWrite(addr={self.addr:#x}, data={self.data!r})"


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One run of a program for a packet."""

    name: str  # the handler, or the service
    stage: str  # "header", "payload" or "completion" of a handler; "service" on cards with chains
    cycles: int  # from when the core took the packet until it was done with it
    instructions: int | None  # None if the card does not count them for each packet
    core: str  # cluster and core as in "0:3", or the unit as in "handler[0]"


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A fault of a program: an exception, a refused command, or a program that has not ended."""

    text: str  # its cause, with values
    frames: tuple[Frame, ...]  # the function that contains the instruction first, then those inlined there
    place: str  # function and offset of the instruction
    pc: int | None  # its address; None if it is not known
    core: str

    def __str__(self) -> str:
        """The cause of the fault and its place in the program."""
        lines = " > ".join(str(frame) for frame in self.frames)
        return f"{self.text}, in {self.place}" + (f" at {lines}" if lines else "")


@dataclass(frozen=True, kw_only=True, repr=False)
class Outcome:
    """The outcome of a packet.

    Attributes
    ----------
    sent
        Packets that left to the network, in order. They compare like bytes.
    to_host
        Cards with chains: packets that left to the host.
    verdict
        The fate of the packet. PsPIN: ``sent``, ``to_host``, ``sent_and_to_host``, ``consumed``, ``dropped``,
        ``trapped``, ``ordinary`` (no context took it). PANIC: ``network``, ``host``, ``dropped``. Both:
        ``unfinished``.
    reason
        Why it was dropped, not taken or not finished; otherwise None.
    host_writes
        Writes to host memory, in order of time; writes that continue one another are joined.
    visits
        Runs of the program for this packet: on PsPIN the header, payload and completion handler.
    faults
        Faults of the program on this packet, with source lines.
    console
        Lines that the program printed.
    """

    sent: Packets
    to_host: Packets
    verdict: Verdict
    reason: str | None
    host_writes: list[HostWrite]
    visits: tuple[Visit, ...]
    faults: tuple[Fault, ...]
    console: tuple[str, ...]
    _handler: Handler = field(repr=False, compare=False)
    _number: int = field(repr=False, compare=False)

    def __post_init__(self) -> None:
        """Give this outcome's text to the parts that tests compare."""
        for part in (self.sent, self.to_host, self.verdict):
            part.outcome = repr(self)

    @property
    def cycles(self) -> int:
        """Cycles of all its visits."""
        return sum(visit.cycles for visit in self.visits)

    @property
    def instructions(self) -> int:
        """Instructions of all its visits.

        Raises
        ------
        AttributeError
            If the card does not count them for each packet.
        """
        counts = [visit.instructions for visit in self.visits]
        if any(count is None for count in counts):
            raise AttributeError("this card does not count instructions for each packet; `cycles` is known")
        return sum(count or 0 for count in counts)

    def memory(self, symbol: str | int, size: int | None = None, *, core: str | None = None) -> bytes:
        """Memory of the card after this packet: see `Handler.memory`.

        Raises
        ------
        UsageError
            If the handler has had another packet or a reset since.
        """
        self._handler._check_latest(self._number)
        return self._handler.memory(symbol, size, core=core)

    def array(
        self, symbol: str | int, dtype: DTypeLike = "<u4", count: int | None = None, *, core: str | None = None
    ) -> np.ndarray[Any, Any]:
        """The same as a NumPy array: see `Handler.array`."""
        self._handler._check_latest(self._number)
        return self._handler.array(symbol, dtype, count, core=core)

    def __repr__(self) -> str:
        """Verdict, cycles, counts and faults, in one line."""
        parts = [self.verdict + (f" ({self.reason})" if self.reason else "")]
        if self.visits:
            parts.append(f"{self.cycles} cycles")
        parts += [f"{len(what)} {name}" for name, what in (("sent", self.sent), ("to host", self.to_host)) if what]
        if self.host_writes:
            parts.append(f"{sum(len(write.data) for write in self.host_writes)} B to host memory")
        parts += [str(fault) for fault in self.faults]
        return f"<Outcome: {', '.join(parts)}>"


class Handler:
    """A program on a simulated card, which gets packets one at a time.

    The card boots once. Its memories and caches keep their contents from packet to packet, until `reset`.

    Parameters
    ----------
    program
        C sources that are linked into one program, or one ELF file.
    experiment
        A file or a mapping as for `spinet.run` in place of `program`. Its traffic, faults of the network and limit are
        not used.
    nic, set
        The card, and changes of its parameters. Default: that of the experiment, or ``"pspin"``.
    match, message, handler, handler_memory
        As for `spinet.run`. PANIC has no `message` and no `handler_memory`.
    seed
        Seed of all random choices.
    defines, cc
        Preprocessor macros, and another compiler than spinet's.
    check
        Check accesses to memory: `findings`. For cards that run handlers.

    Raises
    ------
    InputError
        If the experiment is wrong, or the card runs no program for each packet.
    BuildError
        If the program does not compile.

    Examples
    --------
    >>> import spinet
    >>> handler = spinet.Handler("sdk/examples/ping_pong.c", match="udp")
    >>> ethernet, ipv4 = "020000000002 020000000001 0800", "4500001c00000000 40110000 0a000001 0a000002"
    >>> out = handler.process(ethernet + ipv4 + "0007 0009 0008 0000")
    >>> out.verdict, out.sent[0][:6].hex(), out.instructions
    ('sent', '020000000001', 113)
    """

    def __init__(
        self,
        program: str | Path | Sequence[str | Path] | None = None,
        *,
        experiment: str | Path | Mapping[str, Any] | None = None,
        nic: Card | None = None,
        set: Settings = (),
        match: str | None = None,
        message: str | None = None,
        handler: str | None = None,
        handler_memory: str | Path | bytes | None = None,
        seed: int | None = None,
        defines: Mapping[str, str | int] | None = None,
        cc: str | None = None,
        check: bool = False,
    ) -> None:
        self._native: _core.Run | None = None
        self._number = 0  # number of the latest packet; resets count, too
        self._is_fresh = False
        if (program is None) == (experiment is None):
            raise UsageError("a handler needs a program or an experiment, and not both")
        _arguments.check({"experiment": experiment, "cc": cc, "defines": defines, "check": check, "seed": seed})
        _arguments.check({"nic": nic, "match": match, "message": message, "handler": handler})
        card, sets = _nics.chosen(nic, set)
        kind = _kinds.of(experiment, card, has_chains=False)
        given: dict[str, Any] = {
            "nic": card,
            "set": sets,
            "seed": seed,
            "check": check or None,
            "match": match,
            "message": message,
            "handler": handler,
            "handler_memory": _programs.kept(handler_memory) if isinstance(handler_memory, bytes) else handler_memory,
            "traffic": ["udp:count=1"],  # a placeholder: an experiment needs some
        }
        if kind == _kinds.MODULES:
            raise UsageError(
                f"{card or experiment} runs firmware, which works on many packets at once",
                hint="test it with spinet.run, whose result has the frames and counts",
            )
        if kind == _kinds.CHAINS:
            given = self._on_chains(given, program)
        else:
            given["program"] = _programs.several(program) or None
        names = ", ".join(Path(source).name for source in _programs.several(program))
        self._name = names or (Path(experiment).name if isinstance(experiment, str | Path) else "of an experiment")
        prepared = api.idle(api.prepare(experiment, given), _OF_TRAFFIC)
        self._ready: Ready = _programs.built(prepared, given, cc=cc, defines=defines)
        self.kind = kind
        self._checks = check
        self.nic: str = _name_of_card(prepared)
        self._symbols: dict[str, dict[str, list[_elf.Symbol]]] = {}
        if (
            kind == _kinds.CHAINS
            and not self._ready.elfs
            and not any(map(_has_program, prepared.values.get("service", ())))
        ):
            raise UsageError(
                "no service of the experiment runs a program", hint="spinet.run tests chains of other units"
            )
        self._running()

    @staticmethod
    def _on_chains(given: Mapping[str, Any], program: str | Path | Sequence[str | Path] | None) -> dict[str, Any]:
        """The same for a card with chains: one chain, of one core that runs the program."""
        for key in ("message", "handler_memory", "check"):
            if given[key] is not None:
                raise UsageError(f"{key} is for {_kinds.who([_kinds.HANDLERS])}")
        rest = {key: given[key] for key in ("nic", "set", "seed", "traffic")}
        if program is None:
            for key in ("match", "handler"):
                if given[key] is not None:
                    raise UsageError(f"{key} belongs into the experiment")
            return rest
        sources = [str(Path(source).absolute()) for source in _programs.several(program)]
        service = {"name": _SERVICE, "engine": "riscv", "program": sources}
        if given["handler"] is not None:
            service["handler"] = given["handler"]
        matched = f" [{given['match']}]" if given["match"] else ""
        return {**rest, "services": [service], "chains": [f"{_CHAIN}{matched}: {_SERVICE} => network"]}

    def __enter__(self) -> Handler:
        """The handler itself."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End the simulation and free its memory. The next packet starts it again."""
        if self._native is not None:
            self._native.close()
        self._native, self._is_fresh = None, False

    def reset(self) -> None:
        """Boot the card again: all memories have their initial contents, and caches are empty."""
        self._number += 1
        if not self._is_fresh:
            self.close()

    def _running(self) -> _core.Run:
        if self._native is None:
            native = api.start(self._ready, trial=True, check=self._checks)
            if not native.boot(_BOOT_PS):
                native.close()
                raise UsageError(f"{self.nic} is not ready after 10 ms of simulated time")
            self._native, self._is_fresh = native, True
        return self._native

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """Mistakes that the memory checker found since the card booted, each place once; as `Result.findings`.

        Raises
        ------
        UsageError
            If the handler was made without `check`.
        """
        if not self._checks:
            raise UsageError("this handler is not checked", hint="spinet.Handler(..., check=True)")
        return tuple(json.loads(self._running().summary())["check"]["findings"])

    def process(self, packet: bytes | str | SupportsBytes, *, within: str = "2 ms") -> Outcome:
        """Give one packet to the card and wait until it is done with it.

        Parameters
        ----------
        packet
            Bytes from the Ethernet header on, without FCS; the same as hexadecimal text, in which white space, ``:``
            and ``-`` are ignored; or anything that `bytes` converts, such as a packet of scapy.
        within
            Simulated time after which the packet counts as unfinished.
        """
        return self.process_all([packet], within=within)[0]

    def process_all(self, packets: Iterable[bytes | str | SupportsBytes], *, within: str = "2 ms") -> list[Outcome]:
        """Give packets to the card, each when the card is done with the one before.

        With `message` set to ``"by flow last"`` or ``"all last"``, a message ends with its last packet in this call.
        """
        given = [as_bytes(packet) for packet in packets]
        native, span = self._running(), _core.span_ps(within)
        native.expect(given)
        return [self._offer(native, packet, span) for packet in given]

    def _offer(self, native: _core.Run, packet: bytes, within: int) -> Outcome:
        self._number += 1
        self._is_fresh = False
        try:
            text, left, writes = native.offer(packet, within)
        except InputError as error:
            if "has not finished the packet before" in str(error):
                raise UsageError(str(error), hint="reset() boots the card again") from None
            raise
        found: dict[str, Any] = json.loads(text)
        return Outcome(
            sent=Packets(Packet(data) for _time, port, data in left if port.startswith("network")),
            to_host=Packets(Packet(data) for _time, port, data in left if port.startswith("host")),
            verdict=Verdict(found["verdict"]),
            reason=found["reason"],
            host_writes=_joined(writes),
            visits=tuple(Visit(**visit) for visit in found["visits"]),
            faults=tuple(_fault(fault) for fault in found["faults"]),
            console=tuple(line for *_where, line in native.take_console()),
            _handler=self,
            _number=self._number,
        )

    def memory(self, symbol: str | int, size: int | None = None, *, core: str | None = None) -> bytes:
        """Memory of the card, as a debugger sees it: no simulated time passes.

        Parameters
        ----------
        symbol
            A variable of the program, also a static one; or an address.
        size
            Number of bytes. Default: that of the variable.
        core
            PANIC: the unit whose memory is read, such as ``"handler[0]"``. Default: the first that runs the program.

        Raises
        ------
        UsageError
            If there is no such variable, or several, or an address has no size.
        """
        if isinstance(symbol, str):
            program, found = self._find(symbol, core)
            addr, size = found.address, found.size if size is None else size
        else:
            if size is None:
                raise UsageError("an address needs a size: memory(0x1c000000, 4)")
            program, addr = next(iter(self._programs()), ""), operator.index(symbol)
        unit = core or (f"{program}[0]" if self.kind == _kinds.CHAINS else "")
        return self._running().read_memory(unit, _core.whole("the address", addr), _core.whole("size", size))

    def array(
        self, symbol: str | int, dtype: DTypeLike = "<u4", count: int | None = None, *, core: str | None = None
    ) -> np.ndarray[Any, Any]:
        """The same as a NumPy array of shape ``(n,)``, by default of the card's 32-bit words; it cannot be written.

        Parameters
        ----------
        symbol, core
            As for `memory`.
        dtype
            Type of the elements; the cores are little-endian.
        count
            Number of elements. Default: all of the variable.
        """
        import numpy as np

        kind = np.dtype(dtype)
        size = None if count is None else _core.whole("count", count) * kind.itemsize
        return np.frombuffer(self.memory(symbol, size, core=core), dtype=kind)

    def _check_latest(self, number: int) -> None:
        if number != self._number:
            raise UsageError(
                "the handler had another packet or a reset after this outcome, so its memory is gone",
                hint="read memory before the next packet",
            )

    def _programs(self) -> dict[str, Path]:
        """Linked programs by service or tenant."""
        if self._ready.elfs or self.kind != _kinds.HANDLERS:
            return dict(self._ready.elfs)
        return {"": self._ready.experiment.programs()[0]}

    def _find(self, name: str, core: str | None) -> tuple[str, _elf.Symbol]:
        programs = self._programs()
        wanted = {of: elf for of, elf in programs.items() if core is None or core.rpartition("[")[0] in ("", of)}
        for program, elf in wanted.items():
            known = self._variables(program, elf)
            found = known.get(name, [])
            if len(found) == 1:
                return program, found[0]
            if found:
                places = ", ".join(f"{symbol.address:#x}" for symbol in found)
                raise UsageError(f"the program has several variables called {name}, at {places}", hint="use an address")
        names = [known for program, elf in wanted.items() for known in self._variables(program, elf)]
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {near[0]}?" if near else "a variable that nothing reads may be optimised away"
        raise UsageError(f"the program has no variable {name}", hint=hint)

    def _variables(self, program: str, elf: Path) -> dict[str, list[_elf.Symbol]]:
        """Variables by name; static ones also without the suffix that the compiler adds."""
        if program not in self._symbols:
            known: dict[str, list[_elf.Symbol]] = {}
            for symbol in _elf.read(elf).symbols:
                if symbol.is_variable:
                    for name in {symbol.name, *(part for part in symbol.name.split(".") if not part.isdecimal())}:
                        known.setdefault(name, []).append(symbol)
            self._symbols[program] = known
        return self._symbols[program]

    def __repr__(self) -> str:
        """Its program and its card."""
        return f"<Handler {self._name} on {self.nic}>"


def as_bytes(packet: bytes | str | SupportsBytes) -> bytes:
    """The bytes of a packet in one of the forms of `Handler.process`.

    >>> as_bytes("02:00:00:00:00:01 08-00").hex()
    '0200000000010800'
    """
    if isinstance(packet, str):
        try:
            return bytes.fromhex(packet.replace(":", " ").replace("-", " "))
        except ValueError as error:
            raise UsageError(f"packet: this is not hexadecimal text: {error}") from None
    if isinstance(packet, int) or not (
        isinstance(packet, bytes | bytearray | memoryview) or hasattr(packet, "__bytes__")
    ):
        raise UsageError(f"packet is {packet!r}, must be bytes, hexadecimal text or something that bytes() converts")
    return bytes(packet)


def _joined(writes: Iterable[tuple[int, bytes]]) -> list[HostWrite]:
    """Writes in order. A write that continues the previous one is joined with it."""
    joined: list[HostWrite] = []
    for addr, data in writes:
        if joined and joined[-1].addr + len(joined[-1].data) == addr:
            joined[-1] = HostWrite(addr=joined[-1].addr, data=joined[-1].data + data)
        else:
            joined.append(HostWrite(addr=addr, data=data))
    return joined


def _fault(row: Mapping[str, Any]) -> Fault:
    function = str(row["place"]).partition("+")[0]
    lines = [(function, row["line"]), *((call["function"] or "", call["line"]) for call in row["inlined"])]
    frames = tuple(_frame(name, line) for name, line in lines if line)
    return Fault(text=row["text"], frames=frames, place=row["place"], pc=row["pc"], core=row["core"])


def _frame(function: str, place: str) -> Frame:
    file, _, line = place.rpartition(":")
    return Frame(function=function, file=file, line=int(line))


def _name_of_card(prepared: Prepared) -> str:
    nic = prepared.values.get("nic", _kinds.get(prepared.kind).example)
    return str(nic["preset"] if isinstance(nic, Mapping) else nic)


def _has_program(service: Mapping[str, Any]) -> bool:
    return bool(service.get("program"))
