"""What a state says, with numbers for names; and names for numbers again, once a part is done.

Incarnations are told by the place that they have among those of their name.  New joins and departures are not
before the watermark, so the place of an incarnation that began before it never changes.  Claims and releases
may be newer than the watermark: who made them is told by their times, and if the first and the last of
somebody's turn out to belong to two incarnations, what is known of them together is dropped.  That only makes
a stream wait for fewer claims, or take more of them for too late.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from stablecast.delivery.coded import Coded
from stablecast.delivery.columns import Ints, Longs, chosen
from stablecast.delivery.happened import to_stays
from stablecast.delivery.holding import Occupancy
from stablecast.delivery.kinds import SEND
from stablecast.delivery.laggards import LIMB, LIMB_BITS, Laggards
from stablecast.delivery.line import Start, nothing_before
from stablecast.delivery.membership import Membership
from stablecast.delivery.part import Thin
from stablecast.delivery.stream.leaving import Tellers
from stablecast.delivery.stream.settled import Held, Kept, Settled, nothing_settled
from stablecast.delivery.stream.state import SCHEMAS, State
from stablecast.delivery.stream.unsent import Unsent
from stablecast.delivery.tables import Names, in_schema, laggards_table


class Carried(NamedTuple):
    """What is known of messages that have left, and of what members held."""

    start: Start
    thin: Thin
    unsent: Unsent
    claimers: Tellers
    releasers: Tellers
    laggards: Laggards
    settled: Settled


class Reader:
    """Reads tables of a state."""

    def __init__(self, state: State, membership: Membership) -> None:
        self._tables = state.tables
        self._membership = membership
        self._numbers = membership.numbers()

    def carried(self) -> Carried:
        """Read everything."""
        return Carried(
            self._start(),
            self._thin(),
            self._unsent(),
            self._tellers("claimers"),
            self._tellers("releasers"),
            self._laggards(),
            self._settled(),
        )

    def _who(self, table: pa.Table, column: str) -> Ints:
        return self._numbers.of(Coded.of(table["group"]), Coded.of(table[column]))

    def _start(self) -> Start:
        table, start = self._tables["line"], nothing_before(self._membership.name_count)
        who = self._who(table, "source")
        for name, column in zip(Start._fields, start, strict=True):
            column[who] = table[name].to_numpy()
        return start

    def _thin(self) -> Thin:
        table = self._tables["thin"]
        thin = Thin(self._who(table, "source"), *_columns(table, Thin._fields[1:]))
        return chosen(thin, np.lexsort((thin.seq, thin.source)))

    def _unsent(self) -> Unsent:
        table = self._tables["unsent"]
        unsent = Unsent(self._who(table, "source"), *_columns(table, Unsent._fields[1:]))
        return chosen(unsent, np.lexsort((unsent.first_seq, unsent.source)))

    def _tellers(self, name: str) -> Tellers:
        table = self._tables[name]
        member = self._who(table, "member")
        covered, first, last = _columns(table, ("covered", "first_us", "last_us"))
        stay = self._stays(member, last)
        tellers = Tellers(self._who(table, "source"), stay, covered, first, last)
        same = np.flatnonzero(self._stays(member, first) == stay)
        kept = chosen(tellers, same)
        return chosen(kept, np.lexsort((kept.stay, kept.source)))

    def _stays(self, names: Ints, time: Longs) -> Ints:
        """Return the incarnations of names at some times."""
        stays, membership = names.copy(), self._membership
        kind = np.full(len(names), SEND, np.int8)
        to_stays(stays, kind, time, membership.first_stay, membership.stays.start, membership.stays.end)
        return stays

    def _laggards(self) -> Laggards:
        table, count = self._tables["laggards"], self._membership.name_count
        completed, held, limbs = (np.zeros(shape, np.int64) for shape in (count, count, (count, 3)))
        who = self._who(table, "member")
        completed[who], held[who] = _columns(table, ("completed_last", "held_us"))
        for name, total in zip(who.tolist(), table["held_bytes_us"].to_pylist(), strict=True):
            value = int(total)
            limbs[name] = value & LIMB, (value >> LIMB_BITS) & LIMB, value >> 2 * LIMB_BITS
        return Laggards(completed, held, limbs)

    def _settled(self) -> Settled:
        membership, settled = self._membership, nothing_settled(self._membership)
        table = self._tables["held"]
        who = self._who(table, "member")
        for name, column in zip(Held._fields, settled.held, strict=True):
            column[who] = table[name].to_numpy()
        table = self._tables["kept"]
        stay = membership.first_stay[self._who(table, "member")] + table["place"].to_numpy()
        for name, column in zip(Kept._fields, settled.kept, strict=True):
            column[stay] = table[name].to_numpy()
        table = self._tables["course"]
        who = self._who(table, "member")
        bits, span, messages, size = _columns(table, ("bits", "span", "messages", "size"))
        wider = span >> (membership.groups.span_bits[membership.name_group[who]] - bits)
        return settled._replace(course=Occupancy(who, wider, messages, size))


def _columns(table: pa.Table, names: tuple[str, ...]) -> list[Longs]:
    return [table[name].to_numpy() for name in names]


def written(carried: Carried, names: Names) -> Mapping[str, pa.Table]:
    """Return the tables of a state that say this."""
    start, thin, unsent = carried.start, carried.thin, carried.unsent
    sent = np.flatnonzero(start.messages).astype(np.int32)
    return {
        "line": _table("line", [names.group(sent), names.name(sent), *chosen(start, sent)]),
        "thin": _table("thin", [names.group(thin.source), names.name(thin.source), *thin[1:]]),
        "unsent": _table("unsent", [names.group(unsent.source), names.name(unsent.source), *unsent[1:]]),
        "claimers": _tellers_table("claimers", carried.claimers, names),
        "releasers": _tellers_table("releasers", carried.releasers, names),
        "laggards": laggards_table(carried.laggards, names),
        **_settled_tables(carried.settled, names),
    }


def _table(name: str, columns: list[object]) -> pa.Table:
    return in_schema(SCHEMAS[name], columns)


def _tellers_table(name: str, tellers: Tellers, names: Names) -> pa.Table:
    columns = [names.group(tellers.source), names.name(tellers.source), names.stay(tellers.stay)]
    return _table(name, [*columns, tellers.covered, tellers.first, tellers.last])


def _settled_tables(settled: Settled, names: Names) -> Mapping[str, pa.Table]:
    membership, course = names.membership, settled.course
    known = np.any([column != 0 for column in settled.held], axis=0)
    held = np.flatnonzero(known).astype(np.int32)
    stay = np.flatnonzero(settled.kept.messages).astype(np.int32)
    name = membership.stays.name[stay]
    place = stay - membership.first_stay[name]
    bits = membership.groups.span_bits[membership.name_group[course.name]]
    group, member = names.group(course.name), names.name(course.name)
    return {
        "held": _table("held", [names.group(held), names.name(held), *chosen(settled.held, held)]),
        "kept": _table("kept", [names.group(name), names.name(name), place, *chosen(settled.kept, stay)]),
        "course": _table("course", [group, member, bits, course.span, course.messages, course.size]),
    }
