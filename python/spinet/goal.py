# SPDX-License-Identifier: Apache-2.0
"""GOAL schedules: message-passing programs as sends, receives and computations, run on hosts that follow LogGOPS."""

from __future__ import annotations

import difflib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _arguments, _core, _html, packet_table

if TYPE_CHECKING:
    import pyarrow as pa

    from spinet.result import Result

DEFAULTS = "L=2500,o=1500,g=1000,G=6,O=0,S=65535"
MODELS = ("2010", "atlahs")
PLAIN = "plain"
"""The network card that only moves messages."""
_ROWS = 1 << 18


class Schedule:
    """A checked schedule. Make one with `read`, `parse` or `make`."""

    def __init__(self, native: _core.GoalSchedule) -> None:
        self._native = native
        self.counts: dict[str, int] = json.loads(native.counts())

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.counts["ranks"]

    @property
    def operations(self) -> int:
        """Number of operations."""
        return self.counts["operations"]

    def text(self) -> str:
        """The schedule as text. Operation n of a rank, from 1, has the label `ln`."""
        return self._native.text()

    def write(self, path: str | Path, *, binary: bool | None = None) -> None:
        """Write a file: binary or text. Default: binary if the name ends with ``.bin``."""
        _arguments.check({"path": path})
        path = Path(path)
        binary = path.suffix == ".bin" if binary is None else binary
        if path.exists() and not path.is_file():
            self._native.write(str(path), binary)  # a device
            return
        scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            self._native.write(str(scratch), binary)
            os.replace(scratch, path)
        except _core.InputError as error:
            raise _core.InputError(str(error).replace(str(scratch), str(path))) from None
        finally:
            scratch.unlink(missing_ok=True)

    def __repr__(self) -> str:
        return f"<Schedule of {self.ranks} ranks, {self.operations} operations>"


class GoalResult:
    """A schedule that has run."""

    def __init__(self, native: _core.GoalRun | None, *, summary: dict[str, Any], network: Result | None = None) -> None:
        self._native = native
        self.summary = summary
        self.network = network
        """The run of the network, if the messages travelled through one."""
        self._operations: pa.Table | None = None

    @property
    def finish_ns(self) -> float:
        """When the last host ended."""
        return float(self.summary["finish_ns"])

    @property
    def hosts_ns(self) -> list[float]:
        """When each host ended."""
        return [float(time) for time in self.summary["hosts_ns"]]

    @property
    def operations(self) -> pa.Table:
        """The table with one row an operation; empty if the run was not recorded."""
        if self.network is not None:
            return self.network.table("operations")
        if self._operations is None:
            columns = _core.goal_columns()
            rows = packet_table.Collected(columns)
            self.take_operations(rows.append)
            self._operations = packet_table.to_arrow(rows.all(), columns)
        return self._operations

    def take_operations(self, take: Callable[[Mapping[str, bytes]], None]) -> None:
        """Pass all rows of operations to `take` in batches. Each row can be taken only once.

        After a run on a network there are none: `operations` has them.
        """
        while self._native is not None:
            rows = self._native.take_operations(_ROWS)
            if not rows["rank"]:
                return
            take(rows)

    def critical_path(self, most: int = 1000) -> list[dict[str, Any]]:
        """The steps that lead to the end: kind, rank, operation, start and end. A longer path has its longest steps."""
        most = _core.whole("most", most)
        if self._native is None:
            assert self.network is not None
            return _longest(self.network.summary["schedule"]["steps"], most)
        steps = json.loads(self._native.steps(most))
        assert isinstance(steps, list)
        return steps

    def _repr_html_(self) -> str:
        """For notebooks: when the hosts ended."""
        rows = [(str(rank), f"{time:,}") for rank, time in enumerate(self.summary["hosts_ns"][:32])]
        return _html.heading("Schedule", f"{self.summary['finish_ns']:,} ns") + _html.table(("rank", "end, ns"), rows)


