"""How the paper's model can be understood, and what each understanding does to the times.

Section 4.1 tells the network in a few sentences: a generator of random graphs and its edge probabilities,
links with their bandwidth and delay, sizes of messages.  It leaves open how the probabilities go with the
sizes, whether nodes take time for a message, how a multicast travels, and which routes messages take.  Each
of these is a choice here, with what speaks for it.
"""

from __future__ import annotations

from typing import Any

from stablecast.papers.curves import INTERVALS, apart, columns_with_interval, panel, with_interval
from stablecast.papers.curves import curve as drawn
from stablecast.papers.hypercube.grid import FIRST, LAST, PROTOCOLS, QUEUE, Sample, curve, edge_probability
from stablecast.papers.hypercube.sizes import PAPER_FULLDIST_MS
from stablecast.papers.reading import Choice, Options, Reading
from stablecast.pipeline.runs import MissingRun, Runs
from stablecast.report.figure import Figure, Series
from stablecast.report.table import Table

PRINTED_PROBABILITIES = (0.01, 0.016, 0.022, 0.028, 0.034, 0.04)
"""One for each of six graphs."""
HOST_US = 40.0
"""Ours: the paper prints no time of a node."""
_ON_GRAPHS = "random-graph"

FREE_HOSTS = Choice(
    "nodes take no time for a message",
    "4.1 gives bandwidth and delay of links and no cost of a node, and counts the messages that wait for"
    " links",
)
ONE_BY_ONE = Choice(
    "a multicast is a message to each member",
    "4.2.1 and 3.4 have each node of FullDist send O(n) messages, O(n²) in all; section 2 builds on delivery"
    " from one node to another",
)
DEGREE_4 = Choice(
    "a mean degree of 4 at every size",
    "4.1 prints edge probabilities from 0.01 to 0.04 and does not say which size has which; a mean degree of"
    " 4 gives these at 400 to 100 nodes, and times that grow as in 4.2.1",
)
BY_HOPS = Choice(
    "routes of fewest hops",
    "4.1 names the simulator ns, in which a link costs 1 unless a script says otherwise",
)
PASSED_ON = Choice(
    "START and INFO of S_Coord are passed on along its tree",
    "4.2.2 has each node of S_Coord send and receive log n messages, and its queues short",
)
HOSTS = Choice(
    f"a node takes {HOST_US:g} µs to send a message and as much to receive one",
    "4.2.1 speaks of long queues at all nodes, at the coordinator too, and of nodes as well as links that are"
    " heavily used; 3.4 of loaded nodes that slow a protocol down; 4.1 takes the number of messages for the"
    " load of processors; the time itself is ours",
)
BY_NETWORK = Choice(
    "a multicast is one message, copied by the network",
    "the figures with the protocols multicast START and INFO in one line; 4.2.3 says that most messages go to"
    " the parent or the coordinator, which they do only if a multicast is one message",
)
ONE_TREE = Choice(
    "one tree for all sources", "4.1 names no multicast routing; ns has one tree in both directions"
)
SOURCE_TREES = Choice(
    "a tree of shortest paths for each source",
    "4.1 names no multicast routing; ns's dense mode has such trees",
)


def _by_network(options: Options) -> Options:
    """Return the cast; cubefulldist tells a few neighbours, which is a message to each in any case."""
    return {} if options["protocol"] == "cubefulldist" else {"cast": "multicast"}


def _source_trees(options: Options) -> Options:
    cast = _by_network(options)
    return {**cast, "multicast_tree": "source"} if cast else {}


def _sparser(options: Options) -> Options:
    if options.get("topology") != _ON_GRAPHS:
        return {}
    return {"edge_probability": edge_probability(3.0, int(options["members"]))}


def _as_printed(options: Options) -> Options:
    if options.get("topology") != _ON_GRAPHS:
        return {}
    graph = int(options.get("seed", 0)) % len(PRINTED_PROBABILITIES)
    return {"edge_probability": PRINTED_PROBABILITIES[graph]}


