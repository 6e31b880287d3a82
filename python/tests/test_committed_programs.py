# SPDX-License-Identifier: Apache-2.0
"""The programs of the Rust tests are committed, because ``cargo test`` has no compiler. They must not become
outdated."""

from __future__ import annotations

import runpy
from pathlib import Path

BUILD = Path(__file__).parents[2] / "crates" / "pspin" / "tests" / "elf" / "build.py"


def test_committed_programs_are_what_their_sources_make() -> None:
    stale = [target.name for target, elf in runpy.run_path(str(BUILD))["programs"]() if target.read_bytes() != elf]
    assert stale == [], f"run {BUILD.name}"
