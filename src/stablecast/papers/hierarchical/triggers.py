"""Section 6: the buffer never overflows when the protocol starts at X messages, and does at X + 1."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from stablecast.papers.hierarchical.theory import printed_trigger_optimum
from stablecast.papers.paper import Claim, Judgement
from stablecast.pipeline.point import Point, task_point
from stablecast.pipeline.runs import Runs
from stablecast.pipeline.tasks import Outcome
from stablecast.report.table import Table
from stablecast.simulate import Result, simulate
from stablecast.simulate.options import Options
from stablecast.theory import (
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
ALPHAS = (1.0, 0.75, 0.5, 0.25)
MODEL_BUFFER, MODEL_RATE, MODEL_RTT = 200, Fraction(1), Fraction(81, 2)
NETWORK_TASK = f"{__name__}:run_on_network"
MODEL_TASK = f"{__name__}:run_model"


def on_network(protocol: str) -> Point:
    """Return the measurement of X for one protocol on the simulated network."""
    return task_point(NETWORK_TASK, protocol=protocol)


def in_model(alpha: float) -> Point:
    """Return the check of X in the paper's model for one share of messages stable after a round."""
    return task_point(MODEL_TASK, alpha=alpha)


def points(full: bool) -> list[Point]:
    """Return both for every protocol and share."""
    return [on_network(protocol) for protocol in PROTOCOLS] + [in_model(alpha) for alpha in ALPHAS]


def pressed(protocol: str, threshold: int, *, buffer: int = BUFFER, **more: Any) -> Options:
    """Return data traffic with the trigger at ``threshold`` messages in the first member's buffer."""
    return Options(
        protocol=protocol,
        degree=3,
        height=4,
        fill=3,
        senders=SENDERS,
        messages=MESSAGES,
        rate_per_s=RATE_PER_S,
        buffer=buffer,
        data_bytes=200,
        trigger="pressure",
        threshold=threshold,
        **more,
    )


def _run(protocol: str, threshold: int, *, buffer: int = BUFFER) -> Result:
    return simulate(pressed(protocol, threshold, buffer=buffer).setup())


def run_on_network(protocol: str) -> Outcome:
    """Measure f(r) under load with room to spare, derive X, and run at X and at X + 1."""
    roomy = _run(protocol, BUFFER // 2, buffer=8 * BUFFER)
    rtt_s = Fraction(round(roomy.round_trip_max_us * 1_000_000), 10**12)
    optimum = trigger_optimum_messages(BUFFER, RATE_PER_S, rtt_s, 1)
    assert optimum is not None
    at, beyond = _run(protocol, optimum), _run(protocol, optimum + 1)
    assert at.traffic is not None and beyond.traffic is not None
    return Outcome(
        at,
        {
            "rtt_ms": float(rtt_s) * 1000,
            "optimum": optimum,
            "buffer_max": at.traffic.first_buffer_max,
            "full_at": at.traffic.first_blocked,
            "full_beyond": beyond.traffic.first_blocked,
            "tests_expected": stability_tests(MESSAGES, 1, optimum),
            "tests": at.executions,
        },
    )


def run_model(alpha: float) -> Outcome:
    """Check X in the paper's own model, where a share of messages is not yet stable after a round."""
    share = Fraction(alpha).limit_denominator(100)
    told = (MODEL_BUFFER, MODEL_RATE, MODEL_RTT, share)
    optimum = trigger_optimum_messages(*told)
    extra = {"printed": float(printed_trigger_optimum(*told)), "bound": float(trigger_optimum(*told))}
    if optimum is None:
        safe = any(not _overflows(share, x) for x in range(1, MODEL_BUFFER + 1))
        return Outcome(extra=extra | {"any_safe": float(safe)})
    at, beyond = (_overflows(share, x) for x in (optimum, optimum + 1))
    found = {"optimum": float(optimum), "overflow_at": float(at), "overflow_beyond": float(beyond)}
    return Outcome(extra=extra | found | {"sustainable": float(sustainable(*told))})


def _overflows(share: Fraction, trigger: int) -> bool:
    return simulate_trigger(MODEL_BUFFER, MODEL_RATE, MODEL_RTT, share, trigger, 20_000).overflow


def trigger_on_network(runs: Runs) -> Table:
    """With FIFO data (alpha = 1) on the simulated network, f(r) measured under the same load."""
    rows = []
    for protocol in PROTOCOLS:
        extra = runs[on_network(protocol)].extra
        whole = (int(extra[key]) for key in ("optimum", "buffer_max", "full_at", "full_beyond"))
        expected = round(extra["tests_expected"], 1)
        rows.append((protocol, round(extra["rtt_ms"], 2), *whole, expected, int(extra["tests"])))
    return Table(
        key="trigger",
        title=f"Trigger on the network (g = {BUFFER}, r = {RATE_PER_S}/s, K = {MESSAGES}, alpha = 1)",
        columns=("protocol", "f [ms]", "X", "buffer most", "full at X", "full at X+1", "T(X)", "tests"),
        rows=tuple(rows),
    )


def trigger_model(runs: Runs) -> Table:
    """The paper's own model with a share of messages not yet stable after a round."""
    rows: list[tuple[Any, ...]] = []
    for alpha in ALPHAS:
        extra = runs[in_model(alpha)].extra
        bounds = (round(extra["printed"], 1), round(extra["bound"], 1))
        if "optimum" in extra:
            words = (_word(extra["overflow_at"]), _word(extra["overflow_beyond"]))
            rows.append((alpha, *bounds, str(int(extra["optimum"])), *words))
        else:
            rows.append((alpha, *bounds, "none", "always", "always"))
    return Table(
        key="trigger_model",
        title="Trigger in the paper's model (g = 200, Q = rf = 40.5)",
        columns=("alpha", "X printed (max)", "X right (min)", "X whole", "overflow at X", "overflow at X+1"),
        rows=tuple(rows),
    )


def _word(overflows: float) -> str:
    return "yes" if overflows else "no"


TABLES = (trigger_on_network, trigger_model)


def _holds_in_model(extra: dict[str, float]) -> bool:
    if "optimum" not in extra:
        return not extra["any_safe"]
    return not extra["overflow_at"] and bool(extra["overflow_beyond"]) and bool(extra["sustainable"])


def judge_trigger(runs: Runs) -> Judgement:
    """H9."""
    network = [runs[on_network(protocol)].extra for protocol in PROTOCOLS]
    on_net = [extra["full_at"] == 0 and extra["full_beyond"] > 0 for extra in network]
    in_mod = [_holds_in_model(runs[in_model(alpha)].extra) for alpha in ALPHAS]
    return Judgement(
        paper="X = the larger bound",
        measured="X = the smaller bound",
        holds=all(on_net) and all(in_mod),
        why=f"never full at X and full at X + 1 for {sum(on_net)} of {len(on_net)} protocols on the network"
        f" and {sum(in_mod)} of {len(in_mod)} shares in the model; the print takes the larger of two bounds",
    )


CLAIMS = (
    Claim(
        id="H9",
        kind="exact",
        text="The best number X of buffered messages at which to start: the buffer never overflows at X, and"
        " does at X + 1.",
        judge=judge_trigger,
    ),
)
