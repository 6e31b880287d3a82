# SPDX-License-Identifier: Apache-2.0
"""Host programs, written as Python generators.

A program is a function that takes its host and yields the events for which it waits:

>>> def ping(host):
...     host.put("n1", b"ping", tag=1)
...     answer = yield host.receive(tag=2)
...     yield host.compute("2 us")
>>> def pong(host):
...     message = yield host.receive(tag=1)
...     host.put(message.sender, message.data.upper(), tag=2)
>>> import spinet
>>> net = spinet.Network(topology="pair")
>>> net[0].host.program, net[1].host.program = ping, pong
>>> net.run().ended
'complete'
"""

from __future__ import annotations

import difflib
import inspect
import itertools
import sys
import traceback
import types
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from spinet import _core
from spinet._core import UsageError

__all__ = ["HostProgramError", "Message", "RunningHost", "Wait"]

_HEADER_BYTES = 14  # of Ethernet

Program = Callable[["RunningHost"], Generator[Any, Any, object] | None]


class HostProgramError(UsageError):
    """A host's program raised an exception; `__cause__` has it."""


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message that a host received, or memory that it read from a peer."""

    sender: str  # name of the node
    tag: int
    size: int
    data: bytes  # `size` bytes
    first_ps: int  # arrival of its first bit
    last_ps: int  # arrival of its last bit


class Wait:
    """An event: a program that yields this object waits for it. Once `is_done` is true, `value` is the result."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.is_done = False
        self.value: Any = None

    def __repr__(self) -> str:
        """The text of the event, and ``done`` if it has happened."""
        return f"<Wait for {self.what}{', done' if self.is_done else ''}>"


class RunningHost:
    """A host, as its program sees it. Calls take no simulated time; time passes while the program waits.

    Attributes
    ----------
    name, number
        Name and number of its node.
    nodes
        Names of all nodes.
    now_ps
        Simulated time.
    """

    def __init__(self, number: int, nodes: Sequence[str]) -> None:
        self.number = number
        self.nodes = tuple(nodes)
        self.name = self.nodes[number]
        self.now_ps = 0
        self._numbers = {name: at for at, name in enumerate(self.nodes)}
        self._actions: list[tuple[Any, ...]] = []
        self._waits: dict[tuple[str, int], Wait] = {}
        self._served: dict[int, Wait] = {}
        self._count: Iterator[int] = itertools.count()

    def put(self, to: str | int, data: bytes | int, *, tag: int = 0) -> Wait:
        """Send a message: bytes, or a number of zero bytes. Yield the result to wait until the message has left.

        With a transport other than ``lossless``, the result is done when all packets are acknowledged. Messages to one
        peer arrive in the order of the calls.
        """
        peer = self._peer(to)
        content = _content(data)
        key, wait = self._wait("sent", f"the departure of a message to {self.nodes[peer]}")
        self._actions.append(("put", key, peer, _tag(tag), content))
        return wait

    def receive(self, sender: str | int | None = None, *, tag: int | None = None) -> Wait:
        """Receive a message. Yield the result to get a `Message`. Default: from any sender, with any tag.

        A receive takes a message when the first packet arrives. Receives match messages in the order in which they were
        posted. A message that arrives before its receive waits for it. So with one receive at a time, a short message
        waits until a longer one that began earlier has arrived; post several receives to get messages as they arrive.
        """
        peer = None if sender is None else self._peer(sender)
        bits, ignore = (0, (1 << 64) - 1) if tag is None else (_tag(tag), 0)
        what = (
            f"a message{'' if tag is None else f' with tag {tag}'}{'' if peer is None else f' from {self.nodes[peer]}'}"
        )
        key, wait = self._wait("received", what)
        self._actions.append(("append", key, peer, bits, ignore, False, None))
        return wait

    def get(self, owner: str | int, size: int, *, tag: int = 0) -> Wait:
        """Read the first bytes of memory that a peer exposes with this tag. Yield the result to get a `Message`."""
        peer = self._peer(owner)
        key, wait = self._wait("reply", f"{size} bytes of {self.nodes[peer]}")
        self._actions.append(("get", key, peer, _tag(tag), _core.whole("size", size)))
        return wait

    def expose(self, addr: int, size: int, *, tag: int = 0) -> None:
        """Let peers read this memory with `get` and write it with `put`: messages with this tag are written there.

        Bytes of a message beyond the end of this memory are discarded. Reads beyond the end return 0.
        """
        region = _region(addr, _core.whole("size", size, bits=64))
        self._actions.append(("append", next(self._count), None, _tag(tag), 0, True, region))

    def compute(self, time: str, *, cpu: int = 0) -> Wait:
        """Compute on a processor as soon as it is free. Yield the result to wait for the end."""
        span = _span(time)
        key, wait = self._wait("timer", f"the end of a computation of {time}")
        self._actions.append(("compute", key, span, _core.whole("cpu", cpu, bits=8)))
        return wait

    def sleep(self, time: str) -> Wait:
        """Wait for some time without a processor. Yield the result to wait for the end."""
        span = _span(time)
        key, wait = self._wait("timer", f"{time} to pass")
        self._actions.append(("wait", key, span))
        return wait

    def write(self, addr: int, data: bytes) -> None:
        """Write host memory."""
        content = _core.buffer("data", data)
        self._actions.append(("write", _region(addr, len(content))[0], content))

    def read(self, addr: int, size: int) -> Wait:
        """Read host memory. Yield the result to get the bytes, without delay. Bytes that were never written are 0."""
        start, size = _region(addr, _core.whole("size", size))
        key, wait = self._wait("read", "memory")
        self._actions.append(("read", key, start, size))
        return wait

    def send_frame(self, frame: bytes) -> None:
        """Send a frame unchanged; `frame` has no FCS. The frame's addresses decide where it goes."""
        content = _core.buffer("frame", frame)
        if len(content) < _HEADER_BYTES:
            raise UsageError(f"frame has {len(content)} bytes, must have {_HEADER_BYTES} or more: an Ethernet header")
        self._actions.append(("send", content))

    def _peer(self, node: str | int) -> int:
        if isinstance(node, str):
            if node not in self._numbers:
                raise UsageError(f"there is no node {node!r}; there are {len(self.nodes)}, such as {self.nodes[0]}")
            return self._numbers[node]
        try:
            return range(len(self.nodes))[node]
        except (IndexError, TypeError):
            most = len(self.nodes) - 1
            raise UsageError(f"there is no node {node!r}; nodes have names, and numbers from 0 to {most}") from None

    def _wait(self, kind: str, what: str) -> tuple[int, Wait]:
        key, wait = next(self._count), Wait(what)
        self._waits[kind, key] = wait
        return key, wait


