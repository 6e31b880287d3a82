# SPDX-License-Identifier: Apache-2.0
"""Sweeps: what is varied, that runs are kept and continued, killed processes, and the comparison of results."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import spinet
from spinet import InputError, cli
from spinet.sweeps import Sweep, plan, rows, workers

ROOT = Path(__file__).resolve().parents[2]
PING_PONG = ROOT / "sdk" / "examples" / "ping_pong.c"
SPINET = (sys.executable, "-m", "spinet.cli")
DASK = (sys.executable, "-m", "distributed.cli.dask_scheduler"), (sys.executable, "-m", "distributed.cli.dask_worker")
PATIENCE_S = 120
RUN = f"[run]\nprogram = '{PING_PONG}'\ntraffic = 'udp:count=1'\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of runs of our own; compiled programs are shared with other tests."""
    own = tmp_path / "cache"
    own.mkdir()
    usual = Path(os.environ.get("SPINET_CACHE") or Path.home() / ".cache" / "spinet")
    for name in ("zig", "runtime", "compilers", "builds"):
        (usual / name).mkdir(parents=True, exist_ok=True)
        (own / name).symlink_to(usual / name)
    monkeypatch.setenv("SPINET_CACHE", str(own))
    return own


def small(**more: Any) -> dict[str, Any]:
    return {"program": PING_PONG, "traffic": "udp:size={size},count=20", "processes": 1, **more}


def kept(cache: Path) -> set[str]:
    return {path.name for path in cache.glob("runs/*.json")}


def until(is_so: Any) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, "nothing happens any more"
        os.sched_yield()


def test_every_combination_is_a_run_and_cases_change_together() -> None:
    varied = plan.of(
        {
            "run": {"program": "{file}.c", "traffic": "udp:size={size}", "set": ["host.x=1"], "limit": "{limit}"},
            "vary": {"size": "64..256*2", "set": {"cluster": {"n_cores": [4, 8]}}},
            "case": [{"file": "a", "limit": "1 ms"}, {"file": "b", "limit": "2 ms", "defines.N": 3}],
        },
        base_dir=Path.cwd(),
    )
    runs = list(varied.runs())
    assert varied.n_runs == len(runs) == 12
    assert varied.varied == ["file", "limit", "defines.N", "size", "set.cluster.n_cores"]
    assert runs[0] == {"file": "a", "limit": "1 ms", "size": 64, "set.cluster.n_cores": 4}
    assert varied.keywords(runs[11]) == {
        "program": "b.c",
        "traffic": "udp:size=256",
        "set": ["host.x=1", "cluster.n_cores=8"],
        "limit": "2 ms",
        "defines": {"N": 3},
    }


def test_a_row_has_the_summary_of_the_run() -> None:
    found = spinet.sweep(**small(vary={"size": [64, 1000], "set.cluster.n_cores": [1, 8]}))
    assert found.table.select(["run", "size", "set.cluster.n_cores"]).to_pylist() == [
        {"run": 1, "size": 64, "set.cluster.n_cores": 1},
        {"run": 2, "size": 64, "set.cluster.n_cores": 8},
        {"run": 3, "size": 1000, "set.cluster.n_cores": 1},
        {"run": 4, "size": 1000, "set.cluster.n_cores": 8},
    ]
    alone = spinet.run(program=PING_PONG, traffic="udp:size=1000,count=20", set="cluster.n_cores=1", keep_packets=False)
    row = found.table.to_pylist()[2]
    expected = dict(rows.flat(alone.summary))
    assert {key: row[key] for key in expected if not key.startswith("wall.")} == {
        key: value for key, value in expected.items() if not key.startswith("wall.")
    }


@pytest.mark.parametrize(
    ("keywords", "column", "values"),
    [
        ({"nic": "panic", "chains": "all: {engine}", "traffic": "udp:size=256,count=20"}, "engine", ["aes", "sha"]),
        ({"nic": "tigon2", "traffic": "udp:size={size},payload=numbered,count=3"}, "size", [60, 1514]),
    ],
)
def test_cards_of_all_kinds_have_sweeps(keywords: dict[str, Any], column: str, values: list[Any]) -> None:
    found = spinet.sweep(**keywords, vary={column: values}, processes=1)
    assert found.table[column].to_pylist() == values
    assert found.table["ended.reason"].to_pylist() == ["complete", "complete"]


