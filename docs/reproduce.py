# SPDX-License-Identifier: Apache-2.0
"""Measure every experiment and renew docs/experiments: `make reproduce`. Exit code 1 if a point misses."""

from __future__ import annotations

import argparse
import runpy
import shutil
import sys
from pathlib import Path

from spinet import reproduce
from spinet.cli import main

ROOT = Path(__file__).resolve().parent.parent
MEASURED = ROOT / "build" / "reproduce"


def renew() -> int:
    """Measure, keep the numbers, and draw from them."""
    code = main(["reproduce", "--no-plot", "--output", str(MEASURED)])
    if code not in (0, 1):
        return code
    for name in reproduce.find():
        target = ROOT / "docs" / "experiments" / f"{name}.csv"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(MEASURED / f"{name}.csv", target)
    runpy.run_path(str(ROOT / "docs" / "generate.py"), run_name="__main__")
    return code


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    sys.exit(renew())
