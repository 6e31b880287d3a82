# SPDX-License-Identifier: Apache-2.0
"""The kinds of cards: one class for each kind that needs code of its own, and the check that a kind has an option.

A kind needs a class here only if it differs from the usual: `Kind` has the reader, report and result for all others.
Few other modules name a kind; `test_kinds.py` lists them.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from spinet import _core, _experiments, _files, output
from spinet._core import UsageError
from spinet._options import CHAINS, HANDLERS, MODULES, NETWORK, OPTIONS
from spinet._timing import Level, Timing

if TYPE_CHECKING:
    from spinet._experiments import Prepared
    from spinet._parameters import NicParams
    from spinet._programs import Ready
    from spinet.comparison.on_card import OnKind
    from spinet.wiring import Design

__all__ = ["CHAINS", "HANDLERS", "MODULES", "NETWORK", "Kind", "check", "get", "names", "of", "of_nic", "option", "who"]

Source: TypeAlias = str | Path | Mapping[str, Any] | None  # of an experiment: file or mapping
Given: TypeAlias = Mapping[str, Any]  # keywords of `spinet.run`, or the command's values by keyword
Defines: TypeAlias = Mapping[str, str | int] | None

_TIME = "give it more simulated time with --limit"
_MOST_CORES = 8  # cores that a message lists


class Kind:
    """A kind of card. The methods of this class suit kinds without special needs.

    Attributes
    ----------
    name, does, example
        Its name; the function of its cards, as text that follows "a card that"; a card of it.
    usual
        The card in messages, if none is named.
    rows
        Its table with a row for each packet or frame.
    to_network, to_host
        Captures of the packets that left; None if there is none.
    keeps_host
        Its runs keep host memory.
    has_nodes
        A run has nodes; each node has its own card and records.
    host_frames
        How frames from a real host reach the network. ``port``: through the card's host port. ``pass``: past the card,
        which has no port for them. ``none``: there are no such frames, because the host is simulated.
    hints
        Hints by the reason for which a run did not finish.
    timing
        Columns of its table that a report draws over time; None if it has no such table.
    """

    usual: ClassVar[str] = "the card"
    rows: ClassVar[str] = "packets"
    to_network: ClassVar[str | None] = output.TO_NETWORK
    to_host: ClassVar[str | None] = output.TO_HOST
    keeps_host: ClassVar[bool] = False
    has_nodes: ClassVar[bool] = False
    host_frames: ClassVar[Literal["port", "pass", "none"]] = "port"
    hints: ClassVar[Mapping[str, str]] = {"limit": _TIME}
    timing: ClassVar[Timing | None] = None

    def __init__(self, name: str, does: str, example: str) -> None:
        self.name: str = name
        self.does: str = does
        self.example: str = example

    @property
    def captures(self) -> list[str]:
        """Names of all its captures."""
        return [name for name in (self.to_network, self.to_host) if name is not None]

    def prepare(self, experiment: Source, given: Given, *, options: bool) -> Prepared:
        """The checked experiment of a file or mapping, and keywords of `spinet.run`."""
        from spinet import api

        return api.of_any(self, experiment, given)

    def built(self, experiment: Prepared, given: Given, *, cc: str | None, defines: Defines) -> Ready:
        """The experiment with its programs built."""
        from spinet._programs import Ready

        return Ready(experiment=experiment, elfs={})

    def check_command(self, options: Given, experiment: str | None, nic: str | None, program: Sequence[str]) -> None:
        """Refuse command lines that make no sense for this kind."""
        if program and experiment is None:
            raise UsageError(f"{program[0]}: {nic} {self.does} and takes no program")

    def counts(self, summary: Mapping[str, Any]) -> str:
        """The counts of packets in one line."""
        packets = summary["packets"]
        return f"{packets['in']} packets in, {packets['out']} out, {packets['dropped']} dropped"

    def where(self, summary: Mapping[str, Any]) -> str:
        """Further lines about a run that did not finish, each after a line end."""
        return ""

    def where_interrupted(self, summary: Mapping[str, Any]) -> str:
        """The same for a run that was interrupted."""
        return ""

    def print_summary(self, prepared: Prepared, summary: dict[str, Any], title: str | None) -> None:
        """Print the report of a run."""
        from spinet.cli import run_report

        run_report.print_common(summary, title=title or self.name)

    def compared(self) -> type[OnKind] | None:
        """The class that runs a comparison on its cards; None if nothing can be compared."""
        return None

    def design(self, nic: str, sets: Sequence[str]) -> Design:
        """The parts and connections of one of its cards, with settings over it, for a drawing."""
        raise UsageError(f"{nic} {self.does}; such cards have no drawing")

    def picture(self, summary: Mapping[str, Any]) -> tuple[str, str, str]:
        """A title, an SVG of the card with its load, and a sentence that explains the load."""
        from spinet import drawing

        nic = summary["experiment"].get("nic", summary["nic"])
        name, changes = (nic, {}) if isinstance(nic, str) else (nic["preset"], nic.get("set", {}))
        busy = {one["name"]: one["utilisation"] for one in summary["resources"]}
        drawn = drawing.svg(self.design(name, [f"{key}={value}" for key, value in changes.items()]), busy=busy)
        about = (
            "The load is the share of time for which a part or a connection was busy; of several copies, the busiest."
        )
        return "The card and its load", drawn, about

    def whole(self, nic: str, sets: Sequence[str], base_dir: str) -> str:
        """Text with all parameters of a card, including those of its base files."""
        return _core.nic_show(nic, list(sets), base_dir)

    def parameters(self, nic: str, sets: Sequence[str]) -> NicParams:
        """The parameters of one of its cards, with settings over it."""
        raise UsageError(
            f"{nic} {self.does}; such cards have no classes of parameters", hint="spinet.nic gives its file"
        )


class _Handlers(Kind):
    """Cards that run handlers."""

    usual = "pspin"
    to_network, to_host = output.SENT, None
    keeps_host = True
    host_frames = "pass"
    hints: ClassVar[Mapping[str, str]] = {
        "limit": f"{_TIME}, or look for a loop where the cores are",
        "stalled": "nothing moved any more: a handler loops, or waits for something that does not come",
        "not_ready": "the program did not tell the card that it is ready: is it built with spinet's runtime?",
    }
    timing = Timing(
        came="arrival_ps",
        bytes="bytes",
        done="done_ps",
        left="sent_ps",
        left_bytes="sent_bytes",
        latency=("stored_ps", "done_ps"),
        levels=(
            Level(
                title="HPUs that run handlers",
                spans=(
                    ("start_ps", "end_ps"),
                    ("header_start_ps", "header_end_ps"),
                    ("completion_start_ps", "completion_end_ps"),
                ),
                groups=("cluster", "header_cluster", "completion_cluster"),
                group="cluster",
                resource="nic.cluster[*].hpus",
            ),
            Level(title="Bytes in packet memory", spans=(("stored_ps", "done_ps"),), weight="bytes"),
            Level(title="Packets in the message queues", spans=(("her_ps", "task_sent_ps"),)),
            Level(
                title="Packets in L1 that wait for an HPU",
                spans=(("copied_ps", "assigned_ps"),),
                groups=("cluster",),
                group="cluster",
            ),
        ),
    )

    def prepare(self, experiment: Source, given: Given, *, options: bool) -> Prepared:
        from spinet import api

        return api.of_handlers(experiment, given)

    def built(self, experiment: Prepared, given: Given, *, cc: str | None, defines: Defines) -> Ready:
        from spinet import _programs

        return _programs.with_handlers(experiment, cc=cc, defines=defines)

    def check_command(self, options: Given, experiment: str | None, nic: str | None, program: Sequence[str]) -> None:
        import click  # only the command comes here

        if not program:
            raise click.UsageError("there is no program: name a C file with handlers, or an experiment file")
        for name in program:
            if name.endswith((".pcap", ".pcapng", ".cap")):
                raise click.UsageError(
                    f"{name} is a capture, which --traffic names: spinet run HANDLER.c --traffic {name}"
                )

    def counts(self, summary: Mapping[str, Any]) -> str:
        packets = summary["packets"]
        trapped = f", {packets['trapped']} trapped" if packets["trapped"] else ""
        return f"{packets['in']} packets in, {packets['done']} done{trapped}"

    def where(self, summary: Mapping[str, Any]) -> str:
        # The text of the summary names a single core.
        return self.where_interrupted(summary) if len(summary["ended"]["cores"]) > 1 else ""

    def where_interrupted(self, summary: Mapping[str, Any]) -> str:
        cores = summary["ended"]["cores"]
        where = [
            f"\n  cluster {core['cluster']} core {core['core']}: {core['place'] or core['pc']}, {core['waiting_for']}"
            for core in cores[:_MOST_CORES]
        ]
        more = f"\n  and {len(cores) - _MOST_CORES} more cores" if len(cores) > _MOST_CORES else ""
        return "".join(where) + more

    def print_summary(self, prepared: Prepared, summary: dict[str, Any], title: str | None) -> None:
        from spinet.cli import run_report

        run_report.print_summary(summary, title=title or prepared.program_name())

    def compared(self) -> type[OnKind] | None:
        from spinet.comparison import on_card

        return on_card.Handlers

    def design(self, nic: str, sets: Sequence[str]) -> Design:
        from spinet.drawing import sketch

        return sketch.design(nic, set=sets)

    def parameters(self, nic: str, sets: Sequence[str]) -> NicParams:
        from spinet.nic_parameters import PspinParams

        return PspinParams.from_table(tomllib.loads(_core.nic_show(nic, list(sets), ".")))


class _Chains(Kind):
    """Cards that run chains of offloads."""

    usual = "panic"
    hints: ClassVar[Mapping[str, str]] = {
        "limit": _TIME,
        "stalled": "nothing moved any more: a service waits for something that does not come",
    }
    timing = Timing(
        came="arrival_ps",
        bytes="bytes",
        done="left_ps",
        left="left_ps",
        left_bytes="bytes_out",
        latency=("arrival_ps", "leaving_ps"),
        levels=(
            Level(title="Packets in the card", spans=(("arrival_ps", "left_ps"),)),
            Level(
                title="Packets in the scheduler",
                spans=(("queued_ps", "scheduled_ps"),),
                groups=("service",),
                group="service",
                table="hops",
            ),
            Level(
                title="Packets in engines",
                spans=(("begun_ps", "finished_ps"),),
                groups=("service",),
                group="service",
                table="hops",
            ),
        ),
    )

    def prepare(self, experiment: Source, given: Given, *, options: bool) -> Prepared:
        from spinet import api

        return api.of_chains(experiment, given, options=options)

    def built(self, experiment: Prepared, given: Given, *, cc: str | None, defines: Defines) -> Ready:
        from spinet import _programs

        return _programs.with_services(experiment, cc=cc, defines=defines)

    def check_command(self, options: Given, experiment: str | None, nic: str | None, program: Sequence[str]) -> None:
        if experiment is None and program:
            raise UsageError(
                f"{program[0]}: {nic or self.usual} runs chains of offloads, not handlers",
                hint=f"a core of it can: --service 'core: riscv, program={program[0]}' --chain 'all: core'",
            )
        for name in ("chains", "services", "tenants") if experiment is not None else ():
            if options[name]:
                raise UsageError(
                    f"{option(name)} belongs into {experiment}", hint=f"write it there: [[{option(name)[2:]}]]"
                )

    def print_summary(self, prepared: Prepared, summary: dict[str, Any], title: str | None) -> None:
        from spinet.cli import chain_report

        chains = (row["name"] for row in summary["chains"] if row["tenant"] is not None)
        chain_report.print_summary(summary, title=title or ", ".join(chains))

    def compared(self) -> type[OnKind] | None:
        from spinet.comparison import on_card

        return on_card.Chains

    def design(self, nic: str, sets: Sequence[str]) -> Design:
        from spinet.drawing import sketch

        return sketch.design(nic, set=sets)

    def parameters(self, nic: str, sets: Sequence[str]) -> NicParams:
        from spinet.chain_parameters import CARDS

        table = tomllib.loads(_core.nic_show(nic, list(sets), "."))
        return CARDS[table.get("model", "panic")].from_table(table)


class _Modules(Kind):
    """Cards that are wired from modules and run firmware."""

    rows = "frames"
    to_network, to_host = output.SENT_FRAMES, output.RECEIVED_FRAMES
    host_frames = "none"
    timing = Timing(
        came="given_ps",
        bytes="bytes",
        done="out_ps",
        left="out_ps",
        left_bytes="bytes",
        latency=("given_ps", "out_ps"),
        way="way",
        levels=(Level(title="Frames in the card", spans=(("given_ps", "out_ps"),)),),
    )

    def prepare(self, experiment: Source, given: Given, *, options: bool) -> Prepared:
        from spinet import api

        return api.of_modules(experiment, given)

    def built(self, experiment: Prepared, given: Given, *, cc: str | None, defines: Defines) -> Ready:
        from spinet import _programs

        return _programs.with_firmware(experiment, given, cc=cc, defines=defines)

    def check_command(self, options: Given, experiment: str | None, nic: str | None, program: Sequence[str]) -> None:
        """Programs are firmware."""

    def counts(self, summary: Mapping[str, Any]) -> str:
        ways = (f"{summary[way]['frames']} of {summary[way]['offered']} {way}" for way in ("sent", "received"))
        return f"frames {', '.join(ways)}"

    def where(self, summary: Mapping[str, Any]) -> str:
        at = (f"{core['path']} is at {core['place']}" for core in summary["cores"] if not core["is_halted"])
        return "".join(f"\n  {line}" for line in [*at, *summary["rings"], *summary["faults"]])

    def print_summary(self, prepared: Prepared, summary: dict[str, Any], title: str | None) -> None:
        from spinet.cli import card_report

        card_report.print_summary(summary)

    def compared(self) -> type[OnKind] | None:
        from spinet.comparison import on_card

        return on_card.Modules

    def design(self, nic: str, sets: Sequence[str]) -> Design:
        from spinet import wiring

        return wiring.design(nic, set=sets)

    def whole(self, nic: str, sets: Sequence[str], base_dir: str) -> str:
        return _core.card_design(nic, list(sets), base_dir)

    def parameters(self, nic: str, sets: Sequence[str]) -> NicParams:
        from spinet._wired_parameters import WiredParams

        return WiredParams._of(nic, sets)


class _Network(Kind):
    """Networks of cards."""

    rows = "frames"
    to_network, to_host = None, None
    has_nodes = True

    def built(self, experiment: Prepared, given: Given, *, cc: str | None, defines: Defines) -> Ready:
        from spinet import _programs

        return _programs.of_nodes(experiment, given, cc=cc, defines=defines)

    def counts(self, summary: Mapping[str, Any]) -> str:
        packets = summary["packets"]
        return f"{packets['in']} frames sent, {packets['out']} received, {packets['dropped']} dropped"

    def picture(self, summary: Mapping[str, Any]) -> tuple[str, str, str]:
        from spinet.network_overview import Overview

        title = "The network and its load"
        about = "The load is the share of time for which the busier direction of a link was busy."
        return title, Overview.of_summary(summary, title=title).svg(), about

    def print_summary(self, prepared: Prepared, summary: dict[str, Any], title: str | None) -> None:
        from spinet.cli import network_report

        network_report.print_summary(summary, title=title or self.name)


_OWN: Mapping[str, type[Kind]] = {HANDLERS: _Handlers, CHAINS: _Chains, MODULES: _Modules, NETWORK: _Network}


def catalogue(known: Sequence[tuple[str, str, str]]) -> Mapping[str, Kind]:
    """The kinds of these names, each with what its cards do and a card of it."""
    return {name: _OWN.get(name, Kind)(name, does, example) for name, does, example in known}


_ALL = catalogue(_core.kinds_of_cards())


def names() -> list[str]:
    """Names of all kinds."""
    return list(_ALL)


def get(name: str) -> Kind:
    """The kind of this name."""
    return _ALL[name]


def option(keyword: str) -> str:
    """The option of the command that has this keyword's value."""
    return OPTIONS[keyword].name


