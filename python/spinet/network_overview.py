# SPDX-License-Identifier: Apache-2.0
"""A network before or after its run: counts, checks, and its picture."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from spinet import _core, _files, _kinds, output
from spinet._core import UsageError
from spinet.drawing import network as drawing

if TYPE_CHECKING:
    from spinet._experiments import Prepared


def count_of(number: int, what: str) -> str:
    """A number with its noun: `1 link`, `2 links`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


@dataclass(frozen=True, kw_only=True)
class Overview:
    """Counts and picture of a network.

    Attributes
    ----------
    title
        Title of the picture.
    values
        Nodes, switches, links, diameter, bisection and window, as `spinet net show --json` prints them.
    summary
        The summary of the run; None before a run.
    memory_bytes
        Measured memory of the nodes before the first frame; None if they were not built.
    """

    title: str
    values: Mapping[str, Any]
    summary: Mapping[str, Any] | None = None
    memory_bytes: int | None = field(default=None)

    @classmethod
    def of(cls, prepared: Prepared, *, title: str, summary: Mapping[str, Any] | None = None) -> Self:
        """The network of a checked experiment."""
        text, file = prepared.text(), prepared.file
        values = json.loads(_core.network_overview(text, file, prepared.base_dir, prepared.format()))
        return cls(title=title, values=values, summary=summary)

    @classmethod
    def of_summary(cls, summary: Mapping[str, Any], *, title: str) -> Self:
        """The network of a run, with its load."""
        text = json.dumps(summary["experiment"])
        values = json.loads(_core.network_overview(text, title, ".", "json"))
        return cls(title=title, values=values, summary=summary)

    @classmethod
    def of_folder(cls, folder: Path) -> Self:
        """The network of a run, with its load, from the run's folder.

        Raises
        ------
        UsageError
            If the folder is not the result of a network's run.
        """
        hint = "spinet run NETWORK.toml -o DIR writes it"
        summary = output.read(folder / output.SUMMARY, lambda file: dict(json.loads(_files.read(file))), hint=hint)
        if summary.get("kind") != _kinds.NETWORK:
            raise UsageError(f"{folder} is the run of a single card, must be the run of a network", hint=hint)
        return output.read(folder / output.SUMMARY, lambda _: cls.of_summary(summary, title=folder.name), hint=hint)

    def json(self) -> dict[str, Any]:
        """All values, as `spinet net show --json` prints them."""
        found = {**self.values, "memory_bytes": self.memory_bytes}
        if self.summary is not None:
            found |= {key: self.summary[key] for key in ("digest", "packets")}
            found["load"] = {"links": self.summary["links"], "switches": self.summary["switches"]}
        return found

    def lines(self) -> list[str]:
        """Counts as text."""
        values = self.values
        nodes, links = values["nodes"], values["links"]
        cards = ", ".join(f"{count:,} {nic}" for nic, count in Counter(node["nic"] for node in nodes).most_common())
        rates = Counter(drawing.rate(link["rate_bps"]) for link in links).most_common()
        far = "more than 8,192 nodes and switches: not computed"
        cut = values["bisection"]
        if cut is None:
            between = far
        else:
            gbps = "links without a rate" if cut["gbps"] is None else f"{cut['gbps']:,.6g} Gbit/s"
            between = f"{count_of(cut['links'], 'link')}, {gbps} between the first and the second half of the nodes"
        diameter = far if values["diameter"] is None else count_of(values["diameter"], "link")
        lines = [
            f"nodes      {len(nodes):,}: {cards}",
            f"switches   {len(values['switches']):,}",
            f"links      {len(links):,}: {', '.join(f'{count:,} of {rate}' for rate, count in rates)}",
            f"diameter   {diameter}",
            f"bisection  {between}",
            f"window     {drawing.time(values['window_ns'])}, the least delay of a link",
        ]
        if self.memory_bytes is not None:
            lines.append(f"memory     {self.memory_bytes / 2**20:,.1f} MiB before the first frame")
        if self.summary is not None:
            busiest = max(self.summary["links"], key=lambda one: one["utilisation"], default=None)
            dropped, marked = self.summary["packets"]["dropped"], self.summary["packets"]["marked"]
            pauses = sum(one["pauses"] for one in self.summary["links"])
            lines.append(f"load       {dropped:,} frames dropped, {marked:,} marked, {pauses:,} pause frames")
            if busiest is not None:
                share = 100 * busiest["utilisation"]
                lines.append(f"busiest    {busiest['from']} to {busiest['to']}, {share:.1f} % of the time")
        return lines

    def svg(self) -> str:
        """The picture, as the text of an SVG file."""
        return drawing.svg(self.values, title=self.title, summary=self.summary)

    def html(self) -> str:
        """The picture with the counts and the links, as the text of an HTML file."""
        rows = "".join(f"<tr>{cells}</tr>" for cells in map(_row, self._links()))
        headings = _row((*_LINK, *(_LOADS if self.summary else ())), tag="th")
        counts = html.escape("\n".join(self.lines()))
        return (
            f'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>{html.escape(self.title)}</title>\n'
            "<style>body{font-family:sans-serif;margin:2rem}table{border-collapse:collapse}"
            "td,th{padding:.2rem .7rem;border-bottom:1px solid #ccc;text-align:left}"
            "svg{max-width:100%;height:auto}</style></head>\n"
            f"<body>\n{self.svg()}<pre>{counts}</pre>\n<table><thead><tr>{headings}</tr></thead>"
            f"<tbody>{rows}</tbody></table>\n</body>\n</html>\n"
        )

    def _links(self) -> list[tuple[object, ...]]:
        """A row for each direction of each link."""
        load = {(one["name"], one["from"]): one for one in self.summary["links"]} if self.summary else {}
        rows: list[tuple[object, ...]] = []
        for link in self.values["links"]:
            for start, end, rate in (("from", "to", "rate_bps"), ("to", "from", "rate_back_bps")):
                row: tuple[object, ...] = (
                    link["name"],
                    link[start],
                    link[end],
                    drawing.rate(link[rate]),
                    drawing.time(link["delay_ns"]),
                )
                found = load.get((link["name"], link[start]))
                if found:
                    share = f"{100 * found['utilisation']:.1f} %"
                    row = (*row, share, found["frames"], found["lost"], found["pauses"])
                rows.append(row)
        return rows


_LINK = ("link", "from", "to", "rate", "delay")
_LOADS = ("busy", "frames", "lost", "pauses")


def _row(values: tuple[object, ...], *, tag: str = "td") -> str:
    return "".join(f"<{tag}>{html.escape(str(value))}</{tag}>" for value in values)


def built(file: Path) -> Overview:
    """The network of a file, after all its programs and cards were built.

    Raises
    ------
    InputError
        If the file does not describe a network, or a part of the network cannot be built.
    """
    from spinet import _programs, _simulation, api

    prepared = api.prepare(file, {}, options=True)
    if prepared.kind != _kinds.NETWORK:
        does = _kinds.get(prepared.kind).does
        raise UsageError(f"{file} is for a card that {does}, must be for a network", hint="spinet nic show draws cards")
    ready = _programs.built(prepared, {}, cc=None, defines=None)
    overview = Overview.of(prepared, title=file.stem)
    before = _resident()
    native = _simulation.start(ready)
    after = _resident()
    native.close()
    grown = None if before is None or after is None else max(after - before, 0)
    return Overview(title=overview.title, values=overview.values, memory_bytes=grown)


def _resident() -> int | None:
    """Memory of this process in bytes; None if the system does not report it."""
    import resource

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * resource.getpagesize()
