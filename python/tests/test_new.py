# SPDX-License-Identifier: Apache-2.0
"""`spinet new`: projects whose tests and experiments run. `compile_commands.json`: commands that compile."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from spinet import _core, toolchain
from spinet.cli import main

CARDS = ("pspin", "panic", "pipeline", "tigon2", "tengig")


def made(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> set[str]:
    assert main(["new", str(folder), *options]) == 0
    return {str(Path(line).relative_to(folder)) for line in capsys.readouterr().out.splitlines()}


def commands(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((folder / "compile_commands.json").read_text())
    return found


def check_commands(folder: Path, scratch: Path) -> int:
    """Run each command as it stands, with its output elsewhere; returns their number."""

    def check(number: int, entry: dict[str, Any]) -> None:
        words = list(entry["arguments"])
        words[words.index("-o") + 1] = str(scratch / f"{number}.o")
        done = subprocess.run(words, cwd=entry["directory"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, ""), " ".join(words)
        assert (scratch / f"{number}.o").is_file()

    entries = commands(folder)
    with ThreadPoolExecutor() as pool:
        list(pool.map(check, range(len(entries)), entries))
    return len(entries)


@pytest.mark.parametrize("nic", CARDS)
def test_a_new_project_passes_its_tests_and_its_experiment(
    nic: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "my-answer"
    files = made(folder, capsys, "--nic", nic)
    assert files == {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert {"README.md", "experiment.toml", "test_my_answer.py", ".github/workflows/test.yml"} <= files
    assert not [path for path in files if re.search(r"@[A-Z]+@", (folder / path).read_text())]

    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--strict-markers"]
    done = subprocess.run(tests, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert re.search(r"^[23] passed", done.stdout, flags=re.MULTILINE), done.stdout
    assert main(["run", str(folder / "experiment.toml"), "--strict", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["ended"]["reason"] == "complete"
    (place,) = folder.rglob("compile_commands.json")
    assert check_commands(place.parent, tmp_path) == len([file for file in files if file.endswith((".c", ".S"))])
    for path in (folder / "README.md", folder / ".gitignore"):
        (line,) = set(re.findall(r"`(spinet (?:build|firmware)[^`]*)`", path.read_text()))
        before = place.read_text()
        place.unlink()
        renew = subprocess.run([sys.executable, "-m", "spinet.cli", *line.split()[1:]], cwd=folder, capture_output=True)
        assert renew.returncode == 0
        assert place.read_text() == before


def test_vs_code_debugs_the_experiment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "answer"
    assert {".vscode/launch.json", ".vscode/tasks.json"} <= made(folder, capsys)
    tasks, launch = (json.loads((folder / ".vscode" / name).read_text()) for name in ("tasks.json", "launch.json"))
    (task,), (configuration,) = tasks["tasks"], launch["configurations"]
    assert configuration["preLaunchTask"] == task["label"]
    assert configuration["program"] == "${workspaceFolder}/debug.elf"
    assert configuration["miDebuggerPath"] == "gdb-multiarch"
    # Runs the task with another port, so that tests can run in parallel, until its output matches VS Code's end
    # pattern.
    assert task["command"] == "spinet"
    arguments = [*task["args"][:-1], "0"]
    command = [sys.executable, "-m", "spinet.cli", *arguments]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        pattern = task["problemMatcher"]["background"]["endsPattern"]
        assert any(re.match(pattern, line) for line in run.stderr), "no gdb can connect"
        assert (folder / "debug.elf").read_bytes()[:4] == b"\x7fELF"
        run.kill()


def test_the_workflow_is_the_documented_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path / "answer", capsys)
    text = (tmp_path / "answer" / ".github" / "workflows" / "test.yml").read_text()
    runs = re.findall(r"- run: (.*)", text)
    assert runs == ['pip install "$SPINET" pytest', "pytest", "spinet run experiment.toml --strict -o result"]
    assert f"SPINET: spinet=={_core.version()}\n" in text


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("answer", "file"), ("other", None)):
        place = tmp_path / name
        place.mkdir() if text is None else place.write_text(text)
        assert main(["new", str(place)]) == 2
        assert f"error: {place} exists" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answer", "other"]
    assert (tmp_path / "answer").read_text() == "file" and not list((tmp_path / "other").iterdir())


@pytest.mark.parametrize(
    ("name", "nic", "error"),
    [
        ("2fast", "pspin", "'2fast' cannot be the name of a program: write letters, digits, _ and -, first a letter"),
        ("a.b", "pspin", "'a.b' cannot be the name of a program"),
        ("handler", "pspin", "handler cannot be the name of a program, because other things are called handler"),
        ("answer", "pspim", "there is no card pspim"),
        ("answer", "rmt", "rmt cannot run such a program: "),
    ],
)
def test_bad_input_leaves_nothing_behind(
    name: str, nic: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", str(tmp_path / name), "--nic", nic]) == 2
    assert f"error: {error}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_commands_have_macros_and_flags_and_keep_other_sources(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "#include <handler.h>\n__handler__ void test_ph(handler_args_t *args) { (void)args; (void)(SIZE); }\n"
    for name in ("a.c", "b.c"):
        (tmp_path / name).write_text(source)
    assert main(["build", str(tmp_path / "a.c"), "--compile-commands", "-D", "SIZE=4", "-O", "2"]) == 0
    assert capsys.readouterr().err == f"wrote {tmp_path / 'compile_commands.json'}\n"
    assert main(["build", str(tmp_path / "b.c"), "--compile-commands", "-D", "SIZE=8", "--flag=-funroll-loops"]) == 0
    assert main(["build", str(tmp_path / "a.c"), "--compile-commands", "-D", "SIZE=16"]) == 0
    found = {Path(entry["file"]).name: entry for entry in commands(tmp_path)}
    assert set(found) == {"a.c", "b.c"}
    assert {"-DSIZE=16", "-O3"} <= set(found["a.c"]["arguments"]) and "-DSIZE=8" in found["b.c"]["arguments"]
    assert "-funroll-loops" in found["b.c"]["arguments"]
    assert all(entry["directory"] == str(tmp_path) for entry in found.values())
    assert f"-I{toolchain.sdk_dir() / 'include'}" in found["a.c"]["arguments"]
    assert check_commands(tmp_path, tmp_path) == 2


def test_commands_are_written_for_sources_that_do_not_compile(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("#include <handler.h>\nint x = ;\n")
    assert main(["build", str(tmp_path / "a.c"), "--compile-commands"]) == 2
    assert [entry["file"] for entry in commands(tmp_path)] == [str(tmp_path / "a.c")]


@pytest.mark.parametrize("text", ["{}", "[1]", "nothing"])
def test_a_file_that_is_no_list_of_commands_stays(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.c").write_text("#include <handler.h>\n")
    (tmp_path / "compile_commands.json").write_text(text)
    assert main(["build", str(tmp_path / "a.c"), "--compile-commands"]) == 2
    assert "compile_commands.json is not" in capsys.readouterr().err
    assert (tmp_path / "compile_commands.json").read_text() == text
