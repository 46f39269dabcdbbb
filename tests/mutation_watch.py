"""Runs that every kernel must pass; exits 1 with the reason when the checkers notice something.

Started by ``test_mutations.py`` on a copy of the package in which one kernel was broken by hand.
"""

import sys
from pathlib import Path

import stablecast
from stablecast.errors import SafetyViolation
from stablecast.simulate import Setup, Traffic, Trigger, costs, simulate, topology
from stablecast.simulate.options import Options
from stablecast.testing.reference.driver import run_plain

sys.path.append(str(Path(__file__).parent / "protocols"))
from channel_groups import PROTOCOLS as ACKNOWLEDGING
from channel_groups import play, told_at_different_times

SEEDS = 16
"""Random groups of acknowledging protocols; every mutation of theirs is noticed within the first dozen.

Graphs with losses, crashes and connections take few seeds too: the first or the second notices each mutation.
An unbroken run is over in less than half, and for gossip a quarter, of the time that it may take.
"""
SHAPES = [(2, 2, 2), (3, 2, 1), (1, 3, 1)]


def watch(protocol):
    from stablecast.papers.hierarchical.theory import hops  # with all of the pipeline; others do without

    for shape in SHAPES:
        built = topology("tree", degree=shape[0], height=shape[1], fill=shape[2])
        result = simulate(
            Setup(protocol=protocol, topology=built, trigger=Trigger(executions=2), until_ms=1000)
        )
        if not result.completed:
            return "a member does not know all that is stable"
        if result.hops != {kind: 2 * count for kind, count in hops(protocol, *shape).items()}:
            return "hops differ from the closed form"
    built = topology("tree", degree=2, height=2)
    for more in ({}, {"data_loss": 0.2}):
        setup = Setup(
            protocol=protocol,
            topology=built,
            costs=costs("lan1997", router="serial"),
            traffic=Traffic(messages=6, rate_per_s=60, **more),
            trigger=Trigger(kind="periodic", period_ms=30, retry_ms=400),
            seed=3,
            until_ms=3000,
        )
        blocks = []
        result = simulate(setup, trace=blocks.append, wire_log=True)
        if not result.completed:
            return "data does not become stable"
        if [tuple(row) for block in blocks for row in block.tolist()] != list(run_plain(setup).events):
            return "the two drivers differ"
    return ""


def watch_gossip(name):
    params = {"step_s": 0.05}
    if name == "gsgc-local":
        params |= {"local_size": 3, "controllers": 2, "controller_step_s": 0.05}
    else:
        params["share"] = "piggyback"
    for more in ({"trigger": Trigger(executions=3)}, {"traffic": Traffic(messages=6, data_loss=0.1)}):
        for members in (4, 9):
            setup = Setup(
                protocol=name,
                topology=topology("balanced", members=members),
                params=params,
                seed=members,
                until_ms=5000,
                **more,
            )
            problem = differs_or_stalls(setup)
            if problem:
                return problem
    return ""


def watch_on_lossy_graphs(name):
    """Several executions where nothing is lost; and with losses, duplicates, late messages and resends."""
    protocol = name.removesuffix("-lossy")
    pause = {"pause_ms": 4.0} if protocol == "cubefulldist" else {}
    for seed in range(2):
        for more in ({}, {"link_loss": 0.2, "duplicate": 0.2, "reorder": 0.3, "resend_ms": 8.0}):
            options = Options(
                protocol=protocol,
                topology="random-graph",
                members=(9, 14)[seed % 2],
                edge_probability=0.3,
                executions=3,
                seed=seed,
                until_ms=1000.0,
                **more,
                **pause,
            )
            problem = differs_or_stalls(options.setup())
            if problem:
                return problem
    return ""


def watch_survivors(name):
    """Losses, resends, and a member, a leaf of any tree, that is gone from the start or soon."""
    protocol = name.removesuffix("-crash")
    for seed in range(3):
        setup = Options(
            protocol=protocol,
            topology="random-graph",
            members=(9, 14)[seed % 2],
            edge_probability=0.3,
            executions=3,
            seed=seed,
            until_ms=1000.0,
            link_loss=0.1,
            resend_ms=8.0,
            faults=f"crash {(8, 13)[seed % 2]} at {(0, 0.5, 2)[seed % 3]}",
            detect_ms=5.0,
        ).setup()
        problem = differs_or_stalls(setup)
        if problem:
            return problem
    return ""


