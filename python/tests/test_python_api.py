# SPDX-License-Identifier: Apache-2.0
"""The Python package from a user's view: names, results that can be pickled, and accepted types of arguments."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import io
import pickle
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spinet
import spinet.cli
from spinet import examples

PING_PONG = "sdk/examples/ping_pong.c"
COPY = "sdk/examples/copy_to_host.c"


def test_dir_and_help_show_every_name() -> None:
    code = "import spinet; assert set(spinet.__all__) <= set(dir(spinet)); help(spinet)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for words in ("class Result(", "run(experiment: ", "class BuildError(", "nics()"):
        assert words in done.stdout
    page = io.StringIO()
    pydoc.Helper(output=page).help(spinet)
    assert "Run an experiment on a simulated card of any kind." in page.getvalue()


def test_every_function_has_an_example() -> None:
    # Doctest runs them.
    functions = {name: getattr(spinet, name) for name in spinet.__all__ if name in dir(spinet)}
    missing = [name for name, one in functions.items() if inspect.isfunction(one) and ">>>" not in (one.__doc__ or "")]
    assert missing == [] and len([one for one in functions.values() if inspect.isfunction(one)]) >= 9
    assert all(
        ">>>" in (one.__doc__ or "") for one in (spinet.Result, spinet.Experiment, spinet.Handler, spinet.Machine)
    )


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda result: pickle.loads(pickle.dumps(result))])
def test_results_can_be_copied(way: Any, tmp_path: Path) -> None:
    result = spinet.run(program=COPY, traffic="udp:size=100,count=5")
    same = way(result)
    base = result.summary["contexts"][0]["host_memory"]["addr"]
    assert isinstance(base, str)
    assert same.host_memory(base, 600) == result.host_memory(int(base, 16), 600) != bytes(600)
    assert same.host_memory(int(base, 16) + 7, 90) == result.host_memory(base, 97)[7:]
    assert same.host_memory((1 << 64) - 8, 16) == bytes(16)
    assert (same.digest, same.summary, same.sent) == (result.digest, result.summary, result.sent)
    assert same.packets.equals(result.packets)
    assert np.array_equal(same.columns["trap_pc"], result.columns["trap_pc"])
    for name, one in (("original", result), ("copy", same)):
        one.save(tmp_path / name)
    left, right = (
        {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("original", "copy")
    )
    assert left.keys() == right.keys() and left == right


def test_results_of_all_kinds_come_from_other_processes() -> None:
    chains = spinet.run(chains="all: aes", traffic="udp:count=3")
    card = spinet.run(nic="tigon2", send="udp:size=1514,payload=numbered,count=4", limit="60 ms")
    for result in (chains, card):
        same = pickle.loads(pickle.dumps(result))
        assert same.summary == result.summary
    same = pickle.loads(pickle.dumps(chains))
    assert same.packets.equals(chains.packets) and same.hops.equals(chains.hops)
    same = pickle.loads(pickle.dumps(card))
    assert same.frames.equals(card.frames) and same.sent == card.sent and len(card.sent) == 4


def test_a_result_names_the_kind_of_card_that_has_an_attribute() -> None:
    result = spinet.run(program=PING_PONG, traffic="udp:count=1")
    kinds = {"hops": "runs chains", "rates": "is wired", "frames": "is wired", "to_host": "runs chains"}
    for name, kind in kinds.items():
        assert not hasattr(result, name)
        with pytest.raises(AttributeError, match=f"so its result has no `{name}`; a card that {kind}"):
            getattr(result, name)
    few = spinet.run(program=PING_PONG, traffic="udp:count=1", keep_packets=False)
    assert few.digest == result.digest and not hasattr(few, "packets") and not hasattr(few, "sent")


def test_a_keyword_of_another_kind_is_refused() -> None:
    with pytest.raises(spinet.InputError, match=r"^match is for cards that run handlers .*; tigon2 is wired"):
        spinet.run(nic="tigon2", match="udp", send="udp:payload=numbered,count=1")
    with pytest.raises(spinet.InputError, match="services is for cards that run chains"):
        spinet.run(program=PING_PONG, traffic="udp:count=1", services="aes: units=2")
    with pytest.raises(AttributeError, match=r"spinet\.run_chains is now spinet\.run"):
        getattr(spinet, "run_chains")  # noqa: B009, as a name that mypy does not know


def digest(**more: Any) -> str:
    return spinet.run(program=PING_PONG, traffic="udp:size=64,count=6", **more).digest


def test_changes_of_a_card_can_be_said_in_every_form() -> None:
    usual, fewer = digest(), digest(set=["cluster.icache.miss_cycles=30"])
    assert usual != fewer
    params = spinet.parameters_of("pspin", set={"cluster": {"icache": {"miss_cycles": np.int64(30)}}})
    assert params.cluster.icache.miss_cycles == 30
    assert digest(set="cluster.icache.miss_cycles=30") == fewer
    assert digest(set={"cluster.icache.miss_cycles": 30}) == fewer
    assert digest(nic=params) == fewer
    assert digest(nic=params, set={"cluster.icache.miss_cycles": params.cluster.icache.miss_cycles}) == fewer
    assert digest(nic=spinet.parameters_of("pspin")) == usual
    assert digest(nic=next(nic for nic in spinet.nics() if nic.name == "pspin")) == usual
    rtl = spinet.parameters_of("pspin-rtl")
    assert digest(nic=rtl) == digest(nic="pspin-rtl")
    result = spinet.run(program=PING_PONG, traffic="udp:count=1", nic=params)
    assert result.summary["experiment"]["nic"] == {"preset": "pspin", "set": {"cluster.icache.miss_cycles": 30}}
    assert spinet.parameters_of(dataclasses.replace(params, n_clusters=2)).n_clusters == 2


def test_other_entries_take_the_same_forms() -> None:
    chains = spinet.run(chains="all: aes", traffic="udp:count=3", set="scheduler.chain_push=false")
    same = spinet.run(chains="all: aes", traffic="udp:count=3", set={"scheduler.chain_push": False})
    assert chains.digest == same.digest
    assert "n_cores = 4" in spinet.nic("pspin", set={"cluster.n_cores": 4})
    card = spinet.run(
        nic="tigon2", send="udp:size=1514,payload=numbered,count=4", limit="60 ms", set={"clocks.memory": "133 MHz"}
    )
    assert card.ended == "complete"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"nic": 3}, "nic is 3, must be a name, a path or parameters of a card"),
        ({"set": [3]}, "set has 3, must be texts such as"),
        ({"set": 3}, "set is 3, must be texts such as"),
        ({"set": {"cluster.n_cores": object()}}, "set: cluster.n_cores is <object"),
        ({"set": {"cluster.n_coers": 4}}, "cluster.n_coers"),
    ],
)
def test_what_no_form_is_is_reported(given: dict[str, Any], said: str) -> None:
    with pytest.raises(spinet.InputError) as refused:
        digest(**given)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seed": -1}, "seed is -1, must be a whole number from 0 to 18446744073709551615"),
        ({"seed": 1.5}, "seed is 1.5, must be"),
        ({"seed": True}, "seed is True, must be"),
        ({"count": "3"}, "count is '3', must be"),
        ({"count": 1 << 64}, "count is 18446744073709551616, must be"),
        ({"limit": 5}, "limit is 5, must be a text"),
        ({"match": b"udp"}, "match is b'udp', must be a text"),
        ({"message": 3}, "message is 3, must be a text"),
        ({"program": b"count.c"}, "program is b'count.c', must be a text, or a list of them"),
        ({"program": 3}, "program is 3, must be a text, or a list of them"),
        ({"chains": 3}, "chains is 3, must be a text, or a list of them"),
    ],
)
def test_a_value_of_another_type_is_reported_with_its_keyword(given: dict[str, Any], said: str) -> None:
    with pytest.raises(spinet.InputError, match=f"^{re.escape(said)}"):
        spinet.run(**{"program": PING_PONG, "traffic": "udp:count=1", **given})


def test_an_experiment_can_be_a_mapping(tmp_path: Path) -> None:
    said: dict[str, Any] = {
        "program": Path(PING_PONG),
        "traffic": {"source": "captures/dns.pcap"},
        "context": [{"match": "udp.dst_port == 53", "handler": "ping_pong"}],
        "nic": spinet.parameters_of("pspin", set="cluster.icache.miss_cycles=30"),
    }
    result = spinet.run(experiment=said)
    keywords = spinet.run(
        program=PING_PONG,
        traffic="captures/dns.pcap",
        match="udp.dst_port == 53",
        set="cluster.icache.miss_cycles=30",
    )
    assert result.digest == keywords.digest
    assert spinet.run(experiment=result.summary["experiment"]).digest == result.digest
    assert spinet.run(experiment={**said, "traffic": "udp:count=3"}, count=2).summary["packets"]["in"] == 2
    with pytest.raises(spinet.InputError, match="progarm"):
        spinet.run(experiment={"progarm": PING_PONG})
    with pytest.raises(spinet.InputError, match="match belongs into the experiment"):
        spinet.run(experiment=said, match="udp")
    with pytest.raises(spinet.InputError, match=r"pong\.c is a program, not an experiment") as program:
        spinet.run("ping_pong.c", traffic="udp:count=1")
    assert program.value.__notes__ == ["hint: pass it as program='ping_pong.c'"], "tracebacks show it"
    with pytest.raises(spinet.InputError, match="an experiment names its program itself"):
        spinet.run(experiment=said, program=PING_PONG)


def test_build_errors_are_errors_of_spinet_with_the_compilers_words(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text("#include <handler.h>\n__handler__ void bad_ph(handler_args_t *args) { nonsense; }\n")
    with pytest.raises(spinet.SpinetError, match="use of undeclared identifier 'nonsense'"):
        spinet.run(program=source, traffic="udp:count=1")


def test_all_files_that_guides_show_are_among_the_examples() -> None:
    """Handlers, captures and networks in commands and programs of README.md and the guides."""
    root = Path(__file__).parents[2]
    pages = [root / "README.md", *(root / "docs").glob("*.md"), *(root / "docs" / "guides").glob("*.md")]
    pattern = r"\b(?:sdk/(?:examples|services)|experiments|captures)/[\w./-]+\.(?:c|h|toml|goal|pcap)\b"
    shown = {name for page in pages for name in re.findall(pattern, page.read_text())}
    assert len(shown) > 15
    assert shown <= {one.name for one in examples.examples()}


@pytest.mark.parametrize(
    "program", ["sdk/services/kv.c", "sdk/services/functions/sum.c", "experiments/spin/handlers/osmosis.c"]
)
def test_copied_sources_have_their_headers(tmp_path: Path, program: str) -> None:
    examples.copy(tmp_path)
    assert spinet.toolchain.build([tmp_path / program]).elf.is_file()


def test_examples_are_found_copied_and_run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    known = {one.name: one for one in examples.examples()}
    assert {"sdk/examples/ping_pong.c", "sdk/examples/panic/nat.c", "captures/memcached.pcap"} <= known.keys()
    assert {"experiments/networks/pair.toml", "experiments/networks/ping-pong.goal"} <= known.keys()
    assert all(one.about.endswith(".") or one.name.startswith("captures/") for one in known.values())
    assert spinet.cli.main(["examples"]) == 0
    assert capfd.readouterr().out.count("\n") == len(known)
    assert spinet.cli.main(["examples", "--copy", str(tmp_path)]) == 0
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")} == known.keys()
    capfd.readouterr()
    assert spinet.cli.main(["examples", "dns", "--path"]) == 0
    assert Path(capfd.readouterr().out.strip()).read_bytes() == (tmp_path / "captures/dns.pcap").read_bytes()
    (tmp_path / "captures" / "dns.pcap").write_text("mine")
    assert spinet.cli.main(["examples", "--copy", str(tmp_path)]) == 2
    assert "captures/dns.pcap exists and is another file" in capfd.readouterr().err
    assert spinet.cli.main(["examples", "ping-pong.c"]) == 2
    assert capfd.readouterr().err == "error: there is no example ping-pong.c\nhint: did you mean ping_pong.c?\n"
    readme = "run sdk/examples/ping_pong.c --traffic captures/memcached.pcap --match udp -o result"
    done = subprocess.run([sys.executable, "-m", "spinet.cli", *readme.split()], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0
    for network in ("pair", "ping-pong"):
        assert spinet.run(tmp_path / f"experiments/networks/{network}.toml").complete


@pytest.mark.parametrize(
    ("keywords", "name"),
    [
        ({"program": PING_PONG, "traffic": "udp:size=64,count=3000"}, "packets"),
        ({"chains": "all: aes", "traffic": "udp:size=256,count=30,rate=1G"}, "packets"),
        ({"nic": "tigon2", "traffic": "udp:payload=numbered,count=3"}, "frames"),
    ],
)
def test_rows_are_handed_out_during_the_run(keywords: dict[str, Any], name: str) -> None:
    import pyarrow as pa

    taken: dict[str, list[pa.Table]] = {}
    result = spinet.run(**keywords, on_rows=lambda table, rows: taken.setdefault(table, []).append(rows))
    assert pa.concat_tables(taken[name]).equals(result.table(name))
    kept = sum(len(rows) for rows in taken[name])
    taken.clear()
    summary = spinet.run(
        **keywords, keep_packets=False, on_rows=lambda table, rows: taken.setdefault(table, []).append(rows)
    )
    assert sum(len(rows) for rows in taken[name]) == kept == result.table(name).num_rows
    with pytest.raises(AttributeError, match="keep_packets=False"):
        summary.table(name)


def test_a_run_that_does_not_finish_has_a_remark(tmp_path: Path) -> None:
    loop = tmp_path / "loop.c"
    loop.write_text('#include <handler.h>\n__handler__ void loop_ph(handler_args_t *a) { for (;;) __asm__(""); }\n')
    result = spinet.run(program=loop, traffic="udp:count=1", nic="pspin-rtl", limit="10 us")
    assert not result.complete
    assert result.remarks == (result.summary["ended"]["text"],)