def test_runs_on_several_processes_make_the_same_table() -> None:
    one, three = (
        spinet.sweep(**{**small(vary={"size": "64..1024*2", "seed": [1, 2]}), "processes": n, "fresh": True})
        for n in (1, 3)
    )
    wall = [name for name in one.table.column_names if name.startswith("wall.")]
    assert one.table.drop_columns(wall).equals(three.table.drop_columns(wall))


def test_only_runs_whose_inputs_changed_are_done_again(tmp_path: Path, cache: Path) -> None:
    known: list[bool] = []

    def sweep(**more: Any) -> list[bool]:
        known.clear()
        keywords = {**small(vary={"size": [64, 128]}), **more}
        spinet.sweep(**keywords, on_run=lambda _row, _n, was: known.append(was))
        return list(known)

    handler = tmp_path / "handler.c"
    shutil.copy(PING_PONG, handler)
    assert sweep(program=handler) == [False, False]
    assert sweep(program=handler) == [True, True]
    assert sweep(program=handler, vary={"size": [64, 256]}) == [True, False]
    assert sweep(program=handler, seed=1) == [True, True], "1 is the default"
    assert sweep(program=handler, seed=2) == [False, False]
    handler.write_text("/* a comment\n*/" + handler.read_text().replace("/* a comment */", ""))
    assert sweep(program=handler) == [False, False], "another program: its lines have other numbers"
    card = tmp_path / "base.toml"
    card.write_text('base = "pspin"\n[cluster]\nn_cores = 4\n')
    nic = tmp_path / "own.toml"
    nic.write_text('base = "base.toml"\n')
    assert sweep(nic=nic) == [False, False]
    card.write_text('base = "pspin"\n[cluster]\nn_cores = 2\n')
    assert sweep(nic=nic) == [False, False], "the file that the card is based on has changed"
    assert sweep(nic=nic) == [True, True]
    assert sweep(fresh=True, nic=nic) == [False, False]


def test_a_capture_counts_by_its_content(tmp_path: Path) -> None:
    known: list[bool] = []
    captures = [ROOT / "captures" / name for name in ("dns.pcap", "dns.pcap")]
    copies = [tmp_path / "one.pcap", tmp_path / "two.pcap"]
    for source, copy in zip(captures, copies, strict=True):
        shutil.copy(source, copy)
        spinet.sweep(
            program=PING_PONG, traffic=copy, pacing="asap", vary={"seed": [1]}, processes=1,
            on_run=lambda _row, _n, was: known.append(was),
        )  # fmt: skip
    assert known == [False, True]


def test_a_program_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from spinet import _compile

    built = []
    real = _compile._build
    monkeypatch.setattr(_compile, "_build", lambda *args: built.append(args) or real(*args))
    spinet.sweep(**small(vary={"size": "64..128", "defines.N": [1, 2]}), cases=[])
    assert len(built) == 2


def test_a_run_that_cannot_be_done_is_a_row_with_its_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.c"
    bad.write_text("this is not C\n")
    options = ["--traffic", "udp:count=4", "--vary", f"program={PING_PONG};{bad}", "-j", "1", "-o", str(tmp_path / "r")]
    assert cli.main(["sweep", *options]) == 2
    assert "1 runs failed; run 2: " in capsys.readouterr().err
    made = Sweep.load(tmp_path / "r")
    assert [row["run"] for row in made.failed] == [2]
    assert made.table["packets.out"].to_pylist() == [4, None]


