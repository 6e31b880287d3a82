# SPDX-License-Identifier: Apache-2.0
"""The wheel, installed into its own environment and used without Rust and without this repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


class User:
    """An environment with only the wheel, and a folder in which its programs run."""

    def __init__(self, venv: Path, folder: Path) -> None:
        self.bin, self.folder = venv / "bin", folder
        self.env = {"PATH": str(self.bin), "HOME": str(folder), "LC_ALL": "C.UTF-8", "COLUMNS": "200"}

    def run(self, *command: str, cwd: Path | None = None) -> str:
        program = str(self.bin / command[0])
        done = subprocess.run(
            [program, *command[1:]], cwd=cwd or self.folder, env=self.env, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> User:
    base = tmp_path_factory.mktemp("wheel")
    # Cargo has built the simulator for this interpreter, so this only packs it.
    build = [sys.executable, "-m", "maturin", "build", "--release", "--locked", "--offline", "-o", str(base / "dist")]
    subprocess.run(build, cwd=ROOT, env={**os.environ, "PYO3_PYTHON": sys.executable}, check=True, capture_output=True)
    (wheel,) = (base / "dist").glob("*.whl")
    assert "-cp311-abi3-" in wheel.name, "one wheel for CPython 3.11 and later"

    venv = base / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    install = ["install", "-q", "--no-deps", "--no-index", "--disable-pip-version-check", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", "--python", str(venv), *install], check=True)
    # Libraries come from the environment of the tests, since nothing here may fetch them. The folder does not bring the
    # spinet of that environment, because .pth files in it are not read.
    site = next((venv / "lib").glob("python*/site-packages"))
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")

    folder = base / "user"
    folder.mkdir()
    user = User(venv, folder)
    assert shutil.which("cargo", path=user.env["PATH"]) is None
    where = user.run("python", "-c", "import spinet, spinet._native; print(spinet.__file__, spinet._native.__file__)")
    assert all(Path(path).is_relative_to(site) for path in where.split()), where
    user.run("spinet", "examples", "--copy", ".")
    return user


def test_every_kind_of_card_runs(user: User) -> None:
    assert "simulator" in user.run("spinet", "doctor")
    handlers = user.run("spinet", "run", "sdk/examples/ping_pong.c", "--traffic", "captures/memcached.pcap", "--json")
    assert '"unfinished": 0' in handlers
    options = ["--traffic", "captures/memcached.pcap", "--report", "-o", "result"]
    assert "report.html" in user.run("spinet", "run", "sdk/examples/ping_pong.c", *options)
    chain = ["--nic", "panic", "--chain", "ipsec: sha -> aes", "--traffic", "udp:size=1472,count=20,rate=30G"]
    assert "ipsec" in user.run("spinet", "run", *chain)
    core = ["--service", "core: riscv, program=sdk/examples/panic/swap.c", "--chain", "all: core"]
    assert "core" in user.run("spinet", "run", "--nic", "panic", *core, "--traffic", "udp:size=64,count=20,rate=1G")
    frames = ["--traffic", "udp:payload=numbered,count=20", "--send", "udp:payload=numbered,count=20"]
    for nic in ("tigon2", "tengig"):
        assert "all frames are through" in user.run("spinet", "run", "--nic", nic, *frames, "--limit", "60 ms")


@pytest.mark.parametrize("nic", ["pspin", "panic", "tigon2"])
def test_a_new_project_passes_its_tests(user: User, nic: str) -> None:
    user.run("spinet", "new", f"on-{nic}", "--nic", nic)
    tested = user.run("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=user.folder / f"on-{nic}")
    assert " passed" in tested


def test_published_figures_come_with_it(user: User) -> None:
    listed = user.run("spinet", "reproduce", "--list")
    assert {"pspin", "panic", "spinach"} <= set(listed.replace("/", " ").split())
    assert "14 by construction" in user.run("spinet", "reproduce", "panic/table4", "--no-plot", "-o", "reproduced")
    assert (user.folder / "reproduced" / "panic" / "table4.csv").is_file()


def test_tools_for_programs_come_with_it(user: User) -> None:
    assert "gdb" in user.run("spinet", "debug", "--help")
    user.run("spinet", "build", "sdk/examples/ping_pong.c", "-o", "ping_pong.elf")
    assert (user.folder / "ping_pong.elf").read_bytes().startswith(b"\x7fELF")
    shown = (
        "import spinet, spinet.summaries\n"
        "result = spinet.run(program='ping_pong.elf', traffic=[bytes(64)] * 3)\n"
        "print(result._repr_html_(), result.summary_as(spinet.summaries.HandlersSummary)['packets']['in'])"
    )
    assert user.run("python", "-c", shown).endswith("</div> 3\n")


def test_the_types_come_with_it(user: User) -> None:
    (user.folder / "typed.py").write_text(
        "import spinet\n\n"
        "def gbps(path: str) -> float | None:\n"
        '    result = spinet.run(program=path, traffic="udp:count=10")\n'
        "    reveal_type(result)\n"
        '    value: float | None = result.summary["throughput"]["in_gbps"]\n'
        "    return value\n"
    )
    said = user.run("python", "-m", "mypy", "--strict", "--cache-dir", "mypy", "typed.py")
    assert 'Revealed type is "spinet.result.Result"' in said and "Success" in said
