# SPDX-License-Identifier: Apache-2.0
"""What holds for every test."""

import os

# Printed tables are as wide as the terminal. Tests compare them, so they must not depend on the terminal of the developer.
os.environ["COLUMNS"] = "100"
