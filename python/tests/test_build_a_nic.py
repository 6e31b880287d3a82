# SPDX-License-Identifier: Apache-2.0
"""The guide that builds a NIC: its cards are correct, its commands and Python code run, and its error is real."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import spinet.cli

GUIDE = (Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "build-a-nic.md").read_text()


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the guide's cards, including those that its Python code makes. Commands run there."""
    for text, name in re.findall(r"```toml\n(# (\S+\.toml)\n.*?)```", GUIDE, flags=re.DOTALL):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.DOTALL)
    exec(compile(code, "build-a-nic.md", "exec"), {})
    return tmp_path


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("command", commands())
def test_commands_run(command: str, cards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(shlex.split(command)[1:]) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    assert "all is well" in out or " check " not in command
    assert "1,000" in out or "wire.toml" not in command or " run " not in command


def test_the_error_is_the_one_that_comes(cards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = re.findall(r"```text\n(error: .*?)```", GUIDE, flags=re.DOTALL)
    wire = cards / "wire.toml"
    wire.write_text(wire.read_text().replace("network_in.wire ", "network_in.wires "))
    assert spinet.cli.main(["nic", "check", "wire.toml"]) == 2
    assert capsys.readouterr().err.replace("./wire", "wire") == shown


def test_a_core_that_nobody_starts_is_shown_at_rest(cards: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = (command for command in commands() if "three.toml" in command)
    assert spinet.cli.main(shlex.split(command)[1:]) == 0
    assert "cpu_c.core is halted at _start" in capsys.readouterr().out and "cpu_c.core is halted at _start" in GUIDE


def test_a_core_more_costs_less_than_90_lines(cards: Path) -> None:
    assert len((cards / "two.toml").read_text().splitlines()) < 20
