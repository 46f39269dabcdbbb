"""The ways in which section 6's simulations can be understood.

The section says that bimodal multicast was simulated with and without the buffering optimisation, and names
networks, rates and losses.  It leaves open which parts of section 5 were there, in which direction gossip
repairs, how C was found at high loss, and, since its drawing is lost, what the tree looks like.  Each reading
decides these in one way for the whole paper.  C follows from the network of a run: where a reading changes
the network it changes C too.
"""

from __future__ import annotations

from stablecast.papers.buffering.networks import HASHED, TREE, copies, network_of, shape
from stablecast.papers.buffering.places import PLAY
from stablecast.papers.reading import Choice, Options, Reading

MULTICAST_AGAIN = Choice(
    "what two members both lack is multicast again, by its sender or, if that has not kept it, by a bufferer",
    "section 6: the simulated bimodal multicast has a multicast retransmission like that of section 5, with"
    " the optimisation and without; section 4: who has not kept a message turns to a bufferer",
)
LONG_TERM = Choice(
    "with the optimisation the bufferers alone keep a message",
    "section 6: the optimised protocol's space falls with the group's size; section 8: by n/C",
)
BY_EQUATION = Choice(
    "C is the smallest with P_fail of 0.1 % by equation (3), for the loss of a path of mean length",
    "section 6: C is set by the link loss and the number of members, by equation (3)",
)
BINARY = Choice(
    "a binary tree filled level by level, with a member on every node and the sender at the root",
    "section 6: a pure tree with the sender at its root; Figure 1 (a) is lost, and on such a tree C is 5.9",
)
ASKING = Choice(
    "members ask for what another one's gossip has, and are sent nothing else",
    "section 2: who hears of what it lacks may ask for it",
)
WIDE = 4


def _with_two_buffers(options: Options) -> Options:
    return {"policy": "two-buffers"} if options.get("policy") == HASHED else {}


def _has_c_of_network(options: Options) -> bool:
    """Tell whether a run has a C that follows from a network."""
    return "link_loss" in options and "copies" in options


def _exact_copies(options: Options) -> Options:
    if not _has_c_of_network(options):
        return {}
    kind, members, loss, seed, children = network_of(options)
    return {"copies": copies(kind, members, loss, seed, children, exact=True)}


def _wide(options: Options) -> Options:
    if options.get("topology", TREE) != TREE:
        return {}
    _, members, loss, _, _ = network_of(options)
    changed = shape(TREE, members, WIDE)
    if "copies" in options:
        changed["copies"] = copies(TREE, members, loss, children=WIDE)
    return changed


MAIN = Reading(
    name="multicast again",
    about="Only bufferers keep a message, and what several lack is multicast again.",
    choices=(MULTICAST_AGAIN, LONG_TERM, BY_EQUATION, BINARY, ASKING),
)
READINGS = (
    MAIN,
    Reading(
        name="repairs alone",
        about="As the main reading, and nothing is multicast a second time.",
        choices=(
            Choice(
                "nothing is multicast again",
                "sections 3 and 4 have the optimisation and its P_fail without it; section 5 adds it",
            ),
        ),
        options={"no_recast": True},
        tasks=(PLAY,),
    ),
    Reading(
        name="two buffers",
        about="As the main reading, with a short-term buffer at every member.",
        choices=(
            Choice(
                "with the optimisation everyone keeps a message for 3 rounds, and bufferers for all",
                "section 5: the improvement has two parts, a short-term buffer and multicast retransmission,"
                " and its gains come from both together",
            ),
        ),
        change=_with_two_buffers,
        tasks=(PLAY,),
    ),
    Reading(
        name="push too",
        about="As the main reading, and members send what another one's gossip lacks.",
        choices=(
            Choice(
                "who hears gossip that lacks something sends it at once, if it has kept it",
                "section 2: who hears gossip may update its sender, or ask it",
            ),
        ),
        options={"no_push": False},
        tasks=(PLAY,),
    ),
    Reading(
        name="C by the tree",
        about="As the main reading, with the C for which 0.1 % of messages fail with losses as they are.",
        choices=(
            Choice(
                "C by the exact P_fail of the network, in which a lost link loses a message for all below it",
                "section 3: losses are not independent, so that C depends on n, as section 6 is to show;"
                " section 6: C of 9 at 1.5 %, which equation (3) does not give",
            ),
        ),
        change=_exact_copies,
        tasks=(PLAY,),
    ),
    Reading(
        name="wide tree",
        about=f"As the main reading on a tree with {WIDE} children for each node.",
        choices=(
            Choice(
                f"a tree with {WIDE} children, filled level by level",
                "section 6: a pure tree; its drawing, Figure 1 (a), is lost",
            ),
        ),
        change=_wide,
        tasks=(PLAY,),
    ),
)
EXCLUSIONS: dict[tuple[str, str], str] = {}