def test_a_file_describes_a_sweep_and_relative_paths_start_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(PING_PONG, tmp_path / "handler.c")
    (tmp_path / "sweep.toml").write_text(
        'columns = ["packets.out"]\n[run]\nprogram = "handler.c"\ntraffic = "udp:count={n}"\n[vary]\nn = "1..3"\n'
    )
    assert cli.main(["sweep", str(tmp_path / "sweep.toml"), "-j", "1", "-o", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[:4] == [
        "n  packets.out",
        "1            1",
        "2            2",
        "3            3",
    ]
    assert pq.read_table(tmp_path / "out" / "runs.parquet")["packets.out"].to_pylist() == [1, 2, 3]
    assert cli.main(["sweep", str(tmp_path / "sweep.toml"), "--list"]) == 0
    assert capsys.readouterr().out == "n=1\nn=2\nn=3\n"


def test_a_keyword_that_no_sweep_has_is_named() -> None:
    with pytest.raises(spinet.InputError, match=r"^sweep has no keyword `proceses`\nhint: did you mean processes\?"):
        spinet.sweep(program="x.c", traffic="udp:", vary={"seed": [1]}, proceses=1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[vary]\nsize = [1]\n", "nothing uses `size`"),
        ('[run]\ntraffic = "udp:size={size}"\n[vary]\nsiz = [1]\n', "did you mean size?"),
        ('[run]\ntrafic = "udp:"\n[vary]\nseed = [1]\n', "[run] has no key `trafic`"),
        ("[run]\n", "the sweep varies nothing"),
        ("[rum]\n", "the sweep has no key `rum`"),
        ("[vary]\nseed = []\n", "vary.seed: there are no values"),
        ('[vary]\nseed = "8..1"\n', "the range 8..1 must grow"),
        ('[vary]\nseed = "1..8*1"\n', "the range 1..8*1 must grow"),
        ('[vary]\nseed = "1..9999999"\n', "has more than 1,000,000 values"),
        ('[vary]\nseed = "1..2000"\ncount = "1..2000"\n', "the sweep has 4,000,000 runs"),
        ("[vary]\nseed = [1979-05-27]\n", "must be a text, a number, true or false"),
        ("[[case]]\nseed = 1\n[vary]\nseed = [1]\n", "`seed` is in [vary] and in a [[case]]"),
        ("case = 3\n", "`case` must be a list of tables"),
        ("columns = 3\n", "`columns` must be a list of names"),
        ("vary = 3\n", "`run` and `vary` must be tables"),
        ("[vary\n", "sweep.toml: "),
        (f"{RUN}[vary]\nset.cluster.n_corse = [1]\n", "did you mean `cluster.n_cores`"),
        (f"columns = ['latency_ns.medain']\n{RUN}[vary]\nseed = [1]\n", "did you mean latency_ns.median?"),
    ],
)  # fmt: skip
def test_a_wrong_sweep_ends_before_its_runs_with_code_2(
    text: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(text)
    assert cli.main(["sweep", str(file), "-j", "1", "-o", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert str(file) in said
    assert "Traceback" not in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "sweep.toml"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["a.c", "--vary", "size"], "--vary size: must be KEY=VALUES"),
        (["a.c", "--vary", "seed=1", "--vary", "seed=2"], "seed is varied twice"),
        (["a.c", "--traffic", "udp:"], "name keys with values"),
        (["a.c", "--vary", "seed=1..8*0"], "--vary seed=1..8*0: the range"),
        (["sweep.toml", "--seed", "3"], "there is no"),
    ],
)
def test_a_wrong_command_line_ends_with_code_2(
    options: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["sweep", *options]) == 2
    said = capsys.readouterr().err
    assert complaint in said or "cannot read" in said
    assert "Traceback" not in said


def command(tmp_path: Path, *more: str) -> list[str]:
    sweep = ["sweep", str(PING_PONG), "--traffic", "udp:size={size},count=2000", "--vary", "size=64..87"]
    return [*SPINET, *sweep, "-j", "2", "-o", str(tmp_path / "out"), *more]


def test_a_sweep_that_is_killed_continues(tmp_path: Path, cache: Path) -> None:
    killed = subprocess.Popen(command(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until(lambda: len(kept(cache)) >= 3 or killed.poll() is not None)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    before = kept(cache)
    assert len(before) < 24, "the sweep was not done yet"
    assert not (tmp_path / "out").exists()
    again = subprocess.run([*command(tmp_path), "--json"], capture_output=True, text=True, check=True)
    found = json.loads(again.stdout)
    assert found["known"] >= len(before) >= 3
    assert [row["size"] for row in found["runs"]] == list(range(64, 88))
    assert {row["packets.out"] for row in found["runs"]} == {2000}
    assert pq.read_table(tmp_path / "out" / "runs.parquet").num_rows == 24


def test_a_sweep_that_is_interrupted_says_what_is_kept(tmp_path: Path, cache: Path) -> None:
    running = subprocess.Popen(command(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: kept(cache) or running.poll() is not None)
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, "the same command continues" in said) == (130, True), said
    assert [path for path in tmp_path.iterdir() if path.name.startswith(("out", ".out"))] == []


def children(pid: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(status.parent.name))
    return found


def is_worker(pid: int) -> bool:
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def test_runs_of_a_killed_process_are_done_by_others(tmp_path: Path, cache: Path) -> None:
    running = subprocess.Popen(command(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: kept(cache) or running.poll() is not None)
    for pid in [pid for pid in children(running.pid) if is_worker(pid)][:1]:
        os.kill(pid, signal.SIGKILL)
    _, said = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, said
    assert pq.read_table(tmp_path / "out" / "runs.parquet")["packets.out"].to_pylist() == [2000] * 24


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler with two workers, each a process of its own."""
    known = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-show", "--scheduler-file", str(known))
    started = [subprocess.Popen([*DASK[0], *options], cwd=tmp_path, **quiet)]
    try:
        until(lambda: known.is_file() and known.read_text().endswith("}"))
        address = json.loads(known.read_text())["address"]
        worker = (
            *DASK[1],
            address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--local-directory",
            str(tmp_path),
        )
        started += [subprocess.Popen(worker, cwd=tmp_path, **quiet) for _ in range(2)]
        yield address, started[1:]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_a_pool_that_cannot_start_its_threads_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_queue: object) -> None:
        raise RuntimeError("can't start new thread")

    # This thread gives jobs to the processes.
    monkeypatch.setattr("multiprocessing.queues.Queue._start_thread", refuse)
    jobs = [workers.Job(call=abs, arguments=(-1,), kind="test")]
    with pytest.raises(RuntimeError, match="can't start new thread"):
        list(workers.run(jobs, processes=2))


def test_dask_does_the_runs_of_a_killed_worker_on_another(
    tmp_path: Path, cache: Path, scheduler: tuple[str, list[subprocess.Popen[bytes]]]
) -> None:
    address, workers = scheduler
    sweep = command(tmp_path, "--scheduler", address)
    running = subprocess.Popen(sweep, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: kept(cache) or running.poll() is not None)
    workers[0].kill()
    _, said = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0, said
    remote = pq.read_table(tmp_path / "out" / "runs.parquet")
    local = spinet.sweep(
        program=PING_PONG, traffic="udp:size={size},count=2000", vary={"size": "64..87"}, processes=1, fresh=True
    ).table
    wall = [name for name in local.column_names if name.startswith("wall.")]
    assert remote.drop_columns(wall).equals(local.drop_columns(wall))


def test_a_scheduler_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from spinet.sweeps import on_dask

    monkeypatch.setattr(on_dask, "_WAIT_S", 0.2)
    with pytest.raises(InputError, match=r"there is no Dask scheduler at tcp://127.0.0.1:1"):
        spinet.sweep(**small(vary={"size": [64]}), scheduler="tcp://127.0.0.1:1")
    with pytest.raises(InputError, match=r"there is no Dask scheduler at nonsense:"):
        spinet.sweep(**small(vary={"size": [64]}), scheduler="nonsense://x")


def test_a_damaged_folder_is_an_error(tmp_path: Path) -> None:
    made = spinet.sweep(**small(vary={"size": [64]}), folder=tmp_path / "out")
    assert Sweep.load(tmp_path / "out").table.equals(made.table)
    (tmp_path / "out" / "runs.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match=r"runs.parquet: this file of a run is damaged"):
        Sweep.load(tmp_path / "out")
    with pytest.raises(InputError, match="there is no"):
        Sweep.load(tmp_path)
    with pytest.raises(spinet.OutputError, match="exists"):
        spinet.sweep(**small(vary={"size": [64]}), folder=tmp_path / "out")


def test_a_notebook_shows_the_table() -> None:
    text = spinet.sweep(**small(vary={"size": [64, 128]}))._repr_html_()
    assert "<b>Sweep</b> 2 runs" in text
    assert text.count("<tr>") == 3


def test_the_commands_of_the_guide_run_and_draw_its_figure(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "guides" / "sweep.md").read_text()
    shutil.copy(PING_PONG, tmp_path / "ping_pong.c")
    shutil.copy(ROOT / "sdk" / "examples" / "count.c", tmp_path / "count.c")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for block in re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL):
        done = subprocess.run(
            ["sh", "-ec", block], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, block + done.stderr
    drawn = (tmp_path / "latency.svg").read_text()
    assert drawn == (ROOT / "docs" / "images" / "sweep.svg").read_text(), f"copy {tmp_path}/latency.svg to docs/images"
    (tmp_path / "sweep.toml").write_text(re.findall(r"```toml\n(.*?)```", text, flags=re.DOTALL)[0])
    (python,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (tmp_path / "sdk").symlink_to(ROOT / "sdk")
    (tmp_path / "script.py").write_text(f"print('begins')\n{python}")
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("begins")) == (0, 1), "processes do not run the script again"
    command = [*SPINET, "sweep", "sweep.toml", "-j", "2", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["runs"]) == 60
