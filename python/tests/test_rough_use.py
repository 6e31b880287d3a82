# SPDX-License-Identifier: Apache-2.0
"""The command in a broken environment: closed streams, full disks, no home, requests to end."""

from __future__ import annotations

import os
import pwd
import re
import resource
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import spinet.cli
from spinet import _commands, _files, api, packet_table
from spinet._build_errors import BuildError
from spinet._compiler import find_compiler
from spinet._core import InputError
from spinet.wiring import Card

from world import ROOT

HANDLER = ROOT / "sdk" / "examples" / "empty.c"
PING = ROOT / "sdk" / "examples" / "ping_pong.c"
SPINET = (sys.executable, "-m", "spinet.cli")


def peak_kib(packets: int) -> int:
    """Peak memory of a run with this number of packets, in its own process."""
    measure = (
        "import resource, sys, spinet.cli; spinet.cli.main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    command = (sys.executable, "-c", measure, "run", HANDLER, "-t", f"udp:count={packets}", "--pace", "asap")
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stderr)


def test_memory_does_not_grow_with_the_packets() -> None:
    few, many = peak_kib(30_000), peak_kib(230_000)
    assert many - few < 4096, f"{few} KiB for 30,000 packets, {many} KiB for 230,000"


def hear_requests_to_end() -> None:
    """Restore the default reactions to signals. Under `nohup`, the tests and their children ignore SIGHUP."""
    for request_to_end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(request_to_end, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_what_reproduces_figures_can_be_asked_to_end(tmp_path: Path) -> None:
    folder, scratch = tmp_path / "out", tmp_path / "scratch"
    scratch.mkdir()
    command = (*SPINET, "reproduce", "pspin/fig9", "--no-plot", "--fresh", "--jobs", "2", "-o", folder)
    env = {**os.environ, "TMPDIR": str(scratch), "SPINET_CACHE": str(tmp_path / "cache")}
    pipe = subprocess.PIPE
    run = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=env, preexec_fn=hear_requests_to_end)
    try:
        deadline = time.monotonic() + 60
        while not list(scratch.glob("*/*")) and time.monotonic() < deadline:  # of a process that measures
            os.sched_yield()
        run.send_signal(signal.SIGTERM)
        _, said = run.communicate(timeout=60)
    finally:
        run.kill()
    assert (run.returncode, list(scratch.iterdir())) == (130, [])
    assert "stopped; nothing was written" in said
    assert not [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("request_to_end", [signal.SIGTERM, signal.SIGHUP])
def test_who_is_asked_to_end_leaves_nothing_behind(request_to_end: signal.Signals, tmp_path: Path) -> None:
    command = (*SPINET, "run", HANDLER, "-t", "udp:count=100000000", "-o", tmp_path / "out")
    pipe = subprocess.PIPE
    run = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=hear_requests_to_end)
    try:
        deadline = time.monotonic() + 60
        while not list(tmp_path.iterdir()) and time.monotonic() < deadline:  # its folder under construction
            os.sched_yield()
        run.send_signal(request_to_end)
        run.send_signal(signal.SIGINT)  # a second signal does not stop the clean-up
        _, said = run.communicate(timeout=60)
    finally:
        run.kill()  # otherwise a run that missed the signal would continue for hours
    assert run.returncode == 130
    # Interrupted while it compiles, it writes nothing; interrupted later, it writes all results so far.
    assert [path.name for path in tmp_path.iterdir()] in ([], ["out"])
    assert ("nothing was written" in said) == (not list(tmp_path.iterdir()))
    assert "Traceback" not in said