def has(keyword: str, kind: str) -> bool:
    """True if cards of this kind have this keyword."""
    return kind in OPTIONS[keyword].kinds


def who(kinds: Sequence[str]) -> str:
    """Cards of these kinds, for messages.

    >>> who(["chains"])
    'cards that run chains of offloads (such as panic)'
    """
    if set(kinds) == set(_ALL) - {NETWORK}:
        return "runs of a single card"
    such_as = {kind: f" (such as {get(kind).example})" if get(kind).example else "" for kind in kinds}
    return "cards that " + " or ".join(f"{_plural(get(kind).does)}{such_as[kind]}" for kind in kinds)


def of_nic(nic: str) -> str | None:
    """The kind of a card, by name or file; None if there is no such card."""
    kind = _core.kind_of_nic(nic)
    if kind != HANDLERS:
        return kind
    is_known = nic in (name for name, _about in _core.nic_list()) or Path(nic).is_file()
    return HANDLERS if is_known else None


def of(experiment: str | Path | Mapping[str, Any] | None, nic: str | None, *, has_chains: bool) -> str:
    """The kind of a run: that of its card, else of its experiment, else chains if it names chains.

    Raises
    ------
    UsageError
        If the card and the experiment are of different kinds.
    """
    kind = None if nic is None else of_nic(nic)
    stated = None if experiment is None else _of_experiment(experiment)
    if kind is not None and stated is not None and stated != kind:
        subject = "the experiment" if isinstance(experiment, Mapping) else experiment
        if stated == NETWORK:
            hint = "nodes name their cards: write `nic` in [[nodes]], or above them for nodes that name none"
            raise UsageError(f"{subject} {get(stated).does}; {nic} {get(kind).does}", hint=hint)
        says = "has chains of offloads" if stated == CHAINS else "has no chains of offloads"
        raise UsageError(f"{subject} {says}; {nic} {get(kind).does}")
    return kind or stated or (CHAINS if has_chains else HANDLERS)


