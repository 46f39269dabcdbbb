"""The ways in which the simulations of the gossip paper can be understood.

Section 4 tells the network in a few sentences, and section 5 how local groups were made.  They leave open how
a tree of 200 or 1,000 nodes ends, which is no number of a full one, and whether local groups are those that
the scheme asks for or those that were simulated.
"""

from __future__ import annotations

from stablecast.papers.reading import Choice, Reading

BREADTH_FIRST = Choice(
    "the tree is filled breadth first, so that all inner nodes but the last have four neighbours",
    "section 4: a balanced bounded-degree tree where interior nodes all have degree four",
)
FOUR_NEIGHBOURS = Choice(
    "the degree of a node is the number of its neighbours, its parent among them",
    "section 4: in a randomly labelled tree a node has a degree of at most four with probability 0.98, which"
    " is true of neighbours",
)
PARALLEL_ROUTERS = Choice(
    "a router delays each message by 1 ms, any number at once",
    "section 4: the router processing time of a message is 1 ms; one at a time makes no difference on links"
    " that take 70 ms for a message (measured)",
)
FROM_THE_START = Choice(
    "a round's time counts from the start, at a random phase of every member's step",
    "section 4.1: from the start of the protocol to the first member that constructs S; section 3.1: starting"
    " points are scattered randomly during one step",
)
DRAWN = Choice(
    "local groups are drawn at random, and so are their controllers",
    "section 5: the group is randomly divided; in each local group 5 SCs are randomly chosen",
)
AT_ONCE = Choice(
    "all local groups gossip on the same network at once",
    "section 5: each member gossips to other members in its local group, and there is one network",
)
MAIN = Reading(
    name="breadth first",
    about="All inner nodes but the last have degree four; local groups are drawn and share the network.",
    choices=(BREADTH_FIRST, FOUR_NEIGHBOURS, PARALLEL_ROUTERS, FROM_THE_START, DRAWN, AT_ONCE),
)
READINGS = (
    MAIN,
    Reading(
        name="last level even",
        about="As the main reading, and the nodes of the last level are spread evenly over the one above.",
        choices=(
            Choice(
                "the last level is spread evenly, so that 39 inner nodes of 200 have degree two",
                "section 4: the tree is balanced",
            ),
        ),
        options={"spread_last": True},
    ),
    Reading(
        name="by location",
        about="As the main reading, and local groups are of members that are near each other.",
        choices=(
            Choice(
                "members of one branch of the tree form a local group",
                "section 5: the scheme divides the group according to the members' location on the network",
            ),
        ),
        options={"nearby": True},
    ),
)
