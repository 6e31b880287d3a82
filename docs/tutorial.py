# SPDX-License-Identifier: Apache-2.0
"""The tutorial: a notebook whose outputs are those of the current code, and its page on the site.

`docs/generate.py` runs docs/tutorial.ipynb again, and a test compares the outputs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOK = ROOT / "docs" / "tutorial.ipynb"
_SECONDS = 120  # time limit of a cell
# Forms of an output, the one that the page shows first.
_SHOWN = ("text/html", "image/svg+xml", "text/plain")


def notebook() -> str:
    """The notebook with the outputs of a run. Its kernel is a process of its own, with the root as its folder."""
    command = [sys.executable, str(Path(__file__).resolve())]
    env = {**os.environ, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
    return subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True).stdout


def page(text: str) -> str:
    """The notebook as Markdown."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_output(output) for output in cell["outputs"]]
    parts.append("[This page as a notebook](tutorial.ipynb){ download }")
    return "\n\n".join(parts) + "\n"


def _output(output: Mapping[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    form = next(form for form in _SHOWN if form in data)
    text = "".join(data[form])
    if form == "text/plain":
        return f"```text\n{text}\n```"
    # Removes blank lines, which would end the block of HTML.
    lines = "\n".join(
        line for line in text.splitlines() if line.strip() and not line.startswith(("<?xml", "<!DOCTYPE"))
    )
    return f'<div class="output">{lines}</div>'


def _executed() -> str:
    import nbformat
    from nbclient import NotebookClient

    read = nbformat.read(NOTEBOOK, as_version=4)  # type: ignore[no-untyped-call]
    client = NotebookClient(read, timeout=_SECONDS, kernel_name="python3", record_timing=False, coalesce_streams=True)
    # Sockets of the file system, which no other machine can reach.
    client.create_kernel_manager().transport = "ipc"
    client.execute(cwd=str(ROOT))
    plain = {"kernelspec": read.metadata["kernelspec"], "language_info": {"name": "python"}}
    cells = [{**cell, "metadata": {}} for cell in _plain(read.cells)]
    whole = {"cells": cells, "metadata": plain, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False, sort_keys=True)


def _plain(cells: list[Any]) -> Iterator[dict[str, Any]]:
    """Cells as Jupyter writes them: texts as lists of lines."""
    for cell in json.loads(json.dumps(cells)):
        cell["source"] = cell["source"].splitlines(keepends=True)
        for output in cell.get("outputs", ()):
            if "text" in output:
                output["text"] = output["text"].splitlines(keepends=True)
            for form, text in output.get("data", {}).items():
                output["data"][form] = text.splitlines(keepends=True) if isinstance(text, str) else text
        yield cell


if __name__ == "__main__":
    print(_executed())