def ended(program: str, cwd: Path) -> tuple[int, str]:
    """Exit code and error output of a Python program in a process of its own."""
    env = {**os.environ, "PYTHONPATH": f"{cwd}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run((sys.executable, "-c", program), cwd=cwd, env=env, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr


def test_ctrl_c_while_the_command_is_loaded_leaves_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal; os.kill(os.getpid(), signal.SIGINT)")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["spinet"].partition(":")
    assert ended(f"import {module}; {module}.{function}()", tmp_path) == (-signal.SIGINT, "")


def test_a_second_ctrl_c_counts_if_a_library_ignored_the_first(tmp_path: Path) -> None:
    program = """
import os, signal, sys, spinet.cli as cli

def ignores(**_more):
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        pass
    os.kill(os.getpid(), signal.SIGINT)
    return 0

cli.cli.main, cli._CLEAN_UP_S = ignores, SECONDS
sys.exit(cli.main([]))
"""
    assert ended(program.replace("SECONDS", "10"), tmp_path) == (0, "")  # this one would stop the clean-up
    assert ended(program.replace("SECONDS", "0"), tmp_path) == (130, "stopped; nothing was written\n")


def test_an_interrupt_waits_for_what_a_compiler_has_started(tmp_path: Path) -> None:
    # The shell interrupts spinet when spinet has begun to collect its output. The helper writes after the shell was
    # killed. If spinet ends first, the helper ends, too.
    helper = "(until grep -q ^State:.Z /proc/$$/status || [ ! -e /proc/$PPID ]; do :; done; echo > late)"
    shell = f"{helper} & until [ -e begun ]; do :; done; kill -INT $PPID; wait"
    program = f"""
import os, pathlib, subprocess
from spinet import _commands

usual = subprocess.Popen.communicate

def communicate(*args, **more):
    pathlib.Path("begun").touch()
    return usual(*args, **more)

subprocess.Popen.communicate = communicate
try:
    _commands.run(["sh", "-c", {shell!r}])
except KeyboardInterrupt:
    assert os.path.exists("late")
    raise SystemExit(7)
"""
    assert ended(program, tmp_path) == (7, "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_an_interrupt_while_a_compiler_starts_ends_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    number = getattr(signal, name)
    started: list[subprocess.Popen[bytes]] = []

    class Interrupted(subprocess.Popen[bytes]):
        """The signal comes when the process runs, but its constructor has not returned."""

        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            started.append(self)
            signal.raise_signal(number)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _commands.run(["sleep", "600"])
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)
        monkeypatch.undo()
    process = started[0]
    try:
        assert process.poll() == -signal.SIGKILL
    finally:
        process.kill()
        process.wait()


def test_an_interrupted_removal_of_scratch_files_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = os.rmdir

    def interrupted(*args: Any, **more: Any) -> None:
        monkeypatch.setattr(os, "rmdir", usual)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), _files.scratch(parent=tmp_path) as scratch:
        (scratch / "folder").mkdir()
        monkeypatch.setattr(os, "rmdir", interrupted)
    assert list(tmp_path.iterdir()) == []


def test_closed_streams_do_not_matter() -> None:
    match = f"{sys.executable} -m spinet.cli match udp {ROOT / 'captures' / 'dns.pcap'}"
    assert subprocess.run(f"{match} >&-", shell=True).returncode == 0
    assert subprocess.run(f"{match} >&- 2>&-", shell=True).returncode == 0
    assert subprocess.run(f"{match}.gone 2>&-", shell=True).returncode == 2


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="the system has no /dev/full")
def test_a_device_is_written_and_not_replaced(capfd: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["build", str(HANDLER), "-o", "/dev/full"]) == 2
    assert capfd.readouterr().err == "error: cannot write /dev/full: No space left on device\n"
    assert spinet.cli.main(["nic", "show", "panic", "--svg", "/dev/full"]) == 2
    assert capfd.readouterr().err == "error: /dev/full: No space left on device\n"
    assert spinet.cli.main(["build", str(HANDLER), "-o", "/dev/null"]) == 0
    assert Path("/dev/full").is_char_device() and Path("/dev/null").is_char_device()


