# SPDX-License-Identifier: Apache-2.0
"""Commands of the system, such as compilers."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Mapping, Sequence

_PATIENCE_S = 10  # wait for the child processes of an interrupted command


def run(command: Sequence[str], *, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    """Run a command without input, and collect its output.

    An interrupt ends the command and waits for its child processes, because they still write to the folder that the
    caller removes. They have ended when the output pipes are closed.

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