def _of_experiment(experiment: str | Path | Mapping[str, Any]) -> str | None:
    if isinstance(experiment, Mapping):
        text = json.dumps(_experiments.plain(experiment))
        return _core.kind_of_experiment(text, _experiments.base_dir_of(experiment), "json")
    path = Path(experiment)
    format = "json" if path.suffix == ".json" else "toml"
    try:
        text = _files.read(path).decode()
        _core.check_limits(text, str(path), format)
        json.loads(text) if format == "json" else tomllib.loads(text)
    except (_core.InputError, ValueError, RecursionError):
        return None  # the function that reads it as an experiment reports the error
    return _core.kind_of_experiment(text, str(path.absolute().parent), format)


def check(kind: str, subject: object, given: Mapping[str, object], *, options: bool = False) -> None:
    """Refuse the first keyword that this kind of card does not have; `subject` is the card or the experiment.

    Parameters
    ----------
    given
        Keywords and their values; false values count as not given.
    options
        Name options of the command in place of keywords.

    Raises
    ------
    UsageError
        The text names the keyword, and the kinds that have it.
    """
    for keyword, known in OPTIONS.items():
        value = given.get(keyword)
        if value is None or value is False or value == () or value == [] or kind in known.kinds:
            continue
        name = known.name if options else keyword
        hint = known.hints.get(kind, "") if options else ""
        raise UsageError(f"{name} is for {who(known.kinds)}; {subject} {get(kind).does}", hint=hint)


def _plural(does: str) -> str:
    return does.replace("runs", "run").replace("is ", "are ")
