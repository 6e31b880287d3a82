# SPDX-License-Identifier: Apache-2.0
"""Documents are correct: links have targets, commands exist, and generated pages match the code."""

from __future__ import annotations

import importlib.metadata
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
import spinet
from spinet import toolchain
from spinet.cli import cli

ROOT = Path(__file__).resolve().parent.parent.parent
# From git, because a folder that a parallel build empties meanwhile cannot be walked.
FILES = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
    cwd=ROOT, capture_output=True, text=True, check=True,
)  # fmt: skip
PAGES = sorted(ROOT / name for name in FILES.stdout.splitlines() if (ROOT / name).is_file())


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def test_generated_pages_are_those_of_the_code() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"](figures=False)
    for path, text in pages.items():
        assert (ROOT / path).read_text() == text, f"{path} is old: run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if not re.match(r"https?://|mailto:", target):
            assert (page.parent / target).exists(), f"{name_of(page)} links to {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", page.read_text()):
        if not re.match(r"https?://", target):
            there = (page.parent / target) if target else page
            assert anchor in anchors(there), f"{name_of(page)} links to {target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """Anchors of its headings, as code hosts make them."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    headings = (line.lower() for line in re.findall(r"^#+ (.*)", text, flags=re.MULTILINE))
    return {
        re.sub(r"[^\w -]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line)).replace(" ", "-") for line in headings
    }


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_make_targets_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    # Programs for PsPIN bring `run` in their own Makefile, which includes the rules of libpspin.
    if "libpspin" in page.read_text():
        makefile += "run:\n" + (ROOT / "crates/capi/make/spin-rt.mk").read_text()
    for target in re.findall(r"(?:^|`)make ([a-z][a-z0-9-]*)", page.read_text(), flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), f"{name_of(page)} names make {target}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_and_their_options_exist(page: Path) -> None:
    for line in commands_in(page.read_text()):
        words = shlex.split(line, comments=True)
        command: click.Command = cli
        rest = words[1:]
        while isinstance(command, click.Group) and rest:
            inner = command.get_command(click.Context(command), rest[0])
            if inner is None:
                break
            command, rest = inner, rest[1:]
        assert command is not cli or rest[0].startswith("-"), f"{name_of(page)}: {line}"
        known = {name for parameter in command.params for name in parameter.opts}
        known |= {"-h", "--help"}
        for word in rest:
            if re.match(r"--?[A-Za-z]", word) and not word.startswith("-D"):
                assert word.split("=")[0] in known, f"{name_of(page)}: {line}"


def commands_in(text: str) -> list[str]:
    """Lines of shell blocks that call spinet."""
    blocks = re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("spinet ")]


def test_the_guide_shows_a_handler_that_compiles_without_a_warning(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "guides" / "first-handler.md").read_text()
    (source,) = re.findall(r"```c\n(.*?)```", guide, flags=re.DOTALL)
    (tmp_path / "shout.c").write_text(source)
    build = toolchain.build([tmp_path / "shout.c"])
    assert (build.messages, list(build.handlers)) == ("", ["shout_ph"])


def test_the_python_in_the_readme_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})


def test_there_is_one_version() -> None:
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert importlib.metadata.version("spinet") == spinet.__version__ == workspace
    releases = re.findall(r"^## (\d\S*), \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert releases[0] == workspace, "the newest release in CHANGELOG.md"


def test_the_changelog_has_a_page_per_release() -> None:
    releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    assert releases[0].startswith("Unreleased\n")
    assert [release for release in releases if len(release) > 5_000] == []


def test_files_that_pages_name_exist() -> None:
    folders = "crates|presets|sdk|docs|benches|firmware|python|experiments|captures|fuzz"
    missing = [
        f"{name_of(page)}: {path}"
        for page in PAGES
        for path in re.findall(rf"`((?:{folders})/[\w./-]+)`", page.read_text())
        if not (ROOT / path).exists() and not path.endswith("/sampler.rs")  # the module that a guide adds
    ]
    assert missing == []


@pytest.mark.parametrize("script", ["generate.py", "reproduce.py"])
def test_scripts_answer_help_without_work(script: str) -> None:
    command = [sys.executable, str(ROOT / "docs" / script), "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage:")
