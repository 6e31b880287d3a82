# SPDX-License-Identifier: Apache-2.0
"""The prose check finds bad sentences in documents and comments, with their lines, and leaves code alone."""

from __future__ import annotations

import runpy
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
RULES = tomllib.loads((ROOT / "docs" / "prose.toml").read_text())["rules"]
check_text = runpy.run_path(str(ROOT / "docs" / "prose.py"))["check_text"]


def found(text: str, path: str) -> list[tuple[int, str]]:
    return [(finding.line, finding.rule) for finding in check_text(text, path)]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["name"])
def test_a_rule_finds_its_bad_sentence_and_not_its_good_one(rule: dict[str, str]) -> None:
    assert rule["name"] in [name for _, name in found(rule["bad"], "page.md")]
    assert found(rule["good"], "page.md") == []


def test_markdown_is_checked_without_its_code() -> None:
    page = (
        "# What it does\n\nIt is `so many` frames.\n\n    so many\n\n| a | b |\n|---|---|\n| x | the queue\n\nis told\n"
    )
    assert found(page, "page.md") == [(11, "is-told")]


def test_a_phrase_is_found_across_a_line_break_and_not_across_paragraphs() -> None:
    assert found("Good line.\nThere are so\nmany of them.", "page.md") == [(2, "so-many")]
    assert found("There are so\n\nmany of them.", "page.md") == []


def test_a_sentence_that_is_too_long_is_found() -> None:
    assert found("word, then " * 23, "page.md") == [(1, "long-sentence")]
    assert found("word, then " * 22, "page.md") == []


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("a.rs", 'fn f() {\n    let s = "is told"; // counts\n}\n/// The queue\n/// is told.\nfn g() {}\n', 5),
        ("a.rs", "//! Fine.\n//! ```\n//! // is told\n//! ```\n//! But this is told.\n", 5),
        ("a.py", '"""Doc.\n\n    >>> "is told"\n\nA core is told.\n"""\nX = "is told"\n', 5),
        ("a.c", "#define X 1\n/* One line\n * is told. */\nint x;\n", 3),
    ],
)
def test_comments_are_checked_and_strings_are_not(path: str, text: str, line: int) -> None:
    assert found(text, path) == [(line, "is-told")]


def test_proselint_checks_too() -> None:
    assert [rule.split(".")[0] for _, rule in found("The reason is because of the final outcome.", "page.md")]


def test_the_files_of_the_gate_are_clean_and_there_are_some() -> None:
    files = runpy.run_path(str(ROOT / "docs" / "prose.py"))["checked_files"]()
    assert "CONTRIBUTING.md" in files
