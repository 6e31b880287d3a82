# SPDX-License-Identifier: Apache-2.0
"""`python -m spinet.cli`, for when the command is not in the search path."""

import sys

from spinet.cli import main

if __name__ == "__main__":
    sys.exit(main())
