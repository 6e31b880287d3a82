# SPDX-License-Identifier: Apache-2.0
"""Tenants that share a cluster's DMA, by the card's rules and by policies in Python."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import spinet
from experiments.spin.osmosis import TENANT, packet
from spinet._core import WaitingTenant

from tenant_policies import WeightedFair

COPIES = Path(__file__).parent / "handlers" / "copies.c"
NAMES = ("program", "b")
BEAT = 64  # bytes that the engine moves in a cycle
PART = 512


def run(
    copies: tuple[int, int] = (200, 200),
    sizes: tuple[int, int] = (PART, PART),
    *,
    handlers: tuple[int, int] = (4, 4),
    weights: tuple[int, int] = (1, 1),
    io: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {}),
    policies: Mapping[str, Any] | None = None,
    watchdog: int | None = None,
    clusters: int = 1,
    **sharing: Any,
) -> spinet.Result:
    """Handlers of two tenants on the 8 HPUs of a cluster, with copies from L2 to L1 that they do not wait for."""

    def context(number: int) -> dict[str, Any]:
        match = {"name": NAMES[number], "match": f"{TENANT} == {number}", "message": "each"}
        limit = {"watchdog_cycles": watchdog} if watchdog is not None else {}
        return match | ({"tenant": "b"} | limit if number else {})

    def one(number: int) -> bytes:
        return packet(2048, tenant=number, payload=struct.pack("<2I", copies[number], sizes[number]))

    return spinet.run(
        {
            "program": str(COPIES),
            "weight": weights[0],
            "io": dict(io[0]),
            "context": [context(0), context(1)],
            "tenant": [{"name": "b", "program": str(COPIES), "weight": weights[1], "io": dict(io[1])}],
        },
        traffic=[one(0)] * handlers[0] + [one(1)] * handlers[1],
        pacing="asap",
        set={"n_clusters": clusters, "sharing.fragment_bytes": PART}
        | {f"sharing.{key}": value for key, value in sharing.items()},
        policies=policies,
    )


def ends(result: spinet.Result) -> list[float]:
    return [tenant["latency_ns"]["max"] for tenant in result.summary["tenants"]]


def test_tenants_take_turns_whatever_the_number_of_their_cores() -> None:
    def more(rule: str) -> float:
        """Time of 200 further copies of the tenant with one core. The difference has no time before the first copy."""
        few, many = (run((400, n), handlers=(7, 1), cluster_dma_schedule=rule) for n in (100, 300))
        return ends(many)[1] - ends(few)[1]

    # A part takes 8 cycles. Cores: 7 parts are before each of the 200. Tenants: one is.
    assert more("in_order") == pytest.approx(200 * 8 * PART / BEAT, rel=0.02)
    assert more("round_robin") == pytest.approx(200 * 2 * PART / BEAT, rel=0.02)
    cores, tenants = (run(handlers=(7, 1), cluster_dma_schedule=rule) for rule in ("in_order", "round_robin"))
    for result in (cores, tenants):
        assert [tenant["cluster_bytes"] for tenant in result.summary["tenants"]] == [7 * 200 * PART, 200 * PART]


def test_shares_follow_weights() -> None:
    """Three of four parts are the first tenant's, so its n bytes take 4/3 n. The other one has the rest, until 2 n."""
    turns, fair = (run(weights=(3, 1), cluster_dma_schedule=rule) for rule in ("round_robin", "weighted_fair"))
    assert ends(turns)[0] / ends(turns)[1] == pytest.approx(1, abs=0.03)
    assert ends(fair)[0] / ends(fair)[1] == pytest.approx(2 / 3, abs=0.03)


def test_bytes_are_shared_whatever_the_size_of_transfers() -> None:
    """One tenant copies 2 KiB in four parts of 512 bytes, the other one 128 bytes."""

    def more(rule: str) -> float:
        """Time of 200 further short copies of each core."""
        few, many = (run((n, 2 * n), (2048, 128), cluster_dma_schedule=rule) for n in (100, 200))
        return ends(many)[1] - ends(few)[1]

    # In turn, each 128 bytes wait for 512 bytes of the other tenant; with fair shares, for 128 bytes.
    assert more("round_robin") / more("weighted_fair") == pytest.approx((512 + 128) / (128 + 128), rel=0.05)


@pytest.mark.parametrize("rule", ["round_robin", "weighted_fair"])
def test_the_tenant_of_high_priority_goes_first(rule: str) -> None:
    few, many = (run((n, n), io=({}, {"priority": 1}), cluster_dma_schedule=rule) for n in (100, 300))
    first, second = (after - before for before, after in zip(ends(few), ends(many), strict=True))
    assert second == pytest.approx(4 * 200 * PART / BEAT, rel=0.02)  # as if it were alone
    assert first == pytest.approx(2 * 4 * 200 * PART / BEAT, rel=0.02)


