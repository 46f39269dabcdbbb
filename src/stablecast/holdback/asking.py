"""All systems asked at once, again and again if need be.

Theory
    Each system is asked in a thread of its own, and waited for until a deadline: clients have timeouts for
    each answer, and a system that is stopped, or that sends a byte now and then, keeps them waiting for ever.
    What is not there by then is a line.  The question stays under way, and no second one is asked meanwhile:
    its answer is taken whenever it comes, with the time that it has.
The deadline
    A system with thousands of logs gives many answers, each in time.  So all of them together have
    ``PATIENCE`` times as long as one.  A question that is late already is not waited for again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from stablecast.holdback.addresses import Address, parse_address
from stablecast.holdback.model import Snapshot
from stablecast.holdback.sources import open_source
from stablecast.holdback.sources.base import TIMEOUT_S, CannotAsk, Source

PATIENCE = 3
LOOK_S = 0.1
"""So often it is looked whether the caller wants to stop."""


@dataclass
class _Question:
    """What was asked, and the answer once it is there."""

    deadline: float
    answered: threading.Event = field(default_factory=threading.Event)
    answer: Snapshot | str | BaseException = ""
    """A snapshot, a line that says why there is none, or what is to be raised."""


@dataclass
class _System:
    """One system, and the question that is under way."""

    address: Address
    source: Source
    patience_s: float
    under_way: _Question | None = None

    def ask(self) -> None:
        """Ask, unless that is still under way."""
        if self.under_way is None:
            self.under_way = _Question(time.monotonic() + self.patience_s)
            question = threading.Thread(
                target=self._ask, args=(self.under_way,), name="stablecast-asking", daemon=True
            )
            question.start()

    def _ask(self, question: _Question) -> None:
        try:
            question.answer = replace(self.source.take(), asked=self.address.scope)
        except CannotAsk as error:
            question.answer = str(error)
        except Exception as error:  # one system that answers oddly must not hide the others
            question.answer = f"an answer was not understood: {type(error).__name__}: {error}"
        except BaseException as error:  # an interruption is for whoever asked
            question.answer = error
        question.answered.set()

    def wait(self, wanted: Callable[[], bool]) -> None:
        """Wait for the answer until the deadline, or until it is no longer wanted."""
        question = self.under_way
        while question is not None and wanted() and (left := question.deadline - time.monotonic()) > 0:
            if question.answered.wait(min(left, LOOK_S)):
                return

    def answer(self) -> Snapshot | str:
        """Return the answer, or a line that says that there is none yet."""
        question = self.under_way
        if question is None or not question.answered.is_set():
            return f"cannot ask {self.address.server}: no answer within {self.patience_s:g} s"
        self.under_way = None
        if isinstance(question.answer, BaseException):
            raise question.answer
        return question.answer


class Asking:
    """Sources of addresses; a context manager that closes them.

    Addresses that cannot be meant, and clients that are not installed, are told before anything is asked.
    Two addresses of one scope are one.
    """

    def __init__(self, addresses: Sequence[str], *, timeout_s: float | None = None) -> None:
        found = {address.scope: address for address in map(parse_address, addresses)}
        self._systems = [_system(address, timeout_s) for address in found.values()]

    @property
    def scopes(self) -> list[str]:
        """What snapshots will be of."""
        return [one.address.scope for one in self._systems]

    def __enter__(self) -> Asking:
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._systems:
            if one.under_way is None:  # a connection that is in use ends with the process
                one.source.close()

    def ask(self, stopped: Callable[[], bool] = lambda: False) -> tuple[list[Snapshot], list[str]]:
        """Return a snapshot of each system that answers, and a line for each that does not.

        When ``stopped`` says so, what is there by then is returned.
        """
        for one in self._systems:
            one.ask()
        for one in self._systems:
            one.wait(lambda: not stopped())
        snapshots, problems = [], []
        for one in self._systems:
            answer = one.answer()
            if isinstance(answer, Snapshot):
                snapshots.append(answer)
            else:
                problems.append(answer)
        return snapshots, problems


def _system(address: Address, timeout_s: float | None) -> _System:
    waits_s = timeout_s or address.seconds("timeout_s", TIMEOUT_S)
    return _System(address, open_source(address, timeout_s=timeout_s), PATIENCE * waits_s)