def _span(time: str) -> int:
    """A span of time in ps."""
    if not isinstance(time, str):
        raise UsageError(f"time is {time!r}, must be a text such as '2 us'")
    return _core.span_ps(time)


def _content(data: bytes | int) -> bytes | int:
    """The content of a message: bytes, or a number of zero bytes."""
    if hasattr(data, "__index__") and not hasattr(data, "__len__"):
        return _core.whole("data", data)
    try:
        return bytes(data)
    except (TypeError, ValueError):
        raise UsageError(f"data is {data!r:.100}, must be bytes or a number of zero bytes") from None


def _region(addr: int, size: int) -> tuple[int, int]:
    """Address and size of memory that exists."""
    start = _core.address(addr)
    if start + size > 1 << 64:
        raise UsageError(f"{size} bytes at {start:#x} pass the end of memory, {(1 << 64) - 1:#x}")
    return start, size


def _tag(tag: int) -> int:
    return _core.whole("tag", tag, bits=64)


class Driver:
    """Runs a program: the simulator passes events to `handle`, and gets the program's actions."""

    def __init__(self, program: Program, shown: str, number: int, nodes: Sequence[str]) -> None:
        self._host = RunningHost(number, nodes)
        self._shown = shown
        self._program = program
        self._generator: Generator[Any, Any, object] | None = None
        self._pending: Wait | tuple[Wait, ...] | None = None

    def handle(self, now_ps: int, kind: str, key: int, content: tuple[Any, ...]) -> tuple[list[tuple[Any, ...]], bool]:
        """Handle an event. Returns the program's actions, and true if the program waits for more events."""
        host = self._host
        host.now_ps = now_ps
        try:
            if kind == "start":
                made = self._program(host)
                if made is not None and not inspect.isgenerator(made):
                    raise UsageError(f"it returned {type(made).__name__}, must be a generator or return nothing")
                self._generator = made
                self._advance(None)
            else:
                wait = host._waits.pop((kind, key), None)
                if wait is not None:
                    wait.is_done, wait.value = True, self._value(kind, content)
                self._continue()
        except (Exception, SystemExit, GeneratorExit) as error:
            raise self._failed(error) from error
        actions, host._actions = host._actions, []
        return actions, self._pending is not None

    def _value(self, kind: str, content: tuple[Any, ...]) -> Any:
        if kind in ("received", "reply"):
            sender, tag, size, data, first_ps, last_ps = content
            name = self._host.nodes[sender]
            data = bytes(size) if data is None else bytes(data)
            return Message(sender=name, tag=tag, size=size, data=data, first_ps=first_ps, last_ps=last_ps)
        return bytes(content[0]) if kind == "read" else None

    def _continue(self) -> None:
        """Resume the program if all events for which it waits have happened."""
        pending = self._pending
        if isinstance(pending, Wait) and pending.is_done:
            self._advance(pending.value)
        elif isinstance(pending, tuple) and all(wait.is_done for wait in pending):
            self._advance([wait.value for wait in pending])

    def _advance(self, value: Any) -> None:
        while self._generator is not None:
            try:
                yielded = self._generator.send(value)
            except StopIteration:
                self._generator = self._pending = None
                return
            self._pending = tuple(yielded) if isinstance(yielded, list | tuple) else yielded
            waits = self._pending if isinstance(self._pending, tuple) else (self._pending,)
            if not all(isinstance(wait, Wait) for wait in waits):
                raise UsageError(f"it yielded {yielded!r}, must yield results of its host's methods, or a list of them")
            if not all(wait.is_done for wait in waits):
                return
            value = [wait.value for wait in waits] if isinstance(self._pending, tuple) else waits[0].value

    def waits_for(self) -> str | None:
        """The events for which the program waits, for the message of a run that stalls."""
        if self._pending is None:
            return None
        waits = self._pending if isinstance(self._pending, tuple) else (self._pending,)
        return ", ".join(wait.what for wait in waits if not wait.is_done)

    def _failed(self, error: BaseException) -> HostProgramError:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename != __file__]
        lines = "".join(traceback.format_list(own)) + "".join(traceback.format_exception_only(error))
        return HostProgramError(f"node `{self._host.name}`: its program {self._shown} failed\n{lines.rstrip()}")


