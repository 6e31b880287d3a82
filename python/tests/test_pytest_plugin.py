# SPDX-License-Identifier: Apache-2.0
"""The plugin of pytest: its fixtures in tests of a user, and the texts of failures."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import numpy as np  # before pytester, which forgets modules that its tests import, and NumPy is imported only once
import pytest
from spinet import Handler

pytest_plugins = ["pytester"]
assert np

DROP = """
#include <handler.h>
#include <spin_net.h>
#ifndef PORT
#define PORT 53
#endif

/* Send back what does not go to port 53. */
__handler__ void drop_ph(handler_args_t *args)
{
    task_t *task = args->task;
    spin_pkt_t pkt = spin_pkt(task->pkt_mem, task->pkt_mem_size);
    spin_headers_t headers = spin_parse(pkt);
    if (headers.udp == NULL || headers.udp->dst_port == spin_htons(PORT)) {
        return;
    }
    spin_ipv4_swap(headers.ipv4);
    spin_cmd_t sent;
    spin_send_packet(pkt.data, pkt.size, &sent);
}
"""

PACKETS = """
import struct

def packet(port, payload=b"abcd"):
    udp = struct.pack("!HHHH", 1000, port, 8 + len(payload), 0) + payload
    ip = struct.pack("!BBHHHBBH4B4B", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, 10, 0, 0, 1, 10, 0, 0, 2)
    return bytes.fromhex("020000000002 020000000001 0800") + ip + udp
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.path.joinpath("drop.c").write_text(DROP)
    pytester.makepyfile(packets=PACKETS)
    return pytester


def write(project: pytest.Pytester, body: str, *, mark: str = 'pytestmark = pytest.mark.spinet("drop.c")') -> None:
    project.makepyfile(test_drop=f"import pytest\nfrom packets import packet\n{mark}\n\n{body}")


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest("-p", "no:cacheprovider", *options)


def without_cycles(text: str) -> str:
    """Cycles of three digits follow the model of the card."""
    return re.sub(r"\b\d{3}\b|\+[\d.]+\b", "N", text)


def test_the_guide(pytester: pytest.Pytester) -> None:
    guide = Path(__file__).parents[2].joinpath("docs", "guides", "test-a-handler.md").read_text()
    (source,) = re.findall(r"```c\n(.*?)```", guide, flags=re.DOTALL)
    test, several, markers = re.findall(r"```python\n(.*?)```", guide, flags=re.DOTALL)
    several = several.replace("packet]", "MACS + IPV4 + OTHER]")
    more = f"\n\ndef test_several(handler):\n    {several}    assert out.cycles < 250 and out.verdict == 'sent'\n"
    pytester.path.joinpath("drop.c").write_text(source)
    pytester.path.joinpath("test_drop.py").write_text(test + more)
    run(pytester, "--update-budgets").assert_outcomes(passed=3)
    run(pytester).assert_outcomes(passed=3)
    assert set(re.findall(r"(\w+)=", markers)) <= set(inspect.signature(Handler).parameters)

    budgets = pytester.path / "budgets.toml"
    budgets.write_text("answer = 250\n")
    pytester.path.joinpath("test_drop.py").write_text(
        test.replace("[bytes.fromhex(SWAPPED", "[bytes.fromhex(MACS")
        + f"\n\n{test[test.index('def test_answer') :]}".replace("test_answer", "test_budget")
    )
    text = run(pytester).stdout.str().replace(str(budgets), "budgets.toml")
    for failure in re.findall(r"```text\n(.*?)```", guide, flags=re.DOTALL):
        assert without_cycles(failure) in without_cycles(text)


def test_outcomes_in_a_test(project: pytest.Pytester) -> None:
    write(
        project,
        """
def test_drop(handler):
    out = handler.process(packet(53))
    assert out.sent == []
    assert out.verdict == "consumed"

def test_answer(handler):
    out = handler.process(packet(7))
    assert out.sent[0][26:30] == bytes([10, 0, 0, 2])
    assert out.cycles <= 1000
""",
    )
    run(project, "--strict-markers", "--strict-config").assert_outcomes(passed=2)


def test_a_wrong_packet_is_shown_by_field(project: pytest.Pytester) -> None:
    write(
        project,
        """
def test_answer(handler):
    out = handler.process(packet(7))
    assert out.sent == [packet(7, b"abCd"), packet(8)]
""",
    )
    result = run(project)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "E       assert packets differ: 1 packets, expected 2",
            "E         packet 0: ipv4.src at byte 26: 10.0.0.2, expected 10.0.0.1",
            "E         packet 0: ipv4.dst at byte 30: 10.0.0.1, expected 10.0.0.2",
            "E         packet 0: udp.payload at byte 42: 0x61626364, expected 0x61624364",
            "E         packet 1 is missing: <46 B: 02 00 00 00 00 02 02 00*",
            "E         <Outcome: sent, * cycles, 1 sent>",
        ]
    )


