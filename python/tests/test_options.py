# SPDX-License-Identifier: Apache-2.0
"""Options of `spinet run`: declared once, with the kinds of card that have them."""

from __future__ import annotations

import inspect
import shlex
from pathlib import Path

import pytest
import spinet
import spinet.cli
from spinet._kinds import get, who
from spinet._options import ALL, HANDLERS, MODULES, OPTIONS

from world import make

VALUES = {"address": ["0x4000"], "positive": ["1"], "unsigned": ["1"], "flag": [], "text": ["x"], "folder": ["x"]}
FOREIGN = [(name, kind) for name, option in OPTIONS.items() if option.flags for kind in ALL if kind not in option.kinds]


@pytest.mark.parametrize(("name", "kind"), FOREIGN)
def test_an_option_that_a_card_does_not_have_names_the_kinds_that_have_it(
    name: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    option = OPTIONS[name]
    needed = {"trace_instructions": ["-o", "out"], "trace_cores": ["-o", "out", "--trace-instructions"]}
    needed["trace_time"] = needed["trace_cores"]
    monkeypatch.chdir(tmp_path)
    card = ["--nic", get(kind).example]
    if not get(kind).example:  # networks, which only files describe
        (tmp_path / "net.toml").write_text("topology = { name = 'pair' }\n")
        card = ["net.toml"]
    line = ["run", *card, *needed.get(name, []), option.name, *VALUES[option.value]]
    assert spinet.cli.main(line) == 2
    error = capsys.readouterr().err
    first = option.name.lstrip("-").partition("-")[
        0
    ]  # --trace-cores needs --trace-instructions, which is refused first
    assert f"--{first}" in error and f" is for {who(option.kinds)}; {card[-1]} " in error


def test_the_help_page_lists_options_by_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["run", "--help"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    lists = page[page.index("Options: ") :].split("Options for ")
    for name, option in OPTIONS.items():
        if option.flags:
            start = "Options: " if option.kinds == ALL else f"{who(option.kinds)}: "
            (own,) = (each for each in lists if each.startswith(start))
            assert f"{option.name} " in own, name


def test_every_option_is_a_keyword_or_belongs_to_the_command_alone() -> None:
    of_the_command = {"output", "out", "force", "report", "strict", "trace_instructions", "trace_cores", "trace_time"}
    keywords = set(inspect.signature(spinet.run).parameters)
    assert set(OPTIONS) - keywords == of_the_command
    assert keywords - set(OPTIONS) == {"experiment", "keep_packets", "folder", "on_progress", "on_rows"}


def test_python_errors_name_keywords() -> None:
    with pytest.raises(spinet.InputError, match=r"^handler_memory is for cards that run handlers"):
        spinet.run(nic=get(MODULES).example, handler_memory="x")
    with pytest.raises(spinet.InputError, match=r"^chains is for cards that run chains"):
        spinet.run(nic=get(HANDLERS).example, chains="all: aes")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("good.c -t dns.pcap --pace fast", "--pace is `fast`, must be"),
        ("good.c -t dns.pcap --limit soon", "--limit: `soon` is not a time"),
        ("good.c -t dns.pcap --fault lozz=1", "--fault: fault `lozz=1`, must be"),
        ("good.c -t dns.pcap --set n_clutsers=2", "--set: there is no `n_clutsers`"),
        ("good.c -t dns.pcap --match udp.x", "--match: unknown name"),
        ("good.c -t dns.pcap --handler nope", "--handler is `nope`"),
        ("--chain 'all: aess' -t udp:count=1", "--chain 'all: aess': unknown service `aess`"),
        ("--chain 'all: aes' --service 'aes: units=x' -t udp:count=1", "--service: `aes: units=x`: units is `x`"),
        ("--chain 'all: aes' --policy foo -t udp:count=1", "--policy: there is no policy `foo`"),
        ("--chain 'all: aes' --send 99=udp:count=3", "--send: queue is 99"),
        ("--nic tigon2 -t udp:size=7,count=1", "--traffic: size is 7"),
        ("--nic tigon2 -t datagrams:bytes=18:1472", "now written `udp:payload=numbered,size=list:60:1514`"),
        ("--nic tigon2 --set foo.x=1", "--set: line 1: the card has no instance `foo`"),
        ("good.toml --limit soon", "--limit: `soon` is not a time"),
        ("good.toml --set n_clutsers=2", "--set: there is no `n_clutsers`"),
        ("good.toml --match udp", "--match belongs into good.toml"),
        ("bad_match.toml --limit '1 ms'", "bad_match.toml: line 4: context[0].match: unknown name"),
    ],
)
def test_errors_of_values_name_the_option(
    line: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert spinet.cli.main(["run", *shlex.split(line)]) == 2
    assert error in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("compare good.c -t udp:count=4 --no-plot --nic pspin --limit soon", "pspin: --limit: `soon` is not a time"),
        ("compare good.c -t udp:count=4 --no-plot --nic pspin --set pspin:n_clutsers=3", "pspin: --set: there is no"),
        ("native good.c -t upd:count=4", "--traffic: unknown generator `upd`"),
        ("nic show pspin --set foo=1", "--set: there is no `foo`"),
        ("nic check tigon2 --set foo.x=1", "--set: line 1: the card has no instance"),
    ],
)
def test_errors_of_other_commands_name_the_option(
    line: str, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert spinet.cli.main(shlex.split(line)) == 2
    assert error in capsys.readouterr().err
