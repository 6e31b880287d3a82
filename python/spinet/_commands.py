# SPDX-License-Identifier: Apache-2.0
"""Commands of the system, such as compilers."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping, Sequence

_PATIENCE_S = 10  # for what an interrupted command has started


def run(command: Sequence[str], *, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command without input, and collect its output.

    An interrupt ends the command, and waits for processes that it started, because these still write to the folder
    that the caller removes. They hold the pipes of its output.

    Raises
    ------
    OSError
        If it cannot be started.
    """
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=env) as process:
        try:
            out, err = process.communicate()
        except BaseException:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_PATIENCE_S)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)
