# SPDX-License-Identifier: Apache-2.0
"""Exit codes of `spinet run`, and the reason on stderr if a run did not finish."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spinet.cli import errors

_TIME = "give it more simulated time with --limit"
_HINTS = {
    "handlers": {
        "limit": f"{_TIME}, or look for a loop where the cores are",
        "stalled": "nothing moved any more: a handler loops, or waits for something that does not come",
        "not_ready": "the program did not tell the card that it is ready: is it built with spinet's runtime?",
    },
    "chains": {
        "limit": _TIME,
        "stalled": "nothing moved any more: a service waits for something that does not come",
    },
    "modules": {"limit": _TIME},
}


def exit_code(kind: str, summary: Mapping[str, Any]) -> int:
    """Exit code of a run on this kind of card, without --strict."""
    ended = summary["ended"]
    where = _where(kind, summary)
    if ended["reason"] == "interrupted":
        return errors.interrupted(f"{ended['text']}{where if kind == 'handlers' else ''}")
    if not ended["is_unfinished"]:
        return 0
    if kind == "handlers" and len(ended["cores"]) <= 1:
        where = ""  # the text names one core
    hint = _HINTS[kind].get(ended["reason"], "")
    errors.complain(f"the run did not finish: {ended['text']}{where}", hint=hint)
    return errors.UNFINISHED


def _where(kind: str, summary: Mapping[str, Any]) -> str:
    """Lines with the places of cores that have something to do, and with the state of rings."""
    if kind == "handlers":
        return _busy_cores(summary["ended"]["cores"])
    if kind == "chains":
        return ""
    at = (f"{core['path']} is at {core['place']}" for core in summary["cores"] if not core["is_halted"])
    return "".join(f"\n  {line}" for line in [*at, *summary["rings"], *summary["faults"]])


def _busy_cores(cores: Sequence[Mapping[str, Any]]) -> str:
    """A line for each of the first cores that have something to do."""
    where = [
        f"\n  cluster {core['cluster']} core {core['core']}: {core['place'] or core['pc']}, {core['waiting_for']}"
        for core in cores[:8]
    ]
    return "".join(where) + (f"\n  and {len(cores) - 8} more cores" if len(cores) > 8 else "")
