"""The ways in which section 5.1's network can be understood.

The section gives the time of a link, of a router and of a host for a message of u bytes.  It leaves open
whether a message of 4n bytes travels as one piece, what a host or a router does when several messages are
there at a time, and where in a router's range of times the simulated one lies.  Each reading decides these
in one way for the whole paper.
"""

from __future__ import annotations

from stablecast.papers.reading import Choice, Reading

HOSTS_SERIAL = Choice(
    "A host has one processor, which sends and receives one message after the other.",
    "Section 5.1: members run on processors of their own, and sending and receiving take the host a time that"
    " depends on the size. Section 5.4.2: a member that many messages come to is overloaded.",
)
WHOLE = Choice(
    "A message of any size travels as one piece.",
    "Section 5.1: the time on a link, and at a host, is a function of the whole message's size.",
)
ROUTERS_DELAY = Choice(
    "A router takes 1 ms for a message, and any number of messages at a time.",
    "Section 5.1: a message spends 1 ms in a router; nothing is said of waiting there.",
)
ON_TREE = Choice(
    "A multicast is copied at each node of the tree of the network.",
    "Section 5.2: a multicast is sent along a spanning tree that is the network's own tree.",
)
LINK_LAYERS = "Section 5.1: the links could be Fast Ethernet, FDDI or ATM"
PACKETS_1500 = Choice(
    "Messages are cut into packets of at most 1,500 bytes, each with a header and a host's time of its own.",
    f"{LINK_LAYERS}, and Ethernet carries at most 1,500 bytes at a time.",
)
PACKETS_9180 = Choice(
    "Messages are cut into packets of at most 9,180 bytes, each with a header and a host's time of its own.",
    f"{LINK_LAYERS}; 9,180 bytes is the usual packet over ATM, the largest of the three.",
)
HOSTS_PER_LINK = Choice(
    "A host has a processor for each of its links, so that its children's ACKs do not wait for each other.",
    "Section 5.4.2: the time of S_CoordP is that of the way down and up, in proportion to the height, as if"
    " a node took the ACKs of its b children in no more time than one.",
)
HOSTS_DELAY = Choice(
    "A host takes its time for each message, and any number of messages at a time.",
    "Section 5.1: times of hosts are given in the same way as those of routers, without a word on waiting.",
)
ROUTERS_SERIAL = Choice(
    "A router takes 1 ms for a message, one message after the other.",
    "Section 5.4.2: nodes near the root are overloaded by the ACKs that pass through them.",
)
ROUTERS_SLOW = Choice(
    "A router takes 10 ms for a message.",
    "Section 5.1, footnote 3: routers take from 1 to 10 ms.",
)
HOSTS_FREE = Choice(
    "Hosts take no time.",
    "Section 5.4.2: the times of Train and S_Train are explained by hops alone.",
)

MAIN = Reading(
    name="serial hosts",
    about="Hosts are serial, messages whole, routers a delay of 1 ms.",
    choices=(HOSTS_SERIAL, WHOLE, ROUTERS_DELAY, ON_TREE),
)
READINGS = (
    MAIN,
    Reading(
        name="packets of 1,500 B",
        about="As main, but messages are cut into packets of Ethernet's size.",
        choices=(HOSTS_SERIAL, PACKETS_1500, ROUTERS_DELAY, ON_TREE),
        options={"mtu_bytes": 1_500},
    ),
    Reading(
        name="packets of 9,180 B",
        about="As main, but messages are cut into packets of ATM's size.",
        choices=(HOSTS_SERIAL, PACKETS_9180, ROUTERS_DELAY, ON_TREE),
        options={"mtu_bytes": 9_180},
    ),
    Reading(
        name="processor per link",
        about="As main, but a host has a processor for each link.",
        choices=(HOSTS_PER_LINK, WHOLE, ROUTERS_DELAY, ON_TREE),
        options={"host_model": "per-link"},
    ),
    Reading(
        name="per link, 9,180 B",
        about="A host has a processor for each link, and messages are cut into packets of ATM's size.",
        choices=(HOSTS_PER_LINK, PACKETS_9180, ROUTERS_DELAY, ON_TREE),
        options={"host_model": "per-link", "mtu_bytes": 9_180},
    ),
    Reading(
        name="hosts as delay",
        about="As main, but hosts let nothing wait.",
        choices=(HOSTS_DELAY, WHOLE, ROUTERS_DELAY, ON_TREE),
        options={"host_model": "delay"},
    ),
    Reading(
        name="routers serial",
        about="As main, but routers forward one message after the other.",
        choices=(HOSTS_SERIAL, WHOLE, ROUTERS_SERIAL, ON_TREE),
        options={"router": "serial"},
    ),
    Reading(
        name="routers of 10 ms",
        about="As main, but with the slowest routers of the paper's range.",
        choices=(HOSTS_SERIAL, WHOLE, ROUTERS_SLOW, ON_TREE),
        options={"router_us": 10_000.0},
    ),
    Reading(
        name="hosts free",
        about="As main, but hosts take no time.",
        choices=(HOSTS_FREE, WHOLE, ROUTERS_DELAY, ON_TREE),
        options={"send_us": 0.0, "send_us_per_byte": 0.0},
    ),
)
"""The main reading first."""
