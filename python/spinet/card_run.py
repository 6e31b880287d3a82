# SPDX-License-Identifier: Apache-2.0
"""Runs of cards that are wired from modules: firmware and traffic in, frames, rates and where time went out."""

from __future__ import annotations

import contextlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _core, _driving, _files, _nics, firmware, output, packet_table
from spinet._core import InputError, UsageError
from spinet._nics import Settings

if TYPE_CHECKING:
    from spinet._core import Progress
    from spinet._nics import Card

__all__ = ["CardResult", "Firmware", "Rate", "choose_firmware", "run_card"]

_NO_FILE = "keywords"

OnProgress = Callable[["Progress"], None]


@dataclass(frozen=True, kw_only=True)
class Firmware:
    """The program of a card's cores: a linked program, or a driver's image."""

    elf: Path | None = None
    image: Path | None = None
    load: int | None = None  # address of an image without a header
    entry: int | None = None  # where execution of that begins; `load` if None
    messages: str = ""  # what the compiler said


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Frames of a direction while both directions were active, without the first 100."""

    frames: int
    bytes: int  # without frame check sequence
    ns: float
    frames_per_s: float
    gbps: float  # of frames, without check sequence, preamble and gap


@dataclass(frozen=True)
class CardResult:
    """Result of a run; `summary` is the output of ``--json`` (docs/reference/card-summary.md)."""

    summary: Mapping[str, Any]

    @property
    def ended(self) -> str:
        """Why it ended: ``complete``, ``limit``, ``trouble``, ``stalled`` or ``quiet``."""
        return str(self.summary["ended"]["reason"])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Problems in the simulated world and likely mistakes, one sentence each."""
        return tuple(str(remark["text"]) for remark in self.summary["remarks"])

    @property
    def sent(self) -> Rate:
        """From host to network."""
        return Rate(**self.summary["sent"]["rate"])

    @property
    def received(self) -> Rate:
        """From network to host."""
        return Rate(**self.summary["received"]["rate"])

    @property
    def total(self) -> Rate:
        """Both ways."""
        return Rate(**self.summary["total"])

    @property
    def is_intact(self) -> bool:
        """Every frame that came out is one that was given, in order and once."""
        return all(not self.summary[way][what] for way in ("sent", "received") for what in ("late", "unknown"))

    def counter(self, path: str) -> int:
        """A counter of a part, such as ``sram.busy_cycles``.

        Raises
        ------
        KeyError
            If there is no such counter.
        """
        return int(self.summary["counters"][path])


def run_card(
    nic: Card = "tigon2",
    *,
    firmware: str | Path | Sequence[str | Path] | None = None,
    defines: Mapping[str, str | int] | None = None,
    cc: str | None = None,
    load: int | None = None,
    entry: int | None = None,
    traffic: str | Path | None = None,
    send: str | Path | None = None,
    set: Settings = (),
    pacing: str | None = None,
    count: int | None = None,
    faults: str | None = None,
    limit: str | None = None,
    seed: int = 1,
    profile: bool = True,
    base_dir: str | Path = ".",
    folder: str | Path | None = None,
    on_progress: OnProgress | None = None,
) -> CardResult:
    """Run a card that is wired from modules.

    Parameters
    ----------
    nic
        Name of a card, or path of its file.
    firmware
        What its cores execute: the name of one that comes with spinet, sources, an ELF file, or an image with a header
        of 12 bytes. By default the one for the card's host.
    defines
        Preprocessor macros for firmware that is compiled.
    cc
        Another compiler for it.
    load, entry
        Addresses of an image without a header.
    traffic
        What comes from the network: ``datagrams:bytes=1472`` (endless, checked by number), ``udp:size=64,count=10``,
        a capture.
    send
        What the host sends, in the same words; or ``tcp-ack:every=2``, an acknowledgement for every second frame that
        it received.
    set
        Changes of the card, such as ``"clocks.memory=133 MHz"`` or ``"cpu_a.scratchpad_bytes=8192"``.
    pacing
        When frames of captures and generators come: ``times``, ``times:0.5``, ``line:1G``, ``asap``.
    count
        Take only this number of frames of `traffic` and of `send`.
    faults
        What the network does to `traffic`: ``loss=0.01,duplicate=0.001``.
    limit
        End of the run in simulated time. By default the run ends when all frames are accounted for; with endless
        traffic, 40 ms after the card has started.
    seed
        Decides everything random.
    profile
        Count cycles by function.
    base_dir
        Where paths begin.
    folder
        A new folder for ``summary.json``, ``frames.parquet``, ``sent.pcapng`` and ``received.pcapng``.
    on_progress
        Called about ten times a second.

    Raises
    ------
    InputError
        If something that was given cannot be used.

    Examples
    --------
    >>> result = run_card("tigon2", send="datagrams:bytes=1472,count=20", limit="60 ms")
    >>> result.ended, result.summary["sent"]["good"]
    ('complete', 20)
    """
    nic, set = _nics.name_of(nic, set)
    with contextlib.ExitStack() as stack:
        # Check the folder first, so that its error appears before the run.
        made = None if folder is None else stack.enter_context(output.OutputFolder(Path(folder)))
        given = said(
            nic,
            set,
            traffic=traffic,
            send=send,
            pacing=pacing,
            count=count,
            faults=faults,
            limit=limit,
            seed=seed,
            profile=profile,
        )
        chosen = choose_firmware(
            nic, firmware, defines=defines, cc=cc, load=load, entry=entry, set=set, base_dir=base_dir
        )
        summary = drive(given, chosen, base_dir=base_dir, folder=made.path if made else None, on_progress=on_progress)
        if made is not None:
            made.commit()
    if summary["ended"]["reason"] == _driving.INTERRUPTED:
        raise _driving.Interrupted(summary)
    return CardResult(summary)


