# SPDX-License-Identifier: Apache-2.0
"""Output of the command without errors, and completion of shells."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import spinet
import spinet.cli
from spinet import _core, wiring
from spinet.cli import parameters, run_report

SUMMARY = """\
ping_pong.c on pspin: all packets are done, TIME of simulated time (N cycles)

Packets                                    count  bytes
in                                            18  1,942
matched                                        9    928
not matched, to the host the ordinary way      9  1,014
sent by handlers                               9    928
to the host by handlers, in beats of 64 B      0      0

Fate of matched packets                      packets
sent                                               9
to the host                                        0
consumed (handled; nothing sent or written)        0
dropped by the card                                0
"""


def test_a_summary_begins_with_what_came_of_the_packets(capfd: pytest.CaptureFixture[str]) -> None:
    command = ["run", "sdk/examples/ping_pong.c", "--traffic", "captures/dns.pcap", "--match", "udp.dst_port == 53"]
    assert spinet.cli.main(command) == 0
    first, _, rest = capfd.readouterr().out.partition("\n")
    assert first.startswith("ping_pong.c on pspin: all packets are done, ")
    assert rest.startswith(SUMMARY.partition("\n")[2])
    for heading in ("Throughput", "Latency", "HPUs", "Where the time goes", "Handler", "Digest"):
        assert f"\n{heading}" in rest, heading


def test_tables_fit_80_columns_and_cut_no_number(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    summary = json.loads(json.dumps(spinet.run(program="sdk/examples/ping_pong.c", traffic="udp:count=4").summary))
    many = {"mean": 123456.7, "min": 98765, "max": 1234567, "total": 0}
    name = "a_handler_with_a_name_that_nobody_wants_to_type_twice_ph"
    summary["handlers"] = [
        {
            "context": "a",
            "stage": "completion",
            "symbol": name,
            "runs": 10_000_000,
            "instructions": many,
            "cycles": many,
        }
    ]
    summary["contexts"] = [
        {
            **summary["contexts"][0],
            "match": "udp.dst_port == 9999 && ipv4.src in 10.0.0.0/8 && ipv6.dst == 2001:db8::1",
            "message": "by ipv4.src, ipv4.dst, udp.src_port until tcp.flags.fin",
            "packets": 123_456_789,
            "messages": 23_456_789,
        }
    ]
    run_report.print_summary(summary, title="many.c")
    # The first line is a sentence, which the terminal breaks.
    lines = capsys.readouterr().out.splitlines()[1:]
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    numbers = {word for line in lines for word in line.split()}
    assert numbers >= {"10,000,000", "123,456.7", "98,765", "1,234,567", "123,456,789", "23,456,789"}


@pytest.mark.parametrize("width", [40, 50, 60, 72])
def test_bars_make_room_for_words(
    width: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    summary = spinet.run(program="sdk/examples/ping_pong.c", traffic="udp:count=40").summary
    run_report.print_summary(summary, title="narrow.c")
    times = capsys.readouterr().out.partition("Where the time goes")[2].partition("\n\n")[0].splitlines()
    assert max(map(len, times)) <= width
    assert any(line.startswith("in its message's queue ") for line in times), times
    assert max(line.count("█") for line in times) == {40: 0, 50: 8, 60: 18, 72: 30}[width]


def test_with_several_contexts_each_row_says_whose_it_is(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = Path("sdk/examples/empty.c").absolute()
    experiment = tmp_path / "three.toml"
    experiment.write_text(
        f'''program = "{program}"
traffic = "udp:count=6,flows=2"
[[context]]
name = "odd"
match = "udp.src_port == 10001"
message = "by ipv6.src last"
[[context]]
name = "rest"
[[context]]
name = "late"
'''
    )
    assert spinet.cli.main(["run", str(experiment)]) == 0
    said = capfd.readouterr().out
    rows = [line.split()[:4] for line in said.partition("\nContext  handler")[2].splitlines()]
    assert rows[1:4] == [
        [name, "empty_ph", "payload", runs] for name, runs in (("odd", "3"), ("rest", "3"), ("late", "0"))
    ]
    assert "! Context late: contexts before it took all 6 packets\n" in said
    assert "Packets without the fields of the message definition, each a message of its own: 3\n" in said


@pytest.mark.parametrize("arguments", ["--help", "--version", "nic show pspin", "run --help"])
def test_a_reader_that_goes_away_is_no_error(arguments: str) -> None:
    command = [sys.executable, "-m", "spinet.cli", *arguments.split()]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ})
    assert writer.stdout is not None and writer.stderr is not None
    writer.stdout.close()
    assert (writer.stderr.read(), writer.wait()) == (b"", 141)
    writer.stderr.close()


def test_match_shows_the_first_packets(capfd: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["match", "udp.dst_port == 53", "captures/dns.pcap", "--limit", "2"]) == 0
    assert capfd.readouterr().out == (
        "9 of 18 packets match, 928 of 1,942 bytes\n"
        "        1         0.000000000 s     94 bytes  10.0.0.1:40806 > 10.0.0.2:53 udp\n"
        "        3         0.018988863 s     94 bytes  10.0.0.1:56279 > 10.0.0.2:53 udp\n"
    )


def test_match_takes_expressions_longer_than_any_file_name(capfd: pytest.CaptureFixture[str]) -> None:
    expression = " || ".join(f"udp.dst_port == {port}" for port in range(53, 353))
    assert spinet.cli.main(["match", expression, "captures/dns.pcap", "--limit", "0"]) == 0
    assert capfd.readouterr().out.startswith("9 of 18 packets match")


def test_what_nic_show_prints_is_a_card(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert spinet.cli.main(["nic", "show", "pspin"]) == 0
    card = tmp_path / "card.toml"
    card.write_text(capfd.readouterr().out)
    runs = [
        spinet.run(program="sdk/examples/empty.c", traffic="udp:count=3", nic=name) for name in ("pspin", str(card))
    ]
    assert runs[0].digest == runs[1].digest
    assert spinet.cli.main(["nic", "list", "--json"]) == 0
    known = [nic["name"] for nic in json.loads(capfd.readouterr().out)]
    assert known[:4] == ["pspin", "fpspin", "pspin-paper", "pspin-rtl"]
    assert known[4:6] == ["panic", "panic-rtl"]
    assert {"panic-asic", "pipeline", "manycore", "rmt", "tengig", "tengig-events", "tigon2", "tigon2-cached"} == set(
        known[6:]
    )


def test_a_schema_knows_every_key_of_every_card(capfd: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["schema", "nic"]) == 0
    schema = json.loads(capfd.readouterr().out)

    def unlike(table: dict[str, object], kind: dict[str, Any]) -> set[str]:
        """Keys that only one of the two has."""
        found = set(table) ^ set(kind["properties"])
        for key in set(table) & set(kind["properties"]):
            inner = schema["$defs"].get(kind["properties"][key].get("$ref", "").rpartition("/")[2], {})
            value = table[key]
            if isinstance(value, dict):
                found |= {f"{key}.{name}" for name in unlike(value, inner)}
        return found

    for nic in (nic for nic in spinet.nics() if nic.name.startswith("pspin")):
        assert unlike(tomllib.loads(spinet.nic(nic.name)), schema) == set(), nic.name
    assert schema["additionalProperties"] is False


def test_parameters_have_types() -> None:
    card = spinet.parameters_of("pspin", set=["cluster.n_cores=4"])
    assert (card.cluster.n_cores, card.pcie.model, card.iommu.enabled, card.pcie.link.lanes) == (4, "tlp", True, 16)
    with pytest.raises(spinet.InputError, match="must be 1 to 16"):
        spinet.parameters_of("pspin", set=["n_clusters=17"])


def test_doctor_finds_everything_that_tests_need(capfd: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["doctor", "--json"]) == 0
    found = {finding["what"]: finding["state"] for finding in json.loads(capfd.readouterr().out)}
    assert found.items() >= {"simulator": "ok", "compiler": "ok", "sdk": "ok", "python": "ok"}.items()


def test_doctor_says_which_compiler_does_not_work(capfd: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["doctor", "--cc", "no-such-compiler"]) == 1
    assert "missing   compiler      no compiler 'no-such-compiler'" in capfd.readouterr().out


def test_version_is_that_of_the_simulator(capfd: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["--version"]) == 0
    assert capfd.readouterr().out == f"spinet {spinet.__version__}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(shell: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert spinet.cli.main(["completion", shell]) == 0
    assert "_SPINET_COMPLETE" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("spinet ma", ["match"]),
        ("spinet run --lim", ["--limit"]),
        ("spinet nic show ps", ["pspin", "pspin-paper", "pspin-rtl"]),
        ("spinet completion z", ["zsh"]),
        (
            "spinet run a.c --set cluster.ic",
            [f"cluster.icache.{what}" for what in ("bytes=4096", "ways=4", "miss_cycles=8")],
        ),
        ("spinet nic show panic --set service.aes.un", ["service.aes.units=2"]),
        ("spinet nic check tigon2 --set clocks.mem", ["clocks.memory=100 MHz"]),
        ("spinet run a.c --nic nothing.toml --set clu", [""]),
    ],
)
def test_shells_complete(words: str, completed: list[str]) -> None:
    asked = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_SPINET_COMPLETE": "bash_complete"}
    # With this variable set, the command answers the shell and does nothing else.
    program = "import sys; from spinet.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == completed


# In bash, the answer replaces what follows the last `=`; in other shells, the whole word.
AFTER_EQUALS = [
    ("spinet run --nic=many", ["manycore"], ["--nic=manycore"]),
    ("spinet run --set=cluster.n_co", ["cluster.n_cores=8"], ["--set=cluster.n_cores=8"]),
    ("spinet run --set cluster.n_cores=", ["8"], ["cluster.n_cores=8"]),
    ("spinet run --set=cluster.n_cores=", ["8"], ["--set=cluster.n_cores=8"]),
    ("spinet run --nic=panic --set service.aes.un", ["service.aes.units=2"], ["service.aes.units=2"]),
]


@pytest.mark.parametrize(("line", "in_bash", "in_zsh"), AFTER_EQUALS)
def test_words_with_an_equals_sign_complete(line: str, in_bash: list[str], in_zsh: list[str], tmp_path: Path) -> None:
    words = [part for word in line.split(" ") for part in re.split("(=)", word) if part]
    script = f"""
        eval "$(spinet completion bash)"
        COMP_LINE='{line}' COMP_POINT={len(line)} COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1}
        _spinet_completion spinet
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    path = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env={**os.environ, **path}, capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout.splitlines() == in_bash
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" ")), "_SPINET_COMPLETE": "zsh_complete"}
    program = "from spinet.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[1::3] == in_zsh


