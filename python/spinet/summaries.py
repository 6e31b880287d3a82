# SPDX-License-Identifier: Apache-2.0
"""Types of summaries, for type checkers; docs/generate.py makes this from the Rust types.

`spinet.Result.summary_as` gives a summary one of these types.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class EndedSummary(TypedDict):
    """How the run ended."""

    reason: str
    """The reason in one word."""
    text: str
    """The reason as a sentence."""
    is_unfinished: bool
    """True if the run ended before all packets were finished. A limit at which no packet was in the card, or with
    endless traffic, is a regular end. If true, `spinet run` reports the reason on stderr and exits with 2.
    """
    unfinished_packets: int
    """Packets taken from the traffic and not finished."""
    open_messages: int
    """Messages whose last packet never arrived. For cards that run handlers."""
    cores: list[BusyCore]
    """Cores that were running a handler when the run ended early. For cards that run handlers."""


class BusyCore(TypedDict):
    """A core that was running a handler."""

    cluster: int
    """Its cluster."""
    core: int
    """Its number in the cluster."""
    pc: str
    """Program counter."""
    place: str
    """Function and offset."""
    line: str | None
    """Source line of the address, such as `file.c:12`; `null` without debug information."""
    inlined: list[InlinedLine]
    """Functions that the compiler inlined there, outermost first. The instruction belongs to the last one."""
    waiting_for: str
    """The resource that the core waits for."""
    stage: str | None
    """The stage of the handler: `header`, `payload` or `completion`; `null` outside of handlers."""
    frame: int | None
    """Number of the packet in the traffic."""


class InlinedLine(TypedDict):
    """A line of a function that the compiler inlined."""

    function: str | None
    """Its name."""
    line: str
    """Source line in it."""


class Remark(TypedDict):
    """A problem in the simulated world or a likely mistake."""

    kind: str
    """The kind of problem, for programs."""
    text: str
    """The problem as a sentence without a full stop."""


PacketSummary = TypedDict(
    "PacketSummary",
    {
        "in": "int",
        "in_bytes": "int",
        "out": "int",
        "out_bytes": "int",
        "dropped": "int",
        "dropped_by_reason": "dict[str, int]",
        "unfinished": "int",
    },
)


class ThroughputSummary(TypedDict):
    """Gbit/s of packets without FCS, preamble and gap. `null` if fewer than two packets passed."""

    in_gbps: float | None
    """Gbit/s into the card, without the bytes of the last packet. For cards that run handlers: into packet memory.
    """
    out_gbps: float | None
    """Gbit/s out of the card."""
    network_gbps: float | None
    """The part of `out_gbps` that left to the network."""
    host_gbps: float | None
    """The part of `out_gbps` that left to the host; `null` for cards that run handlers."""
    done_packets_per_s: float | None
    """Finished packets per second, from the first to the last."""


class SteadySummary(TypedDict):
    """Rates of a card in steady state: while packets came, without the first quarter of that time. So packets count
    neither while buffers fill at the start, nor while they empty at the end.
    """

    from_ns: float
    """Begin of the time, since reset."""
    to_ns: float
    """Its end."""
    offered_gbps: float
    """Gbit/s that came to the card. Endless traffic comes as fast as the card takes it. Rates are without FCS,
    preamble and gap, except those on the line.
    """
    held_gbps: float
    """Gbit/s of packets that the card finished, with the sizes at which they came."""
    offered_line_gbps: float
    """The offered rate on the line, with FCS, preamble and gap."""
    held_line_gbps: float
    """The same of `held_gbps`."""
    offered_packets_per_s: float
    """The same in packets per second."""
    held_packets_per_s: float
    """The same in packets per second."""


class LatencySummary(TypedDict):
    """Times of packets."""

    count: int
    """Number of packets."""
    min: float
    """Minimum."""
    mean: float
    """Mean."""
    p5: float
    """5th percentile."""
    median: float
    """50th percentile."""
    p99: float
    """99th percentile."""
    max: float
    """Maximum."""
    split: dict[str, Spread]
    """Parts of the latency in the order of time. Their means add up to the mean latency. Empty for wired cards."""


class Spread(TypedDict):
    """Mean, 99th percentile and maximum of times."""

    mean: float
    """Mean."""
    p99: float
    """99th percentile."""
    max: float
    """Maximum."""


class SourceSummary(TypedDict):
    """A source of packets."""

    source: str
    """The source, as the experiment names it."""
    side: str
    """Where its packets enter the card: `network:PORT` or `host:QUEUE`."""
    capture: CaptureSummary | None
    """The contents of the capture; `null` for generated traffic."""
    pacing: PacingCounts
    """Corrections of packets' times."""
    network: FaultCounts
    """Packets that the network lost, duplicated and reordered."""


class CaptureSummary(TypedDict):
    """The contents of a capture."""

    packets: int
    """Packets returned."""
    bytes: int
    """Captured bytes of the returned packets."""
    other_link_types: int
    """Packets of other link types, skipped."""
    snapped: int
    """Packets captured only in part."""
    too_long: int
    """Packets above the length limit, skipped."""
    too_short: int
    """Packets shorter than an Ethernet header, skipped."""
    jumbo: int
    """Packets with a payload above 1500 bytes."""
    contradictory_lengths: int
    """Packets with a captured length above the original length."""
    without_time: int
    """Packets without a time."""
    fcs_removed: int
    """Packets whose frame check sequence was removed."""
    malformed_blocks: int
    """Unreadable blocks or options, skipped."""
    other_blocks: int
    """Blocks without packets, skipped."""
    truncated: int
    """1 if the file ends within a record."""
    corrupt: int
    """1 if the length of a record is invalid; reading stops there."""
    stop: str | None
    """Why reading ended early."""


