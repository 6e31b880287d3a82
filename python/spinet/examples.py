# SPDX-License-Identifier: Apache-2.0
"""Handlers, captures and networks that come with spinet, wherever it is installed, with the names that guides use."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from spinet import _files, toolchain
from spinet._core import UsageError

__all__ = ["Example", "copy", "examples", "find"]

_CAPTURES = "captures"
_NETWORKS = "experiments/networks"
_KERNELS = "experiments/spin/handlers"


@dataclass(frozen=True, kw_only=True)
class Example:
    """A file to begin with."""

    name: str  # such as sdk/examples/ping_pong.c
    about: str
    path: Path  # its path on this machine


def examples() -> list[Example]:
    """All of them: handlers and services with their headers, captures, networks with their schedules."""
    found = _sources(toolchain.sdk_dir() / "examples", "sdk/examples")
    found += _sources(toolchain.sdk_dir() / "services", "sdk/services")
    found += _sources(_dir(_KERNELS, "osmosis.c"), _KERNELS, "osmosis.c", "osmosis_place.h")
    captures = _dir(_CAPTURES, "README.md")
    abouts = dict(re.findall(r"^\| `(\S+)` \| \d+ \| (.*) \|$", (captures / "README.md").read_text(), re.MULTILINE))
    found += [
        Example(name=f"captures/{path.name}", about=abouts[path.name], path=path)
        for path in sorted(captures.glob("*.pcap"))
    ]
    networks = _dir(_NETWORKS, "pair.toml")
    found += [
        Example(name=f"{_NETWORKS}/{path.name}", about=_about_network(path), path=path)
        for path in sorted(networks.iterdir(), key=lambda path: (path.suffix != ".toml", path.name))
        if path.suffix in (".toml", ".goal")
    ]
    return found


def find(name: str) -> Example:
    """An example by its name, or by the end of it: ``"captures/dns.pcap"``, ``"dns.pcap"``, ``"dns"``.

    Raises
    ------
    UsageError
        If there is none, or there are several.

    Examples
    --------
    >>> find("dns").name
    'captures/dns.pcap'
    """
    known = examples()
    ends = [one for one in known if name in _names_of(one)]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise UsageError(f"several examples are called {name}: {', '.join(one.name for one in ends)}")
    near = difflib.get_close_matches(name, [short for one in known for short in _names_of(one)], n=1)
    raise UsageError(
        f"there is no example {name}", hint=f"did you mean {near[0]}?" if near else "spinet examples lists them"
    )


def copy(folder: str | Path, names: Sequence[str] = ()) -> list[Path]:
    """Copy examples, or all if none is named, into a folder, each under its name. Existing files stay.

    Raises
    ------
    UsageError
        If there is no such example, or a file with other content already exists.
    """
    chosen = [find(name) for name in names] if names else examples()
    places = [Path(folder) / one.name for one in chosen]
    for one, place in zip(chosen, places, strict=True):
        if place.exists() and (not place.is_file() or place.read_bytes() != one.path.read_bytes()):
            raise UsageError(f"{place} exists and is another file", hint="name another folder")
    for one, place in zip(chosen, places, strict=True):
        place.parent.mkdir(parents=True, exist_ok=True)
        _files.write(place, one.path.read_bytes())
    return places


def _sources(folder: Path, name: str, *patterns: str) -> list[Example]:
    """C files of a folder that `name` stands for; by default all, also those of its folders."""
    paths = [path for pattern in patterns or ("*.c", "*.h") for path in folder.rglob(pattern)]
    return [
        Example(name=f"{name}/{path.relative_to(folder).as_posix()}", about=_about(path), path=path)
        for path in sorted(paths, key=lambda path: (path.parent != folder, path.suffix, path.name))
    ]


def _names_of(example: Example) -> set[str]:
    parts = example.name.split("/")
    ends = {"/".join(parts[at:]) for at in range(len(parts))}
    # `matching` is matching.c, not its header.
    return ends if example.name.endswith(".h") else ends | {end.rpartition(".")[0] for end in ends}


def _about(source: Path) -> str:
    """The first sentence of a source's first comment after the licence."""
    comments = re.findall(r"/\*(.*?)\*/", source.read_text(), re.DOTALL)
    text = next(comment for comment in comments if "SPDX" not in comment)
    words = " ".join(line.strip().removeprefix("*").strip() for line in text.splitlines()).strip()
    return re.split(r"(?<=\.) ", words, maxsplit=1)[0]


def _about_network(path: Path) -> str:
    """The first sentence of a network's file, or the size of a schedule."""
    text = path.read_text()
    if path.suffix == ".goal":
        found = re.search(r"^num_ranks (\d+)$", text, re.MULTILINE)
        return f"A schedule of {found[1] if found else 'some'} ranks."
    lines = (line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#"))
    return re.split(r"(?<=\.) ", " ".join(lines), maxsplit=1)[0]


def _dir(name: str, file: str) -> Path:
    """A folder of examples that has this file."""
    here = Path(__file__).resolve().parent
    for folder in (here / name, here.parent.parent / name):
        if (folder / file).is_file():
            return folder.resolve()
    raise UsageError(f"no {name} beside {here} nor in {here.parent.parent}", hint="reinstall spinet")
