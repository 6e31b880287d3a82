# SPDX-License-Identifier: Apache-2.0
"""Cards by name: what there is, what their files say, what they cost."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from spinet import _core, _nics, wiring
from spinet._core import UsageError
from spinet._nics import Settings

if TYPE_CHECKING:
    from spinet._nics import Card
    from spinet.nic_parameters import PspinParams

_Table = TypeVar("_Table")


@dataclass(frozen=True, kw_only=True)
class Nic:
    """A card that spinet knows."""

    name: str
    about: str


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
    """Parameters of a card as TOML text, each with its source; of one that is wired from modules, its file.

    Parameters
    ----------
    name
        A name from `nics`, the path of a TOML file, or parameters of a PsPIN.
    set
        Changes: ``"cluster.n_cores=4"``, several of such texts, or ``{"cluster.n_cores": 4}``.

    Raises
    ------
    InputError
        If there is no such card, or the changes contradict each other.
    """
    name, sets = _nics.name_of(name, set)
    if _core.kind_of_nic(name) == "modules":
        return wiring.variation(name, sets).to_toml() if sets else _core.card_text(name)
    return _core.nic_show(name, sets, ".")


def parameters_of(name: Card = "pspin", *, set: Settings = ()) -> PspinParams:
    """Parameters of a PsPIN as values with types; `spinet.nic_parameters` says what each means and what it may be.

    Parameters
    ----------
    name
        A name from `nics`, the path of a TOML file, or parameters of a PsPIN.
    set
        Changes: ``"cluster.n_cores=4"``, several of such texts, or ``{"cluster.n_cores": 4}``.

    Raises
    ------
    InputError
        If there is no such card, it is not a PsPIN, or the changes contradict each other.

    Examples
    --------
    >>> import spinet
    >>> spinet.parameters_of("pspin", set=["cluster.n_cores=4"]).cluster.n_cores
    4
    """
    # Not at the top: it is generated, with the help of this module.
    from spinet.nic_parameters import PspinParams

    name, sets = _nics.name_of(name, set)
    if _core.kind_of_nic(name) != "handlers":
        raise UsageError(
            f"{name} is no PsPIN, whose parameters alone have types here", hint="spinet.nic gives its file"
        )
    return _typed(PspinParams, tomllib.loads(nic(name, set=sets)))


def _typed(kind: type[_Table], table: Mapping[str, Any]) -> _Table:
    hints = get_type_hints(kind)
    return kind(
        **{key: _typed(hints[key], value) if isinstance(value, dict) else value for key, value in table.items()}
    )


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a card, with what it costs in 22 nm; a part with parts is the sum of them.

    Attributes
    ----------
    depth
        How deep it lies: 0 is the card.
    count
        How many there are in the part above it.
    area_mm2, power_w
        Of all of these; power at the card's clock and worst-case activity.
    rule
        By what both scale from the published synthesis.
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
        A name from `nics`, the path of a TOML file, or parameters of a PsPIN.
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
    """A part of a PANIC NIC, with what it takes of the prototype's FPGA; a part with parts is the sum of them.

    Attributes
    ----------
    depth
        How deep it lies: 0 is the NIC.
    luts_percent, bram_percent
        Of 394 thousand look-up tables, and of 3 MB of block memory.
    rule
        By what both scale from the published numbers.
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