class PacingCounts(TypedDict):
    """Corrections of the times of packets."""

    out_of_order: int
    """Packets with a time before that of the previous packet. They arrive together with it."""
    without_time: int
    """Packets without a time. They arrive together with the previous packet."""
    cut_gaps: int
    """Gaps that were cut to a millisecond, because the run would take more than five hours of simulated time."""


class FaultCounts(TypedDict):
    """Number of faults of the network."""

    lost: int
    """Lost packets."""
    duplicated: int
    """Duplicated packets."""
    reordered: int
    """Late packets."""


class TimeSummary(TypedDict):
    """Simulated time."""

    simulated_ns: float
    """Simulated time. The complete run of a network ends with its last frame or the last event of a host, whichever
    is later.
    """
    skipped_ns: float
    """Idle time that was skipped: no frame was in the card, and its clocks stood still. It is part of
    `simulated_ns`.
    """
    started_ns: float | None
    """When the card was ready for packets; `null` if it never was, or is ready from the start."""
    cycles: int | None
    """Simulated cycles; `null` for a card with several clocks."""
    clock_mhz: float | None
    """Clock frequency; `null` for a card with several clocks."""


class WallSummary(TypedDict):
    """Host time."""

    seconds: float
    """Seconds."""
    cycles_per_second: float | None
    """Simulated cycles per second; `null` for a card with several clocks."""
    packets_per_second: float
    """Packets given to the card per second."""


class ResourceSummary(TypedDict):
    """A part that can be full."""

    name: str
    """Path of its counter."""
    limit: str
    """Its description and its limit."""
    does: str
    """`passes`: it passes or processes things, one after the other in each unit. `holds`: it holds things until
    another part takes them, such as a queue.
    """
    busy_cycles: int
    """Its busy cycles, or the quantity that it held summed over cycles."""
    units: int
    """Number of its units."""
    utilisation: float
    """Share of its units that were busy, from the start of the card to the end of the run."""


class Summary(TypedDict):
    """The parts of a summary that all cards have."""

    spinet: str
    """Version of spinet."""
    kind: str
    """Kind of the card: `handlers`, `chains`, `modules` or `network`."""
    nic: str
    """The card: a preset, or the path of its file."""
    seed: int
    """Seed of all random choices."""
    digest: str
    """64 hexadecimal digits: a hash over everything that left the card, with times. Equal inputs give equal digests
    on every machine.
    """
    ended: EndedSummary
    """How the run ended."""
    remarks: list[Remark]
    """Problems in the simulated world and likely mistakes, the most urgent first."""
    packets: PacketSummary
    """Number of packets."""
    throughput: ThroughputSummary
    """Rates from the first packet to the last."""
    steady: SteadySummary | None
    """Rates while packets came, without the start and the end. `null` if that time was too short."""
    latency_ns: LatencySummary | None
    """Time of packets in the card."""
    ingress_wait_ns: Spread | None
    """Time from when a packet was due on the line until the card took it. It is not part of the latency."""
    sources: list[SourceSummary]
    """Sources of packets."""
    time: TimeSummary
    """Simulated time."""
    wall: WallSummary
    """Host time. It differs from run to run and is not part of the digest."""
    counters: dict[str, int]
    """Every counter of every part, by path."""
    resources: list[ResourceSummary]
    """Parts that can be full and were used, the busiest first."""
    bottleneck: str | None
    """The name of the part that limited the throughput: the busiest one, if it was busy for 90 % of the time. Cores
    that run handlers are named only if no other part was so busy, because they are busy while they wait. Parts
    that hold things are named only if no other part was so busy, because they are also full if a part behind them
    is too slow. `null` if no part was.
    """
    experiment: Any
    """The experiment with all defaults; `spinet run` accepts it as a file."""


class OutputSummary(TypedDict):
    """Accesses to the host, and refused commands."""

    host_writes: int
    """Beats to host memory."""
    host_write_bytes: int
    """Their bytes."""
    host_reads: int
    """Beats from host memory."""
    host_read_bytes: int
    """Their bytes."""
    command_faults: int
    """Refused commands: unmapped address, length 0, or longer than the unit accepts."""
    first_command_fault: CommandFaultSummary | None
    """The earliest refused command."""
    copy_faults: int
    """Bursts of the clusters' DMA engines to or from unmapped addresses."""


class CommandFaultSummary(TypedDict):
    """A refused command."""

    frame: int
    """Number of the packet in the traffic."""
    context: str
    """The packet's context."""
    stage: str
    """`header`, `payload` or `completion`."""
    handler: str
    """The function that issued the command."""
    cluster: int
    """The core's cluster."""
    core: int
    """The core's number in the cluster."""
    time_ns: float
    """When the command was refused."""
    unit: str
    """`host DMA`, `NIC outbound` or `HostDirect`."""
    addr: str
    """The address in the command."""
    bytes: int
    """The length in the command."""
    why: str
    """Why the unit refused it."""


