# SPDX-License-Identifier: Apache-2.0
"""Cards by name: the list, their parameters, and their cost."""

from __future__ import annotations

import functools
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from spinet import _core, _files, _html, _kinds, _nics, wiring
from spinet._nics import Settings

if TYPE_CHECKING:
    from spinet._nics import Card
    from spinet._parameters import NicParams
    from spinet._wired_parameters import WiredParams
    from spinet.chain_parameters import ManycoreParams, PanicParams, PipelineParams, RmtOnlyParams
    from spinet.nic_parameters import PspinParams


@dataclass(frozen=True, kw_only=True)
class Nic:
    """A card that spinet knows."""

    name: str
    about: str

    def _repr_html_(self) -> str:
        """For notebooks: the drawing of the card."""
        from spinet.drawing import sketch

        is_wired = _core.kind_of_nic(self.name) == "modules"
        drawn = wiring.design(self.name) if is_wired else sketch.design(self.name)
        return _html.heading(self.name, self.about) + drawn.svg()


def nics() -> list[Nic]:
    """The cards that spinet knows by name.

    Examples
    --------
    >>> import spinet
    >>> [nic.name for nic in spinet.nics()][-3:]
    ['tengig-events', 'tigon2', 'tigon2-cached']
    """
    return [Nic(name=name, about=about) for name, about in _core.nic_list()]


def nic(name: Card = "pspin", *, set: Settings = ()) -> str:
    """Parameters of a card as TOML text, each with its source. For a card that is wired from modules: its file.

    Parameters
    ----------
    name
        A name from `nics`, the path of a TOML file, or parameters from `parameters_of`.
    set
        Changes: ``"cluster.n_cores=4"``, several of such texts, or ``{"cluster.n_cores": 4}``.

    Raises
    ------
    InputError
        If there is no such card, or the changes contradict each other.

    Examples
    --------
    >>> import spinet
    >>> [line for line in spinet.nic("pspin", set="n_clusters=2").splitlines() if line.startswith("n_clusters")]
    ['n_clusters = 2']
    """
    name, sets = _nics.name_of(name, set)
    if _core.kind_of_nic(name) == "modules":
        return wiring.variation(name, sets).to_toml() if sets else _core.card_text(name)
    return _core.nic_show(name, sets, ".")


@overload
def parameters_of(
    name: Literal["pspin", "pspin-paper", "pspin-rtl"] | PspinParams = "pspin", *, set: Settings = ()
) -> PspinParams: ...
@overload
def parameters_of(
    name: Literal["panic", "panic-asic", "panic-rtl"] | PanicParams, *, set: Settings = ()
) -> PanicParams: ...
@overload
def parameters_of(name: Literal["pipeline"] | PipelineParams, *, set: Settings = ()) -> PipelineParams: ...
@overload
def parameters_of(name: Literal["manycore"] | ManycoreParams, *, set: Settings = ()) -> ManycoreParams: ...
@overload
def parameters_of(name: Literal["rmt"] | RmtOnlyParams, *, set: Settings = ()) -> RmtOnlyParams: ...
@overload
def parameters_of(
    name: Literal["tengig", "tengig-events", "tigon2", "tigon2-cached"] | WiredParams, *, set: Settings = ()
) -> WiredParams: ...
@overload
def parameters_of(name: Card = ..., *, set: Settings = ()) -> NicParams: ...
def parameters_of(name: Card = "pspin", *, set: Settings = ()) -> NicParams:
    """Parameters of a card as typed values. `run`, `compare` and `Experiment` accept them as `nic`.

    `spinet.nic_parameters`, `spinet.chain_parameters` and `spinet.module_parameters` say what each means.
    `dataclasses.replace` gives a card with other values.

    Parameters
    ----------
    name
        A name from `nics`, the path of a TOML file, or parameters of a card.
    set
        Changes: ``"cluster.n_cores=4"``, several of such texts, or ``{"cluster.n_cores": 4}``.

    Returns
    -------
    NicParams
        `PspinParams` for cards that run handlers; `PanicParams`, `PipelineParams`, `ManycoreParams` or `RmtOnlyParams`
        for chains; `WiredParams` for wired cards. Their method `load` checks that the card has that class.

    Raises
    ------
    InputError
        If there is no such card, or the changes contradict each other.

    Examples
    --------
    >>> import spinet
    >>> spinet.parameters_of("pspin", set=["cluster.n_cores=4"]).cluster.n_cores
    4
    >>> spinet.parameters_of("panic").scheduler.buffer.cells
    42
    """
    name, sets = _nics.name_of(name, set)
    return _kinds.get(_core.kind_of_nic(name)).parameters(name, sets)


