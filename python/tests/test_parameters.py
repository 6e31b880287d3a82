# SPDX-License-Identifier: Apache-2.0
"""Parameters of cards as Python values: every preset and a user's card, in runs, comparisons and experiments."""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet.chain_parameters import (
    InterconnectParams,
    PanicParams,
    PipelineParams,
    TopologyFlattenedButterfly,
)
from spinet.module_parameters import MemoryControllerParams, MipsCoreParams, PipeParams, WiredParams
from spinet.nic_parameters import ClusterParams, PspinParams

NAMES = [nic.name for nic in spinet.nics()]
TRAFFIC = "udp:size=64,count=20,rate=20G"


@pytest.mark.parametrize("name", NAMES)
def test_parameters_of_every_card_are_values(name: str) -> None:
    card = spinet.parameters_of(name)
    assert card.as_settings() == (name, [])
    again = type(card).from_toml(card.to_toml())
    assert again == card == pickle.loads(pickle.dumps(card)) == type(card).load(name)
    assert replace(card) == card
    assert type(card).__doc__


def test_defaults_are_those_of_the_first_preset() -> None:
    assert PspinParams() == spinet.parameters_of("pspin")
    assert PanicParams() == spinet.parameters_of("panic")
    assert PipelineParams() == spinet.parameters_of("pipeline")


def fields(kind: type[Any]) -> set[str]:
    return {field.name for field in dataclasses.fields(kind)}


def test_modules_have_a_class_each_with_all_their_parameters() -> None:
    from spinet import wiring
    from spinet.module_parameters import MODULES

    for module in wiring.modules():
        assert module.name == MODULES[module.name].MODULE
        assert fields(MODULES[module.name]) == set(module.schema.get("properties", {}))


def test_a_run_takes_parameters_of_a_panic() -> None:
    def latency(**more: Any) -> float:
        result = spinet.run(chains="all: aes", traffic=TRAFFIC, **more)
        found = result.tenants["all"].latency
        assert result.complete and found is not None
        return found.mean

    card = spinet.parameters_of("panic")
    slow = replace(card, interconnect=replace(card.interconnect, input_cycles=105))
    assert latency(nic=card) == latency()
    # A packet passes the interconnect from the line to the unit and from there to its exit.
    assert latency(nic=slow) > latency() + 2 * 100 * 4
    assert latency(nic=slow) == latency(set={"interconnect.input_cycles": 105})
    routers = TopologyFlattenedButterfly(concentration=4, columns=2, rows=2, link_flits=8, link_cycles=2)
    mesh = replace(card, interconnect=replace(card.interconnect, topology=routers))
    assert latency(nic=mesh) > latency()
    assert mesh.as_settings()[0] == "panic"


def test_services_that_a_preset_lacks_are_parameters_too() -> None:
    card = spinet.parameters_of("panic")
    more = replace(card, service=(*card.service, replace(card.service[1], name="second", units=1)))
    assert more.as_settings()[0].endswith(".toml")  # settings cannot add a service
    result = spinet.run(nic=more, chains="all: second", traffic=TRAFFIC)
    assert result.complete and set(result.services) >= {"second"}


def test_a_run_takes_parameters_of_a_wired_card() -> None:
    def run(**more: Any) -> spinet.Result:
        return spinet.run(send="udp:size=1514,payload=numbered,count=4", limit="60 ms", profile=False, **more)

    card = spinet.parameters_of("tigon2")
    sram = card.part("sram", MemoryControllerParams)
    slow = card.with_part("sram", replace(sram, first_word_cycles=6))
    usual, slower = run(nic=card), run(nic=slow)
    assert usual.digest == run(nic="tigon2").digest
    assert slower.digest == run(nic="tigon2", set="sram.first_word_cycles=6").digest != usual.digest
    core = card.part("cpu_a.core", MipsCoreParams)
    late = run(nic=card.with_part("cpu_a.core", replace(core, memory_cycles=9)))
    assert late.summary["experiment"]["nic"] == {"preset": "tigon2", "set": {"cpu_a.core.memory_cycles": 9}}
    assert late.digest != usual.digest


