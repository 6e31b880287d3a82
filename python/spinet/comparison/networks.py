# SPDX-License-Identifier: Apache-2.0
"""Networks side by side, such as versions of one application on NICs, in switches and on hosts: `compare_networks`."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from spinet import _core, _html, api
from spinet._core import InputError, UsageError
from spinet.experiment import Experiment
from spinet.network import Network
from spinet.output import OutputFolder

if TYPE_CHECKING:
    from spinet.result import Result

    Given = str | Path | Mapping[str, Any] | Experiment | Network

_T = TypeVar("_T")
_R = TypeVar("_R")

JSON, CSV = "compare.json", "compare.csv"

DEFINITIONS = {
    "completion_ns": "from the first frame that entered the network, or with a schedule from time 0, until the last "
    "frame was delivered, the last card was done with its packet, and the last host with its operation",
    "entered_bytes": "bytes of frames without FCS, each once, where it entered the network",
    "link_bytes": "bytes of frames without FCS on all links; a frame counts once for each link",
    "busiest_link": "the direction of a link with frames on it for the longest time; share: of the completion time",
    "host_cpu_ns": "time of all hosts' processors for computations and messages of the schedule; 0 if no host does "
    "anything, null if hosts run programs, whose processor time is not modelled",
    "handler_cycles": "cycles of the cores of all cards in handlers",
}


@dataclass(frozen=True, kw_only=True)
class BusiestLink:
    """A direction of a link.

    Attributes
    ----------
    name, sender, receiver
        The link, and the nodes at its ends.
    bytes
        Bytes of frames without FCS that crossed it.
    share
        Share of the completion time in which frames were on it, 0 to 1.
    """

    name: str
    sender: str
    receiver: str
    bytes: int
    share: float


@dataclass(frozen=True, kw_only=True)
class NetworkRow:
    """The values of one network. Times are in nanoseconds; docs/reference/compare.md defines each.

    Attributes
    ----------
    network
        Its name.
    nodes, switches
        Number of nodes, and number of switches.
    cards
        Number of nodes with each card.
    ended, ended_text
        ``complete``, or why it ended early.
    completion_ns, entered_bytes, link_bytes
        The time that it took, and its traffic.
    dropped
        Frames that were dropped or lost.
    busiest_link
        None without frames.
    host_cpu_ns, busiest_host_cpu_ns
        Processor time of all hosts, and of the host with most of it.
    handler_cycles, handler_runs
        Cycles in handlers, and runs of handlers, on all cards.
    busiest_card, busiest_card_cycles
        The node whose card has the most cycles in handlers.
    digest
        Digest of the run.
    """

    network: str
    nodes: int
    switches: int
    cards: Mapping[str, int]
    ended: str
    ended_text: str
    completion_ns: float
    entered_bytes: int
    link_bytes: int
    dropped: int
    busiest_link: BusiestLink | None
    host_cpu_ns: float | None
    busiest_host_cpu_ns: float | None
    handler_cycles: int
    handler_runs: int
    busiest_card: str | None
    busiest_card_cycles: int
    digest: str


@dataclass(frozen=True, kw_only=True, repr=False)
class NetworkComparison:
    """Result of `compare_networks`.

    Attributes
    ----------
    rows
        One for each network, in the order in which they were given.
    """

    rows: list[NetworkRow]

    def __repr__(self) -> str:
        """One line: the completion time of each network."""
        times = ", ".join(f"{row.network} {row.completion_ns:,.0f} ns" for row in self.rows)
        return f"<NetworkComparison: {times}>"

    def _repr_html_(self) -> str:
        """For notebooks: a line for each network."""
        head = ("network", "time, ns", "bytes on links", "busiest link", "host CPU, ns", "handler cycles")
        rows: list[tuple[object, ...]] = [
            (
                row.network,
                row.completion_ns,
                row.link_bytes,
                None if row.busiest_link is None else f"{100 * row.busiest_link.share:.0f} %",
                row.host_cpu_ns,
                row.handler_cycles,
            )
            for row in self.rows
        ]
        return _html.heading("Comparison of networks", "") + _html.table(head, rows)

    def __getitem__(self, network: str) -> NetworkRow:
        """The row of a network.

        Raises
        ------
        KeyError
            If there is none of that name.
        """
        for row in self.rows:
            if row.network == network:
                return row
        raise KeyError(network)

    @property
    def is_complete(self) -> bool:
        """Every network came to its end."""
        return all(row.ended == "complete" for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        """Everything, as ``compare.json`` has it; docs/reference/compare.md."""
        return {
            "spinet": _core.version(),
            "networks": [_as_json(row) for row in self.rows],
            "definitions": DEFINITIONS,
        }

    def as_csv(self) -> str:
        """The table: a line for each network."""
        out = io.StringIO()
        table = csv.DictWriter(out, _COLUMNS, restval="", lineterminator="\n")
        table.writeheader()
        for row in self.rows:
            link = row.busiest_link
            values = {name: getattr(row, name) for name in _COLUMNS if hasattr(row, name)}
            values["busiest_link"] = None if link is None else link.name
            table.writerow(
                values
                | {
                    "busiest_link_bytes": None if link is None else link.bytes,
                    "busiest_link_share": None if link is None else link.share,
                }
            )
        return out.getvalue()

    def save(self, directory: str | Path, *, force: bool = False) -> None:
        """Write a new folder with ``compare.json`` and ``compare.csv``.

        Raises
        ------
        OutputError
            If the folder exists or cannot be written.
        """
        with OutputFolder(Path(directory), force=force, holds=JSON) as folder:
            self.write(folder.path)
            folder.commit()

    def write(self, folder: Path) -> None:
        """Write the same files into an existing folder."""
        (folder / JSON).write_text(json.dumps(self.as_json(), indent=2) + "\n")
        (folder / CSV).write_text(self.as_csv())


_COLUMNS = (
    "network", "nodes", "switches", "ended", "completion_ns", "entered_bytes", "link_bytes", "dropped", "busiest_link",
    "busiest_link_bytes", "busiest_link_share", "host_cpu_ns", "busiest_host_cpu_ns", "handler_cycles", "handler_runs",
    "busiest_card", "busiest_card_cycles", "digest",
)  # fmt: skip


def _as_json(row: NetworkRow) -> dict[str, Any]:
    values = dataclasses.asdict(row)
    values["ended"] = {"reason": values.pop("ended"), "text": values.pop("ended_text")}
    return values


def compare_networks(
    networks: Mapping[str, Given] | Sequence[str | Path],
    *,
    seed: int | None = None,
    limit: str | None = None,
    threads: int | None = None,
    defines: Mapping[str, str | int] | None = None,
    on_network: Callable[[str], None] | None = None,
) -> NetworkComparison:
    """Run several networks, and report time, traffic, host processors and handlers of each in the same terms.

    Parameters
    ----------
    networks
        Names and experiments with networks: files, mappings as for `spinet.run`, or `spinet.Network`. In a list of
        files, the name without ``.toml`` is the name of the network.
    seed, limit, threads, defines
        As in `spinet.run`; they hold for each network.
    on_network
        Called with the name of each network before it runs.

    Raises
    ------
    InputError
        If something that was given cannot be used.

    Examples
    --------
    >>> import spinet
    >>> from spinet.collectives import Flare, Group
    >>> link = {"rate": "10G", "delay": "300 ns"}
    >>> result = spinet.compare_networks({
    ...     "ring": Group(operation="ring", size=4, n_bytes=65536).network(link=link),
    ...     "flare": Flare(hosts=4, elements=16384, buffers="tree").network(link=link),
    ... })
    >>> result["flare"].completion_ns < result["ring"].completion_ns, result["flare"].host_cpu_ns
    (True, 0.0)
    """
    # All are read before the first one runs.
    given = {name: _naming_errors(name, network, _read) for name, network in _named(networks).items()}
    rows = []
    for name, experiment in given.items():
        if on_network is not None:
            on_network(name)
        result = _naming_errors(
            name, experiment, lambda it: api.run(it, seed=seed, limit=limit, threads=threads, defines=defines)
        )
        rows.append(_row(name, experiment, result))
    return NetworkComparison(rows=rows)


def _named(networks: Mapping[str, Given] | Sequence[str | Path]) -> dict[str, Given]:
    if isinstance(networks, str | Path):
        raise UsageError(f"{networks}: one file is not a list", hint="give a list of files, or names and networks")
    named: dict[str, Given] = {}
    for name, network in (
        networks.items() if isinstance(networks, Mapping) else ((Path(it).stem, it) for it in networks)
    ):
        if name in named:
            raise UsageError(
                f"{network}: there are two networks with the name {name}", hint="a mapping gives each its own name"
            )
        named[name] = network
    if not named:
        raise UsageError("there is no network to compare")
    return named


def _read(network: Given) -> Experiment | Mapping[str, Any]:
    if isinstance(network, Network):
        if network._programs:
            raise UsageError("its hosts have programs that are functions", hint="give them as 'file.py:function'")
        network = network.experiment
    experiment = Experiment.load(network) if isinstance(network, str | Path) else network
    if api.prepare(experiment, {}).kind != "network":
        raise UsageError("an experiment with one card, no network", hint="without --network, cards are compared")
    return experiment


def _naming_errors(name: str, given: _T, does: Callable[[_T], _R]) -> _R:
    """Call `does`, and name the network in its errors."""
    try:
        return does(given)
    except InputError as error:
        raise UsageError(f"{name}: {error}", hint=getattr(error, "hint", "")) from error


def _row(name: str, keys: Mapping[str, Any], result: Result) -> NetworkRow:
    summary = result.summary
    cpu = _host_cpu_ns(keys, result)
    cycles: Counter[str] = Counter()
    runs = 0
    for node in result.nodes:
        for handler in result.nodes[node].summary.get("handlers", ()):
            cycles[node] += handler["cycles"]["total"]
            runs += handler["runs"]
    completion_ns = _completion_ns(result)
    busiest_card, most = next(iter(cycles.most_common(1)), (None, 0))
    return NetworkRow(
        network=name,
        nodes=len(summary["nodes"]),
        switches=len(summary["switches"]),
        cards=dict(Counter(node["nic"] for node in summary["nodes"])),
        ended=summary["ended"]["reason"],
        ended_text=summary["ended"]["text"],
        completion_ns=completion_ns,
        entered_bytes=summary["packets"]["in_bytes"],
        link_bytes=sum(link["bytes"] for link in summary["links"]),
        dropped=summary["packets"]["dropped"],
        busiest_link=_busiest(summary, completion_ns),
        host_cpu_ns=None if cpu is None else float(sum(cpu.values())),
        busiest_host_cpu_ns=None if cpu is None else float(max(cpu.values(), default=0)),
        handler_cycles=cycles.total(),
        handler_runs=runs,
        busiest_card=busiest_card,
        busiest_card_cycles=most,
        digest=result.digest,
    )


def _completion_ns(result: Result) -> float:
    import pyarrow.compute as pc

    frames = result.table("frames")
    begun = pc.min(frames.filter(pc.equal(frames["event"].cast("string"), "entered"))["at_ps"]).as_py()
    schedule = result.summary["schedule"]
    if begun is None and schedule is None:
        return 0.0
    ends = [pc.max(frames.filter(pc.equal(frames["event"].cast("string"), "delivered"))["tail_ps"]).as_py()]
    ends += [
        pc.max(packets["done_ps"]).as_py()
        for packets in (result.nodes[node].packets for node in result.nodes)
        if "done_ps" in packets.schema.names
    ]
    if schedule is not None:
        begun = 0
        ends.append(round(schedule["finish_ns"] * 1000))
    return float((max((end for end in ends if end is not None), default=begun) - begun) / 1000)


def _busiest(summary: Mapping[str, Any], completion_ns: float) -> BusiestLink | None:
    link = max(summary["links"], key=lambda link: link["utilisation"], default=None)
    if link is None or not link["frames"]:
        return None
    busy_ns = link["utilisation"] * summary["time"]["simulated_ns"]
    return BusiestLink(
        name=link["name"],
        sender=link["from"],
        receiver=link["to"],
        bytes=link["bytes"],
        share=busy_ns / completion_ns if completion_ns else 0.0,
    )


def _host_cpu_ns(keys: Mapping[str, Any], result: Result) -> dict[int, float] | None:
    """Processor time by host; None if hosts run programs."""
    if any("host_program" in node for node in keys.get("nodes", ())):
        return None
    if "schedule" not in keys:
        return {}
    import pyarrow.compute as pc

    operations = result.table("operations").select(["rank", "started_ps", "done_ps"]).drop_null()
    busy = pc.subtract(operations["done_ps"], operations["started_ps"])
    sums = operations.append_column("busy", busy).group_by("rank").aggregate([("busy", "sum")])
    return {rank: ps / 1000 for rank, ps in zip(sums["rank"].to_pylist(), sums["busy_sum"].to_pylist(), strict=True)}
