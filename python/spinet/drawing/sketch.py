# SPDX-License-Identifier: Apache-2.0
"""Drawings of cards that are wired in code: their parts and connections, from their parameters.

Wired cards are drawn as they are built. This file knows the parts and connections of the other cards; all numbers
(counts, widths, depths) come from the parameters. It simulates nothing.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spinet import _core
from spinet.wiring import Connection, Design, Group, Part, PortOf

Params = Mapping[str, Any]


def design(nic: str, *, set: Sequence[str] = ()) -> Design:
    """A card that is wired by code, by name or by the path of its file, with changes such as ``service.aes.units=4``.

    Raises
    ------
    InputError
        If there is no such card, or the changes do not fit it.
    """
    params = tomllib.loads(_core.nic_show(nic, list(set), "."))
    # The preset's own description may no longer be true.
    about = " ".join([dict(_core.nic_list()).get(nic, ""), f"With {', '.join(set)}." if set else ""]).strip()
    return _of(Path(nic).stem, about, params)


def _of(name: str, about: str, params: Params) -> Design:
    """A PANIC, one of the NICs that it is compared with, or a PsPIN, from the values of its file."""
    if "n_clusters" in params:
        return _pspin(name, about, params)
    draw = {"pipeline": _pipeline, "manycore": _manycore, "rmt-only": _rmt_only}.get(
        params.get("model", "panic"), _panic
    )
    return draw(name, about, params)


class _Sketch:
    """A design under construction: first parts, then connections. A port exists once a connection leads to it."""

    def __init__(self, name: str, about: str, clocks: Mapping[str, str]) -> None:
        self.name, self.about, self.clocks = name, about, clocks
        self.groups: dict[str, str] = {}
        self.parts: dict[str, tuple[str, str]] = {}
        self.ports: dict[str, list[str]] = {}
        self.shown: dict[str, dict[str, str]] = {}
        self.ways: list[Connection] = []

    def group(self, path: str, what: str) -> None:
        self.groups[path], self.shown[path] = what, {}

    def part(self, path: str, what: str, clock: str = "card") -> None:
        self.parts[path], self.ports[path] = (what, clock), []

    def way(self, source: str, target: str, protocol: str, *, latency: int = 1) -> None:
        """Connect two ports, given as `part.port`. The group around a part shows the port under the same name."""
        for end in (source, target):
            part, _, port = end.rpartition(".")
            if port not in self.ports[part]:
                self.ports[part].append(port)
            around, _, inner = part.rpartition(".")
            if around:
                # Each part of an array has its port: `in[0]`, `in[1]`.
                self.shown[around][f"{port}{inner[inner.find('[') :]}" if inner.endswith("]") else port] = end
        self.ways.append(Connection(source=source, target=target, protocol=protocol, room=2, latency=latency))

    def design(self, params: Params) -> Design:
        def port(name: str) -> PortOf:
            return PortOf(name=name, protocol="", side="from", is_optional=False, about="")

        parts = tuple(
            Part(
                path=path, module=what, clock=clock, parameters={}, ports=tuple(port(name) for name in self.ports[path])
            )
            for path, (what, clock) in self.parts.items()
        )
        groups = tuple(Group(path=path, module=what, ports=self.shown[path]) for path, what in self.groups.items())
        return Design(
            name=self.name,
            about=self.about,
            parameters=params,
            clocks=self.clocks,
            parts=parts,
            groups=groups,
            connections=tuple(self.ways),
            json={},
        )


def _gbps(bits: float) -> str:
    return f"{bits / 1e9:.4g} Gbit/s"


def _size(n_bytes: int) -> str:
    for unit, factor in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n_bytes >= factor and n_bytes % factor == 0:
            return f"{n_bytes // factor} {unit}"
    return f"{n_bytes} B"


def _numbers(n: int) -> list[str]:
    """Suffix of the name of several parts; empty for one."""
    return [""] if n == 1 else [f"[{i}]" for i in range(n)]


def _some(n: int, what: str) -> str:
    return f"{n} {what}{'s' if n != 1 else ''}"


def _engine(engine: Params) -> str:
    """One line about an engine."""
    kind = str(engine["kind"])
    if kind == "delay":
        service = engine["service"]
        times = {"fixed": "{cycles} cycles", "uniform": "{least_cycles} to {most_cycles} cycles", "listed": "as listed"}
        return f"delay, {times[service['kind']].format(**service)}"
    lanes = engine.get("engines", engine.get("lanes", 1))
    return f"{kind}, {lanes} lanes" if lanes > 1 else kind


def _clock_of(engine: Params, clocks: dict[str, str], name: str) -> str:
    clock = engine.get("clock", {"kind": "nic"})
    if clock["kind"] == "nic":
        return "card"
    clocks[name] = f"{clock['khz'] / 1000:g} MHz"
    return name


def _ingress(ingress: Params) -> str:
    return f"{_gbps(ingress['line_bps'])}, buffer of {ingress['buffer_flits']} flits, {ingress['when_full']}"


def _panic(name: str, about: str, params: Params) -> Design:
    services: Sequence[Params] = params.get("service", ())
    clocks = {"card": f"{params['clock_mhz']} MHz"}
    card = _Sketch(name, about, clocks)
    for i in _numbers(params["network_ports"]):
        card.part(f"ingress{i}", _ingress(params["ingress"]))
    card.part("rmt", f"tables, chains; {_some(params['ingress']['rmt_cycles'], 'cycle')}")
    card.part("network", _topology(params))
    _scheduler(card, params, services)
    for service in services:
        _service(card, clocks, service)
    dma = params["dma"]
    card.group("dma", "DMA engine")
    card.part("dma.engine", f"queues: {dma['rx_queues']} rx, {dma['tx_queues']} tx")
    card.part("dma.pcie", _pcie(dma["pcie"]))
    card.part("dma.host", f"rings, buffers; {dma['host_cycles']} cycles")
    for i in _numbers(params["network_ports"]):
        card.part(f"egress{i}", "to the network")
        card.way(f"ingress{i}.out", f"rmt.packets{i}", "packets")
        card.way(f"rmt.out{i}", f"network.ingress{i}", "flits")
    card.way("dma.engine.transmit", "rmt.host", "packets")
    card.way("rmt.sent", "network.host_in", "flits")
    for port in range(params["scheduler"]["ports"]):
        card.way(f"network.scheduler_out[{port}]", f"scheduler.port[{port}].in", "flits")
        card.way(f"scheduler.port[{port}].out", f"network.scheduler_in[{port}]", "flits")
    for service in services:
        unit = service["name"]
        for number in range(service["units"]):
            card.way(f"network.to_{unit}[{number}]", f"{unit}[{number}].traffic_manager.in", "flits")
            card.way(f"{unit}[{number}].traffic_manager.out", f"network.from_{unit}[{number}]", "flits")
            card.way(f"{unit}[{number}].traffic_manager.credits", f"scheduler.credits.{unit}[{number}]", "credits",
                     latency=params["scheduler"]["note_cycles"])  # fmt: skip
    for i in _numbers(params["network_ports"]):
        card.way(f"network.egress{i}", f"egress{i}.in", "flits")
    card.way("network.host_out", "dma.engine.receive", "flits")
    card.way("dma.engine.pcie", "dma.pcie.engine", "bursts")
    card.way("dma.pcie.host", "dma.host.pcie", "bursts")
    return card.design(params)


def _topology(params: Params) -> str:
    network = params["interconnect"]
    topology = network.get("topology", {"kind": "crossbar"})
    width = f"{8 * params['flit_bytes']} bits"
    if topology["kind"] == "crossbar":
        return f"crossbar, {width}; buffers of {network['input_flits']} and {network['output_flits']} flits"
    grid = f"{topology['columns']} x {topology['rows']} routers of {topology['concentration']}"
    return f"flattened butterfly, {width}; {grid}"


def _scheduler(card: _Sketch, params: Params, services: Sequence[Params]) -> None:
    scheduler = params["scheduler"]
    buffer, pifo = scheduler["buffer"], scheduler["pifo"]
    push = "chain push" if scheduler["chain_push"] else "no chain push"
    card.group("scheduler", f"central scheduler, {push}")
    for i in range(scheduler["ports"]):
        card.part(f"scheduler.port[{i}]", f"bank of {buffer['cells']} x {_size(buffer['cell_bytes'])}")
    cycles = f"{pifo['enqueue_cycles']} cycles in, {pifo['dequeue_cycles']} out"
    card.part("scheduler.pifos", f"{_some(len(services), 'service')}, {_some(pifo['blocks'], 'block')}; {cycles}")
    card.part("scheduler.credits", "of each unit")
    for i in range(scheduler["ports"]):
        card.way(f"scheduler.port[{i}].descriptors", f"scheduler.pifos.push[{i}]", "descriptors")
        card.way(f"scheduler.pifos.pop[{i}]", f"scheduler.port[{i}].go", "descriptors")
    card.way("scheduler.credits.held", "scheduler.pifos.credits", "credits")


def _service(card: _Sketch, clocks: dict[str, str], service: Params) -> None:
    name, engine = service["name"], service["engine"]
    clock = _clock_of(engine, clocks, name)
    policy = service["policy"]["policy"]["kind"] if "policy" in service else "fifo"
    for i in range(service["units"]):
        unit = f"{name}[{i}]"
        card.group(unit, f"{_some(service['credits'], 'credit')} each, {policy}")
        card.part(f"{unit}.traffic_manager", "scratchpad")
        card.part(f"{unit}.engine", _engine(engine), clock)
        card.way(f"{unit}.traffic_manager.work", f"{unit}.engine.in", "flits")
        card.way(f"{unit}.engine.out", f"{unit}.traffic_manager.done", "flits")


def _pcie(pcie: Params) -> str:
    if pcie["model"] != "tlp":
        return f"{pcie['model']}"
    link = pcie["link"]
    rate = link["lanes"] * link["lane_mtps"] * 1e6 * link["code_bits"] / link["code_line_bits"]
    return f"{link['lanes']} lanes, {_gbps(rate)}"


def _fixed(name: str, about: str, params: Params) -> _Sketch:
    """The ends of a baseline NIC: networks in, tables, networks and host out."""
    shape = params["card"]
    card = _Sketch(name, about, {"card": f"{shape['clock_mhz']} MHz"})
    for i in _numbers(shape["network_ports"]):
        card.part(f"ingress{i}", _ingress(shape["ingress"]))
        card.part(f"egress{i}", "to the network")
    card.part("rmt", f"tables, chains; {_some(shape['ingress']['rmt_cycles'], 'cycle')}")
    card.part("host", "takes what comes")
    for i in _numbers(shape["network_ports"]):
        card.way(f"ingress{i}.out", f"rmt.packets{i}", "packets")
    return card


def _out(card: _Sketch, params: Params, source: str) -> None:
    for i in _numbers(params["card"]["network_ports"]):
        card.way(f"{source}.egress{i}", f"egress{i}.in", "flits")
    card.way(f"{source}.host", "host.in", "flits")


def _pipeline(name: str, about: str, params: Params) -> Design:
    card = _fixed(name, about, params)
    width = f"{8 * params['card']['flit_bytes']} bits"
    card.part("queue", f"{_size(params['queue_bytes'])}, FIFO, drop tail; {width}")
    card.way("rmt.out", "queue.in", "flits")
    before = "queue.out"
    for stage in params.get("stage", ()):
        stage_clock = _clock_of(stage["engine"], dict[str, str](), stage["name"])
        what = _engine(stage["engine"]) + ("" if stage_clock == "card" else f", {_frequency(stage['engine'])}")
        card.part(stage["name"], what)
        card.way(before, f"{stage['name']}.in", "flits")
        before = f"{stage['name']}.out"
    card.part("exit", "by where packets go")
    card.way(before, "exit.in", "flits")
    card.way("exit.again", "queue.again", "flits")
    _out(card, params, "exit")
    return card.design(params)


def _frequency(engine: Params) -> str:
    return f"{engine['clock']['khz'] / 1000:g} MHz"


def _manycore(name: str, about: str, params: Params) -> Design:
    card = _fixed(name, about, params)
    cores = params["cores"]
    card.part("balancer", f"{_size(params['buffer_bytes'])}, by {params['balance']}, drop tail")
    card.part("network", f"crossbar, {8 * params['card']['flit_bytes']} bits")
    card.way("rmt.out", "balancer.in", "flits")
    card.way("balancer.out", "network.balancer", "flits")
    for i in range(cores["count"]):
        card.part(f"core[{i}]", f"{cores['packets']} packets, {cores['work_cycles']} + {cores['wait_cycles']} cycles")
        card.way(f"network.to_core[{i}]", f"core[{i}].in", "flits")
        card.way(f"core[{i}].out", f"network.from_core[{i}]", "flits")
        card.way(f"core[{i}].done", f"balancer.done[{i}]", "notes")
    for service in params.get("service", ()):
        for i in range(service["units"]):
            unit = f"{service['name']}[{i}]"
            card.part(unit, _engine(service["engine"]))
            card.way(f"network.to_{unit}", f"{unit}.in", "flits")
            card.way(f"{unit}.out", f"network.from_{unit}", "flits")
    _out(card, params, "network")
    return card.design(params)


def _rmt_only(name: str, about: str, params: Params) -> Design:
    card = _fixed(name, about, params)
    card.part("exit", "all chains go to the host")
    card.way("rmt.out", "exit.in", "flits")
    _out(card, params, "exit")
    return card.design(params)


def _pspin(name: str, about: str, params: Params) -> Design:
    """Connections. Events to the host about ends and errors of handlers are left out, because every part sends them."""
    cluster, l2, scheduler = params["cluster"], params["l2"], params["scheduler"]
    commands, outbound = params["commands"], params["outbound"]
    card = _Sketch(name, about, {"card": f"{params['clock_mhz']} MHz"})
    card.part("inbound", "matching, packet buffer, HERs")
    card.part("scheduler", f"{scheduler['n_mpqs']} MPQs, {scheduler['shared_cells']} shared cells; dispatcher")
    card.part("l2", f"packets {_size(l2['packet_bytes'])}, handlers {_size(l2['handler_bytes'])}")
    card.part("program", f"L2, {_size(l2['program_bytes'])}")
    for i in range(params["n_clusters"]):
        _cluster(card, f"cluster[{i}]", cluster)
    card.part("commands", f"{commands['in_flight_per_unit']} in flight a unit")
    card.part("outbound", f"{outbound['command_slots']} commands, {outbound['queue_packets']} packets")
    card.part("host_direct", f"FIFOs of {commands['host_direct_fifo']}")
    card.part("host_dma", f"FIFO of {commands['host_dma_fifo']}")
    card.part("pcie", _pcie(params["pcie"]) + (", IOMMU" if params["iommu"]["enabled"] else ""))
    card.part("host", "memory, driver")
    card.part("host_port", "reads and writes of the host")
    card.part("interconnect", "NIC-host interconnect, 512 bits")
    card.way("inbound.packets", "interconnect.inbound", "bursts")
    card.way("inbound.hers", "scheduler.hers", "HERs")
    card.way("scheduler.released", "inbound.released", "feedback")
    for i in range(params["n_clusters"]):
        here = f"cluster[{i}]"
        card.way(f"scheduler.tasks[{i}]", f"{here}.tasks.tasks", "tasks")
        card.way(f"{here}.tasks.feedback", f"scheduler.feedback[{i}]", "feedback")
        card.way(f"{here}.dma.packets", f"l2.dma[{i}]", "bursts")
        card.way(f"{here}.cores.l2", f"l2.cores[{i}]", "memory")
        card.way(f"{here}.icache.lines", f"program.lines[{i}]", "lines")
        card.way(f"{here}.cores.commands", f"commands.cluster[{i}]", "commands")
        card.way(f"interconnect.l1[{i}]", f"{here}.l1.bursts", "bursts")
    card.way("interconnect.l2", "l2.bursts", "bursts")
    card.way("commands.nic", "outbound.commands", "commands")
    card.way("commands.host_direct", "host_direct.commands", "commands")
    card.way("commands.dma", "host_dma.commands", "commands")
    card.way("outbound.reads", "interconnect.outbound", "bursts")
    card.way("host_dma.nic", "interconnect.host_dma", "bursts")
    card.way("host_port.nic", "interconnect.host", "bursts")
    card.way("host.accesses", "host_port.accesses", "bursts")
    card.way("host_dma.host", "pcie.dma", "bursts")
    card.way("host_direct.host", "pcie.direct", "bursts")
    card.way("pcie.host", "host.pcie", "bursts")
    return card.design(params)


def _cluster(card: _Sketch, path: str, cluster: Params) -> None:
    icache = cluster["icache"]
    card.group(path, "cluster")
    card.part(f"{path}.tasks", f"scheduler, {cluster['task_fifo']} tasks")
    card.part(f"{path}.dma", f"{cluster['dma_bursts']} bursts each way")
    card.part(f"{path}.cores", f"{cluster['n_cores']} HPUs, RI5CY")
    card.part(f"{path}.icache", f"{_size(icache['bytes'])}, {icache['ways']} ways")
    card.part(f"{path}.l1", f"{_size(cluster['l1_bytes'])}, {cluster['l1_banks']} banks")
    card.way(f"{path}.tasks.fetch", f"{path}.dma.tasks", "tasks")
    card.way(f"{path}.dma.ready", f"{path}.cores.tasks", "tasks")
    card.way(f"{path}.dma.l1", f"{path}.l1.dma", "bursts")
    card.way(f"{path}.cores.l1", f"{path}.l1.cores", "memory")
    card.way(f"{path}.cores.code", f"{path}.icache.code", "memory")
