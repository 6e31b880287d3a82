# SPDX-License-Identifier: Apache-2.0
"""`spinet net show`: counts, pictures, load, and mistakes in networks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import spinet
from spinet import cli
from spinet.network_overview import Overview

NETWORKS = Path("experiments/networks")


def show(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert cli.main(["net", "show", *arguments]) == 0
    return capfd.readouterr().out


def test_it_counts_what_follows_from_the_topology(capfd: pytest.CaptureFixture[str]) -> None:
    found = json.loads(show(capfd, str(NETWORKS / "fat-tree.toml"), "--json"))
    assert (len(found["nodes"]), len(found["switches"]), len(found["links"])) == (16, 12, 48)
    # Nodes under different leaves are four links apart, through leaf, spine and leaf. Half of the nodes are under two
    # leaves, each with four links to spines.
    assert (found["diameter"], found["bisection"]) == (4, {"links": 8, "gbps": 800.0})
    assert found["window_ns"] == 300
    assert found["memory_bytes"] > 0
    text = show(capfd, str(NETWORKS / "fat-tree.toml"))
    assert "nodes      16: 14 pspin, 2 plain" in text
    assert "links      48: 48 of 100 Gbit/s" in text


SHAPES: dict[str, dict[str, Any]] = {
    "pair": {"topology": "pair"},
    "star": {"topology": "star", "nodes": 9},
    "tree16": {"topology": "fat-tree", "levels": 2, "radix": 8, "nodes": 16},
    "tree64": {"topology": "fat-tree", "levels": 3, "radix": 8, "nodes": 64},
    "dragonfly": {"topology": "dragonfly", "nodes_per_switch": 2, "switches_per_group": 4, "global_links": 2},
    "torus": {"topology": "torus", "dimensions": [4, 4]},
    "cube": {"topology": "torus", "dimensions": [3, 3, 2]},
}


def boxes(picture: str) -> dict[str, tuple[int, int, int, int]]:
    """The rectangles of nodes and switches by name."""
    root = ElementTree.fromstring(picture)
    found = {}
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        title = rect.find("{http://www.w3.org/2000/svg}title")
        if title is not None and title.text is not None:
            x, y, width, height = (int(rect.attrib[key]) for key in ("x", "y", "width", "height"))
            found[title.text.split(":")[0]] = (x, y, width, height)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_in_a_picture_covers_anything_else(shape: str) -> None:
    network = spinet.Network(**SHAPES[shape])
    overview = network.overview()
    picture = overview.svg()
    found = boxes(picture)
    assert set(found) == {node["name"] for node in overview.values["nodes"]} | set(overview.values["switches"])
    places = list(found.items())
    for at, (name, (x, y, width, height)) in enumerate(places):
        for other, (ox, oy, owidth, oheight) in places[at + 1 :]:
            apart = x + width <= ox or ox + owidth <= x or y + height <= oy or oy + oheight <= y
            assert apart, f"{name} and {other} overlap"
    view = re.search(r'viewBox="0 0 (\d+) (\d+)"', picture)
    assert view is not None
    right, bottom = int(view[1]), int(view[2])
    for name, (x, y, width, height) in found.items():
        assert x >= 0 and x + width <= right and y >= 0 and y + height <= bottom, f"{name} is outside"


def test_links_that_differ_have_their_rate() -> None:
    network = spinet.Network(topology="star", nodes=3, links=[{"from": "n1", "to": "sw0", "with": {"rate": "25G"}}])
    picture = network.overview().svg()
    assert "25 Gbit/s" in picture and "100 Gbit/s, 500 ns (2 links)" in picture


def test_after_a_run_it_draws_the_load(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder, page = tmp_path / "result", tmp_path / "load.html"
    assert cli.main(["run", str(NETWORKS / "incast.toml"), "-o", str(folder)]) == 0
    summary = json.loads((folder / "summary.json").read_text())
    capfd.readouterr()
    text = show(capfd, str(folder), "-o", str(page))
    assert f"{summary['packets']['dropped']:,} frames dropped" in text
    assert "busiest    sw0 to n0" in text
    (switch,) = summary["switches"]
    assert switch["dropped"] == summary["packets"]["dropped"] > 0
    assert switch["deepest_queue_bytes"] == summary["deepest_queue_bytes"]
    assert f"{switch['dropped']:,} dropped" in page.read_text()
    busiest = max(link["utilisation"] for link in summary["links"])
    assert f">{100 * busiest:.0f} %<" in Overview.of_folder(folder).svg()


def test_a_report_has_the_picture(tmp_path: Path) -> None:
    from spinet import report

    spinet.run(NETWORKS / "pair.toml").save(tmp_path / "result")
    assert "The network and its load" in report.html(tmp_path / "result")
    assert "server: pspin" in report.html(tmp_path / "result")


COUNT = Path("sdk/examples/count.c").absolute()
BAD = {
    "nodes = [{ name = 'a' }, { name = 'b' }]": "links: is a list without node `a`, must be one in which",
    "nodes = [{ name = 'a' }, { name = 'b' }, { name = 'c' }]\n"
    "links = [{ from = 'a', to = 'b' }, { from = 'b', to = 'c' }]": "no path from `c` to `a`",
    "nodes = [{ name = 'a' }]\nlinks = [{ from = 'a', to = 'a' }]": "a link from `a` to itself, must be two nodes",
    "topology = { name = 'star', nodes = 3 }\n"
    f"nodes = [{{ name = 'n1', nic = 'pspim', program = '{COUNT}', context = [{{}}] }}]": "pspim",
    "topology = { name = 'ring' }": "ring",
    "topology = { name = 'star', nodes = 3 }\n"
    "nodes = [{ name = 'n1', send = { source = 'udp:count=1', to = 'n7' } }]": "there is no node `n7`",
    "topology = { name = 'star', nodes = 3 }\nnodes = [{ name = 'n1', rank = 1 }]": "`n1` is 1, must be below 1",
    "topology = { name = 'torus', dimensions = [4, 4] }\n"
    "switch = { pfc = { xoff_bytes = 50000, xon_bytes = 25000, headroom_bytes = 40000 } }": "wait in a circle",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_mistakes_are_errors(text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "net.toml"
    path.write_text(text)
    assert cli.main(["net", "show", str(path), "-o", str(tmp_path / "net.svg")]) == 2
    error = capfd.readouterr().err
    assert error.startswith("error: ") and BAD[text] in error
    assert not (tmp_path / "net.svg").exists(), "a picture was written"


def test_other_files_and_folders_are_errors(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for arguments, text in (
        (["experiments/nothing.toml"], "experiments/nothing.toml"),
        ([str(tmp_path)], "there is no"),
        ([str(NETWORKS / "pair.toml"), "-o", "net.png"], "must end in .svg or .html"),
    ):
        assert cli.main(["net", "show", *arguments]) == 2
        assert text in capfd.readouterr().err
