# SPDX-License-Identifier: Apache-2.0
"""The build cache: the inputs of a key, the entries that it keeps, and those that it removes."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import spinet
import spinet.cli
from spinet import _files, cache
from spinet.toolchain import build

HANDLER = """\
#include <handler.h>
#include <packets.h>
#ifndef STEP
#define STEP 1
#endif
__handler__ void demo_ph(handler_args_t *args) { amo_add((int32_t *)args->task->scratchpad[0], STEP); }
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A handler that includes a header of the SDK."""
    path = tmp_path / "demo.c"
    path.write_text(HANDLER)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    monkeypatch.setenv("SPINET_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def program(source: Path) -> bytes:
    return build([source]).elf.read_bytes()


@pytest.mark.usefixtures("folder")
def test_a_header_that_hides_the_sdks_is_seen(source: Path) -> None:
    before = program(source)
    own = source.with_name("packets.h")
    own.write_text("#define STEP 5\n")
    # An angle include does not look beside the source; -I of its folder does.
    assert program(source) == before
    source.write_text(HANDLER.replace("<packets.h>", '"packets.h"'))
    with_own = program(source)
    own.unlink()
    without = program(source)
    own.write_text("#define STEP 5\n")
    assert with_own != without
    assert program(source) == with_own


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("asks", ['__has_include("extra.h")', "__has_include(<extra.h>)"])
def test_a_file_that_is_only_asked_for_is_seen(asks: str, source: Path) -> None:
    source.write_text(f"#if {asks}\n#define STEP 7\n#endif\n{HANDLER}")
    flags = [f"-I{source.parent}"]
    before = build([source], flags=flags).elf.read_bytes()
    source.with_name("extra.h").write_text("")
    after = build([source], flags=flags)
    assert (after.cached, after.elf.read_bytes() == before) == (False, False)
    source.with_name("extra.h").unlink()
    again = build([source], flags=flags)
    assert (again.cached, again.elf.read_bytes()) == (True, before)


@pytest.mark.usefixtures("folder")
def test_a_flag_that_names_a_file_is_followed(source: Path) -> None:
    arguments = source.with_name("arguments")
    programs = []
    for step in (3, 4, 3):
        arguments.write_text(f"-DSTEP={step}")
        programs.append(build([source], flags=[f"@{arguments}"]).elf.read_bytes())
    assert programs[0] != programs[1]
    assert programs[0] == programs[2]


@pytest.mark.usefixtures("folder")
def test_assembly_that_reads_files_is_built_each_time(source: Path) -> None:
    data = source.with_name("table.bin")
    source.write_text(
        HANDLER + f'__asm__(".section .data\\n.globl table\\ntable: .incbin \\"{data}\\"\\n.text");\n'
        "extern int table;\n__handler__ void other_ph(handler_args_t *args) { table++; }\n"
    )
    found = []
    for content in (b"1234", b"4321"):
        data.write_bytes(content)
        found.append(content in program(source))
    assert found == [True, True]


@pytest.mark.usefixtures("folder")
def test_the_current_folder_decides_nothing(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build([source])
    for folder in (tmp_path, Path(sys.prefix), Path("/")):  # folder of the source, folder of the compiler, another one
        monkeypatch.chdir(folder)
        assert build([source]).cached


@pytest.mark.usefixtures("folder")
def test_the_users_environment_decides_nothing(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = program(source)
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "packets.h").write_text("#define STEP 9\n")
    for name in ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"):
        monkeypatch.setenv(name, str(tmp_path / "evil"))
    monkeypatch.setenv("CCC_OVERRIDE_OPTIONS", "# O0 +-DSTEP=11")
    monkeypatch.setenv("GCC_EXEC_PREFIX", "/nowhere/")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert program(source) == before
    cache.empty()
    assert program(source) == before


def test_the_least_recently_used_goes(source: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = []
    for step in range(1, 5):
        source.write_text(HANDLER.replace("STEP 1", f"STEP {step}"))
        programs.append(build([source]).elf)
    bytes_of_one = programs[0].stat().st_size
    now = time.time()
    for at, path in enumerate(path for path in folder.rglob("*") if path.is_file()):
        os.utime(path, (now - 5000 - at, now - 5000 - at))
    source.write_text(HANDLER)  # the first is used again
    assert build([source]).cached
    monkeypatch.setattr(cache, "limit_bytes", lambda: 2 * bytes_of_one)
    source.write_text(HANDLER.replace("STEP 1", "STEP 9"))
    newest = build([source])
    assert newest.elf.is_file() and programs[0].is_file()
    assert not any(path.is_file() for path in programs[1:])
    source.write_text(HANDLER.replace("STEP 1", "STEP 2"))
    assert not build([source]).cached


def test_the_limit_is_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPINET_CACHE_MIB", "3")
    assert cache.limit_bytes() == 3 << 20
    monkeypatch.setenv("SPINET_CACHE_MIB", "lots")
    with pytest.raises(spinet.BuildError, match="SPINET_CACHE_MIB is 'lots', must be a whole number of MiB"):
        cache.limit_bytes()


def test_the_command_shows_and_empties(source: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build([source])
    assert spinet.cli.main(["cache", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    kinds = {kind["kind"]: kind["files"] for kind in found["kinds"]}
    assert (found["folder"], kinds["builds"], kinds["compilers"]) == (str(folder), 2, 1)
    assert found["bytes"] == sum(kind["bytes"] for kind in found["kinds"]) > 10_000
    assert spinet.cli.main(["cache", "--empty"]) == 0
    assert str(folder) in capsys.readouterr().out
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert not build([source]).cached
    assert spinet.cli.main(["cache"]) == 0
    assert "compiled programs" in capsys.readouterr().out


def test_a_program_does_not_depend_on_the_path_of_the_cache(source: Path, tmp_path: Path) -> None:
    names = ("cache", "user-1", "0.user.o", "panic")
    programs = {build([source], cache=tmp_path / name / "builds").elf.read_bytes() for name in names}
    assert len(programs) == 1


def test_all_that_the_cache_holds_is_counted(folder: Path) -> None:
    packet = bytes.fromhex("0200000000020200000000010800") + bytes(46)
    source = "sdk/examples/empty.c"
    two = dataclasses.replace(spinet.parameters_of("pspin"), n_clusters=2)
    spinet.run(program=source, traffic=[packet], handler_memory=b"memory", nic=two)
    spinet.sweep(program=source, traffic="udp:count={n}", vary={"n": [1, 2]}, processes=1)
    present = [path.name for path in folder.iterdir() if any(path.iterdir())]
    assert {"traffic", "memory", "runs", "builds"} <= set(present) <= set(cache.KINDS)


def killed(code: str, *arguments: object) -> None:
    """Run Python code in a process that then kills itself with SIGKILL."""
    command = [sys.executable, "-c", f"import os, signal, sys\n{code}\nos.kill(os.getpid(), signal.SIGKILL)"]
    done = subprocess.run([*command, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_what_a_killed_compile_leaves_is_swept(source: Path, folder: Path) -> None:
    killed(
        "from pathlib import Path\nfrom spinet import _files\n"
        "block = _files.workshop(Path(sys.argv[1]))\n(block.__enter__() / 'user-0.o').write_text('half')",
        folder,
    )
    torn = folder / "builds" / ".key.json.99.tmp"
    torn.parent.mkdir()
    torn.write_text("half")
    os.utime(torn, (0, 0))
    assert len(list(folder.glob("build-*"))) == 1
    with _files.workshop(folder) as held:
        assert list(folder.glob("build-*")) == [held]
        build([source])
        assert list(folder.glob("build-*")) == [held], "files in use stay"
    assert not torn.exists()


def test_what_a_killed_run_leaves_is_swept(tmp_path: Path) -> None:
    other = tmp_path / ".out.mine.part"
    other.mkdir()
    killed(
        "from pathlib import Path\nfrom spinet.output import OutputFolder\n"
        "folder = OutputFolder(Path(sys.argv[1]))\n(folder.path / 'packets.parquet').write_text('half')",
        tmp_path / "out",
    )
    killed("from pathlib import Path\nPath(f'{sys.argv[1]}/.a.elf.{os.getpid()}.tmp').touch()", tmp_path)
    assert len(list(tmp_path.iterdir())) == 3
    with spinet.output.OutputFolder(tmp_path / "out") as first:
        with spinet.output.OutputFolder(tmp_path / "out") as second:
            assert first.path.is_dir() and second.path.is_dir()
        (first.path / "summary.json").write_text("{}")
        first.commit()
    _files.write(tmp_path / "a.elf", "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".out.mine.part", "a.elf", "out"]