class ContextSummary(TypedDict):
    """A context. Counts include packets and messages without a free queue."""

    name: str
    """Its name."""
    match: str | None
    """Its match expression; `null` if it takes every packet."""
    message: str
    """The fields that identify its messages, and the rule that ends them."""
    handler: str
    """Common name of its functions."""
    packets: int
    """Packets that match it."""
    bytes: int
    """Their bytes."""
    messages: int
    """Messages begun."""
    messages_ended: int
    """Messages whose last packet arrived."""
    messages_without_queue: int
    """Messages that found no free queue."""
    packets_without_fields: int
    """Packets with none of the fields that `message` names; each is a message of its own."""
    messages_evicted: int
    """Messages whose queue another tenant reclaimed."""
    handler_memory: MemorySummary
    """Its handler memory."""
    host_memory: MemorySummary
    """Its host memory."""


class MemorySummary(TypedDict):
    """A range of memory."""

    addr: str
    """First address."""
    size: int
    """Bytes."""


class TenantUse(TypedDict):
    """A tenant's packets and its use of the HPUs."""

    name: str
    """Its name; `program` for the tenant of the first program."""
    weight: int
    """Its weight."""
    packets: int
    """Packets that match its contexts."""
    done: int
    """Packets that the card finished."""
    hpu_cycles: int
    """Cycles in which its handlers ran."""
    hpu_percent: float
    """Its part of the cycles in which handlers of all tenants ran."""
    latency_ns: TailSummary | None
    """Time of its packets from room in packet memory to their end; `null` if none is done."""
    host_bytes: int
    """Bytes that its commands moved between card and host, including the card's error records for it."""
    egress_bytes: int
    """Bytes of its commands to the NIC outbound engine."""
    cluster_bytes: int
    """Bytes that its handlers copied between L1 and L2 with the clusters' DMA."""
    command_wait_ns: WaitSummary | None
    """Time from when the command unit has a command until its first part goes to the unit that executes it; `null`
    if commands go in order or the tenant had none.
    """


class TailSummary(TypedDict):
    """Percentiles of times."""

    mean: float
    """Mean."""
    median: float
    """Median."""
    p99: float
    """99th percentile."""
    max: float
    """Maximum."""


class WaitSummary(TypedDict):
    """Times that commands waited."""

    mean: float
    """Mean."""
    max: float
    """Maximum."""


class FairnessSummary(TypedDict):
    """Jain's index of tenants' tasks."""

    contended_cycles: int
    """Cycles in which packets of several tenants were in message queues."""
    jain: float
    """Jain's index over these tenants, (sum x)^2 / (n sum x^2), where x is the number of a tenant's tasks in the
    clusters divided by its weight. Mean over these cycles: 1 is fair, 1 / n is one tenant alone.
    """


class ActionSummary(TypedDict):
    """An action of `[[at]]`."""

    what: str
    """`install NAME`, `remove NAME`, `write NAME` or `read NAME`; of wired cards also `network down` and `network
    up`.
    """
    begun_ns: float
    """Begin, since reset."""
    done_ns: float
    """End, since reset."""
    data: str | None
    """The bytes of a read in hexadecimal, otherwise `null`."""


class HpuSummary(TypedDict):
    """Load of the cores."""

    count: int
    """Number of HPUs."""
    budget_cycles: float | None
    """Cycles that all HPUs together have for each packet at the offered rate (`steady`); `null` without a steady
    state.
    """
    used_cycles: float | None
    """Cycles that handlers took for each packet that the NIC is done with; `null` if there is none."""
    busy_percent: float
    """Share of the time since the first packet in which HPUs ran handlers."""
    per_cluster_percent: list[float]
    """The same for each cluster."""
    asleep_percent: float | None
    """Share of the time since the first packet in which the clock of HPUs was gated, because they waited for tasks.
    Without packets, the share of the time since reset. `null` on a card without clock gating.
    """


class HandlerCost(TypedDict):
    """The cost of a handler."""

    context: str
    """Its context."""
    stage: str
    """`header`, `payload` or `completion`."""
    symbol: str
    """Its function."""
    runs: int
    """Number of runs."""
    instructions: RangeSummary
    """Instructions per run."""
    cycles: RangeSummary
    """Cycles per run."""


class RangeSummary(TypedDict):
    """Numbers of several runs."""

    mean: float
    """Mean."""
    min: int
    """Minimum."""
    max: int
    """Maximum."""
    total: int
    """Sum."""


class TrapSummary(TypedDict):
    """Traps with the same cause."""

    cause: str
    """Name of the cause."""
    mcause: int
    """The cause as a number."""
    count: int
    """Number of traps."""
    first: TrapPlaceSummary
    """The earliest one."""


class TrapPlaceSummary(TypedDict):
    """A trap."""

    frame: int
    """Number of the packet in the traffic."""
    context: str
    """The packet's context."""
    stage: str
    """`header`, `payload` or `completion`."""
    cluster: int
    """The core's cluster."""
    core: int
    """The core's number in the cluster."""
    time_ns: float
    """When it trapped."""
    pc: str
    """Program counter."""
    place: str
    """Function and offset."""
    line: str | None
    """Source line of the address, such as `file.c:12`; `null` without debug information."""
    inlined: list[InlinedLine]
    """Functions that the compiler inlined there, outermost first. The instruction belongs to the last one."""
    value: str
    """The address accessed or the instruction executed."""
    value_is: str | None
    """`address` or `instruction`; `null` if `value` carries no information."""
    note: str | None
    """An explanation where one is known. Examples: a stack overflow (an access up to 1 KiB below the core's own
    stack); a command or transfer for memory of another task (the address is then that of the register).
    """


