# SPDX-License-Identifier: Apache-2.0
"""The build backend: checks that Rust is installed and recent enough, and then calls maturin. An error names the
missing requirement in one line.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from maturin import (  # noqa: F401  all hooks of a backend
    build_editable,
    build_sdist,
    build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

_INSTALL = "install Rust from https://rustup.rs, open a new shell and try again"


def _check() -> None:
    """End the build if cargo is missing or too old."""
    least = tomllib.loads(Path("Cargo.toml").read_text())["workspace"]["package"]["rust-version"]
    if shutil.which("cargo") is None:
        _refuse(f"spinet is built with Rust {least} or later, and there is no cargo in the search path")
    # rustup takes the version that rust-toolchain.toml names, and fetches it if it has to.
    said = subprocess.run(["cargo", "--version"], capture_output=True, text=True).stdout
    version = re.match(r"cargo (\d+)\.(\d+)", said)
    if version is None or (int(version[1]), int(version[2])) < tuple(int(part) for part in least.split(".")[:2]):
        _refuse(f"spinet is built with Rust {least} or later; found {said.strip() or 'a cargo that does not run'}")
    print("spinet: the simulator is compiled now, which takes some minutes", file=sys.stderr)


def _refuse(what: str) -> None:
    sys.exit(f"error: {what}\nhint: {_INSTALL}")


def get_requires_for_build_wheel(config_settings: object = None) -> list[str]:  # noqa: ARG001
    """Require nothing besides maturin: Rust is not fetched without the user's consent."""
    _check()
    return []


def get_requires_for_build_editable(config_settings: object = None) -> list[str]:  # noqa: ARG001
    """As for a wheel."""
    _check()
    return []


def get_requires_for_build_sdist(config_settings: object = None) -> list[str]:  # noqa: ARG001
    """As for a wheel: maturin asks cargo which files there are."""
    _check()
    return []