def parameters_of_text(text: str, *, base_dir: str | Path = ".") -> NicParams:
    """Parameters of a card from the text of its file; a `base` in it is relative to `base_dir`."""
    from spinet._wired_parameters import WiredParams

    base_dir = Path(base_dir).absolute()
    _core.check_limits(text, "the card", "toml")
    with _files.scratch() as scratch:
        file = scratch / "card.toml"
        try:
            base = tomllib.loads(text).get("base")
            if isinstance(base, str) and base.endswith(".toml"):
                absolute = json.dumps(str(base_dir / base))
                text = re.sub(r"(?m)^(\s*base\s*=\s*)([\"']).*?\2", lambda found: found[1] + absolute, text, count=1)
        except (tomllib.TOMLDecodeError, RecursionError):
            pass  # the simulator reports the error
        _files.write(file, text)
        try:
            if _core.kind_of_nic(str(file)) == "modules":
                _core.card_design(str(file), [], str(base_dir))
                return WiredParams._of_text(text, base_dir)
            return parameters_of(str(file))
        except _core.InputError as error:
            raise type(error)(str(error).replace(str(file), "the card")) from None


@functools.cache
def table_of(name: str) -> Mapping[str, Any]:
    """All parameters of a preset."""
    return parameters_of(name).to_table()


def kept(text: str) -> Path:
    """Path of a card's file with this text, which later runs of the same experiment find again."""
    from spinet import _programs

    return _programs.kept(text.encode(), kind="cards", suffix=".toml")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a card, with its area and power in 22 nm; a part with parts is their sum.

    Attributes
    ----------
    depth
        Its level: 0 is the card.
    count
        Number of copies in the part above it.
    area_mm2, power_w
        Sums over all copies; power at the card's clock and worst-case activity.
    rule
        The rule by which both scale from the published synthesis.
    """

    depth: int
    name: str
    count: int
    area_mm2: float
    power_w: float
    rule: str


def nic_cost(name: Card = "pspin", *, set: Settings = ()) -> list[Part]:
    """Area and power of a card's parts, each before its own parts; the first is the card.

    Scaled from the published synthesis (Di Girolamo et al., ISCA 2021, Table III) by the rule that each part names.

    Parameters
    ----------
    name
        A name from `nics`, the path of a TOML file, or parameters from `parameters_of`.
    set
        Changes such as ``"n_clusters=8"``.

    Raises
    ------
    InputError
        If there is no such card, or the changes contradict each other.

    Examples
    --------
    >>> import spinet
    >>> round(spinet.nic_cost("pspin")[0].area_mm2, 2)
    18.47
    """
    name, sets = _nics.name_of(name, set)
    return [Part(**part) for part in json.loads(_core.nic_cost(name, sets, "."))]


@dataclass(frozen=True, kw_only=True)
class FpgaPart:
    """A part of a PANIC NIC, with its share of the prototype's FPGA; a part with parts is their sum.

    Attributes
    ----------
    depth
        Its level: 0 is the NIC.
    luts_percent, bram_percent
        Of 394 thousand look-up tables, and of 3 MB of block memory.
    rule
        The rule by which both scale from the published numbers.
    """

    depth: int
    name: str
    luts_percent: float
    bram_percent: float
    rule: str


def fpga_cost(
    *, ports: int = 8, flit_bytes: int = 64, pifo_entries: int = 256, buffer_bytes: int = 256 * 1024
) -> list[FpgaPart]:
    """Share of the prototype's FPGA that a PANIC NIC needs, each part before its own parts; the first is the NIC.

    Scaled from the published numbers (Lin et al., OSDI 2020, Table 4) by the rule that each part names.

    Parameters
    ----------
    ports, flit_bytes
        Ports of the crossbar, and its width.
    pifo_entries
        Entries of all logical PIFOs.
    buffer_bytes
        Size of the packet buffer.

    Examples
    --------
    >>> import spinet
    >>> round(spinet.fpga_cost(ports=16)[1].luts_percent, 2)
    13.64
    """
    return [FpgaPart(**part) for part in json.loads(_core.fpga_cost(ports, flit_bytes, pifo_entries, buffer_bytes))]