class Factory:
    """Makes the driver of a node's program, for the simulator."""

    def __init__(self, program: Program, shown: str, nodes: Sequence[str]) -> None:
        if not callable(program):
            raise UsageError(f"the program of a host is {program!r}, must be a function that takes the host")
        self._program, self._shown, self._nodes = program, shown, nodes

    def __call__(self, number: int) -> Driver:
        """The driver for the node with this number."""
        return Driver(self._program, self._shown, number, self._nodes)


def load(text: str, base_dir: str, *, loaded: dict[Path, ModuleType]) -> Program:
    """The function that ``file.py:function`` names.

    Raises
    ------
    UsageError
        If there is no such file or function, or the file raises an exception.
    """
    name, colon, function = text.rpartition(":")
    if not colon or not name.endswith(".py") or not function.isidentifier():
        raise UsageError(f"host_program is {text!r}, must be a file and a function: 'programs.py:function'")
    path = Path(base_dir, name)
    if not path.is_file():
        raise UsageError(f"host_program: there is no file {path}")
    if path not in loaded:
        module = types.ModuleType(f"spinet_host_program_{len(loaded)}_{path.stem}")
        module.__file__ = str(path)
        sys.path.insert(0, str(path.parent))  # so that the file can import modules in its folder
        try:
            # Python's cache of bytecode would miss a change to text of the same length within a second.
            exec(compile(path.read_bytes(), str(path), "exec"), vars(module))
        except (Exception, SystemExit) as error:
            lines = "".join(traceback.format_exception_only(error)).rstrip()
            raise UsageError(f"host_program: {path} cannot be imported: {lines}") from error
        finally:
            sys.path.remove(str(path.parent))
        loaded[path] = module
    found = getattr(loaded[path], function, None)
    if not callable(found):
        functions = [one for one, value in vars(loaded[path]).items() if inspect.isfunction(value)]
        near = difflib.get_close_matches(function, functions, n=1)
        raise UsageError(
            f"host_program: {path} has no function {function}; it has {', '.join(functions) or 'none'}",
            hint=f"did you mean {near[0]}?" if near else "",
        )
    program: Program = found
    return program


def factories(
    nodes: Sequence[Mapping[str, Any]], entries: Sequence[Mapping[str, Any]], own: Mapping[str, Program], base_dir: str
) -> dict[str, Factory]:
    """Factories of the programs of hosts by node name: Python functions in `own`, and functions that entries name."""
    names = [str(node["name"]) for node in nodes]
    loaded: dict[Path, ModuleType] = {}
    found: dict[str, Factory] = {}
    for node in nodes:
        name, at = str(node["name"]), node["entry"]
        text = None if at is None else entries[at].get("host_program")
        if name in own:
            shown = getattr(own[name], "__qualname__", repr(own[name]))
            found[name] = Factory(own[name], shown, names)
        elif text is not None:
            try:
                program = load(str(text), base_dir, loaded=loaded)
            except UsageError as error:
                raise UsageError(f"node `{name}`: {error}", hint=error.hint) from error.__cause__
            found[name] = Factory(program, str(text), names)
    return found
