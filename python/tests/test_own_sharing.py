# SPDX-License-Identifier: Apache-2.0
"""Policies in Python by which tenants share a card: the guide's example, two of the card's own rules, and errors."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import spinet
from experiments.spin.osmosis import KERNELS, TENANT, packet
from spinet._core import WaitingTenant

from tenant_policies import WeightedFair

GUIDE = Path(__file__).parents[2] / "docs/guides/write-a-policy.md"
NAMES = ("program", "b", "c")
WEIGHTS = {"program": 2, "b": 1, "c": 3}


def run(handler: str, policies: Mapping[str, Any] | None = None, *, n: int = 40, **sharing: Any) -> spinet.Result:
    """`n` packets for each of three tenants at once: loops of different lengths, or transfers of different sizes."""

    def context(number: int, name: str) -> dict[str, Any]:
        tenant = {} if name == "program" else {"tenant": name}
        more = {"message": "all last", "handler": handler, "host_memory": {"size": 8192}}
        return {"name": name, "match": f"{TENANT} == {number}"} | more | tenant

    def one(number: int) -> bytes:
        if handler == "spinner":
            return packet(128, tenant=number, payload=struct.pack("<I", 64 << number))
        size = (2048, 512, 64)[number]
        return packet(size, tenant=number, payload=struct.pack("<II", 1 + number, size))

    return spinet.run(
        {
            "program": str(KERNELS),
            "weight": WEIGHTS["program"],
            "context": [context(number, name) for number, name in enumerate(NAMES)],
            "tenant": [{"name": name, "program": str(KERNELS), "weight": WEIGHTS[name]} for name in NAMES[1:]],
        },
        traffic=[one(number) for number in range(3)] * n,
        pacing="asap",
        set={f"sharing.{key}": value for key, value in sharing.items()}
        | {"scheduler.max_tasks_per_cluster": 9, "commands.in_flight_per_unit": 2},
        policies=policies,
    )


class Strict:
    """Chooses the tenant that comes first in the given order."""

    def __init__(self, *order: str) -> None:
        self.order = order

    def choose(self, now: int, waiting: Sequence[WaitingTenant]) -> str:
        assert len(waiting) > 1, "otherwise there is nothing to choose"
        return min((tenant.name for tenant in waiting), key=self.order.index)


class BorrowedTime:
    """`bvt`: the least use for its weight."""

    def choose(self, now: int, waiting: Sequence[WaitingTenant]) -> str:
        def use(tenant: WaitingTenant) -> tuple[Fraction, int]:
            return Fraction(tenant.used, max(tenant.active_cycles * tenant.weight, 1)), NAMES.index(tenant.name)

        return min(waiting, key=use).name


def latencies(result: spinet.Result) -> dict[str, float]:
    return {row["name"]: row["latency_ns"]["mean"] for row in result.summary["tenants"]}


def test_tenants_are_served_in_the_order_of_their_names() -> None:
    first, again, last = (run("spinner", {"tasks": Strict(*order)}) for order in (NAMES, NAMES, NAMES[::-1]))
    assert first.digest == again.digest != last.digest
    assert latencies(first)["program"] < latencies(last)["program"]
    assert latencies(first)["c"] > latencies(last)["c"]


@pytest.mark.parametrize(
    ("handler", "parts", "policy", "own", "card"),
    [
        ("spinner", ["tasks"], BorrowedTime, {}, {"schedule": "bvt"}),
        (
            "to_host",
            ["host_dma", "nic_send", "host_direct"],
            WeightedFair,
            {"io_schedule": "round_robin"},
            {"io_schedule": "weighted_fair"},
        ),
    ],
)
def test_a_rule_of_the_card_in_python_gives_the_same_run(
    handler: str, parts: list[str], policy: Callable[[], Any], own: dict[str, str], card: dict[str, str]
) -> None:
    assert run(handler, {part: policy() for part in parts}, **own).digest == run(handler, **card).digest
    assert run(handler, **card).digest != run(handler, **own).digest


def test_a_policy_can_hold_back_a_tenant_that_waits_alone() -> None:
    starts: list[int] = []

    class Slow:
        holds_back = True

        def choose(self, now: int, waiting: Sequence[WaitingTenant]) -> str | int:
            return starts[-1] + 500 if starts and now < starts[-1] + 500 else waiting[0].name

        def started(self, now: int, tenant: WaitingTenant) -> None:
            starts.append(now)

    run("spinner", {"tasks": Slow()}, n=5)
    assert [later - earlier for earlier, later in pairwise(starts)] == [500] * 14


def test_a_policy_hears_what_begins_starts_and_ends() -> None:
    heard: list[tuple[str, str]] = []

    class Loud(Strict):
        def began(self, now: int, tenant: WaitingTenant) -> None:
            heard.append(("began", tenant.name))

        def started(self, now: int, tenant: WaitingTenant) -> None:
            assert (tenant.bytes, tenant.weight) == (128, WEIGHTS[tenant.name])
            heard.append(("started", tenant.name))

        def ended(self, now: int, name: str) -> None:
            heard.append(("ended", name))

    run("spinner", {"tasks": Loud(*NAMES)}, n=10)
    for name in NAMES:
        assert heard.count(("started", name)) == heard.count(("ended", name)) == 10
        assert 1 <= heard.count(("began", name)) <= 10


def saying(answer: Any) -> Any:
    class Odd:
        def choose(self, now: int, waiting: Sequence[WaitingTenant]) -> Any:
            return answer

    return Odd()


@pytest.mark.parametrize("answer", ["nobody", True, 1.5, -1, 0, 1, ["b"]])
def test_a_choice_must_be_a_tenant_that_waits(answer: Any) -> None:
    says = f"`choose` of Odd, the policy of `tasks` returned {answer!r}, must be the name of a tenant that waits (`"
    with pytest.raises(spinet.InputError, match=re.escape(says)):
        run("spinner", {"tasks": saying(answer)})


def test_the_exception_of_a_policy_ends_the_run() -> None:
    class Broken:
        def choose(self, now: int, waiting: Sequence[WaitingTenant]) -> str:
            raise ZeroDivisionError("no reason")

    with pytest.raises(ZeroDivisionError, match="no reason") as caught:
        run("spinner", {"tasks": Broken()})
    assert caught.value.__notes__ == ["in Broken, the policy of `tasks`"]


@pytest.mark.parametrize(
    ("policies", "sharing", "shown"),
    [
        ({"task": Strict()}, {}, "there is no part `task`, must be one of tasks, .*; did you mean `tasks`"),
        ({"tasks": 7}, {}, r"int, the policy of `tasks`, has no method `choose\(now, waiting\)`"),
        ({"nic_send": Strict()}, {}, "sharing.io_schedule is in_order, must be round_robin or weighted_fair"),
        ({"tasks": Strict()}, {"turns": False}, "sharing.turns is false, must be true for a policy of `tasks`"),
    ],
)
def test_a_policy_needs_a_method_and_a_part_with_tenants(policies: Any, sharing: Any, shown: str) -> None:
    with pytest.raises(spinet.InputError, match=shown):
        run("spinner", policies, n=1, **sharing)


def machine(*order: str) -> tuple[str, list[int]]:
    """The digest of a machine, and the ports to which its packets were sent, in the order in which they left."""
    settings = {"sharing.io_schedule": "round_robin", "commands.in_flight_per_unit": 1}
    with spinet.Machine(set=settings, policies={"nic_send": Strict(*order)}) as card:
        for name, port in (("a", 7), ("b", 8)):
            tenant = card.tenant(name, scope=f"udp.dst_port == {port}")
            tenant.context(program=tenant.load("sdk/examples/ping_pong.c")).install(message="each")
        for port in (7, 8):
            card.traffic(f"udp:size=1024,count=20,dst_port={port}", pacing="asap")
        card.finish()
        return card.digest, [int.from_bytes(sent.data[34:36], "big") for sent in card.take_sent()]


def test_a_machine_has_policies_for_the_tenants_it_will_have() -> None:
    (one, ports), (other, _) = machine("a", "b"), machine("b", "a")
    assert sorted(ports) == [7] * 20 + [8] * 20
    assert one != other
    with pytest.raises(ValueError, match="not in tuple"):
        machine("a", "c")


def test_the_guides_policy_lets_short_transfers_pass(capsys: pytest.CaptureFixture[str]) -> None:
    code = GUIDE.read_text().partition("## Tenants of a PsPIN")[2]
    found = re.search(r"```python\n(.*?)```", code, re.S)
    assert found is not None
    names: dict[str, Any] = {}
    exec(compile(found.group(1), str(GUIDE), "exec"), names)
    waits = [float(wait) for wait in re.findall(r"wait (\d+) ns", capsys.readouterr().out)]
    assert len(waits) == 2
    assert waits[1] < waits[0]
