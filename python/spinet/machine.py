# SPDX-License-Identifier: Apache-2.0
"""A card and its driver: tenants that load code, install rules and move bytes while packets flow."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal

from spinet import _arguments, _core, _experiments, _nics, packet_table, toolchain
from spinet._core import UsageError
from spinet._driving import SLICE_MS
from spinet._nics import Settings
from spinet.result import SentPacket

if TYPE_CHECKING:
    import pyarrow as pa

    from spinet._nics import Card
    from spinet.sharing import TenantPolicy

_PS_PER_NS = 1000
_STEP_PS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class MemoryLeft:
    """A memory of the card: its size, the free bytes, the largest free range, and the address of that range."""

    bytes: int
    free: int
    largest: int
    at: int


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """Capabilities of a card, and its free memory."""

    n_clusters: int
    n_cores: int  # cores of a cluster
    n_message_queues: int
    reserved_message_queues: int  # reserved for each tenant with a rule, or an equal part if that is less
    max_copy_bytes: int  # largest part of a packet that is copied to L1
    reliable: bool  # the network delivers all packets, and none twice: handlers need not be idempotent
    in_order: bool  # it delivers them in the order in which they were sent
    isolated: bool  # handlers cannot access anything of other tenants, directly or by transfers and commands
    reports_errors: bool  # errors of handlers are written to the descriptors of their contexts
    watchdog_cycles: int  # default and limit of a handler run; 0 means no limit
    program_memory: MemoryLeft
    handler_memory: MemoryLeft
    scratchpad_memory: MemoryLeft  # in each cluster


@dataclass(frozen=True, kw_only=True)
class TenantIo:
    """A tenant's rights at DMA between card and host, at the NIC outbound engine, and at the clusters' DMA.

    They need a card whose ``sharing.io_schedule`` is ``round_robin`` or ``weighted_fair``. For `priority` and
    `cluster_rate`, such a ``sharing.cluster_dma_schedule`` is enough.

    Attributes
    ----------
    priority
        0 to 7. Commands and cluster DMA transfers of tenants with a higher priority go first.
    host_rate, egress_rate
        Most bits a second of copies between card and host, and to the network, such as ``"10G"``. None is unlimited.
    cluster_rate
        Most bits a second that the DMA of a cluster copies between L1 and L2 for its handlers. Each cluster counts
        its own transfers.
    """

    priority: int = 0
    host_rate: str | None = None
    egress_rate: str | None = None
    cluster_rate: str | None = None


@dataclass(frozen=True, kw_only=True)
class Event:
    """Something that happened to a tenant's context: ``message_done``, ``handler_error``, ``message_evicted`` ..."""

    time_ns: int
    context: int  # number of the context
    what: str
    numbers: Mapping[str, int]  # such as ``msgid`` and ``cause``


@dataclass(frozen=True, kw_only=True)
class HandlerError:
    """The error of a handler that the card wrote last into its context's descriptor in host memory."""

    cause: int  # as in mcause; 24 for the watchdog
    address: int  # accessed address, or the word of an illegal instruction
    pc: int
    handler: int  # its first instruction
    msgid: int
    stage: int  # 0 header, 1 payload, 2 completion
    hpu: int
    count: int  # errors that this HPU has reported


