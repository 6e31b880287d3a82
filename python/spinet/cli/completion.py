# SPDX-License-Identifier: Apache-2.0
"""Completion of words with `=`, such as `--nic=pan` and `--set cluster.n_cores=`."""

from __future__ import annotations

import os
import re
from typing import Any

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)


def _option_and_value(word: str) -> tuple[str, str]:
    """`--set=a=1` is `--set=` and `a=1`; other words are values."""
    if not word.startswith("--") or "=" not in word:
        return "", word
    name, _, value = word.partition("=")
    return f"{name}=", value


class _Bash(BashComplete):
    """Bash splits words at `=` and `:`. So read the line itself, and return the part after the last separator."""

    source_template = BashComplete.source_template.replace(
        'COMP_WORDS="${COMP_WORDS[*]}"', 'COMP_LINE="${COMP_LINE:0:$COMP_POINT}" COMP_WORDS="${COMP_WORDS[*]}"'
    )
    _split_off = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ.get("COMP_LINE")
        if line is None:
            return super().get_completion_args()
        words = split_arg_string(line)
        incomplete = words.pop() if words and not line[-1].isspace() else ""
        found = re.match(r".*[=:]", _option_and_value(incomplete)[1])
        self._split_off = found[0] if found else ""
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        item.value = str(item.value).removeprefix(self._split_off)
        return super().format_completion(item)


class _WholeWords:
    """Zsh and fish replace the whole word, so the answer begins with its option."""

    _option = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        args, incomplete = super().get_completion_args()  # type: ignore[misc]
        self._option = _option_and_value(incomplete)[0]
        return args, incomplete

    def format_completion(self, item: CompletionItem) -> str:
        if item.type == "plain" and not str(item.value).startswith("--"):
            item.value = f"{self._option}{item.value}"
        text: str = super().format_completion(item)  # type: ignore[misc]
        return text


class _Zsh(_WholeWords, ZshComplete):
    pass


class _Fish(_WholeWords, FishComplete):
    pass


def register() -> None:
    """Use these classes for all shells."""
    shells: Any = (_Bash, _Zsh, _Fish)
    for shell in shells:
        add_completion_class(shell)