class CheckSummary(TypedDict):
    """Findings of the memory checker, with `--check`."""

    uninitialised: int
    """Uses of memory that nobody has written."""
    bounds: int
    """Accesses outside the memory that a handler may use."""
    races: int
    """Accesses of two cores that nothing orders."""
    locks: int
    """Locks that were lost, or released without being held."""
    findings: list[FindingSummary]
    """The places, each once, in the order in which they were found."""


class FindingSummary(TypedDict):
    """A place in the program with a mistake."""

    kind: str
    """`uninitialised`, `bounds`, `race` or `lock`."""
    text: str
    """A description of the first time."""
    count: int
    """How often it happened."""
    frame: int
    """Number of the packet in the traffic."""
    message: int
    """Number of its message in its context."""
    context: str
    """Its context."""
    stage: str
    """`header`, `payload` or `completion`."""
    cluster: int
    """The core's cluster."""
    core: int
    """The core's number in the cluster."""
    time_ns: float
    """Simulated time."""
    cycle: int
    """The same in cycles."""
    pc: str
    """Address of the instruction."""
    place: str
    """Function and offset."""
    line: str | None
    """Source line of the address, such as `file.c:12`; `null` without debug information."""
    inlined: list[InlinedLine]
    """Functions that the compiler inlined there, outermost first. The instruction belongs to the last one."""
    other: FindingPlace | None
    """For a race, the earlier access; for a lock, where another core took it."""
    loaded: SourceLine | None
    """Where an undefined value was loaded, if the finding is elsewhere."""


class FindingPlace(TypedDict):
    """Where and when something happened."""

    frame: int
    """Number of the packet in the traffic."""
    message: int
    """Number of its message in its context."""
    context: str
    """Its context."""
    stage: str
    """`header`, `payload` or `completion`."""
    cluster: int
    """The core's cluster."""
    core: int
    """The core's number in the cluster."""
    time_ns: float
    """Simulated time."""
    cycle: int
    """The same in cycles."""
    pc: str
    """Address of the instruction."""
    place: str
    """Function and offset."""
    line: str | None
    """Source line of the address, such as `file.c:12`; `null` without debug information."""
    inlined: list[InlinedLine]
    """Functions that the compiler inlined there, outermost first. The instruction belongs to the last one."""


class SourceLine(TypedDict):
    """The source line of an address, in the function whose code it is."""

    line: str | None
    """Source line of the address, such as `file.c:12`; `null` without debug information."""
    inlined: list[InlinedLine]
    """Functions that the compiler inlined there, outermost first. The instruction belongs to the last one."""


class NetworkSummary(TypedDict):
    """The network's promises."""

    reliable: bool
    """It loses and duplicates no packets."""
    in_order: bool
    """It keeps the order of packets."""


class EventStats(TypedDict):
    """Events sent to the host, by kind."""

    message_done: int
    """Messages whose handlers have all ended."""
    handler_error: int
    """Handlers that failed."""
    message_timeout: int
    """Messages given up because no packet arrived for too long."""
    message_killed: int
    """Messages ended because packet memory was full."""
    message_evicted: int
    """Messages whose queue another tenant reclaimed."""
    translation_fault: int
    """Accesses to unregistered host memory."""


HandlersPackets = TypedDict(
    "HandlersPackets",
    {
        "in": "int",
        "in_bytes": "int",
        "out": "int",
        "out_bytes": "int",
        "dropped": "int",
        "dropped_by_reason": "dict[str, int]",
        "unfinished": "int",
        "matched": "int",
        "matched_bytes": "int",
        "ordinary": "int",
        "ordinary_bytes": "int",
        "done": "int",
        "sent": "int",
        "to_host": "int",
        "sent_and_to_host": "int",
        "consumed": "int",
        "trapped": "int",
        "without_queue": "int",
        "marked": "int",
    },
)


class HandlersSummary(TypedDict):
    """The summary of cards that run handlers."""

    spinet: str
    """Version of spinet."""
    kind: str
    """Kind of the card: `handlers`, `chains`, `modules` or `network`."""
    nic: str
    """The card: a preset, or the path of its file."""
    seed: int
    """Seed of all random choices."""
    digest: str
    """64 hexadecimal digits: a hash over everything that left the card, with times. Equal inputs give equal digests
    on every machine.
    """
    ended: EndedSummary
    """How the run ended."""
    remarks: list[Remark]
    """Problems in the simulated world and likely mistakes, the most urgent first."""
    packets: HandlersPackets
    """Number of packets."""
    throughput: ThroughputSummary
    """Rates from the first packet to the last."""
    steady: SteadySummary | None
    """Rates while packets came, without the start and the end. `null` if that time was too short."""
    latency_ns: LatencySummary | None
    """Time of packets in the card."""
    ingress_wait_ns: Spread | None
    """Time from when a packet was due on the line until the card took it. It is not part of the latency."""
    sources: list[SourceSummary]
    """Sources of packets."""
    time: TimeSummary
    """Simulated time."""
    wall: WallSummary
    """Host time. It differs from run to run and is not part of the digest."""
    counters: dict[str, int]
    """Every counter of every part, by path."""
    resources: list[ResourceSummary]
    """Parts that can be full and were used, the busiest first."""
    bottleneck: str | None
    """The name of the part that limited the throughput: the busiest one, if it was busy for 90 % of the time. Cores
    that run handlers are named only if no other part was so busy, because they are busy while they wait. Parts
    that hold things are named only if no other part was so busy, because they are also full if a part behind them
    is too slow. `null` if no part was.
    """
    experiment: Any
    """The experiment with all defaults; `spinet run` accepts it as a file."""
    output: OutputSummary
    """Accesses to the host, and refused commands."""
    contexts: list[ContextSummary]
    """Contexts in the order of the experiment."""
    tenants: list[TenantUse]
    """Tenants: the one of `program`, and those of `tenant` in the order of the experiment."""
    fairness: FairnessSummary | None
    """How evenly tenants used the HPUs; `null` if packets of several tenants never waited at the same time."""
    timeline: list[ActionSummary]
    """Actions of the driver (`[[at]]` of the experiment) in order."""
    hpus: HpuSummary
    """Load of the cores."""
    handlers: list[HandlerCost]
    """Cost of handlers: one entry for each context and stage with a handler."""
    traps: list[TrapSummary]
    """Traps by cause."""
    check: CheckSummary | None
    """Findings of the memory checker; `null` without `--check`."""
    console_lines_lost: int
    """Printed lines beyond the limit of the console."""
    network: NetworkSummary
    """Promises of the network."""
    events: EventStats
    """Events sent to the host."""


