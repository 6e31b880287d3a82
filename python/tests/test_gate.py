# SPDX-License-Identifier: Apache-2.0
"""The gate's end: it counts tests and repeats what failed ones said."""

from __future__ import annotations

import subprocess
from pathlib import Path

CI = Path(__file__).resolve().parent.parent.parent / ".ci"

CARGO = """\
test one ... ok
test parts::two ... FAILED

failures:

---- parts::two stdout ----
thread 'parts::two' panicked at src/parts.rs:3:5:
minimal failing input: n = 7

failures:
    parts::two

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out
error: test failed, to rerun pass `-p parts --lib`
"""

PYTEST = """\
=========================== short test summary info ============================
FAILED python/tests/test_a.py::test_b - assert 1 == 2
1 failed, 5 passed in 3.21s
"""


def said(script: str, *logs: Path) -> str:
    return subprocess.run([CI / script, *logs], capture_output=True, text=True, check=True).stdout


def test_messages_inputs_and_names_of_failed_tests_are_repeated(tmp_path: Path) -> None:
    cargo, pytest, missing = (tmp_path / name for name in ("cargo.log", "pytest.log", "missing.log"))
    cargo.write_text(CARGO)
    pytest.write_text(PYTEST)
    assert said("count", cargo, pytest, missing) == "6 2\n"
    assert said("failures", cargo, pytest, missing).splitlines() == [
        "---- parts::two stdout ----",
        "thread 'parts::two' panicked at src/parts.rs:3:5:",
        "minimal failing input: n = 7",
        "",
        "error: test failed, to rerun pass `-p parts --lib`",
        "FAILED python/tests/test_a.py::test_b - assert 1 == 2",
    ]


def test_a_long_message_is_cut(tmp_path: Path) -> None:
    log = tmp_path / "cargo.log"
    log.write_text("---- long stdout ----\n" + 1000 * f"{3000 * 'x'}\n")
    lines = said("failures", log).splitlines()
    assert (len(lines), len(lines[1])) == (60, 2000)