def watch_successors(name):
    """The first members crash, and each of those that are left is told at a time of its own."""
    protocol = name.removesuffix("-succession")
    for seed in range(8):
        setup = Options(
            protocol=protocol,
            topology="random-graph",
            members=(9, 14)[seed % 2],
            edge_probability=0.3,
            executions=2,
            seed=seed,
            until_ms=3000.0,
            cast=("unicast", "relay")[seed // 2 % 2] if protocol == "s_coord" else None,
            faults=("crash 1 at 0.4", "crash 0 at 0.3; crash 1 at 1.4", "crash 1,2 at 1.2", "crash 0-2 at 1")[
                seed % 4
            ],
            detect_ms=0.2,
            detect_spread_ms=2.0,
        ).setup()
        problem = differs_or_stalls(setup)
        if problem:
            return problem
    return ""


def watch_gossip_members(name):
    """One member crashes, and nobody else is ever taken for gone."""
    for seed in range(2):
        setup = Options(
            protocol="gsgc",
            topology="balanced",
            members=(5, 16)[seed % 2],
            step_s=0.05,
            subgroup=1,
            share="both",
            threshold_steps=20,
            messages=6,
            senders=2,
            faults="crash 3 at 200",
            seed=seed,
            until_ms=5000.0,
        ).setup()
        problem = differs_or_stalls(setup, suspicions_max=0)
        if problem:
            return problem
    return ""


def differs_or_stalls(setup, *, suspicions_max=None):
    """Run a set-up both ways; return what is wrong."""
    blocks = []
    result = simulate(setup, trace=blocks.append, wire_log=True)
    if not result.completed:
        return "an execution does not end, or data does not become stable"
    if suspicions_max is not None and result.false_suspicions > suspicions_max:
        return f"{result.false_suspicions} times a member was taken for gone that is not"
    if [tuple(row) for block in blocks for row in block.tolist()] != list(run_plain(setup).events):
        return "the two drivers differ"
    return ""


def watch_acknowledging(name):
    """Random groups on random channels, with members that go for a name that ends so."""
    protocol, _, crash = name.partition("-")
    if crash:
        told_at_different_times().run(2000)
    for seed in range(SEEDS):
        played = play(protocol, seed, whole=seed % 3 > 0, crashes=bool(crash))
        if played.unstable():
            return f"data does not become stable (seed {seed}): {played.unstable()[0]}"
    return ""


def watch_bimodal(name):
    """Small groups with losses, all or none; with bufferers, nobody else keeps anything."""
    for seed in range(8):
        policy = ("until-stable", "bufferers", "two-buffers", "rounds")[seed % 4]
        options = Options(
            protocol="bimodal",
            topology="balanced",
            costs="links-only",
            policy=policy,
            members=8,
            copies=4.0,
            messages=20,
            rate_per_s=100.0,
            link_loss=0.05,
            send_omission=0.1,
            seed=seed,
            until_ms=20_000.0,
        )
        result = simulate(options.setup())
        found = result.delivery
        if not result.completed:
            return "a run does not end"
        if found.violations > (0 if policy in ("until-stable", "rounds") else 1):
            return f"neither all nor none: {found.violations} messages with {policy}"
        if found.deliveries > 8 * 20:
            return "something is delivered twice"
        if policy == "bufferers" and not 2 < found.places_mean < 6:
            return f"kept by {found.places_mean} members"
        if policy == "bufferers" and found.repairs and not found.forwards:
            return "no request is passed on"
        if policy == "two-buffers" and found.omitted and not found.recasts:
            return "nothing is multicast again"
    return ""


def watch_connections(name):
    """Receivers connect and disconnect, under loss and delay, by seeds with which that is dangerous."""
    for seed in (1, 10):
        setup = Options(
            protocol=name.removesuffix("-connect"),
            topology="balanced",
            members=8,
            senders=3,
            receivers=3,
            messages=15,
            rate_per_s=30.0,
            ack_to="senders",
            connects_per_s=50.0,
            connected_ms=400.0,
            link_loss=0.1,
            reorder=0.3,
            detour_us=150_000.0,
            seed=seed,
            until_ms=10_000.0,
        ).setup()
        if not simulate(setup).completed:
            return "data does not become stable, or a receiver is never let in"
    return ""


def watcher(name):
    if name == "bimodal":
        return watch_bimodal
    if name.endswith("-connect"):
        return watch_connections
    if name.partition("-")[0] in ACKNOWLEDGING:
        return watch_acknowledging
    if name == "gsgc-crash":
        return watch_gossip_members
    if name.startswith("gsgc"):
        return watch_gossip
    if name.endswith("-crash"):
        return watch_survivors
    if name.endswith("-succession"):
        return watch_successors
    lossy = name.endswith("-lossy") or name in ("cubefulldist", "coord", "s_coord")
    return watch_on_lossy_graphs if lossy else watch


if __name__ == "__main__":
    try:
        noticed = watcher(sys.argv[1])(sys.argv[1])
    except (SafetyViolation, IndexError) as error:
        noticed = f"{type(error).__name__}: {error}"
    print(noticed or f"nothing noticed in {Path(stablecast.__file__).parent}")
    sys.exit(1 if noticed else 0)