TenantSummary = TypedDict(
    "TenantSummary",
    {
        "name": "str",
        "weight": "int",
        "last_weight": "int",
        "priority": "int",
        "class": "int",
        "share": "float",
        "in": "int",
        "in_bytes": "int",
        "in_gbps": "float | None",
        "out": "int",
        "out_bytes": "int",
        "out_gbps": "float | None",
        "dropped": "int",
        "dropped_percent": "float",
        "dropped_by_reason": "dict[str, int]",
        "unfinished": "int",
        "detoured": "int",
        "latency_ns": "LatencySummary | None",
    },
)


ChainGroupSummary = TypedDict(
    "ChainGroupSummary",
    {
        "name": "str",
        "tenant": "str | None",
        "services": "list[str]",
        "in": "int",
        "in_bytes": "int",
        "in_gbps": "float | None",
        "out": "int",
        "out_bytes": "int",
        "out_gbps": "float | None",
        "dropped": "int",
        "dropped_percent": "float",
        "dropped_by_reason": "dict[str, int]",
        "unfinished": "int",
        "detoured": "int",
        "latency_ns": "LatencySummary | None",
        "hops": "list[VisitSummary]",
    },
)


class VisitSummary(TypedDict):
    """Visits of a service, or of one service of a chain."""

    service: str
    """Name of the service."""
    packets: int
    """Finished visits."""
    pushed: int
    """Visits that came from another unit, not from the scheduler."""
    detours: int
    """Refusals by its units."""
    total_ns: Spread | None
    """Time of a visit and of the way to it."""
    split_ns: dict[str, Spread] | None
    """Parts of that time."""


class ServiceSummary(TypedDict):
    """A service."""

    service: str
    """Name of the service."""
    packets: int
    """Finished visits."""
    pushed: int
    """Visits that came from another unit, not from the scheduler."""
    detours: int
    """Refusals by its units."""
    total_ns: Spread | None
    """Time of a visit and of the way to it."""
    split_ns: dict[str, Spread] | None
    """Parts of that time."""
    initial_credits: int
    """Credits of each unit at the start."""
    units: list[UnitSummary]
    """Its units."""


class UnitSummary(TypedDict):
    """A unit of a service."""

    path: str
    """Service and number, such as `aes[1]`."""
    node: int
    """Its port of the interconnect."""
    packets: int
    """Packets that it finished."""
    busy_percent: float | None
    """Share of the time since the first packet in which a packet was in the unit or on its way there from the
    scheduler.
    """
    in_engine: float | None
    """Mean number of packets in its engine."""
    credits_held: float | None
    """Mean number of its credits that the scheduler holds."""


class CreditSummary(TypedDict):
    """Credits over time, in at most 256 intervals."""

    interval_ns: float
    """Length of an interval."""
    units: dict[str, list[float]]
    """By path of a unit: the mean of each interval."""


class Unused(TypedDict):
    """Names of the chains, services, units and tenants that got no packet."""

    chains: list[str]
    """Chains that took no packet."""
    services: list[str]
    """Services of the experiment that no packet visited."""
    units: list[str]
    """Units, such as `aes[1]`, that got no packet although their service did."""
    tenants: list[str]
    """Tenants without a packet."""


class TroubleSummary(TypedDict):
    """An error of a program on a core."""

    unit: str
    """Path of the unit."""
    time_ns: float
    """When it occurred."""
    packet: int | None
    """The packet's number."""
    text: str
    """The error."""
    pc: str
    """Program counter."""
    place: str | None
    """Function and offset."""
    line: str | None
    """Source line of the address, such as `file.c:12`; `null` without debug information."""
    inlined: list[InlinedLine]
    """Functions that the compiler inlined there, outermost first. The instruction belongs to the last one."""


class TableSummary(TypedDict):
    """A table of the pipeline."""

    table: str
    """Its name."""
    entries: list[TableEntrySummary]
    """Its entries."""
    misses: int
    """Packets that no entry matched."""


class TableEntrySummary(TypedDict):
    """An entry of a table."""

    match: str
    """The match expression."""
    packets: int
    """Packets that it matched."""
    bytes: int
    """Their bytes."""


class RegisterSummary(TypedDict):
    """A register of words."""

    register: str
    """Its name."""
    words: list[list[int]]
    """Index and value of the words that are not 0."""