_WITH_HOSTS = {"send_us": HOST_US, "send_us_per_byte": 0.0, "receive_factor": 1.0}
MAIN = Reading(
    name="free hosts, degree 4",
    about="Only links take time, graphs are equally sparse at all sizes, and a multicast is a message to"
    " each.",
    choices=(FREE_HOSTS, ONE_BY_ONE, DEGREE_4, BY_HOPS, PASSED_ON),
)
SPARSER = Reading(
    name="degree 3",
    about="As the main reading on sparser graphs, which come closest to FullDist's printed times.",
    choices=(
        Choice(
            "a mean degree of 3 at every size",
            "4.1, as for a mean degree of 4: the printed probabilities at 300 to 75 nodes",
        ),
    ),
    change=_sparser,
)
PRINTED = Reading(
    name="printed probabilities",
    about="As the main reading with the printed probabilities at every size: large graphs are dense.",
    choices=(
        Choice(
            "edge probabilities 0.01, 0.016, … 0.04, one for each of the six graphs of a size",
            "4.1 has the probability vary from 0.01 to 0.04 and each protocol run on six graphs",
        ),
    ),
    change=_as_printed,
)
HOSTS_BY_NETWORK = Reading(
    name="hosts, multicast",
    about="Nodes take time for each message, and the network copies a multicast.",
    choices=(HOSTS, BY_NETWORK, ONE_TREE),
    options=_WITH_HOSTS,
    change=_by_network,
)
HOSTS_ONE_BY_ONE = Reading(
    name="hosts, one by one",
    about="Nodes take time for each message, also for each message of a multicast.",
    choices=(HOSTS, ONE_BY_ONE),
    options=_WITH_HOSTS,
)
FREE_BY_NETWORK = Reading(
    name="multicast, one tree",
    about="As the main reading, but the network copies a multicast along one tree.",
    choices=(BY_NETWORK, ONE_TREE),
    change=_by_network,
)
FREE_SOURCE_TREES = Reading(
    name="multicast, source trees",
    about="As the main reading, but the network copies a multicast along its source's tree.",
    choices=(BY_NETWORK, SOURCE_TREES),
    change=_source_trees,
)
LEAST_DELAY = Reading(
    name="least delay",
    about="As the main reading with routes of least delay.",
    choices=(
        Choice("routes of least delay", "4.1 has links of different delays and names no cost of links"),
    ),
    options={"routes": "delay"},
)
READINGS = (
    MAIN,
    SPARSER,
    PRINTED,
    HOSTS_BY_NETWORK,
    HOSTS_ONE_BY_ONE,
    FREE_BY_NETWORK,
    FREE_SOURCE_TREES,
    LEAST_DELAY,
)
_AT_THE_PROCESSOR = (
    "Where hosts take time, the coordinator's processor makes coord slow, and it takes the same time on every"
    " graph. coord depends on the graph (C6) where its links are the bottleneck, few or many. With routes of"
    " least delay its links make it slow enough, and fulldist then depends on the graph as much as coord."
)
EXCLUSIONS = {
    (
        "C5e",
        "C5h",
    ): "With free hosts coord's INFO waits for the coordinator's links as long as its ACKs do, so"
    " that its last member knows twice as late as its first (against C5h). Only this wait makes coord's last"
    " member later than cubefulldist's (C5e): to its first member coord is the faster one.",
    ("C5e", "C6"): _AT_THE_PROCESSOR,
    ("C5i", "C6"): _AT_THE_PROCESSOR,
}
_DRAWN = (SPARSER, MAIN, PRINTED, HOSTS_BY_NETWORK, HOSTS_ONE_BY_ONE, FREE_BY_NETWORK)
_SHOWN = (100, 150, 400, 1000, 1900)


def _curve(runs: Runs, reading: Reading, protocol: str) -> list[Sample]:
    """Return what was run of a protocol under a reading; nothing if nothing was."""
    try:
        return curve(reading.of(runs), protocol)
    except MissingRun:
        return []


def readings(runs: Runs) -> Table:
    """Times and queues of every reading."""
    rows: list[tuple[Any, ...]] = []
    for reading in READINGS:
        for protocol in PROTOCOLS:
            for each in _curve(runs, reading, protocol):
                if each.members in _SHOWN:
                    cells = [with_interval(each.estimate(index)) for index in (FIRST, LAST, QUEUE)]
                    rows.append((reading.name, protocol, each.members, *sum(cells, ())))
    if not rows:
        raise MissingRun("no run of any reading was made")
    told = [f"{name} × {far:.2f}" for name, far in _distances(runs).items()]
    return Table(
        key="readings",
        title="What the readings of the model do to times and queues",
        columns=(
            "reading",
            "protocol",
            "n",
            *columns_with_interval(index.label for index in (FIRST, LAST, QUEUE)),
        ),
        rows=tuple(rows),
        note=f"Farthest from the four times of fulldist that the paper prints: {', '.join(told)}.",
    )


def _distances(runs: Runs) -> dict[str, float]:
    """Return, by reading, the largest factor between fulldist's times and those that the paper prints."""
    found = {}
    for reading in READINGS:
        made = {each.members: each for each in _curve(runs, reading, "fulldist")}
        if made.keys() >= PAPER_FULLDIST_MS.keys():
            found[reading.name] = max(
                apart(made[n].mean(index), paper)
                for n, printed in PAPER_FULLDIST_MS.items()
                for index, paper in zip((FIRST, LAST), printed, strict=True)
            )
    return found


TABLES = (readings,)


def _line(runs: Runs, reading: Reading, protocol: str) -> Series:
    samples = _curve(runs, reading, protocol)
    return drawn(protocol, [(each.members, each.estimate(LAST)) for each in samples])


def figure_readings(runs: Runs) -> Figure:
    """The last member's time under six readings."""
    made = [reading for reading in _DRAWN if _curve(runs, reading, "coord")]
    if not made:
        raise MissingRun("no run of any reading was made")
    panels = [
        panel(
            f"({letter}) {reading.name}",
            LAST.label,
            [_line(runs, reading, protocol) for protocol in PROTOCOLS],
            log_x=True,
        )
        for letter, reading in zip("ABCDEF", made, strict=False)
    ]
    return Figure(
        key="readings",
        title="What the readings of the model do",
        caption="Round-trip time of the last member. (A, B) With a fixed mean degree times grow with n; (B)"
        " is the reading of all other figures. (C) With the printed probabilities at every size they fall,"
        f" since large graphs are dense. (D, E) Nodes take {HOST_US:g} µs for each message. (F) The network"
        f" copies a multicast. {INTERVALS}",
        panels=tuple(panels),
    )


FIGURES = (figure_readings,)
