# SPDX-License-Identifier: Apache-2.0
"""Policies in Python: the guide's, and errors."""

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import spinet

GUIDE = Path(__file__).parents[2] / "docs/guides/write-a-policy.md"


def run(policy: Any, **more: Any) -> spinet.Result:
    """Two packets at a time for a slow unit."""
    return spinet.run(
        services=["work: delay, cycles=100"],
        chains=["all: work"],
        traffic="udp:size=64,count=50,rate=10G",
        policies={"work": policy},
        **more,
    )


def test_the_guides_policy_lets_short_flows_pass(capsys: pytest.CaptureFixture[str]) -> None:
    code = re.search(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    assert code is not None
    names: dict[str, Any] = {}
    exec(compile(code.group(1), str(GUIDE), "exec"), names)
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 2
    fifo, own = names["fifo"].tenants["mouse"], names["own"].tenants["mouse"]
    assert own.packets_out == own.packets_in == 40, "the packets that are dropped are the elephant's"
    assert own.latency.mean < fifo.latency.mean / 5, shown


def test_the_guides_hierarchy_is_strict_above_and_fair_below(tmp_path: Path) -> None:
    text = re.search(r"```toml\n(.*?)```", GUIDE.read_text(), re.S)
    assert text is not None
    file = tmp_path / "hierarchy.toml"
    file.write_text(text.group(1))
    vip, gold, rest = spinet.run(file).tenants.values()
    assert vip.dropped == 0
    assert gold.out_gbps is not None and rest.out_gbps is not None
    assert 2.9 < gold.out_gbps / rest.out_gbps < 3.1


def test_a_policy_hears_what_is_served_and_dropped() -> None:
    heard: list[str] = []

    class Loud:
        def rank(self, packet: Any) -> int:
            assert (packet.bytes, packet.traffic_class, packet.priority) == (64, 0, 0)
            heard.append("rank")
            return int(packet.now)

        def served(self, rank: int) -> None:
            heard.append("served")

        def eligible(self, rank: int) -> int:
            return rank + 500

    result = run(Loud())
    assert heard.count("rank") == heard.count("served") == 50
    assert result.latency is not None and result.latency.min > 500 * 4, "no packet leaves before 500 cycles of 4 ns"


def test_eligible_is_asked_again_only_when_a_policy_may_have_changed() -> None:
    class Slow:
        def __init__(self) -> None:
            self.changes = self.asked = 0
            self.seen: set[tuple[int, int]] = set()

        def rank(self, packet: Any) -> int:
            self.changes += 1
            return int(packet.now)

        def served(self, rank: int) -> None:
            self.changes += 1

        def eligible(self, rank: int) -> int:
            assert (rank, self.changes) not in self.seen, "called twice in the same state"
            self.seen.add((rank, self.changes))
            self.asked += 1
            return rank + 500

    policy = Slow()
    assert run(policy).complete
    assert 50 <= policy.asked <= policy.changes + 50


def test_policies_that_share_state_are_asked_when_either_changes_it() -> None:
    """A limit for two services together: a packet in one service makes the other wait."""

    class Limit:
        def __init__(self) -> None:
            self.free_at = 0

        def rank(self, packet: Any) -> int:
            return int(packet.now)

        def served(self, rank: int) -> None:
            self.free_at = max(self.free_at, rank) + 1000

        def eligible(self, rank: int) -> int:
            return self.free_at

    limit = Limit()
    result = spinet.run(
        services=["one: delay, cycles=1", "two: delay, cycles=1"],
        chains=["left [udp.dst_port == 1]: one", "right: two"],
        traffic=[f"udp:size=64,count=20,rate=10G,dst_port={port}" for port in (1, 2)],
        policies={"one": limit, "two": limit},
    )
    left = sorted(int(time) for time in result.columns["left_ps"])
    assert result.complete and len(left) == 40
    gaps = [later - earlier for earlier, later in pairwise(left)]
    assert min(gaps[2:]) > 900 * 4000, "a service did not see what the other one had sent"


def test_equal_runs_give_equal_digests() -> None:
    class Youngest:
        def rank(self, packet: Any) -> int:
            return (1 << 64) - 1 - int(packet.now)

    assert run(Youngest()).digest == run(Youngest()).digest


def test_what_a_policy_raises_comes_out() -> None:
    class Broken:
        def rank(self, packet: Any) -> int:
            raise ZeroDivisionError("no rank")

    class Negative:
        def rank(self, packet: Any) -> int:
            return -1

    with pytest.raises(ZeroDivisionError, match="no rank") as raised:
        run(Broken())
    assert raised.value.__notes__ == ["in Broken, the policy of service `work`"]
    with pytest.raises(spinet.InputError) as refused:
        run(Negative())
    assert str(refused.value) == (
        "policies: `rank` of Negative, the policy of service `work` returned -1, "
        "must be a whole number from 0 to 18446744073709551615"
    )


@pytest.mark.parametrize("rank", [1 << 64, 0.5, None, "first"])
def test_ranks_that_are_none_name_the_service_and_the_policy(rank: Any) -> None:
    class Odd:
        def rank(self, packet: Any) -> Any:
            return rank

    with pytest.raises(
        spinet.InputError, match=rf"`rank` of Odd, the policy of service `work` returned {rank!r}, must be"
    ):
        run(Odd())


def test_a_policy_without_ranks_is_reported_before_the_run() -> None:
    with pytest.raises(spinet.InputError, match="object, the policy of service `work`, has no method `rank"):
        run(object())


def test_services_and_cards_that_have_none_are_reported() -> None:
    class Any0:
        def rank(self, packet: Any) -> int:
            return 0

    with pytest.raises(spinet.InputError, match="there is no service `walk`, must be one of"):
        spinet.run(chains=["all: aes"], traffic="udp:count=1", policies={"walk": Any0()})
    with pytest.raises(spinet.InputError, match="this NIC has none"):
        run(Any0(), nic="pipeline")


def test_a_packet_that_may_never_go_ends_the_run() -> None:
    class Never:
        def rank(self, packet: Any) -> int:
            return 0

        def eligible(self, rank: int) -> int:
            return 1 << 62

    assert run(Never()).summary["ended"]["reason"] == "stalled"


def test_a_policy_is_reported_what_the_chain_tells_the_service() -> None:
    class ByPort:
        def __init__(self) -> None:
            self.shown: set[int] = set()

        def rank(self, packet: Any) -> int:
            self.shown.add(packet.metadata)
            return int(packet.metadata)

    policy = ByPort()
    result = spinet.run(
        services=["work: delay, cycles=100, credits=1"],
        chains=["all: work(metadata=udp.dst_port)"],
        traffic=[f"udp:size=64,count=30,rate=2G,dst_port={port}" for port in (9, 7, 8)],
        policies={"work": policy},
    )
    assert policy.shown == {7, 8, 9}
    # When all packets have arrived, all packets of a port leave before any packet of the next port.
    ports = [int.from_bytes(packet.data[36:38], "big") for packet in result.to_host]
    assert ports[-60:] == sorted(ports[-60:]) and ports.count(9) == 30
