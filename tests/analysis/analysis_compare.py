"""Tables of two computations compared, and the smallest trace on which they differ."""

from collections import Counter, defaultdict

import pyarrow as pa
from analysis_plain import TABLES
from analysis_traces import together

ROWS_SHOWN = 5


def rows_of(table):
    """Return the rows of a table, lists of names as tuples: Arrow's, or rows already."""
    if isinstance(table, list):
        return table
    return list(zip(*map(_hashable, table.columns), strict=True))


def _hashable(column):
    values = column.to_pylist()
    if pa.types.is_nested(column.type):
        return [tuple(value) if isinstance(value, list) else value for value in values]
    return values


def differences(left, right):
    """Return what only one of two tables has, a line a row; nothing for the same rows in any order."""
    only_left, only_right = _odd_rows(left, right)
    lines = [f"only left:  {row}" for row in _ordered(only_left)]
    return "\n".join(lines + [f"only right: {row}" for row in _ordered(only_right)])


def differing_groups(left, right):
    """Return, for each group that two sets of tables disagree on, some rows that only one of them has."""
    found = defaultdict(list)
    for name in TABLES:
        for label, odd in zip(("left ", "right"), _odd_rows(left[name], right[name]), strict=True):
            shown = Counter()
            for row in _ordered(odd):
                shown[row[0]] += 1
                if shown[row[0]] <= ROWS_SHOWN:
                    found[row[0]].append(f"only {label} {name}: {row}")
    return {group: "\n".join(lines) for group, lines in found.items()}


def disagreement(traces, left, right):
    """Return the smallest trace found that two computations of events disagree on, and how; '' if none."""
    places = disagreeing(traces, left, right)
    return smallest_of([traces[place] for place in places], left, right) if places else ""


def disagreeing(traces, left, right):
    """Return the places of the traces that two computations disagree on; each is called once."""
    events = together(traces)
    return places_of(differing_groups(left(events), right(events)))


def places_of(groups):
    """Return the places of the traces that groups of them belong to."""
    return sorted({int(group[:5]) for group in groups})


def smallest_of(traces, left, right):
    """Return the smallest of traces that two computations disagree on, with few events, and how they do.

    Events are left out as long as the two still disagree; all that is tried in one round is one call.
    """
    smallest = min(traces, key=len)
    while shorter := _shorter(smallest, left, right):
        smallest = shorter
    events = sorted(smallest, key=lambda e: (e.group, e.time_us, e.kind, e.member))
    how = differing_groups(left(together([events])), right(together([events])))
    return "\n".join([f"{len(traces)} traces differ; the smallest found:", *map(str, events), *how.values()])


def _shorter(trace, left, right):
    tries, length = [], len(trace)
    while length > 1:
        length = (length + 1) // 2
        tries += [trace[:at] + trace[at + length :] for at in range(0, len(trace), length)]
    tries = [one for one in tries if one]
    return min((tries[place] for place in disagreeing(tries, left, right)), key=len, default=None)


def _odd_rows(left, right):
    ours, theirs = Counter(rows_of(left)), Counter(rows_of(right))
    return (ours - theirs).elements(), (theirs - ours).elements()


def _ordered(rows):
    return sorted(rows, key=lambda row: [(value is not None, value) for value in row])
