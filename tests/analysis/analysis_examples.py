"""Small traces whose tables were worked out by hand: what each rule of the analysis means."""

from analysis_plain import Event


def events_of(text):
    """Read `time kind member source seq bytes`; for a send `time send source seq bytes`, as it is short."""
    for words in (line.split() for line in text.strip().splitlines()):
        time_us, kind, member, *message = words
        if kind == "send":
            message = [member, *message]
        source, seq, size = (*message, None, None, None)[:3]
        yield Event("g", kind, member, source, seq and int(seq), int(time_us), size and int(size))


EXAMPLES = {
    "everybody has it, says so and lets it go": (
        """
        10 send a 1 100
        12 receive b a 1
        15 receive c a 1
        16 stable c a 1
        20 stable a a 1
        17 release a a 1
        21 release b a 1
        """,
        {
            "messages": [("a", 1, 100, 10, 15, "c", 3, 3, 16, 20, 17, 21)],
            "frontiers": [("a", 15, 1, 1)],
            "buffers": [("a", 1, 100, 7), ("b", 1, 100, 9), ("c", 1, 100, 6)],
            "laggards": [("c", 1, 3, 300)],
            "violations": [],
        },
    ),
    "of equally late ones the smallest name is the last": (
        """
        10 send b 1
        15 receive c b 1
        15 receive Z b 1
        """,
        {
            "messages": [("b", 1, None, 10, 15, "Z", 3, 3, None, None, None, None)],
            "laggards": [("Z", 1, 0, 0)],
        },
    ),
    "a sender alone is the last, and holds nothing back": (
        "10 send a 1 5",
        {"laggards": [("a", 1, 0, 0)], "buffers": [("a", 1, 5, 0)], "frontiers": [("a", 10, 1, 1)]},
    ),
    "a receipt at the moment of departure counts": (
        """
        10 send a 1
        20 receive b a 1
        20 leave b
        """,
        {
            "messages": [("a", 1, None, 10, 20, "b", 2, 2, None, None, None, None)],
            "buffers": [("a", 1, 0, 10), ("b", 0, 0, 0)],
            "violations": [],
        },
    ),
    "a receipt after the departure does not": (
        """
        10 send a 1
        20 fail b
        21 receive b a 1
        """,
        {
            "messages": [("a", 1, None, 10, 20, "b", 2, 1, None, None, None, None)],
            "buffers": [("a", 1, 0, 11)],
            "violations": [("receive_after_departure", "b", "a", 1, 21)],
        },
    ),
    "nobody has to receive in an empty stay": (
        """
        0 join a
        5 join b
        5 leave b
        5 send a 1
        """,
        {"messages": [("a", 1, None, 5, 5, "a", 1, 1, None, None, None, None)]},
    ),
    "who leaves at the moment of a sending does not have to receive; who joins then does": (
        """
        0 join a
        0 join b
        5 leave b
        5 join c
        5 send a 1
        """,
        {"messages": [("a", 1, None, 5, None, None, 2, 1, None, None, None, None)], "frontiers": []},
    ),
    "one that comes back is a new member": (
        """
        0 join a
        0 join b
        5 send a 1
        6 receive b a 1
        10 leave b
        20 join b
        25 receive b a 1
        26 receive b a 1
        30 send a 2
        40 stable a a 2
        """,
        {
            "messages": [
                ("a", 1, None, 5, 6, "b", 2, 2, 40, 40, None, None),
                ("a", 2, None, 30, None, None, 2, 1, 40, 40, None, None),
            ],
            "buffers": [("a", 2, 0, 35 + 10), ("b", 1, 0, 4 + 15)],
            "violations": [("duplicate", "b", "a", 1, 26), ("early_stable", "a", "a", 2, 40)],
        },
    ),
    "one that comes back at the moment of its departure is gone at once": (
        """
        0 join a
        0 join b
        10 leave b
        10 join b
        20 send a 1
        """,
        {"messages": [("a", 1, None, 20, 20, "a", 1, 1, None, None, None, None)]},
    ),
    "joining again while in the group changes nothing": (
        """
        0 join a
        0 join b
        5 receive b a 1
        7 send a 1
        8 join b
        9 receive b a 1
        """,
        {"violations": [("duplicate", "b", "a", 1, 9), ("receive_before_send", "b", "a", 1, 5)]},
    ),
    "one that never joined is no member, but may have departed": (
        """
        0 join a
        5 send a 1 7
        6 receive x a 1
        8 leave x
        9 receive x a 1
        """,
        {
            "messages": [("a", 1, 7, 5, 5, "a", 1, 1, None, None, None, None)],
            "buffers": [("a", 1, 7, 4), ("x", 1, 7, 2)],
            "violations": [("receive_after_departure", "x", "a", 1, 9)],
        },
    ),
    "a sender that has left contributes its end, before anything was sent": (
        """
        0 join a
        5 leave a
        9 send a 1
        """,
        {
            "messages": [("a", 1, None, 9, 5, "a", 1, 0, None, None, None, None)],
            "frontiers": [("a", 5, None, 1)],
            "buffers": [("a", 0, 0, 0)],
        },
    ),
    "the prefix stays before a gap": (
        """
        1 send a 1
        2 send a 2
        4 send a 4
        5 stable a a 3
        """,
        {
            "frontiers": [("a", 1, 1, 1), ("a", 2, 2, 2)],
            "violations": [("gap", "a", "a", 3, 4)],
        },
    ),
    "the prefix passes several messages at once, and counts from the first number": (
        """
        1 send a 1
        2 send a 2
        3 send a 3
        9 receive b a 1
        6 receive b a 2
        7 send b 2
        8 receive a b 2
        """,
        {
            "frontiers": [("a", 9, 3, 2)],
            "violations": [("gap", "b", "b", 1, 7)],
        },
    ),
    "all changes of a buffer at one instant are one": (
        """
        1 send a 1 10
        2 send a 2 20
        2 release a a 1
        4 send a 3 5
        3 release a a 3
        5 release a a 2
        6 release a a 2
        """,
        {"buffers": [("a", 1, 20, 1 + 3 + 0)]},
    ),
    "a source holds what it received of its own only if nobody sent it": (
        """
        1 send a 1 10
        5 receive a a 1
        5 receive a a 2
        9 leave b
        """,
        {"buffers": [("a", 2, 10, 8 + 4)], "violations": [("missing_send", "a", "a", 2, 5)]},
    ),
    "the one before the last decides how long it held": (
        """
        1 send a 1 10
        3 receive b a 1
        8 receive c a 1
        20 send a 2
        22 receive b a 2
        25 fail c
        """,
        {"laggards": [("c", 2, 5 + 3, 50)]},
    ),
    "claims and releases at the moment of stability are true": (
        """
        1 send a 1
        1 send a 2
        5 receive b a 1
        5 receive b a 2
        5 stable b a 2
        4 stable a a 1
        4 release b a 2
        5 release a a 2
        0 stable a a 0
        """,
        {
            "messages": [
                ("a", 1, None, 1, 5, "b", 2, 2, 4, 5, None, None),
                ("a", 2, None, 1, 5, "b", 2, 2, 5, 5, 4, 5),
            ],
            "violations": [("early_stable", "a", "a", 1, 4), ("early_release", "b", "a", 2, 4)],
        },
    ),
    "a member detects with its first claim that reaches far enough": (
        """
        0 join a
        0 join x
        0 join y
        1 send a 1
        2 send a 2
        3 send a 3
        9 stable x a 1
        7 stable x a 2
        5 stable y a 1
        """,
        {
            "messages": [
                ("a", 1, None, 1, None, None, 3, 1, 5, 7, None, None),
                ("a", 2, None, 2, None, None, 3, 1, 7, 7, None, None),
                ("a", 3, None, 3, None, None, 3, 1, None, None, None, None),
            ]
        },
    ),
    "claims of those that did not have to receive a message do not count, but the sender's do": (
        """
        0 join a
        0 join b
        1 send a 1
        2 receive b a 1
        3 send s 1
        5 leave b
        6 join b
        7 join c
        8 stable b a 1
        9 stable c a 1
        9 stable x a 1
        9 stable s s 1
        """,
        {
            "messages": [
                ("a", 1, None, 1, 2, "b", 2, 2, None, None, None, None),
                ("s", 1, None, 3, None, None, 3, 1, 9, 9, None, None),
            ]
        },
    ),
    "a message that nobody sent is named once, by the first event that names it": (
        """
        1 send a 1
        9 stable b a 7
        8 release c a 7
        8 receive b a 7
        3 stable b x 2
        4 receive a x 1
        """,
        {
            "violations": [
                ("early_stable", "b", "a", 7, 9),
                ("missing_send", "b", "a", 7, 8),
                ("missing_send", "a", "x", 1, 4),
            ],
            "frontiers": [],
        },
    ),
    "the earliest of several sends counts, with the largest size": (
        """
        5 send a 1 9
        3 send a 1
        3 send a 1 4
        2 send a 2 1
        """,
        {
            "messages": [
                ("a", 1, 9, 3, 3, "a", 1, 1, None, None, None, None),
                ("a", 2, 1, 2, 2, "a", 1, 1, None, None, None, None),
            ],
            "frontiers": [("a", 3, 2, 2)],
            "violations": [
                ("sent_again", "a", "a", 1, 3),
                ("sent_again", "a", "a", 1, 5),
                ("send_out_of_order", "a", "a", 2, 2),
            ],
        },
    ),
}
"""By what it shows: a trace, and the rows of some of its tables, without the group."""
