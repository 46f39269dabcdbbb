"""Events of files of any origin, in the schema, on this machine."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from stablecast.analysis.reading.addresses import Systems, arrow_system
from stablecast.analysis.reading.bad_rows import BadRows, explain_bad_rows
from stablecast.analysis.reading.classify import Classified, classify
from stablecast.analysis.reading.files import Piece, pieces, raw_batches
from stablecast.analysis.reading.foreign import Foreign, check_first_seq
from stablecast.analysis.reading.inputs import Inputs
from stablecast.analysis.reading.mapping import Part, missing_line
from stablecast.errors import InvalidInput, unknown_name

FAIL, COUNT = ON_BAD_ROWS = ("fail", "count")
MOST_READERS = 4


def read_events(
    inputs: Inputs,
    foreign: Foreign,
    *,
    first_seq: int | str = 1,
    on_bad_rows: str = FAIL,
    readers: int | None = None,
    systems: Systems = arrow_system,
) -> Iterator[Classified]:
    """Yield all rows, batch by batch, in the order of files and rows.

    Bad rows and columns that no line has are told at the end, when all of them are known: a caller that needs
    every row to be good uses nothing of what it got before the iteration has ended.

    Parameters
    ----------
    inputs
        What to read.
    foreign
        How it says what the schema says.
    first_seq
        The number that sources begin with, or ``earliest`` for any from 0.
    on_bad_rows
        ``fail`` to refuse them with one line at the end, ``count`` to leave that to the caller.
    readers
        How many pieces are read at a time; as many as there are cores, and no more than four, if None.
    systems
        How addresses are opened.
    """
    check_first_seq(first_seq)
    if on_bad_rows not in ON_BAD_ROWS:
        raise unknown_name("way to treat bad rows", on_bad_rows, ON_BAD_ROWS)
    found = pieces(inputs, foreign, systems=systems)
    return _read(found, foreign, first_seq, on_bad_rows, readers or min(MOST_READERS, os.cpu_count() or 1))


def classified_piece(piece: Piece, foreign: Foreign, first_seq: int | str) -> Iterator[Classified]:
    """Yield what the rows of a piece are."""
    for batch in raw_batches(piece):
        yield replace(classify(batch, piece.part, foreign, first_seq), file=piece.name)


def check_unseen(read: Iterable[Part], seen: Iterable[str], foreign: Foreign) -> None:
    """Refuse JSON Lines of which no line at all has a column; their first lines are known to lack it.

    Parameters
    ----------
    read
        Of all that was read, which column is which.
    seen
        What :attr:`Classified.seen` had in any of it.
    foreign
        How the log says what the schema says.
    """
    part = next((part for part in read if part.unseen), None)
    if part is None:
        return
    missing = [name for name in part.unseen if name not in set(seen)]
    if missing:
        raise InvalidInput(missing_line(missing, foreign, part.seen, part.name))


def _read(
    found: Sequence[Piece], foreign: Foreign, first_seq: int | str, on_bad_rows: str, readers: int
) -> Iterator[Classified]:
    bad, seen = BadRows(), set[str]()
    for classified in _ahead(found, foreign, first_seq, readers):
        bad.add(classified)
        seen |= classified.seen
        yield classified
    check_unseen((piece.part for piece in found), seen, foreign)
    if bad.problems and on_bad_rows == FAIL:
        raise InvalidInput(explain_bad_rows(bad.problems, bad.examples))


def _ahead(
    found: Sequence[Piece], foreign: Foreign, first_seq: int | str, readers: int
) -> Iterator[Classified]:
    """Yield what pieces hold, in order, while the next ones are being read."""
    if readers == 1 or len(found) == 1:
        for piece in found:
            yield from classified_piece(piece, foreign, first_seq)
        return
    with ThreadPoolExecutor(readers) as pool:
        waiting: deque[Future[list[Classified]]] = deque()
        try:
            for piece in found:
                waiting.append(pool.submit(_all_of, piece, foreign, first_seq))
                if len(waiting) > readers:
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _all_of(piece: Piece, foreign: Foreign, first_seq: int | str) -> list[Classified]:
    return list(classified_piece(piece, foreign, first_seq))