ChainsPackets = TypedDict(
    "ChainsPackets",
    {
        "in": "int",
        "in_bytes": "int",
        "out": "int",
        "out_bytes": "int",
        "dropped": "int",
        "dropped_by_reason": "dict[str, int]",
        "unfinished": "int",
        "to_network": "int",
        "to_host": "int",
        "dropped_bytes": "int",
        "detoured": "int",
    },
)


class ChainsSummary(TypedDict):
    """The summary of cards that run chains of offloads."""

    spinet: str
    """Version of spinet."""
    kind: str
    """Kind of the card: `handlers`, `chains`, `modules` or `network`."""
    nic: str
    """The card: a preset, or the path of its file."""
    seed: int
    """Seed of all random choices."""
    digest: str
    """64 hexadecimal digits: a hash over everything that left the card, with times. Equal inputs give equal digests
    on every machine.
    """
    ended: EndedSummary
    """How the run ended."""
    remarks: list[Remark]
    """Problems in the simulated world and likely mistakes, the most urgent first."""
    packets: ChainsPackets
    """Number of packets."""
    throughput: ThroughputSummary
    """Rates from the first packet to the last."""
    steady: SteadySummary | None
    """Rates while packets came, without the start and the end. `null` if that time was too short."""
    latency_ns: LatencySummary | None
    """Time of packets in the card."""
    ingress_wait_ns: Spread | None
    """Time from when a packet was due on the line until the card took it. It is not part of the latency."""
    sources: list[SourceSummary]
    """Sources of packets."""
    time: TimeSummary
    """Simulated time."""
    wall: WallSummary
    """Host time. It differs from run to run and is not part of the digest."""
    counters: dict[str, int]
    """Every counter of every part, by path."""
    resources: list[ResourceSummary]
    """Parts that can be full and were used, the busiest first."""
    bottleneck: str | None
    """The name of the part that limited the throughput: the busiest one, if it was busy for 90 % of the time. Cores
    that run handlers are named only if no other part was so busy, because they are busy while they wait. Parts
    that hold things are named only if no other part was so busy, because they are also full if a part behind them
    is too slow. `null` if no part was.
    """
    experiment: Any
    """The experiment with all defaults; `spinet run` accepts it as a file."""
    jain_index: float
    """Jain's fairness index over the tenants that sent packets: the bytes of each tenant that left, divided by its
    fair share, during `share_window_ns`. Fair shares follow the weights at the time when the bytes left, since
    `[[at]]` can change weights.
    """
    share_window_ns: list[float] | None
    """The time in which all tenants sent: from the latest first packet in to the earliest last packet in, rounded
    inwards to steps of at most a 512th of the run. `null` if they never all sent at once; the index and the
    shares then cover the whole run.
    """
    tenants: list[TenantSummary]
    """Tenants."""
    chains: list[ChainGroupSummary]
    """Chains. `(no chain)` counts packets that no chain took."""
    services: list[ServiceSummary]
    """Services."""
    credits: CreditSummary
    """The credits that the scheduler holds of each unit over time."""
    unused: Unused
    """Names that got no packet."""
    troubles: list[TroubleSummary]
    """The first errors of programs on cores."""
    tables: NotRequired[list[TableSummary]]
    """Tables of `rmt` as they are at the end. Absent without tables."""
    registers: NotRequired[list[RegisterSummary]]
    """Word registers of `rmt`. Absent without registers."""


class DirectionSummary(TypedDict):
    """Frames of one direction."""

    frames: int
    """Frames that came out."""
    bytes: int
    """Their bytes without FCS."""
    offered: int
    """Frames given to the card."""
    good: int
    """Frames that came out unchanged and in order."""
    lost: int
    """Frames that did not come out although a later one did."""
    late: int
    """Frames that came out after a later one, or twice."""
    unknown: int
    """Frames that came out and were never given."""
    fates: Fates
    """Frames of the traffic by what happened to them. The counts add up to the frames of the traffic, unless the
    card sent some twice.
    """
    mismatches: list[str]
    """The first late or unknown frames, as texts."""
    rate: Rate
    """The steady rate."""
    latency_ns: LatencySummary | None
    """Time from when a frame is given to the card until it comes out; `null` if no frame is known at both ends."""


class Fates(TypedDict):
    """Frames of a direction by what happened to them. The counts add up to the frames of its traffic, unless the
    card sent some twice.
    """

    through: int
    """Came out of the card."""
    too_long: int
    """Longer than the card accepts, not given to it. Only for captures; a generator with such frames is refused.
    """
    filtered: int
    """Dropped by the receiver: for another address."""
    receiver_off: int
    """Dropped by the receiver: firmware had not enabled it."""
    overrun: int
    """Dropped by the receiver: its FIFO was full."""
    no_buffer: int
    """Dropped by the receiver: no buffer was free."""
    no_descriptor: int
    """Dropped by the receiver: no descriptor was free."""
    link_down: int
    """Lost on the line while `[[at]]` had the network down."""
    damaged: int
    """Reached the host with an error flag; the host dropped them."""
    not_out: int
    """Did not come out, without a counted drop: still in the card, or dropped by its firmware."""
    not_given: int
    """Not yet due when the run ended; 0 for endless traffic."""


class Rate(TypedDict):
    """Rates while all directions with frames were active."""

    frames: int
    """Frames counted."""
    bytes: int
    """Their bytes without FCS."""
    ns: float
    """The time in which they were counted."""
    frames_per_s: float
    """Frames per second."""
    gbps: float
    """Gbit/s of frames without FCS, preamble and gap."""


