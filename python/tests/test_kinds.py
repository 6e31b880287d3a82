# SPDX-License-Identifier: Apache-2.0
"""A kind of card that only the simulator knows: it has all features of the front end that need no code for the kind."""

from __future__ import annotations

import ast
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet import _core, _kinds, _programs, api, cli
from spinet._options import ALL, OPTIONS, SINGLE
from spinet.cli import ends, errors
from spinet.comparison import compare

PACKAGE = Path(spinet.__file__).parent
# These have a feature for cards of one kind; all other cards are treated alike.
OF_ONE_KIND = {
    "_kinds.py",
    "_options.py",
    "handler.py",
    "presets.py",
    "cli/nic_command.py",
    "cli/parameters.py",
    "comparison/networks.py",
}


def common(summary: dict[str, Any]) -> dict[str, Any]:
    """A summary without the keys of its kind."""
    schema = json.loads(_core.schema("summary"))["common"]["properties"]
    known = {key: value for key, value in summary.items() if key in schema}
    return {**known, "kind": "plain", "nic": "plain-nic"}


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> _kinds.Kind:
    """A simulator that has one more kind of cards. Python's catalogue of kinds is made again, as on import."""
    known = [*_core.kinds_of_cards(), ("plain", "forwards packets", "plain-nic")]
    monkeypatch.setattr(_kinds, "_ALL", _kinds.catalogue(known))
    options = {
        name: dataclasses.replace(option, kinds=(*option.kinds, "plain"))
        if option.kinds is ALL or option.kinds is SINGLE
        else option
        for name, option in OPTIONS.items()
    }
    monkeypatch.setattr(_kinds, "OPTIONS", options)
    monkeypatch.setattr(_core, "kind_of_nic", lambda _nic: "plain")
    return _kinds.get("plain")


@pytest.fixture(scope="module")
def summary() -> dict[str, Any]:
    """The part of a summary that all kinds have."""
    result = spinet.run(program="sdk/examples/ping_pong.c", traffic="udp:count=2000", keep_packets=False)
    return common(dict(result.summary))


def test_its_experiment_has_the_keys_of_all_kinds(plain: _kinds.Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def check(text: str, _file: str, _base_dir: str, _format: str, kind: str) -> str:
        seen.append(kind)
        return text

    monkeypatch.setattr(_core, "check_experiment", check)
    given = {"nic": "plain-nic", "set": ["a=1"], "traffic": ["udp:"], "pacing": "asap", "seed": 7}
    prepared = api.prepare(None, given)
    assert (seen, prepared.kind) == (["plain"], "plain")
    assert prepared.values == {
        "nic": {"preset": "plain-nic", "set": ["a=1"]},
        "traffic": [{"source": "udp:", "pacing": "asap"}],
        "seed": 7,
    }
    assert _programs.built(prepared, {}, cc=None, defines=None).elfs == {}
    with pytest.raises(spinet.SpinetError, match="plain-nic forwards packets and takes no program"):
        plain.check_command({}, None, "plain-nic", ["handler.c"])


def test_its_run_has_a_report_a_result_and_an_exit_code(
    plain: _kinds.Kind, summary: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    plain.print_summary(None, summary, None)  # type: ignore[arg-type]  # it needs no experiment
    out = capfd.readouterr().out
    assert out.startswith("plain on pspin: ")
    for part in ("Packets", "Latency", "Steady", "Busiest parts", "Digest"):
        assert part in out
    result = spinet.Result(summary=summary, kind="plain")
    assert repr(result).startswith("<Result complete: 2000 packets in, 2000 out, 0 dropped, digest ")
    with pytest.raises(AttributeError, match="this card forwards packets, so its result has no `host_memory`"):
        result.host_memory(0, 1)
    assert ends.exit_code("plain", summary) == 0
    unfinished = {**summary, "ended": {**summary["ended"], "is_unfinished": True, "reason": "limit"}}
    assert ends.exit_code("plain", unfinished) == errors.UNFINISHED
    assert "hint: give it more simulated time with --limit" in capfd.readouterr().err


@pytest.mark.usefixtures("plain")
def test_it_is_in_a_comparison_with_the_reason_why_it_has_no_row() -> None:
    with pytest.raises(spinet.SpinetError, match="pspin: it forwards packets, which cannot be compared"):
        compare(program=(), traffic="udp:count=4", nics=["pspin"])


def kinds_named(tree: ast.AST) -> Iterator[int]:
    """Lines that compare a kind with a name, or look one up by it."""
    names = set(_kinds.names())
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts = [side.value for side in sides if isinstance(side, ast.Constant)]
            asked = [ast.unparse(side) for side in sides if not isinstance(side, ast.Constant)]
            if names & set(texts) and any("kind" in side for side in asked):
                yield node.lineno
            if any(side.startswith("_kinds.") and side.isupper() for side in asked):
                yield node.lineno
        if isinstance(node, ast.Dict) and names <= {key.value for key in node.keys if isinstance(key, ast.Constant)}:
            yield node.lineno


def test_only_the_catalogue_names_kinds() -> None:
    assert list(
        kinds_named(
            ast.parse("if kind == 'chains': pass\nx = {'handlers': 1, 'chains': 2, 'modules': 3, 'network': 4}")
        )
    ) == [
        1,
        2,
    ]
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not {"sdk", "experiments", "firmware_sources"} & set(path.relative_to(PACKAGE).parts)
        if str(path.relative_to(PACKAGE)) not in OF_ONE_KIND
        for line in kinds_named(ast.parse(path.read_text()))
    ]
    assert found == []


def test_every_kind_of_the_simulator_has_options(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "--help"]) == 0
    out = capfd.readouterr().out
    for name in _kinds.names():
        assert _kinds.get(name).example in out
