# SPDX-License-Identifier: Apache-2.0
"""Commands of the system, such as compilers."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

_PATIENCE_S = 10  # wait for the child processes of an interrupted command
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


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
    process: subprocess.Popen[bytes] | None = None
    try:
        # An interrupt inside of Popen would leave a running command that nobody can end.
        with _interrupts_wait():
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=env)
        out, err = process.communicate()
    except BaseException:
        if process is not None:
            process.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=_PATIENCE_S)
        raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@contextlib.contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Call Python's handlers of signals that end a program at the end of this block, not inside of it.

    The signals are not blocked, because the command would inherit that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread only
        return
    came: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        came.append(number)

    numbers = [getattr(signal, name) for name in _ENDING if hasattr(signal, name)]
    usual = {number: handler for number in numbers if callable(handler := signal.getsignal(number))}
    for number in usual:
        signal.signal(number, note)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(came):
            signal.raise_signal(number)