def test_a_limit_holds_to_within_a_part() -> None:
    """At 8 Gbit/s and 1 GHz a part of 512 bytes starts 512 cycles after the one before. The other has the rest."""
    result = run((20, 200), io=({"cluster_rate": "8G"}, {}), cluster_dma_schedule="weighted_fair")
    first, second = ends(result)
    assert 0 < first - (4 * 20 - 1) * 512 < 300
    assert second == pytest.approx(4 * 200 * PART / BEAT * (1 + 8 / 512), rel=0.05)


class Strict:
    """Chooses the tenant that comes first in the given order."""

    def __init__(self, *order: str) -> None:
        self.order = order
        self.waits: list[int] = []

    def choose(self, now: int, waiting: Sequence[WaitingTenant]) -> str:
        self.waits.append(len(waiting))
        assert all(tenant.bytes == PART for tenant in waiting)
        return min((tenant.name for tenant in waiting), key=self.order.index)


def test_a_rule_of_the_card_in_python_gives_the_same_run() -> None:
    own, card = {"cluster_dma_schedule": "round_robin"}, {"cluster_dma_schedule": "weighted_fair"}
    given: dict[str, Any] = {"copies": (40, 30), "weights": (3, 1)}
    assert run(**given, **own, policies={"cluster_dma": WeightedFair()}).digest == run(**given, **card).digest
    assert run(**given, **own).digest != run(**given, **card).digest


def test_each_cluster_has_a_policy_of_its_own() -> None:
    policies = [Strict("b", "program"), Strict("program", "b")]
    result = run(
        (100, 100),
        handlers=(8, 8),
        cluster_dma_schedule="round_robin",
        policies={"cluster_dma": policies},
        clusters=2,
    )
    assert all(set(policy.waits) == {2} for policy in policies)
    assert result.complete


def test_a_policy_hears_what_begins_starts_and_ends() -> None:
    heard: list[tuple[str, str]] = []

    class Loud(Strict):
        def began(self, now: int, tenant: WaitingTenant) -> None:
            heard.append(("began", tenant.name))

        def started(self, now: int, tenant: WaitingTenant) -> None:
            assert tenant.bytes == PART
            heard.append(("started", tenant.name))

        def ended(self, now: int, name: str) -> None:
            heard.append(("ended", name))

    result = run((10, 5), cluster_dma_schedule="round_robin", policies={"cluster_dma": [Loud(*NAMES)]})
    for name, copies in zip(NAMES, (10, 5), strict=True):
        assert heard.count(("started", name)) == heard.count(("ended", name)) == 4 * copies
        assert 1 <= heard.count(("began", name)) <= 4 * copies
    assert result.complete


@pytest.mark.parametrize("policy", [None, Strict("program", "b")])
def test_a_watchdog_ends_a_handler_that_is_never_chosen(policy: Strict | None) -> None:
    """The first tenant always has transfers and goes first, until its own handlers end."""
    result = run(
        (700, 10),
        handlers=(7, 1),
        io=({"priority": 1}, {}),
        watchdog=5_000,
        cluster_dma_schedule="round_robin",
        policies=None if policy is None else {"cluster_dma": policy},
    )
    assert result.complete
    first, second = result.summary["tenants"]
    assert second["cluster_bytes"] < 10 * PART and first["cluster_bytes"] == 7 * 700 * PART
    assert [(trap["mcause"], trap["count"]) for trap in result.summary["traps"]] == [(24, 1)]


@pytest.mark.parametrize(
    ("policies", "settings", "shown"),
    [
        (
            {"cluster_dma": Strict()},
            {},
            "sharing.cluster_dma_schedule is in_order, must be round_robin or weighted_fair for a policy of `cluster",
        ),
        (
            {"cluster_dma": [Strict(), Strict()]},
            {"cluster_dma_schedule": "round_robin"},
            "number of policies of `cluster_dma` is 2, must be 1: one for each cluster",
        ),
        ({"tasks": [Strict(), Strict()]}, {}, "number of policies of `tasks` is 2, must be 1"),
        ({"cluster_dma": []}, {}, "policies: the list for `cluster_dma` is empty, must have a policy"),
        (
            {"cluster_dma": [7]},
            {"cluster_dma_schedule": "round_robin"},
            r"int, the policy of `cluster_dma\[0\]`, has no method `choose",
        ),
        ({"cluster_dam": Strict()}, {}, "there is no part `cluster_dam`, .*; did you mean `cluster_dma`"),
    ],
)
def test_mistakes_are_reported(policies: Any, settings: Mapping[str, Any], shown: str) -> None:
    with pytest.raises(spinet.InputError, match=shown):
        run((1, 1), policies=policies, **settings)


def test_rights_need_a_card_that_follows_them() -> None:
    both = "sharing.io_schedule and sharing.cluster_dma_schedule are in_order; set one of them to round_robin"
    with pytest.raises(spinet.InputError, match=both):
        run((1, 1), io=({}, {"cluster_rate": "1G"}))
    one = r"host_rate.*has no effect while the card's sharing\.io_schedule is in_order"
    with pytest.raises(spinet.InputError, match=one):
        run((1, 1), io=({}, {"host_rate": "1G"}), cluster_dma_schedule="round_robin")
