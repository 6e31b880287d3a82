# SPDX-License-Identifier: Apache-2.0
"""Write the pages that are made from the code: `make docs`. A test compares them."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import click
from spinet import _core, plots, reproduce, wiring
from spinet.cli import cli
from spinet.drawing import sketch
from spinet.reproduce import report as reports
from spinet.reproduce import results

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))
import architecture  # noqa: E402  beside this file, which tests run from elsewhere
import c_reference  # noqa: E402
import chains  # noqa: E402
import modules  # noqa: E402
import nic_parameters  # noqa: E402
import parameter_classes  # noqa: E402
import summary  # noqa: E402
import summary_classes  # noqa: E402
import tutorial  # noqa: E402

_NOTE = "<!-- Made by docs/generate.py; change the code instead and run `make docs`. -->\n"


def pages(*, figures: bool = True) -> dict[Path, str]:
    """Path, from the root of the repository, and text of every page, with or without the figures of experiments."""
    return {
        Path("docs/reference/cli.md"): _command_line(),
        Path("docs/reference/c.md"): c_reference.page(_NOTE),
        Path("docs/reference/packets.md"): _packet_table(),
        Path("docs/reference/summary.md"): summary.page(_NOTE),
        Path("docs/reference/modules.md"): modules.page(_NOTE),
        Path("docs/reference/nic-parameters.md"): nic_parameters.page(_NOTE),
        Path("docs/reference/chains.md"): chains.page(_NOTE),
        Path("docs/reference/panic-parameters.md"): chains.card_page(_NOTE),
        **{
            Path(f"docs/reference/{kind}.schema.json"): json.dumps(
                json.loads(_core.schema(kind)), indent=2, ensure_ascii=False
            )
            + "\n"
            for kind in ("nic", "experiment", "panic", "chains", "modules")
        },
        **_classes(),
        Path("docs/tutorial.ipynb"): tutorial.notebook(),
        Path("README.md"): _readme(),
        Path("docs/images/architecture.svg"): architecture.drawing(),
        Path("docs/images/guide-nic.svg"): _guide_drawing(),
        **{Path(f"docs/images/{nic}.svg"): wiring.design(nic).svg() for nic in ("tigon2", "tengig")},
        **{Path(f"docs/images/{nic}.svg"): sketch.design(nic).svg() for nic in ("panic", "pspin")},
        **_experiments(figures=figures),
    }


def _classes() -> dict[Path, str]:
    """Python modules that experiments and other pages import."""
    return {
        Path("python/spinet/nic_parameters.py"): parameter_classes.handlers(),
        Path("python/spinet/chain_parameters.py"): parameter_classes.chains(),
        Path("python/spinet/module_parameters.py"): parameter_classes.modules(),
        Path("python/spinet/summaries.py"): summary_classes.module(),
    }


def _command_line() -> str:
    parts = [_NOTE, "# The command line\n"]
    for path, command in _commands(cli, "spinet"):
        # A fixed width, whatever the terminal.
        context = click.Context(
            command, info_name=path, terminal_width=100, max_content_width=100, help_option_names=["-h", "--help"]
        )
        parts.append(f"## {path}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def _commands(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found += _commands(inner, f"{path} {name}")
    return found


def _readme() -> str:
    """The README with the current output of its example, without the last lines, which depend on the machine."""
    text = (ROOT / "README.md").read_text()
    shown = re.search(r"^spinet (run .*) -o \w+$", text, flags=re.MULTILINE)
    assert shown is not None, "README.md shows no run"
    command = [sys.executable, "-m", "spinet.cli", *shlex.split(shown[1])]
    wide = {**os.environ, "COLUMNS": "100"}
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, env=wide).stdout
    report, _, _footer = printed.partition("\n\nDigest ")
    return re.sub(r"(?<=```text\n).*?(?=```)", lambda _: report + "\n", text, count=1, flags=re.DOTALL)


def _guide_drawing() -> str:
    """The last NIC that the guide builds, drawn."""
    guide = (ROOT / "docs" / "guides" / "build-a-nic.md").read_text()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in re.findall(r"```toml\n# (\S+\.toml)\n(.*?)```", guide, flags=re.DOTALL):
            (Path(folder) / name).write_text(text)
        return wiring.design("split.toml", base_dir=folder).svg()


def _experiments(*, figures: bool) -> dict[Path, str]:
    """A page and figures for each paper, from the results of `make reproduce`."""
    found = {}
    names = reproduce.find()
    for paper in dict.fromkeys(name.partition("/")[0] for name in names):
        home = Path("docs/experiments") / paper
        made = []
        for name in (name for name in names if name.partition("/")[0] == paper):
            experiment = reproduce.load(name)
            data = ROOT / home / f"{experiment.slug}.csv"
            if not data.is_file():
                continue  # not measured yet
            report = reports.make(results.read_csv(data, experiment))
            if figures:
                found[home / f"{experiment.slug}.svg"] = plots.svg(experiment.plot(report.results))
            made.append(report)
        if made:
            found[home.with_suffix(".md")] = _paper(paper, made)
    return found


def _paper(paper: str, made: list[reports.Report]) -> str:
    title, _, about = (importlib.import_module(f"experiments.{paper}").__doc__ or "").partition("\n\n")
    lines = ["| | | |", "|---|---|---|"]
    for report in made:
        item = report.results.experiment
        anchor = re.sub(r"[^a-z0-9 -]", "", item.title.lower()).replace(" ", "-")
        lines.append(f"| `{item.name}` | [{item.title}](#{anchor}) | {reports.counted([report])} |")
    head = f"# {title.rstrip('.')}\n\n{about.strip()}\n\n{reports.counted(made)}. `make reproduce` measures again.\n"
    sections = []
    for report in made:
        slug = report.results.experiment.slug
        sections.append(reports.markdown(report, image=f"{paper}/{slug}.svg", data=f"{paper}/{slug}.csv"))
    return "\n".join([_NOTE, head, "\n".join(lines) + "\n", *sections])


def _packet_table() -> str:
    tables = _core.table_columns()
    lines = [
        _NOTE,
        "# packets.parquet",
        "",
        "One row per packet, in the order in which packets were finished. Times are picoseconds since reset. A time is",
        "null if the packet did not reach that point.",
        "",
        *_columns(tables["handlers"]["packets"]),
        "",
        "# frames.parquet",
        "",
        "Of wired cards: one row per frame, those that the host sent and then those that it received, in the order in",
        "which they were given to the card. Frames that came out but were not given to the card follow.",
        "",
        *_columns(tables["modules"]["frames"]),
        "",
        "# frames.parquet of networks",
        "",
        "One row per event of a frame, in order of time. `frame_node` and `frame` identify a frame on its whole path.",
        "",
        *_columns(tables["network"]["frames"]),
        "",
        "# messages.parquet of networks",
        "",
        "One row per message between hosts, in the order in which the receivers got them; messages that no host got",
        "follow. `from` and `to` are numbers of nodes. `nic_ps`, `link_ps`, `queue_ps` and `receiver_ps` add up to",
        "`done_ps` - `posted_ps`.",
        "",
        *_columns(tables["network"]["messages"]),
        "",
        "# paths.parquet",
        "",
        "With `--paths`: one row per step of a packet's path. Steps of a packet follow each other without gaps, so",
        "they add up to its time. [The guide](../guides/explain.md) shows how to read them.",
        "",
        *_columns(tables["handlers"]["paths"], choices=False),
    ]
    for kind, nic in (("handlers", "PsPIN"), ("chains", "PANIC and its baselines"), ("modules", "wired cards")):
        choices = {name: categories for name, _, _, categories in tables[kind]["paths"]}
        lines += [
            "",
            f"On {nic}, `stage` is one of {_listed(choices['stage'])}, and",
            f"`place` is one of {_listed(choices['place'])}:",
            "",
            "| cause | meaning | resource in the summary |",
            "|---|---|---|",
        ]
        for name, about, resource in _core.path_causes()[kind]:
            lines.append(f"| `{name}` | {about} | {f'`{resource}`' if resource else ''} |")
    lines += [
        "",
        "In names of resources, `{0}` and `{1}` are `index` and `subindex`, and `{name}` is the name of service `{0}`.",
        "`{place}` is the busiest of the resources that row `index` of the summary's `places` lists.",
    ]
    return "\n".join(lines) + "\n"


def _columns(columns: list[tuple[str, str, str, list[str]]], *, choices: bool = True) -> list[str]:
    lines = ["| column | type | meaning |", "|---|---|---|"]
    for name, dtype, meaning, categories in columns:
        kind = "text" if categories else {"u": "unsigned ", "i": "signed "}[dtype[1]] + f"{8 * int(dtype[2:])} bits"
        words = [word for word in categories if word] if choices else []
        lines.append(f"| `{name}` | {kind} | {meaning}{f': {_listed(words)}' if words else ''} |")
    return lines


def _listed(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def main() -> None:
    """Write every page that is not up to date."""
    if _write(_classes()):
        os.execv(sys.executable, [sys.executable, *sys.argv])  # the old modules are imported already
    _write(pages())


def _write(texts: dict[Path, str]) -> bool:
    """Returns true if a file changes."""
    changes = False
    for path, text in texts.items():
        target = ROOT / path
        if not target.is_file() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
            print(f"  wrote {path}", flush=True)
            changes = True
    return changes


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