def test_values_that_a_card_computes_follow_its_parameters() -> None:
    card = spinet.parameters_of("tengig")
    eight = card.with_parameters(cores=8)
    assert eight.as_settings() == ("tengig", ["cores=8"])
    assert spinet.parameters_of(eight) == spinet.parameters_of("tengig", set="cores=8")
    assert "cpu[7]" in spinet.parameters_of(eight).parts
    second = replace(card.part("cpu[1]", MipsCoreParams), multiply_cycles=20)
    one = spinet.parameters_of(card.with_part("cpu[1]", second))
    assert one.part("cpu[1]", MipsCoreParams) == second and one.parts["cpu[0]"] == card.parts["cpu[0]"]


def test_users_cards_have_parameters(tmp_path: Path) -> None:
    (tmp_path / "fast.toml").write_text('name = "fast"\nbase = "tigon2"\n[clocks]\nmemory = "133 MHz"\n')
    card = WiredParams.load(tmp_path / "fast.toml")
    assert card.clocks["memory"] == "133 MHz"
    changed = card.with_clocks(cpu="100 MHz")
    assert changed.as_settings() == (str(tmp_path / "fast.toml"), ['clocks.cpu="100 MHz"'])
    again = WiredParams.from_toml('base = "fast.toml"\n[clocks]\ncpu = "100 MHz"\n', base_dir=tmp_path)
    assert again == changed == WiredParams.from_toml(changed.to_toml())
    (tmp_path / "few.toml").write_text('base = "pspin"\nn_clusters = 2\n')
    assert PspinParams.load(tmp_path / "few.toml") == PspinParams(n_clusters=2)


def test_comparisons_and_experiments_take_parameters() -> None:
    slow = PanicParams(interconnect=InterconnectParams(input_cycles=105))
    compared = spinet.compare(traffic="udp:size=128,count=10,rate=1G", nics={"usual": "panic", "slow": slow})
    assert compared["slow"].latency_ns.mean == compared["usual"].latency_ns.mean + 100 * 4
    both = spinet.compare(traffic="udp:size=128,count=10,rate=1G", nics=["panic", slow])
    assert both["panic-2"].latency_ns == compared["slow"].latency_ns
    experiment = spinet.Experiment(nic=slow, chain=["all: aes"], traffic=TRAFFIC)
    assert experiment.complete["nic"]["set"] == {"interconnect.input_cycles": 105}
    wired = spinet.parameters_of("tigon2").with_clocks(memory="133 MHz")
    assert spinet.Experiment(nic=wired).complete["nic"]["set"] == {"clocks.memory": "133 MHz"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: ClusterParams(n_cores="8"), "ClusterParams.n_cores is '8', must be an integer"),  # type: ignore[arg-type]
        (lambda: PspinParams(n_clusters=17).load("pspin", set="n_clusters=17"), "n_clusters is 17, must be 1 to 16"),
        (lambda: spinet.parameters_of(PspinParams(n_clusters=17)), "n_clusters is 17, must be 1 to 16"),
        (lambda: spinet.parameters_of(PanicParams(network_ports=9)), "network_ports is 9, must be 1 to 8"),
        (lambda: spinet.parameters_of("tigon2").part("srm", PipeParams), "tigon2 has no part `srm`"),
        (lambda: spinet.parameters_of("tigon2").part("sram", PipeParams), "sram of tigon2 has MemoryControllerParams"),
        (lambda: PanicParams.load("tigon2"), "tigon2 has WiredParams, not PanicParams"),
        (lambda: PspinParams.from_table({"n_cluster": 2}), "PspinParams has no parameter `n_cluster`"),
        (lambda: MemoryControllerParams.from_table({"bytes": 2}), "MemoryControllerParams: parameter `"),
        (lambda: PspinParams.from_toml("n_clusters ="), "the card: line 1"),
    ],
)
def test_errors_name_the_parameter(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(spinet.InputError) as refused:
        wrong()
    assert said in str(refused.value)


def test_values_out_of_bounds_name_the_part() -> None:
    card = spinet.parameters_of("tigon2")
    sram = card.part("sram", MemoryControllerParams)
    with pytest.raises(spinet.InputError, match="word_bytes is 3, must be powers of two"):
        spinet.parameters_of(card.with_part("sram", replace(sram, word_bytes=3)))