def test_a_trap_is_in_the_text_of_the_failure(project: pytest.Pytester) -> None:
    project.path.joinpath("drop.c").write_text(
        DROP.replace("    spin_ipv4_swap(headers.ipv4);", "    *(volatile int *)0x10 = 1;")
    )
    write(
        project,
        """
def test_verdict(handler):
    assert handler.process(packet(7)).verdict == "sent"

def test_sent(handler):
    assert handler.process(packet(7)).sent == [packet(7)]
""",
    )
    result = run(project)
    result.assert_outcomes(failed=2)
    outcome = (
        "E         <Outcome: trapped, * cycles, store access fault, address 0x00000010, in drop_ph+* at drop.c:17>"
    )
    result.stdout.fnmatch_lines(
        [
            "E       AssertionError: assert 'trapped' == 'sent'",
            outcome,
            "E       assert packets differ: 0 packets, expected 1",
            "E         packet 0 is missing: <46 B: *",
            outcome,
        ]
    )


def test_each_test_boots_the_card_and_the_program_is_built_once(project: pytest.Pytester) -> None:
    write(
        project,
        """
seen = []

@pytest.mark.parametrize("n", range(3))
def test_digest(handler, n):
    seen.append((handler.process(packet(7)).visits, id(handler)))
    assert len(set(seen)) == 1
""",
    )
    run(project).assert_outcomes(passed=3)


def test_a_budget_holds_fails_and_is_renewed(project: pytest.Pytester) -> None:
    write(
        project,
        """
def test_cost(handler, budget):
    out = handler.process(packet(7))
    assert out.cycles <= budget("answer")
    assert out.instructions < budget()
""",
    )
    file = project.path / "budgets.toml"
    missing = run(project)
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(
        ["*budgets.toml has no budget 'answer'; measured: *", "*hint: `pytest --update-budgets` writes it*"]
    )
    assert not file.exists()

    written = run(project, "--update-budgets")
    written.assert_outcomes(passed=1)
    written.stdout.fnmatch_lines([f"{file}: 2 changed", "  answer: new, *", "  test_cost: new, *"])
    lines = file.read_text().splitlines()
    assert lines[0].startswith("# Budgets of the tests in this folder.")
    values = dict(line.split(" = ") for line in lines[1:])
    assert set(values) == {"answer", "test_cost"}

    file.write_text(f"# mine\nanswer = {values['answer']}  # measured\ntest_cost = {int(values['test_cost']) + 1}\n")
    run(project).assert_outcomes(passed=1)

    cycles = int(values["answer"])
    file.write_text(f"# mine\nanswer = 100  # goal\nother = 7\ntest_cost = {int(values['test_cost']) + 1}\n")
    failed = run(project)
    failed.assert_outcomes(failed=1)
    percent = f"{cycles - 100:+}, {cycles - 100:+.1f} %"
    failed.stdout.fnmatch_lines(
        [
            f"E       assert {cycles} exceeds the budget answer: 100 -> {cycles} ({percent})",
            f"E         {file}:",
            "E         - answer = 100",
            f"E         + answer = {cycles}",
            "E         hint: `pytest --update-budgets` accepts it",
        ]
    )
    renewed = run(project, "--update-budgets")
    renewed.stdout.fnmatch_lines([f"  answer: 100 -> {cycles} ({percent})"])
    text = file.read_text()
    assert text == f"# mine\nanswer = {cycles}  # goal\nother = 7\ntest_cost = {values['test_cost']}\n"
    run(project, "--update-budgets").stdout.fnmatch_lines([f"{file}: unchanged"])
    assert file.read_text() == text


def test_a_test_that_fails_changes_no_budget(project: pytest.Pytester) -> None:
    write(
        project,
        """
def test_cost(handler, budget):
    assert handler.process(packet(7)).cycles <= budget("answer")
    assert False
""",
    )
    run(project, "--update-budgets").assert_outcomes(failed=1)
    assert not (project.path / "budgets.toml").exists()


def test_a_wrong_file_of_budgets_is_an_error(project: pytest.Pytester) -> None:
    write(project, "def test_cost(budget):\n    assert 1 <= budget('answer')\n")
    file = project.path / "budgets.toml"
    for text, error in (
        ("answer = 'many'", "*budgets.toml: answer is 'many', must be a whole number of 0 or more*"),
        ("answer = ", "*budgets.toml: Invalid value (at end of document)*"),
    ):
        file.write_text(text)
        run(project).stdout.fnmatch_lines([error])
        run(project, "--update-budgets")
        assert file.read_text() == text, "a file that cannot be read is not overwritten"


