# SPDX-License-Identifier: Apache-2.0
"""`spinet exec` with bare-metal programs in the manner of the public RISC-V tests: verdicts, exit codes, signatures."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from spinet import cli
from spinet._compiler import find_compiler

FOLDER = Path(__file__).with_name("exec")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of exec/, assembled and linked by the compiler that handlers are built with."""
    folder = tmp_path_factory.mktemp("exec")
    compiler = find_compiler(cc=None, cache=folder / "cache")
    for source in FOLDER.glob("*.S"):
        flags = (*compiler.compile_flags, *compiler.link_flags, "-nostdlib", "-Wl,--no-gc-sections", "-g0")
        target = folder / f"{source.stem}.elf"
        command = (*compiler.command, *flags, f"-Wl,-T,{FOLDER / 'link.ld'}", str(source), "-o", str(target))
        subprocess.run(command, check=True)
    return folder


def execute(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main(["exec", *map(str, arguments)])
    said = capfd.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("name", ["ui", "um", "ua", "uc", "mi", "edge", "pmp"])
def test_a_program_passes(name: str, programs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = execute(capfd, programs / f"{name}.elf", "--max-instructions", 100_000)
    assert (code, out.split(";")[0].split("\n")[0], err) == (0, "pass", "")


def test_a_failure_names_its_test_and_leaves_its_signature(programs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    signature = programs / "fail.signature"
    code, out, err = execute(capfd, programs / "fail.elf", "--signature", signature)
    assert code == 1
    assert out.startswith("fail: test 3") and err == ""
    assert signature.read_text() == "00000001\n00000002\n00000003\n00000004\n"
    code, out, _ = execute(capfd, programs / "fail.elf", "--json")
    found = json.loads(out)
    assert (code, found["verdict"], found["test"]) == (1, "fail", 3)
    assert found["instructions"] > 20 and found["cycles"] >= found["instructions"]


def test_no_verdict_within_the_limit(programs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for limit in ("--max-instructions", "--max-cycles"):
        code, out, err = execute(capfd, programs / "never.elf", limit, 5000)
        assert code == 2
        assert re.match(r"limit: still runs, at (here|test)", out)
        assert "did not end" in err


def test_a_program_without_tohost_is_said_to_have_none(programs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = execute(capfd, programs / "no_tohost.elf", "--max-instructions", 1000)
    assert code == 2
    assert "tohost" in out + err


def test_a_trap_without_a_handler_ends_the_run(programs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = execute(capfd, programs / "lost.elf")
    assert code == 1
    assert out.startswith("stopped: ")


def test_a_signature_that_is_not_there_is_an_error(programs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    signature = programs / "none.signature"
    code, _, err = execute(capfd, programs / "lost.elf", "--signature", signature)
    assert code == 2
    assert "begin_signature" in err and not signature.exists()


def test_a_program_for_another_machine_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = execute(capfd, "/bin/true")
    assert code == 2 and out == ""
    assert "the class is 64 bit, must be 32 bit" in err


def test_another_isa_is_refused(programs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, err = execute(capfd, "--isa", "rv32imafc", programs / "ui.elf")
    assert code == 2 and out == ""
    assert "isa is `rv32imafc`: unexpected `f`; allowed is `rv32i`, then any of the letters `mac`" in err


def test_a_core_takes_the_extensions_that_it_has(programs: Path, capfd: pytest.CaptureFixture[str]) -> None:
    isa = "rv32i_zicsr_zifencei_sm"
    code, out, _ = execute(capfd, "--isa", isa, programs / "um.elf", "--max-instructions", 100_000)
    assert (code, out.split(";")[0]) != (0, "pass")
