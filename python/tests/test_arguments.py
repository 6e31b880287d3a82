# SPDX-License-Identifier: Apache-2.0
"""Values that cannot be right: Python functions name the keyword and the value, before anything is built or run."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet import cli, firmware, native
from spinet._core import InputError, SpinetError

PING = "sdk/examples/ping_pong.c"

BAD: list[tuple[str, Any, str]] = [
    ("set", "", "set: ``, must be path=value such as cluster.n_cores=4"),
    ("set", 0, "set is 0, must be texts such as 'cluster.n_cores=4', or a mapping"),
    ("nic", "", "nic is '', must be the name of a card"),
    ("nic", "a\0b", r"nic is 'a\x00b', must be the name of a card"),
    ("cc", 3, "cc is 3, must be a text"),
    ("cc", 0, "cc is 0, must be a text"),
    ("cc", "", "no compiler '' in the search path"),
    ("defines", "", "defines is '', must be a mapping from names of macros to texts or numbers"),
    ("defines", {"A B": 1}, "defines is {'A B': 1}, must be a mapping from names of macros to texts or numbers"),
    ("defines", {"A": None}, "defines is {'A': None}, must be a mapping from names of macros to texts or numbers"),
    ("limit", 10, "limit is 10, must be a text"),
    ("seed", True, "seed is True, must be a whole number from 0 to 18446744073709551615"),
    ("profile", "no", "profile is 'no', must be True or False"),
    ("paths", 2, "paths is 2, must be True or False"),
    ("check", "", "check is '', must be True or False"),
    ("capture_drops", [], "capture_drops is [], must be True or False"),
    ("keep_packets", None, "keep_packets is None, must be True or False"),
    ("folder", 3, "folder is 3, must be a path"),
    ("folder", "", "folder is '', must be a path"),
    ("timeline", "\ud800", r"timeline is '\ud800', must be a path"),
    ("timeline_only", 3, "timeline_only is 3, must be a text, or a list of them"),
    ("policies", [3], "policies is [3], must be a mapping with names"),
    ("policies", {3: 4}, "policies is {3: 4}, must be a mapping with names"),
    ("on_progress", "x" * 200, f"on_progress is '{'x' * 96}..., must be a function"),
    ("experiment", 3, "experiment is 3, must be a path or a mapping"),
    ("faults", b"x", "faults is b'x', must be a text or a mapping"),
    ("load", [], "load is [], must be an address"),
]


@pytest.mark.parametrize(("keyword", "value", "text"), BAD, ids=[f"{name}={value!r:.20}" for name, value, _ in BAD])
def test_run_names_a_keyword_that_cannot_be_right(keyword: str, value: Any, text: str, tmp_path: Path) -> None:
    keywords: dict[str, Any] = {"program": PING, "traffic": "udp:count=1", keyword: value}
    with pytest.raises(SpinetError) as refused:
        spinet.run(**keywords)
    assert str(refused.value) == text


@pytest.mark.parametrize(
    ("keyword", "value", "text"),
    [
        ("sources", 3, "sources is 3, must be a path, or a list of them"),
        ("sources", None, "sources is None, must be a path, or a list of them"),
        ("sources", [PING, None], f"sources is ['{PING}', None], must be a path, or a list of them"),
        ("defines", ["A=1"], "defines is ['A=1'], must be a mapping from names of macros to texts or numbers"),
        ("cc", False, "cc is False, must be a text"),
        ("cache", 3, "cache is 3, must be a path"),
        ("out", [], "out is [], must be a path"),
        ("opt", 3, "opt is 3, must be a text"),
        ("flags", "-O2", "flags is '-O2', must be a list of texts"),
        ("debug", "yes", "debug is 'yes', must be True or False"),
        ("place", 3, "place is 3, must be what place_after returns"),
        ("target", None, "target is None, must be one of pspin, panic"),
        ("handler", "ping_pong", "handler is 'ping_pong', but the target is pspin"),
    ],
)
def test_build_names_a_keyword_that_cannot_be_right(keyword: str, value: Any, text: str) -> None:
    keywords: dict[str, Any] = {"sources": PING, keyword: value}
    with pytest.raises(SpinetError) as refused:
        spinet.build(**keywords)
    assert str(refused.value) == text


def test_other_functions_name_their_keywords() -> None:
    from typing import cast

    wrong = cast(Any, 3)
    with pytest.raises(InputError, match=r"^cc is 3, must be a text"):
        firmware.build("tigon2", cc=wrong)
    with pytest.raises(InputError, match=r"^flags is 'x', must be a list of texts"):
        firmware.build("tigon2", flags="x")
    with pytest.raises(InputError, match=r"^cc is 3, must be a text"):
        native.run(program=PING, traffic="udp:count=1", cc=wrong)
    with pytest.raises(InputError, match=r"^cc is 3, must be a text"):
        spinet.Handler(PING, cc=wrong)
    with pytest.raises(InputError, match=r"^nic is '', must be the name of a card"):
        spinet.Machine(nic="")
    with pytest.raises(InputError, match=r"^profile is 3, must be True or False"):
        spinet.Network(topology="pair").run(profile=wrong)
    with pytest.raises(InputError, match=r"^defines is 3, must be a mapping"):
        spinet.compare(program=PING, traffic="udp:count=1", defines=wrong)


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        ({"topology": 3}, "topology is 3, must be a text or a mapping"),
        ({"topology": "pair", "link": 3}, "link is 3, must be a mapping"),
        ({"topology": "pair", "nic": ""}, "nic is '', must be the name of a card"),
        ({"topology": "pair", "base_dir": 3}, "base_dir is 3, must be a path"),
    ],
)
def test_a_network_names_its_keywords(keywords: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError) as refused:
        spinet.Network(**keywords)
    assert str(refused.value) == text


def test_methods_of_networks_name_their_arguments() -> None:
    from typing import cast

    wrong = cast(Any, 3)
    with pytest.raises(InputError, match=r"^values is 3, must be a mapping"):
        spinet.Network(wrong)
    with pytest.raises(InputError, match=r"^path is 3, must be a path"):
        spinet.Network.load(wrong)
    with pytest.raises(InputError, match=r"^the text is 3, must be a text with TOML"):
        spinet.Network.from_toml(wrong)
    with pytest.raises(InputError, match=r"^hook is 3, must be a function"):
        spinet.Network(topology="pair").on("dropped", wrong)


def test_paths_can_be_texts(tmp_path: Path) -> None:
    built = spinet.build(PING, cache=str(tmp_path / "cache"), out=str(tmp_path / "ping.elf"))
    assert built.elf == tmp_path / "ping.elf" and built.elf.is_file() and (tmp_path / "cache/builds").is_dir()


def test_a_card_without_a_name_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", PING, "-t", "udp:count=1", "--nic", ""]) == 2
    assert capfd.readouterr().err.startswith("error: --nic: it is empty, must be the name of a card\n")


def test_match_reads_a_capture_from_stdin(capfd: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["match", "udp", "captures/dns.pcap"]) == 0
    expected = capfd.readouterr().out
    command = ["spinet", "match", "udp", "-"]
    content = Path("captures/dns.pcap").read_bytes()
    done = subprocess.run(command, input=content, capture_output=True, check=True)
    assert done.stdout.decode() == expected
    broken = subprocess.run(command, input=b"no capture", capture_output=True, check=False)
    assert broken.returncode == 2
    assert broken.stderr == b"error: stdin: offset 0: found 6e 6f 20 63, must be a pcap or pcapng capture\n"
