# SPDX-License-Identifier: Apache-2.0
"""`spinet.Experiment`: written in Python, read from TOML, and back."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import spinet
from spinet import Experiment
from spinet._kinds import get

ROOT = Path(__file__).parents[2]
PING_PONG = ROOT / "sdk/examples/ping_pong.c"
KINDS = {
    "handlers": {"program": str(PING_PONG), "context": [{}], "traffic": "udp:count=2"},
    "chains": {"chain": ["all: work"], "service": ["work: delay, cycles=40"], "traffic": "udp:count=2"},
    "modules": {"traffic": "udp:payload=numbered,count=2"},
}


def blocks() -> list[tuple[str, str]]:
    """Experiments on the pages, by page and number."""
    found = []
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        for number, text in enumerate(re.findall(r"```toml\n(.*?)```", page.read_text(), flags=re.DOTALL)):
            values = tomllib.loads(text)
            if "traffic" in values and {"context", "chain", "nic"} & set(values):
                found.append((f"{page.relative_to(ROOT)}[{number}]", text))
    return found


def same_both_ways(experiment: Experiment) -> None:
    again = Experiment.from_toml(experiment.to_toml(), base_dir="/")
    assert again == experiment and again.complete == experiment.complete and hash(again) == hash(experiment)
    assert again.to_toml() == experiment.to_toml()


@pytest.mark.parametrize("nic", [nic.name for nic in spinet.nics()])
def test_an_experiment_on_every_preset_is_the_same_in_toml(nic: str) -> None:
    from spinet._kinds import of_nic

    kind = of_nic(nic)
    assert kind is not None
    experiment = Experiment(nic=nic, **KINDS[kind], seed=5, limit="3 ms", faults="loss=0.5")
    assert (experiment.kind, experiment["seed"], experiment.complete["nic"]["preset"]) == (kind, 5, nic)
    same_both_ways(experiment)


@pytest.mark.parametrize(("page", "text"), blocks(), ids=[page for page, _ in blocks()])
def test_experiments_on_pages_are_the_same_in_toml(page: str, text: str, tmp_path: Path) -> None:
    like = {"pcap": ROOT / "captures/dns.pcap", "c": PING_PONG, "bin": ROOT / "captures/dns.pcap"}
    for name, ending in set(re.findall(r'"([\w/.]+\.(pcap|c|bin))"', text)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(like[ending].read_bytes())
    (tmp_path / "experiment.toml").write_text(text)
    experiment = Experiment.load(tmp_path / "experiment.toml")
    same_both_ways(experiment)
    (tmp_path / "far").mkdir()
    experiment.save(tmp_path / "far/copy.toml")
    assert Experiment.load(tmp_path / "far/copy.toml") == experiment
    assert Experiment(dict(experiment), base_dir=tmp_path) == experiment


def test_there_are_experiments_on_the_pages() -> None:
    assert len(blocks()) >= 4


@pytest.mark.parametrize("kind", KINDS)
def test_an_experiment_runs_as_its_file_and_its_keywords_do(kind: str, tmp_path: Path) -> None:
    values = KINDS[kind]
    experiment = Experiment(values, base_dir=tmp_path, nic=get(kind).example, limit="60 ms")
    experiment.save(tmp_path / "e.toml")
    result = spinet.run(experiment)
    assert result.complete and result.digest == spinet.run(tmp_path / "e.toml").digest
    assert result.digest == spinet.run(Experiment.load(tmp_path / "e.toml")).digest
    assert spinet.run(experiment, limit="1 ns").ended == "limit"


def test_parameters_of_a_card_are_part_of_an_experiment() -> None:
    import dataclasses

    two = dataclasses.replace(spinet.parameters_of("pspin"), n_clusters=2)
    experiment = Experiment(KINDS["handlers"], nic=two)
    assert experiment.complete["nic"]["set"] == {"n_clusters": 2}
    same_both_ways(experiment)


def test_a_saved_experiment_has_its_files_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPINET_CACHE", str(tmp_path / "cache"))
    packet = bytes.fromhex("0200000000020200000000010800") + bytes(46)
    elf = str(spinet.build(PING_PONG).elf)
    experiment = Experiment(program=elf, traffic=[packet, packet], context=[{"match": "eth"}])
    (tmp_path / "here").mkdir()
    experiment.save(tmp_path / "here/two.toml")
    assert sorted(path.name for path in (tmp_path / "here").iterdir()) == ["two.files", "two.toml"]
    before = spinet.run(experiment).digest
    (tmp_path / "here").rename(tmp_path / "there")
    shutil.rmtree(tmp_path / "cache")
    assert "cache" not in (tmp_path / "there/two.toml").read_text()
    assert spinet.run(tmp_path / "there/two.toml").digest == before


def test_a_result_repeats_its_run_without_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPINET_CACHE", str(tmp_path / "cache"))
    packet = bytes.fromhex("0200000000020200000000010800") + bytes(46)
    folder = tmp_path / "result"
    result = spinet.run(program=PING_PONG, traffic=[packet, packet], handler_memory=b"content", folder=folder)
    shutil.rmtree(tmp_path / "cache")
    folder.rename(tmp_path / "moved")
    assert len(list((tmp_path / "moved/files").iterdir())) == 2
    assert spinet.run(tmp_path / "moved/experiment.json").digest == result.digest


def test_an_experiment_does_not_change() -> None:
    context = [{"match": "udp"}]
    experiment = Experiment(program=str(PING_PONG), traffic="udp:", context=context)
    context[0]["match"] = "tcp"
    experiment["context"][0]["match"] = "arp"
    experiment.complete["context"][0]["match"] = "arp"
    assert experiment["context"] == [{"match": "udp"}]
    assert experiment.complete["context"][0]["match"] == "udp"


def test_wrong_experiments_say_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(spinet.InputError, match="unknown key `sead`"):
        Experiment(program=str(PING_PONG), traffic="udp:", context=[{}], sead=1)
    (tmp_path / "bad.toml").write_text("program = 'ping_pong.c'\ntraffic = 'udp:'\n[[context]]\nmach = 'udp'\n")
    with pytest.raises(spinet.InputError, match=r"bad.toml: line 4: unknown key `mach`"):
        Experiment.load(tmp_path / "bad.toml")
    with pytest.raises(spinet.InputError, match=r"must end in \.toml"):
        Experiment(KINDS["modules"], nic="tigon2").save(tmp_path / "x.json")


@pytest.mark.parametrize("nic", ["pspin", "panic", "tigon2"])
def test_several_sources_run_on_every_kind_of_card(nic: str) -> None:
    """Keywords change each source, and one source in their place replaces all."""
    of_kind: dict[str, dict[str, object]] = {
        "pspin": {"program": "sdk/examples/ping_pong.c"},
        "panic": {"chains": "all: => host"},
        "tigon2": {"firmware": "tigon2", "set": ["host.clear_end=0x8000"]},
    }
    traffic = ["udp:size=60,count=9,dst_mac=00:60:cf:00:00:01", {"source": "udp:size=600,count=5", "count": 3}]
    result = spinet.run(nic=nic, traffic=traffic, pacing="line:100M", count=2, **of_kind[nic])  # type: ignore[arg-type]
    assert result.summary["packets"]["in"] == 4
    assert [source["side"] for source in result.summary["sources"]] == ["network:0", "network:0"]
    stated = result.summary["experiment"]["traffic"]
    assert [(source["pacing"], source["count"]) for source in stated] == [("line:100M", 2)] * 2
    if nic != "tigon2":
        again = spinet.run(result.summary["experiment"], traffic="udp:count=3")
        assert again.summary["packets"]["in"] == (2 if nic == "pspin" else 3)
