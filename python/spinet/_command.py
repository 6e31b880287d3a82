# SPDX-License-Identifier: Apache-2.0
"""The entry of the command `spinet`. It imports nothing large."""

from __future__ import annotations

import signal


def main() -> int:
    """Run the command. A Ctrl-C while its modules are imported ends it without a traceback."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from spinet import cli

    signal.signal(signal.SIGINT, usual)
    return cli.main()