def _longest(steps: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    if len(steps) <= most:
        return steps
    return sorted(steps, key=lambda step: (step["start_ns"] - step["end_ns"], step["start_ns"]))[:most]


def read(path: str | Path) -> Schedule:
    """Read a file, as text or in the binary form.

    Raises
    ------
    InputError
        If it is not a schedule; the text names the place.
    """
    _arguments.check({"path": path})
    return Schedule(_core.GoalSchedule.read(str(path)))


def parse(text: str, name: str = "schedule") -> Schedule:
    """Read a text; errors call it `name`.

    Examples
    --------
    >>> from spinet import goal
    >>> goal.parse("num_ranks 1\\nrank 0 {\\ncalc 100\\n}")
    <Schedule of 1 ranks, 1 operations>
    """
    if not isinstance(text, str):
        raise _core.UsageError(f"the schedule is {text!r}, must be a text")
    return Schedule(_core.GoalSchedule.parse(text, name))


def make(pattern: str, *, ranks: int, bytes: int = 1, segment: int = 1, ways: int = 1, seed: int = 1) -> Schedule:
    """Make the schedule of a pattern; `patterns` lists them.

    Parameters
    ----------
    pattern
        Its name, such as ``"allreduce-ring"``, or the one that LogGOPSim's generator has for it.
    ranks
        Number of ranks.
    bytes
        Size of a message; of an allreduce, of the vector.
    segment
        Size of a segment in pipelined patterns.
    ways
        Messages a round in n-way dissemination.
    seed
        Seed of random patterns.
    """
    _arguments.check({"pattern": pattern})
    return Schedule(
        _core.GoalSchedule.make(
            pattern,
            ranks=_core.whole("ranks", ranks),
            bytes=_core.whole("bytes", bytes, bits=64),
            segment=_core.whole("segment", segment, bits=64),
            ways=_core.whole("ways", ways),
            seed=_core.whole("seed", seed, bits=64),
        )
    )


def patterns() -> dict[str, str]:
    """Patterns: name and a line about each."""
    return {name: about for name, _theirs, about in _core.goal_patterns()}


def run(
    schedule: Schedule | str | Path,
    *,
    loggops: str | Mapping[str, float] = DEFAULTS,
    model: str = "2010",
    record: bool = True,
    nic: str = PLAIN,
    topology: str | Mapping[str, Any] | None = None,
    link: Mapping[str, Any] | None = None,
    switch: str | Mapping[str, Any] | None = None,
    messages: Mapping[str, Any] | None = None,
    program: str | Path | list[str | Path] | None = None,
    handler: str | None = None,
    match: str | None = None,
    seed: int | None = None,
    limit: str | None = None,
    threads: int | None = None,
    folder: str | Path | None = None,
) -> GoalResult:
    """Run a schedule on hosts that follow LogGOPS.

    With a topology, or a card other than the plain one, messages travel as packets through a simulated network. o, g
    and O are still costs of the hosts; NICs, links and switches determine the rest. Rank r runs on node r.

    Parameters
    ----------
    schedule
        A schedule, or a file.
    loggops
        Parameters of the model in ns and bytes, as text or by name. The others keep their defaults. In a network, L and
        G have no effect.
    model
        How messages are charged: ``"2010"`` as LogGOPSim does, ``"atlahs"`` as ATLAHS does.
    record
        Keep the times of all operations and the critical path. In a network, they are always kept.
    nic
        The card of each node: ``"plain"``, or a card that runs handlers such as ``"pspin"``.
    topology
        ``"fat-tree:levels=2,radix=8"``, or a mapping as in a file. Default: no network for plain cards, a star for
        others.
    link, switch, messages
        Properties of all links, of all switches, and of the transport of messages, as in a file.
    program, handler, match
        The program for cards, the handler if the program has several, and the packets that it gets. The handler must
        copy packets to host memory. Default: ``sdk/examples/copy_to_host.c`` for all packets of messages.
    seed, limit, threads
        As in `spinet.run`.
    folder
        In a network, a new folder for all results.

    Examples
    --------
    >>> from spinet import goal
    >>> result = goal.run(goal.make("binomial-bcast", ranks=8, bytes=4096))
    >>> result.finish_ns, result.summary["critical_path"]["by_kind_ns"]["network"]
    (90210.0, 7500)
    >>> result = goal.run(goal.make("binomial-bcast", ranks=8, bytes=4096), topology="fat-tree:levels=2,radix=4")
    >>> result.summary["messages"], result.network.summary["packets"]["dropped"]
    (7, 0)

    Raises
    ------
    InputError
        If the schedule is wrong, or waits forever: the text names the ranks that wait.
    """
    _arguments.check(
        {"loggops": loggops, "model": model, "nic": nic, "topology": topology, "link": link, "switch": switch}
        | {"handler": handler, "match": match, "seed": seed, "limit": limit}
        | {"threads": threads, "folder": folder}
    )
    if not isinstance(program, str | Path | Sequence | None):
        raise _core.UsageError(f"program is {program!r}, must be a path, or a list of them")
    if not isinstance(loggops, str):
        loggops = ",".join(f"{name}={value}" for name, value in loggops.items())
    if nic == PLAIN and topology is None:
        network_only = {
            "link": link, "switch": switch, "messages": messages, "program": program, "handler": handler,
            "match": match, "seed": seed, "limit": limit, "threads": threads, "folder": folder,
        }  # fmt: skip
        for name, value in network_only.items():
            if value is not None:
                raise _core.UsageError(f"{name} is for networks: give a topology, or a card other than {PLAIN}")
        if not isinstance(schedule, Schedule):
            schedule = read(schedule)
        native = schedule._native.run(loggops=loggops, model=model, record=record)
        return GoalResult(native, summary=json.loads(native.summary()))
    with tempfile.TemporaryDirectory() as scratch:
        if isinstance(schedule, Schedule):
            file = Path(scratch) / "schedule.goal"
            schedule.write(file, binary=False)
        else:
            file, schedule = Path(schedule).absolute(), read(schedule)
        wanted = topology if topology is not None else {"name": "star", "nodes": max(2, schedule.ranks)}
        experiment: dict[str, Any] = {
            "schedule": str(file),
            "loggops": loggops,
            "model": model,
            "topology": _topology(wanted, schedule.ranks) if isinstance(wanted, str) else dict(wanted),
            "nodes": [_node(nic, program, handler, match)],
            **{
                key: value
                for key, value in (("link", link), ("switch", switch), ("messages", messages))
                if value is not None
            },
        }
        return _on_network(experiment, seed=seed, limit=limit, threads=threads, folder=folder)


_COUNTS = ("levels", "radix", "nodes", "nodes_per_switch", "switches_per_group", "global_links", "groups")


def _topology(text: str, ranks: int) -> dict[str, Any]:
    """A topology as in a file, from a text such as ``fat-tree:levels=2,radix=8``."""
    name, _, pairs = text.partition(":")
    topology: dict[str, Any] = {"name": name.strip()}
    for pair in filter(None, (part.strip() for part in pairs.split(","))):
        key, sign, value = (part.strip() for part in pair.partition("="))
        if not (key and sign and value):
            raise _core.InputError(f"topology: found `{pair}`, must be `key=value`")
        if key in topology:
            raise _core.InputError(f"topology: `{key}` is given twice")
        sides = value.split("x")
        if key == "dimensions":
            if not all(side.isdecimal() for side in sides):
                raise _core.InputError(f"topology: {key} is `{value}`, must be numbers of switches such as 4x4x4")
            topology[key] = [int(side) for side in sides]
        elif value.isdecimal():
            topology[key] = int(value)
        elif key in _COUNTS:
            raise _core.InputError(f"topology: {key} is `{value}`, must be a whole number")
        else:
            topology[key] = value
    if topology["name"] == "star":
        topology.setdefault("nodes", max(2, ranks))
    return topology


def _node(
    nic: str, program: str | Path | list[str | Path] | None, handler: str | None, match: str | None
) -> dict[str, Any]:
    """The entry that describes all nodes."""
    from spinet import _kinds, presets, toolchain
    from spinet.nic_parameters import PspinParams

    if nic == PLAIN:
        for name, value in (("program", program), ("handler", handler), ("match", match)):
            if value is not None:
                raise _core.UsageError(f"{name} is for cards that run handlers, and the card is {PLAIN}")
        return {"name": "*", "nic": nic}
    kind = _kinds.of_nic(nic)
    if kind is None:
        names = [name for name, _about in _core.nic_list() if _kinds.of_nic(name) == _kinds.HANDLERS]
        near = difflib.get_close_matches(nic, [PLAIN, *names], n=1)
        hint = f"did you mean {near[0]}?" if near else ""
        allowed = f"must be {PLAIN}, {', '.join(names)}, or the file of a card that runs handlers"
        raise _core.UsageError(f"nic is {nic!r}, {allowed}", hint=hint)
    if kind != _kinds.HANDLERS:
        raise _core.UsageError(f"nic is {nic!r}, must be {PLAIN} or a card that runs handlers, such as pspin")
    if program is None:
        program = toolchain.sdk_dir() / "examples" / "copy_to_host.c"
    files = [str(Path(one).absolute()) for one in (program if isinstance(program, list) else [program])]
    context = {} if handler is None else {"handler": handler}
    # A match engine with rule sets has no expressions. Without a rule set, a context takes all packets.
    card = presets.parameters_of(nic)
    has_rule_sets = isinstance(card, PspinParams) and card.ingress.matching == "rule_sets"
    if match is not None or not has_rule_sets:
        context["match"] = match or "udp.dst_port == 4791"
    return {"name": "*", "nic": nic, "program": files, "context": [context]}


def _dropped_by_cards(result: Result) -> str:
    """The packets that cards dropped, for an error; empty if there are none."""
    reasons: Counter[str] = Counter()
    for node in (result.nodes or {}).values():
        reasons.update(node.summary["packets"].get("dropped_by_reason", {}))
    found = ", ".join(f"{number} as {reason}" for reason, number in reasons.items() if number)
    hint = "\nhint: choose shorter packets: messages with a smaller mtu" if reasons["too_large"] else ""
    return f"; cards dropped packets: {found}{hint}" if found else ""


def _on_network(
    experiment: Mapping[str, Any],
    *,
    seed: int | None,
    limit: str | None,
    threads: int | None,
    folder: str | Path | None,
) -> GoalResult:
    from spinet import api

    result = api.run(experiment, seed=seed, limit=limit, threads=threads, folder=folder)
    summary = result.summary
    if summary["schedule"] is None:
        dropped = summary["packets"]["dropped"]
        hint = "give the hosts a transport that repeats lost packets: messages with transport = selective"
        text = summary["ended"]["text"].removeprefix("nothing moves any more; ")
        if dropped:
            raise _core.InputError(f"{text}; the network dropped {dropped} frames\nhint: {hint}")
        raise _core.InputError(text + _dropped_by_cards(result))
    packets = {key: summary["packets"][key] for key in ("in", "out", "dropped", "marked")}
    run = {key: value for key, value in summary["schedule"].items() if key != "steps"}
    found = {**run, "packets": packets, "digest": summary["digest"]}
    return GoalResult(None, summary=found, network=result)
