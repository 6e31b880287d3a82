# SPDX-License-Identifier: Apache-2.0
"""Exit codes of `spinet run`; prints the reason on stderr if a run did not finish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spinet import _kinds
from spinet.cli import errors


def exit_code(kind: str, summary: Mapping[str, Any]) -> int:
    """Exit code of a run on this kind of card, without --strict."""
    ended, known = summary["ended"], _kinds.get(kind)
    if ended["reason"] == "interrupted":
        return errors.interrupted(f"{ended['text']}{known.where_interrupted(summary)}")
    if not ended["is_unfinished"]:
        return 0
    hint = known.hints.get(ended["reason"], "")
    errors.complain(f"the run did not finish: {ended['text']}{known.where(summary)}", hint=hint)
    return errors.UNFINISHED
