# SPDX-License-Identifier: Apache-2.0
"""The Containerfile, as far as it can be checked without building it."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
KNOWN = {"FROM", "RUN", "WORKDIR", "COPY", "ENV", "USER", "ENTRYPOINT", "CMD"}


def instructions() -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    return [(line.split()[0], line.partition(" ")[2]) for line in lines if line.strip()]


def test_every_line_is_an_instruction() -> None:
    found = instructions()
    assert {name for name, _ in found} == KNOWN
    assert found[0][0] == "FROM"


@pytest.mark.parametrize("command", [rest for name, rest in instructions() if name == "RUN"])
def test_shells_can_read_the_commands(command: str) -> None:
    script = re.sub(r"^(?:--\S+\s+)+", "", command)
    subprocess.run(["sh", "-n", "-c", script], check=True)


def test_versions_are_those_of_the_project() -> None:
    text = (ROOT / "Containerfile").read_text()
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    assert f"rust:{cargo['rust-version']}-slim-" in text
    (maturin,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert maturin in text
    # Both stages have the same glibc.
    assert len(set(re.findall(r"^FROM \S+-slim-(\w+)", text, flags=re.MULTILINE))) == 1
    wanted = re.search(r"requirements\.txt (.*) /dist/", text)
    assert wanted is not None
    pinned = {line.partition("==")[0] for line in (ROOT / "requirements.txt").read_text().splitlines()}
    assert set(wanted[1].split()) <= pinned


def test_copied_files_exist_and_are_not_ignored() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    for name, rest in instructions():
        if name == "COPY":
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists() and source not in ignored
    # The build needs all files that git tracks.
    known = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert [path for path in known if path.split("/")[0] in ignored] == []
