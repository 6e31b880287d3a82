# SPDX-License-Identifier: Apache-2.0
"""Settings that all tests share."""

import os

# Printed tables are as wide as the terminal. Tests compare them, so the width must not depend on where tests run.
os.environ["COLUMNS"] = "100"
