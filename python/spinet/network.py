# SPDX-License-Identifier: Apache-2.0
"""`Network`: a network of cards, built in Python or read from a file, and run as a whole or in steps."""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, overload

from spinet import _arguments, _core, _experiments, _kinds, _programs, _toml, api
from spinet._core import UsageError
from spinet._network_run import FrameEvent, Hook, Hooked, Running, frame_columns
from spinet._node_records import NodeResult
from spinet.experiment import Experiment
from spinet.host_program import Program
from spinet.network_overview import Overview
from spinet.result import Result

if TYPE_CHECKING:
    from spinet.profile import Profile

__all__ = ["FrameEvent", "Host", "Network", "Node", "NodeResult"]

_SHAPE = (
    "levels", "radix", "oversubscription", "nodes_per_switch", "switches_per_group", "global_links", "groups",
    "dimensions",
)  # fmt: skip


class Network:
    """A network of cards. It has the keys of a network's file (docs/reference/network.md), nodes, and a run.

    Parameters
    ----------
    values
        The keys as a mapping. The keywords below override them.
    topology
        Name of a topology; its other keys are keywords, such as ``levels`` and ``radix``. Or a mapping.
    nodes
        A list of nodes, each a mapping with ``name``. With a topology, also the number of nodes.
    links, switches
        Lists of mappings. Without a topology: all links and switches. With a topology: those that differ.
    link, switch
        Properties of all links and of all switches.
    nic
        The card of nodes that name none.
    messages, captures, schedule, loggops, model, seed, limit, stall_limit, may_deadlock
        As in a file.
    base_dir
        Folder at which relative paths start. Default: the current folder.
    shape
        Other keys of the topology.

    Raises
    ------
    InputError
        If a key or a value is wrong. Methods check the network again after changes.

    Examples
    --------
    >>> import spinet
    >>> net = spinet.Network(topology="star", nodes=3, link={"rate": "100G", "delay": "300 ns"})
    >>> net["n0"].host.send = {"source": "udp:size=256,count=50,rate=10G", "to": "n2"}
    >>> net[2].update(program="sdk/examples/count.c", context=[{"match": "udp"}])
    >>> net.run(until="1 us").ended, net.now_ps
    ('running', 1000000)
    >>> net.run().ended, net[2].packets.num_rows, net["n2"].summary["packets"]["in"]
    ('complete', 50, 50)
    >>> spinet.Network.from_toml(net.to_toml()).run().digest == net.result.digest
    True
    """

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        topology: str | Mapping[str, Any] | None = None,
        nodes: int | Sequence[Mapping[str, Any]] | None = None,
        links: Sequence[Mapping[str, Any]] | None = None,
        switches: Sequence[Mapping[str, Any]] | None = None,
        link: Mapping[str, Any] | None = None,
        switch: str | Mapping[str, Any] | None = None,
        nic: Any = None,
        messages: Mapping[str, Any] | None = None,
        captures: Sequence[str] | None = None,
        schedule: str | Path | None = None,
        loggops: str | None = None,
        model: str | None = None,
        seed: int | None = None,
        limit: str | None = None,
        stall_limit: str | None = None,
        may_deadlock: bool | None = None,
        base_dir: str | Path | None = None,
        **shape: Any,
    ) -> None:
        _arguments.check(
            {"values": values, "topology": topology, "link": link, "switch": switch, "nic": nic, "base_dir": base_dir}
            | {"messages": messages, "model": model}
        )
        found = {
            "nic": nic, "seed": seed, "limit": limit, "stall_limit": stall_limit, "may_deadlock": may_deadlock,
            "link": link, "switch": switch, "links": links, "switches": switches, "messages": messages,
            "schedule": schedule, "loggops": loggops, "model": model, "captures": captures,
        }  # fmt: skip
        stated = {**(values or {}), **{key: value for key, value in found.items() if value is not None}}
        for key in shape:
            if key not in _SHAPE:
                raise TypeError(f"Network has no keyword `{key}`")
        if isinstance(nodes, int):
            shape["nodes"] = nodes
        elif nodes is not None:
            stated["nodes"] = nodes
        if topology is not None:
            named = {"name": topology} if isinstance(topology, str) else dict(topology)
            stated["topology"] = {**named, **shape}
        elif shape:
            raise UsageError(f"{', '.join(shape)} without topology", hint="name one: topology='fat-tree'")
        if base_dir is None:
            base_dir = values.base_dir if isinstance(values, Experiment) else Path.cwd()
        self._base_dir = Path(base_dir).absolute()
        self._values: dict[str, Any] = _experiments.plain(stated)
        self._file = _experiments.NO_FILE
        self._known: tuple[str, dict[str, Any]] | None = None
        self._hooks: list[Hooked] = []
        self._run: Running | None = None
        self._stops = False
        self._programs: dict[str, Program] = {}
        self._overview()

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file with a network."""
        _arguments.check({"path": path})
        path = Path(path)
        return cls(Experiment.load(path), base_dir=path.absolute().parent)

    @classmethod
    def from_toml(cls, text: str, *, base_dir: str | Path | None = None) -> Self:
        """Read a network from TOML text."""
        if not isinstance(text, str):
            raise UsageError(f"the text is {text!r}, must be a text with TOML")
        _core.check_limits(text, _experiments.NO_FILE, "toml")
        try:
            values = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise UsageError(f"the text is not valid TOML: {error}") from None
        return cls(values, base_dir=base_dir)

    def to_toml(self) -> str:
        """The keys that were given, as TOML text. Relative paths start at `base_dir`."""
        return _toml.dumps(self._values)

    def save(self, path: str | Path) -> None:
        """Write a file that describes the same network from any folder; its name ends in ``.toml``.

        Files of the build cache are copied into a folder beside it, ``NAME.files``.

        Raises
        ------
        UsageError
            If a host's program is a Python function, which no file can hold.
        """
        if self._programs:
            names = ", ".join(self._programs)
            hint = "give it as 'file.py:function'"
            raise UsageError(
                f"{path}: a file cannot hold the Python function that is the program of {names}", hint=hint
            )
        self.experiment.save(path)

    @property
    def experiment(self) -> Experiment:
        """The network as an experiment, for example for `spinet.run`."""
        return Experiment(self._values, base_dir=self._base_dir)

    @property
    def base_dir(self) -> Path:
        """Folder at which relative paths start."""
        return self._base_dir

    @property
    def values(self) -> dict[str, Any]:
        """All keys that were given. Changes to this mapping change the network."""
        return self._values

    @property
    def link(self) -> dict[str, Any]:
        """Properties of all links. Changes to this mapping change the network."""
        found: dict[str, Any] = self._part("link", {})
        return found

    @property
    def switch(self) -> dict[str, Any]:
        """Parameters of all switches, if they are not a preset. Changes to this mapping change the network."""
        found: dict[str, Any] = self._part("switch", {})
        if not isinstance(found, dict):
            raise AttributeError(f"all switches have the preset {found!r}: set values['switch']")
        return found

    @property
    def links(self) -> list[dict[str, Any]]:
        """Links with their own properties. Changes to this list change the network."""
        found: list[dict[str, Any]] = self._part("links", [])
        return found

    @property
    def switches(self) -> list[dict[str, Any]]:
        """Switches with their own parameters. Changes to this list change the network."""
        found: list[dict[str, Any]] = self._part("switches", [])
        return found

    def _part(self, key: str, empty: Any) -> Any:
        return self._values.setdefault(key, empty)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes in the order of their numbers."""
        return tuple(Node(self, row["name"], number) for number, row in enumerate(self._overview()["nodes"]))

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self._overview()["nodes"])

    def __iter__(self) -> Iterator[Node]:
        """All nodes in the order of their numbers."""
        return iter(self.nodes)

    @overload
    def __getitem__(self, which: int | str) -> Node: ...
    @overload
    def __getitem__(self, which: slice) -> tuple[Node, ...]: ...
    def __getitem__(self, which: int | str | slice) -> Node | tuple[Node, ...]:
        """A node by number or name, or several as a slice."""
        rows = self._overview()["nodes"]
        if isinstance(which, slice):
            return self.nodes[which]
        if isinstance(which, str):
            names = [row["name"] for row in rows]
            if which not in names:
                raise KeyError(f"there is no node {which!r}; there are {len(rows)}, from {names[0]} to {names[-1]}")
            return Node(self, which, names.index(which))
        try:
            number = range(len(rows))[which]
        except IndexError:
            raise IndexError(f"there is no node {which}; there are {len(rows)}, numbered from 0") from None
        return Node(self, rows[number]["name"], number)

    def overview(self) -> Overview:
        """Counts and picture of the network. After a run, they have the load."""
        return Overview.of(self._prepared(), title="network", summary=self._run.summary() if self._run else None)

    def _repr_svg_(self) -> str:
        """For notebooks: the picture."""
        return self.overview().svg()

    def __repr__(self) -> str:
        """The size of the network."""
        values = self._overview()
        counts = ", ".join(f"{len(values[key])} {key}" for key in ("nodes", "switches", "links"))
        return f"<Network: {counts}>"

    def _overview(self) -> dict[str, Any]:
        text = json.dumps(self._values, default=str)
        if self._known is None or self._known[0] != text:
            check = partial(_core.network_overview, file=self._file, base_dir=str(self._base_dir), is_whole=False)
            try:
                found = check(text, format="json")
            except _core.InputError as error:
                raise _experiments.refusal(error, self._values, check) from None
            self._known = text, json.loads(found)
        return self._known[1]

    def _prepared(self) -> _experiments.Prepared:
        return api.prepare(self.experiment, {})

    def _entry(self, number: int) -> dict[str, Any]:
        """The entry of this node alone in ``nodes``; created if the node shares an entry with others or has none."""
        row = self._overview()["nodes"][number]
        name: str = row["name"]
        at: int | None = row["entry"]
        entries: list[dict[str, Any]] = self._part("nodes", [])
        if at is None:
            entries.append({"name": name})
            return entries[-1]
        shared = entries[at]
        if "count" in shared:
            inner = {key: value for key, value in shared.items() if key not in ("name", "count")}
            own = [{"name": f"{shared['name']}{i}", **copy.deepcopy(inner)} for i in range(shared["count"])]
            entries[at : at + 1] = own
            return next(entry for entry in own if entry["name"] == name)
        if shared["name"] != name:
            entries.insert(at, {**copy.deepcopy(shared), "name": name})
        return entries[at]

    def _entry_of(self, number: int) -> Mapping[str, Any]:
        at = self._overview()["nodes"][number]["entry"]
        entries: list[dict[str, Any]] = self._values.get("nodes", [])
        return {} if at is None else entries[at]

    def on(self, event: str, hook: Hook | None = None, *, node: str | None = None, link: str | None = None) -> Any:
        """Call a function for each event of one kind. Without `hook`, this is a decorator for the function.

        Calls are in the order of simulated time, and at most 10 us of simulated time after the event. The function may
        call `stop`; it cannot change past events.

        Parameters
        ----------
        event
            ``entered``, ``crossed``, ``copied``, ``delivered``, ``dropped``, ``marked``, ``depth`` or ``paused``.
        hook
            The function. Its argument is a `FrameEvent`.
        node, link
            Call it only for events at this node or switch, and on this link.

        Examples
        --------
        >>> import spinet
        >>> net = spinet.Network.load("experiments/networks/incast.toml")
        >>> drops = []
        >>> @net.on("dropped", node="sw0")
        ... def note(event):
        ...     drops.append(event)
        ...     net.stop()
        >>> net.run().ended, net.now_ps, drops[0].reason, drops[0].at_ps
        ('running', 10000000, 'queue_full', 7511040)
        """
        words = {name: names for name, _, _, names in frame_columns()}["event"]
        if event not in words:
            raise UsageError(f"event is {event!r}, must be one of {', '.join(words)}")
        values = self._overview()
        names = [row["name"] for row in values["nodes"]] + values["switches"]
        if node is not None and node not in names:
            raise UsageError(f"there is no node or switch {node!r}; there are {len(names)}, such as {names[0]!r}")
        known = [row["name"] for row in values["links"]]
        if link is not None and link not in known:
            raise UsageError(f"there is no link {link!r}; there are {len(known)}, such as {known[0]!r}")

        def add(hook: Hook) -> Hook:
            _arguments.check({"hook": hook})
            self._hooks.append((event, node, link, hook))
            return hook

        return add if hook is None else add(hook)

    def stop(self) -> None:
        """Let `run` return after the current step of 10 us of simulated time. Hooks can call this."""
        self._stops = True

    def run(
        self,
        *,
        until: str | None = None,
        threads: int | None = None,
        profile: bool = False,
        paths: bool = False,
        keep_nodes: str | Sequence[str] | None = None,
        keep_time: str | None = None,
        keep_messages: str | Sequence[str] | None = None,
        keep_packets: bool = True,
        cc: str | None = None,
        defines: Mapping[str, str | int] | None = None,
    ) -> Result:
        """Begin a run, or continue it. Results do not depend on how a run is divided into steps.

        Parameters
        ----------
        until
            Simulated time at which this step ends, such as ``"20 us"``. Default: the end of the run.
        threads, profile, paths, keep_nodes, keep_time, keep_messages, keep_packets, cc, defines
            As for `spinet.run`, and only for the call that begins a run.

        Returns
        -------
        Result
            The results so far. `Result.ended` is ``running`` while the run can continue.

        Raises
        ------
        InputError
            If the network is wrong, or was changed after the run began; call `reset` then.
        KeyboardInterrupt
            On Ctrl-C; another call continues the run.
        """
        _arguments.check(
            {"until": until, "profile": profile, "paths": paths, "keep_packets": keep_packets, "cc": cc}
            | {"defines": defines, "threads": threads, "keep_nodes": keep_nodes, "keep_time": keep_time}
            | {"keep_messages": keep_messages}
        )
        end = None if until is None else _core.span_ps(until)
        given = {
            "threads": threads,
            "keep_nodes": keep_nodes,
            "keep_time": keep_time,
            "keep_messages": keep_messages,
        }
        text = json.dumps(self._values, default=str)
        if self._run is None:
            prepared = self._prepared()
            _kinds.check(prepared.kind, "the network", given)
            ready = _programs.built(prepared, {**given, "host_programs": self._programs}, cc=cc, defines=defines)
            self._run = Running(ready, text, self._overview(), profile, paths, keep_packets)
        elif self._run.text != text:
            raise UsageError("the network was changed after its run began", hint="net.reset() ends that run")
        elif any(value is not None for value in given.values()) or profile or paths or cc or defines:
            raise UsageError("the run has begun; only its first call takes these keywords", hint="net.reset() ends it")
        self._stops = False
        self._run.to(end, self._hooks, lambda: self._stops)
        return self._run.result()

    @property
    def now_ps(self) -> int:
        """Simulated time in ps."""
        return self._run.now_ps if self._run else 0

    @property
    def result(self) -> Result:
        """The results so far.

        Raises
        ------
        UsageError
            If the network has not run.
        """
        return self._running().result()

    def _running(self) -> Running:
        if self._run is None:
            raise UsageError("the network has not run", hint="net.run() runs it")
        return self._run

    def reset(self) -> None:
        """End the run; the next one starts again. Results that `run` returned stay valid."""
        if self._run is not None:
            self._run.close()
            self._run = None

    def __enter__(self) -> Self:
        """The network itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the run."""
        self.reset()


