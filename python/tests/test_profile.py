# SPDX-License-Identifier: Apache-2.0
"""Profiles: the line that stalls is found on every kind of card, and the files hold the same numbers."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
import spinet
from spinet import InputError, cli
from spinet.profile import Profile

# Each packet adds to four counters in L2 handler memory, which does one AMO at a time for the whole card.
SKETCH = """\
#include <handler.h>

__handler__ void sketch_ph(handler_args_t *args)
{
    int32_t *table = (int32_t *)args->task->handler_mem;
    for (uint32_t row = 0; row < 4; row++) {
        amo_add(&table[64 * row], 1);
    }
}
"""
TRAFFIC = "udp:size=64,count=400,rate=400G"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run of the sketch."""
    place = tmp_path_factory.mktemp("profile")
    (place / "sketch.c").write_text(SKETCH)
    code = cli.main(["run", str(place / "sketch.c"), "--traffic", TRAFFIC, "--profile", "-o", str(place / "out")])
    assert code == 0
    return place / "out"


@pytest.fixture(scope="module")
def profile(folder: Path) -> Profile:
    return Profile.load(folder)


def command(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    said = capfd.readouterr()
    return code, said.out, said.err


def test_the_line_that_stalls_comes_first_with_its_cause(profile: Profile) -> None:
    (frame,), cost = next(iter(profile.lines().items()))
    assert (frame.function, Path(frame.file).name, frame.line) == ("sketch_ph", "sketch.c", 7)
    assert cost.causes[0][0] == "amo"
    assert cost.lost["amo"] > 0.8 * profile.total.busy
    # The chain of inlined lines begins with the handler's line and ends in the SDK's header.
    chain = next(iter(profile.chains()))
    assert [Path(frame.file).name for frame in chain] == ["sketch.c", "spin_amo.h"]
    # 400 packets, 4 AMOs each.
    amos = [one for one in profile.instructions if one.text.startswith("amoadd.w")]
    assert sum(one.cost.executed for one in amos) == 1600


def test_executed_instructions_and_lost_cycles_are_all_cycles_of_all_cores(folder: Path, profile: Profile) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert profile.cores == 32
    assert profile.total.cycles == 32 * summary["time"]["cycles"]
    instructions = sum(count for name, count in summary["counters"].items() if name.endswith(".instructions"))
    assert profile.total.executed == instructions


def test_a_profile_changes_no_result() -> None:
    with_profile, without = (
        spinet.run(program="sdk/examples/ping_pong.c", traffic=TRAFFIC, profile=profile) for profile in (True, None)
    )
    assert with_profile.digest == without.digest
    assert with_profile.profile.functions()["ping_pong_ph"].executed > 400
    with pytest.raises(AttributeError, match=r"profile=True\) counts the cycles"):
        _ = without.profile


def test_cores_of_chains_have_profiles_by_service() -> None:
    services = [f"{name}: riscv, program=sdk/examples/panic/{name}.c" for name in ("nat", "swap")]
    result = spinet.run(services=services, chains="all: nat -> swap", traffic="udp:count=40,rate=5G", profile=True)
    profile = result.profile
    assert profile.cores == 2
    assert {one.program for one in profile.instructions} == {"nat", "swap"}
    lines = [f"{Path(frame.file).name}" for (frame,) in profile.lines()]
    assert {"nat.c", "swap.c", "start.S"} <= set(lines)
    assert profile.functions()["panic_main"].lost["cache_miss"] > 0


def test_cores_of_wired_cards_have_profiles_with_the_totals_of_the_summary() -> None:
    result = spinet.run(nic="tigon2", send="udp:size=512,payload=numbered,count=20", limit="60 ms", profile=True)
    profile, cores = result.profile, result.summary["cores"]
    assert profile.cores == len(cores) == 2
    for cause in ("instruction_misses", "load_stalls", "conflicts", "pipeline"):
        assert profile.total.lost[cause] == sum(core["cycles_by_cause"][cause] for core in cores)
    by_function = {row["name"]: row["cycles"] for row in result.summary["functions"]}
    assert {name: cost.cycles for name, cost in profile.functions().items()} == by_function


def test_a_card_without_cores_says_so(capfd: pytest.CaptureFixture[str]) -> None:
    chain = ["--service", "a: delay, cycles=4", "--chain", "all: a", "--traffic", "udp:count=4,rate=1G"]
    code, _, err = command(capfd, "run", *chain, "--profile")
    assert (code, err) == (0, "no profile: no core of this card runs a program\n")


def test_the_command_prints_lines_functions_and_source(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = command(capfd, "profile", folder, "--top", "1")
    assert code == 0
    assert re.search(r"^32 cores, [\d,]+ cycles: ", out)
    assert re.search(r"^sketch\.c:7 .* amo [\d,]+", out, re.M)
    assert "amo_add(&table[64 * row], 1);" in out
    code, out, _ = command(capfd, "profile", folder, "--by", "function", "--top", "1")
    assert re.search(r"^sketch_ph ", out, re.M)
    code, out, _ = command(capfd, "profile", folder, "--annotate", "sketch_ph", "--instructions")
    assert re.search(r"^ +[\d,]+ +0x1d[0-9a-f]{6}  amoadd\.w ", out, re.M)
    code, out, _ = command(capfd, "profile", folder, "--json")
    assert json.loads(out) == json.loads((folder / "profile.json").read_text())


def test_a_file_for_callgrind_has_all_costs(profile: Profile) -> None:
    header, _, body = profile.callgrind().partition("\n\n")
    events = next(line for line in header.splitlines() if line.startswith("events: ")).split()[1:]
    assert events[:2] == ["Cycles", "Instructions"]
    rows = [line.split() for line in body.splitlines() if line.startswith("0x")]
    assert all(len(row) == 2 + len(events) for row in rows)
    assert sum(int(row[2]) for row in rows) == profile.total.cycles
    amo = 2 + events.index("amo")
    assert sum(int(row[amo]) for row in rows) == profile.total.lost["amo"]


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Tags and values of a protobuf message that has numbers and blocks only."""

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    at = 0
    while at < len(message):
        tag, kind = divmod(number(), 8)
        value = number()
        if kind == 0:
            yield tag, value
        else:
            assert kind == 2
            yield tag, message[at : at + value]
            at += value


def blocks(message: bytes, tag: int) -> list[bytes]:
    return [value for one, value in fields(message) if one == tag and isinstance(value, bytes)]


def test_a_file_for_pprof_has_cycles_by_cause_and_lines_innermost_first(profile: Profile) -> None:
    message = gzip.decompress(profile.pprof())
    names = [name.decode() for name in blocks(message, 6)]
    assert names[0] == ""
    by_cause: dict[str, int] = {}
    for sample in blocks(message, 2):
        # Two numbers that are packed are read like a field: the first one is in the high bits.
        (values,), (label,) = blocks(sample, 2), blocks(sample, 3)
        numbers, value, shift = [], 0, 0
        for byte in values:
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                numbers.append(value)
                value = shift = 0
        cause = names[dict(fields(label))[2]]  # type: ignore[index]
        by_cause[cause] = by_cause.get(cause, 0) + numbers[0]
        assert len(numbers) == 2
    lost = {cause: cycles for cause, cycles in profile.total.lost.items() if cycles}
    assert {cause: cycles for cause, cycles in by_cause.items() if cycles} == {
        "executing": profile.total.executed,
        **lost,
    }
    functions = {dict(fields(one))[1]: names[dict(fields(one))[2]] for one in blocks(message, 5)}  # type: ignore[index]
    chains = [[functions[dict(fields(line))[1]] for line in blocks(one, 4)] for one in blocks(message, 4)]
    assert any(chain[-1] == "sketch_ph" and len(chain) > 1 for chain in chains)


def test_a_flame_graph_is_an_svg_with_a_box_for_the_handler(folder: Path, tmp_path: Path) -> None:
    assert cli.main(["profile", str(folder), "--flame", str(tmp_path / "flame.svg")]) == 0
    root = ElementTree.fromstring((tmp_path / "flame.svg").read_text())  # made here
    tips = [title.text or "" for title in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(re.fullmatch(r"sketch_ph: [\d,]+ cycles, 9\d\.\d%", tip) for tip in tips), tips[:4]
    assert any(tip.startswith("[amo]: ") for tip in tips)


def test_stacks_have_all_busy_cycles(profile: Profile) -> None:
    assert sum(int(line.rpartition(" ")[2]) for line in profile.folded().splitlines()) == profile.total.busy


def test_the_guide_names_every_key_and_every_cause(folder: Path, profile: Profile) -> None:
    guide = Path("docs/guides/profile.md").read_text()
    data = json.loads((folder / "profile.json").read_text())
    panic = spinet.run(
        services="core: riscv, program=sdk/examples/panic/swap.c",
        chains="all: core",
        traffic="udp:count=2,rate=1G",
        profile=True,
    )
    mips = spinet.run(nic="tigon2", send="udp:payload=numbered,count=2", limit="60 ms", profile=True)
    causes = {*profile.causes, *panic.profile.causes, *mips.profile.causes}
    missing = {name for name in (*data, *data["instructions"][0], *causes) if f"`{name}`" not in guide}
    assert missing == set()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        "[" * 100_000,
        '{"cores": "x", "causes": [], "instructions": [], "elsewhere": 0}',
        '{"cores": 1, "causes": [], "instructions": [{}], "elsewhere": 0}',
        '{"cores": 1, "causes": [], "instructions": 5, "elsewhere": 0}',
        '{"cores": 1, "causes": [], "elsewhere": 0, "instructions": [{"program": "", "address": 0,'
        ' "text": "", "function": "f", "line": "x", "inlined": [], "executed": 1, "lost": {}}]}',
    ],
)
def test_a_file_that_is_no_profile_is_an_error(text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "profile.json").write_text(text)
    with pytest.raises(InputError, match="this is not a profile"):
        Profile.load(tmp_path)
    code, _, err = command(capfd, "profile", tmp_path)
    assert code == 2
    assert "this is not a profile" in err


def test_the_summary_names_the_part_that_is_full(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["bottleneck"] == "nic.memories.handler_amo_cycles"
    amo = next(row for row in summary["resources"] if row["name"] == summary["bottleneck"])
    # 400 packets, 4 AMOs each, 10 cycles for each.
    assert amo["busy_cycles"] == summary["counters"][amo["name"]] == 400 * 4 * 10
    assert amo["utilisation"] > 0.9
    code, out, _ = command(capfd, "run", folder.parent / "sketch.c", "--traffic", TRAFFIC)
    assert code == 0
    assert re.search(
        r"^Bottleneck: atomic operations on L2 handler memory: one at a time \(9\d\.\d % busy\)$", out, re.M
    )


def test_a_card_that_is_not_full_has_no_bottleneck() -> None:
    slow = spinet.run(program="sdk/examples/empty.c", traffic="udp:size=64,count=50,rate=1G").summary
    assert slow["bottleneck"] is None
    assert all(0 < row["utilisation"] < 0.9 for row in slow["resources"])


def test_parts_of_every_kind_of_card_are_resources() -> None:
    chains = spinet.run(services="a: delay, cycles=400", chains="all: a", traffic="udp:size=64,count=200,rate=10G")
    assert chains.summary["bottleneck"] == "a[0].engine.service_cycles"
    wired = spinet.run(nic="tigon2", send="udp:size=1514,payload=numbered,count=20", limit="60 ms")
    assert any(row["name"].endswith("busy_cycles") for row in wired.summary["resources"])


def test_cycles_before_the_traffic_do_not_count_as_busy() -> None:
    # The host loads the firmware for 11 ms before the first frame, which keeps both memory and PCI busy.
    run = spinet.run(nic="tigon2", send="udp:size=1514,payload=numbered,count=20", limit="60 ms").summary
    pci = next(row for row in run["resources"] if row["name"] == "pci.busy_cycles")
    seconds = (run["time"]["simulated_ns"] - run["time"]["started_ns"]) / 1e9
    assert pci["utilisation"] == pytest.approx(pci["busy_cycles"] / (66e6 * seconds), rel=0.01)
    assert pci["busy_cycles"] < run["counters"]["pci.busy_cycles"] / 10
    assert all(row["utilisation"] <= 1 for row in run["resources"])
