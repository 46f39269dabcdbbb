"""Section 6: the buffer never overflows when the protocol starts at X messages, and does at X + 1."""

from __future__ import annotations

from fractions import Fraction

from stablecast.pipeline.experiments.table import Table
from stablecast.simulate import Result, Setup, Traffic, Trigger, simulate, topology
from stablecast.theory import (
    printed_trigger_optimum,
    simulate_trigger,
    stability_tests,
    sustainable,
    trigger_optimum,
    trigger_optimum_messages,
)

PROTOCOLS = ("coordp", "s_coordp", "s_train")
BUFFER = 24
MESSAGES = 200
RATE_PER_S = 120
SENDERS = 8


def run(protocol: str, threshold: int, *, buffer: int = BUFFER) -> Result:
    """Run data traffic with the trigger at ``threshold`` messages in the first member's buffer."""
    return simulate(
        Setup(
            protocol=protocol,
            topology=topology("tree", degree=3, height=4, fill=3),
            senders=SENDERS,
            traffic=Traffic(messages=MESSAGES, rate_per_s=RATE_PER_S, buffer=buffer, data_bytes=200),
            trigger=Trigger(kind="pressure", threshold=threshold),
        )
    )


def trigger_on_network() -> Table:
    """With FIFO data (alpha = 1) on the simulated network, f(r) measured under the same load."""
    rows = []
    holds = True
    for protocol in PROTOCOLS:
        roomy = run(protocol, BUFFER // 2, buffer=8 * BUFFER)
        rtt_s = Fraction(round(roomy.round_trip_max_us * 1_000_000), 10**12)
        optimum = trigger_optimum_messages(BUFFER, RATE_PER_S, rtt_s, 1)
        assert optimum is not None
        at, beyond = run(protocol, optimum), run(protocol, optimum + 1)
        assert at.traffic is not None and beyond.traffic is not None
        holds &= at.traffic.first_blocked == 0 and beyond.traffic.first_blocked > 0
        rows.append(
            (
                protocol,
                round(float(rtt_s) * 1000, 2),
                optimum,
                at.traffic.first_buffer_max,
                at.traffic.first_blocked,
                beyond.traffic.first_blocked,
                round(stability_tests(MESSAGES, 1, optimum), 1),
                at.executions,
            )
        )
    why = "never full at X, full at X + 1, for every protocol" if holds else "X is not the limit"
    return Table(
        key="trigger",
        title=f"Trigger on the network (g = {BUFFER}, r = {RATE_PER_S}/s, K = {MESSAGES}, alpha = 1)",
        columns=("protocol", "f [ms]", "X", "buffer most", "full at X", "full at X+1", "T(X)", "tests"),
        rows=rows,
        verdicts={"H9 (network)": (holds, why)},
        exact=True,
    )


def trigger_model() -> Table:
    """The paper's own model with a share of messages not yet stable after a round."""
    rows: list[tuple[object, ...]] = []
    holds = True
    for alpha in (Fraction(1), Fraction(3, 4), Fraction(1, 2), Fraction(1, 4)):
        buffer, rate, rtt = 200, Fraction(1), Fraction(81, 2)
        optimum = trigger_optimum_messages(buffer, rate, rtt, alpha)
        bound = trigger_optimum(buffer, rate, rtt, alpha)
        printed = printed_trigger_optimum(buffer, rate, rtt, alpha)
        if optimum is None:
            safe = any(not _overflows(buffer, rate, rtt, alpha, x) for x in range(1, buffer + 1))
            holds &= not safe
            rows.append((float(alpha), printed, bound, "none", "always", "always"))
            continue
        at, beyond = (_overflows(buffer, rate, rtt, alpha, x) for x in (optimum, optimum + 1))
        holds &= not at and beyond and sustainable(buffer, rate, rtt, alpha)
        rows.append((float(alpha), printed, bound, optimum, _word(at), _word(beyond)))
    return Table(
        key="trigger_model",
        title="Trigger in the paper's model (g = 200, Q = rf = 40.5)",
        columns=("alpha", "X printed (max)", "X right (min)", "X whole", "overflow at X", "overflow at X+1"),
        rows=rows,
        verdicts={
            "H9 (model)": (holds, "the largest X that never overflows; the print takes the larger bound")
        },
        exact=True,
    )


def _overflows(buffer: int, rate: Fraction, rtt: Fraction, alpha: Fraction, trigger: int) -> bool:
    return simulate_trigger(buffer, rate, rtt, alpha, trigger, 20_000).overflow


def _word(overflows: bool) -> str:
    return "yes" if overflows else "no"