def choose_firmware(
    nic: str,
    named: str | Path | Sequence[str | Path] | None,
    *,
    defines: Mapping[str, str | int] | None = None,
    cc: str | None = None,
    load: int | None = None,
    entry: int | None = None,
    set: Sequence[str] = (),
    base_dir: str | Path = ".",
) -> Firmware:
    """The firmware of this name; sources are compiled."""
    names: Sequence[str | Path] = [named] if isinstance(named, (str, Path)) else list(named or ())
    if not names:
        own = _core.card_firmware(nic, list(set), str(base_dir))
        if own is None:
            return Firmware()
        names = [own]
    if entry is not None and load is None:
        raise UsageError(
            f"{names[0]}: an entry goes with a load address", hint="say where the image is loaded with --load"
        )
    first = Path(base_dir) / names[0]
    if len(names) == 1 and first.is_file() and first.suffix not in (".c", ".S"):
        if defines:
            raise UsageError(f"{names[0]} is not compiled, so macros change nothing", hint="leave -D away")
        with first.open("rb") as file:
            is_elf = file.read(4) == b"\x7fELF"
        if is_elf and load is not None:
            raise UsageError(f"{names[0]} is an ELF file, which says itself where it is loaded")
        return Firmware(elf=first) if is_elf else Firmware(image=first, load=load, entry=entry)
    if load is not None:
        raise UsageError(f"{names[0]}: only an image has a load address", hint="name an image")
    built = firmware.build([str(name) for name in names], defines=defines, cc=cc)
    return Firmware(elf=built.elf, messages=built.messages)


def said(
    nic: str,
    set: Sequence[str],
    *,
    traffic: str | Path | None,
    send: str | Path | None,
    pacing: str | None,
    count: int | None,
    faults: str | None,
    limit: str | None,
    seed: int,
    profile: bool,
) -> dict[str, Any]:
    """An experiment of these keywords."""
    terms = {key: value for key, value in (("pacing", pacing), ("count", count)) if value is not None}
    values = {
        "nic": {"preset": nic, "set": list(set)},
        "traffic": None if traffic is None else {"source": str(traffic), **terms},
        "send": None if send is None else {"source": str(send), **terms},
        "faults": faults,
        "limit": limit,
        "seed": seed,
        "profile": profile,
    }
    return {key: value for key, value in values.items() if value is not None}


def read(path: Path) -> dict[str, Any]:
    """The experiment in a file.

    Raises
    ------
    InputError
        If it cannot be read, or says what no experiment for such a card says.
    """
    try:
        text = _files.read(path).decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text: byte {error.start} is not UTF-8") from error
    kind = "json" if path.suffix == ".json" else "toml"
    _core.check_experiment(text, str(path), str(path.absolute().parent), kind, "modules")
    values: dict[str, Any] = json.loads(text) if kind == "json" else tomllib.loads(text)
    return values


def drive(
    experiment: Mapping[str, Any],
    chosen: Firmware,
    *,
    file: str = _NO_FILE,
    base_dir: str | Path,
    folder: Path | None = None,
    on_progress: OnProgress | None,
) -> dict[str, Any]:
    """Run to the end, or to Ctrl-C, and write all results into `folder`, if one is named; the summary."""
    values = {**experiment}
    if chosen.image is not None:
        addresses = {"load": chosen.load, "entry": chosen.entry}
        stated = {key: value for key, value in addresses.items() if value is not None}
        values["firmware"] = {"program": str(chosen.image), **stated}
    text = json.dumps(values)
    frames = packet_table.Collected(_core.frame_columns())
    try:
        run = _core.Run(
            text,
            file=file,
            base_dir=str(base_dir),
            format="json",
            programs={} if chosen.elf is None else {"": str(chosen.elf)},
            captures=None if folder is None else str(folder),
            tables=folder is not None,
        )
    except InputError as error:
        raise InputError(str(error).removeprefix(f"{_NO_FILE}: ")) from None

    def look() -> None:
        for table in run.take_tables().values():
            frames.append(table)

    try:
        try:
            summary = _driving.to_the_end(run, on_slice=look, on_progress=on_progress)
        except _driving.Interrupted as stopped:
            summary = dict(stopped.summary)
        if folder is not None:
            _write(folder, frames, summary)
        return summary
    finally:
        run.close()


def _write(folder: Path, frames: packet_table.Collected, summary: Mapping[str, Any]) -> None:
    import pyarrow.parquet as pq

    (folder / output.SUMMARY).write_text(json.dumps(summary, indent=2) + "\n")
    (folder / output.EXPERIMENT).write_text(json.dumps(summary["experiment"], indent=2) + "\n")
    pq.write_table(packet_table.to_arrow(frames.all(), _core.frame_columns()), folder / output.FRAMES)