@pytest.mark.parametrize("nic", [name for name, _ in _core.nic_list()])
def test_every_setting_that_is_offered_is_one(nic: str) -> None:
    for path, value in parameters.settings(nic):
        setting = f"{path}={json.dumps(value)}"
        # A number replaces the expression that used a parameter of the card, so nothing uses that parameter any more.
        refused = pytest.raises(_core.InputError, match="nothing uses the parameter")
        with refused if (nic, path) == ("tengig", "control_memory.banks") else contextlib.nullcontext():
            wiring.design(nic, set=[setting]) if _core.kind_of_nic(nic) == "modules" else _core.nic_show(
                nic, [setting], "."
            )


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0.0, "0.0 ns"),
        (7.64, "7.6 ns"),
        (150.0, "150 ns"),
        (1463.0, "1.46 us"),
        (6348822.0, "6.35 ms"),
        (2e9, "2.00 s"),
    ],
)
def test_times_are_in_the_unit_that_suits_them(nanoseconds: float, text: str) -> None:
    assert run_report.duration(nanoseconds) == text


def test_a_bar_shows_what_is_not_nothing() -> None:
    assert [run_report.bar(fraction, 32) for fraction in (0.0, 0.0001, 0.5, 1.0)] == ["", "▏", "█" * 16, "█" * 32]


