# SPDX-License-Identifier: Apache-2.0
"""Prints the table of docs/guides/ns3.md. With `--check`, only looks for ns-3."""

import sys

from validation.ns3 import bridge, compare


def main() -> int:
    """Return the exit code."""
    try:
        bridge.library()
    except bridge.MissingNs3 as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if sys.argv[1:] == ["--check"]:
        return 0
    print(compare.HEAD)
    faults = []
    for found in compare.all_of():
        print(found.row(), flush=True)
        faults += found.faults()
    print(*faults, sep="\n", file=sys.stderr, end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