class Node:
    """A node of a network: the keys of its entry, and the records of its card after a run.

    ``node["program"]`` reads a key, ``node["program"] = "count.c"`` and `update` set keys, ``del node["program"]``
    removes one.

    Attributes
    ----------
    name, number
        Name and number of the node.
    """

    def __init__(self, network: Network, name: str, number: int) -> None:
        self._network = network
        self.name = name
        self.number = number

    def __repr__(self) -> str:
        """The node's name, card and address."""
        return f"<Node {self.name}: {self.nic}, {self.ip}>"

    def __getitem__(self, key: str) -> Any:
        """The value of a key of the node's entry."""
        return copy.deepcopy(self._network._entry_of(self.number)[key])

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key of the node's entry, or `default` if the entry does not have it."""
        return copy.deepcopy(self._network._entry_of(self.number).get(key, default))

    def __contains__(self, key: object) -> bool:
        """True if the node's entry has a key."""
        return key in self._network._entry_of(self.number)

    def __setitem__(self, key: str, value: Any) -> None:
        """Set a key of the node's entry."""
        self.update({key: value})

    def __delitem__(self, key: str) -> None:
        """Remove a key of the node's entry."""
        if key not in self:
            raise KeyError(key)
        del self._network._entry(self.number)[key]

    def update(self, values: Mapping[str, Any] | None = None, /, **keys: Any) -> None:
        """Set keys of the node's entry: keys of an experiment for its card, such as ``program``, or of a node."""
        plain = _experiments.plain({**(values or {}), **keys})
        self._network._entry(self.number).update(plain)

    @property
    def _row(self) -> Mapping[str, Any]:
        row: Mapping[str, Any] = self._network._overview()["nodes"][self.number]
        return row

    @property
    def nic(self) -> str:
        """Its card: a preset, a file, or ``plain``."""
        return str(self._row["nic"])

    @property
    def ip(self) -> str:
        """Its IPv4 address."""
        return str(self._row["ip"])

    @property
    def mac(self) -> str:
        """Its MAC address."""
        return str(self._row["mac"])

    @property
    def host(self) -> Host:
        """Its host."""
        return Host(self)

    @property
    def result(self) -> NodeResult:
        """The records of the node's card so far.

        Raises
        ------
        UsageError
            If the network has not run, or keeps no records of this node.
        """
        nodes = self._network._running().nodes
        if nodes is None or self.name not in nodes:
            raise UsageError(f"the run keeps no records of a card on {self.name}")
        return nodes[self.name]

    @property
    def packets(self) -> Any:
        """One row for each packet that the card has finished, as a pyarrow table."""
        return self.result.packets

    @property
    def summary(self) -> Mapping[str, Any]:
        """The summary of the card."""
        return self.result.summary

    @property
    def profile(self) -> Profile:
        """The cycles of the card's cores by cause, from a run with ``profile=True``."""
        return self.result.profile

    def host_memory(self, addr: int | str, size: int) -> bytes:
        """Bytes of the host's memory, for cards that run handlers."""
        return self.result.host_memory(addr, size)


class Host:
    """The host of a node."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @property
    def send(self) -> Any:
        """Packets that the host sends: a source such as ``{"source": "udp:count=10", "to": "n3"}``, or several."""
        return self._node.get("send", [])

    @send.setter
    def send(self, sources: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]) -> None:
        self._node["send"] = sources

    @property
    def program(self) -> Program | str | None:
        """The host's program: a function that takes a `spinet.host_program.RunningHost`, or ``"file.py:function"``.

        `to_toml` contains only a program that is given as ``"file.py:function"``.
        """
        text: str | None = self._node.get("host_program")
        return self._node._network._programs.get(self._node.name, text)

    @program.setter
    def program(self, program: Program | str | None) -> None:
        own = self._node._network._programs
        own.pop(self._node.name, None)
        if isinstance(program, str):
            self._node["host_program"] = program
            return
        if "host_program" in self._node:
            del self._node["host_program"]
        if program is not None:
            own[self._node.name] = program

    def memory(self, addr: int | str, size: int) -> bytes:
        """Bytes of the host's memory, for cards that run handlers."""
        return self._node.host_memory(addr, size)
