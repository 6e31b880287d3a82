# SPDX-License-Identifier: Apache-2.0
"""Types of keywords of Python functions. Without these checks, errors would come late and name no keyword."""

from __future__ import annotations

import operator
import os
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from spinet._core import UsageError

MACRO = re.compile(r"[A-Za-z_]\w*(\(.*\))?", re.ASCII)
"""The name of a macro of the preprocessor, possibly with arguments."""

_MOST = (1 << 64) - 1
_SHOWN = 100  # characters of a value that an error shows


def check(given: Mapping[str, Any]) -> None:
    """Refuse values that cannot be right for keywords of these names. For most, None is the default.

    Raises
    ------
    UsageError
        The text has the keyword and its value.

    >>> check({"seed": 7, "limit": "10 ms", "cc": None})
    >>> check({"seed": "7"})
    Traceback (most recent call last):
    spinet._core.UsageError: seed is '7', must be a whole number from 0 to 18446744073709551615
    """
    for name, value in given.items():
        if name not in _FORMS or (value is None and name not in _NEVER_NONE):
            continue
        must, fits = _FORMS[name]
        if not fits(value):
            shown = repr(value)
            shown = shown if len(shown) <= _SHOWN else f"{shown[: _SHOWN - 3]}..."
            raise UsageError(f"{name} is {shown}, must be {must}")


def _is_whole(value: object) -> bool:
    if not hasattr(value, "__index__") or isinstance(value, bool):
        return False
    return 0 <= operator.index(value) <= _MOST


def _is_truth(value: object) -> bool:
    return isinstance(value, bool) or type(value).__name__ == "bool_"  # NumPy's, without an import


def _is_text(value: object) -> bool:
    """A text that UTF-8 can hold, without NUL, which would end it for the system."""
    return isinstance(value, str) and "\0" not in value and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_path(value: object) -> bool:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    return _is_text(value) and value != ""


def _several(fits: Callable[[object], bool]) -> Callable[[object], bool]:
    def all_fit(value: object) -> bool:
        return isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping) and all(map(fits, value))

    return all_fit


def _is_macros(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    names = all(isinstance(name, str) and MACRO.fullmatch(name) for name in value)
    return names and all(_is_text(one) or _is_number(one) for one in value.values())


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_number(value: object) -> bool:
    return hasattr(value, "__index__") or isinstance(value, float)


_TEXT = ("a text", _is_text)
_TEXTS = ("a text, or a list of them", lambda value: (_is_text(value) and value) or _several(_is_text)(value))
_TEXT_OR_MAPPING = ("a text or a mapping", lambda value: _is_text(value) or _is_mapping(value))
_WHOLE = (f"a whole number from 0 to {_MOST}", _is_whole)
_TRUTH = ("True or False", _is_truth)
_PATH = ("a path", _is_path)
_FUNCTION = ("a function", callable)

_FORMS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    **dict.fromkeys(
        ("pacing", "limit", "keep_time", "match", "message", "handler", "cc", "opt", "model", "pattern"), _TEXT
    ),
    "until": ("a text such as '20 us'", _is_text),
    **dict.fromkeys(("count", "seed", "threads"), _WHOLE),
    **dict.fromkeys(("profile", "paths", "capture_drops", "check", "keep_packets", "debug"), _TRUTH),
    **dict.fromkeys(("timeline", "waves", "folder", "base_dir", "path", "cache", "out", "script"), _PATH),
    **dict.fromkeys(("on_progress", "on_rows", "on_nic", "hook"), _FUNCTION),
    **dict.fromkeys(("timeline_only", "keep_nodes", "keep_messages"), _TEXTS),
    "nic": ("the name of a card", lambda value: value != "" and (not isinstance(value, str) or _is_text(value))),
    "experiment": ("a path or a mapping", lambda value: _is_mapping(value) or _is_path(value)),
    "sources": ("a path, or a list of them", lambda value: _is_path(value) or _several(_is_path)(value)),
    "flags": ("a list of texts", _several(_is_text)),
    "faults": ("a text or a mapping", lambda value: _is_text(value) or _several(_is_text)(value) or _is_mapping(value)),
    **dict.fromkeys(
        ("policy", "topology", "switch", "loggops"),
        ("a text or a mapping", lambda value: _is_text(value) or _is_mapping(value)),
    ),
    **dict.fromkeys(("load", "entry"), ("an address", lambda value: _is_whole(value) or _is_text(value))),
    "defines": ("a mapping from names of macros to texts or numbers", _is_macros),
    **dict.fromkeys(("values", "link", "messages"), ("a mapping", _is_mapping)),
    "policies": ("a mapping with names", lambda value: _is_mapping(value) and all(map(_is_text, value))),
}
_NEVER_NONE = ("sources", "path", "opt", "flags", "debug", "keep_packets")