class Machine:
    """A card that has booted, with a driver that hands its memories, code and rules to tenants.

    Simulated time advances only in `run`, `step` and calls that wait for the card.

    Parameters
    ----------
    nic
        Name of a card, or the path of its TOML file.
    set
        Changes of the card's parameters, such as ``"cluster.n_cores=4"``.
    seed
        Seed of all random choices.
    cc
        Another RISC-V compiler than the one that came with spinet.
    policies
        Policies by which tenants share parts of the card, written in Python, as for `spinet.run`.

    Raises
    ------
    InputError
        If there is no such card. All methods raise it if a tenant lacks the right for a call; the call then changes
        nothing.

    Examples
    --------
    >>> import spinet
    >>> machine = spinet.Machine()
    >>> echo = machine.tenant("echo", scope="udp.dst_port == 7")
    >>> context = echo.context(program=echo.load("sdk/examples/ping_pong.c"))
    >>> machine.traffic("udp:size=64,count=20,rate=1G,dst_port=7")
    >>> machine.run(until="5 us")
    >>> rule = context.install(message="each")
    >>> machine.run(until="8 us")
    >>> rule.remove(messages="end")
    >>> machine.run(until="20 us")
    >>> len(machine.take_sent()) == len(echo.take_events())
    True
    """

    def __init__(
        self,
        *,
        nic: Card = "pspin",
        set: Settings = (),
        seed: int = 1,
        cc: str | None = None,
        policies: Mapping[str, TenantPolicy | Sequence[TenantPolicy]] | None = None,
    ) -> None:
        _arguments.check({"nic": nic, "cc": cc, "policies": policies})
        self._cc = cc
        nic, sets = _nics.name_of(nic, set)
        self._shape = _experiments.shape(nic, sets)
        runtime = toolchain.build_runtime(defines=self._shape, cc=cc)
        self._native = _core.Machine(
            nic,
            runtime=str(runtime.elf),
            sets=sets,
            seed=_core.whole("seed", seed, bits=64),
            policies=dict(policies or {}),
        )

    def __enter__(self) -> Machine:
        """The machine itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """End the simulation and free its memory."""
        self._native.close()

    def tenant(self, name: str, *, scope: str | None = None, weight: int = 1, io: TenantIo | None = None) -> Tenant:
        """A new tenant, whose rules match only packets of `scope`, a match expression.

        `weight`, 1 to 1000, is its part of the HPUs relative to other tenants', if the card's ``sharing.schedule``
        shares by weight. `io` has priority and limits of its commands and transfers, if ``sharing.io_schedule`` or
        ``sharing.cluster_dma_schedule`` uses them.
        """
        io = TenantIo() if io is None else io
        if not isinstance(io, TenantIo):
            raise UsageError(f"io is {io!r}, must be a spinet.TenantIo such as TenantIo(priority=1, host_rate='10G')")
        rights = (_core.whole("priority", io.priority), io.host_rate, io.egress_rate, io.cluster_rate)
        number = self._native.open(name, scope, _core.whole("weight", weight), rights)
        return Tenant(name=name, _machine=self, _number=number)

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the card, and its free memory."""
        values: dict[str, Any] = json.loads(self._native.capabilities())
        left = {name: MemoryLeft(**value) for name, value in values.items() if isinstance(value, dict)}
        return Capabilities(**{**values, **left})

    @property
    def now_ns(self) -> int:
        """Simulated time since reset."""
        return self._native.now() // _PS_PER_NS

    @property
    def digest(self) -> str:
        """Digest of all actions of the card so far. Equal calls at equal times give equal digests."""
        return self._native.digest()

    def run(self, *, until: str) -> None:
        """Simulate until `until` after reset, such as ``"20 us"``; does nothing if that time has passed."""
        self._run_to(_core.span_ps(until))

    def step(self, time: str) -> None:
        """Simulate for this time, such as ``"20 us"``."""
        self._run_to(self._native.now() + _core.span_ps(time))

    def finish(self, *, within: str = "10 ms") -> None:
        """Let time pass until the card `is_idle`, in steps of a microsecond.

        Parameters
        ----------
        within
            Longest simulated time that this may take.

        Raises
        ------
        UsageError
            If the card is not idle then.
        """
        end = self._native.now() + _core.span_ps(within)
        while not self.is_idle:
            if self._native.now() >= end:
                raise UsageError(
                    f"the card is not idle {within} later: packets are to come, or handlers run, or messages wait",
                    hint="give it longer with within=, or take messages out with Rule.remove",
                )
            self._run_to(min(self._native.now() + _STEP_PS, end))

    def _run_to(self, ps: int) -> None:
        while not self._native.run_until(ps, SLICE_MS):
            pass

    def traffic(self, source: str | Path, *, pacing: str = "times", count: int | None = None, seed: int = 1) -> None:
        """Let packets arrive from now on, or from when the card is ready: a capture, or a description.

        Parameters
        ----------
        source
            As for `spinet.run`, such as ``"udp:size=64,count=1000"``.
        pacing
            When they arrive: ``"times"``, ``"times:0.5"``, ``"line:400G"`` or ``"asap"``.
        count
            Take only this number of packets.
        seed
            Seed for descriptions that name none.
        """
        self._native.add_traffic(
            str(source),
            pacing=pacing,
            count=None if count is None else _core.whole("count", count, bits=64),
            seed=_core.whole("seed", seed, bits=64),
        )

    def network(self, faults: str, *, seed: int = 1) -> None:
        """Let the network lose, duplicate and reorder packets that are added from now on.

        Parameters
        ----------
        faults
            Such as ``"loss=0.01,duplicate=1/1000,reorder=0.02:8"``; an empty text for none. Only packets of one
            call are reordered among each other. `capabilities` then promises only this.
        seed
            Seed of the choice of packets; each call that adds packets draws again.
        """
        self._native.set_network(faults, _core.whole("seed", seed, bits=64))

    @property
    def is_idle(self) -> bool:
        """True if all added packets have arrived and the card is done with them."""
        return self._native.is_idle()

    def send(self, packets: Sequence[bytes], *, every: str | None = None) -> None:
        """Let these packets arrive, the first in the next cycle, the others one after each `every`, or back to back."""
        gap = 0 if every is None else _core.span_ps(every)
        self._native.add_packets([(number * gap, packet) for number, packet in enumerate(packets)])

    def take_sent(self) -> tuple[SentPacket, ...]:
        """Packets that the card sent since the last call, in order."""
        sent = self._native.take_sent()
        return tuple(SentPacket(time_ns=time // _PS_PER_NS, data=data) for time, data in sent)

    def take_packets(self) -> pa.Table:
        """Packets that were finished since the last call, one row each, as `Result.packets`."""
        columns = _core.table_columns()["handlers"]["packets"]
        rows = packet_table.Collected(columns)
        rows.append(self._native.take_packets())
        return packet_table.to_arrow(rows.all(), columns)

    def take_console(self) -> tuple[tuple[int, int, int, str], ...]:
        """Lines that handlers printed since the last call: simulated time in ps, cluster, core, text."""
        return tuple(self._native.take_console())


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """A user of the card. A tenant cannot use the resources of another one."""

    name: str
    _machine: Machine = field(repr=False)
    _number: int = field(repr=False)

    @property
    def _native(self) -> _core.Machine:
        return self._machine._native

    def load(
        self, program: str | Path | Sequence[str | Path], *, defines: Mapping[str, str | int] | None = None
    ) -> Program:
        """Load handlers: C sources, which are linked into unused memory, or an ELF file that was.

        They run under the card's own runtime, which does not call `init_handlers`.

        Raises
        ------
        BuildError
            If they do not compile, or there is no room.
        InputError
            If an ELF file is linked for memory that a tenant already uses.
        """
        sources = [Path(name) for name in ([program] if isinstance(program, str | Path) else program)]
        name, elf = ", ".join(source.name for source in sources), sources[0]
        if elf.suffix in toolchain.SOURCES or len(sources) > 1:
            room = self._machine.capabilities
            defines = {**self._machine._shape, **(defines or {})}
            code, data = room.program_memory, room.handler_memory
            place = toolchain.Place(code=code.at, code_bytes=code.largest, data=data.at, data_bytes=data.largest)
            elf = toolchain.build(sources, defines=defines, cc=self._machine._cc, place=place).elf
        number = self._native.load(self._number, str(elf), name)
        return Program(name=name, _tenant=self, _number=number)

    def allocate(self, size: int, *, kind: Literal["handler", "program", "scratchpad"] = "handler") -> Memory:
        """Zeroed bytes of a memory of the card; on ``pspin-rtl`` a scratchpad keeps its old contents."""
        number = self._native.allocate(self._number, kind, _core.whole("size", size))
        addr, _ = self._native.part(self._number, number)
        return Memory(addr=addr, size=size, kind=kind, _tenant=self, _number=number)

    def register(self, size: int) -> HostMemory:
        """Bytes of host memory that the card may access."""
        number = self._native.register(self._number, _core.whole("size", size))
        addr, _ = self._native.region(self._number, number)
        return HostMemory(addr=addr, size=size, _tenant=self, _number=number)

    def context(
        self,
        *,
        program: Program,
        handler: str | None = None,
        header: str | None = None,
        payload: str | None = None,
        completion: str | None = None,
        memory: Memory | None = None,
        scratchpad: Memory | None = None,
        host: HostMemory | None = None,
        copy_bytes: int | None = None,
        watchdog_cycles: int | None = None,
        delivery: Mapping[str, str | int] | None = None,
    ) -> Context:
        """Build an execution context: what handlers run with. It gets packets when a rule is installed for it.

        Parameters
        ----------
        program, handler
            Where its handlers are, and their common name if there are several.
        header, payload, completion
            Functions instead; an empty name for none.
        memory, scratchpad, host
            Memory that its handlers may use besides their packets.
        copy_bytes
            Largest number of bytes of each packet that are copied to L1.
        watchdog_cycles
            Largest number of cycles of a handler run. The card's value is the default and the limit, so that no tenant
            keeps HPUs forever. If the card's value is 0, which means no limit, any number is allowed.
        delivery
            What to do when a buffer is full, by the keys of `spinet.nic_parameters.Delivery`, such as
            ``{"when_full": "drop", "timeout_cycles": 5000}``. The card's values are the defaults.
        """
        number = self._native.build(
            self._number,
            program._number,
            handler=handler,
            symbols=(header, payload, completion),
            handler_memory=None if memory is None else memory._number,
            scratchpad=None if scratchpad is None else scratchpad._number,
            host=None if host is None else host._number,
            copy_bytes=None if copy_bytes is None else _core.whole("copy_bytes", copy_bytes),
            watchdog_cycles=None if watchdog_cycles is None else _core.whole("watchdog_cycles", watchdog_cycles),
            delivery=None if delivery is None else json.dumps(dict(delivery)),
        )
        return Context(number=number, _tenant=self)

    def take_events(self) -> tuple[Event, ...]:
        """Events of the tenant's contexts since the last call, in order."""
        events = self._native.take_events(self._number)
        return tuple(
            Event(time_ns=time // _PS_PER_NS, context=context, what=what, numbers=numbers)
            for time, context, what, numbers in events
        )

    def close(self) -> None:
        """Free all resources of the tenant. It must have no rules and no packets in the card."""
        self._native.close_tenant(self._number)


@dataclass(frozen=True, kw_only=True)
class Program:
    """Handlers in the card's program memory, and their static data."""

    name: str
    _tenant: Tenant = field(repr=False)
    _number: int = field(repr=False)

    def unload(self) -> None:
        """Unload the handlers. No context may use them."""
        self._tenant._native.unload(self._tenant._number, self._number)


def _range(whole: int, offset: int, size: int | None) -> tuple[int, int]:
    """Start and size of a read; without `size`, it extends to the end."""
    offset = _core.whole("offset", offset)
    return offset, _core.whole("size", max(whole - offset, 0) if size is None else size)


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A part of a memory of the card; a scratchpad is the same part of every cluster's L1."""

    addr: int
    size: int
    kind: str
    _tenant: Tenant = field(repr=False)
    _number: int = field(repr=False)

    def write(self, data: bytes, *, offset: int = 0, wait: bool = True) -> None:
        """Write through the card's host port; simulated time advances until it is done, unless `wait` is false."""
        native, tenant = self._tenant._native, self._tenant._number
        ticket = native.write(tenant, self._number, _core.whole("offset", offset), data)
        if wait:
            native.wait(tenant, ticket)

    def read(self, *, offset: int = 0, size: int | None = None) -> bytes:
        """Read through the card's host port; simulated time advances until the bytes are read."""
        native, tenant = self._tenant._native, self._tenant._number
        offset, size = _range(self.size, offset, size)
        ticket = native.read(tenant, self._number, offset, size)
        native.wait(tenant, ticket)
        data = native.take(tenant, ticket)
        assert data is not None
        return data

    def free(self) -> None:
        """Free the memory. No context may use it."""
        self._tenant._native.free(self._tenant._number, self._number)


@dataclass(frozen=True, kw_only=True)
class HostMemory:
    """Host memory that the card may reach."""

    addr: int
    size: int
    _tenant: Tenant = field(repr=False)
    _number: int = field(repr=False)

    def write(self, data: bytes, *, offset: int = 0) -> None:
        """Write it, as the host's own program does: no time passes."""
        self._tenant._native.host_write(self._tenant._number, self._number, _core.whole("offset", offset), data)

    def read(self, *, offset: int = 0, size: int | None = None) -> bytes:
        """Read it, as the host's own program does: no time passes."""
        offset, size = _range(self.size, offset, size)
        return self._tenant._native.host_read(self._tenant._number, self._number, offset, size)

    def unregister(self) -> None:
        """End the card's access to this memory. No context may use it."""
        self._tenant._native.unregister(self._tenant._number, self._number)


@dataclass(frozen=True, kw_only=True)
class Context:
    """The environment of handlers."""

    number: int
    _tenant: Tenant = field(repr=False)

    def install(
        self,
        *,
        match: str | None = None,
        message: str = "each",
        priority: int = 0,
        rule_set: Mapping[str, Any] | None = None,
    ) -> Rule:
        """Send packets to this context from the next cycle on. Time advances until all earlier writes are done.

        Parameters
        ----------
        match
            Packets, such as ``"udp.dst_port == 53"``. Default: all packets in the tenant's scope.
        message
            How packets form messages, and when a message ends.
        priority
            Rules of higher priority come first; of equal ones, the older.
        rule_set
            For cards whose match engine has rule sets (``fpspin``), instead of `match` and `message`:
            ``{"rules": [{"word": 5, "mask": 0xFF, "low": 17}]}``.
        """
        native, tenant = self._tenant._native, self._tenant._number
        priority = _core.whole("priority", priority, least=-(1 << 31))
        rules = None if rule_set is None else json.dumps(dict(rule_set))
        number = native.install(tenant, self.number, matches=match, message=message, priority=priority, rule_set=rules)
        return Rule(context=self, _number=number)

    def error(self) -> HandlerError | None:
        """The last error of a handler of this context, as the card wrote it to host memory."""
        words = self._tenant._native.error_record(self._tenant._number, self.number)
        if words is None:
            return None
        names = (each.name for each in dataclasses.fields(HandlerError))
        return HandlerError(**dict(zip(names, words, strict=True)))

    def destroy(self) -> None:
        """Remove it; its memories stay allocated. It must have no rules and no packets in the card."""
        self._tenant._native.destroy(self._tenant._number, self.number)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A matching rule that is installed."""

    context: Context
    _number: int = field(repr=False)

    def remove(self, *, messages: Literal["end", "kill"]) -> None:
        """Remove the rule from the next cycle on: it begins no message any more.

        A later call can still kill messages that were to end.

        Parameters
        ----------
        messages
            Fate of its messages whose last packet has not arrived. ``"end"``: they get their remaining packets.
            ``"kill"``: their waiting packets are dropped, their completion handlers do not run, and the tenant gets the
            event ``message_killed``, whose number ``dropped`` counts the packets in the message's queue. Packets whose
            tasks are in a cluster are handled. Remaining packets go the ordinary way, or begin a message of another
            rule. Messages whose last packet has arrived are finished in both cases.

        Raises
        ------
        InputError
            If the rule was removed, and has no such messages.
        """
        tenant = self.context._tenant
        if messages not in ("end", "kill"):
            raise UsageError(f"messages is {messages!r}, must be 'end' or 'kill'")
        tenant._native.remove(tenant._number, self._number, messages)
