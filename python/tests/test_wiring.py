# SPDX-License-Identifier: Apache-2.0
"""Cards as data, from Python and from the command line: built, written, read again, checked and drawn."""

from __future__ import annotations

import json
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import spinet
import spinet.cli
from spinet import drawing, wiring
from spinet.drawing import boxes, places
from spinet.wiring import Card

MEMORY = {
    "bytes": 65536, "word_bytes": 8, "first_word_cycles": 2, "burst_words": 4, "max_bytes": 128,
    "policy": {"kind": "round-robin"},
}  # fmt: skip
CORE = {
    "pipeline": "five-stage", "reset_pc": 0, "runs_at_start": False, "memory_cycles": 2, "register_cycles": 2,
    "stores": "posted", "multiply_cycles": 3, "divide_cycles": 35,
    "instruction_cache": {"bytes": 1024, "line_bytes": 32, "ways": 2, "drops_stored_lines": False},
}  # fmt: skip


def cores() -> Card:
    """P cores on one memory, each with its cache inside: a module, repeated."""
    card = Card("cores", about="Cores on one memory.")
    card.clock("core", "200 MHz")
    card.clock("memory", "100 MHz")
    n = card.parameter("cores", 2)
    core = card.module("processor", about="A core.", parameters={"reset_pc": 0})
    cpu = core.instance("cpu", "mips-core", **{**CORE, "reset_pc": "$reset_pc"})
    core.port("memory", cpu["memory"])
    core.port("fetch", cpu["fetch"])
    processors = card.instance("core", core, clock="core", count=n, reset_pc="64 * $index")
    memory = card.instance("memory", "memory-controller", clock="memory", requesters="2 * $cores", **MEMORY)
    card.connect(processors.all["memory"], memory["requesters[0..$cores]"])
    card.connect(processors.all["fetch"], memory["requesters[$cores..]"], latency=3, room=4)
    return card


def test_a_card_becomes_its_parts() -> None:
    design = cores().design(set=["cores=3"])
    assert [part.path for part in design.parts] == ["core[0].cpu", "core[1].cpu", "core[2].cpu", "memory"]
    assert [part.parameters.get("reset_pc") for part in design.parts] == [0, 64, 128, None]
    fetch = [wire for wire in design.connections if wire.source == "core[2].cpu.fetch"]
    assert [(wire.target, wire.room, wire.latency) for wire in fetch] == [("memory.requesters[5]", 4, 3)]
    assert design.groups[1].ports["memory"] == "core[1].cpu.memory"


def test_a_card_and_its_file_are_the_same() -> None:
    text = cores().to_toml()
    again = Card.from_toml(text)
    assert again.to_toml() == text
    assert again.design() == cores().design()


def test_presets_survive_being_read_and_written() -> None:
    root = Path(__file__).resolve().parent.parent.parent
    for preset in (root / "presets").glob("*.toml"):
        text = preset.read_text()
        assert tomllib.loads(Card.from_toml(text).to_toml()) == tomllib.loads(text), preset.name


def test_texts_with_anything_in_them_survive() -> None:
    card = Card('quotes " and \\ and \u00e9', about="two\nlines\ttab \x7f")
    assert tomllib.loads(card.to_toml()) == {"name": 'quotes " and \\ and \u00e9', "about": "two\nlines\ttab \x7f"}


def test_one_core_more_costs_a_word(tmp_path: Path) -> None:
    base = tmp_path / "cores.toml"
    base.write_text(cores().to_toml())
    varied = wiring.variation(str(base), ["cores=4", "clocks.core=300 MHz", "memory.first_word_cycles=3"])
    design = varied.design()
    assert (len(design.parts), design.clocks["core"]) == (5, "300 MHz")
    assert design.parts[-1].parameters["first_word_cycles"] == 3
    assert len(varied.to_toml().splitlines()) < 14


def test_mistakes_name_the_line_of_the_text() -> None:
    card = cores()
    card.connect("core[0].memry", "memory.requesters[9]")
    with pytest.raises(spinet.InputError) as error:
        card.design()
    assert (
        "cores.toml: line 6: `core[0]` (processor) has no port `memry`; its ports: `fetch`, `memory`; did you"
        in str(error.value)
    )


