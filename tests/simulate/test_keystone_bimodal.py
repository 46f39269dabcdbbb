"""The keystone for bimodal multicast: every policy, losses, omissions, budgets, crashes, joins and views."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from test_keystone import PACKETS, some
from test_keystone_gossip import EXAMPLES, compare
from test_keystone_hypercube import crashes

from stablecast.multicast.buffer_policy import POLICIES
from stablecast.testing.reference.driver import TooLong


@st.composite
def cases(draw: st.DrawFn, policy: str) -> dict[str, Any]:
    """Draw a group, its traffic, its buffers and what goes wrong."""
    nodes = draw(st.integers(1, 12))
    members = draw(st.integers(max(1, nodes - 3), nodes))
    options: dict[str, Any] = {
        "protocol": "bimodal",
        "policy": policy,
        "topology": draw(st.sampled_from(("random-graph", "balanced", "balanced"))),
        "nodes": nodes,
        "members": members,
        "senders": draw(st.integers(1, min(members, 3))),
        "costs": draw(st.sampled_from(("links-only", "lan1997"))),
        "seed": draw(st.integers(0, 1000)),
        "messages": draw(st.integers(1, 12)),
        "rate_per_s": draw(st.sampled_from((20.0, 300.0))),
        "gossip_every_ms": draw(st.sampled_from((10.0, 40.0))),
        "keep_rounds": draw(st.integers(3, 8)),
    }
    options |= draw(some(copies=(0.5, 1.0), hash=("shuffle", "crc16"), cast=("unicast", "multicast")))
    options |= draw(some(multicast_tree=("source",)))
    options |= draw(some(link_loss=(0.1, 0.3), queue_limit=(4,), duplicate=(0.3,), reorder=(0.4,)))
    options |= draw(
        some(detour_us=(0.0, 40.0), loss_until_ms=(50.0,), data_loss=(0.2,), send_omission=(0.3,))
    )
    options |= draw(some(no_recast=(True,), no_push=(True,), budget_messages=(1, 3), short_rounds=(1,)))
    options |= draw(PACKETS)
    options["faults"] = draw(crashes(members))
    options |= draw(some(detect_ms=(-1.0, 0.5, 10.0), detect_spread_ms=(20.0,)))
    if policy != "until-stable":
        options |= draw(some(view_missing=(0.3,)))
        last_sender = (options["senders"] - 1) * members // options["senders"]
        joining = draw(st.integers(0, members - 1 - last_sender))
        if joining:
            step = f"join {joining} at {draw(st.sampled_from((0, 30, 200)))}"
            options["faults"] = "; ".join(filter(None, (options["faults"], step)))
    return options


@pytest.mark.parametrize("policy", POLICIES)
@EXAMPLES
@given(data=st.data())
def test_both_drivers_give_the_same_trace(policy: str, data: st.DataObject) -> None:
    try:
        compare(**data.draw(cases(policy)))
    except TooLong:
        reject()
