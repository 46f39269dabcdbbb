"""Random small histories of heads and positions, with all that may happen in them."""

import random

from positions_plain import Event

MEMBERS = ("ann", "bob", "cy", "Zoë")
SOURCES = ("log", "bob", "s")


def random_history(seed, group="g"):
    """Return the rows of one group in no order: equal times, jumps, repeats, going back, coming back."""
    draw = random.Random(seed)
    last_us, largest = draw.choice((3, 8, 30)), draw.choice((3, 8, 14))
    members = MEMBERS[: draw.randint(1, len(MEMBERS))]
    sources = draw.sample(SOURCES, draw.randint(1, len(SOURCES)))
    headless = {source for source in sources if draw.random() < 0.15}
    climb = draw.random() < 0.7
    events = []

    def seq(time_us):
        """Numbers that mostly rise with time, or any."""
        if climb and draw.random() < 0.8:
            return min(largest, largest * time_us // last_us + draw.randint(-1, 1))
        return draw.randint(-1, largest)

    for _ in range(draw.randint(1, 30)):
        time_us, source = draw.randint(0, last_us), draw.choice(sources)
        if draw.random() < 0.35 and source not in headless:
            events.append(Event(group, "head", source, source, max(-1, seq(time_us)), time_us))
        else:
            number = max(-1, seq(time_us) - draw.randint(0, 2))
            events.append(Event(group, "position", draw.choice(members), source, number, time_us))
    has_joins = draw.random() < 0.6
    for _ in range(draw.randint(0, 8)):
        kinds = ("join", "join", "leave", "fail") if has_joins else ("leave", "fail")
        time_us = draw.randint(-1, last_us + 1)
        events.append(Event(group, draw.choice(kinds), draw.choice(members), None, None, time_us))
    draw.shuffle(events)
    return events
