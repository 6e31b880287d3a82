# SPDX-License-Identifier: Apache-2.0
"""The reference page of the C functions, from the comments of the headers."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Headers by chapter, in the order of the page. The part `#include <handler.h>` has the headers that it includes.
_CHAPTERS = {
    "Handlers": (
        "sdk/include",
        ("handler.h", "spin_cmd.h", "spin_dma.h", "spin_amo.h", "spin_lock.h", "spin_time.h", "pspin.h", "hwsched.h"),
    ),
    "Packets": (
        "sdk/include",
        (
            "spin_net.h", "spin_pkt.h", "spin_ip.h", "spin_l4.h", "spin_data.h", "spin_bytes.h", "spin_checksum.h",
            "spin_merge.h", "packets.h",
        ),
    ),
    "Datatypes": ("sdk/datatypes", ("spin_ddt.h", "spin_ddt_blocks.h", "spin_ddt_segment.h", "spin_ddt_send.h")),
    "Offloads of PANIC": ("sdk/include", ("panic.h",)),
    "Drivers": ("crates/capi/include", ("spinet_driver.h", "spin.h", "pspinsim.h", "gdriver.h")),
}  # fmt: skip
_COMMENT = re.compile(r"\A/\*(.*?)\*/\s*", re.DOTALL)


def page(note: str) -> str:
    """The text of the page."""
    parts = [
        note,
        "# C functions",
        "",
        "Handlers for PsPIN and offloads of PANIC are C programs with the headers of the SDK. Drivers in C link with",
        "libpspin. This page has the comments of these headers. Names that begin with `spin__` are for the SDK itself.",
        "Every handler includes `handler.h`, which includes the other headers of its chapter. The *Datatypes* headers",
        "are for handlers of [MPI datatypes](../guides/datatypes.md).",
        "",
    ]
    for chapter, (folder, names) in _CHAPTERS.items():
        parts += [f"## {chapter}", ""]
        for name in names:
            parts += _header(name, (ROOT / folder / name).read_text())
    return "\n".join(parts).rstrip() + "\n"


def _header(name: str, text: str) -> list[str]:
    """The parts of one header: its comment, then an entry for each block of lines."""
    blocks = _blocks(text)
    about, rest = _split(blocks[0])
    lines = [f"### {name}", "", *about, ""]
    for block in [rest, *blocks[1:]]:
        words, code = _split(block)
        shown = _declarations(code)
        names = _names(shown)
        if shown and not (names and all(name.startswith("spin__") for name in names)):
            lines += [
                *([f"#### {', '.join(f'`{name}`' for name in names)}", ""] if names else []),
                "```c",
                *shown,
                "```",
                "",
                *words,
                *([""] if words else []),
            ]
        elif words and not code.strip():
            lines += [*words, ""]
    return lines


def _names(declarations: list[str]) -> list[str]:
    """The names of functions and types, so that the search finds them; none for macros."""
    text = re.sub(
        r"/\*.*?\*/", "", "\n".join(line for line in declarations if not line.startswith("#")), flags=re.DOTALL
    )
    names = re.findall(
        r"^(?!typedef)\w[\w *]*?\b(\w+)\(|^typedef [^;{}]*\(\*(\w+)\)|^(?:typedef [^;{}()]*?|\} )\b(\w+);", text, re.M
    )
    return list(dict.fromkeys(name for groups in names for name in groups if name))


def _blocks(text: str) -> list[str]:
    """Parts of a header, split at blank lines outside braces and comments."""
    text = re.sub(r"\A/\* SPDX-[^\n]*\n", "", text)
    found: list[str] = []
    for part in re.split(r"\n(?:\s*\n|(?=/\*))", text):
        if found and _is_open(found[-1]):
            found[-1] += "\n" + part
        else:
            found.append(part)
    return found


def _is_open(text: str) -> bool:
    if text.rfind("/*") > text.rfind("*/"):
        return True
    code = re.sub(r'/\*.*?\*/|"[^"\n]*"|extern "C" \{', "", text, flags=re.DOTALL)
    return code.count("{") > code.count("}")


def _split(block: str) -> tuple[list[str], str]:
    """The comment at the start of a block as lines of Markdown, and the rest."""
    block = block.strip("\n")
    comment = _COMMENT.match(block)
    if comment is None or comment[1].strip().startswith("----"):
        return [], block if comment is None else block[comment.end() :]
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in comment[1].strip().split("\n")]
    words = [line if line.startswith("    ") else _escaped(line.strip()) for line in lines]
    return words, block[comment.end() :]


def _escaped(line: str) -> str:
    """Text in which only code in backquotes is marked."""
    parts = line.split("`")
    return "`".join(re.sub(r"([*<>\[\]])", r"\\\1", part) if at % 2 == 0 else part for at, part in enumerate(parts))


def _declarations(code: str) -> list[str]:
    """Lines of a block without bodies of functions, internal names and lines for the preprocessor only."""
    code = _without_bodies(code)
    code = re.sub(
        r"^#(?:include|if|ifdef|ifndef|else|elif|endif|undef|error|pragma)\b[^\n]*(?:\n|\Z)", "", code, flags=re.M
    )
    code = re.sub(r"^#define \w+_H$|^\}$|^extern \"C\" \{$", "", code, flags=re.M)
    code = re.sub(r"^(?:static inline [^;{]*|#define )\bspin__[^\n]*$", "", code, flags=re.M)
    return [line.rstrip() for line in code.strip("\n").split("\n") if line.strip()]


def _without_bodies(code: str) -> str:
    """`int f(int a) { ... }` becomes `int f(int a);`."""
    made, at = "", 0
    for head in re.finditer(r"^static inline [^;{]*?\)\s*\{", code, flags=re.MULTILINE):
        if head.start() < at:
            continue
        end, depth = head.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        signature = (
            head[0][:-1].rstrip().removeprefix("static inline ").replace("\n" + " " * len("static inline "), "\n")
        )
        made += code[at : head.start()] + signature + ";"
        at = end
    return made + code[at:]
