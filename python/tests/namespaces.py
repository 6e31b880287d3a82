# SPDX-License-Identifier: Apache-2.0
"""Network namespaces for tests: interfaces and addresses that the machine itself never sees."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TypeVar

DEADLINE_S = 20.0  # limit of any wait
_ROOT = os.geteuid() == 0 if hasattr(os, "geteuid") else False

T = TypeVar("T")


def until(what: str, ask: Callable[[], T | None], *, within: float = DEADLINE_S) -> T:
    """Retry until there is an answer."""
    end = time.monotonic() + within
    while True:
        answer = ask()
        if answer is not None:
            return answer
        assert time.monotonic() < end, f"{what}: not within {within} s"
        time.sleep(0.01)


class Namespace:
    """A network namespace that exists until the end of the `with` block; a process in it keeps it alive."""

    def __init__(self, *, within: Namespace | None = None) -> None:
        # Without root, a namespace of users gives the privilege.
        flags = ["--net"] if _ROOT or within is not None else ["--user", "--map-root-user", "--net"]
        keep = ["unshare", *flags, "sh", "-c", "echo ready; exec cat"]
        before = within.enter([]) if within is not None else []
        self._keeper = subprocess.Popen([*before, *keep], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._keeper.stdout is not None
        assert self._keeper.stdout.readline() == "ready\n", "no namespace"

    @property
    def pid(self) -> int:
        """A process in it."""
        return self._keeper.pid

    def enter(self, command: Sequence[str]) -> list[str]:
        """The command that runs another one inside."""
        where = f"/proc/{self.pid}/ns"
        user = [] if _ROOT else [f"--user={where}/user", "--preserve-credentials"]
        return ["nsenter", *user, f"--net={where}/net", *command]

    def run(self, *command: str, timeout: float = DEADLINE_S) -> str:
        """Run a command inside; its output."""
        done = subprocess.run(self.enter(command), capture_output=True, text=True, timeout=timeout)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    def ip(self, command: str) -> str:
        """Run `ip` inside."""
        return self.run("ip", *command.split())

    def python(self, program: str, *arguments: str) -> str:
        """Run a Python program inside; its output."""
        return self.run(sys.executable, "-c", program, *arguments)

    def quiet(self) -> None:
        """No IPv6, whose kernel sends packets by itself."""
        for which in ("all", "default"):
            self.run("sh", "-c", f"echo 1 > /proc/sys/net/ipv6/conf/{which}/disable_ipv6")

    def __enter__(self) -> Namespace:
        self.quiet()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._keeper.communicate(timeout=DEADLINE_S)  # it ends with its input


def why_not() -> str | None:
    """The reason why this user cannot make interfaces on this machine; None if it is possible."""
    if not Path("/dev/net/tun").exists():
        return "there is no /dev/net/tun"
    for tool in ("ip", "unshare", "nsenter"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    flags = ["--net"] if _ROOT else ["--user", "--map-root-user", "--net"]
    tried = ["unshare", *flags, "ip", "tuntap", "add", "tap0", "mode", "tap"]
    done = subprocess.run(tried, capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr
