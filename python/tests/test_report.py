# SPDX-License-Identifier: Apache-2.0
"""`spinet report`: numbers over time by hand, pages in a real browser, hostile folders."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import spinet
from spinet import _kinds, report
from spinet._timing import Level, Timing
from spinet.cli import main
from spinet.drawing import loads, svg
from spinet.report.series import BINS, Packets, unit
from spinet.wiring import Design

PING_PONG = str(Path(spinet.__file__).parent / "sdk/examples/ping_pong.c")

# A run of each kind of card: keywords of spinet.run, and the charts of its report.
TIMES = ["chart-rate", "chart-latency-time", "chart-latency"]
PATHS = ["chart-causes", "chart-slowest"]
RUNS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "handlers": (
        {"program": PING_PONG, "traffic": "udp:size=64,count=600,rate=400G", "paths": True, "profile": True},
        [*TIMES, "chart-split", *(f"chart-level-{at}" for at in range(4)), "chart-resources", *PATHS],
    ),
    "chains": (
        {
            "services": "a: delay, cycles=400",
            "chains": "all: a",
            "traffic": "udp:size=64,count=2000,rate=50G",
            "paths": True,
        },
        [*TIMES, "chart-split", *(f"chart-level-{at}" for at in range(3)), "chart-resources", "chart-drops", *PATHS],
    ),
    "modules": (
        {
            "nic": "tigon2",
            "traffic": "udp:size=1514,payload=numbered,count=40",
            "send": "udp:size=1514,payload=numbered,count=40",
            "limit": "60 ms",
            "profile": True,
        },
        [*TIMES, "chart-level-0", "chart-resources"],
    ),
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("runs")
    for kind, (keywords, _) in RUNS.items():
        spinet.run(**keywords).save(base / kind)
    return {kind: base / kind for kind in RUNS}


def design(nic: str) -> Design:
    return _kinds.get(_kinds.of_nic(nic) or "").design(nic, [])


# Four packets of 1000 bytes; the last is dropped. Times in nanoseconds.
CAME, DONE = [0, 0, 600, 900], [400, 1200, 1200, None]


def packets() -> Packets:
    def ps(values: list[int | None]) -> pa.Array:
        return pa.array([None if value is None else 1000 * value for value in values], pa.int64())

    table = pa.table(
        {
            "came": ps([*CAME]),
            "done": ps(DONE),
            "bytes": pa.array([1000] * 4),
            "core": pa.array([0, 1, 0, None], pa.int32()),
            "reason": pa.array(["", "", "", "full"]).dictionary_encode(),
        }
    )
    level = Level(title="busy", spans=(("came", "done"),), groups=("core",), group="core")
    timing = Timing("came", "bytes", "done", "done", "bytes", ("came", "done"), levels=(level,))
    return Packets(table, {}, timing)


def test_numbers_over_time_are_those_of_the_table() -> None:
    run = packets()
    # 120 bins of 10 ns, from 0 to 1200 ns.
    assert run.edges[0] == 0 and run.edges[-1] == 1200 and len(run.edges) == BINS + 1
    into, out = run.rates()
    assert (into.name, out.name) == ("in", "out")
    # Two packets of 8000 bits in the first bin: 1600 bits a nanosecond.
    assert into.values[0] == 1600 and into.values[60] == 800 and into.values[90] == 800
    assert into.values.sum() * 10 == 4 * 8000
    assert out.values[40] == 800 and out.values[-1] == 1600
    first, second = run.level(run.timing.levels[0])
    assert (first.name, second.name) == ("core 0", "core 1")
    # Core 0 is busy from 0 to 400 and from 600 to 1200, core 1 all the time. A packet without an end occupies nothing.
    assert np.allclose(first.values, [1.0] * 40 + [0.0] * 20 + [1.0] * 60)
    assert np.allclose(second.values, 1.0)
    (full,) = run.drops()
    assert full.name == "full" and full.values.sum() == 1 and full.values[90] == 1
    median, _, most = run.latency_over_time()
    assert median.values[40] == 400 and median.values[-1] == 900 and most.values[-1] == 1200
    assert dict(run.percentiles())["median"] == [600.0]
    edges, (bars,), is_log = run.histogram()
    assert not is_log and bars.values.sum() == 3 and (edges[0], edges[-1]) == (400, 1200)


def test_a_million_packets_keep_their_digits() -> None:
    # Packets back to back for a second, each 1 us: always exactly one is in the card.
    begin = np.arange(1_000_000, dtype=np.int64) * 1_000_000
    ones = np.ones(begin.size)
    columns = {"came": begin, "done": begin + 1_000_000, "bytes": ones}
    timing = Timing("came", "bytes", "done", "done", "bytes", ("came", "done"))
    (line,) = Packets(pa.table(columns), {}, timing).level(Level(title="inside", spans=(("came", "done"),)))
    assert np.allclose(line.values, 1.0, rtol=1e-6)


def test_units_suit_the_time() -> None:
    assert [unit(span)[0] for span in (1, 1999, 2000, 3e6, 5e9)] == ["ns", "ns", "µs", "ms", "s"]


def test_load_goes_to_parts_and_connections() -> None:
    found = loads.of(
        design("pspin"),
        {"nic.cluster[0].hpus": 0.25, "nic.cluster[3].hpus": 0.75, "nic.memories.packet_nic_writes": 0.5, "other": 1.0},
    )
    assert found.parts == {"cluster.cores": 0.75}
    assert found.ports == {"l2.bursts": 0.5}
    assert loads.of(design("tigon2"), {"pci.busy_cycles": 0.5}).parts == {"pci": 0.5}
    assert loads.of(design("panic"), {"sha[1].engine.lane[2].intake_cycles": 0.5}).parts == {"sha.engine": 0.5}
    assert loads.of(design("panic"), {"network[0].ingress.line_cycles": 0.5}).parts == {"ingress": 0.5}
    assert loads.of(design("panic"), {"scheduler.leaving_packet_cycles[1]": 0.5}).parts == {"scheduler.port": 0.5}
    assert loads.of(design("panic"), {"dma.transmit.buffered_flit_cycles": 0.5}).parts == {"dma.engine": 0.5}
    drawn = svg(design("pspin"), busy={"nic.memories.packet_nic_writes": 0.5, "nic.cluster[1].hpus": 0.97})
    assert ">50 %<" in drawn and ">97 %<" in drawn
    assert " %<" not in svg(design("pspin"))


def test_a_resource_of_pspin_has_a_place_in_the_drawing(folders: dict[str, Path]) -> None:
    for kind in RUNS:
        summary = json.loads((folders[kind] / "summary.json").read_text())
        card = design(summary["nic"])
        busy = {one["name"]: one["utilisation"] for one in summary["resources"]}
        missing = {name for name in busy if not any(vars(loads.of(card, {name: 1.0})).values())}
        assert missing <= {name for name in busy if name.startswith(("interconnect.", "a["))}, kind


# Renders the page at two widths in frames of a test page, and records what is drawn.
HARNESS = """<!DOCTYPE html><meta charset="utf-8"><title>test</title><body>
<iframe data-width="390" style="width:390px;height:4000px" srcdoc="{page}"></iframe>
<iframe data-width="1200" style="width:1200px;height:4000px" srcdoc="{page}"></iframe>
<pre id="found"></pre>
<script>
const frames = [...document.querySelectorAll("iframe")];
const look = () => {{
  const roots = frames.map((frame) => frame.contentDocument?.documentElement);
  if (!roots.every((root) => root?.dataset.drawn)) return setTimeout(look, 50);
  const found = roots.map((root, at) => ({{
    width: frames[at].dataset.width,
    overflow: root.scrollWidth - root.clientWidth,
    dark: frames[at].contentWindow.matchMedia("(prefers-color-scheme: dark)").matches,
    ground: frames[at].contentWindow.getComputedStyle(root.querySelector("body")).backgroundColor,
    charts: Object.fromEntries([...root.querySelectorAll(".chart")].map((chart) =>
      [chart.id, chart.querySelectorAll("svg .mark-rect path, svg .mark-line path, svg .mark-area path").length])),
    focusable: [...root.querySelectorAll("a[href], button, summary, [tabindex='0']")].length,
  }}));
  document.getElementById("found").textContent = JSON.stringify(found);
}};
look();
</script>
"""


def browse(page: str, folder: Path, *options: str) -> tuple[list[dict[str, Any]], str]:
    """Draw a page in a browser: marks and sizes in each frame, and the lines of the console."""
    chromium = shutil.which("chromium")
    assert chromium, "these tests need chromium: apt install chromium"
    file = folder / "harness.html"
    file.write_text(HARNESS.format(page=html.escape(page)))
    done = subprocess.run(
        [
            *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--dump-dom"),
            *("--enable-logging=stderr", "--virtual-time-budget=60000", f"--user-data-dir={folder / 'profile'}"),
            *options,
            file.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    console = "\n".join(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    found = re.search(r'<pre id="found">(.*?)</pre>', done.stdout, flags=re.DOTALL)
    assert found and found[1], f"the page was not drawn: {console}"
    return json.loads(html.unescape(found[1])), console


@pytest.mark.parametrize("kind", RUNS)
def test_a_browser_draws_every_chart(kind: str, folders: dict[str, Path], tmp_path: Path) -> None:
    page = report.html(folders[kind])
    assert not re.search(r'<[a-z][^<>]*\s(src|href)=(?!"#|"data:)', page.partition("<script")[0])
    found, console = browse(page, tmp_path)
    assert console == ""
    for drawn in found:
        assert sorted(drawn["charts"]) == sorted(RUNS[kind][1])
        assert all(marks > 0 for marks in drawn["charts"].values()), drawn["charts"]
        assert drawn["overflow"] <= 0, f"wider than {drawn['width']} pixels"
        assert drawn["focusable"] > 12
    phone, desk = found
    assert not phone["dark"] and not desk["dark"]
    assert desk["ground"] == "rgb(255, 255, 255)"
    if kind == "handlers":
        (dark, _), console = browse(page, tmp_path, "--blink-settings=preferredColorScheme=0")
        assert dark["dark"] and dark["ground"] == "rgb(20, 24, 29)" and console == ""


def test_the_check_of_the_console_can_fail(folders: dict[str, Path], tmp_path: Path) -> None:
    page = report.html(folders["chains"]).replace('"mark":{"type":"bar"}', '"mark":{"type":"no-such-mark"}')
    assert "CONSOLE" in browse(page, tmp_path)[1]


def test_the_page_has_the_numbers_of_the_run(folders: dict[str, Path]) -> None:
    page = re.sub(r"<script.*", "", report.html(folders["handlers"]), flags=re.DOTALL)
    summary = json.loads((folders["handlers"] / "summary.json").read_text())
    for wanted in ("ping_pong.c on pspin", "600", summary["digest"][:16], "spin_parse(pkt)", "Packet "):
        assert wanted in page, wanted
    assert summary["bottleneck"] in page
    drops = report.html(folders["chains"])
    assert "scheduler" in drops and "The card dropped no packet" not in drops


def test_what_was_not_recorded_says_how_to_record_it(tmp_path: Path) -> None:
    spinet.run(program=PING_PONG, traffic="udp:count=20", keep_packets=False).save(tmp_path / "run")
    page = report.html(tmp_path / "run")
    assert "kept no table of packets" in page
    assert "<code>spinet run --paths</code>" in page and "<code>spinet run --profile</code>" in page


def test_names_are_text_not_html(tmp_path: Path) -> None:
    evil = tmp_path / "<img src=x onerror=alert(1)>.c"
    shutil.copy(PING_PONG, evil)
    spinet.run(program=evil, traffic="udp:count=200,rate=400G", profile=True).save(tmp_path / "run")
    page = report.html(tmp_path / "run")
    assert "&lt;img src=x" in page and "<img" not in page.partition("<script")[0]
    charts = re.search(r'id="charts">(.*?)</script>', page, flags=re.DOTALL)
    assert charts and "<" not in charts[1] and json.loads(charts[1])


def test_the_command_writes_and_refuses(
    folders: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*command: str) -> tuple[int, str]:
        code = main([*command])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    run = tmp_path / "run"
    shutil.copytree(folders["chains"], run)
    assert said("report", str(run)) == (0, f"The report is {run}/report.html\n")
    assert said("report", str(run), "-o", str(tmp_path / "a.html")) == (0, f"The report is {tmp_path}/a.html\n")
    assert (tmp_path / "a.html").read_text() == (run / "report.html").read_text()

    code, text = said("report", str(tmp_path / "none"))
    assert code == 2 and f"there is no {tmp_path}/none/summary.json" in text and "hint: spinet run -o DIR" in text
    assert said("report", str(run), "-o", str(tmp_path / "no" / "a.html"))[0] == 2
    for name, content, complaint in (
        ("packets.parquet", b"PAR1", "packets.parquet: this file of a run is damaged"),
        ("paths.parquet", b"", "paths.parquet: this file of a run is damaged"),
        ("summary.json", b'{"kind": "cake"}', "summary.json: this file of a run is damaged ('spinet')"),
        ("summary.json", b"[" * 100_000, "summary.json: this file of a run is damaged"),
    ):
        (run / name).write_bytes(content)
        (run / "report.html").unlink(missing_ok=True)
        code, text = said("report", str(run))
        assert code == 2 and complaint in text, text
        assert not (run / "report.html").exists()
        shutil.copy(folders["chains"] / name, run / name)


def test_a_run_makes_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    assert main(["run", PING_PONG, "--traffic", "udp:count=50", "--report", "-o", str(run)]) == 0
    assert f"The report is {run}/report.html" in capsys.readouterr().out
    assert "ping_pong.c on pspin" in (run / "report.html").read_text()
    assert main(["run", PING_PONG, "--traffic", "udp:count=50", "--report"]) == 2
    assert "--report goes with -o" in capsys.readouterr().err


def test_without_the_library_nothing_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from spinet.report import page

    page.library.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    run = tmp_path / "run"
    assert main(["run", PING_PONG, "--traffic", "udp:count=50", "--report", "-o", str(run)]) == 2
    assert "pip install 'spinet[report]'" in capsys.readouterr().err
    assert not run.exists()
