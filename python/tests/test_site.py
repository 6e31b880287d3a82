# SPDX-License-Identifier: Apache-2.0
"""The site: built strictly, complete, searchable, and without anything that a browser would load from a network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import spinet

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("site")
    # Strict: a broken link, a missing anchor and a page that the navigation does not have are errors.
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-d", str(made)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return made


class Loaded(HTMLParser):
    """Addresses that a browser loads to show a page; links that a reader may follow do not count."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if value and name in ("src", "srcset", "data", "poster")]
        if tag == "link":
            self.found += [value for name, value in attrs if value and name == "href"]


def test_nothing_comes_from_a_network(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        loaded = Loaded()
        loaded.feed(page.read_text())
        assert loaded.found
        outside = [address for address in loaded.found if re.match(r"(?:[a-z]+:)?//", address)]
        assert outside == [], page.relative_to(site)
    for sheet in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import\s+)[\"']?(?:https?:)?//[^)\s]+", sheet.read_text()) == [], sheet.name


def test_the_search_finds_sections(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    # The same from disk, where a page cannot read the other file.
    assert (site / "search" / "search_index.js").read_text().startswith("var __index = {")
    places = {entry["location"] for entry in index["docs"]}
    wanted = {"reference/c.html#spin_send_packet", "reference/python.html#spinet.run", "machines/pspin.html#timing"}
    assert wanted <= places
    assert not [place for place in places if place.startswith("files/")], "sources would hide the pages"


def test_the_python_page_has_every_public_name(site: Path) -> None:
    text = (site / "reference" / "python.html").read_text()
    missing = [name for name in spinet.__all__ if name != "__version__" and f'id="spinet.{name}"' not in text]
    assert missing == []


def test_the_c_page_has_every_function_of_the_interfaces() -> None:
    page = (ROOT / "docs" / "reference" / "c.md").read_text()
    declared = set()
    for header in (*(ROOT / "sdk/include").glob("spin_*.h"), ROOT / "sdk/include/panic.h"):
        if not re.match(r"spin_(?:conf|issue|xpulp)", header.name):  # of the SDK itself; PULP's instructions
            declared |= set(
                re.findall(r"^static inline [\w *]*?\b((?:spin|panic|amo)_(?!_)\w+)\(", header.read_text(), re.M)
            )
    declared |= set(
        re.findall(r"^int (spinet_\w+)\(", (ROOT / "crates/capi/include/spinet_driver.h").read_text(), re.M)
    )
    assert len(declared) > 80
    assert sorted(name for name in declared if f"`{name}`" not in page) == []


def test_links_to_files_of_the_repository_show_them(site: Path) -> None:
    text = (site / "files" / "sdk" / "examples" / "ping_pong.c.html").read_text()
    assert "ping_pong_ph" in text
    assert 'href="files/sdk/examples/ping_pong.c.html"' in (site / "index.html").read_text()


def test_the_tutorial_is_shown_with_its_outputs(site: Path) -> None:
    text = (site / "tutorial.html").read_text()
    # The first cell's table, the figure of the sweep, and the output of a cell.
    assert "where the time goes, ns" in text and "offered, Gbit/s" in text and "&lt;Outcome: consumed" in text
    assert (site / "tutorial.ipynb").is_file()
