# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest, which comes with spinet: the fixtures `handler` and `budget` (docs/guides/test-a-handler.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from spinet._budgets import Budget
    from spinet.handler import Handler

__all__ = ["budget", "handler"]

_MARKER = (
    "spinet(program, *, experiment, nic, set, match, message, handler, handler_memory, seed, defines, cc, check): "
    "the program of the fixture `handler`; paths are relative to the test's file"
)
# Keywords of spinet.Handler.
_KEYS = frozenset(
    (
        *("program", "experiment", "nic", "set", "match", "message", "handler", "handler_memory", "seed", "defines"),
        *("cc", "check"),
    )
)
_HANDLERS = pytest.StashKey[dict[str, Any]]()  # each a spinet.Handler
_BOOKS = pytest.StashKey[dict[Path, Any]]()  # each a spinet._budgets.Book


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add options, and keys of pytest.ini and pyproject.toml."""
    group = parser.getgroup("spinet", "spinet: handlers on simulated network cards")
    group.addoption("--update-budgets", action="store_true", help="write measured budgets into their files")
    group.addoption("--spinet-nic", metavar="CARD", help="run the fixture `handler` on this card")
    parser.addini("spinet_program", "sources of the fixture `handler`, relative to this file", type="paths")
    parser.addini("spinet_experiment", "an experiment file in place of spinet_program", type="paths")
    parser.addini("spinet_nic", "card of the fixture `handler`")
    parser.addini("spinet_set", "changes of the card's parameters, one a line", type="linelist")
    parser.addini("spinet_budgets", "file name of budgets, in the folder of each test file", default="budgets.toml")


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _MARKER)
    config.stash[_HANDLERS], config.stash[_BOOKS] = {}, {}
    if config.getoption("--update-budgets") and (
        hasattr(config, "workerinput") or config.getoption("numprocesses", None)
    ):
        raise pytest.UsageError("--update-budgets needs all tests in one process; leave -n away")


def _failure(error: Exception) -> str:
    """The text of an error of spinet, with its hint."""
    hint = getattr(error, "hint", "")
    return f"{error}\nhint: {hint}" if hint else str(error)


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The keywords of `spinet.Handler`: of the ini file, then of markers, the closest last."""
    config = request.config
    found: dict[str, Any] = {
        "program": list(config.getini("spinet_program")) or None,
        "experiment": next(iter(config.getini("spinet_experiment")), None),
        "nic": config.getini("spinet_nic") or None,
        "set": list(config.getini("spinet_set")),
    }
    for marker in reversed(list(request.node.iter_markers("spinet"))):
        given = dict(zip(("program",), marker.args, strict=False)) | marker.kwargs
        if len(marker.args) > 1 or set(given) - _KEYS:
            wrong = ", ".join(sorted(set(given) - _KEYS)) or "more than one value without a name"
            pytest.fail(f"the marker spinet has {wrong}; it is {_MARKER}", pytrace=False)
        if "program" in given or "experiment" in given:
            found = {**found, "program": None, "experiment": None}
        found.update({key: _placed(key, value, request.path.parent) for key, value in given.items()})
    if (nic := config.getoption("--spinet-nic")) is not None:
        found["nic"] = nic
    return {key: value for key, value in found.items() if value is not None and value != []}


def _placed(key: str, value: Any, folder: Path) -> Any:
    """A value of a marker, with paths that start at the folder of the test."""
    if key == "program":
        names = [value] if isinstance(value, str | Path) else value
        return [folder / name for name in names]
    is_path = key == "experiment" or (key == "nic" and str(value).endswith(".toml")) or key == "handler_memory"
    return folder / value if is_path and isinstance(value, str | Path) else value


@pytest.fixture
def handler(request: pytest.FixtureRequest) -> Iterator[Handler]:
    """A program on a simulated card, booted for each test: a `spinet.Handler`.

    The marker ``spinet`` names the program: ``pytestmark = pytest.mark.spinet("drop.c")`` for all tests of a file.
    """
    from spinet import BuildError, InputError
    from spinet.handler import Handler

    options = _options(request)
    if not {"program", "experiment"} & set(options):
        pytest.fail(
            'the fixture `handler` has no program\nhint: pytestmark = pytest.mark.spinet("NAME.c") in the file of the '
            "test, or spinet_program in pytest.ini",
            pytrace=False,
        )
    handlers, key = request.config.stash[_HANDLERS], repr(sorted(options.items()))
    try:
        if key not in handlers:
            handlers[key] = Handler(**options)
        handlers[key].reset()
    except (InputError, BuildError) as error:
        pytest.fail(_failure(error), pytrace=False)
    yield handlers[key]


@pytest.fixture
def budget(request: pytest.FixtureRequest) -> Callable[..., Budget]:
    """Budgets by name: ``assert out.cycles <= budget("drop")``. Without a name, the name of the test.

    They are in `budgets.toml` beside the test's file. ``pytest --update-budgets`` writes measured numbers.
    """
    from spinet import _budgets

    config, file = request.config, request.path.parent / str(request.config.getini("spinet_budgets"))
    book = config.stash[_BOOKS].setdefault(
        file, _budgets.Book(file=file, is_updating=bool(config.getoption("--update-budgets")))
    )
    return lambda name=None: _budgets.Budget(book, name or request.node.name, request.node.nodeid)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Explain comparisons of packets and budgets."""
    from spinet import _budgets, _packet_diff
    from spinet.handler import Packet, Packets, Verdict

    if isinstance(right, _budgets.Budget) and isinstance(left, int):
        return _budgets.explain(right, left)
    if op != "==":
        return None
    if isinstance(left, bytes) and isinstance(right, bytes) and Packet in (type(left), type(right)):
        return ["the packets differ", *_packet_diff.compare(left, right)]
    if isinstance(left, Verdict) and isinstance(right, str):
        return [f"{str(left)!r} == {right!r}", left.outcome]
    if isinstance(left, Packets) and isinstance(right, list) and all(isinstance(one, bytes) for one in right):
        lines = [f"packets differ: {len(left)} packets, expected {len(right)}"]
        for number, (found, expected) in enumerate(zip(left, right, strict=False)):
            lines += [f"packet {number}: {line}" for line in _packet_diff.compare(found, expected)]
        lines += [f"packet {number} is not expected: {left[number]!r}" for number in range(len(right), len(left))]
        lines += [f"packet {number} is missing: {Packet(right[number])!r}" for number in range(len(left), len(right))]
        return [*lines, left.outcome]
    return None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show a missing budget without a traceback, and forget the measurements of tests that fail."""
    result: Any = yield
    report = result.get_result()
    if report.failed:
        for book in item.config.stash[_BOOKS].values():
            book.forget(item.nodeid)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Write new budgets, and show what changed."""
    if not config.getoption("--update-budgets"):
        return
    terminalreporter.section("budgets")
    for file, book in sorted(config.stash[_BOOKS].items()):
        changes = book.write()
        terminalreporter.line(f"{file}: {len(changes)} changed" if changes else f"{file}: unchanged")
        for text in changes:
            terminalreporter.line(f"  {text}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """End all simulations."""
    for one in config.stash.get(_HANDLERS, {}).values():
        one.close()
