# SPDX-License-Identifier: Apache-2.0
"""Shared by all tests: one cache of builds, and expectations that can be renewed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
collect_ignore = ["spinet/experiments"]  # a link: its files are modules under another name


@pytest.fixture(scope="session", autouse=True)
def build_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of builds for this session: nothing that a user built before helps a test to pass."""
    folder = tmp_path_factory.getbasetemp()
    # The folders of pytest-xdist's processes are in the folder of the session. All processes share one cache.
    cache = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "builds"
    cache.mkdir(exist_ok=True)
    before = os.environ.get("SPINET_CACHE")
    os.environ["SPINET_CACHE"] = str(cache)
    yield cache
    if before is None:
        del os.environ["SPINET_CACHE"]
    else:
        os.environ["SPINET_CACHE"] = before


@pytest.fixture(scope="session", autouse=True)
def at_the_root() -> Iterator[None]:
    """Tests and the examples in docstrings name files from the root of the repository."""
    before = Path.cwd()
    os.chdir(ROOT)
    yield
    os.chdir(before)