def test_the_command_checks_shows_and_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "cores.toml"
    file.write_text(cores().to_toml())
    assert spinet.cli.main(["nic", "check", str(file)]) == 0
    assert capsys.readouterr().out == "cores: 3 parts, 4 connections, 2 clocks; all is well\n"
    assert spinet.cli.main(["nic", "show", str(file)]) == 0
    assert capsys.readouterr().out == cores().to_toml()
    assert spinet.cli.main(["nic", "show", str(file), "--tree", "--set", "cores=1"]) == 0
    assert capsys.readouterr().out == TREE
    assert spinet.cli.main(["nic", "show", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["connections"][0]["from"] == "core[0].cpu.memory"
    assert spinet.cli.main(["nic", "show", str(file), "--svg", str(tmp_path / "out.svg")]) == 0
    assert (tmp_path / "out.svg").read_text() == cores().design().svg()
    assert spinet.cli.main(["nic", "check", str(file), "--set", "cores=many"]) == 2
    assert "parameter `cores` is a text, must be a whole number such as 2" in capsys.readouterr().err


TREE = """\
cores  core 200 MHz, memory 100 MHz
  core[0]  processor
    cpu  mips-core  core
      memory   -> memory.requesters[0]
      fetch    -> memory.requesters[1]  room 4  latency 3
      control  (not connected)
      status   (not connected)
  memory  memory-controller  memory
    requesters[0]  <- core[0].cpu.memory
    requesters[1]  <- core[0].cpu.fetch  room 4  latency 3
"""


def test_every_module_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["nic", "modules"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert {"memory-controller", "mips-core", "packet-feeder"} <= set(names)
    for name in names:
        assert spinet.cli.main(["nic", "modules", name]) == 0
        assert capsys.readouterr().out.startswith(f"{name}: ")
    assert spinet.cli.main(["nic", "modules", "memory-controler"]) == 2
    assert "did you mean `memory-controller`?" in capsys.readouterr().err


@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_drawing_has_each_box_once_and_none_over_another(n: int) -> None:
    design = cores().design(set=[f"cores={n}"])
    root = boxes.tree(design)
    places.place(root)
    assert {box.name: box.copies for box in root.inner} == {"core": n, "memory": 0}
    assert [wire.count for wire in root.wires] == [n, n]
    check_places(root)
    texts = [
        "".join(element.itertext())
        for element in ET.fromstring(drawing.svg(design)).iter()
        if element.tag.endswith("text")
    ]
    assert {"core, 200 MHz", "memory, 100 MHz", "mips-core", f"core × {n}"} <= set(texts)  # noqa: RUF001  a times sign


def test_a_real_card_is_drawn_without_overlaps() -> None:
    root = boxes.tree(wiring.design("tigon2"))
    places.place(root)
    check_places(root)


def test_copies_that_are_wired_to_each_other_and_circles_are_drawn() -> None:
    card = Card("ring", about="Taps in a row, and a circle.")
    card.clock("core", "1 GHz")
    taps = card.instance("tap", "tap", count=3, listeners=1, outstanding=4)
    card.connect(taps.copy("0..2")["memory"], taps.copy("1..3")["requester"])
    card.connect(taps.copy(2)["memory"], taps.copy(0)["requester"])
    cache = card.instance(
        "cache", "cache-controller", count=3, line_bytes=32, sets=2, ways=1, replacement="lru", allocates_on_read=True,
        allocates_on_write=False,
    )  # fmt: skip
    store = card.instance("store", "multiported-memory", ports=9, base=0, bytes=1024, port_bytes=32)
    card.connect(taps.all["seen[*]"], cache.all["snooped"])
    card.connect(cache.all["cache"], store["ports[0..3]"])
    card.connect(cache.all["memory"], store["ports[3..6]"])
    feeder = card.instance("core", "mips-core", count=3, **CORE)
    card.connect(feeder.all["memory"], cache.all["requester"])
    card.connect(feeder.all["fetch"], store["ports[6..]"])
    root = boxes.tree(card.design())
    places.place(root)
    check_places(root)
    assert sorted(box.name for box in root.inner) == ["cache", "core", "store", "tap[0]", "tap[1]", "tap[2]"]


def check_places(box: boxes.Box) -> None:
    """Boxes lie within the box around them and beside each other; wires begin and end at pins and have right angles."""
    solid = [inner for inner in box.inner if inner.edge is None]
    for at, inner in enumerate(solid):
        assert inner.x >= 0 and inner.y >= 0
        assert inner.x + inner.width <= box.width and inner.y + inner.height <= box.height
        for other in solid[:at]:
            apart = (
                inner.x >= other.x + other.width or other.x >= inner.x + inner.width
                or inner.y >= other.y + other.height or other.y >= inner.y + inner.height
            )  # fmt: skip
            assert apart, f"{inner.path} lies over {other.path}"
        check_places(inner) if inner.inner else None
    for wire in box.wires:
        ends = ((wire.source, wire.source_pin, wire.points[0]), (wire.target, wire.target_pin, wire.points[-1]))
        for end, pin, (x, y) in ends:
            assert x in (end.x, end.x + end.width) and y == end.y + pin.y
        for (ax, ay), (bx, by) in zip(wire.points, wire.points[1:], strict=False):
            assert ax == bx or ay == by