def with_short_files(
    kib: int, command: Sequence[str | Path], env: Mapping[str, str] = os.environ, **more: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a command as on a full disk: no file gets longer than this."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, resource.RLIM_INFINITY))

    # Python does not notice that it truncates a compiled module, and no later process could import it.
    return subprocess.run(command, env={**env, "PYTHONDONTWRITEBYTECODE": "1"}, preexec_fn=limit, **more)


# Commands, the size limit of a file in KiB, and the last line of their output.
FULL = [
    (
        "run PING -t udp:size=1024,count=30 -o out",
        24,
        "out/out.pcapng: writing the capture: File too large (os error 27)",
    ),
    ("run HANDLER -t udp:count=10 -o out", 16, "cannot write out: File too large"),
    (
        "run PING -t udp:size=1024,count=200 --out out.pcap",
        24,
        "out.pcap: writing the capture: File too large (os error 27)",
    ),
    ("run PING -t udp:size=1024,count=200 --waves out.vcd", 24, "out.vcd: File too large (os error 27)"),
    (
        "run PING -t udp:size=1024,count=200 --timeline out.pftrace",
        24,
        "out.pftrace: File too large (os error 27)",
    ),
    (
        "run PING -t udp:size=64,count=200 --trace-instructions -o out",
        40,
        "out/instructions/trace_core_00_0.log: File too large (os error 27)",
    ),
    (
        "run --nic panic --chain a:sha -t udp:size=1024,count=30 -o out",
        24,
        "out/host.pcapng: writing the capture: File too large (os error 27)",
    ),
    ("run --nic tigon2 -t udp:payload=numbered,count=1 -o out", 2, "cannot write out: File too large"),
    ("compare HANDLER -t udp:count=10 --nic pspin --no-plot -o out", 2, "cannot write out: File too large"),
    ("reproduce pspin/table3 --no-plot -o out", 1, "out/pspin/table3.csv: File too large"),
    ("nic show panic --svg out", 2, "out: File too large"),
    ("firmware tigon2 --image out", 2, "out: File too large"),
    ("build HANDLER -o out", 2, "cannot write out: File too large"),
    ("build HANDLER --slm out", 2, "out/prog_mem_stim.slm: File too large"),
    ("examples --copy out", 1, "out/sdk/examples/aggregate.c: File too large"),
]


@pytest.mark.parametrize(("command", "kib", "message"), FULL)
def test_a_full_disk_is_reported_and_leaves_nothing_half_written(
    command: str, kib: int, message: str, tmp_path: Path
) -> None:
    for warm_up in (["build", str(HANDLER)], ["build", str(PING)], ["firmware", "tigon2"]):
        assert spinet.cli.main(warm_up) == 0  # so that no compiler meets the limit
    words = [{"HANDLER": str(HANDLER), "PING": str(PING)}.get(word, word) for word in command.split()]
    done = with_short_files(kib, (*SPINET, *words), cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (2, f"error: {message}")
    assert "Exception ignored" not in done.stderr and "Traceback" not in done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_an_earlier_file_stays_until_the_next_one_is_complete(tmp_path: Path) -> None:
    command = (*SPINET, "run", PING, "-t", "udp:size=1024,count=200", "--out")
    (tmp_path / "sent.pcap").write_bytes(b"earlier")
    (tmp_path / "link.pcap").symlink_to("sent.pcap")
    failed = with_short_files(24, (*command, "sent.pcap"), cwd=tmp_path, capture_output=True)
    assert (failed.returncode, (tmp_path / "sent.pcap").read_bytes()) == (2, b"earlier")
    streamed = subprocess.run((*command, "/dev/stdout"), cwd=tmp_path, capture_output=True).stdout
    assert subprocess.run((*command, "link.pcap"), cwd=tmp_path, capture_output=True).returncode == 0
    assert (tmp_path / "link.pcap").is_symlink()
    assert streamed.startswith((tmp_path / "sent.pcap").read_bytes())  # behind the packets there is the report
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.pcap", "sent.pcap"]


def test_a_cache_without_room_is_reported_and_works_when_there_is(tmp_path: Path) -> None:
    env = {**os.environ, "SPINET_CACHE": str(tmp_path)}
    build = (*SPINET, "build", HANDLER)
    done = with_short_files(2, build, env, capture_output=True, text=True)
    assert done.returncode == 2
    assert re.search(r"error: \w+\.[cS] does not compile", done.stderr)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("build-")] == []
    assert subprocess.run(build, env=env).returncode == 0


def test_the_error_without_a_home_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def nobody(_number: int) -> None:
        raise KeyError

    for name in ("HOME", "XDG_CACHE_HOME", "SPINET_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    assert spinet.cli.main(["build", str(HANDLER)]) == 2
    said = "error: there is no folder to keep builds in: HOME is not set\nhint: name one with SPINET_CACHE\n"
    assert capfd.readouterr().err == said


def test_the_doctor_tells_what_is_broken(tmp_path: Path) -> None:
    for name, text in {"valgrind": "#!/nowhere", "qemu-riscv32": "#!/bin/sh\nprintf '\\377'; exit 3"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    (tmp_path / "numpy.py").write_text("raise ImportError('libblas is gone')")
    env = {name: f"{tmp_path}:{os.environ.get(name, '')}" for name in ("PATH", "PYTHONPATH")}
    done = subprocess.run((*SPINET, "doctor"), env={**os.environ, **env}, capture_output=True, text=True)
    wrong = [line.replace(f"{tmp_path}/", "") for line in done.stdout.splitlines() if not line.startswith("ok")]
    assert done.returncode == 1
    assert wrong == [
        "missing   numpy         libblas is gone",
        "optional  qemu-riscv32  qemu-riscv32 does not run; tests compare instructions with it: apt install qemu-user",
        "optional  valgrind      valgrind does not run; `make bench` counts host instructions with it: "
        "apt install valgrind",
    ]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_a_terminal_may_lack_characters(encoding: str) -> None:
    env = {**os.environ, "PYTHONIOENCODING": encoding}
    command = (*SPINET, "run", HANDLER, "-t", "udp:count=1")
    assert subprocess.run(command, env=env, capture_output=True).returncode == 0


def test_who_hears_no_errors_hears_none() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run((*SPINET, "match", "udp", "missing.pcap"), stderr=writer)
    os.close(writer)
    assert done.returncode == 141


def test_names_that_are_not_utf8_are_refused(capfd: pytest.CaptureFixture[str]) -> None:
    name = os.fsdecode(b"dns\xff.pcap")
    for command in (["match", "udp", name], ["run", str(HANDLER), "-t", name], ["run", name], ["nic", "show", name]):
        assert spinet.cli.main(command) == 2
        assert capfd.readouterr().err == "error: the argument dns\\xff.pcap is not UTF-8; rename the file or folder\n"


def test_a_compiler_needs_no_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert find_compiler(cc="zig", cache=tmp_path / "cache").kind == "zig"


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BuildError, match=r"cannot keep builds in .*file/cache: Not a directory") as caught:
        find_compiler(cc="zig", cache=tmp_path / "file" / "cache")
    assert "SPINET_CACHE" in caught.value.hint


def test_processes_that_measure_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    command = (*SPINET, "reproduce", "pspin/fig9", "--no-plot", "--fresh", "--jobs", "2", "-o", tmp_path / "out")
    env = {**os.environ, "TMPDIR": str(scratch), "SPINET_CACHE": str(tmp_path / "cache")}
    run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    try:
        deadline = time.monotonic() + 60
        while not list(scratch.glob("*/*")) and time.monotonic() < deadline:  # of a process that measures
            time.sleep(0.01)
        workers = [int(pid) for pid in Path(f"/proc/{run.pid}/task/{run.pid}/children").read_text().split()]
        assert len(workers) >= 2
    finally:
        run.kill()
        run.wait()
    deadline = time.monotonic() + 30
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(is_running, workers))
    # The next command removes their partial files.
    subprocess.run((*SPINET, "compare", HANDLER, "-t", "udp:count=20", "--nic", "pspin"), env=env, capture_output=True)
    assert list(scratch.iterdir()) == []


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("closed", ["2>&-", ">&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize(
    "command",
    [
        f"run {HANDLER} -t udp:count=3 -o out",
        f"compare {HANDLER} -t udp:count=20 --nic pspin --no-plot -o out",
        "reproduce pspin/table3 --no-plot -o out",
        "nic list",
        f"build {HANDLER} -o out",
    ],
)
def test_commands_work_with_closed_streams(command: str, closed: str, tmp_path: Path) -> None:
    shell = f"{sys.executable} -m spinet.cli {command} {closed}"
    assert subprocess.run(shell, shell=True, cwd=tmp_path).returncode == 0
    assert "out" not in command or (tmp_path / "out").exists()


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="the system has no /dev/full")
@pytest.mark.parametrize("command", [f"run {HANDLER} -t udp:count=3", "nic list", "schema nic", "run --help", "cache"])
@pytest.mark.parametrize("full", [">/dev/full", "2>/dev/full >/dev/full"])
def test_output_to_a_full_device_is_an_error_of_the_environment(command: str, full: str) -> None:
    done = subprocess.run(
        f"{sys.executable} -m spinet.cli {command} {full}", shell=True, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_text_of_which_only_a_part_is_written_is_an_error(unbuffered: str, tmp_path: Path) -> None:
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with (tmp_path / "schema").open("w") as file:
        done = with_short_files(1, (*SPINET, "schema", "nic"), env, stdout=file, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (2, b"error: File too large\n")


def test_a_disk_that_is_full_in_the_middle_of_a_table_is_reported(tmp_path: Path) -> None:
    assert spinet.cli.main(["build", str(HANDLER)]) == 0
    command = (*SPINET, "run", HANDLER, "-t", "udp:size=64,count=150000", "--pace", "asap", "-o", "out")
    done = with_short_files(20, command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "error: cannot write out: File too large\n")
    assert list(tmp_path.iterdir()) == []


def test_tables_are_closed_when_the_next_one_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    closed = []

    class Table:
        def __init__(self, path: Path, _columns: object) -> None:
            self.name = path.name
            if self.name == "paths.parquet":
                raise OSError(28, "No space left on device")

        def close(self) -> None:
            closed.append(self.name)

    monkeypatch.setattr(packet_table, "ParquetFile", Table)
    out = tmp_path / "out"
    assert spinet.cli.main(["run", str(HANDLER), "-t", "udp:count=1", "--paths", "-o", str(out)]) == 2
    assert (closed, capfd.readouterr().err) == (
        ["packets.parquet"],
        f"error: cannot write {out}: No space left on device\n",
    )


def wrapped(error: BaseException, cause: BaseException) -> BaseException:
    """As after `raise error from cause`."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (MemoryError(), 2, "not enough memory"),
        (OSError(28, "No space left on device"), 2, "error: No space left on device"),
        (RuntimeError("can't start new thread"), 2, "starts no more threads"),
        (UnicodeEncodeError("utf-8", "/tmp/\udcff", 5, 6, "surrogates not allowed"), 2, "/tmp/\\xff is not UTF-8"),
        (
            ImportError("libarrow.so: failed to map segment from shared object"),
            2,
            "cannot be loaded: libarrow.so: failed",
        ),
        (
            wrapped(ImportError("long advice"), ImportError("libblas.so is gone")),
            2,
            "cannot be loaded: libblas.so is gone",
        ),
        (ImportError("no name x in it", name="spinet.output"), 70, "a mistake in spinet: ImportError: no name x in it"),
        (ZeroDivisionError("division by zero"), 70, "a mistake in spinet: ZeroDivisionError: division by zero"),
        (RecursionError("deep"), 70, "a mistake in spinet: RecursionError: deep"),
        (AssertionError("promise"), 70, "a mistake in spinet: AssertionError: promise"),
    ],
)
def test_no_error_ends_with_an_accidental_code(
    raised: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fail(*_arguments: object, **_options: object) -> None:
        raise raised

    monkeypatch.setattr(api, "prepare", fail)
    assert spinet.cli.main(["run", str(HANDLER), "-t", "udp:count=1"]) == code
    printed = capfd.readouterr().err
    assert said in printed
    assert ("Traceback" in printed) == (code == 70)


@pytest.mark.parametrize("name", ["SPINET_CACHE", "XDG_CACHE_HOME", "TMPDIR"])
def test_folders_that_are_not_utf8_are_named(name: str, tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff"
    os.mkdir(folder)
    env = {os.fsencode(key): os.fsencode(value) for key, value in os.environ.items() if key != "SPINET_CACHE"}
    env[b"XDG_CACHE_HOME"] = os.fsencode(tmp_path)
    command = (*SPINET, "compare", HANDLER, "-t", "udp:count=20", "--nic", "pspin")
    done = subprocess.run(command, env={**env, name.encode(): folder}, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert (done.returncode, "\\xff" in done.stderr, "UTF-8" in done.stderr) == (2, True, True), done.stderr


def test_a_process_that_is_killed_while_it_measures_is_reported(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys, spinet.cli, spinet.sweeps.workers as workers\n"
        "def end(scratch): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    (tmp_path / "deadly.py").write_text(code + "workers._begin = end\n")
    run = "import deadly, sys, spinet.cli\nif __name__ == '__main__': sys.exit(spinet.cli.main(sys.argv[1:]))"
    (tmp_path / "main.py").write_text(run)
    command = (sys.executable, tmp_path / "main.py", "reproduce", "pspin/fig9", "--no-plot", "--fresh", "-j", "2")
    done = subprocess.run((*command, "-o", tmp_path / "out"), capture_output=True, text=True)
    assert (done.returncode, "was killed" in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_an_experiment_without_end_is_refused(suffix: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    endless = tmp_path / f"endless{suffix}"
    endless.symlink_to("/dev/zero")
    assert spinet.cli.main(["run", str(endless)]) == 2
    assert "the most that is read" in capfd.readouterr().err


def test_a_key_of_100000_parts_is_refused_at_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    deep = tmp_path / "deep.toml"
    deep.write_text("program = 'a.c'\n" + ".".join(["a"] * 100_000) + " = 1\n")
    begin = time.monotonic()
    assert spinet.cli.main(["run", str(deep)]) == 2
    assert spinet.cli.main(["nic", "show", str(deep)]) == 2
    assert capfd.readouterr().err.count("a key has more than 64 parts") == 2
    with pytest.raises(InputError, match="the card: line 2: a key has more than 64 parts"):
        Card.from_toml(deep.read_text())
    assert time.monotonic() - begin < 5


def test_linear_algebra_reserves_no_memory_for_each_core() -> None:
    code = "import spinet.cli, os; spinet.cli.main(['nic', 'list']); import numpy; print(os.listdir('/proc/self/task'))"
    env = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run((sys.executable, "-c", code), env=env, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].count(",") == 0, "threads of the process"


def little_memory(mib: int) -> None:
    """Limit the address space, as `ulimit -v` does."""
    resource.setrlimit(resource.RLIMIT_AS, (mib << 20, resource.RLIM_INFINITY))


@pytest.mark.parametrize(
    ("command", "mib", "message"),
    [
        (
            "run --nic tigon2 --set sram.bytes=1073741824 -t udp:payload=numbered,count=1",
            800,
            "error: tigon2: its memories (sram) need 1073741824 bytes of this machine's memory, which",
        ),
        (
            "run --nic tigon2 -t udp:size=1514,count=900000",
            800,
            " frames need 16777216 bytes of this machine's memory, which the system refuses",
        ),
    ],
)
def test_sizes_beyond_this_machines_memory_are_refused(command: str, mib: int, message: str) -> None:
    assert spinet.cli.main(["firmware", "tigon2"]) == 0  # so that no compiler meets the limit
    done = subprocess.run(
        [sys.executable, "-m", "spinet.cli", *command.split(), "--limit", "1 ms"],
        preexec_fn=lambda: little_memory(mib),
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert message in done.stderr