def test_the_ini_file_and_the_command_name_program_and_card(project: pytest.Pytester) -> None:
    project.path.joinpath("tests").mkdir()
    project.path.joinpath("tests", "test_drop.py").write_text(
        "def test_nic(handler):\n    print('nic', handler.nic)\n    assert handler.process(bytes(60)).verdict\n"
    )
    project.makeini("[pytest]\nspinet_program = drop.c\nspinet_nic = pspin-rtl\nspinet_set =\n    n_clusters=1\n")
    run(project, "-s").stdout.fnmatch_lines(["*nic pspin-rtl*", "*1 passed*"])
    run(project, "-s", "--spinet-nic", "pspin").stdout.fnmatch_lines(["*nic pspin*", "*1 passed*"])
    project.path.joinpath("pytest.ini").unlink(missing_ok=True)
    project.path.joinpath("tox.ini").unlink(missing_ok=True)
    project.makepyprojecttoml('[tool.pytest.ini_options]\nspinet_program = ["drop.c"]\nspinet_set = ["n_clusters=2"]\n')
    run(project, "-s").stdout.fnmatch_lines(["*nic pspin*", "*1 passed*"])


def test_a_closer_marker_replaces_a_farther_one(project: pytest.Pytester) -> None:
    project.path.joinpath("e.toml").write_text(
        'program = "drop.c"\nnic = "pspin-rtl"\ntraffic = "udp:count=1"\n[[context]]\nmatch = "tcp"\n'
    )
    write(
        project,
        """
@pytest.mark.spinet(nic="pspin-rtl")
def test_nic(handler):
    assert handler.nic == "pspin-rtl" and handler.process(packet(53)).verdict == "consumed"

@pytest.mark.spinet(experiment="e.toml")
def test_experiment(handler):
    assert handler.nic == "pspin-rtl" and handler.process(packet(53)).verdict == "ordinary"

def test_module(handler):
    assert handler.nic == "pspin"

@pytest.mark.spinet(defines={"PORT": 7})
def test_defines(handler):
    assert handler.process(packet(7)).verdict == "consumed"
""",
    )
    run(project).assert_outcomes(passed=4)


@pytest.mark.parametrize(
    ("mark", "texts"),
    [
        ("", ["*the fixture `handler` has no program*", "*hint: pytestmark = pytest.mark.spinet(*"]),
        ('pytestmark = pytest.mark.spinet("absent.c")', ["*absent.c: No such file*"]),
        (
            'pytestmark = pytest.mark.spinet("drop.c", speed=1)',
            ["*the marker spinet has speed; it is spinet(program,*"],
        ),
        (
            'pytestmark = pytest.mark.spinet("drop.c", nic="tigon2")',
            ["*tigon2 runs firmware,*", "*hint: test it with spinet.run*"],
        ),
        ('pytestmark = pytest.mark.spinet("packets.py")', ["*packets.py*"]),
    ],
)
def test_a_wrong_marker_is_an_error_without_traceback(project: pytest.Pytester, mark: str, texts: list[str]) -> None:
    write(project, "def test_it(handler):\n    pass\n", mark=mark)
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(texts)
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")


def test_what_the_compiler_says_is_shown(project: pytest.Pytester) -> None:
    project.path.joinpath("drop.c").write_text(
        "#include <handler.h>\n__handler__ void drop_ph(handler_args_t *args) { x = 1; }\n"
    )
    write(project, "def test_it(handler):\n    pass\n")
    result = run(project)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*drop.c does not compile*", "*drop.c:2:*undeclared*"])


def test_the_options_are_in_the_help(pytester: pytest.Pytester) -> None:
    pytester.runpytest("--help").stdout.fnmatch_lines(
        ["*--update-budgets*", "*--spinet-nic=CARD*", "*spinet_program (paths):*"]
    )
    pytester.runpytest("--fixtures").stdout.fnmatch_lines(["budget -- *", "handler -- *"])
    pytester.runpytest("--markers").stdout.fnmatch_lines(["@pytest.mark.spinet(program,*"])


def test_spinet_itself_needs_no_pytest(pytester: pytest.Pytester) -> None:
    code = "import sys, spinet; spinet.Handler; assert 'pytest' not in sys.modules"
    assert pytester.run(sys.executable, "-c", code).ret == 0
    text = Path(__file__).parents[2].joinpath("pyproject.toml").read_text()
    dependencies = text.partition("dependencies = [")[2].partition("]\n")[0]
    assert "pytest" not in dependencies
