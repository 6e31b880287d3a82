# SPDX-License-Identifier: Apache-2.0
"""Functions that a card installs on demand (serverless): the host of `sdk/services/dispatch.c`."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from spinet import _core, toolchain
from spinet._core import InputError, UsageError
from spinet.machine import Context, Machine, Memory, Program, Rule
from spinet.services import wire
from spinet.services.wire import SOURCES, Packet

_NUMBERS = wire.numbers("dispatch.c")
_FUNCTION = wire.numbers("function.h")
FIRST_PORT = _FUNCTION["FUNCTION_PORT"]
PORTS = _NUMBERS["DISPATCH_PORTS"]
STATUS = {_FUNCTION[f"FUNCTION_{name.upper()}"]: name for name in ("ok", "malformed", "unknown", "busy")} | wire.DENIED
"""Names of the statuses that all functions share."""
EXAMPLES = SOURCES / "functions"
"""Folder of the functions that come with spinet."""
EVENTS = ("unknown", "busy", "malformed", "denied")

_FLAG = struct.Struct("<II")
_TABLE_AT = _NUMBERS["DISPATCH_TABLE_AT"]
_FREED_AT = 4
_LAST_PRIORITY = -(1 << 31)
_ALIGN = 64


@dataclass(frozen=True, kw_only=True)
class HostCosts:
    """Time of the host's core. The card's part of all work is simulated; these times are not, so they are stated.

    Attributes
    ----------
    poll_ns
        Between two looks at the ring of requests.
    request_ns
        To take a request from the ring and give it back to the card.
    load_ns
        To find a function's file, relocate it, and call the driver.
    unload_ns
        To choose a function and unload it.
    """

    poll_ns: int = 50  # assumed: as for clients (client.py)
    request_ns: int = 450  # assumed: 200 for a core that handles a request (eRPC, NSDI 2019), and 250 of PCIe
    load_ns: int = 10_000  # assumed: a page of relocations and a handful of calls without a system call; not measured
    unload_ns: int = 1_000  # assumed: likewise

    def __post_init__(self) -> None:
        """Refuse negative times, and polls that take no time."""
        if self.poll_ns < 1 or min(self.request_ns, self.load_ns, self.unload_ns) < 0:
            raise UsageError(f"{self}: poll_ns must be 1 or more, the others 0 or more")


@dataclass(frozen=True, kw_only=True)
class Load:
    """A cold start: simulated times when the host saw the request, had a free slot, had written the code, and had
    installed the rule.
    """

    function: str
    slot: int
    evicted: str | None
    noticed_ns: int
    free_ns: int
    written_ns: int
    installed_ns: int


@dataclass(frozen=True, kw_only=True)
class Function:
    """A function that is deployed: its name, its UDP port, its sources, how they are compiled, and its access key."""

    name: str
    port: int
    sources: tuple[Path, ...]
    handler: str | None
    defines: Mapping[str, str | int]
    access_key: int = 0

    @property
    def _program(self) -> object:
        return self.sources, self.handler, tuple(self.defines.items())

    def request(
        self, data: bytes, *, client: int = 1, number: int = 1, kind: int = 0, access_key: int | None = None
    ) -> bytes:
        """The frame of a request, from node 1 of a network to node 0. `Packet.of_frame` parses the reply.

        `access_key` is that of the dispatcher, unless given.
        """
        key = wire.key_of_client(access_key, self.access_key)
        packet = Packet(request=number, client=client, kind=kind, data=data, access_key=key)
        return packet.frame(source=1, target=0, port=self.port)


@dataclass(kw_only=True)
class _Installed:
    function: Function
    program: Program
    context: Context
    rule: Rule
    used_ns: int


@dataclass(kw_only=True)
class _Slot:
    place: toolchain.Place
    memory: Memory
    installed: _Installed | None = None
    elves: dict[object, Path] = field(default_factory=dict)  # programs that were linked for it


@dataclass(kw_only=True)
class _Names:
    """Functions by name and by port."""

    by_name: dict[str, Function] = field(default_factory=dict)
    by_port: dict[int, Function] = field(default_factory=dict)


class Functions:
    """A dispatcher: functions come into the card with their first request, and leave it when others need the room.

    A rule of the lowest priority sends requests to the dispatcher's handler, which passes them to the host. The host
    loads the function, installs its rule, and gives the request back to the card. Later requests to the function never
    reach the host. If no slot is free, the host unloads the function whose last request ended first.

    The card's free program memory is divided among the slots now, so load the programs of other tenants before.

    Parameters
    ----------
    machine
        The card. Its tenant ``functions`` gets the packets to the ports of functions.
    slots
        Most functions in the card.
    kept
        Most requests that wait for the host, a power of 2. Further ones are answered ``busy``.
    data_bytes, memory_bytes
        Static data and handler memory of a function. Both are fresh at each load.
    watchdog_cycles
        Longest run of a function.
    costs
        Time of the host.
    access_key
        Key of 32 bits that requests need, as an rkey of RDMA; 0: none. Those without it get the status ``denied``.

    Attributes
    ----------
    loads
        All cold starts, in order.
    faults
        Runs that ended with an error, by function. The request has no reply.

    Examples
    --------
    >>> import spinet
    >>> from spinet.services.functions import EXAMPLES, Functions
    >>> from spinet.services.wire import Packet
    >>> machine = spinet.Machine()
    >>> functions = Functions(machine)
    >>> upper = functions.deploy("upper", EXAMPLES / "upper.c")
    >>> machine.send([upper.request(b"hello")])
    >>> functions.finish()
    >>> [Packet.of_frame(sent.data).data for sent in machine.take_sent()], len(functions.loads)
    ([b'HELLO'], 1)
    """

    def __init__(
        self,
        machine: Machine,
        *,
        slots: int = 4,
        kept: int = 64,
        data_bytes: int = 16 << 10,
        memory_bytes: int = 4096,
        watchdog_cycles: int = 200_000,
        costs: HostCosts | None = None,
        access_key: int = 0,
    ) -> None:
        wire.check_access_key(access_key)
        for what, value in (
            ("slots", slots),
            ("kept", kept),
            ("data_bytes", data_bytes),
            ("memory_bytes", memory_bytes),
        ):
            _core.whole(what, value)
        if slots < 1:
            raise UsageError(f"slots is {slots}, must be 1 or more")
        if kept < 1 or kept & (kept - 1):
            raise UsageError(f"kept is {kept}, must be a power of 2")
        for what, value in (("data_bytes", data_bytes), ("memory_bytes", memory_bytes)):
            if value < 1:
                raise UsageError(f"{what} is {value}, must be 1 or more")
        self.costs = HostCosts() if costs is None else costs
        self.loads: list[Load] = []
        self.faults: Counter[str] = Counter()
        self._machine, self._kept, self._watchdog_cycles = machine, kept, watchdog_cycles
        self._access_key = access_key
        self._names = _Names()
        self._taken = 0  # requests that the host has taken from the ring
        scope = f"ipv4.header_words == 5 && udp.dst_port in {FIRST_PORT}..{FIRST_PORT + PORTS - 1}"
        self._tenant = machine.tenant("functions", scope=scope)
        self._memory = self._tenant.allocate(_TABLE_AT + PORTS)
        self._host = self._tenant.register(kept * (_FLAG.size + wire.FRAME_BYTES))
        program = self._tenant.load(
            SOURCES / "dispatch.c", defines=wire.with_access_key({"DISPATCH_KEPT": kept}, access_key)
        )
        self._dispatcher = self._tenant.context(program=program, memory=self._memory, host=self._host)
        memories = [self._tenant.allocate(memory_bytes) for _ in range(slots)]
        room = machine.capabilities
        code_bytes = room.program_memory.largest // slots // _ALIGN * _ALIGN
        each = -(-data_bytes // _ALIGN) * _ALIGN
        if code_bytes == 0 or each * slots > room.handler_memory.largest:
            raise UsageError(
                f"{slots} slots with {each} bytes of static data do not fit: {room.program_memory.largest} bytes of "
                f"program memory and {room.handler_memory.largest} of handler memory are free"
            )
        self._slots = [
            _Slot(
                place=toolchain.Place(
                    code=room.program_memory.at + number * code_bytes,
                    code_bytes=code_bytes,
                    data=room.handler_memory.at + number * each,
                    data_bytes=each,
                ),
                memory=memory,
            )
            for number, memory in enumerate(memories)
        ]
        self._dispatcher.install(priority=_LAST_PRIORITY)

    def deploy(
        self,
        name: str,
        sources: str | Path | Sequence[str | Path],
        *,
        port: int | None = None,
        handler: str | None = None,
        defines: Mapping[str, str | int] | None = None,
    ) -> Function:
        """Make a function known. It is compiled now, and enters the card with its first request.

        Parameters
        ----------
        name
            Unique among the functions.
        sources
            C files, which are linked for the slot that the function gets.
        port
            UDP port. Default: the first one that is free.
        handler
            Name of its handlers, if the sources have several.
        defines
            Preprocessor macros.

        Raises
        ------
        BuildError
            If it does not compile, or does not fit into a slot.
        UsageError
            If the name or the port is taken, or the port is not one of functions.
        """
        if not isinstance(name, str):
            raise UsageError(f"name is {name!r}, must be a text")
        if name in self._names.by_name:
            raise UsageError(f"function `{name}` is deployed already", hint="withdraw it first")
        port = self._free_port() if port is None else port
        if not FIRST_PORT <= port < FIRST_PORT + PORTS:
            raise UsageError(f"port is {port}, must be {FIRST_PORT} to {FIRST_PORT + PORTS - 1}")
        if (other := self._names.by_port.get(port)) is not None:
            raise UsageError(f"port {port} is that of function `{other.name}`")
        paths = [Path(source) for source in ([sources] if isinstance(sources, str | Path) else sources)]
        function = Function(
            name=name,
            port=port,
            sources=tuple(paths),
            handler=handler,
            defines=wire.with_access_key(defines or {}, self._access_key),
            access_key=self._access_key,
        )
        self._elf(function, self._slots[0])
        self._names.by_name[name] = self._names.by_port[port] = function
        self._memory.write(b"\x01", offset=_TABLE_AT + port - FIRST_PORT)
        return function

    def _free_port(self) -> int:
        for port in range(FIRST_PORT, FIRST_PORT + PORTS):
            if port not in self._names.by_port:
                return port
        raise UsageError(f"{PORTS} functions are deployed, and there are no more ports")

    def withdraw(self, name: str) -> None:
        """Forget a function, and unload it. Later requests are answered ``unknown``; those in the card still run."""
        function = self[name]
        del self._names.by_name[name]
        del self._names.by_port[function.port]
        self._memory.write(b"\x00", offset=_TABLE_AT + function.port - FIRST_PORT)
        if (slot := self._slot_of(function)) is not None:
            self._unload(slot)
        for slot in self._slots:
            slot.elves.pop(function._program, None)

    def __getitem__(self, name: str) -> Function:
        """The function with this name."""
        if name not in self._names.by_name:
            known = ", ".join(self._names.by_name) or "none"
            raise UsageError(f"function `{name}` is not deployed; deployed are: {known}")
        return self._names.by_name[name]

    @property
    def installed(self) -> tuple[str, ...]:
        """Names of the functions in the card; the first one is the next to be unloaded."""
        self._take_events()
        return tuple(one.function.name for one in sorted(self._installed(), key=lambda one: one.used_ns))

    def events(self) -> dict[str, int]:
        """Requests that the dispatcher answered itself, by the names of `EVENTS`, read from the card."""
        content = self._memory.read(offset=_NUMBERS["DISPATCH_EVENTS_AT"], size=4 * len(EVENTS))
        return dict(zip(EVENTS, struct.unpack(f"<{len(EVENTS)}i", content), strict=True))

    def run(self, *, until: str) -> None:
        """Simulate until `until` after reset, with the host at work. Ends later if the host loads a function then."""
        self._run_to(_core.span_ps(until) // 1000)

    def step(self, time: str) -> None:
        """Simulate for this time, with the host at work."""
        self._run_to(self._machine.now_ns + _core.span_ps(time) // 1000)

    def finish(self, *, within: str = "10 ms") -> None:
        """Let time pass until the card is idle and the host has no request.

        Raises
        ------
        UsageError
            If that takes longer than `within`.
        """
        end_ns = self._machine.now_ns + _core.span_ps(within) // 1000
        while True:
            if not self._serve():
                if self._machine.is_idle and self._taken_by_card() == self._taken:
                    self._take_events()
                    return
                self._work(self.costs.poll_ns)
            if self._machine.now_ns > end_ns:
                raise UsageError(
                    f"requests are under way {within} later", hint="give them longer with within=, or send fewer"
                )

    def _run_to(self, end_ns: int) -> None:
        while (left := end_ns - self._machine.now_ns) > 0:
            if not self._serve():
                self._work(min(self.costs.poll_ns, left))

    def _work(self, ns: int) -> None:
        """Let the card run while the host's core is busy."""
        self._machine.step(f"{ns} ns")

    def _taken_by_card(self) -> int:
        return int.from_bytes(self._memory.read(size=4), "little")

    def _serve(self) -> bool:
        """Handle the next request of the ring; False if there is none."""
        noticed_ns = self._machine.now_ns
        place = self._taken % self._kept
        number, n_bytes = _FLAG.unpack(self._host.read(offset=place * _FLAG.size, size=_FLAG.size))
        if number != (self._taken + 1) & 0xFFFF_FFFF:
            return False
        frame = self._host.read(offset=self._kept * _FLAG.size + place * wire.FRAME_BYTES, size=n_bytes)
        self._taken += 1
        self._memory.write((self._taken & 0xFFFF_FFFF).to_bytes(4, "little"), offset=_FREED_AT, wait=False)
        function = self._names.by_port.get(int.from_bytes(frame[36:38], "big"))
        # A function that was withdrawn meanwhile needs no load: the dispatcher answers the request.
        if function is not None and self._slot_of(function) is None:
            self._load(function, noticed_ns)
        self._work(self.costs.request_ns)
        self._machine.send([frame])
        return True

    def _load(self, function: Function, noticed_ns: int) -> None:
        slot = next((slot for slot in self._slots if slot.installed is None), None)
        evicted = None
        if slot is None:
            self._take_events()
            slot = min(self._slots, key=lambda slot: slot.installed.used_ns if slot.installed else 0)
            assert slot.installed is not None, "all slots are full"
            evicted = slot.installed.function.name
            self._unload(slot)
        free_ns = self._machine.now_ns
        elf = self._elf(function, slot)
        self._work(self.costs.load_ns)
        slot.memory.write(bytes(slot.memory.size), wait=False)
        program = self._tenant.load(elf)
        context = self._tenant.context(
            program=program,
            handler=function.handler,
            memory=slot.memory,
            watchdog_cycles=self._watchdog_cycles,
        )
        written_ns = self._machine.now_ns
        rule = context.install(match=f"udp.dst_port == {function.port}{wire.has_access_key(function.access_key)}")
        installed_ns = self._machine.now_ns
        slot.installed = _Installed(
            function=function, program=program, context=context, rule=rule, used_ns=installed_ns
        )
        self.loads.append(
            Load(
                function=function.name,
                slot=self._slots.index(slot),
                evicted=evicted,
                noticed_ns=noticed_ns,
                free_ns=free_ns,
                written_ns=written_ns,
                installed_ns=installed_ns,
            )
        )

    def _unload(self, slot: _Slot) -> None:
        """Unload a function after its current requests are answered."""
        one = slot.installed
        assert one is not None, "a function is in the slot"
        self._work(self.costs.unload_ns)
        one.rule.remove(messages="end")
        patience_ns = self._machine.now_ns + 1_000_000 + 100 * self._watchdog_cycles
        while True:
            try:
                one.context.destroy()
                break
            except InputError:  # it still has packets
                if self._machine.now_ns > patience_ns:
                    raise
                self._work(self.costs.poll_ns)
        self._take_events()
        one.program.unload()
        slot.installed = None

    def _take_events(self) -> None:
        """Learn which functions ran."""
        by_context = {one.context.number: one for one in self._installed()}
        for event in self._tenant.take_events():
            if (one := by_context.get(event.context)) is None:
                continue
            one.used_ns = max(one.used_ns, event.time_ns)
            if event.what == "handler_error":
                self.faults[one.function.name] += 1

    def _installed(self) -> list[_Installed]:
        return [slot.installed for slot in self._slots if slot.installed is not None]

    def _slot_of(self, function: Function) -> _Slot | None:
        return next((slot for slot in self._slots if slot.installed and slot.installed.function is function), None)

    def _elf(self, function: Function, slot: _Slot) -> Path:
        """The function, linked for a slot."""
        if function._program not in slot.elves:
            built = toolchain.build(
                function.sources,
                defines={**self._machine._shape, **function.defines},
                cc=self._machine._cc,
                place=slot.place,
            )
            built.entry(name=function.handler)
            slot.elves[function._program] = built.elf
        return slot.elves[function._program]
