"""Parameters of a protocol, each declared once, in the protocol's own file.

From a declaration follow the option of ``stablecast simulate`` with its help, the key of a sweep, the column
of its results, the replay command, the row in the docs, and what a live group sets.  Nothing outside the
protocol's file knows a parameter by its name.  Whoever has to set one, or read one, asks for its role:

===============  =============================================================================================
role             what the parameter is, and who asks for it
===============  =============================================================================================
``OWN``          the protocol's own affair: only its option sets it
``STEP``         time between two steps of a member; steering and live groups set it, results count in it
``EVERY``        time between two further periodic actions of a member; live groups set it to their step
``PAUSE``        time from the end of a round at a member to its next round; live groups set it to their step
``RESEND``       time until an unanswered message is sent again, 0 for never; live groups set it
``FANOUT``       members that a member sends to in one step; omissions are drawn among them
``SILENCE``      steps of silence after which a member is struck off, 0 for never; without it nobody joins
``ADMISSION``    how newcomers are let in; views of live groups do that
``HANDLERS``     late-join handlers, which keep all data messages; in live groups an option of the group
``FILL``         messages in a member's buffers at which it begins a round; live groups begin at once
``MODEL``        what the simulated network, clocks or wire are like; live groups have them for real
``UNSAFE``       leaves out what makes a protocol safe; the run counts what goes wrong, live groups refuse it
``TREE``         children of a member in a logical tree; in live groups 8 unless said, never ``network``
``CLOCK``        what timestamps are read from; in live groups ``logical`` unless said, never ``physical``
``SPREAD``       how a result reaches the others; live groups choose ``both``
``SNAPSHOT``     when a member's array is taken for a round; live groups choose ``use``
``RELAY``        whether messages to all are passed on from member to member: the run's ``cast`` sets it
``PULL``         whether members ask for a result that was lost instead of confirming each; live groups do
``EXECUTIONS``   executions of the run, 0 for no limit
``INITIAL``      members that are there from the start, 0 for all
``CHANNELS``     1 where receivers connect and disconnect during the run
``ENTRY_BYTES``  bytes of a sequence number
``MESSAGES``     data messages of each sender
``INTERVAL``     picoseconds between two data messages of a sender
``DATA_BYTES``   payload of a data message
``DATA_LOSS``    probability that a receiver loses a multicast data message, in billionths
``AHEAD``        microseconds that the time of day is ahead of a member's own time; live groups set it
``DERIVED``      a constant of the protocol, or what its ``resolve`` sets; nobody else does
===============  =============================================================================================

The roles from ``RELAY`` on are hidden: they make no option, because the run, or the protocol, sets them.

Kernels see every parameter as a whole number of 64 bits.  An option has the unit that its name ends with, and
is encoded: times become picoseconds, probabilities billionths, flags and words the numbers of ``choices``,
and real numbers as many whole numbers as ``scale`` says.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from stablecast.errors import InvalidInput, unknown_name


class Role(enum.StrEnum):
    """What somebody who does not know the protocol may set a parameter by, see the table above."""

    OWN = "own"
    STEP = "step"
    EVERY = "every"
    PAUSE = "pause"
    RESEND = "resend"
    FANOUT = "fanout"
    SILENCE = "silence"
    ADMISSION = "admission"
    HANDLERS = "handlers"
    FILL = "fill"
    MODEL = "model"
    UNSAFE = "unsafe"
    TREE = "tree"
    CLOCK = "clock"
    SPREAD = "spread"
    SNAPSHOT = "snapshot"
    RELAY = "relay"
    PULL = "pull"
    EXECUTIONS = "executions"
    INITIAL = "initial"
    CHANNELS = "channels"
    ENTRY_BYTES = "entry_bytes"
    MESSAGES = "messages"
    INTERVAL = "interval"
    DATA_BYTES = "data_bytes"
    DATA_LOSS = "data_loss"
    AHEAD = "ahead"
    DERIVED = "derived"

    @property
    def hidden(self) -> bool:
        """Whether the run or the protocol sets parameters of this role."""
        return self in _HIDDEN


_HIDDEN = tuple(Role)[tuple(Role).index(Role.RELAY) :]
VALUE_MAX = 1 << 61
"""Encoded values are below this, so that times can be added to them in 64 bits; in picoseconds: 26 days."""
PS_PER = {"s": 10**12, "ms": 10**9, "us": 10**6}
UNIT_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds"}
BILLION = 10**9


@dataclass(frozen=True)
class Bounds:
    """The range of a number; None where it has no end."""

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None

    def hold(self, value: float) -> bool:
        """Tell whether a number is finite and in the range."""
        return (
            math.isfinite(value)
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.most is None or value <= self.most)
            and (self.below is None or value < self.below)
        )

    def words(self, subject: str) -> str:
        """Return what is accepted, of a subject such as ``a number``."""
        high = f"to {_number(self.most)}" if self.most is not None else ""
        high = f"to below {_number(self.below)}" if self.below is not None else high
        if self.above is not None:
            return f"{subject} above {_number(self.above)}{f', up {high}' if high else ''}"
        if self.least is not None:
            low = _number(self.least)
            return f"{low} {high}" if high else f"{subject}, {low} or more"
        return f"{subject}{f' up {high}' if high else ''}"


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


@dataclass(frozen=True)
class Kind:
    """What sort of value an option takes."""

    type: type
    """The Python type of the option, and of the column of results."""
    words: str
    """What is accepted, in words."""
    absent: Any = None
    """The value that says the same as giving nothing; None if there is none."""


WHOLE = Kind(int, "a whole number")
REAL = Kind(float, "a number")
TIME = Kind(float, "a time")
TIMEOUT = Kind(float, "a time", absent=0.0)
"""A time after which something is done, 0 for never."""
PROBABILITY = Kind(float, "a probability", absent=0.0)
FLAG = Kind(bool, "true or false", absent=False)
CHOICE = Kind(str, "a word")
WHOLE_OR_WORD = Kind(str, "a whole number or a word")
"""A whole number, or one of the words of ``choices``; an option of text."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a protocol, one value for a whole group."""

    name: str
    """What kernels call it."""
    kind: Kind
    default: int | float | str | bool | None
    """In the option's unit; None if the protocol's ``resolve`` finds it, which then sees 0."""
    help: str
    """A whole phrase for people who know the field and not this program."""
    _: KW_ONLY
    unit: str = ""
    """The unit of the option's value, with which its name ends: ``s``, ``ms``, ``us``, ``steps``..."""
    option: str = ""
    """The option's name where it is not the name and the unit."""
    choices: Mapping[Any, int] = field(default_factory=dict, hash=False)
    """The numbers that kernels see for words, or for ``False`` and ``True``."""
    role: Role = Role.OWN
    """What somebody who does not know the protocol may set it by, see the table above."""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    scale: int = 1
    """Of a real number: how many of the kernels' whole numbers make one."""
    default_words: str = ""
    """Where the default is found by ``resolve``: from what."""

    def __post_init__(self) -> None:
        if self.role not in tuple(Role):
            raise unknown_name(f"role of parameter '{self.name}'", str(self.role), Role)
        if not isinstance(self.choices, Mapping):
            raise InvalidInput(
                f"choices of parameter '{self.name}' are {self.choices!r} (accepted: for each word the number"
                " that kernels see)"
            )
        if self.kind in (TIME, TIMEOUT) and self.unit not in PS_PER:
            raise unknown_name(f"unit of parameter '{self.name}'", self.unit, PS_PER)

    @property
    def hidden(self) -> bool:
        """Whether the run or the protocol sets it, so that it is no option."""
        return self.role.hidden

    @property
    def option_name(self) -> str:
        """The option's name: the name and the unit."""
        return self.option or (f"{self.name}_{self.unit}" if self.unit else self.name)

    @property
    def bounds(self) -> Bounds:
        """The range of the option's value."""
        if self.kind is PROBABILITY:
            return Bounds(least=0, most=self.most, below=1 if self.most is None else None)
        return Bounds(self.least, self.above, self.most, self.below)

    @property
    def accepted(self) -> str:
        """What is accepted, in words."""
        words = ", ".join(str(choice) for choice in self.choices)
        if self.kind is FLAG:
            return self.kind.words
        if self.kind is CHOICE:
            return words
        if self.kind is WHOLE_OR_WORD:
            return f"{self.bounds.words(self.kind.words).removeprefix('a whole number or a word, ')}, {words}"
        return self.bounds.words(UNIT_WORDS.get(self.unit, self.kind.words))

    def encode(self, value: Any) -> int:
        """Return the whole number that kernels see for an option's value, None for the default."""
        if value is None:
            return 0 if self.default is None else self.encode(self.default)
        if self.kind is CHOICE and isinstance(value, str) and value not in self.choices:
            raise unknown_name(self.option_name, value, self.choices)
        if not self._accepts(value):
            raise InvalidInput(f"{self.option_name} {value} is not accepted (accepted: {self.accepted})")
        encoded = self._encoded(value)
        if abs(encoded) >= VALUE_MAX:
            raise InvalidInput(f"{self.option_name} {value:g} is too large (accepted: {self.accepted})")
        return encoded

    def _accepts(self, value: Any) -> bool:
        if self.kind is FLAG or self.kind is CHOICE:
            return isinstance(value, self.kind.type)
        if isinstance(value, bool):
            return False
        if self.kind is WHOLE_OR_WORD:
            return value in self.choices or (str(value).isdecimal() and self.bounds.hold(int(value)))
        accepted = int if self.kind is WHOLE else (int, float)
        return isinstance(value, accepted) and self.bounds.hold(value)

    def _encoded(self, value: Any) -> int:
        if self.kind is FLAG:
            return int(self.choices.get(value, int(value)))
        if value in self.choices:
            return int(self.choices[value])
        if self.kind is TIME or self.kind is TIMEOUT:
            encoded = round(float(value) * PS_PER[self.unit])
        elif self.kind is PROBABILITY:
            encoded = round(float(value) * BILLION)
        else:
            encoded = round(float(value) * self.scale) if self.kind is REAL else int(value)
        return max(1, encoded) if self.above is not None else encoded


def hidden(name: str, role: Role, default: int = 0) -> Parameter:
    """Declare a parameter that the run or the protocol sets, as the whole number that kernels see."""
    return Parameter(name, WHOLE, default, "Set by the run.", role=role)


def options_of(parameters: Iterable[Parameter]) -> dict[str, Parameter]:
    """Return the parameters that are options, by the options' names."""
    return {parameter.option_name: parameter for parameter in parameters if not parameter.hidden}