def test_a_limit_at_which_nothing_is_under_way_is_no_failure(capfd: pytest.CaptureFixture[str]) -> None:
    run = ["run", "sdk/examples/empty.c", "--traffic", "udp:size=64,count=1000,rate=1Mpps", "--limit", "10 us"]
    assert spinet.cli.main(run) == 0
    said = capfd.readouterr()
    assert said.out.startswith("empty.c on pspin: the limit of 10 us is reached; no packet is unfinished, ")
    assert said.err == ""


def test_a_program_for_a_card_is_sent_there(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = str(tmp_path / "empty.elf")
    assert spinet.cli.main(["build", "sdk/examples/empty.c", "-o", program]) == 0
    capfd.readouterr()
    assert spinet.cli.main(["exec", program]) == 1
    said = capfd.readouterr()
    assert said.out.startswith(
        "stopped: store access fault of 0x1b204008 at _start+0x8, and nothing there to handle it"
    )
    assert said.err == f"hint: this is a program for a card: spinet run {program} --traffic ...\n"


def test_a_handler_cannot_steer_the_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    from spinet.cli import run_command

    run_command.print_console(1500, 2, 3, "\x1b[2Jcleared\x07\r\n\tna\u00efve \u202e\x9b31m\n")
    assert capfd.readouterr().err == (
        "[2 ns, cluster 2 core 3] \\x1b[2Jcleared\\x07\\r\n[2 ns, cluster 2 core 3] \tna\u00efve \\u202e\\x9b31m\n"
    )


def test_output_of_a_program_is_raw_in_a_file_and_escaped_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from spinet.cli import parameters

    for is_terminal, shown in ((False, "\x1b[31mred\n"), (True, "\\x1b[31mred\n")):
        target = io.StringIO()
        monkeypatch.setattr(target, "isatty", lambda answer=is_terminal: answer)
        monkeypatch.setattr(sys, "stdout", target)
        parameters.print_output("\x1b[31mred")
        monkeypatch.undo()
        assert target.getvalue() == shown
