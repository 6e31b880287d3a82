# SPDX-License-Identifier: Apache-2.0
"""Check prose in Markdown and in comments of Rust, Python and C: `make lint`, or `python docs/prose.py FILE...`.

`docs/prose.toml` lists the files that the gate checks, proselint's checks, and the project's own rules.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from proselint import checks as proselint_checks
from proselint.registry import CheckRegistry
from proselint.registry.checks import Check, types
from proselint.registry.checks.engine import Fancy, RegexOptions
from pygments.lexers import CLexer, CppLexer, PythonLexer, RustLexer
from pygments.token import Comment, String

ROOT = Path(__file__).resolve().parent.parent
LEXERS = {".rs": RustLexer(), ".py": PythonLexer(), ".c": CLexer(), ".h": CLexer(), ".cc": CppLexer()}
MARKDOWN = MarkdownIt("commonmark").enable("table")
BLOCK, HEADING = "¶", "§"
"""Characters that begin a block of the text that rules see; no rule matches across one."""
MARKERS = re.compile(r"^[ \t]*(?:r?\"\"\"|/\*[*!]?|//[/!]?|#[!:]?|\*(?!\w|\*)) ?")


@dataclass(frozen=True)
class Finding:
    """One match of a rule."""

    path: str
    line: int
    rule: str
    found: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.rule}: found `{self.found}`; {self.advice}"


@dataclass(frozen=True)
class Block:
    """A paragraph, a table cell or a list item, with its first line in the file."""

    line: int
    text: str
    is_heading: bool


@cache
def config() -> dict[str, object]:
    """The rule file."""
    return tomllib.loads((ROOT / "docs" / "prose.toml").read_text())


@cache
def checks() -> tuple[tuple[Check, ...], int]:
    """All checks, and the largest number of words in a sentence."""
    chosen = config()["proselint"]
    rules = config()["rules"]
    longest = config()["longest_sentence_words"]
    assert isinstance(chosen, list) and isinstance(rules, list) and isinstance(longest, int)
    registry = CheckRegistry()
    if not registry.checks:
        registry.register_many(proselint_checks.__register__)
    published = tuple(registry.get_all_enabled(dict.fromkeys(chosen, True)))
    own = tuple(_own_check(rule["name"], rule["pattern"], rule["advice"]) for rule in rules)
    return published + own, longest


def _own_check(name: str, pattern: str, advice: str) -> Check:
    """A rule of the file: a blank matches any white space, `^` the start of a sentence."""
    is_start = pattern.startswith("^")
    pattern = pattern.removeprefix("^").replace(" ", r"\s+")
    if is_start:
        pattern = rf"(?<=[{BLOCK}.!?])(?<!\.\.)\s*{pattern}"
    options = RegexOptions(case_insensitive=not is_start)
    return Check(types.ExistenceSimple(pattern=pattern), engine=Fancy(options), path=name, message=advice)


def markdown_blocks(text: str, first_line: int = 1) -> Iterator[Block]:
    """Prose of a Markdown text, without code."""
    line, is_heading = first_line, False
    for token in MARKDOWN.parse(text):
        if token.map is not None:
            line = first_line + token.map[0]
        if token.type == "heading_open":
            is_heading = True
        elif token.type == "heading_close":
            is_heading = False
        elif token.type == "inline":
            yield Block(line, "".join(_words(token)), is_heading)


def _words(token: Token) -> Iterator[str]:
    for child in token.children or []:
        if child.type == "text":
            yield child.content
        elif child.type in ("softbreak", "hardbreak"):
            yield "\n"
        elif child.type == "code_inline":
            yield "`x`" + "\n" * child.content.count("\n")
        elif child.type == "image":
            yield from _words(child)


def code_blocks(text: str, suffix: str) -> Iterator[Block]:
    """Prose of comments and docstrings. Comments on consecutive lines are one text."""
    run: list[str] = []
    first = end = 0
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    for position, kind, value in LEXERS[suffix].get_tokens_unprocessed(text):
        if not (kind in Comment or kind is String.Doc) or kind in Comment.Preproc or kind is Comment.Hashbang:
            continue
        line = bisect_right(starts, position)
        # A comment behind code is separate from the comment above.
        is_alone = not text[starts[line - 1] : position].strip()
        if run and (line > end or not is_alone):
            yield from markdown_blocks("\n".join(run), first)
            run = []
        lines = value.rstrip("\n").split("\n")
        if kind is String.Doc and suffix == ".py":
            lines = list(_without_verbatim(lines))
        if not run:
            first = line
        run += [_without_marker(each) for each in lines]
        end = line + len(lines)
    if run:
        yield from markdown_blocks("\n".join(run), first)


def _without_verbatim(lines: list[str]) -> Iterator[str]:
    """Without click's verbatim paragraphs, which begin with a line of `\\b`."""
    is_verbatim = False
    for line in lines:
        is_verbatim = line.strip() == "\\b" or (is_verbatim and bool(line.strip()))
        yield "" if is_verbatim else line


def _without_marker(line: str) -> str:
    stripped = MARKERS.sub("", line, count=1).strip().removesuffix('"""').removesuffix("*/")
    return "" if stripped.startswith((">>>", "...", "SPDX")) else stripped


def check_text(text: str, path: str) -> list[Finding]:
    """All findings in a file's text; its suffix says what the text is."""
    suffix = Path(path).suffix
    blocks = list(markdown_blocks(text) if suffix == ".md" else code_blocks(text, suffix))
    all_checks, longest = checks()
    prose, starts = "", []
    for block in blocks:
        prose += HEADING if block.is_heading else BLOCK
        starts.append(len(prose))
        prose += block.text + "\n"
    found = []
    for check in all_checks:
        for result in check.check(prose):
            begin, stop = result.span
            words = prose[begin:stop].lstrip()
            begin = stop - len(words)
            at = bisect_right(starts, begin) - 1
            line = blocks[at].line + prose.count("\n", starts[at], begin)
            found.append(Finding(path, line, check.path, " ".join(words.split()), result.message))
    for block in blocks:
        for sentence in re.split(r"(?<=[.!?:;])\s+", block.text):
            n_words = len(sentence.split())
            if n_words > longest:
                advice = f"{n_words} words; allowed are {longest}: split the sentence"
                found.append(
                    Finding(path, block.line, "long-sentence", " ".join(sentence.split()[:6]) + " ...", advice)
                )
    return sorted(found, key=lambda finding: (finding.line, finding.rule))


def check_file(name: str) -> list[Finding]:
    """All findings in a file."""
    return check_text((ROOT / name).read_text(), name)


def checked_files() -> list[str]:
    """The files that the gate checks."""
    files = config()["files"]
    assert isinstance(files, list)
    listed = subprocess.run(["git", "ls-files", "--", *files], cwd=ROOT, check=True, capture_output=True, text=True)
    names = [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]
    return [name for name in names if Path(name).suffix in {".md", *LEXERS} and not (ROOT / name).is_symlink()]


def main() -> int:
    """Check the given files, or those of the rule file. Exit code 1 if there are findings."""
    names = [str(Path(name).resolve().relative_to(ROOT)) for name in sys.argv[1:]] or checked_files()
    with ProcessPoolExecutor() as pool:
        findings = [finding for found in pool.map(check_file, names, chunksize=8) for finding in found]
    for finding in findings:
        print(finding)
    print(f"{len(names)} files, {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
