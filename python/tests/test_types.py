# SPDX-License-Identifier: Apache-2.0
"""Types are correct: the stub matches the module, summaries match their types, and a user's program passes the type
checker."""

from __future__ import annotations

import subprocess
import sys
import types
import typing
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet import summaries

ROOT = Path(__file__).resolve().parent.parent.parent
PING_PONG = "sdk/examples/ping_pong.c"


def test_the_stub_is_that_of_the_module(tmp_path: Path) -> None:
    # `Progress` is only a type; the module lists its names, which the stub need not.
    (tmp_path / "allowed").write_text("spinet._native.Progress\nspinet._native.__all__\n")
    options = ["--ignore-disjoint-bases", "--allowlist", str(tmp_path / "allowed")]
    command = [sys.executable, "-m", "mypy.stubtest", "spinet._native", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def differences(value: object, wanted: Any, path: str = "summary") -> list[str]:
    """Places at which a value in JSON is not of a type."""
    if wanted is Any:
        return []
    if typing.is_typeddict(wanted):
        if not isinstance(value, dict):
            return [f"{path} is not a table"]
        hints = typing.get_type_hints(wanted)
        marked = typing.get_type_hints(wanted, include_extras=True)
        required = {key for key, kind in marked.items() if typing.get_origin(kind) is not typing.NotRequired}
        found = [f"{path}.{key} is missing" for key in required - value.keys()]
        found += [f"{path}.{key} has no type" for key in value.keys() - hints.keys()]
        both = hints.keys() & value.keys()
        return found + [more for key in sorted(both) for more in differences(value[key], hints[key], f"{path}.{key}")]
    if isinstance(wanted, types.UnionType) or typing.get_origin(wanted) is typing.Union:
        choices = [differences(value, one, path) for one in typing.get_args(wanted)]
        return min(choices, key=len)
    origin, inner = typing.get_origin(wanted), typing.get_args(wanted)
    if origin is list:
        assert isinstance(value, list), path
        return [more for at, one in enumerate(value) for more in differences(one, inner[0], f"{path}[{at}]")]
    if origin is dict:
        assert isinstance(value, dict), path
        return [more for key, one in value.items() for more in differences(one, inner[1], f"{path}.{key}")]
    allowed = (int, float) if wanted is float else wanted
    is_right = isinstance(value, allowed) and (isinstance(value, bool) == (wanted is bool))
    return [] if is_right else [f"{path} is {value!r}, not {wanted}"]


RUNS: dict[str, dict[str, Any]] = {
    "handlers": {"program": PING_PONG, "traffic": "captures/memcached.pcap", "match": "udp.dst_port == 11211"},
    "fault": {"program": "sdk/examples/copy_to_host.c", "traffic": "udp:size=1000,count=40", "set": "n_clusters=1"},
    "chains": {"chains": "ipsec: sha -> aes", "traffic": "udp:size=1472,count=50,rate=30G"},
    "modules": {"nic": "tigon2", "send": "udp:size=1514,payload=numbered,count=4", "limit": "60 ms"},
}


@pytest.mark.parametrize("name", RUNS)
def test_summaries_are_as_their_types_say(name: str) -> None:
    result = spinet.run(**RUNS[name])
    typed = getattr(summaries, f"{result.kind.capitalize()}Summary")
    assert differences(result.summary_as(typed), typed) == []
    general = differences(result.summary_as(summaries.Summary), summaries.Summary)
    assert [one for one in general if not one.endswith("has no type")] == []
    # The check finds mistakes.
    wrong = {**result.summary, "seed": "1", "new": 2}
    assert sorted(differences(wrong, typed)) == ["summary.new has no type", "summary.seed is '1', not <class 'int'>"]


def test_the_type_of_another_kind_is_refused() -> None:
    result = spinet.run(program=PING_PONG, traffic="udp:count=1")
    with pytest.raises(spinet.InputError, match=r"kind is ChainsSummary; .*: must be HandlersSummary or Summary"):
        result.summary_as(summaries.ChainsSummary)


SAMPLE = """
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import spinet
from spinet.summaries import HandlersSummary


def packets() -> Iterator[bytes]:
    yield bytes(64)


experiment = spinet.Experiment(program="ping_pong.c", traffic=list(packets()), context=[{"match": "udp"}])
result = spinet.run(experiment, on_progress=lambda progress: print(progress["packets_done"] + 1))
again = spinet.run(program="ping_pong.c", traffic=packets())
timed = spinet.run(program="ping_pong.c", traffic=[(5, bytes(64))], nic=spinet.parameters_of("pspin"))
summary = result.summary_as(HandlersSummary)
count: int = summary["packets"]["sent"] + summary["hpus"]["count"]
latency = summary["latency_ns"]
median: float | None = None if latency is None else latency["median"]
memory: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = result.host_view(0, 4)
first: spinet.SentPacket = result.sent[0]
reveal_type(summary["ended"]["reason"])
"""


def test_a_users_program_checks_strictly(tmp_path: Path) -> None:
    (tmp_path / "sample.py").write_text(SAMPLE)
    (tmp_path / "wrong.py").write_text(SAMPLE + 'print(summary["packets"]["snet"], result.digets)\n')
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--ignore-missing-imports",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    for name, code, said in (
        ("sample.py", 0, ['Revealed type is "str"']),
        ("wrong.py", 1, ['TypedDict "HandlersPackets" has no key "snet"', '"Result" has no attribute "digets"']),
    ):
        done = subprocess.run([*command, name], cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, [text for text in said if text not in done.stdout]) == (code, []), done.stdout
