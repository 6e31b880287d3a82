# SPDX-License-Identifier: Apache-2.0
"""Files with which VS Code's debugger starts `spinet debug` and connects gdb to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

GDB = "gdb-multiarch"
PORT = 3333
FOLDER = Path(".vscode")
SYMBOLS = "debug.elf"
TASK = "spinet debug"


def files(command: Sequence[str]) -> Mapping[Path, str]:
    """Contents of the files, by path within the project. `command` is `debug` with its arguments."""
    words = list(command)
    if "--symbols" not in words:
        words += ["--symbols", SYMBOLS]
    if "--port" not in words:
        words += ["--port", str(PORT)]
    symbols, port = words[words.index("--symbols") + 1], words[words.index("--port") + 1]
    background = {"activeOnStart": True, "beginsPattern": "^$", "endsPattern": "^waiting for gdb"}
    listening = {"pattern": {"regexp": "^$"}, "background": background}
    tasks = {
        "version": "2.0.0",
        "tasks": [
            {
                "label": TASK,
                "type": "process",
                "command": "spinet",
                "args": words,
                "isBackground": True,
                "problemMatcher": listening,
            }
        ],
    }
    launch = {
        "version": "0.2.0",
        "configurations": [
            {
                "name": TASK,
                "type": "cppdbg",
                "request": "launch",
                "program": f"${{workspaceFolder}}/{symbols}",
                "cwd": "${workspaceFolder}",
                "MIMode": "gdb",
                "miDebuggerPath": GDB,
                "miDebuggerServerAddress": f"localhost:{port}",
                "preLaunchTask": TASK,
                "stopAtEntry": False,
                "setupCommands": [{"text": "-enable-pretty-printing", "ignoreFailures": True}],
            }
        ],
    }
    contents = {FOLDER / "tasks.json": tasks, FOLDER / "launch.json": launch}
    return {path: json.dumps(content, indent=2) + "\n" for path, content in contents.items()}