class CoreSummary(TypedDict):
    """A core."""

    path: str
    """Path of the core."""
    is_halted: bool
    """True if the core is halted."""
    place: str
    """Function and offset, or the address."""
    instructions: int
    """Executed instructions."""
    cycles: int
    """Cycles in which the core was not halted."""
    cycles_by_cause: dict[str, int]
    """The same by cause; they add up to `cycles`."""
    instructions_by_class: dict[str, int]
    """Instructions by class."""
    locks: LockSummary | None
    """Cost of locks; `null` without a profile."""
    trouble: str | None
    """Why the core stopped by itself."""


class LockSummary(TypedDict):
    """Cost of locks. A lock is a register that `locks` of `mips-core` names (those of the 10 Gigabit NIC, the
    Tigon-2's semaphores), or a word that `ll` and `sc` access.
    """

    cycles: int
    """Cycles from the first attempt at a lock to its success, and those of freeing it."""
    attempts: int
    """Attempts."""
    vain: int
    """Attempts that found the lock taken."""


class FunctionSummary(TypedDict):
    """A function of the firmware."""

    name: str
    """Its name; `elsewhere` is code outside the program."""
    cycles: int
    """Cycles."""
    instructions: int
    """Instructions."""
    lock_cycles: int
    """Cycles spent on locks."""


class PlaceSummary(TypedDict):
    """A place of paths."""

    place: str
    """Path of the assist, or of a port of it."""
    resources: list[str]
    """Names of the resources that the assist uses there: its own, or those of the memories and buses behind the
    port.
    """


ModulesPackets = TypedDict(
    "ModulesPackets",
    {
        "in": "int",
        "in_bytes": "int",
        "out": "int",
        "out_bytes": "int",
        "dropped": "int",
        "dropped_by_reason": "dict[str, int]",
        "unfinished": "int",
    },
)


class ModulesSummary(TypedDict):
    """The summary of wired cards."""

    spinet: str
    """Version of spinet."""
    kind: str
    """Kind of the card: `handlers`, `chains`, `modules` or `network`."""
    nic: str
    """The card: a preset, or the path of its file."""
    seed: int
    """Seed of all random choices."""
    digest: str
    """64 hexadecimal digits: a hash over everything that left the card, with times. Equal inputs give equal digests
    on every machine.
    """
    ended: EndedSummary
    """How the run ended."""
    remarks: list[Remark]
    """Problems in the simulated world and likely mistakes, the most urgent first."""
    packets: ModulesPackets
    """Number of packets."""
    throughput: ThroughputSummary
    """Rates from the first packet to the last."""
    steady: SteadySummary | None
    """Rates while packets came, without the start and the end. `null` if that time was too short."""
    latency_ns: LatencySummary | None
    """Time of packets in the card."""
    ingress_wait_ns: Spread | None
    """Time from when a packet was due on the line until the card took it. It is not part of the latency."""
    sources: list[SourceSummary]
    """Sources of packets."""
    time: TimeSummary
    """Simulated time."""
    wall: WallSummary
    """Host time. It differs from run to run and is not part of the digest."""
    counters: dict[str, int]
    """Every counter of every part, by path."""
    resources: list[ResourceSummary]
    """Parts that can be full and were used, the busiest first."""
    bottleneck: str | None
    """The name of the part that limited the throughput: the busiest one, if it was busy for 90 % of the time. Cores
    that run handlers are named only if no other part was so busy, because they are busy while they wait. Parts
    that hold things are named only if no other part was so busy, because they are also full if a part behind them
    is too slow. `null` if no part was.
    """
    experiment: Any
    """The experiment with all defaults; `spinet run` accepts it as a file."""
    sent: DirectionSummary
    """Frames from the host to the network, observed at the network."""
    received: DirectionSummary
    """Frames from the network to the host, observed at the host."""
    total: Rate
    """Rate of both directions together."""
    unmeasured: str | None
    """Why the rates are zero, if they could not be measured."""
    short_window: str | None
    """Set if a direction had fewer than 100 frames while both were active, so the rates are not reliable."""
    cores: list[CoreSummary]
    """Cores."""
    functions: list[FunctionSummary]
    """Functions of the firmware by the cycles spent in them, summed over all cores, largest first. Empty without a
    profile, and for an image, which has no function names.
    """
    rings: list[str]
    """For each ring that the host shares with the card: producer, consumer, and the time of the last change."""
    faults: list[str]
    """The first illegal actions of the card, such as a reference to unmapped host memory."""
    timeline: list[ActionSummary]
    """Actions (`[[at]]` of the experiment) in order."""
    places: list[PlaceSummary]
    """Places of the paths of frames: `index` of their table is a position here."""


NodeSummary = TypedDict(
    "NodeSummary",
    {
        "name": "str",
        "nic": "str",
        "kind": "str",
        "ip": "str",
        "digest": "str",
        "in": "int",
        "done": "int",
        "refused": "int",
        "dropped_by_reason": "dict[str, int]",
    },
)


class SwitchSummary(TypedDict):
    """A switch."""

    name: str
    """Its name."""
    dropped: int
    """Frames that it dropped."""
    dropped_by_reason: dict[str, int]
    """The same by reason; reasons without a drop are not listed."""
    marked: int
    """Frames in which it marked congestion."""
    pauses: int
    """Pauses that it asked for."""
    deepest_queue_bytes: int
    """Greatest number of bytes in one of its queues."""


LinkSummary = TypedDict(
    "LinkSummary",
    {
        "name": "str",
        "from": "str",
        "to": "str",
        "frames": "int",
        "bytes": "int",
        "utilisation": "float",
        "lost": "int",
        "pauses": "int",
    },
)


class MessagesSummary(TypedDict):
    """A summary of the messages between hosts."""

    done: int
    """Messages that a host got."""
    bytes: int
    """Their bytes."""
    unfinished: int
    """Messages that no host has got. They are known when the run has ended."""
    latency_ns: LatencySummary | None
    """Times from the post of a message until the receiver's host gets it; null without messages."""
    slowest: list[SlowMessage]
    """The messages with the longest of these times, the longest first."""


SlowMessage = TypedDict(
    "SlowMessage",
    {
        "from": "str",
        "to": "str",
        "kind": "str",
        "number": "int",
        "bytes": "int",
        "posted_ns": "Ns",
        "latency_ns": "Ns",
        "nic_ns": "Ns",
        "link_ns": "Ns",
        "queue_ns": "Ns",
        "receiver_ns": "Ns",
    },
)


Ns = float
"""A time in nanoseconds: a whole number if it is one."""


class ScheduleSummary(TypedDict):
    """The run of a schedule on the hosts."""

    finish_ns: Ns
    """When the last host ended."""
    hosts_ns: list[Ns]
    """When each host ended."""
    nic: str
    """The network card of the hosts."""
    model: str
    """The model of the hosts."""
    loggops: str
    """The parameters of the model."""
    schedule: Counts
    """The size of the schedule."""
    messages: int
    """Number of messages."""
    critical_path: PathSummary | None
    """The critical path; null if the run was not recorded."""
    digest: str
    """A hash of the times of all hosts."""
    steps: list[StepRow]
    """Steps of the critical path; of a long path, only the longest steps."""


class Counts(TypedDict):
    """The size of a schedule."""

    ranks: int
    """Number of ranks."""
    operations: int
    """Number of operations."""
    sends: int
    """Number of sends."""
    recvs: int
    """Number of receives."""
    calcs: int
    """Number of computations."""
    dependencies: int
    """Number of dependencies."""
    bytes: int
    """Bytes of all sends together."""
    cpus: int
    """Processors of each rank."""
    nics: int
    """Network cards of each rank."""


class PathSummary(TypedDict):
    """The critical path in short."""

    steps: int
    """Number of steps."""
    by_kind_ns: dict[str, Ns]
    """The time of all steps of a kind; together, the time of the run."""


class StepRow(TypedDict):
    """A step of the critical path."""

    kind: str
    """Its kind."""
    rank: int
    """The rank at which it happens."""
    of_rank: int
    """The rank of its operation: a computation or a send."""
    operation: int
    """The number of the operation in that rank."""
    line: int
    """The line of the operation; 0 if the schedule is from no text."""
    start_ns: Ns
    """Its start."""
    end_ns: Ns
    """Its end."""


NetworksPackets = TypedDict(
    "NetworksPackets",
    {
        "in": "int",
        "in_bytes": "int",
        "out": "int",
        "out_bytes": "int",
        "dropped": "int",
        "dropped_by_reason": "dict[str, int]",
        "unfinished": "int",
        "copied": "int",
        "in_flight": "int",
        "marked": "int",
    },
)


class NetworksSummary(TypedDict):
    """The summary of networks of cards."""

    spinet: str
    """Version of spinet."""
    kind: str
    """Kind of the card: `handlers`, `chains`, `modules` or `network`."""
    nic: str
    """The card: a preset, or the path of its file."""
    seed: int
    """Seed of all random choices."""
    digest: str
    """64 hexadecimal digits: a hash over everything that left the card, with times. Equal inputs give equal digests
    on every machine.
    """
    ended: EndedSummary
    """How the run ended."""
    remarks: list[Remark]
    """Problems in the simulated world and likely mistakes, the most urgent first."""
    packets: NetworksPackets
    """Number of packets."""
    throughput: ThroughputSummary
    """Rates from the first packet to the last."""
    steady: SteadySummary | None
    """Rates while packets came, without the start and the end. `null` if that time was too short."""
    latency_ns: LatencySummary | None
    """Time of packets in the card."""
    ingress_wait_ns: Spread | None
    """Time from when a packet was due on the line until the card took it. It is not part of the latency."""
    sources: list[SourceSummary]
    """Sources of packets."""
    time: TimeSummary
    """Simulated time."""
    wall: WallSummary
    """Host time. It differs from run to run and is not part of the digest."""
    counters: dict[str, int]
    """Every counter of every part, by path."""
    resources: list[ResourceSummary]
    """Parts that can be full and were used, the busiest first."""
    bottleneck: str | None
    """The name of the part that limited the throughput: the busiest one, if it was busy for 90 % of the time. Cores
    that run handlers are named only if no other part was so busy, because they are busy while they wait. Parts
    that hold things are named only if no other part was so busy, because they are also full if a part behind them
    is too slow. `null` if no part was.
    """
    experiment: Any
    """The experiment with all defaults; `spinet run` accepts it as a file."""
    nodes: list[NodeSummary]
    """Nodes in the order of their numbers."""
    switches: list[SwitchSummary]
    """Switches in the order of their numbers."""
    links: list[LinkSummary]
    """Links, with an entry for each direction."""
    deepest_queue_bytes: int
    """Greatest number of bytes in a queue of a switch."""
    messages: MessagesSummary | None
    """Messages between hosts. Only the first of several processes knows them."""
    schedule: ScheduleSummary | None
    """The schedule that the hosts ran; null if there was none, or if it did not end."""
